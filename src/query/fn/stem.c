/* stem.c -- the Porter stemmer, and the stop words.
 *
 * A word is [C](VC)^m[V] in runs of consonants and vowels; m, its measure,
 * decides whether a suffix may be removed.
 */
#include "query/fn/stem.h"

struct word {
    char *at;
    size_t len;
};

static bool is_vowel(const struct word *w, size_t i)
{
    switch (w->at[i]) {
    case 'a':
    case 'e':
    case 'i':
    case 'o':
    case 'u':
        return true;
    case 'y':
        return i > 0 && !is_vowel(w, i - 1);
    default:
        return false;
    }
}

static int measure(const struct word *w, size_t len)
{
    int m = 0;

    for (size_t i = 1; i < len; i++)
        m += is_vowel(w, i - 1) && !is_vowel(w, i);
    return m;
}

static bool has_vowel(const struct word *w, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (is_vowel(w, i))
            return true;
    }
    return false;
}

static bool ends_double(const struct word *w)
{
    return w->len > 1 && w->at[w->len - 1] == w->at[w->len - 2] &&
           !is_vowel(w, w->len - 1);
}

/* Ends in consonant, vowel, consonant, where the last one is not w, x or y. */
static bool ends_cvc(const struct word *w, size_t len)
{
    return len > 2 && !is_vowel(w, len - 1) && is_vowel(w, len - 2) &&
           !is_vowel(w, len - 3) && !strchr("wxy", w->at[len - 1]);
}

static bool ends(const struct word *w, const char *with, size_t *before)
{
    size_t n = strlen(with);

    if (w->len < n || memcmp(w->at + w->len - n, with, n) != 0)
        return false;
    *before = w->len - n;
    return true;
}

static void put(struct word *w, size_t at, const char *text)
{
    memcpy(w->at + at, text, strlen(text));
    w->len = at + strlen(text);
}

/* A rule applies if the measure of the stem before the suffix exceeds `above`;
 * only the first matching suffix is tried. */
struct rule {
    const char *from, *to;
};

static void apply(struct word *w, const struct rule *rules, int above)
{
    size_t before;

    for (; rules->from; rules++) {
        if (!ends(w, rules->from, &before))
            continue;
        if (measure(w, before) > above)
            put(w, before, rules->to);
        return;
    }
}

static void drop_plural(struct word *w)
{
    size_t at;

    if (ends(w, "sses", &at) || ends(w, "ies", &at))
        w->len -= 2;
    else if (ends(w, "s", &at) && !ends(w, "ss", &at))
        w->len--;
}

static void drop_past(struct word *w)
{
    size_t at;

    if (ends(w, "eed", &at)) {
        w->len -= measure(w, at) > 0;
        return;
    }
    if (!(ends(w, "ed", &at) || ends(w, "ing", &at)) || !has_vowel(w, at))
        return;
    w->len = at;
    if (ends(w, "at", &at) || ends(w, "bl", &at) || ends(w, "iz", &at) ||
        (!ends_double(w) && measure(w, w->len) == 1 && ends_cvc(w, w->len)))
        w->at[w->len++] = 'e';
    else if (ends_double(w) && !strchr("lsz", w->at[w->len - 1]))
        w->len--;
}

static void drop_end(struct word *w)
{
    size_t at;
    int m;

    if (ends(w, "e", &at)) {
        m = measure(w, at);
        if (m > 1 || (m == 1 && !ends_cvc(w, at)))
            w->len--;
    }
    if (measure(w, w->len) > 1 && ends_double(w) && w->at[w->len - 1] == 'l')
        w->len--;
}

