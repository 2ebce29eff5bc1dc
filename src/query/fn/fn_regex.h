/* fn_regex.h -- the compiled regular expressions of a run; internal to the
 * module. */
#ifndef RN_QUERY_FN_FN_REGEX_H
#define RN_QUERY_FN_FN_REGEX_H

struct rn_regexes;

/* Frees the compiled patterns; NULL is allowed. */
void rn_regexes_free(struct rn_regexes *all);

#endif
