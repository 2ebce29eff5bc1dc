/* ack.c -- reads the acknowledgement of a batch. */
#include "tools/trigger/ack.h"

#include "json/json.h"

#include <stdio.h>

static bool is_bool(const struct rn_json *j, uint32_t value)
{
    enum rn_json_kind kind = rn_json_kind(j, value);

    return kind == RN_JSON_TRUE || kind == RN_JSON_FALSE;
}

static bool has_id(const struct rn_json *j, uint32_t ids, runnel_bytes id)
{
    struct rn_json_walk w = rn_json_walk_begin(j, ids);

    while (rn_json_walk_next(&w)) {
        if (rn_json_string_is(j, w.value, rn_view_of(id.at, id.len)))
            return true;
    }
    return false;
}

/* Marks the changes with these ids; how many there were. */
static size_t mark(const struct rn_json *j, uint32_t ids,
                   const runnel_batch *batch, runnel_verdict verdict)
{
    size_t count = 0;

    for (size_t i = 0; i < runnel_batch_count(batch); i++) {
        if (has_id(j, ids, runnel_batch_at(batch, i)->id)) {
            runnel_batch_mark(batch, i, verdict);
            count++;
        }
    }
    return count;
}

static bool is_of_batch(const struct rn_json *j, uint64_t number)
{
    uint32_t value = rn_json_find(j, 0, RN_LIT("batch"));
    int64_t said;

    if (value == RN_JSON_NONE)
        return true;
    return rn_json_kind(j, value) == RN_JSON_NUMBER &&
           rn_json_int64(j, value, &said) && (uint64_t)said == number;
}

static bool judge(const struct rn_json *j, const struct rn_handler_call *call,
                  struct rn_handler_answer *answer)
{
    uint32_t ok = rn_json_find(j, 0, RN_LIT("ok"));
    uint32_t fail = rn_json_find(j, 0, RN_LIT("fail"));
    uint32_t retry = rn_json_find(j, 0, RN_LIT("retry"));
    struct rn_view why = rn_json_text(j, rn_json_find(j, 0, RN_LIT("why")));
    bool is_poison = rn_json_kind(j, retry) == RN_JSON_FALSE;

    if (retry != RN_JSON_NONE && !is_bool(j, retry))
        return false;
    if (!why.len)
        why = RN_LIT("the handler refused the changes");
    snprintf(answer->why, sizeof(answer->why), "%.*s", RN_FMT(why));
    if (ok != RN_JSON_NONE) {
        if (!is_bool(j, ok) || fail != RN_JSON_NONE)
            return false;
        answer->kind = rn_json_kind(j, ok) == RN_JSON_TRUE ? RN_ANSWER_DONE
                       : is_poison                         ? RN_ANSWER_POISON
                                                           : RN_ANSWER_RETRY;
        return true;
    }
    answer->kind = RN_ANSWER_DONE; /* but for those that are marked */
    return rn_json_kind(j, fail) == RN_JSON_ARRAY && call->batch &&
           rn_json_count(j, fail) > 0 &&
           mark(j, fail, call->batch,
                is_poison ? RUNNEL_REJECT : RUNNEL_AGAIN) > 0;
}

bool rn_ack_parse(struct rn_view line, uint64_t number,
                  const struct rn_handler_call *call,
                  struct rn_handler_answer *answer)
{
    struct rn_json j;
    bool is_ack;

    rn_json_init(&j, NULL);
    is_ack = !rn_json_parse(&j, line, NULL) &&
             rn_json_kind(&j, 0) == RN_JSON_OBJECT && is_of_batch(&j, number) &&
             judge(&j, call, answer);
    rn_json_release(&j);
    return is_ack;
}
