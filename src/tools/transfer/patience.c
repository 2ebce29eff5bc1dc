/* patience.c -- pauses between attempts. */
#include "tools/transfer/patience.h"

#include "base/env.h"
#include "tools/common/signals.h"

enum { PAUSE_MIN_MS = 50, PAUSE_MAX_MS = 1000, GIVE_UP_MS = 30000 };

#define NS_PER_MS INT64_C(1000000)

void rn_patience_reset(struct rn_patience *patience)
{
    *patience = (struct rn_patience){ 0 };
}

bool rn_patience_wait(struct rn_patience *p, const runnel_error *error)
{
    struct rn_env *env = rn_env_real();
    int64_t now = rn_mono_ns(env);
    uint32_t pause = p->pause_ms ? p->pause_ms : PAUSE_MIN_MS;

    if (!runnel_code_is_transient(error->code) || rn_interrupted())
        return false;
    if (!p->failing_since_ns)
        p->failing_since_ns = now;
    if (now - p->failing_since_ns > GIVE_UP_MS * NS_PER_MS)
        return false;
    p->pause_ms = pause < PAUSE_MAX_MS / 2 ? 2 * pause : PAUSE_MAX_MS;
    if (pause < error->retry_after_ms && error->retry_after_ms < GIVE_UP_MS)
        pause = error->retry_after_ms;
    env->ops->sleep(env, pause * NS_PER_MS);
    return true;
}
