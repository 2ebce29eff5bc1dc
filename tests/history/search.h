/* search.h -- a second opinion: can what was answered of a document be put into
 * one order?
 *
 * Shares nothing with the checker (check.h) but the form of a history, and does
 * not look at LSNs, but for etags, which are only compared.  So a server that
 * returns wrong LSNs does not mislead it.  It goes through a document's
 * requests and answers in the order of time and keeps every state that the
 * document may be in, with those requests in flight that have led there: when
 * one is answered, some order of those in flight must explain its answer. (Wing
 * and Gong's search, as Lowe does it: equal states are looked at once.)
 *
 * A write that was not answered may happen until the server's next start.
 * Histories with a restore are not for it.
 */
#ifndef RN_TEST_SEARCH_H
#define RN_TEST_SEARCH_H

#include "history/history.h"

#include <stdio.h>

struct search {
    uint32_t one_in, from; /* documents from, from + one_in, ... */
    size_t most; /* requests of a document; with more it is left out */
    FILE *out;   /* for what is wrong; may be NULL */
};

struct search_verdict {
    size_t documents, requests; /* looked at */
    size_t wrong;               /* documents */
    size_t left_out;            /* documents; too long, or too many states */
};

/* Before the checker has been at it.  -1 without memory. */
int history_search(const struct history_entry *e, size_t count,
                   const struct search *what, struct search_verdict *v);

#endif
