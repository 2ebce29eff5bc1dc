/* rid.c -- see rid.h. */
#include "cosmos/rid.h"

#include "base/base64.h"

#include <assert.h>

static const uint32_t container_bit = (uint32_t)1 << 31;

enum { NO_NIBBLE = 0xff };

/* The nibble above the number of a resource in a container, by kind. */
static const unsigned char nibbles[RN_KINDS] = {
    [RN_KIND_ACCOUNT] = NO_NIBBLE,
    [RN_KIND_DATABASE] = NO_NIBBLE,
    [RN_KIND_CONTAINER] = NO_NIBBLE,
    [RN_KIND_DOCUMENT] = 0,
    [RN_KIND_RANGE] = 5,
    [RN_KIND_PROCEDURE] = 8,
    [RN_KIND_TRIGGER] = 7,
    [RN_KIND_FUNCTION] = 6,
    [RN_KIND_CONFLICT] = 4,
    [RN_KIND_USER] = NO_NIBBLE,
    [RN_KIND_PERMISSION] = NO_NIBBLE,
    [RN_KIND_CLIENT_KEY] = NO_NIBBLE,
    [RN_KIND_OFFER] = NO_NIBBLE,
};

struct rn_rid rn_rid_database(uint32_t number)
{
    assert(number != 0);
    return (struct rn_rid){ .kind = RN_KIND_DATABASE, .database = number };
}

struct rn_rid rn_rid_container(uint32_t database, uint32_t number)
{
    assert(database != 0 && number < container_bit);
    return (struct rn_rid){ .kind = RN_KIND_CONTAINER,
                            .database = database,
                            .parent = number };
}

struct rn_rid rn_rid_user(uint32_t database, uint32_t number)
{
    assert(database != 0 && number != 0 && number < container_bit);
    return (struct rn_rid){ .kind = RN_KIND_USER,
                            .database = database,
                            .parent = number };
}

struct rn_rid rn_rid_offer(uint32_t number)
{
    assert(number < 1u << 24);
    return (struct rn_rid){ .kind = RN_KIND_OFFER, .number = number };
}

struct rn_rid rn_rid_child(struct rn_rid owner, enum rn_kind kind,
                           uint64_t number)
{
    assert(rn_kind_owner(kind) == owner.kind && number <= RN_RID_NUMBER_MAX);
    return (struct rn_rid){ .kind = kind,
                            .database = owner.database,
                            .parent = owner.parent,
                            .number = number };
}

uint64_t rn_rid_number(uint32_t range, uint64_t counter)
{
    assert(range < 1u << RN_RID_RANGE_BITS);
    assert(counter < (uint64_t)1 << RN_RID_COUNTER_BITS);
    return (uint64_t)range << RN_RID_COUNTER_BITS | counter;
}

uint32_t rn_rid_number_range(uint64_t number)
{
    return (uint32_t)(number >> RN_RID_COUNTER_BITS);
}

uint64_t rn_rid_number_counter(uint64_t number)
{
    return number & (((uint64_t)1 << RN_RID_COUNTER_BITS) - 1);
}

struct rn_rid rn_rid_owner(struct rn_rid rid)
{
    struct rn_rid owner = { .kind = rn_kind_owner(rid.kind) };

    if (owner.kind != RN_KIND_ACCOUNT)
        owner.database = rid.database;
    if (owner.kind != RN_KIND_ACCOUNT && owner.kind != RN_KIND_DATABASE)
        owner.parent = rid.parent;
    return owner;
}

bool rn_rid_eq(struct rn_rid a, struct rn_rid b)
{
    return a.kind == b.kind && a.database == b.database &&
           a.parent == b.parent && a.number == b.number;
}

/* ---- bytes --------------------------------------------------------------- */

static void put_big(unsigned char *out, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (unsigned char)(number >> (bytes - 1 - i) * 8);
}

static uint32_t get_big(const char *at, size_t bytes)
{
    uint32_t number = 0;

    for (size_t i = 0; i < bytes; i++)
        number = number << 8 | (unsigned char)at[i];
    return number;
}

static void put_little(unsigned char *out, uint64_t number)
{
    for (size_t i = 0; i < 8; i++)
        out[i] = (unsigned char)(number >> i * 8);
}

static uint64_t get_little(const char *at)
{
    uint64_t number = 0;

    for (size_t i = 8; i-- > 0;)
        number = number << 8 | (unsigned char)at[i];
    return number;
}

