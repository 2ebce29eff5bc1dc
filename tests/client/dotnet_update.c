/* dotnet_update.c -- how the .NET host changes a lease: read where it reads,
 * written with the etag that it has in memory, six times at most; see
 * dotnet_own.h. */
#include "client/dotnet_own.h"

#include "cosmos/header.h"

#include <stdio.h>
#include <stdlib.h>

enum { TRIES_MAX = 6 };

static const char *key_of(const struct dotnet_lease *lease)
{
    return lease->partition_key[0] ? lease->partition_key : lease->id;
}

static void read_document(struct dotnet_update *u)
{
    dotnet_call_lease(&u->call, "GET", u->lease.id, key_of(&u->lease));
    dotnet_call_send(&u->call);
    u->state = UPDATE_READING;
}

/* False: the document is another host's. */
static bool mutate(struct dotnet_update *u)
{
    const char *me = u->call.peer->o.instance;

    if (strcmp(u->lease.owner, u->owner) != 0)
        return false;
    if (u->kind == UPDATE_ACQUIRE)
        dotnet_copy(u->lease.owner, sizeof(u->lease.owner), rn_view_text(me));
    if (u->kind == UPDATE_ACQUIRE || u->kind == UPDATE_PROPERTIES)
        dotnet_copy(u->lease.properties, sizeof(u->lease.properties),
                    rn_view_text(u->properties));
    if (u->kind == UPDATE_CHECKPOINT)
        dotnet_copy(u->lease.continuation, sizeof(u->lease.continuation),
                    rn_view_text(u->continuation));
    if (u->kind == UPDATE_RELEASE)
        u->lease.owner[0] = '\0';
    dotnet_lease_stamp(&u->lease, rn_wall_ms(u->call.peer->env));
    return true;
}

static void write_document(struct dotnet_update *u)
{
    bool is_v2 = dotnet_is_v2(u->call.peer);

    if (u->tries++ == TRIES_MAX || !mutate(u)) {
        u->state = UPDATE_LOST;
        return;
    }
    dotnet_call_lease(&u->call, "PUT", u->lease.id, key_of(&u->lease));
    if (u->lease.etag[0] || is_v2)
        dotnet_call_header(&u->call, RN_HEADER_IF_MATCH, u->lease.etag);
    if (!is_v2)
        dotnet_call_header(&u->call, RN_HEADER_PREFER, "return=minimal");
    dotnet_print(u->call.peer, &u->lease, &u->call.body);
    dotnet_call_send(&u->call);
    u->state = UPDATE_WRITING;
}

static bool is_expired(const struct dotnet_update *u)
{
    const struct dotnet_peer *p = u->call.peer;

    return u->lease.owner[0] && p->state == DOTNET_RUNNING &&
           dotnet_lease_time_ms(&u->lease) + p->o.expire_ms <
               rn_wall_ms(p->env);
}

void dotnet_update_begin(struct dotnet_update *u, enum dotnet_update_kind kind,
                         const struct dotnet_lease *lease,
                         const char *continuation)
{
    u->kind = kind;
    u->lease = *lease;
    u->tries = 0;
    u->is_expired = is_expired(u);
    dotnet_copy(u->owner, sizeof(u->owner), rn_view_text(lease->owner));
    dotnet_copy(u->properties, sizeof(u->properties),
                rn_view_text(lease->properties));
    dotnet_copy(u->continuation, sizeof(u->continuation),
                rn_view_text(continuation));
    if (kind == UPDATE_RENEW || kind == UPDATE_RELEASE)
        read_document(u);
    else
        write_document(u);
}

static void was_read(struct dotnet_update *u, int status)
{
    if (status == 404 && u->kind == UPDATE_RELEASE && u->tries == 0)
        u->state = UPDATE_DONE;
    else if (status == 404)
        u->state = UPDATE_LOST;
    else if (status != 200 ||
             !dotnet_lease_parse(rn_buf_view(&u->call.x.answer), &u->lease))
        u->state = UPDATE_FAILED;
    else
        write_document(u);
}

static void was_written(struct dotnet_update *u, int status)
{
    bool is_v2 = dotnet_is_v2(u->call.peer);

    if (status == 200 && is_v2 &&
        !dotnet_lease_parse(rn_buf_view(&u->call.x.answer), &u->lease))
        u->state = UPDATE_FAILED;
    else if (status == 200)
        u->state = UPDATE_DONE;
    else if (status == 412 && is_v2 && u->kind == UPDATE_ACQUIRE &&
             u->is_expired)
        u->state = UPDATE_LOST;
    else if (status == 412)
        read_document(u);
    else if (status == 404 || status == 409)
        u->state = UPDATE_LOST;
    else
        u->state = UPDATE_FAILED;
}

bool dotnet_update_step(struct dotnet_update *u)
{
    int status;

    if ((u->state != UPDATE_READING && u->state != UPDATE_WRITING) ||
        !dotnet_call_take(&u->call, &status))
        return false;
    if (u->state == UPDATE_READING)
        was_read(u, status);
    else
        was_written(u, status);
    return true;
}

bool dotnet_update_is_over(const struct dotnet_update *u)
{
    return u->state >= UPDATE_DONE;
}

void dotnet_update_cancel(struct dotnet_update *u)
{
    dotnet_call_cancel(&u->call);
    u->state = UPDATE_IDLE;
}
