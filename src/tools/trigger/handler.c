/* handler.c -- what the kinds of handlers share. */
#include "tools/trigger/handler.h"

#include "base/env.h"

#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

void rn_handler_answer_set(struct rn_handler_answer *answer,
                           enum rn_handler_answer_kind kind, const char *fmt,
                           ...)
{
    va_list args;

    answer->kind = kind;
    va_start(args, fmt);
    vsnprintf(answer->why, sizeof(answer->why), fmt, args);
    va_end(args);
}

bool rn_handler_is_cancelled(const struct rn_handler_call *call)
{
    return call->batch && runnel_batch_is_cancelled(call->batch);
}

int rn_handler_slice_ms(const struct rn_handler_call *call)
{
    int64_t left = (call->deadline_ns - rn_mono_ns(rn_env_real())) / 1000000;

    if (left < 0)
        return 0;
    return left < RN_HANDLER_SLICE_MS ? (int)left + 1 : RN_HANDLER_SLICE_MS;
}

struct rn_slots {
    pthread_mutex_t lock;
    uint32_t count;
    bool is_taken[RN_SLOTS_MAX];
};

struct rn_slots *rn_slots_new(uint32_t count)
{
    struct rn_slots *slots = rn_new(sizeof(*slots));

    assert(count <= RN_SLOTS_MAX);
    if (!slots)
        return NULL;
    slots->count = count;
    pthread_mutex_init(&slots->lock, NULL);
    return slots;
}

void rn_slots_free(struct rn_slots *slots)
{
    if (!slots)
        return;
    pthread_mutex_destroy(&slots->lock);
    rn_free(slots);
}

uint32_t rn_slots_take(struct rn_slots *slots)
{
    uint32_t slot = 0;

    pthread_mutex_lock(&slots->lock);
    while (slot < slots->count && slots->is_taken[slot])
        slot++;
    assert(slot < slots->count);
    slots->is_taken[slot] = true;
    pthread_mutex_unlock(&slots->lock);
    return slot;
}

void rn_slots_give(struct rn_slots *slots, uint32_t slot)
{
    pthread_mutex_lock(&slots->lock);
    slots->is_taken[slot] = false;
    pthread_mutex_unlock(&slots->lock);
}
