/* reader_program.c -- reads change feeds from a real server, by the public
 * header alone; a line "ok NAME" or "not ok NAME" for each case.
 *
 *   reader_program ENDPOINT
 *
 * suites/reader.sh runs it. */
#include <pthread.h>
#include <runnel/client.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static runnel_client *client;
static runnel_error error;
static const char *failure; /* of the case that runs */
static int number;          /* of containers made so far */

struct scene {
    char name[32];
    runnel_container *container;
};

static bool must(runnel_code code, const char *what)
{
    static char text[400];

    if (!code)
        return true;
    if (!failure) {
        snprintf(text, sizeof(text), "%s: %s: %s", what, runnel_code_name(code),
                 error.message);
        failure = text;
    }
    return false;
}

static void expect(bool ok, const char *what)
{
    if (!ok && !failure)
        failure = what;
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- the container ------------------------------------------------------- */

static void scene_open(struct scene *s, const char *key, uint32_t versions_min)
{
    runnel_container_definition d = { RUNNEL_CONTAINER_INIT,
                                      .partition_key = key, .ttl_s = -1,
                                      .versions_min = versions_min };

    snprintf(s->name, sizeof(s->name), "c%d", number++);
    d.id = s->name;
    must(runnel_container_create(client, "reader", &d, NULL, &error), "create");
    must(
        runnel_container_open(client, "reader", s->name, &s->container, &error),
        "open");
}

static void scene_close(struct scene *s)
{
    must(runnel_container_delete(s->container, &error), "delete");
    runnel_container_close(s->container);
}

static void put(struct scene *s, const char *id, const char *key)
{
    char json[128];

    snprintf(json, sizeof(json), "{\"id\":\"%s\",\"pk\":\"%s\"}", id, key);
    must(
        runnel_item_upsert(s->container, runnel_text(json), NULL, NULL, &error),
        "upsert");
}

static void put_many(struct scene *s, int from, int to)
{
    for (int i = from; i < to; i++) {
        char id[16];

        snprintf(id, sizeof(id), "%d", i);
        put(s, id, id);
    }
}

/* POST /_runnel/split or merge. */
static void split_or_merge(struct scene *s, const char *how,
                           const char *members)
{
    const runnel_header json = { "content-type", "application/json" };
    char path[64], body[200];
    runnel_request request = {
        .method = "POST", .path = path, .headers = &json, .header_count = 1
    };

    snprintf(path, sizeof(path), "/_runnel/%s", how);
    snprintf(body, sizeof(body), "{\"container\":\"dbs/reader/colls/%s\",%s}",
             s->name, members);
    request.body = runnel_text(body);
    must(runnel_client_send(client, &request, NULL, &error), how);
}

/* ---- the feed ------------------------------------------------------------ */

static runnel_feed *feed_open(struct scene *s, const runnel_feed_options *o)
{
    runnel_feed *feed = NULL;

    must(runnel_feed_open(s->container, o, &feed, &error), "feed");
    return feed;
}

/* How many changes there are, until an empty batch. */
static size_t rest(runnel_feed *feed, uint32_t wait_ms)
{
    size_t sum = 0;

    while (!failure) {
        runnel_batch *batch = NULL;
        size_t count;

        if (!must(runnel_feed_next(feed, wait_ms, &batch, &error), "next"))
            break;
        count = runnel_batch_count(batch);
        expect(runnel_batch_rid(batch)[0] != '\0', "a batch without a rid");
        expect(runnel_reply_status(runnel_batch_reply(batch)) ==
                   (count ? 200 : 304),
               "the status of a batch");
        runnel_batch_close(batch);
        sum += count;
        if (!count)
            break;
    }
    return sum;
}

static size_t whole(struct scene *s, const runnel_feed_options *o)
{
    runnel_feed *feed = feed_open(s, o);
    size_t sum = feed ? rest(feed, 0) : 0;

    runnel_feed_close(feed);
    return sum;
}

/* ---- cases --------------------------------------------------------------- */

static void every_start_and_scope(void)
{
    runnel_feed_options o = { RUNNEL_FEED_INIT, .page_limit = 7 };
    runnel_ranges *ranges = NULL;
    runnel_feed *feed;
    struct scene s;
    size_t sum = 0;

    scene_open(&s, "/pk", 0);
    split_or_merge(&s, "split", "\"range\":0");
    put_many(&s, 0, 40);
    expect(whole(&s, NULL) == 40, "the beginning");
    o.start = RUNNEL_START_NOW;
    feed = feed_open(&s, &o);
    expect(rest(feed, 0) == 0, "now is not empty");
    put_many(&s, 40, 50);
    expect(rest(feed, 0) == 10, "now");
    runnel_feed_close(feed);
    o.start = RUNNEL_START_DEFAULT;
    o.start_time_ms = 1000;
    expect(whole(&s, &o) == 50, "a time in the past");
    o.start_time_ms = ((int64_t)time(NULL) + 3600) * 1000;
    expect(whole(&s, &o) == 0, "a time in the future");
    o.start_time_ms = 0;
    if (must(runnel_ranges_read(s.container, 5, &ranges, &error), "ranges")) {
        for (size_t i = 0; i < runnel_ranges_count(ranges); i++) {
            o.range = runnel_ranges_at(ranges, i)->text;
            sum += whole(&s, &o);
        }
        expect(sum == 50, "five intervals");
        runnel_ranges_close(ranges);
    }
    o.range = NULL;
    o.partition_key = "\"7\"";
    expect(whole(&s, &o) == 1, "a partition key");
    scene_close(&s);
}

static void a_prefix_of_a_hierarchical_key(void)
{
    runnel_feed_options o = { RUNNEL_FEED_INIT, .partition_key = "[\"t1\"]" };
    struct scene s;

    scene_open(&s, "/t,/u", 0);
    for (int i = 0; i < 9; i++) {
        char json[100];

        snprintf(json, sizeof(json),
                 "{\"id\":\"%d\",\"t\":\"t%d\",\"u\":\"u%d\"}", i, i / 3,
                 i % 3);
        must(runnel_item_upsert(s.container, runnel_text(json), NULL, NULL,
                                &error),
             "upsert");
    }
    expect(whole(&s, &o) == 3, "a prefix");
    o.partition_key = "[\"t1\",\"u2\"]";
    expect(whole(&s, &o) == 1, "a whole key");
    scene_close(&s);
}

static void a_token_through_a_split_and_a_merge(void)
{
    runnel_feed_options o = { RUNNEL_FEED_INIT, .page_limit = 3 };
    runnel_feed *feed;
    struct scene s;
    char *token;
    size_t seen = 0;

    scene_open(&s, "/pk", 0);
    put_many(&s, 0, 30);
    feed = feed_open(&s, &o);
    for (int i = 0; i < 4 && !failure; i++) {
        runnel_batch *batch = NULL;

        if (i == 2)
            split_or_merge(&s, "split", "\"range\":0");
        if (!must(runnel_feed_next(feed, 0, &batch, &error), "next"))
            break;
        seen += runnel_batch_count(batch);
        runnel_batch_close(batch);
    }
    token = strdup(runnel_feed_token(feed));
    runnel_feed_close(feed);
    put_many(&s, 30, 35);
    split_or_merge(&s, "merge", "\"range\":1,\"with\":2");
    o.token = token;
    expect(whole(&s, &o) == 35 - seen, "what the token left");
    free(token);
    scene_close(&s);
}

static void all_versions_and_deletes(void)
{
    static const runnel_change_kind kinds[] = { RUNNEL_CREATED, RUNNEL_REPLACED,
                                                RUNNEL_DELETED };
    runnel_feed_options o = { RUNNEL_FEED_INIT, .mode = RUNNEL_FEED_ALL,
                              .start = RUNNEL_START_NOW };
    const runnel_key key = { .id = "a", .partition_key = "\"p\"" };
    runnel_batch *batch = NULL;
    runnel_feed *feed;
    struct scene s;

    scene_open(&s, "/pk", 10);
    feed = feed_open(&s, &o);
    expect(rest(feed, 0) == 0, "now");
    put(&s, "a", "p");
    put(&s, "a", "p");
    must(runnel_item_delete(s.container, key, NULL, &error), "delete");
    if (must(runnel_feed_next(feed, 0, &batch, &error), "next")) {
        expect(runnel_batch_count(batch) == 3, "three versions");
        for (size_t i = 0; i < 3 && i < runnel_batch_count(batch); i++) {
            const runnel_change *change = runnel_batch_at(batch, i);

            expect(change->kind == kinds[i], "the kind of a change");
            expect(change->id.len == 1 && change->id.at[0] == 'a', "the id");
            expect(strcmp(change->partition_key.at, "\"p\"") == 0, "the key");
            expect((change->json.len > 0) == (i < 2), "the document");
        }
        runnel_batch_close(batch);
    }
    runnel_feed_close(feed);
    scene_close(&s);
}

struct other {
    pthread_t thread;
    struct scene *scene;
    runnel_feed *feed; /* to cancel; NULL: writes */
    double done_s;
};

/* Until the server holds a read back, or a minute is over. */
static void await_readers(void)
{
    const runnel_request request = { .method = "GET", .path = "/metrics" };
    double end_s = now_s() + 60;

    while (now_s() < end_s) {
        runnel_reply *reply = NULL;
        runnel_error ignored;
        const char *at;
        bool some;

        if (runnel_client_send(client, &request, &reply, &ignored))
            return;
        at = memmem(runnel_reply_body(reply).at, runnel_reply_body(reply).len,
                    "\nrunnel_feed_readers ", 21);
        some = at && at[21] != '0';
        runnel_reply_close(reply);
        if (some)
            return;
    }
}

static void *other_run(void *context)
{
    struct other *o = context;

    await_readers();
    if (o->feed)
        runnel_feed_cancel(o->feed);
    else
        put(o->scene, "late", "p");
    o->done_s = now_s();
    return NULL;
}

static void another_thread_writes_or_cancels(void)
{
    runnel_feed_options options = { RUNNEL_FEED_INIT };
    struct other o = { 0 };
    runnel_batch *batch = NULL;
    struct scene s;
    runnel_feed *feed;

    scene_open(&s, "/pk", 0);
    split_or_merge(&s, "split", "\"range\":0");
    feed = feed_open(&s, &options);
    o.scene = &s;
    expect(pthread_create(&o.thread, NULL, other_run, &o) == 0, "a thread");
    if (must(runnel_feed_next(feed, 60000, &batch, &error), "next")) {
        expect(runnel_batch_count(batch) == 1, "the change that ends the wait");
        runnel_batch_close(batch);
    }
    pthread_join(o.thread, NULL);
    expect(now_s() - o.done_s < 20, "a change ends the wait");
    o.feed = feed;
    expect(pthread_create(&o.thread, NULL, other_run, &o) == 0, "a thread");
    expect(runnel_feed_next(feed, 60000, &batch, &error) == RUNNEL_CANCELLED,
           "it was not cancelled");
    pthread_join(o.thread, NULL);
    expect(now_s() - o.done_s < 20, "cancelling ends the wait");
    expect(runnel_feed_next(feed, 0, &batch, &error) == RUNNEL_CANCELLED,
           "later calls are not cancelled");
    runnel_feed_close(feed);
    scene_close(&s);
}

static void a_container_that_is_not_there(void)
{
    runnel_container *none = NULL;
    runnel_batch *batch = NULL;
    runnel_feed *feed = NULL;

    must(runnel_container_open(client, "reader", "none", &none, &error),
         "open");
    must(runnel_feed_open(none, NULL, &feed, &error), "feed");
    expect(runnel_feed_next(feed, 0, &batch, &error) == RUNNEL_NOT_FOUND,
           "there is none");
    runnel_feed_close(feed);
    runnel_container_close(none);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    { "a feed is read from every start and in every scope",
      every_start_and_scope },
    { "a prefix of a hierarchical key is read",
      a_prefix_of_a_hierarchical_key },
    { "a token resumes a feed through a split and a merge",
      a_token_through_a_split_and_a_merge },
    { "all versions and deletes are returned", all_versions_and_deletes },
    { "another thread ends a wait by a change or by cancelling",
      another_thread_writes_or_cancels },
    { "the feed of a container that is not there is an error",
      a_container_that_is_not_there },
};

int main(int argc, char **argv)
{
    const runnel_database_definition db = { RUNNEL_DATABASE_INIT,
                                            .id = "reader" };
    runnel_client_options o = { RUNNEL_CLIENT_INIT };
    int failed = 0;

    if (argc != 2)
        return 2;
    o.endpoint = argv[1];
    if (!must(runnel_client_open(&o, &client, &error), "client") ||
        !must(runnel_database_create(client, &db, NULL, &error), "database")) {
        printf("not ok a server is found # %s\n", failure);
        return 1;
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        failure = NULL;
        cases[i].run();
        printf("%s %s\n", failure ? "not ok" : "ok", cases[i].name);
        if (failure)
            printf("# %s\n", failure);
        fflush(stdout);
        failed |= failure != NULL;
    }
    runnel_client_close(client);
    return failed;
}
