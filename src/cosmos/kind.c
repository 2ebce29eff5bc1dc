/* kind.c -- see kind.h. */
#include "cosmos/kind.h"

#include <assert.h>

#define TEXT(s)                                                                \
    {                                                                          \
        (s), sizeof(s) - 1                                                     \
    }

static const struct {
    struct rn_view word, list;
    enum rn_kind owner;
} kinds[RN_KINDS] = {
    /* clang-format off */
    [RN_KIND_ACCOUNT]    = { TEXT(""), TEXT(""), RN_KIND_ACCOUNT },
    [RN_KIND_DATABASE]   = { TEXT("dbs"), TEXT("Databases"), RN_KIND_ACCOUNT },
    [RN_KIND_CONTAINER]  = { TEXT("colls"), TEXT("DocumentCollections"), RN_KIND_DATABASE },
    [RN_KIND_DOCUMENT]   = { TEXT("docs"), TEXT("Documents"), RN_KIND_CONTAINER },
    [RN_KIND_RANGE]      = { TEXT("pkranges"), TEXT("PartitionKeyRanges"), RN_KIND_CONTAINER },
    [RN_KIND_PROCEDURE]  = { TEXT("sprocs"), TEXT("StoredProcedures"), RN_KIND_CONTAINER },
    [RN_KIND_TRIGGER]    = { TEXT("triggers"), TEXT("Triggers"), RN_KIND_CONTAINER },
    [RN_KIND_FUNCTION]   = { TEXT("udfs"), TEXT("UserDefinedFunctions"), RN_KIND_CONTAINER },
    [RN_KIND_CONFLICT]   = { TEXT("conflicts"), TEXT("Conflicts"), RN_KIND_CONTAINER },
    [RN_KIND_USER]       = { TEXT("users"), TEXT("Users"), RN_KIND_DATABASE },
    [RN_KIND_PERMISSION] = { TEXT("permissions"), TEXT("Permissions"), RN_KIND_USER },
    [RN_KIND_CLIENT_KEY] = { TEXT("clientencryptionkeys"), TEXT("ClientEncryptionKeys"), RN_KIND_DATABASE },
    [RN_KIND_OFFER]      = { TEXT("offers"), TEXT("Offers"), RN_KIND_ACCOUNT },
    /* clang-format on */
};

struct rn_view rn_kind_word(enum rn_kind kind)
{
    assert((unsigned)kind < RN_KINDS);
    return kinds[kind].word;
}

struct rn_view rn_kind_list(enum rn_kind kind)
{
    assert((unsigned)kind < RN_KINDS);
    return kinds[kind].list;
}

enum rn_kind rn_kind_owner(enum rn_kind kind)
{
    assert((unsigned)kind < RN_KINDS);
    return kinds[kind].owner;
}

size_t rn_kind_depth(enum rn_kind kind)
{
    size_t depth = 0;

    for (; kind != RN_KIND_ACCOUNT; kind = rn_kind_owner(kind))
        depth++;
    return depth;
}

enum rn_kind rn_kind_find(struct rn_view word)
{
    for (unsigned kind = RN_KIND_DATABASE; kind < RN_KINDS; kind++) {
        if (rn_view_eq(kinds[kind].word, word))
            return kind;
    }
    return RN_KIND_ACCOUNT;
}
