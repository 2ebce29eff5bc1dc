/* fn_search.c -- built-in functions: full-text search and BM25 scores.
 *
 * A text is tokenized into words: runs of letters and digits in lower case,
 * without stop words, reduced to their stems.  A search term is tokenized the
 * same way; several words form a phrase.
 *
 * The score is BM25: it grows with the frequency of a word in the text, with
 * the rarity of the word in all texts, and with the shortness of the text
 * relative to the others.
 */
#include "query/fn/function.h"

#include "query/fn/stem.h"
#include "query/fn/text.h"
#include "query/run/run.h"
#include "json/utf8.h"

#include <math.h>

struct words {
    struct rn_view *at;
    uint32_t count, room;
    uint32_t length; /* number of words that count for the length */
};

/* Beyond ASCII, every character that is not a known sign is a letter. */
static bool is_letter(uint32_t c)
{
    if (c < 0x80)
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
               (c >= 'A' && c <= 'Z');
    return c >= 0xC0 && c != 0xD7 && c != 0xF7 &&
           !(c >= 0x2000 && c <= 0x2BFF) && !(c >= 0x3000 && c <= 0x303F) &&
           !(c >= 0xFF00 && c <= 0xFF0F);
}

static enum rn_code add_word(const struct rn_fn_args *a, struct words *w,
                             char *word, size_t len)
{
    if (len == 0 || rn_is_stop_word(rn_view_of(word, len)))
        return RN_OK;
    w->length += !rn_is_light_word(rn_view_of(word, len));
    w->at = rn_ast_grow(a->arena, w->at, w->count, &w->room, sizeof(*w->at));
    if (!w->at)
        return RN_TOO_LARGE;
    w->at[w->count++] = rn_view_of(word, rn_stem(word, len));
    return RN_OK;
}

static enum rn_code split(const struct rn_fn_args *a, struct rn_view text,
                          struct words *out)
{
    /* Lower case may take more bytes than upper case, at most double; stems may
     * grow by one letter, which replaces a dropped one. */
    char *to = rn_arena_alloc(a->arena, text.len * 2 + RN_UTF8_MAX);
    size_t n = 0, len;
    enum rn_code rc = to ? RN_OK : RN_TOO_LARGE;

    *out = (struct words){ 0 };
    for (size_t i = 0; i < text.len && !rc; i += len) {
        uint32_t point = rn_text_point(text, i, &len);
        if (is_letter(point)) {
            n += rn_utf8_encode(rn_text_lower(point), to + n);
        } else {
            rc = add_word(a, out, to, n);
            to += n;
            n = 0;
        }
    }
    if (!rc)
        rc = add_word(a, out, to, n);
    return rc ? rc : rn_run_step(a->run, text.len / 16);
}

static bool follows(const struct words *text, uint32_t at,
                    const struct words *what)
{
    for (uint32_t i = 0; i < what->count; i++) {
        if (!rn_view_eq(text->at[at + i], what->at[i]))
            return false;
    }
    return true;
}

static bool has(const struct words *text, const struct words *what)
{
    for (uint32_t i = 0; what->count && i + what->count <= text->count; i++) {
        if (follows(text, i, what))
            return true;
    }
    return false;
}

static enum rn_code search(const struct rn_fn_args *a, bool is_all,
                           struct rn_value *out)
{
    struct words text, what;
    bool found = is_all;
    enum rn_code rc;

    for (uint32_t i = 0; i < a->count; i++) {
        if (!rn_arg_is(a, i, RN_VALUE_STRING))
            return RN_OK;
    }
    rc = split(a, a->at[0].text, &text);
    for (uint32_t i = 1; i < a->count && !rc; i++) {
        rc = split(a, a->at[i].text, &what);
        if (!rc)
            found = is_all ? found && has(&text, &what)
                           : found || has(&text, &what);
    }
    *out = rn_value_bool(found);
    return rc;
}

static enum rn_code fn_all(const struct rn_fn_args *a, struct rn_value *out)
{
    return search(a, true, out);
}