size_t rn_rid_encode(struct rn_rid rid, unsigned char out[RN_RID_BYTES_MAX])
{
    bool in_container =
        rid.kind == RN_KIND_CONTAINER || nibbles[rid.kind] != NO_NIBBLE;
    uint64_t nibble = nibbles[rid.kind] == NO_NIBBLE ? 0 : nibbles[rid.kind];

    assert(rid.kind != RN_KIND_ACCOUNT && rid.number <= RN_RID_NUMBER_MAX);
    if (rid.kind == RN_KIND_OFFER) {
        put_big(out, rid.number, 3);
        return 3;
    }
    put_big(out, rid.database, 4);
    if (rid.kind == RN_KIND_DATABASE)
        return 4;
    put_big(out + 4, rid.parent | (in_container ? container_bit : 0), 4);
    if (rid.kind == RN_KIND_CONTAINER || rid.kind == RN_KIND_USER)
        return 8;
    put_little(out + 8, rid.number | nibble << 60);
    return 16;
}

/* The kind of a nibble, or the account for an unused nibble. */
static enum rn_kind kind_of_nibble(uint64_t nibble)
{
    enum rn_kind kind = RN_KINDS - 1;

    while (kind != RN_KIND_ACCOUNT && nibbles[kind] != nibble)
        kind--;
    return kind;
}

static bool decode_child(struct rn_view bytes, bool in_container,
                         struct rn_rid *rid)
{
    uint64_t number = get_little(bytes.at + 8);
    uint64_t nibble = number >> 60;

    rid->number = number & RN_RID_NUMBER_MAX;
    if (in_container)
        rid->kind = kind_of_nibble(nibble);
    else if (nibble == 0)
        rid->kind = rid->parent ? RN_KIND_PERMISSION : RN_KIND_CLIENT_KEY;
    return rid->kind != RN_KIND_ACCOUNT;
}

bool rn_rid_decode(struct rn_view bytes, struct rn_rid *out)
{
    struct rn_rid rid = { .kind = RN_KIND_ACCOUNT };
    bool in_container;

    if (bytes.len == 3) {
        *out = rn_rid_offer(get_big(bytes.at, 3));
        return true;
    }
    if (bytes.len != 4 && bytes.len != 8 && bytes.len != 16)
        return false;
    rid.database = get_big(bytes.at, 4);
    if (rid.database == 0)
        return false;
    if (bytes.len == 4) {
        rid.kind = RN_KIND_DATABASE;
        *out = rid;
        return true;
    }
    rid.parent = get_big(bytes.at + 4, 4);
    in_container = rid.parent & container_bit;
    rid.parent &= ~container_bit;
    if (bytes.len == 16) {
        if (!decode_child(bytes, in_container, &rid))
            return false;
    } else {
        if (!in_container && rid.parent == 0)
            return false;
        rid.kind = in_container ? RN_KIND_CONTAINER : RN_KIND_USER;
    }
    *out = rid;
    return true;
}

/* ---- text ---------------------------------------------------------------- */

struct rn_view rn_rid_print(struct rn_rid rid, char out[RN_RID_TEXT_MAX])
{
    unsigned char bytes[RN_RID_BYTES_MAX];
    size_t len = rn_rid_encode(rid, bytes);

    return rn_base64_encode(rn_view_of(bytes, len), RN_BASE64_RID, out);
}

bool rn_rid_parse(struct rn_view text, struct rn_rid *out)
{
    unsigned char bytes[RN_RID_BYTES_MAX];
    size_t len;

    return !rn_base64_decode(text, RN_BASE64_RID, bytes, sizeof(bytes), &len) &&
           rn_rid_decode(rn_view_of(bytes, len), out);
}

/* Appends word/rid/ after the path of the owner. */
static size_t print_step(struct rn_rid rid, char *out)
{
    struct rn_rid owner = rn_rid_owner(rid);
    struct rn_view word = rn_kind_word(rid.kind);
    size_t n = owner.kind == RN_KIND_ACCOUNT ? 0 : print_step(owner, out);

    memcpy(out + n, word.at, word.len);
    n += word.len;
    out[n++] = '/';
    n += rn_rid_print(rid, out + n).len;
    out[n++] = '/';
    return n;
}

struct rn_view rn_rid_print_self(struct rn_rid rid, char out[RN_RID_SELF_MAX])
{
    return rn_view_of(out, print_step(rid, out));
}
