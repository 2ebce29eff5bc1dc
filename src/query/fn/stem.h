/* stem.h -- the Porter stemmer for English full-text search; internal to the
 * module. */
#ifndef RN_QUERY_FN_STEM_H
#define RN_QUERY_FN_STEM_H

#include "base/mem.h"

/* Reduces a lower-case word to its stem, in place, by Porter's rules ("An
 * algorithm for suffix stripping", 1980); a word with characters other than a
 * to z is unchanged.  Returns the new length. */
size_t rn_stem(char *word, size_t len);

/* True for stop words: too common to be searched for. */
bool rn_is_stop_word(struct rn_view word);
/* True for words that can be searched for, but do not count for the length of a
 * text. */
bool rn_is_light_word(struct rn_view word);

#endif