static enum rn_code fn_any(const struct rn_fn_args *a, struct rn_value *out)
{
    return search(a, false, out);
}

static uint32_t count_of(const struct words *text, const struct words *what)
{
    uint32_t n = 0;

    for (uint32_t i = 0; what->count && i + what->count <= text->count; i++)
        n += follows(text, i, what);
    return n;
}

static enum rn_code word_count(const struct rn_fn_args *a, struct rn_value *out)
{
    struct words text;
    enum rn_code rc;

    if (!rn_arg_is(a, 0, RN_VALUE_STRING))
        return RN_OK;
    rc = split(a, a->at[0].text, &text);
    *out = rn_value_int(text.length);
    return rc;
}

struct corpus {
    double texts, words; /* of all texts */
    double length;       /* of this text, in words */
};

/* The score of a word that occurs `n` times in this text, and in `hits`
 * texts. */
static double worth(const struct corpus *c, double n, double hits)
{
    const double k1 = 1.2, b = 0.75;
    double rarity = log(1 + (c->texts - hits + 0.5) / (hits + 0.5));
    double length = c->words > 0 ? c->length * c->texts / c->words : 1;

    return rarity * n * (k1 + 1) / (n + k1 * (1 - b + b * length));
}

/* (text, words, texts, words of all texts, number of texts with each word) */
static enum rn_code score(const struct rn_fn_args *a, struct rn_value *out)
{
    struct rn_value_walk what, hits;
    struct words text, words;
    struct corpus c;
    double sum = 0;
    enum rn_code rc;

    if (!rn_arg_is(a, 0, RN_VALUE_STRING) || !rn_arg_is(a, 1, RN_VALUE_ARRAY) ||
        !rn_arg_is(a, 2, RN_VALUE_NUMBER) ||
        !rn_arg_is(a, 3, RN_VALUE_NUMBER) || !rn_arg_is(a, 4, RN_VALUE_ARRAY))
        return RN_OK;
    rc = split(a, a->at[0].text, &text);
    c = (struct corpus){ rn_value_real(&a->at[2]), rn_value_real(&a->at[3]),
                         rc ? 0 : text.length };
    what = rn_value_walk_begin(&a->at[1], a->arena);
    hits = rn_value_walk_begin(&a->at[4], a->arena);
    while (!rc && rn_value_walk_next(&what) && rn_value_walk_next(&hits)) {
        if (what.value.kind != RN_VALUE_STRING ||
            hits.value.kind != RN_VALUE_NUMBER)
            return RN_OK;
        rc = split(a, what.value.text, &words);
        if (!rc)
            sum +=
                worth(&c, count_of(&text, &words), rn_value_real(&hits.value));
    }
    *out = rn_value_double(sum);
    return rc;
}

/* Never called: the plan gives clients another query. */
static enum rn_code not_called(const struct rn_fn_args *a, struct rn_value *out)
{
    (void)a;
    (void)out;
    return RN_OK;
}

const struct rn_function rn_functions_search[] = {
    { .name = "FullTextContains", .min = 2, .max = 2, .run = fn_all },
    { .name = "FullTextContainsAll",
      .min = 2,
      .max = RN_ARITY_ANY,
      .run = fn_all },
    { .name = "FullTextContainsAny",
      .min = 2,
      .max = RN_ARITY_ANY,
      .run = fn_any },
    { .name = "FullTextScore",
      .min = 2,
      .max = RN_ARITY_ANY,
      .run = not_called,
      .rank = RN_RANK_SCORE },
    { .name = "RRF",
      .min = 1, /* one alone is refused by ORDER BY RANK */
      .max = RN_ARITY_ANY,
      .run = not_called,
      .rank = RN_RANK_FUSION },
    { .name = "_FullTextScore",
      .min = 5,
      .max = 5,
      .run = score,
      .is_score = true },
    { .name = "_FullTextWordCount", .min = 1, .max = 1, .run = word_count },
    { 0 },
};
