/* rid.h -- resource ids: identifiers that are never reused.
 *
 * A client recognizes a resource by its _rid, even after another resource has
 * taken its name, and clients decode rids.  In base64 with '-' for '/':
 *
 *   offer        3 bytes: number
 *   database     4 bytes: number, not 0
 *   container    8 bytes: database, number with its top bit set
 *   user         8 bytes: database, number with its top bit clear, not 0
 *   permission  16 bytes: user, number
 *   client key  16 bytes: database, four zeros, number
 *   document    16 bytes: container, number whose top nibble gives the
 *   and others            kind: document 0, conflict 4, range 5,
 *                         function 6, trigger 7, procedure 8
 *
 * Four-byte numbers are big endian, eight-byte numbers little endian: clients
 * compare those of documents to resume an ordered query.  A document's number
 * is the range it was created in (20 bits) and a counter of that range (40
 * bits), so it increases within a range.
 *
 * Clients keep rids in continuations.  A store should not start its numbers at
 * 1; otherwise a continuation of one store would fit a container of another.
 *
 * Values only; any thread.
 */
#ifndef RN_COSMOS_RID_H
#define RN_COSMOS_RID_H

#include "cosmos/kind.h"

enum {
    RN_RID_BYTES_MAX = 16,
    RN_RID_TEXT_MAX = 24, /* there is no NUL */
    RN_RID_SELF_MAX = 80, /* of a self link; no NUL */
    RN_RID_RANGE_BITS = 20,
    RN_RID_COUNTER_BITS = 40,
};

#define RN_RID_NUMBER_MAX (((uint64_t)1 << 60) - 1)

/* Two rids are equal if all members are equal; members that a kind does not
 * have are 0. */
struct rn_rid {
    enum rn_kind kind;
    uint32_t database;
    uint32_t parent; /* container or user, 31 bits */
    uint64_t number; /* within the parent; of an offer, its own */
};

struct rn_rid rn_rid_database(uint32_t number);
struct rn_rid rn_rid_container(uint32_t database, uint32_t number);
struct rn_rid rn_rid_user(uint32_t database, uint32_t number);
struct rn_rid rn_rid_offer(uint32_t number);
/* A resource in a container or a user, or a client key, whose owner is a
 * database. */
struct rn_rid rn_rid_child(struct rn_rid owner, enum rn_kind kind,
                           uint64_t number);

/* A document's number and its parts. */
uint64_t rn_rid_number(uint32_t range, uint64_t counter);
uint32_t rn_rid_number_range(uint64_t number);
uint64_t rn_rid_number_counter(uint64_t number);

/* The rid of the owner.  The owner of a database or an offer is the account,
 * all zero. */
struct rn_rid rn_rid_owner(struct rn_rid rid);

bool rn_rid_eq(struct rn_rid a, struct rn_rid b);

/* Binary form; decode is false if no resource can have these bytes. */
size_t rn_rid_encode(struct rn_rid rid, unsigned char out[RN_RID_BYTES_MAX]);
bool rn_rid_decode(struct rn_view bytes, struct rn_rid *out);

/* Text form; parse is false if no resource can have this text, or if it differs
 * from the output of print. */
struct rn_view rn_rid_print(struct rn_rid rid, char out[RN_RID_TEXT_MAX]);
bool rn_rid_parse(struct rn_view text, struct rn_rid *out);

/* The _self of a resource: dbs/{rid}/colls/{rid}/docs/{rid}/ */
struct rn_view rn_rid_print_self(struct rn_rid rid, char out[RN_RID_SELF_MAX]);

#endif
