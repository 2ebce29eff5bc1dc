/* objects.h -- the catalog's objects: create, read, replace, delete, list. */
#ifndef RN_REST_OBJECTS_H
#define RN_REST_OBJECTS_H

#include "rest/context.h"

/* Finds what the path names.  RN_NOT_FOUND, reason OWNER if it is
 * not the last of them that is missing. */
enum rn_code rn_context_find_database(struct rn_context *x) RN_CHECK;
enum rn_code rn_context_find_container(struct rn_context *x) RN_CHECK;
/* The container as the catalog has it now.  RN_NOT_FOUND, reason OWNER. */
enum rn_code rn_context_refresh(struct rn_context *x) RN_CHECK;
/* For the catalog's objects: all of the path.  Of a list, its owner. */
enum rn_code rn_context_find(struct rn_context *x) RN_CHECK;
/* What they lie in; all zero if that is the account. */
struct rn_rid rn_context_owner(const struct rn_context *x);

/* Does the text name one of the list's objects, so that the list can go on
 * behind it? */
bool rn_context_place(const struct rn_context *x, struct rn_view text,
                      struct rn_rid *out);
/* Appends an object's JSON as this client sees it: a permission with a fresh
 * token, a container in the client's API version. */
enum rn_code rn_object_show(struct rn_context *x, const struct rn_object *o,
                            struct rn_buf *out) RN_CHECK;
/* The container in which a link lies, to be released; NULL if there is none. */
struct rn_object *rn_rest_find_container(struct rn_rest *r,
                                         const struct rn_link *l);

#endif
