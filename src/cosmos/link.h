/* link.h -- parses the path of a request into a resource link, and prints the
 * link that is signed.
 *
 *   /dbs/{db}/colls/{c}/docs/{id}     a resource: an even number of segments
 *   /dbs/{db}/colls/{c}/docs          the list of them: an odd number
 *   /dbs/{db}/colls/{c}/operations/partitionkeydelete
 *   /dbs/{db}/colls/{c}/docs/{id}/attachments
 *
 * Ids are all names, or all rids.  A path is by rids if each id has the form of
 * a rid and each rid contains the next.  It may still be by names, since a
 * database may be named like a rid: look it up by rid first.
 *
 * Besides the kind's word, clients sign a link (sign.h):
 *
 *   by name   the path of the resource, or of the owner of a list, decoded, in
 *             its own case                               dbs/shop/colls/Orders
 *   by rid    the last rid alone, in lower case          sbntal0kkga=
 *   as sent   Go signs the path with its escapes         dbs/Db%20One
 *
 * All are forms of the same path, so a server tries each of them.  Names keep
 * their case: colls/Orders and colls/orders are two containers, and a signature
 * for one must not be valid for the other.
 *
 * Views point to the input of parse.  Any thread.
 */
#ifndef RN_COSMOS_LINK_H
#define RN_COSMOS_LINK_H

#include "cosmos/kind.h"
#include "cosmos/rid.h"

enum {
    RN_ID_CHARS_MAX = 255,  /* UTF-16 code units of any id but a document's */
    RN_ID_BYTES_MAX = 1023, /* UTF-8 bytes of a document's */
};

struct rn_link {
    enum rn_kind kind; /* the resource, or the kind of a list */
    bool is_list;
    bool is_rid;         /* by rids, most likely */
    bool is_key_delete;  /* the operation on a container; kind says container */
    bool is_attachments; /* the list of a document's; kind says document */
    size_t depth;        /* number of ids */
    struct rn_view ids[RN_KIND_DEPTH];
};

enum rn_link_form {
    RN_LINK_BY_RID,
    RN_LINK_BY_NAME,
    RN_LINK_AS_SENT,

    RN_LINK_FORMS, /* number of forms */
};

/* Parses the decoded segments of a path, without empty ones.  RN_NOT_FOUND if
 * it names no kind of resource, RN_BAD_REQUEST if an id is invalid. */
enum rn_code rn_link_parse(const struct rn_view *segments, size_t count,
                           struct rn_link *out, struct rn_err *err) RN_CHECK;

/* The last rid of a link by rids, which determines all the others: of the
 * resource, or of the owner of a list. */
struct rn_rid rn_link_rid(const struct rn_link *l);

/* The word that is signed: that of its kind, or "attachments". */
struct rn_view rn_link_word(const struct rn_link *l);

/* Appends the link that is signed.  RN_NOT_FOUND if a path has no such form, or
 * if as sent equals by name.  `wire` is the path before decoding; only as sent
 * needs it. */
enum rn_code rn_link_print(const struct rn_link *l, enum rn_link_form form,
                           struct rn_view wire, struct rn_buf *out) RN_CHECK;

/* Appends the path for a request, with escapes. */
enum rn_code rn_link_print_target(const struct rn_link *l,
                                  struct rn_buf *out) RN_CHECK;

/* Whether the id is valid for a resource of this kind.  RN_BAD_REQUEST. */
enum rn_code rn_id_check(enum rn_kind kind, struct rn_view id,
                         struct rn_err *err) RN_CHECK;

#endif
