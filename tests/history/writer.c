/* writer.c -- see writer.h. */
#include "history/writer.h"

#include "history/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP_MAX = 100, OPERATION_TEXT = 120 };

struct writers writers;

static uint32_t draw_document(struct client *c, uint32_t key)
{
    return key + server_process.keys *
                     (uint32_t)rn_prng_below(&c->prng, writers.slots);
}

static uint32_t draw_key(struct client *c)
{
    return c->number +
           writers.count * (uint32_t)rn_prng_below(
                               &c->prng, server_process.keys / writers.count);
}

static struct history_entry draw_upsert(struct client *c, uint32_t key,
                                        uint32_t n)
{
    return (struct history_entry){ .client = c->number,
                                   .op = HISTORY_UPSERT,
                                   .document = draw_document(c, key),
                                   .key = key,
                                   .token =
                                       atomic_fetch_add(&writers.tokens, 1) + 1,
                                   .t1 = HISTORY_NEVER,
                                   .n = n };
}

/* What is there now, which is noted too, and the range that it was written to.
 * Asks until it knows. */
static bool look(struct client *c, uint32_t document, struct history_entry *e,
                 uint32_t *written)
{
    char link[64], path[80], more[80];
    struct request ask = {
        .verb = "GET", .word = "docs", .link = link, .path = path, .more = more
    };
    struct answer a;
    struct rn_json j;
    struct rn_etag etag = { 0 };

    *e = (struct history_entry){ .client = c->number,
                                 .op = HISTORY_READ,
                                 .document = document,
                                 .key = document % server_process.keys };
    snprintf(link, sizeof(link), "dbs/h/colls/c/docs/d%u", document);
    snprintf(path, sizeof(path), "/%s", link);
    snprintf(more, sizeof(more), "x-ms-documentdb-partitionkey: [\"k%u\"]\r\n",
             shape_name(e->key));
    do {
        client_reach(c);
        e->t0 = server_process_now_ns();
        a.status = 0;
    } while (!client_ask(c, &ask, &a) || a.status == 429 || a.status >= 500);
    e->t1 = server_process_now_ns();
    e->status = (uint16_t)a.status;
    e->point = a.lsn;
    e->range = a.range;
    rn_json_init(&j, NULL);
    if (a.status == 200 &&
        (rn_json_parse(&j, a.body, NULL) ||
         !server_process_read_document(&j, 0, e) ||
         !server_process_read_etag(&j, rn_json_find(&j, 0, RN_LIT("_etag")),
                                   &etag)))
        c->broken = "a document cannot be read";
    if (written)
        *written = etag.range;
    rn_json_release(&j);
    client_note(c, e);
    return a.status == 200;
}

/* It has happened, as `seen` shows, or it has not.  The range may have been
 * merged with others since, which have the same LSNs. */
static void note_outcome(struct history_entry *e,
                         const struct history_entry *seen, uint32_t written,
                         bool happened)
{
    if (!happened) {
        e->t1 = seen->t1; /* from now on */
        return;
    }
    e->status = 200;
    e->point = e->version = seen->version;
    e->range = written;
}

/* Its last operation is an upsert: all of it is there, or nothing. */
static void settle_transaction(struct client *c, struct history_entry *group)
{
    struct history_entry seen;
    const struct history_entry *last = &group[writers.group - 1];
    uint32_t written;
    bool happened =
        look(c, last->document, &seen, &written) && seen.token == last->token;

    for (size_t i = 0; i < writers.group; i++)
        note_outcome(&group[i], &seen, written, happened);
}

/* Of several to one document only the last can be seen; those before it have
 * happened if it has, at LSNs that nobody knows. */
static void settle_bulk(struct client *c, struct history_entry *group)
{
    for (size_t i = 0; i < writers.group; i++) {
        struct history_entry seen;
        uint32_t written;

        (void)!look(c, group[i].document, &seen, &written);
        note_outcome(&group[i], &seen, written, seen.token == group[i].token);
    }
}

static bool read_results(struct client *c, const struct answer *a,
                         struct history_entry *group, bool is_bulk)
{
    struct rn_json j;
    struct rn_json_walk walk;
    struct rn_etag etag = { 0 };
    size_t n = 0;