static const struct rule doubles[] = {
    { "ational", "ate" }, { "tional", "tion" }, { "enci", "ence" },
    { "anci", "ance" },   { "izer", "ize" },    { "abli", "able" },
    { "alli", "al" },     { "entli", "ent" },   { "eli", "e" },
    { "ousli", "ous" },   { "ization", "ize" }, { "ation", "ate" },
    { "ator", "ate" },    { "alism", "al" },    { "iveness", "ive" },
    { "fulness", "ful" }, { "ousness", "ous" }, { "aliti", "al" },
    { "iviti", "ive" },   { "biliti", "ble" },  { 0 },
};

static const struct rule singles[] = {
    { "icate", "ic" }, { "ative", "" }, { "alize", "al" }, { "iciti", "ic" },
    { "ical", "ic" },  { "ful", "" },   { "ness", "" },    { 0 },
};

static const struct rule lasts[] = {
    { "al", "" },    { "ance", "" }, { "ence", "" }, { "er", "" },
    { "ic", "" },    { "able", "" }, { "ible", "" }, { "ant", "" },
    { "ement", "" }, { "ment", "" }, { "ent", "" },  { "ou", "" },
    { "ism", "" },   { "ate", "" },  { "iti", "" },  { "ous", "" },
    { "ive", "" },   { "ize", "" },  { 0 },
};

/* -ion is removed only after s or t. */
static void drop_last(struct word *w)
{
    size_t at;

    if (!ends(w, "ion", &at))
        apply(w, lasts, 1);
    else if (at > 0 && strchr("st", w->at[at - 1]) && measure(w, at) > 1)
        w->len = at;
}

size_t rn_stem(char *word, size_t len)
{
    struct word w = { word, len };
    size_t at;

    for (size_t i = 0; i < len; i++) {
        if (word[i] < 'a' || word[i] > 'z')
            return len;
    }
    if (len < 3)
        return len;
    drop_plural(&w);
    drop_past(&w);
    if (ends(&w, "y", &at) && has_vowel(&w, at))
        w.at[at] = 'i';
    apply(&w, doubles, 0);
    apply(&w, singles, 0);
    drop_last(&w);
    drop_end(&w);
    return w.len;
}

static bool is_among(struct rn_view word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (word.at[0] == words[i][0] &&
            rn_view_eq(word, rn_view_text(words[i])))
            return true;
    }
    return false;
}

bool rn_is_stop_word(struct rn_view word)
{
    static const char *const words[] = {
        "a",    "an",  "and",   "are",  "as",    "at",    "be",
        "but",  "by",  "for",   "if",   "in",    "into",  "is",
        "it",   "no",  "not",   "of",   "on",    "or",    "such",
        "that", "the", "their", "then", "there", "these", "they",
        "this", "to",  "was",   "will", "with",
    };

    return is_among(word, words, sizeof(words) / sizeof(words[0]));
}

bool rn_is_light_word(struct rn_view word)
{
    static const char *const words[] = {
        "about",     "above",      "after",    "again",      "against",
        "all",       "also",       "am",       "among",      "any",
        "because",   "been",       "before",   "being",      "below",
        "between",   "both",       "can",      "could",      "did",
        "do",        "does",       "doing",    "down",       "during",
        "each",      "few",        "from",     "further",    "had",
        "has",       "have",       "having",   "he",         "her",
        "here",      "hers",       "herself",  "him",        "himself",
        "his",       "how",        "i",        "itself",     "its",
        "just",      "known",      "me",       "more",       "most",
        "my",        "myself",     "nor",      "now",        "off",
        "once",      "only",       "other",    "our",        "ours",
        "ourselves", "out",        "over",     "own",        "part",
        "same",      "she",        "should",   "so",         "some",
        "than",      "theirs",     "them",     "themselves", "those",
        "through",   "throughout", "too",      "under",      "until",
        "up",        "very",       "we",       "well",       "were",
        "what",      "when",       "where",    "which",      "while",
        "who",       "whom",       "why",      "would",      "you",
        "your",      "yours",      "yourself", "yourselves"
    };

    return is_among(word, words, sizeof(words) / sizeof(words[0]));
}
