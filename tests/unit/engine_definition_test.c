/* engine_definition_test.c -- container definitions in and out.
 *
 * A table of definitions as clients send them, and what must be answered, in
 * whole; and one of those that are refused, with a word that the refusal has.
 * What stands in every answer is written once.
 */
#include "engine/catalog/definition.h"
#include "engine/engine_state.h"

#include "json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PK "\"partitionKey\":{\"paths\":[\"/pk\"],\"kind\":\"Hash\"}"
#define ETAG "{\"path\":\"/\\\"_etag\\\"/?\"}"
#define INDEXING                                                               \
    "\"indexingPolicy\":{\"indexingMode\":\"consistent\",\"automatic\":true,"  \
    "\"includedPaths\":[{\"path\":\"/*\"}],\"excludedPaths\":[" ETAG "]}"
#define NOTHING(root)                                                          \
    "\"indexingPolicy\":{\"indexingMode\":\"consistent\",\"automatic\":true,"  \
    "\"includedPaths\":[],\"excludedPaths\":[{\"path\":\"" root "\"}," ETAG    \
    "]}"
#define SHAPES                                                                 \
    "\"types\":[\"Point\",\"LineString\",\"Polygon\",\"MultiPolygon\"]"
#define UNIQUE "\"uniqueKeyPolicy\":{\"uniqueKeys\":[]}"
#define CONFLICT                                                               \
    "\"conflictResolutionPolicy\":{\"mode\":\"LastWriterWins\","               \
    "\"conflictResolutionPath\":\"/_ts\",\"conflictResolutionProcedure\":"     \
    "\"\"}"
#define GEO "\"geospatialConfig\":{\"type\":\"Geography\"}"
#define REST UNIQUE "," CONFLICT "," GEO