    rn_json_init(&j, NULL);
    if (!rn_json_parse(&j, a->body, NULL)) {
        walk = rn_json_walk_begin(&j, 0);
        while (rn_json_walk_next(&walk) && n < writers.group) {
            struct history_entry *e = &group[n];
            uint32_t tag = rn_json_find(&j, walk.value, RN_LIT("eTag"));

            if (e->op != HISTORY_DELETE &&
                !server_process_read_etag(&j, tag, &etag))
                break;
            e->status = 200;
            e->point = e->version = etag.lsn;
            e->range = etag.range;
            e->n = is_bulk ? 0 : (uint32_t)n;
            n++;
        }
    }
    rn_json_release(&j);
    if (n < writers.group)
        c->broken = "a group's answer cannot be read";
    return n == writers.group;
}

enum outcome { DONE, REFUSED, LOST };

static enum outcome send_group(struct client *c, struct history_entry *group,
                               bool is_bulk, const char *more,
                               struct rn_view body)
{
    struct request ask = { .verb = "POST",
                           .word = "docs",
                           .link = "dbs/h/colls/c",
                           .path = "/dbs/h/colls/c/docs",
                           .more = more,
                           .body = body };
    struct answer a;
    uint64_t t0, t1;
    bool is_answered;

    client_reach(c);
    t0 = server_process_now_ns();
    is_answered = client_ask(c, &ask, &a);
    t1 = server_process_now_ns();
    for (size_t i = 0; i < writers.group; i++) {
        group[i].t0 = t0;
        group[i].t1 = is_answered ? t1 : HISTORY_NEVER;
    }
    if (!is_answered || a.status >= 500) {
        if (is_bulk)
            settle_bulk(c, group);
        else
            settle_transaction(c, group);
        return LOST;
    }
    if (a.status == 429 || a.status == 410)
        return REFUSED;
    if (a.status != 200 && a.status != 207)
        c->broken = "a group is refused";
    else if (read_results(c, &a, group, is_bulk))
        return DONE;
    return REFUSED;
}

static void note_group(struct client *c, const struct history_entry *group)
{
    unsigned long happened = 0;

    for (size_t i = 0; i < writers.group; i++) {
        client_note(c, &group[i]);
        happened += group[i].status == 200;
    }
    atomic_fetch_add(&writers.done, happened);
}

static void print_operation(struct rn_buf *out, const struct history_entry *e,
                            bool is_first)
{
    enum rn_code rc;

    if (e->op == HISTORY_DELETE)
        rc = rn_buf_printf(out,
                           "%c{\"operationType\":\"Delete\",\"id\":\"d%u\","
                           "\"partitionKey\":\"[\\\"k%u\\\"]\"}",
                           is_first ? '[' : ',', e->document,
                           shape_name(e->key));
    else
        rc = rn_buf_printf(
            out,
            "%c{\"operationType\":\"Upsert\",\"partitionKey\":"
            "\"[\\\"k%u\\\"]\",\"resourceBody\":{\"id\":\"d%u\",\"pk\":"
            "\"k%u\",\"w\":%llu}}",
            is_first ? '[' : ',', shape_name(e->key), e->document,
            shape_name(e->key), (unsigned long long)e->token);
    if (rc)
        abort();
}

/* Upserts of one key, and deletions of what it has just put there. */
static void transact(struct client *c, struct rn_buf *text)
{
    struct history_entry group[GROUP_MAX];
    uint32_t key = draw_key(c);
    char more[256];

    rn_buf_clear(text);
    for (uint32_t i = 0; i < writers.group; i++) {
        group[i] = draw_upsert(c, key, i);
        if (i > 1 && i < writers.group - 1 && rn_prng_percent(&c->prng, 5) &&
            group[i - 1].op == HISTORY_UPSERT) {
            group[i].op = HISTORY_DELETE;
            group[i].token = 0;
            group[i].document = group[i - 1].document;
        }
        print_operation(text, &group[i], i == 0);
    }
    if (rn_buf_add(text, RN_LIT("]")))
        abort();
    snprintf(more, sizeof(more),
             "x-ms-documentdb-partitionkey: [\"k%u\"]\r\n"
             "x-ms-cosmos-is-batch-request: True\r\n"
             "x-ms-cosmos-batch-atomic: True\r\nPrefer: return=minimal\r\n",
             shape_name(key));
    if (send_group(c, group, false, more, rn_buf_view(text)) != REFUSED)
        note_group(c, group);
}

