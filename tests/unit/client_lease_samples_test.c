/* client_lease_samples_test.c -- every recorded lease of the .NET libraries is
 * read, and written with all members that its library needs.
 *
 * tests/client/golden holds lease documents and request traces of the .NET
 * processor, versions 2 and 3, and a lease in the Java library's form.  Each
 * lease in each file is acquired, checkpointed and released by this library's
 * update (client/lease/update.h), and each text that this writes is read by the
 * rules of version 3 and of version 2 (dotnet_lease.h): nothing that they need
 * may be missing.  Then they write it back, dropping what they drop, and this
 * library must find its lease again.
 */
#include "client/dotnet_lease.h"
#include "client/lease/property.h"
#include "client/lease/update.h"
#include "json/print.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum kind {
    KIND_V2,    /* PartitionId only */
    KIND_V3,    /* LeaseToken, the id of a range */
    KIND_EPK,   /* LeaseToken, an interval */
    KIND_JAVA,  /* refused */
    KIND_OTHER, /* of these: with members that no library knows */
    KIND_MARK,  /* .info, .lock */
    KINDS,
};

/* How many documents of each kind a file has. */
struct sample {
    const char *name;
    unsigned counts[KINDS];
};

static const struct sample samples[] = {
    { "v2-leases-builder-partitionkey", { 19, 0, 0, 0, 0, 7 } },
    { "v2-leases-builder-unpartitioned", { 16, 0, 0, 0, 0, 6 } },
    { "v2-leases-builder", { 19, 0, 0, 0, 0, 7 } },
    { "v2-leases-foreign", { 5, 1, 0, 0, 1, 5 } },
    { "v2-leases-v1host-unpartitioned", { 4, 0, 0, 0, 0, 4 } },
    { "v2-leases-v1host", { 4, 0, 0, 0, 0, 4 } },
    { "v2-trace-builder-partitionkey", { 122, 0, 0, 0, 0, 5 } },
    { "v2-trace-builder-unpartitioned", { 130, 0, 0, 0, 0, 5 } },
    { "v2-trace-builder", { 122, 0, 0, 0, 0, 5 } },
    { "v2-trace-v1host-unpartitioned", { 25, 0, 0, 0, 0, 5 } },
    { "v2-trace-v1host", { 25, 0, 0, 0, 0, 5 } },
    { "v3-avad-leases-after-acquire", { 0, 1, 0, 0, 0, 1 } },
    { "v3-avad-leases-after-checkpoint", { 0, 1, 0, 0, 0, 1 } },
    { "v3-avad-leases-after-split-and-merge", { 0, 0, 2, 0, 0, 1 } },
    { "v3-avad-leases-initial", { 0, 1, 0, 0, 0, 0 } },
    { "v3-bypk-leases-after-checkpoint", { 0, 2, 0, 0, 0, 1 } },
    { "v3-bypk-leases-after-release", { 0, 2, 0, 0, 0, 1 } },
    { "v3-bypk-leases-initial", { 0, 2, 0, 0, 0, 0 } },
    { "v3-inmemory-snapshot", { 0, 4, 0, 0, 0, 0 } },
    { "v3-leases-after-acquire", { 0, 2, 0, 0, 0, 1 } },
    { "v3-leases-after-adopt", { 0, 2, 0, 0, 0, 1 } },
    { "v3-leases-after-bootstrap-after-split", { 0, 2, 0, 0, 0, 1 } },
    { "v3-leases-after-checkpoint-and-renew", { 0, 2, 0, 0, 0, 1 } },
    { "v3-leases-after-expired-takeover", { 0, 2, 0, 0, 0, 1 } },
    { "v3-leases-after-first-checkpoint", { 0, 2, 0, 0, 0, 1 } },
    { "v3-leases-after-merge", { 0, 1, 2, 0, 0, 1 } },
    { "v3-leases-after-release", { 0, 2, 0, 0, 0, 1 } },
    { "v3-leases-after-second-merge", { 0, 0, 3, 0, 0, 1 } },
    { "v3-leases-after-split-of-epk-lease-released", { 0, 0, 4, 0, 0, 1 } },
    { "v3-leases-after-split-of-epk-lease", { 0, 0, 4, 0, 0, 1 } },
    { "v3-leases-after-split", { 0, 3, 0, 0, 0, 1 } },
    { "v3-leases-after-steal", { 0, 2, 0, 0, 0, 1 } },
    { "v3-leases-before-steal", { 0, 2, 0, 0, 0, 1 } },
    { "v3-leases-foreign-after", { 0, 2, 0, 0, 0, 1 } },
    { "v3-leases-foreign-before", { 1, 1, 0, 0, 2, 1 } },
    { "v3-leases-idle-304-only", { 0, 1, 0, 0, 0, 1 } },
    { "v3-leases-initial-start-time", { 0, 1, 0, 0, 0, 0 } },
    { "v3-leases-initial", { 0, 2, 0, 0, 0, 0 } },
    { "v3-leases-start-beginning", { 0, 1, 0, 0, 0, 1 } },
    { "v3-leases-start-default", { 0, 1, 0, 0, 0, 1 } },
    { "v3-leases-start-time", { 0, 1, 0, 0, 0, 1 } },
    { "v3-lock-and-marker-as-sent", { 0, 0, 0, 0, 0, 4 } },
    { "v3-subrange-leases-after-split", { 0, 0, 5, 0, 0, 1 } },
    { "v3-subrange-leases-two-hosts", { 0, 0, 4, 0, 0, 1 } },
    { "v3-trace-adopt", { 0, 8, 0, 0, 0, 1 } },
    { "v3-trace-avad-first-batch-fails", { 0, 22, 0, 0, 0, 3 } },
    { "v3-trace-avad", { 0, 10, 0, 0, 0, 3 } },
    { "v3-trace-bootstrap-acquire", { 0, 8, 0, 0, 0, 3 } },
    { "v3-trace-bootstrap-after-split", { 0, 15, 0, 0, 0, 3 } },
    { "v3-trace-bypk-bootstrap", { 0, 23, 0, 0, 0, 3 } },
    { "v3-trace-bypk-release", { 0, 5, 0, 0, 0, 0 } },
    { "v3-trace-checkpoint-after-split-unconditional", { 0, 4, 0, 0, 0, 0 } },
    { "v3-trace-checkpoint-of-stolen-lease", { 0, 4, 0, 0, 0, 0 } },
    { "v3-trace-checkpoint", { 0, 12, 0, 0, 0, 0 } },
    { "v3-trace-estimator-epk", { 0, 0, 4, 0, 0, 0 } },
    { "v3-trace-estimator-gone", { 0, 1, 0, 0, 0, 0 } },
    { "v3-trace-estimator", { 0, 1, 0, 0, 0, 0 } },
    { "v3-trace-expired-takeover", { 0, 8, 0, 0, 0, 1 } },
    { "v3-trace-foreign", { 3, 23, 0, 0, 6, 1 } },
    { "v3-trace-handler-error", { 0, 11, 0, 0, 0, 3 } },
    { "v3-trace-java-epk-lease", { 0, 0, 0, 12, 0, 1 } },
    { "v3-trace-lock-held", { 0, 2, 0, 0, 0, 4 } },
    { "v3-trace-merge-of-epk-leases", { 0, 0, 25, 0, 0, 0 } },
    { "v3-trace-merge", { 0, 7, 9, 0, 0, 0 } },
    { "v3-trace-release", { 0, 4, 0, 0, 0, 0 } },
    { "v3-trace-renew", { 0, 8, 0, 0, 0, 0 } },
    { "v3-trace-restart-other-instance", { 0, 8, 0, 0, 0, 1 } },
    { "v3-trace-split-of-epk-lease", { 0, 0, 24, 0, 0, 0 } },
    { "v3-trace-split", { 0, 19, 0, 0, 0, 0 } },
    { "v3-trace-start-beginning", { 0, 7, 0, 0, 0, 3 } },
    { "v3-trace-start-default", { 0, 4, 0, 0, 0, 3 } },
    { "v3-trace-start-time", { 0, 7, 0, 0, 0, 3 } },
    { "v3-trace-steal", { 0, 31, 0, 0, 0, 1 } },
    { "v3-trace-subrange", { 0, 0, 60, 0, 0, 2 } },
};

