/* objects.h -- create, read, replace, delete and list of catalog objects. */
#ifndef RN_REST_OBJECTS_H
#define RN_REST_OBJECTS_H

#include "rest/context.h"

/* Finds the objects on the path.  RN_NOT_FOUND; with reason OWNER if the
 * missing one is not the last. */
enum rn_code rn_context_find_database(struct rn_context *x) RN_CHECK;
enum rn_code rn_context_find_container(struct rn_context *x) RN_CHECK;
/* Reloads x->container from the catalog.  RN_NOT_FOUND, reason OWNER. */
enum rn_code rn_context_refresh(struct rn_context *x) RN_CHECK;
/* For catalog objects: finds all of the path, or the owner of a list. */
enum rn_code rn_context_find(struct rn_context *x) RN_CHECK;
/* The owner of the path's object or list; all zero if it is the account. */
struct rn_rid rn_context_owner(const struct rn_context *x);

/* Does the text name an object of the list, after which the list can
 * continue? */
bool rn_context_place(const struct rn_context *x, struct rn_view text,
                      struct rn_rid *out);
/* Appends an object's JSON as this client sees it: a permission with a fresh
 * token, a container in the client's API version. */
enum rn_code rn_object_show(struct rn_context *x, const struct rn_object *o,
                            struct rn_buf *out) RN_CHECK;
/* The container that a link is in, for the caller to release; NULL if there is
 * none. */
struct rn_object *rn_rest_find_container(struct rn_rest *r,
                                         const struct rn_link *l);

rn_handler_fn rn_rest_object_create, rn_rest_object_upsert, rn_rest_object_read,
    rn_rest_object_replace, rn_rest_object_delete, rn_rest_object_list;
/* Sends the answer of rn_rest_container_read (container_stats.h), with its
 * statistics. */
rn_handler_fn rn_rest_container_tell;

#endif