/* One of its keys in an interval of them; false if it has none there. */
static bool draw_key_of(struct client *c, const struct shape *s, uint32_t *out)
{
    uint32_t first =
        s->key +
        (c->number + writers.count - s->key % writers.count) % writers.count;
    uint32_t end = s->key + s->keys;

    if (first >= end)
        return false;
    *out = first +
           writers.count *
               (uint32_t)rn_prng_below(
                   &c->prng, (end - first + writers.count - 1) / writers.count);
    return true;
}

/* No document twice, so that each can be seen. */
static bool has_document(const struct history_entry *group, size_t n,
                         uint32_t document)
{
    for (size_t i = 0; i < n; i++)
        if (group[i].document == document)
            return true;
    return false;
}

/* Upserts of a range, each with an LSN of its own. */
static void write_bulk(struct client *c, struct rn_buf *text)
{
    struct shape ranges[SHAPE_RANGES_MAX], *s;
    struct history_entry group[GROUP_MAX];
    size_t n = shape_read(c, ranges);
    uint32_t key;
    char more[256];

    s = n ? &ranges[rn_prng_below(&c->prng, n)] : NULL;
    if (!s || s->keys / writers.count * writers.slots < 2 * writers.group)
        return; /* too few documents of its own */
    rn_buf_clear(text);
    for (uint32_t i = 0; i < writers.group; i++) {
        do {
            if (!draw_key_of(c, s, &key))
                return;
            group[i] = draw_upsert(c, key, 0);
        } while (has_document(group, i, group[i].document));
        print_operation(text, &group[i], i == 0);
    }
    if (rn_buf_add(text, RN_LIT("]")))
        abort();
    snprintf(more, sizeof(more),
             "x-ms-documentdb-partitionkeyrangeid: %u\r\n"
             "x-ms-cosmos-is-batch-request: True\r\n"
             "x-ms-cosmos-batch-atomic: False\r\n"
             "x-ms-cosmos-batch-continue-on-error: True\r\n"
             "Prefer: return=minimal\r\n",
             s->id);
    if (send_group(c, group, true, more, rn_buf_view(text)) != REFUSED)
        note_group(c, group);
}

static void delete_one(struct client *c)
{
    uint32_t document = draw_document(c, draw_key(c));
    struct history_entry e = { .client = c->number,
                               .op = HISTORY_DELETE,
                               .document = document,
                               .key = document % server_process.keys,
                               .t1 = HISTORY_NEVER };
    struct history_entry before, after;
    char link[64], path[80], more[80];
    struct request ask = { .verb = "DELETE",
                           .word = "docs",
                           .link = link,
                           .path = path,
                           .more = more };
    struct answer a;

    if (!look(c, document, &before, NULL))
        return;
    snprintf(link, sizeof(link), "dbs/h/colls/c/docs/d%u", document);
    snprintf(path, sizeof(path), "/%s", link);
    snprintf(more, sizeof(more), "x-ms-documentdb-partitionkey: [\"k%u\"]\r\n",
             shape_name(e.key));
    client_reach(c);
    e.t0 = server_process_now_ns();
    if (!client_ask(c, &ask, &a) || a.status >= 500) {
        /* If it is gone, nobody knows under which LSN: let it be in doubt. */
        if (look(c, document, &after, NULL))
            e.t1 = after.t1;
    } else if (a.status == 204 || a.status == 404) {
        e.t1 = server_process_now_ns();
        e.status = (uint16_t)a.status;
        e.point = a.lsn;
        e.version = a.status == 204 ? a.lsn : 0;
        e.range = a.range;
    } else {
        return;
    }
    client_note(c, &e);
    atomic_fetch_add(&writers.done, e.status == 204);
}

void writer_init(struct rn_buf *text)
{
    *text = RN_BUF_INIT(4 * GROUP_MAX * OPERATION_TEXT);
}

void writer_step(struct client *c, struct rn_buf *text)
{
    uint64_t dice = rn_prng_below(&c->prng, 100);

    if (dice < 60)
        transact(c, text);
    else if (dice < 80)
        write_bulk(c, text);
    else
        delete_one(c);
}
