/* engine_definition_search_test.c -- what definitions say of vectors and full
 * text.
 *
 * A table of policies, each with the words of its refusal that clients look
 * for, or none if it is taken; and one of replacements.  A policy is written
 * with ' for ".
 */
#include "engine/catalog/definition_search.h"
#include "engine/engine_state.h"

#include "json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define EMBED(members)                                                         \
    "'vectorEmbeddingPolicy':{'vectorEmbeddings':[" members "]}"
#define INDEX(members) "'indexingPolicy':{'vectorIndexes':[" members "]}"
#define FLOATS                                                                 \
    "{'path':'/v','dataType':'float32','dimensions':256,"                      \
    "'distanceFunction':'euclidean'}"
#define WIDE "{'path':'/v','dimensions':550}"
#define BAD_INDEX "The Vector Indexing Policy"
#define BAD_EMBED "The Vector Embedding Policy has "

static const struct {
    const char *policy, *refusal; /* "": it is taken */
} rows[] = {
    { "'id':'c'", "" },
    { EMBED(FLOATS), "" },
    { EMBED("{'path':'/v'}"), "" },
    { EMBED("{'path':'v'}"),
      "The Vector Embedding Policy contains an invalid Path: v" },
    { EMBED("{'dimensions':3}"), "invalid Path" },
    { EMBED(FLOATS "," FLOATS),
      "Duplicate Path :/v found in Vector Embedding Policy." },
    { EMBED("{'path':'/v','dataType':'float33'}"),
      BAD_EMBED "an invalid DataType:float33" },
    { EMBED("{'path':'/v','dataType':7}"), BAD_EMBED "an invalid DataType:7" },
    { EMBED("{'path':'/v','dimensions':4096}"), "" },
    { EMBED("{'path':'/v','dimensions':4097}"),
      BAD_EMBED "Dimensions:4097 which is more than the maximum supported "
                "value" },
    { EMBED("{'path':'/v','dimensions':-1}"), BAD_EMBED "Dimensions:-1" },
    { EMBED("{'path':'/v','dimensions':0}"), BAD_EMBED "Dimensions:0" },
    { EMBED("{'path':'/v','dimensions':'9'}"), BAD_EMBED "Dimensions:9" },
    { EMBED("{'path':'/v','distanceFunction':'handMeasured'}"),
      BAD_EMBED "an invalid DistanceFunction:handMeasured" },
    { "'vectorEmbeddingPolicy':{'vectorEmbeddings':{}}",
      "One of the specified inputs is invalid" },

    { EMBED(FLOATS) "," INDEX("{'path':'/v','type':'flat'}"), "" },
    { INDEX("{'path':'/v','type':'flat'}"),
      BAD_INDEX "'s path::/v not matching in Embedding's path." },
    { EMBED(FLOATS) "," INDEX("{'path':'/w','type':'flat'}"),
      BAD_INDEX "'s path::/w not matching in Embedding's path." },
    { EMBED(FLOATS) "," INDEX("{'path':'/v','type':'notFlat'}"),
      "Index Type::notFlat is invalid" },
    { EMBED(FLOATS) "," INDEX(
          "{'path':'/v','type':'flat'},{'path':'/v','type':'diskANN'}"),
      "Duplicate Path :/v found in Vector Indexing Policy." },
    { EMBED(FLOATS) "," INDEX("{'path':'/v','quantizationByteSize':256}"), "" },
    { EMBED(FLOATS) "," INDEX("{'path':'/v','quantizationByteSize':0}"),
      BAD_INDEX " parameter QuantizationByteSize value :: 0 is out of range. "
                "The allowed range is between 1 and 256." },
    { EMBED(WIDE) "," INDEX("{'path':'/v','quantizationByteSize':512}"), "" },
    { EMBED(WIDE) "," INDEX("{'path':'/v','quantizationByteSize':513}"),
      "QuantizationByteSize value :: 513 is out of range." },
    { EMBED("{'path':'/v','dimensions':505}") "," INDEX(
          "{'path':'/v','type':'flat'}"),
      "" },
    { EMBED("{'path':'/v','dimensions':506}") "," INDEX(
          "{'path':'/v','type':'flat'}"),
      "Index Type::flat supports at most 505 dimensions, and path::/v has "
      "506." },
    { EMBED("{'path':'/v','dimensions':506}") "," INDEX(
          "{'path':'/v','type':'quantizedFlat'}"),
      "" },
    { EMBED("{'path':'/v'}") "," INDEX("{'path':'/v','type':'flat'}"), "" },
    { EMBED(FLOATS) "," INDEX("{'path':'/v','indexingSearchListSize':25}"),
      "" },
    { EMBED(FLOATS) "," INDEX("{'path':'/v','indexingSearchListSize':5}"),
      "IndexingSearchListSize value :: 5 is out of range. The allowed range is "
      "between 25 and 500." },
    { EMBED(FLOATS) "," INDEX("{'path':'/v','indexingSearchListSize':1.5}"),
      "value :: 1.5 is out of range" },
    { EMBED(FLOATS) "," INDEX("{'path':'/v','vectorIndexShardKey':['/c']}"),
      "" },
    { EMBED(FLOATS) "," INDEX("{'path':'/v','vectorIndexShardKey':['c']}"),
      BAD_INDEX " has an invalid Shard Path: c." },
    { EMBED(FLOATS) "," INDEX(
          "{'path':'/v','vectorIndexShardKey':['/a','/b','/c']}"),
      "The number of shard paths defined in the Vector Indexing Policy: 3 "
      "exceeds the maximum: 1." },
    { EMBED(FLOATS) "," INDEX("{'path':'/v','vectorIndexShardKey':'/c'}"),
      "One of the specified inputs is invalid" },
    { "'indexingPolicy':{'vectorIndexes':7}",
      "vectorIndexes must be an array" },

    { "'fullTextPolicy':{'defaultLanguage':'en-US','fullTextPaths':[{'path':"
      "'/t','language':'1033'},{'path':'/u'}]}",
      "" },
    { "'fullTextPolicy':{'defaultLanguage':'fr-FR','fullTextPaths':[{'path':"
      "'/a','language':'de-DE'},{'path':'/b','language':'es-ES'},{'path':'/c',"
      "'language':'it-IT'},{'path':'/d','language':'pt-PT'},{'path':'/e',"
      "'language':'pt-BR'}]}",
      "" },
    { "'fullTextPolicy':{'fullTextPaths':[{'path':'abstract'}]}",
      "The Full Text Policy contains an invalid Path: abstract" },
    { "'fullTextPolicy':{'defaultLanguage':'spa-SPA'}",
      "The Full Text Policy contains an unsupported language spa-SPA. "
      "Supported languages are: \"en-US\"" },
    { "'fullTextPolicy':{'defaultLanguage':''}", "unsupported language ." },
    { "'fullTextPolicy':{'fullTextPaths':[{'path':'/t','language':'x'}]}",
      "unsupported language x." },
    { "'indexingPolicy':{'fullTextIndexes':[{'path':'/t'}]},"
      "'fullTextPolicy':{'fullTextPaths':[{'path':'/t'}]}",
      "" },
    { "'indexingPolicy':{'fullTextIndexes':[{'path':'/t'}]}",
      "The path of the Full Text Index /t does not match the path specified "
      "in the Full Text Policy" },
    { "'indexingPolicy':{'fullTextIndexes':[{'path':'abstract'}]}",
      "invalid Path: abstract" },
    { "'indexingPolicy':{'fullTextIndexes':[{'not_path':'abstract'}]}",
      "invalid Path: " },
};

