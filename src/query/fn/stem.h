/* stem.h -- English words as a full-text index keeps them; the module's own. */
#ifndef RN_QUERY_FN_STEM_H
#define RN_QUERY_FN_STEM_H

#include "base/mem.h"

/* Cuts a word of small letters down to its stem, in place, by the rules of
 * Porter ("An algorithm for suffix stripping", 1980); words with other
 * characters than a to z stay as they are.  Returns the new length. */
size_t rn_stem(char *word, size_t len);

/* True for words too common to be looked for. */
bool rn_is_stop_word(struct rn_view word);
/* True for words that can be looked for and still say so little that they do
 * not make a text longer. */
bool rn_is_light_word(struct rn_view word);

#endif