static const struct row {
    const char *in, *out; /* out: without its closing brace */
} rows[] = {
    { "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/pk\"]}}",
      "{\"id\":\"c\"," INDEXING "," PK "," REST },
    /* An absent version stays absent, a given one stays. */
    { "{\"partitionKey\":{\"version\":2,\"kind\":\"Hash\",\"paths\":[\"/pk\"]},"
      "\"id\":\"c\"}",
      "{\"id\":\"c\"," INDEXING ",\"partitionKey\":{\"paths\":[\"/pk\"],"
      "\"kind\":\"Hash\",\"version\":2}," REST },
    { "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/a\",\"/b/c\"],\"kind\":"
      "\"MultiHash\",\"version\":2}}",
      "{\"id\":\"c\"," INDEXING ",\"partitionKey\":{\"paths\":[\"/a\","
      "\"/b/c\"],\"kind\":\"MultiHash\",\"version\":2}," REST },
    /* An id, and the key of a container from before there were keys. */
    { "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/id\"]}}",
      "{\"id\":\"c\"," INDEXING
      ",\"partitionKey\":{\"paths\":[\"/id\"],\"kind\":\"Hash\"}," REST },
    { "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/_partitionKey\"]}}",
      "{\"id\":\"c\"," INDEXING ",\"partitionKey\":{\"paths\":"
      "[\"/_partitionKey\"],\"kind\":\"Hash\"}," REST },
    /* What is ours is not taken from the client. */
    { "{\"id\":\"c\"," PK ",\"_rid\":\"x\",\"_ts\":1,\"_self\":\"x\",\"_etag\":"
      "\"x\",\"_docs\":\"x\",\"_sprocs\":\"x\",\"_triggers\":\"x\",\"_udfs\":"
      "\"x\",\"_conflicts\":\"x\"}",
      "{\"id\":\"c\"," INDEXING "," PK "," REST },
    { "{\"id\":\"c\",\"statistics\":[{\"id\":\"0\"}]," PK "}",
      "{\"id\":\"c\"," INDEXING "," PK "," REST },
    /* Names may be escaped. */
    { "{\"\\u0069d\":\"c\",\"partition\\u004bey\":{\"p\\u0061ths\":[\"/pk\"]},"
      "\"\\u005frid\":\"x\",\"indexing\\u0050olicy\":{\"\\u0061utomatic\":"
      "true}}",
      "{\"id\":\"c\"," INDEXING "," PK "," REST },
    /* So may strings: PHP and others write a slash as \/. */
    { "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"\\/pk\"],\"kind\":"
      "\"H\\u0061sh\"},\"indexingPolicy\":{\"indexingMode\":"
      "\"consist\\u0065nt\",\"includedPaths\":[{\"path\":\"\\/a\\/?\"}],"
      "\"excludedPaths\":[{\"path\":\"\\/*\"},{\"path\":"
      "\"\\/\\u0022_etag\\u0022\\/?\"}],\"compositeIndexes\":[[{\"path\":"
      "\"\\/a\",\"order\":\"\\u0061scending\"},{\"path\":\"\\/b\"}]],"
      "\"spatialIndexes\":[{\"path\":\"\\/l\\/*\",\"types\":"
      "[\"P\\u006fint\"]}]},\"conflictResolutionPolicy\":{\"mode\":"
      "\"\\u0043ustom\",\"conflictResolutionPath\":\"\\/r\"},"
      "\"geospatialConfig\":{\"type\":\"\\u0047eography\"},"
      "\"a\\/b\":\"\\u00e9\\n\"}",
      "{\"id\":\"c\",\"indexingPolicy\":{\"indexingMode\":\"consistent\","
      "\"automatic\":true,\"includedPaths\":[{\"path\":\"/a/?\"}],"
      "\"excludedPaths\":[{\"path\":\"/*\"}," ETAG "],\"compositeIndexes\":"
      "[[{\"path\":\"/a\",\"order\":\"ascending\"},{\"path\":\"/b\"}]],"
      "\"spatialIndexes\":[{\"path\":\"/l/*\"," SHAPES "}]}," PK "," UNIQUE
      ",\"conflictResolutionPolicy\":{\"mode\":\"Custom\","
      "\"conflictResolutionPath\":\"/r\"}," GEO ",\"a/b\":\"\xc3\xa9\\n\"" },
    { "{\"id\":\"c\"," PK ",\"vectorEmbeddingPolicy\":{\"vectorEmbeddings\":"
      "[{\"path\":\"\\/v\",\"distanceFunction\":\"cos\\u0069ne\"}]},"
      "\"fullTextPolicy\":{\"fullTextPaths\":[{\"path\":\"\\/t\"}]},"
      "\"indexingPolicy\":{\"vectorIndexes\":[{\"path\":\"/\\u0076\","
      "\"vectorIndexShardKey\":[\"\\/s\"]}],\"fullTextIndexes\":[{\"path\":"
      "\"/t\"}]}}",
      "{\"id\":\"c\",\"indexingPolicy\":{\"indexingMode\":\"consistent\","
      "\"automatic\":true,\"includedPaths\":[{\"path\":\"/*\"}],"
      "\"excludedPaths\":[" ETAG "],\"vectorIndexes\":[{\"path\":\"/v\","
      "\"vectorIndexShardKey\":[\"/s\"]}],\"fullTextIndexes\":[{\"path\":"
      "\"/t\"}]}," PK "," REST
      ",\"vectorEmbeddingPolicy\":{\"vectorEmbeddings\":[{\"path\":\"/v\","
      "\"distanceFunction\":\"cosine\"}]},\"fullTextPolicy\":"
      "{\"fullTextPaths\":[{\"path\":\"/t\"}]}" },
    /* The rest is kept, behind. */
    { "{\"mine\":[1.0,{\"a\":null}],\"id\":\"c\"," PK ",\"defaultTtl\":-1}",
      "{\"id\":\"c\"," INDEXING "," PK "," REST
      ",\"mine\":[1.0,{\"a\":null}],\"defaultTtl\":-1" },
    { "{\"id\":\"c\"," PK ",\"defaultTtl\":2147483647}",
      "{\"id\":\"c\"," INDEXING "," PK "," REST ",\"defaultTtl\":2147483647" },
    /* Null is as absent. */
    { "{\"id\":\"c\"," PK ",\"uniqueKeyPolicy\":null,"
      "\"conflictResolutionPolicy\":null,\"geospatialConfig\":null,"
      "\"indexingPolicy\":null}",
      "{\"id\":\"c\"," INDEXING "," PK "," REST },
    /* Policies. */
    { "{\"id\":\"c\"," PK ",\"indexingPolicy\":{\"indexingMode\":"
      "\"Consistent\",\"automatic\":false}}",
      "{\"id\":\"c\",\"indexingPolicy\":{\"indexingMode\":\"consistent\","
      "\"automatic\":false,\"includedPaths\":[{\"path\":\"/*\"}],"
      "\"excludedPaths\":[" ETAG "]}," PK "," REST },
    { "{\"id\":\"c\"," PK ",\"indexingPolicy\":{\"indexingMode\":\"Lazy\"}}",
      "{\"id\":\"c\"," INDEXING "," PK "," REST },
    { "{\"id\":\"c\"," PK ",\"indexingPolicy\":{\"includedPaths\":[{\"path\":"
      "\"/a/?\"}],\"excludedPaths\":[{\"path\":\"/*\"}],\"compositeIndexes\":"
      "[[{\"path\":\"/a\",\"order\":\"ascending\"},{\"path\":\"/b\"}]]}}",
      "{\"id\":\"c\",\"indexingPolicy\":{\"indexingMode\":\"consistent\","
      "\"automatic\":true,\"includedPaths\":[{\"path\":\"/a/?\"}],"
      "\"excludedPaths\":[{\"path\":\"/*\"}," ETAG "],\"compositeIndexes\":"
      "[[{\"path\":\"/a\",\"order\":\"ascending\"},{\"path\":\"/b\"}]]}," PK
      "," REST },
    { "{\"id\":\"c\"," PK ",\"indexingPolicy\":{\"includedPaths\":[{\"path\":"
      "\"/*\",\"indexes\":[{\"kind\":\"Hash\",\"dataType\":\"String\"}]}]}}",
      "{\"id\":\"c\",\"indexingPolicy\":{\"indexingMode\":\"consistent\","
      "\"automatic\":true,\"includedPaths\":[{\"path\":\"/*\",\"indexes\":"
      "[{\"kind\":\"Hash\",\"dataType\":\"String\"}]}],\"excludedPaths\":"
      "[" ETAG "]}," PK "," REST },
    { "{\"id\":\"c\"," PK ",\"indexingPolicy\":{\"excludedPaths\":[" ETAG "]}}",
      "{\"id\":\"c\"," INDEXING "," PK "," REST },
    /* Everything is excluded, so nothing is included by itself. */
    { "{\"id\":\"c\"," PK ",\"indexingPolicy\":{\"excludedPaths\":[{\"path\":"
      "\"/*\"}]}}",
      "{\"id\":\"c\"," NOTHING("/*") "," PK "," REST },
    { "{\"id\":\"c\"," PK ",\"indexingPolicy\":{\"includedPaths\":[],"
      "\"excludedPaths\":[{\"path\":\"/\"}]}}",
      "{\"id\":\"c\"," NOTHING("/") "," PK "," REST },
    /* An empty list is as good as none. */
    { "{\"id\":\"c\"," PK ",\"indexingPolicy\":{\"includedPaths\":[],"
      "\"excludedPaths\":[]}}",
      "{\"id\":\"c\"," INDEXING "," PK "," REST },
    { "{\"id\":\"c\"," PK ",\"indexingPolicy\":{\"includedPaths\":[],"
      "\"excludedPaths\":[{\"path\":\"/a/*\"}]}}",
      "{\"id\":\"c\",\"indexingPolicy\":{\"indexingMode\":\"consistent\","
      "\"automatic\":true,\"includedPaths\":[{\"path\":\"/*\"}],"
      "\"excludedPaths\":[{\"path\":\"/a/*\"}," ETAG "]}," PK "," REST },
    { "{\"id\":\"c\"," PK ",\"uniqueKeyPolicy\":{\"uniqueKeys\":[{\"paths\":"
      "[\"/u\"]}]},\"geospatialConfig\":{\"type\":\"Geometry\"}}",
      "{\"id\":\"c\"," INDEXING "," PK ",\"uniqueKeyPolicy\":{\"uniqueKeys\":"
      "[{\"paths\":[\"/u\"]}]}," CONFLICT ",\"geospatialConfig\":{\"type\":"
      "\"Geometry\"}" },
    /* The type of shapes is known in any case, and kept as it is. */
    { "{\"id\":\"c\"," PK ",\"indexingPolicy\":{\"spatialIndexes\":[{\"path\":"
      "\"/l/*\",\"types\":[\"Polygon\"],\"boundingBox\":{}}]},"
      "\"geospatialConfig\":{\"type\":\"geometry\"}}",
      "{\"id\":\"c\",\"indexingPolicy\":{\"indexingMode\":\"consistent\","
      "\"automatic\":true,\"includedPaths\":[{\"path\":\"/*\"}],"
      "\"excludedPaths\":[" ETAG "],\"spatialIndexes\":[{\"path\":\"/l/*\","
      "\"boundingBox\":{}," SHAPES "}]}," PK "," UNIQUE "," CONFLICT
      ",\"geospatialConfig\":{\"type\":\"geometry\"}" },
    /* Nothing is indexed: no path either. */
    { "{\"id\":\"c\"," PK ",\"indexingPolicy\":{\"indexingMode\":\"none\","
      "\"automatic\":false,\"includedPaths\":[],\"excludedPaths\":[]}}",
      "{\"id\":\"c\",\"indexingPolicy\":{\"indexingMode\":\"none\","
      "\"automatic\":false,\"includedPaths\":[],\"excludedPaths\":[]}," PK
      "," REST },
    { "{\"id\":\"c\"," PK ",\"indexingPolicy\":{\"indexingMode\":\"none\","
      "\"automatic\":false}}",
      "{\"id\":\"c\",\"indexingPolicy\":{\"indexingMode\":\"none\","
      "\"automatic\":false,\"includedPaths\":[],\"excludedPaths\":[]}," PK
      "," REST },
};

