/* wait.h -- a control route that waits until change feed processors have caught
 * up. */
#ifndef RN_REST_ADMIN_WAIT_H
#define RN_REST_ADMIN_WAIT_H

#include "rest/context.h"

rn_handler_fn rn_rest_wait;

#endif
