/* lag.c -- reads the lag of every lease. */
#include "tools/leases/lag.h"

#include "tools/common/report.h"

void rn_lag_release(struct rn_lag *lag)
{
    struct rn_lag_row *next;

    for (struct rn_lag_row *row = lag->first; row; row = next) {
        next = row->next;
        rn_free(row);
    }
    *lag = (struct rn_lag){ 0 };
}

/* The row of a lease, added at the end if it is new; NULL: no memory. */
static struct rn_lag_row *row_of(struct rn_lag *lag, const char *lease)
{
    struct rn_lag_row **end = &lag->first;

    for (; *end; end = &(*end)->next) {
        if (strcmp((*end)->lease, lease) == 0)
            return *end;
    }
    *end = rn_new(sizeof(**end));
    if (*end)
        snprintf((*end)->lease, sizeof((*end)->lease), "%s", lease);
    return *end;
}

static void remember(struct rn_lag_row *row)
{
    if (row->history_count == RN_LAG_HISTORY) {
        memmove(row->history, row->history + 1,
                (RN_LAG_HISTORY - 1) * sizeof(row->history[0]));
        row->history_count--;
    }
    row->history[row->history_count++] = row->behind;
}

static bool add(void *context, const runnel_lag *one)
{
    struct rn_lag *lag = context;
    struct rn_lag_row *row;

    if (!one->lease) {
        lag->behind = one->behind;
        lag->behind_ms = one->behind_ms;
        lag->is_upper_bound = one->is_upper_bound;
        return true;
    }
    row = row_of(lag, one->lease);
    if (!row) {
        lag->is_out_of_memory = true;
        return false;
    }
    snprintf(row->host, sizeof(row->host), "%s", one->host ? one->host : "");
    row->state = one->state;
    row->behind = one->behind;
    row->behind_ms = one->behind_ms;
    row->checkpoint_age_ms = one->checkpoint_age_ms;
    row->is_upper_bound = one->is_upper_bound;
    row->is_seen = true;
    row->error[0] = '\0';
    if (one->error)
        snprintf(row->error, sizeof(row->error), "%s", one->error->message);
    remember(row);
    return true;
}

static void drop_unseen(struct rn_lag *lag)
{
    struct rn_lag_row **at = &lag->first;

    lag->count = 0;
    while (*at) {
        struct rn_lag_row *row = *at;
        if (row->is_seen) {
            at = &row->next;
            lag->count++;
        } else {
            *at = row->next;
            rn_free(row);
        }
    }
}

int rn_lag_read(struct rn_lag *lag, struct rn_leases *leases)
{
    runnel_error error = { 0 };

    for (struct rn_lag_row *row = lag->first; row; row = row->next)
        row->is_seen = false;
    if (runnel_lag_each(&leases->set, add, lag, &error))
        return rn_leases_report(&error, leases);
    if (lag->is_out_of_memory)
        return rn_report(RN_EXIT_FAILED, "out of memory");
    drop_unseen(lag);
    if (!lag->count) {
        return rn_report(RN_EXIT_NOT_FOUND,
                         "no processor named \"%s\" has leases in \"%s\"",
                         leases->set.name, leases->place);
    }
    return RN_EXIT_OK;
}

const char *rn_lag_state_name(runnel_lag_state state)
{
    static const char *const names[] = { "known", "unread", "gone", "failed" };

    return (size_t)state < 4 ? names[state] : "unknown";
}

void rn_lag_sparkline(const struct rn_lag_row *row, char out[RN_SPARKLINE_MAX])
{
    static const char *const levels[] = {
        "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"
    };
    int64_t most = 1;
    char *at = out;

    for (uint32_t i = 0; i < row->history_count; i++) {
        if (row->history[i] > most)
            most = row->history[i];
    }
    for (uint32_t i = 0; i < row->history_count; i++) {
        int64_t behind = row->history[i] > 0 ? row->history[i] : 0;
        memcpy(at, levels[behind * 7 / most], 3);
        at += 3;
    }
    *at = '\0';
}