static const struct {
    const char *in, *word;
} refused[] = {
    { "", "" },
    { "{", "" },
    { "[]", "partition key" },
    { "{\"id\":\"c\"}", "partition key" },
    { "{\"id\":\"c\",\"partitionKey\":null}", "" },
    { "{\"id\":\"c\",\"partitionKey\":\"/pk\"}", "" },
    { "{\"id\":\"c\",\"partitionKey\":{}}", "" },
    { "{\"id\":\"c\",\"partitionKey\":{\"paths\":[]}}", "" },
    { "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"pk\"]}}", "" },
    { "{\"id\":\"c\",\"partitionKey\":{\"paths\":[1]}}", "" },
    { "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/a\",\"/b\"]}}", "" },
    { "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/a\"],\"kind\":\"X\"}}",
      "" },
    { "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/a\"],\"version\":3}}",
      "" },
    { "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/_ts\"]}}",
      "system property" },
    { "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/a\",\"/_etag\"],"
      "\"kind\":\"MultiHash\",\"version\":2}}",
      "partition key path '/_etag'" },
    { "{\"id\":\"c\"," PK ",\"uniqueKeyPolicy\":{\"uniqueKeys\":[{\"paths\":"
      "[\"/u\"]},{\"paths\":[\"/u\",\"/_rid\"]}]}}",
      "unique key path '/_rid'" },
    { "{\"id\":\"c\"," PK ",\"defaultTtl\":0}", "defaultTtl" },
    { "{\"id\":\"c\"," PK ",\"defaultTtl\":-2}", "defaultTtl" },
    { "{\"id\":\"c\"," PK ",\"defaultTtl\":2147483648}", "defaultTtl" },
    { "{\"id\":\"c\"," PK ",\"defaultTtl\":\"5\"}", "defaultTtl" },
    { "{\"id\":\"c\"," PK ",\"defaultTtl\":1.5}", "defaultTtl" },
    { "{\"id\":\"c\"," PK ",\"indexingPolicy\":7}", "indexingPolicy" },
    { "{\"id\":\"c\"," PK ",\"indexingPolicy\":{\"indexingMode\":\"x\"}}",
      "indexingMode" },
#define POLICY(text) "{\"id\":\"c\"," PK ",\"indexingPolicy\":{" text "}}"
#define IN(path) "\"includedPaths\":[{\"path\":\"" path "\"}]"
#define OUT(path) "\"excludedPaths\":[{\"path\":\"" path "\"}]"
#define NAMED(name)                                                            \
    "{\"name\":\"" name "\",\"query\":\"SELECT VALUE c.a FROM c\"}"
#define COMPUTED(one, other)                                                   \
    "{\"id\":\"c\"," PK ",\"indexingPolicy\":{\"spatialIndexes\":[{"           \
    "\"path\":\"/place/*\"," SHAPES "}]},\"computedProperties\":[" one         \
    "," other "]}"
#define ERRORS(text) "Message: {\"Errors\":[\"" text "\"]}"
    { POLICY(IN("/a/?")), "special mandatory indexing path \"/\"" },
    { POLICY(IN("/a/?") "," OUT("/b/*")), "special mandatory indexing path" },
    { POLICY(IN("/*") "," OUT("/*")), "both included and excluded" },
    { POLICY(OUT("/a")), "path '/a' could not be accepted" },
    { POLICY(OUT("/a/?/b")), "'/a/?/b' could not be accepted" },
    { POLICY(OUT("/a/*/?")), "near position '3'" },
    { POLICY("\"compositeIndexes\":[[{\"path\":\"/a\"},{\"path\":\"/b/?\"}]]"),
      "composite index path '/b/?' could not be accepted" },
    { POLICY("\"compositeIndexes\":[[{\"path\":\"\\/a\\/*\"},{\"path\":"
             "\"/b\"}]]"),
      "composite index path '/a/*' could not be accepted" },
    { POLICY("\"spatialIndexes\":[1]"), "spatial index" },
    { POLICY("\"spatialIndexes\":[{\"path\":\"/l/*\",\"types\":[\"Foo\"]}]"),
      "spatial index" },
    { "{\"id\":\"c\"," PK ",\"geospatialConfig\":{\"type\":\"GEOMETRY\"},"
      "\"indexingPolicy\":{\"spatialIndexes\":[{\"path\":\"/l/*\"," SHAPES
      "}]}}",
      "needs a boundingBox" },
    { POLICY("\"spatialIndexes\":[{\"path\":\"/l/*\"," SHAPES
             ",\"boundingBox\":{}}]"),
      "has no boundingBox" },
    { POLICY("\"spatialIndexes\":[{\"path\":\"/l/*\"}]"), "spatial index" },
    { POLICY("\"spatialIndexes\":[{\"path\":\"/l/*\",\"types\":[]}]"),
      "spatial index" },
    { "{\"id\":\"c\"," PK ",\"ttlPropertyPath\":\"/t\"}",
      "needs a defaultTtl" },
    { "{\"id\":\"c\"," PK ",\"ttlPropertyPath\":\"t\",\"defaultTtl\":9}",
      "ttlPropertyPath must be a path" },
    { "{\"id\":\"c\"," PK ",\"ttlPropertyPath\":5,\"defaultTtl\":9}",
      "ttlPropertyPath must be a path" },
    { "{\"id\":\"c\"," PK ",\"geospatialConfig\":{\"type\":\"x\"}}",
      "geospatialConfig" },
    { "{\"id\":\"c\"," PK ",\"conflictResolutionPolicy\":{\"mode\":\"x\"}}",
      "conflict resolution" },
    { "{\"id\":\"c\"," PK
      ",\"conflictResolutionPolicy\":{\"mode\":\"LastWriterWins\","
      "\"conflictResolutionPath\":\"ts\"}}",
      "conflict resolution" },
    { "{\"id\":\"c\"," PK ",\"analyticalStorageTtl\":\"x\"}",
      "analyticalStorageTtl" },
    { "{\"id\":\"c\"," PK ",\"clientEncryptionPolicy\":5}",
      "clientEncryptionPolicy" },
    { "{\"id\":\"c\"," PK ",\"computedProperties\":[1,1,1,1,1,1,1,1,1,1,1,1,1,"
      "1,1,1,1,1,1,1,1]}",
      "at most 20" },
    { "{\"id\":\"c\"," PK ",\"computedProperties\":5}",
      "computedProperties must be an array" },
    { COMPUTED(NAMED("x"), NAMED("x")),
      ERRORS("Computed property name 'x' cannot be used in multiple "
             "definitions.") },
    { COMPUTED("{\"query\":\"SELECT VALUE c.a FROM c\"}", NAMED("x")),
      ERRORS("One of the specified inputs is invalid") },
    { COMPUTED("{\"name\":\"x\"}", NAMED("y")),
      ERRORS("One of the specified inputs is invalid") },
    { COMPUTED("1", NAMED("x")),
      ERRORS("One of the specified inputs is invalid") },
    { COMPUTED(NAMED(""), NAMED("x")),
      ERRORS("Computed property 'name' is either empty or unspecified.") },
    { COMPUTED(NAMED("x"), "{\"name\":\"y\",\"query\":\"\"}"),
      ERRORS("Computed property 'query' is either empty or unspecified.") },
    { COMPUTED(NAMED("x"), NAMED("id")),
      ERRORS("The system property name 'id' cannot be used as a computed "
             "property name.") },
    { COMPUTED(NAMED("x"), NAMED("place")),
      ERRORS("Computed property 'place' at index (1) has a spatial index. "
             "Remove the spatial index on this path.") },
    { COMPUTED(NAMED("x"), "{\"name\":\"y\",\"query\":\"SELECT "
                           "LOWER(c[\\\"a\\\"]) FROM c\"}"),
      ERRORS("Required VALUE expression missing from computed property query "
             "'SELECT LOWER(c[\\\"a\\\"]) FROM c' at index (1).") },
    { COMPUTED("{\"name\":\"x\",\"query\":\"SELECT LOWER(c.a) FROM r\"}",
               NAMED("y")),
      ERRORS("Computed property at index (0) has a malformed query: 'SELECT "
             "LOWER(c.a) FROM r' Error details: '{\\\"errors\\\":[{"
             "\\\"severity\\\":\\\"Error\\\",\\\"code\\\":2001,"
             "\\\"message\\\":\\\"Identifier 'c' could not be resolved."
             "\\\"}]}'") },
    { "{\"id\":\"c\"," PK ",\"indexingPolicy\":{\"includedPaths\":\"/*\"}}",
      "includedPaths" },
};