enum { SAMPLES = sizeof(samples) / sizeof(samples[0]) };

static const char host_name[] = "c-host";
static const char position[] = "\"4711\"";

/* ---- what a document is -------------------------------------------------- */

static bool has(const struct rn_json *j, uint32_t object, const char *name)
{
    return rn_json_find(j, object, rn_view_text(name)) != RN_JSON_NONE;
}

static bool ends_with(struct rn_view text, const char *end)
{
    size_t len = strlen(end);

    return text.len > len && memcmp(text.at + text.len - len, end, len) == 0;
}

static bool is_known(struct rn_view name)
{
    static const char *const names[] = {
        "id",         "partitionKey", "version",   "_etag",
        "LeaseToken", "PartitionId",  "FeedRange", "Owner",
        "properties", "timestamp",    "Mode",      "ContinuationToken",
        "_ts",        "_rid",         "_self",     "_attachments",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (rn_view_eq(name, rn_view_text(names[i])))
            return true;
    }
    return false;
}

static bool has_unknown(const struct rn_json *j, uint32_t object)
{
    struct rn_json_walk w = rn_json_walk_begin(j, object);

    while (rn_json_walk_next(&w)) {
        if (!is_known(rn_json_text(j, w.name)))
            return true;
    }
    return false;
}

/* Java's positions are no etags: they have no quotes. */
static bool is_java(const struct rn_json *j, uint32_t object)
{
    uint32_t at = rn_json_find(j, object, RN_LIT("ContinuationToken"));
    struct rn_view text = rn_json_text(j, at);

    return has(j, object, "feedRange") ||
           (rn_json_kind(j, at) == RN_JSON_STRING && text.len > 0 &&
            text.at[0] != '\\');
}

