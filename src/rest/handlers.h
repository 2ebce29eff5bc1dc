/* handlers.h -- the handlers named in the route table. */
#ifndef RN_REST_HANDLERS_H
#define RN_REST_HANDLERS_H

#include "rest/context.h"

rn_handler_fn rn_rest_account_read;
/* Reads a container; first counts the statistics that the request wants. */
rn_handler_fn rn_rest_container_read;
/* Sends the answer of rn_rest_container_read, with those statistics. */
rn_handler_fn rn_rest_container_tell;
rn_handler_fn rn_rest_object_create, rn_rest_object_upsert, rn_rest_object_read,
    rn_rest_object_replace, rn_rest_object_delete, rn_rest_object_list;
rn_handler_fn rn_rest_document_create, rn_rest_document_upsert,
    rn_rest_document_read, rn_rest_document_replace, rn_rest_document_delete,
    rn_rest_document_list;
rn_handler_fn rn_rest_attachment_list;
rn_handler_fn rn_rest_feed_read, rn_rest_feed_query;
rn_handler_fn rn_rest_partition_delete;
rn_handler_fn rn_rest_document_patch, rn_rest_batch;
rn_handler_fn rn_rest_range_list;
rn_handler_fn rn_rest_split, rn_rest_merge;
rn_handler_fn rn_rest_explain, rn_rest_index;
rn_handler_fn rn_rest_take_fixture, rn_rest_drop_fixtures, rn_rest_reset;
rn_handler_fn rn_rest_wait;
rn_handler_fn rn_rest_empty_list, rn_rest_empty_read, rn_rest_script_create;
rn_handler_fn rn_rest_query, rn_rest_query_plan;

rn_handler_fn rn_rest_control;

#endif
