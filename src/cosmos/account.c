/* account.c -- see account.h. */
#include "cosmos/account.h"

#include <assert.h>
#include <strings.h>

static const char *const names[RN_CONSISTENCY_LEVELS] = {
    [RN_CONSISTENCY_EVENTUAL] = "Eventual",
    [RN_CONSISTENCY_PREFIX] = "ConsistentPrefix",
    [RN_CONSISTENCY_SESSION] = "Session",
    [RN_CONSISTENCY_BOUNDED] = "BoundedStaleness",
    [RN_CONSISTENCY_STRONG] = "Strong",
};

const char *rn_consistency_name(enum rn_consistency level)
{
    assert((unsigned)level < RN_CONSISTENCY_LEVELS);
    return names[level];
}

static bool is_name(struct rn_view text, const char *name)
{
    return text.len == strlen(name) &&
           strncasecmp(text.at, name, text.len) == 0;
}

enum rn_code rn_consistency_parse(struct rn_view name, enum rn_consistency *out,
                                  struct rn_err *err)
{
    for (unsigned i = 0; i < RN_CONSISTENCY_LEVELS; i++) {
        if (is_name(name, names[i])) {
            *out = (enum rn_consistency)i;
            return RN_OK;
        }
    }
    if (is_name(name, "Bounded")) {
        *out = RN_CONSISTENCY_BOUNDED;
        return RN_OK;
    }
    return rn_fail(err, RN_BAD_REQUEST, "'%.*s' is not a consistency level",
                   name.len > 80 ? 80 : (int)name.len, name.at);
}