static enum kind kind_of(const struct rn_json *j, uint32_t object)
{
    uint32_t version = rn_json_find(j, object, RN_LIT("version"));
    int64_t number = 0;

    if (is_java(j, object))
        return KIND_JAVA;
    if (!has(j, object, "LeaseToken"))
        return KIND_V2;
    if (rn_json_kind(j, version) == RN_JSON_NUMBER)
        assert_true(rn_json_int64(j, version, &number));
    return number == 1 ? KIND_EPK : KIND_V3;
}

/* ---- what must be in a text that this library wrote -----------------------
 */

/* Every property of `old` is in `new`, but for this library's own. */
static void assert_properties(const char *old, const char *new)
{
    struct rn_json a, b;
    struct rn_json_walk w;

    rn_json_init(&a, NULL);
    rn_json_init(&b, NULL);
    assert_int_equal(rn_json_parse(&a, rn_view_text(old[0] ? old : "{}"), NULL),
                     RN_OK);
    assert_int_equal(rn_json_parse(&b, rn_view_text(new), NULL), RN_OK);
    w = rn_json_walk_begin(&a, 0);
    while (rn_json_walk_next(&w)) {
        struct rn_view name = rn_json_text(&a, w.name);

        if (!rn_view_starts(name, RN_LIT("runnel.")))
            assert_true(
                rn_view_eq(rn_json_text(&a, w.value),
                           rn_json_text(&b, rn_json_find(&b, 0, name))));
    }
    rn_json_release(&a);
    rn_json_release(&b);
}

/* A value without the white space that some samples have. */
static struct rn_buf compact(const struct rn_json *j, uint32_t value)
{
    struct rn_buf text = RN_BUF_INIT(1 << 16);
    struct rn_json_out o = RN_JSON_OUT_INIT(&text);

    assert_int_not_equal(value, RN_JSON_NONE);
    rn_json_out_value(&o, j, value);
    assert_int_equal(rn_json_out_finish(&o), RN_OK);
    return text;
}

/* Members that no .NET library knows are kept as they were. */
static void assert_unknown(const struct rn_json *from, uint32_t object,
                           struct rn_view text)
{
    struct rn_json_walk w = rn_json_walk_begin(from, object);
    struct rn_json to;