static struct rn_buf out = { .ceiling = 1 << 20 };

static enum rn_code print(const char *in, const struct rn_object *old,
                          struct rn_err *err)
{
    rn_buf_clear(&out);
    *err = (struct rn_err){ 0 };
    return rn_definition_print(rn_view_text(in), old, &out, err);
}

static void definitions_are_answered_with_every_default(void **state)
{
    struct rn_err err;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (print(rows[i].in, NULL, &err))
            fail_msg("%s: %s", rows[i].in, err.text);
        if (!rn_view_eq(rn_buf_view(&out), rn_view_text(rows[i].out)))
            fail_msg("%s\n%.*s\n%s", rows[i].in, RN_FMT(rn_buf_view(&out)),
                     rows[i].out);
    }
}

static void an_answer_sent_back_is_answered_alike(void **state)
{
    struct rn_err err;
    char text[4096];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t len = strlen(rows[i].out);

        memcpy(text, rows[i].out, len);
        memcpy(text + len, "}", 2);
        assert_int_equal(print(text, NULL, &err), RN_OK);
        text[len] = '\0';
        if (!rn_view_eq(rn_buf_view(&out), rn_view_text(text)))
            fail_msg("%s\n%.*s", text, RN_FMT(rn_buf_view(&out)));
    }
}

