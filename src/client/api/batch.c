/* batch.c -- a batch in the caller's hands; see runnel/client.h. */
#include "client/feed/batch.h"

size_t runnel_batch_count(const runnel_batch *batch)
{
    return batch->count;
}

const runnel_change *runnel_batch_at(const runnel_batch *batch, size_t i)
{
    return i < batch->count ? rn_batch_at(batch, i) : NULL;
}

const char *runnel_batch_token(const runnel_batch *batch)
{
    return batch->token;
}

const runnel_range *runnel_batch_range(const runnel_batch *batch)
{
    return &batch->range;
}

const char *runnel_batch_rid(const runnel_batch *batch)
{
    return batch->rid;
}

const runnel_reply *runnel_batch_reply(const runnel_batch *batch)
{
    return batch->page->reply;
}

void runnel_batch_close(runnel_batch *batch)
{
    rn_batch_unref(batch);
}