    rn_json_init(&to, NULL);
    assert_int_equal(rn_json_parse(&to, text, NULL), RN_OK);
    while (rn_json_walk_next(&w)) {
        struct rn_view name = rn_json_text(from, w.name);
        struct rn_buf was, is;

        if (is_known(name))
            continue;
        was = compact(from, w.value);
        is = compact(&to, rn_json_find(&to, 0, name));
        assert_true(rn_view_eq(rn_buf_view(&was), rn_buf_view(&is)));
        rn_buf_release(&was);
        rn_buf_release(&is);
    }
    rn_json_release(&to);
}

static void assert_needed(const struct dotnet_lease *old, struct rn_view text,
                          const char *owner, const char *continuation)
{
    struct dotnet_lease new;

    assert_true(dotnet_lease_parse(text, &new));
    assert_string_equal(new.id, old->id);
    assert_string_equal(new.partition_key, old->partition_key);
    assert_string_equal(new.token, old->token);
    assert_string_equal(new.partition_id, old->partition_id);
    assert_string_equal(new.mode, old->mode);
    assert_string_equal(new.owner, owner);
    assert_string_equal(new.continuation, continuation);
    assert_string_equal(new.etag, old->etag);
    assert_true(new.ts == old->ts &&new.has_range);
    assert_true(dotnet_lease_time_ms(&new) == 1794970232698);
    if (old->has_range) {
        assert_int_equal(new.version, old->version);
        assert_string_equal(new.min, old->min);
        assert_string_equal(new.max, old->max);
    }
    assert_properties(old->properties, new.properties);
}

/* The other libraries write it back; this one reads it again. */
static void assert_returns(struct rn_view text)
{
    struct rn_lease_document *mine = NULL, *back = NULL;
    struct dotnet_lease theirs;

    assert_int_equal(rn_lease_document_new(text, &mine, NULL), RUNNEL_OK);
    assert_true(dotnet_lease_parse(text, &theirs));
    for (int version = 2; version <= 3; version++) {
        struct rn_buf written = RN_BUF_INIT(1 << 16);

        if (version == 2)
            dotnet_lease_print_v2(&theirs, &written);
        else
            dotnet_lease_print(&theirs, &written);
        assert_int_equal(
            rn_lease_document_new(rn_buf_view(&written), &back, NULL),
            RUNNEL_OK);
        assert_true(rn_view_eq(mine->lease.token, back->lease.token));
        assert_true(rn_view_eq(mine->lease.owner, back->lease.owner));
        assert_true(rn_view_eq(mine->lease.position, back->lease.position));
        assert_int_equal(mine->lease.is_epk, back->lease.is_epk);
        assert_true(mine->lease.has_range && back->lease.has_range);
        assert_int_equal(
            rn_epk_compare(&mine->lease.range.min, &back->lease.range.min), 0);
        assert_int_equal(
            rn_epk_compare(&mine->lease.range.max, &back->lease.range.max), 0);
        assert_int_equal(mine->lease.property_count,
                         back->lease.property_count);
        assert_int_equal(rn_lease_is_native(&mine->lease),
                         rn_lease_is_native(&back->lease));
        rn_lease_document_free(back);
        rn_buf_release(&written);
    }
    rn_lease_document_free(mine);
}

/* ---- acquire, checkpoint, release ---------------------------------------- */