/* Of what clients and their samples send. */
static void usual_policies_are_taken(void **state)
{
    static const char *const taken[] = {
        POLICY("\"includedPaths\":[],\"excludedPaths\":[]"),
        POLICY("\"includedPaths\":[]," OUT("/*")),
        POLICY(OUT("/*")),
        POLICY(IN("/")),
        POLICY(IN("/a/[]/b/?") "," OUT("/*")),
        POLICY(IN("/\\\"a b\\\"/?") "," OUT("/")),
        POLICY(IN("/\\\"/?/\\\"/*") "," OUT("/")),
        POLICY("\"compositeIndexes\":[[{\"path\":\"/a\"},{\"path\":"
               "\"/\\\"*\\\"\"}]]"),
        POLICY(IN("/a/?") ",\"indexingMode\":\"None\",\"automatic\":false"),
        POLICY("\"spatialIndexes\":[{\"path\":\"/l/*\",\"types\":[\"Point\","
               "\"LineString\",\"Polygon\",\"MultiPolygon\"]}]"),
        "{\"id\":\"c\"," PK ",\"analyticalStorageTtl\":-1,"
        "\"clientEncryptionPolicy\":{},\"conflictResolutionPolicy\":{\"mode\":"
        "\"custom\",\"conflictResolutionPath\":\"\","
        "\"conflictResolutionProcedure\":\"dbs/d/colls/c/sprocs/s\"}}",
    };
    struct rn_err err;

    (void)state;
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
        if (print(taken[i], NULL, &err))
            fail_msg("%s: %s", taken[i], err.text);
    }
}