static void parse(const char *policy, char *text, size_t room,
                  struct rn_json *out)
{
    struct rn_err err = { 0 };

    assert_true((size_t)snprintf(text, room, "{%s}", policy) < room);
    for (char *at = text; *at; at++) {
        if (*at == '\'')
            *at = '"';
    }
    rn_json_init(out, NULL);
    assert_int_equal(rn_json_parse(out, rn_view_text(text), &err), RN_OK);
}

static void policies_are_taken_or_refused_in_words(void **state)
{
    char text[1024];
    struct rn_json j;
    int wrong = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rn_err err = { 0 };
        bool is_taken = rows[i].refusal[0] == '\0';
        parse(rows[i].policy, text, sizeof(text), &j);
        enum rn_code rc = rn_definition_search_check(&j, &err);
        rn_json_release(&j);
        if (is_taken ? rc == RN_OK
                     : rc == RN_BAD_REQUEST &&
                           strstr(err.text, rows[i].refusal) != NULL)
            continue;
        print_error("%s: %d '%s'\n", rows[i].policy, rc, err.text);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

static void what_is_said_of_a_path_stays(void **state)
{
    static const char old[] =
        EMBED(FLOATS) "," INDEX("{'path':'/v','type':'flat'}");
    static const struct {
        const char *policy, *refusal;
    } replacements[] = {
        { old, "" },
        { "'id':'c'", "" },
        { EMBED(FLOATS ",{'path':'/w'}") "," INDEX(
              "{'path':'/w','type':'flat'},{'path':'/v','type':'flat'}"),
          "" },
        { EMBED(FLOATS) "," INDEX("{'path':'/v','type':'diskANN'}"),
          "Paths in existing vector indexing policy cannot be modified in "
          "Collection Replace" },
        { EMBED(WIDE) "," INDEX("{'path':'/v','type':'flat'}"),
          "Paths in existing embedding policy cannot be modified in Collection "
          "Replace" },
    };
    char text[1024], was_text[1024];
    struct rn_json j, was;

    (void)state;
    parse(old, was_text, sizeof(was_text), &was);
    for (size_t i = 0; i < sizeof(replacements) / sizeof(replacements[0]);
         i++) {
        struct rn_err err = { 0 };
        parse(replacements[i].policy, text, sizeof(text), &j);
        enum rn_code rc = rn_definition_search_check_replaced(&was, &j, &err);
        rn_json_release(&j);
        assert_int_equal(rc,
                         replacements[i].refusal[0] ? RN_BAD_REQUEST : RN_OK);
        assert_non_null(strstr(err.text, replacements[i].refusal));
    }
    rn_json_release(&was);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policies_are_taken_or_refused_in_words),
        cmocka_unit_test(what_is_said_of_a_path_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
