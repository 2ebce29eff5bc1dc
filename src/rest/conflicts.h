/* conflicts.h -- resources of a container that are always empty: conflicts and
 * scripts. */
#ifndef RN_REST_CONFLICTS_H
#define RN_REST_CONFLICTS_H

#include "rest/context.h"

rn_handler_fn rn_rest_empty_list, rn_rest_empty_read;
/* Refuses to create a script. */
rn_handler_fn rn_rest_script_create;

#endif
