/* retry.c -- the retry policy; see retry.h. */
#include "client/http/retry.h"

#include "cosmos/status.h"

enum {
    BACKOFF_MIN_MS = 10,
    BACKOFF_MAX_MS = 1000,
    BACKOFF_SHIFTS = 7, /* doublings that reach the maximum */
};

/* For a read that is behind the session. */
static const uint32_t session_pauses_ms[] = { 5, 10, 50 };

void rn_retry_init(struct rn_retry *r, struct rn_retry_policy policy)
{
    *r = (struct rn_retry){ .policy = policy };
}

static uint32_t backoff(const struct rn_retry *r)
{
    uint32_t n = r->attempts < BACKOFF_SHIFTS ? r->attempts : BACKOFF_SHIFTS;
    uint32_t ms = (uint32_t)BACKOFF_MIN_MS << n;

    return ms < BACKOFF_MAX_MS ? ms : BACKOFF_MAX_MS;
}

/* Retries once a request that may be repeated although it may have been
 * done. */
static bool may_repeat(struct rn_retry *r, const struct rn_exchange *x)
{
    if (x->effect == RN_EFFECT_READ || !x->was_sent)
        return true;
    if (x->effect != RN_EFFECT_GUARDED || r->was_lost)
        return false;
    r->was_lost = true;
    return true;
}

static void judge_failure(struct rn_retry *r, const struct rn_exchange *x,
                          struct rn_retry_verdict *v)
{
    switch (x->code) {
    case RUNNEL_UNREACHABLE:
    case RUNNEL_BUSY:
    case RUNNEL_TIMEOUT:
        if (!may_repeat(r, x))
            return;
        v->act = RN_RETRY_AGAIN;
        v->pause_ms = backoff(r);
        v->wants_region = true;
        return;
    default:
        return;
    }
}

static void judge_session(struct rn_retry *r, struct rn_retry_verdict *v)
{
    enum { PAUSES = sizeof(session_pauses_ms) / sizeof(session_pauses_ms[0]) };

    if (r->session_tries == PAUSES)
        return;
    v->act = RN_RETRY_AGAIN;
    v->pause_ms = session_pauses_ms[r->session_tries++];
}

static void judge_refusal(struct rn_retry *r, const struct rn_status *s,
                          bool clock_off, struct rn_retry_verdict *v)
{
    if (s->reason == RN_REASON_WRITE_REGION ||
        s->reason == RN_REASON_ACCOUNT_GONE) {
        v->act = RN_RETRY_AGAIN;
        v->pause_ms = backoff(r);
        v->wants_region = true;
    } else if (clock_off && !r->has_new_clock) {
        v->act = RN_RETRY_AGAIN;
        v->wants_clock = r->has_new_clock = true;
    } else if (s->code == RN_UNAUTHORIZED && !r->has_new_token) {
        v->act = RN_RETRY_AGAIN;
        v->wants_token = r->has_new_token = true;
    }
}

/* What a substatus asks for; false if it adds nothing to its code. */
static bool judge_reason(struct rn_retry *r, const struct rn_exchange *x,
                         const struct rn_status *s, struct rn_retry_verdict *v)
{
    switch (s->reason) {
    case RN_REASON_RETRY_WITH:
    case RN_REASON_MIGRATING:
    case RN_REASON_CREATING:
        v->act = RN_RETRY_AGAIN;
        v->pause_ms = backoff(r);
        return true;
    case RN_REASON_SPLITTING:
        v->wants_ranges = true;
        v->act = x->is_ranged ? RN_RETRY_OVER : RN_RETRY_AGAIN;
        v->pause_ms = backoff(r);
        return true;
    case RN_REASON_SESSION:
        judge_session(r, v);
        return true;
    case RN_REASON_NAME_STALE:
        v->wants_definition = true;
        v->act = RN_RETRY_AGAIN;
        v->pause_ms = backoff(r);
        return true;
    case RN_REASON_CONTAINER_RID:
    case RN_REASON_OWNER:
        v->wants_definition = true;
        v->act = r->has_new_definition ? RN_RETRY_OVER : RN_RETRY_AGAIN;
        r->has_new_definition = true;
        return true;
    case RN_REASON_KEY_MISMATCH: /* the caller has to compute the key again */
        v->wants_definition = true;
        return true;
    default:
        return false;
    }
}

static void judge_answer(struct rn_retry *r, const struct rn_exchange *x,
                         bool clock_off, const runnel_error *failure,
                         struct rn_retry_verdict *v)
{
    const struct rn_status *s = rn_status_read(x->status, x->sub_status);

    if (judge_reason(r, x, s, v))
        return;
    switch (s->code) {
    case RN_THROTTLED:
        v->act = RN_RETRY_AGAIN;
        v->pause_ms =
            failure->retry_after_ms ? failure->retry_after_ms : backoff(r);
        return;
    case RN_BUSY:
        v->act = RN_RETRY_AGAIN;
        v->pause_ms = backoff(r);
        v->wants_region = true;
        return;
    case RN_GONE:
        v->wants_ranges = true;
        v->act = x->is_ranged ? RN_RETRY_OVER : RN_RETRY_AGAIN;
        v->pause_ms = backoff(r);
        return;
    case RN_UNAUTHORIZED:
    case RN_FORBIDDEN:
        judge_refusal(r, s, clock_off, v);
        return;
    case RN_IO:
    case RN_TIMEOUT:
        v->act = may_repeat(r, x) ? RN_RETRY_AGAIN : RN_RETRY_OVER;
        v->pause_ms = backoff(r);
        return;
    default:
        return;
    }
}

runnel_code rn_retry_outcome(const struct rn_retry *r, runnel_code code)
{
    switch (code) {
    case RUNNEL_OK:
    case RUNNEL_CONFLICT:
    case RUNNEL_BAD_REQUEST:
    case RUNNEL_TOO_LARGE:
        return code;
    default:
        return r->was_lost ? RUNNEL_UNCERTAIN : code;
    }
}

struct rn_retry_verdict rn_retry_judge(struct rn_retry *r,
                                       const struct rn_exchange *x,
                                       bool clock_off, runnel_error *error)
{
    struct rn_retry_verdict v = { .act = RN_RETRY_OVER };
    runnel_error failure = { 0 };

    v.code = rn_exchange_error(x, &failure);
    if (x->code != RUNNEL_OK)
        judge_failure(r, x, &v);
    else if (v.code != RUNNEL_OK)
        judge_answer(r, x, clock_off, &failure, &v);
    if (v.act == RN_RETRY_AGAIN) {
        if (r->attempts >= r->policy.limit ||
            v.pause_ms > r->policy.wait_ms - r->waited_ms) {
            v.act = RN_RETRY_OVER;
        } else {
            r->attempts++;
            r->waited_ms += v.pause_ms;
        }
    }
    if (v.code != RUNNEL_OK && error)
        *error = failure;
    return v;
}
