/* evil.h -- reads the bad-input corpus; tests/evil/README.md has the format.
 *
 * The same cases are run against a parser in a unit test and against a server
 * over sockets, so this knows neither: it yields bytes and what they deserve.
 */
#ifndef RN_TEST_EVIL_H
#define RN_TEST_EVIL_H

#include "base/mem.h"

enum evil_end {
    EVIL_OPEN,  /* the connection serves another request */
    EVIL_CLOSE, /* the connection is closed after the last answer */
    EVIL_WAIT,  /* no answer: the bytes are the beginning of a request */
};

enum { EVIL_GOAWAY = 599 }; /* no status: the answer was in HTTP/2 */

/* `times` answers alike. */
struct evil_answer {
    int low, high;      /* the status; 0, 0 is "pass": no matter, but the bytes
                           were understood */
    int64_t body_bytes; /* of the request understood; -1 is any */
    size_t times;
};

enum { EVIL_ANSWERS_MAX = 8 };

struct evil_case {
    const char *file;
    int line;
    char name[96];
    struct rn_view bytes;
    struct evil_answer answers[EVIL_ANSWERS_MAX];
    size_t answer_count;
    enum evil_end end;
};

typedef void evil_case_fn(void *context, const struct evil_case *c);

/* Calls `each` for every case of a file, in order; the case lives until it
 * returns.  RN_CORRUPT names file and line of what cannot be read. */
enum rn_code evil_each(const char *path, evil_case_fn *each, void *context,
                       struct rn_err *err) RN_CHECK;

#endif
