/* value_set.c -- see value_set.h. */
#include "client/query/value_set.h"

#include "base/hash.h"
#include "json/print.h"

enum { ROOM_MIN = 64, TEXT_MAX = 64 << 20 };

void rn_value_set_release(struct rn_value_set *s)
{
    rn_free(s->slots);
    *s = (struct rn_value_set){ 0 };
}

/* Where the text is, or where it belongs. */
static size_t find(const struct rn_value_set_entry *slots, size_t room,
                   uint64_t hash, struct rn_view text)
{
    size_t at = hash & (room - 1);

    while (slots[at].text.at &&
           (slots[at].hash != hash || !rn_view_eq(slots[at].text, text)))
        at = (at + 1) & (room - 1);
    return at;
}

static enum rn_code grow(struct rn_value_set *s)
{
    size_t room = s->room ? 2 * s->room : ROOM_MIN;
    struct rn_value_set_entry *slots = rn_new(room * sizeof(*slots));

    if (!slots)
        return RN_NOMEM;
    for (size_t i = 0; i < s->room; i++) {
        const struct rn_value_set_entry *one = &s->slots[i];
        if (one->text.at)
            slots[find(slots, room, one->hash, one->text)] = *one;
    }
    rn_free(s->slots);
    s->slots = slots;
    s->room = room;
    return RN_OK;
}

enum rn_code rn_value_set_add_text(struct rn_value_set *s, struct rn_view text,
                                   struct rn_arena *arena, size_t *place,
                                   bool *is_new)
{
    uint64_t hash = rn_hash64(text, 0);
    struct rn_value_set_entry *slot;
    enum rn_code rc;

    if (s->count >= s->room / 2) {
        rc = grow(s);
        if (rc)
            return rc;
    }
    slot = &s->slots[find(s->slots, s->room, hash, text)];
    *is_new = !slot->text.at;
    if (*is_new) {
        size_t size = text.len + sizeof(*slot); /* the slot counts, too */
        char *copy = rn_arena_alloc(arena, size);
        if (!copy)
            return rn_arena_lack(arena, size);
        if (text.len)
            memcpy(copy, text.at, text.len);
        *slot = (struct rn_value_set_entry){ .hash = hash,
                                             .text = rn_view_of(copy, text.len),
                                             .place = s->count++ };
    }
    *place = slot->place;
    return RN_OK;
}

enum rn_code rn_value_set_add(struct rn_value_set *s, struct rn_merge_item v,
                              struct rn_arena *arena, bool *is_new)
{
    struct rn_buf text = RN_BUF_INIT(TEXT_MAX);
    size_t place;
    enum rn_code rc = rn_merge_item_canon(v, &text);

    if (!rc)
        rc =
            rn_value_set_add_text(s, rn_buf_view(&text), arena, &place, is_new);
    rn_buf_release(&text);
    return rc;
}

/* A string is parsed without its quotes. */
static struct rn_view whole_text(struct rn_merge_item v)
{
    struct rn_view text = rn_json_text(v.j, v.at);

    if (rn_json_kind(v.j, v.at) == RN_JSON_STRING)
        text = rn_view_of(text.at - 1, text.len + 2);
    return text;
}

struct rn_view rn_merge_item_keep(struct rn_merge_item v,
                                  struct rn_arena *arena)
{
    return rn_arena_copy(arena, whole_text(v));
}

enum rn_code rn_merge_item_print(struct rn_merge_item v, struct rn_buf *out)
{
    return rn_buf_add(out, whole_text(v));
}
