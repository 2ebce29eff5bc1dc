/* datetime.h -- ISO 8601 timestamps of queries: 2024-12-31T23:59:59.1234567Z.
 *
 * A tick is 100 ns; ticks count from 1970-01-01T00:00:00Z.  Years 1 to 9999.
 */
#ifndef RN_QUERY_FN_DATETIME_H
#define RN_QUERY_FN_DATETIME_H

#include "base/clock.h"

enum { RN_DATETIME_TEXT_MAX = 32 };

enum { RN_TICKS_PER_SECOND = 10000000 };

/* A date, or date and time separated by T or a space; up to seven fractional
 * digits of a second; Z is optional. */
bool rn_datetime_parse(struct rn_view text, int64_t *ticks);
/* False if the year does not have four digits. */
bool rn_datetime_print(int64_t ticks, char out[RN_DATETIME_TEXT_MAX],
                       size_t *len);

struct rn_datetime {
    struct rn_civil civil;
    int64_t fraction; /* ticks within the second */
};

struct rn_datetime rn_datetime_of(int64_t ticks);
int64_t rn_datetime_ticks(const struct rn_datetime *m);

#endif