static void bad_definitions_are_refused_in_words(void **state)
{
    struct rn_err err;
    int wrong = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        if (print(refused[i].in, NULL, &err) == RN_BAD_REQUEST && err.text[0] &&
            strstr(err.text, refused[i].word))
            continue;
        print_error("%s: %d '%s'\n", refused[i].in, err.code, err.text);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

/* The partition key of PK. */
static void make_key(struct rn_container *container, struct rn_arena *arena)
{
    struct rn_json j;

    rn_json_init(&j, NULL);
    assert_int_equal(rn_json_parse(&j, RN_LIT("{\"paths\":[\"/pk\"]}"), NULL),
                     RN_OK);
    assert_int_equal(rn_pkdef_parse(&j, 0, arena, &container->pkdef, NULL),
                     RN_OK);
    rn_json_release(&j);
}

static void a_replacement_keeps_id_and_partition_key(void **state)
{
    static const struct {
        const char *in;
        enum rn_code rc;
    } replacements[] = {
        { "{\"id\":\"c\"," PK ",\"defaultTtl\":7}", RN_OK },
        { "{\"id\":\"d\"," PK "}", RN_BAD_REQUEST },
        { "{\"id\":\"c\"}", RN_BAD_REQUEST },
        { "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/q\"]}}",
          RN_BAD_REQUEST },
        { "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/pk\"],\"version\":2}}",
          RN_BAD_REQUEST },
        { "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/pk\"],\"version\":1}}",
          RN_OK },
        /* What is written otherwise is the same, here and there. */
        { "{\"id\":\"\\u0063\",\"partitionKey\":{\"paths\":[\"\\/pk\"]},"
          "\"vectorEmbeddingPolicy\":{\"vectorEmbeddings\":[{\"path\":"
          "\"\\/v\",\"dataType\":\"float32\"}]}}",
          RN_OK },
        { "{\"id\":\"c\"," PK ",\"vectorEmbeddingPolicy\":"
          "{\"vectorEmbeddings\":[{\"path\":\"\\/v\",\"dataType\":"
          "\"int8\"}]}}",
          RN_BAD_REQUEST },
    };
    struct rn_arena arena = RN_ARENA_INIT(1 << 16);
    struct rn_container container = { 0 };
    struct rn_object old = { .kind = RN_KIND_CONTAINER,
                             .id = RN_LIT("c"),
                             .body = RN_LIT(
                                 "{\"id\":\"c\",\"vectorEmbeddingPolicy\":"
                                 "{\"vectorEmbeddings\":[{\"path\":\"/v\","
                                 "\"dataType\":\"float\\u00332\"}]}}"),
                             .container = &container };
    struct rn_err err;

    (void)state;
    make_key(&container, &arena);
    for (size_t i = 0; i < sizeof(replacements) / sizeof(replacements[0]); i++)
        if (print(replacements[i].in, &old, &err) != replacements[i].rc)
            fail_msg("%s: %d %s", replacements[i].in, err.code, err.text);
    rn_arena_release(&arena);
}

static void a_replacement_keeps_the_client_encryption_policy(void **state)
{
#define PATH "{\"path\":\"/s\",\"clientEncryptionKeyId\":\"k\"}"
#define ENCRYPTED(version, paths)                                              \
    "{\"id\":\"c\"," PK                                                        \
    ",\"clientEncryptionPolicy\":{\"policyFormatVersion\":" version            \
    ",\"includedPaths\":[" paths "]}}"
    static const char none[] = "{\"id\":\"c\"," PK "}";
    static const char some[] = ENCRYPTED("1", PATH);
    static const struct {
        const char *was, *now;
        enum rn_code rc;
    } replacements[] = {
        { some, some, RN_OK },
        { some,
          "{\"id\":\"c\"," PK ",\"clientEncryptionPolicy\":{"
          "\"includedPaths\":[{\"clientEncryptionKeyId\":\"k\", \"path\":"
          "\"\\/s\"}],\"policyFormatVersion\":1},\"defaultTtl\":7}",
          RN_OK },
        { some, ENCRYPTED("2", PATH), RN_BAD_REQUEST },
        { some, ENCRYPTED("1", ""), RN_BAD_REQUEST },
        { some, ENCRYPTED("1", PATH "," PATH), RN_BAD_REQUEST },
        { some,
          ENCRYPTED("1", "{\"path\":\"/s\",\"clientEncryptionKeyId\":\"l\"}"),
          RN_BAD_REQUEST },
        { some, none, RN_BAD_REQUEST },
        { none, some, RN_BAD_REQUEST },
        { none, "{\"id\":\"c\"," PK ",\"clientEncryptionPolicy\":null}",
          RN_OK },
    };
#undef ENCRYPTED
#undef PATH
    struct rn_arena arena = RN_ARENA_INIT(1 << 16);
    struct rn_container container = { 0 };
    struct rn_err err;

    (void)state;
    make_key(&container, &arena);
    for (size_t i = 0; i < sizeof(replacements) / sizeof(replacements[0]);
         i++) {
        struct rn_object old = { .kind = RN_KIND_CONTAINER,
                                 .id = RN_LIT("c"),
                                 .body = rn_view_text(replacements[i].was),
                                 .container = &container };
        enum rn_code rc = print(replacements[i].now, &old, &err);
        if (rc != replacements[i].rc ||
            (rc && !strstr(err.text, "'clientEncryptionPolicy' cannot")))
            fail_msg("%s: %d %s", replacements[i].now, err.code, err.text);
    }
    rn_arena_release(&arena);
}

static int release(void **state)
{
    (void)state;
    rn_buf_release(&out);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(definitions_are_answered_with_every_default),
        cmocka_unit_test(an_answer_sent_back_is_answered_alike),
        cmocka_unit_test(usual_policies_are_taken),
        cmocka_unit_test(bad_definitions_are_refused_in_words),
        cmocka_unit_test(a_replacement_keeps_id_and_partition_key),
        cmocka_unit_test(a_replacement_keeps_the_client_encryption_policy),
    };

    return cmocka_run_group_tests(tests, NULL, release);
}
