/* fixture.h -- control routes that save the state of all databases and restore
 * it. */
#ifndef RN_REST_ADMIN_FIXTURE_H
#define RN_REST_ADMIN_FIXTURE_H

#include "rest/context.h"

rn_handler_fn rn_rest_take_fixture, rn_rest_drop_fixtures, rn_rest_reset;

#endif