static void write_and_check(const struct rn_json *j, uint32_t object)
{
    static const struct rn_update_host host = {
        .host = host_name,
        .session = "1794970232698-00112233445566778899aabbccddeeff",
        .intervals = "13000 17000 60000"
    };
    struct rn_lease_document *d = NULL;
    struct dotnet_lease old;

    assert_true(dotnet_lease_read(j, object, &old));
    assert_int_equal(rn_lease_document_new(rn_json_text(j, object), &d, NULL),
                     RUNNEL_OK);
    for (int kind = RN_UPDATE_ACQUIRE; kind <= RN_UPDATE_RELEASE; kind++) {
        struct rn_update u = { .kind = (enum rn_update_kind)kind,
                               .host = &host,
                               .base = d,
                               .now_ms = 1794970232698,
                               .owner_seen = d->lease.owner,
                               .has_range = !d->lease.has_range,
                               .range = rn_epk_all };
        if (kind == RN_UPDATE_STORE)
            u.position = rn_view_text(position);
        assert_int_equal(rn_update_begin(&u), RN_UPDATE_WRITE);
        assert_needed(&old, rn_buf_view(&u.text),
                      kind == RN_UPDATE_RELEASE ? "" : host_name,
                      kind == RN_UPDATE_ACQUIRE ? old.continuation : position);
        assert_unknown(j, object, rn_buf_view(&u.text));
        assert_returns(rn_buf_view(&u.text));
        if (!old.etag[0]) /* a recorded request that creates the lease */
            snprintf(old.etag, sizeof(old.etag), "\"1\"");
        assert_int_equal(rn_update_written(&u, RUNNEL_OK, old.etag),
                         RN_UPDATE_DONE);
        d = u.base;
        rn_update_release(&u);
    }
    rn_lease_document_free(d);
}

static void check_lease(const struct rn_json *j, uint32_t object,
                        unsigned counts[KINDS])
{
    enum kind kind = kind_of(j, object);
    struct rn_lease_document *d = NULL;
    runnel_error error = { 0 };

    counts[kind]++;
    if (kind == KIND_JAVA) {
        assert_int_equal(
            rn_lease_document_new(rn_json_text(j, object), &d, &error),
            RUNNEL_UNSUPPORTED);
        return;
    }
    counts[KIND_OTHER] += has_unknown(j, object);
    write_and_check(j, object);
}

/* Documents lie in arrays, stages and answers, at any depth. */
static void check_all(const struct rn_json *j, uint32_t value,
                      unsigned counts[KINDS])
{
    struct rn_json_walk w = rn_json_walk_begin(j, value);
    struct rn_view id = rn_json_text(j, rn_json_find(j, value, RN_LIT("id")));

    if (id.at && (has(j, value, "LeaseToken") || has(j, value, "PartitionId")))
        check_lease(j, value, counts);
    else if (id.at && (ends_with(id, ".info") || ends_with(id, ".lock")))
        counts[KIND_MARK]++;
    else
        while (rn_json_walk_next(&w))
            check_all(j, w.value, counts);
}

static void check_file(const struct sample *s)
{
    struct rn_buf text = RN_BUF_INIT(1 << 20);
    unsigned counts[KINDS] = { 0 };
    struct rn_json j;
    char path[512];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s.json", GOLDEN_DIR, s->name);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(rn_buf_reserve(&text, 1 << 19), RN_OK);
    text.len = fread(text.at, 1, 1 << 19, file);
    fclose(file);
    rn_json_init(&j, NULL);
    assert_int_equal(rn_json_parse(&j, rn_buf_view(&text), NULL), RN_OK);
    check_all(&j, 0, counts);
    if (memcmp(counts, s->counts, sizeof(counts)) != 0)
        fail_msg("{ \"%s\", { %u, %u, %u, %u, %u, %u } },", s->name, counts[0],
                 counts[1], counts[2], counts[3], counts[4], counts[5]);
    rn_json_release(&j);
    rn_buf_release(&text);
}

static void every_lease_keeps_what_its_library_needs(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++)
        check_file(&samples[i]);
}

static void no_sample_is_left_out(void **state)
{
    DIR *dir = opendir(GOLDEN_DIR);
    struct dirent *e;
    size_t count = 0;

    (void)state;
    assert_non_null(dir);
    while ((e = readdir(dir)) != NULL) {
        bool is_known_file = !ends_with(rn_view_text(e->d_name), ".json");

        count += !is_known_file;
        for (size_t i = 0; i < SAMPLES && !is_known_file; i++)
            is_known_file =
                strncmp(e->d_name, samples[i].name, strlen(e->d_name) - 5) == 0;
        if (!is_known_file)
            fail_msg("%s is not in the table", e->d_name);
    }
    closedir(dir);
    assert_int_equal(count, SAMPLES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_lease_keeps_what_its_library_needs),
        cmocka_unit_test(no_sample_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
