/* reading.c -- see reading.h. */
#include "client/reading.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

const struct service_definition reading_one_range = { .db = "d",
                                                      .name = "c",
                                                      .key = "/pk" };
const struct service_definition reading_four_ranges = {
    .db = "d", .name = "c", .key = "/pk", .ranges = 4
};

struct rn_feed_cursor *reading_open(struct world *w,
                                    const runnel_feed_options *options)
{
    struct rn_feed_cursor *c = NULL;
    runnel_error error = { 0 };

    if (rn_feed_cursor_open(w->container, options, &c, &error))
        fail_msg("%s", error.message);
    return c;
}

runnel_batch *reading_next(struct rn_feed_cursor *c, uint32_t wait_ms)
{
    runnel_batch *batch = NULL;
    runnel_error error = { 0 };

    if (rn_feed_cursor_next(c, wait_ms, &batch, &error))
        fail_msg("%s", error.message);
    assert_string_equal(batch->token, rn_feed_cursor_token(c));
    return batch;
}

/* Everything that is there now, as text. */
const char *reading_rest(struct rn_feed_cursor *c, uint32_t wait_ms)
{
    static char text[4096];
    size_t len = 0;

    text[0] = '\0';
    for (;;) {
        runnel_batch *batch = reading_next(c, wait_ms);
        size_t count = batch->count;

        for (size_t i = 0; i < count; i++) {
            const runnel_change *change = &batch->page->changes[i];

            len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.*s",
                                    len == 0 ? ""
                                    : i == 0 ? "|"
                                             : " ",
                                    (int)change->id.len, change->id.at);
        }
        rn_batch_unref(batch);
        if (!count)
            return text;
    }
}

const char *reading_whole(struct world *w, const runnel_feed_options *options)
{
    struct rn_feed_cursor *c = reading_open(w, options);
    const char *text = reading_rest(c, 0);

    rn_feed_cursor_close(c);
    return text;
}

/* A document of a key, or several of keys that lie all over the ranges. */
void reading_put(struct world *w, const char *id, const char *pk)
{
    char json[128];

    snprintf(json, sizeof(json), "{\"id\":\"%s\",\"pk\":\"%s\"}", id, pk);
    (void)service_upsert(w->box, json);
}

void reading_put_many(struct world *w, int from, int to)
{
    for (int i = from; i < to; i++) {
        char id[16];

        snprintf(id, sizeof(id), "%d", i);
        reading_put(w, id, id);
    }
}

/* How many documents of put_many are in a text of ids, each once. */
int reading_count(const char *text, int from, int to)
{
    int n = 0;

    for (int i = from; i < to; i++) {
        char id[16];
        const char *at = text;
        int times = 0;
        size_t len = (size_t)snprintf(id, sizeof(id), "%d", i);

        while ((at = strstr(at, id)) != NULL) {
            times += (at == text || at[-1] == ' ' || at[-1] == '|') &&
                     (at[len] == '\0' || at[len] == ' ' || at[len] == '|');
            at += len;
        }
        n += times == 1;
    }
    return n;
}
