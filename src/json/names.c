/* names.c -- see names.h.
 *
 * Names go through a hash table with open addressing, at most half full, hashed
 * with the caller's seed: without it a sender could choose names that all
 * collide, and a hundred thousand of them would cost five thousand million
 * comparisons.
 *
 * Few names are usually distinguished by a fingerprint, which is cheaper.  A
 * sender can make fingerprints collide, but only forces the use of the table.
 */
#include "json/names.h"

#include "base/hash.h"

#include <endian.h>

enum {
    FINGERPRINT_BITS = 10,
    FINGERPRINTS = 1 << FINGERPRINT_BITS,
    FEW = 64, /* with more, two are likely to share a fingerprint */
};

/* Node 0 is the root and never a name, so a zeroed slot is empty. */
struct slot {
    uint32_t hash, name;
};

static struct rn_json_node *tape(struct rn_json *j)
{
    return (struct rn_json_node *)(void *)j->tape.at;
}

/* A name without escapes. */
struct plain {
    struct rn_view name; /* valid until the next one is taken */
    const char *end;     /* end of the memory that holds it */
};

static enum rn_code unescape(struct rn_json *j, struct plain *plain)
{
    enum rn_code rc;

    rn_buf_clear(&j->name);
    rc = rn_buf_reserve(&j->name, plain->name.len);
    if (rc)
        return rc;
    j->name.len = rn_json_unescape(plain->name, j->name.at);
    plain->name = rn_buf_view(&j->name);
    plain->end = plain->name.at + plain->name.len;
    return RN_OK;
}

static inline enum rn_code take_name(struct rn_json *j, uint32_t name,
                                     struct plain *out)
{
    out->name = rn_json_text(j, name);
    out->end = j->text.at + j->text.len;
    return j->nodes[name].escaped ? unescape(j, out) : RN_OK;
}

static uint32_t next_name(const struct rn_json *j, uint32_t name)
{
    return name + 1 + j->nodes[name + 1].span;
}

/* An undefined name marks a member to be dropped. */
static enum rn_code met_again(struct rn_json *j, uint32_t earlier,
                              uint32_t *dropped)
{
    if (j->limits.twice == RN_JSON_TWICE_REFUSED)
        return RN_BAD_REQUEST;
    tape(j)[earlier].kind = RN_JSON_UNDEFINED;
    *dropped += 1;
    return RN_OK;
}

/* The first bytes of the name, eight at most, as a number.  Reading eight at
 * once avoids a branch that is hard to predict. */
static uint64_t head(const struct plain *plain)
{
    struct rn_view name = plain->name;
    uint64_t x = 0;

    if (plain->end - name.at >= 8) {
        memcpy(&x, name.at, 8);
        x = le64toh(x);
    } else {
        for (size_t i = 0; i < name.len; i++)
            x |= (uint64_t)(unsigned char)name.at[i] << 8 * i;
    }
    return name.len < 8 ? x & ((UINT64_C(1) << 8 * name.len) - 1) : x;
}

/* A number below FINGERPRINTS, from a name's length and its first and last
 * eight bytes. */
static uint32_t fingerprint(const struct plain *plain)
{
    struct rn_view name = plain->name;
    uint64_t x = head(plain), foot;

    if (name.len > 8) {
        memcpy(&foot, name.at + name.len - 8, 8);
        x ^= foot * 0x9e3779b97f4a7c15u;
    }
    x += name.len;
    x ^= x >> 32;
    return (uint32_t)(x * 0xd6e8feb86659fd93u >> (64 - FINGERPRINT_BITS));
}

/* True if no two names share a fingerprint, so that all names differ. */
static enum rn_code surely_differ(struct rn_json *j, uint32_t object, bool *yes)
{
    uint64_t seen[FINGERPRINTS / 64] = { 0 };
    struct plain plain;
    enum rn_code rc;

    *yes = false;
    for (uint32_t n = object + 1; n < j->count; n = next_name(j, n)) {
        uint32_t print;
        rc = take_name(j, n, &plain);
        if (rc)
            return rc;
        print = fingerprint(&plain);
        if (seen[print / 64] >> (print % 64) & 1)
            return RN_OK;
        seen[print / 64] |= UINT64_C(1) << (print % 64);
    }
    *yes = true;
    return RN_OK;
}

/* Allocates a power of two of empty slots, at least twice `count`. */
static enum rn_code slots_new(struct rn_json *j, uint32_t count,
                              struct slot **out, uint32_t *mask)
{
    size_t size = 16;
    enum rn_code rc;

    while (size < 2 * (size_t)count)
        size *= 2;
    rc = rn_buf_reserve(&j->slots, size * sizeof(struct slot));
    if (rc)
        return rc;
    memset(j->slots.at, 0, size * sizeof(struct slot));
    *out = (struct slot *)(void *)j->slots.at;
    *mask = (uint32_t)(size - 1);
    return RN_OK;
}

/* The slot that holds the name, or the empty one where it belongs. */
static struct slot *slot_find(const struct rn_json *j, struct slot *slots,
                              uint32_t mask, struct rn_view name)
{
    uint32_t hash = (uint32_t)rn_hash64(name, j->limits.seed);

    for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
        struct slot *s = &slots[i];
        if (s->name == 0) {
            s->hash = hash;
            return s;
        }
        if (s->hash == hash && rn_json_string_is(j, s->name, name))
            return s;
    }
}

static enum rn_code compare(struct rn_json *j, uint32_t object, uint32_t count,
                            uint32_t *dropped, uint32_t *again)
{
    struct plain plain;
    struct slot *slots;
    uint32_t mask;
    enum rn_code rc = slots_new(j, count, &slots, &mask);

    for (uint32_t n = object + 1; !rc && n < j->count; n = next_name(j, n)) {
        struct slot *s;
        *again = n;
        rc = take_name(j, n, &plain);
        if (rc)
            break;
        s = slot_find(j, slots, mask, plain.name);
        if (s->name)
            rc = met_again(j, s->name, dropped);
        s->name = n;
    }
    return rc;
}

/* Spans are relative, so a member can be moved unchanged. */
static void drop_marked(struct rn_json *j, uint32_t object)
{
    struct rn_json_node *nodes = tape(j);
    uint32_t to = object + 1, next;

    for (uint32_t from = to; from < j->count; from = next) {
        uint32_t size = next_name(j, from) - from;
        next = from + size;
        if (nodes[from].kind == RN_JSON_UNDEFINED)
            continue;
        memmove(&nodes[to], &nodes[from], size * sizeof(*nodes));
        to += size;
    }
    j->count = to;
    j->is_compact = false;
}

enum rn_code rn_json_names_check(struct rn_json *j, uint32_t object,
                                 uint32_t *count, uint32_t *again)
{
    uint32_t dropped = 0;
    enum rn_code rc = RN_OK;
    bool differ = false;

    if (*count <= FEW)
        rc = surely_differ(j, object, &differ);
    if (!rc && !differ)
        rc = compare(j, object, *count, &dropped, again);
    if (rc || dropped == 0)
        return rc;
    drop_marked(j, object);
    *count -= dropped;
    return RN_OK;
}
