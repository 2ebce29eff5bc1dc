/* store.c -- what all lease stores share. */
#include "client/lease/store.h"

enum { CALL_ARENA_MAX = 64 << 20 };

void rn_lease_store_call_init(struct rn_lease_store_call *call,
                              enum rn_lease_store_kind kind)
{
    *call = (struct rn_lease_store_call){
        .kind = kind,
        .json = RN_BUF_INIT(RN_LEASE_TEXT_MAX),
        .arena = RN_ARENA_INIT(CALL_ARENA_MAX),
    };
}

void rn_lease_store_call_release(struct rn_lease_store_call *call)
{
    rn_buf_release(&call->json);
    rn_arena_release(&call->arena);
    rn_free(call->records);
    rn_free(call->continuation);
    call->records = NULL;
    call->continuation = NULL;
    call->count = call->room = 0;
}

runnel_code rn_lease_store_call_add(struct rn_lease_store_call *call,
                                    const struct rn_lease_store_record *record)
{
    struct rn_lease_store_record *to;

    if (call->count == call->room) {
        size_t room = call->room ? 2 * call->room : 16;
        struct rn_lease_store_record *more = rn_new(room * sizeof(*more));
        if (!more)
            return RUNNEL_NO_MEMORY;
        if (call->count)
            memcpy(more, call->records, call->count * sizeof(*more));
        rn_free(call->records);
        call->records = more;
        call->room = room;
    }
    to = &call->records[call->count];
    to->id = rn_arena_copy(&call->arena, record->id);
    to->etag = rn_arena_copy(&call->arena, record->etag);
    to->json = rn_arena_copy(&call->arena, record->json);
    to->written_ms = record->written_ms;
    if (!to->id.at || !to->etag.at || !to->json.at)
        return RUNNEL_NO_MEMORY;
    call->count++;
    return RUNNEL_OK;
}

runnel_code
rn_lease_store_record_lease(const struct rn_lease_store_record *record,
                            struct rn_lease_document **out, runnel_error *error)
{
    struct rn_lease_document *document = NULL;
    runnel_code rc = rn_lease_document_new(record->json, &document, error);

    if (rc)
        return rc;
    document->lease.etag = rn_arena_copy(&document->arena, record->etag);
    document->lease.ts_s = record->written_ms / 1000;
    if (!document->lease.etag.at) {
        rn_lease_document_free(document);
        return RUNNEL_NO_MEMORY;
    }
    *out = document;
    return RUNNEL_OK;
}
