/* offer.c -- offers: the provisioned throughput of a container or a database.
 *
 * An offer is an object of the account, created and removed with its resource.
 * A container has an offer of its own unless its database has one that its
 * containers share; a database has one only on request.  The ranges of a
 * container follow its offer at creation.
 */
#include "engine/catalog/offer.h"

#include "engine/catalog/catalog_rows.h"
#include "engine/catalog/object_json.h"
#include "engine/engine_state.h"

#include "engine/catalog/object.h"
#include "json/print.h"

#include <errno.h>
#include <stdlib.h>

enum {
    RU_PER_RANGE = 10000,    /* as in the service */
    RU_PER_NEW_RANGE = 6000, /* likewise, if it starts with more than one */
    MANUAL_MIN = 400,
    MANUAL_STEP = 100,
    AUTOSCALE_MIN = 1000,
    AUTOSCALE_STEP = 1000,
    RU_MAX = 100000000,
    NUMBER_MAX = 0xffffff,
};

/* ---- terms --------------------------------------------------------------- */

static enum rn_code check_units(int64_t units, uint32_t least, uint32_t step,
                                uint32_t *out, struct rn_err *err)
{
    if (units < (int64_t)least) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "Requested throughput %lld is less than required "
                       "minimum throughput %u",
                       (long long)units, least);
    }
    if (units > RU_MAX || units % step != 0) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "The offer should have valid throughput values between "
                       "%u and %u inclusive in increments of %u.",
                       least, RU_MAX, step);
    }
    *out = (uint32_t)units;
    return RN_OK;
}

enum rn_code rn_offer_terms_parse_manual(struct rn_view text,
                                         struct rn_offer_terms *out,
                                         struct rn_err *err)
{
    char copy[24], *end = copy;
    long long units;

    if (text.len > 0 && text.len < sizeof(copy)) {
        memcpy(copy, text.at, text.len);
        copy[text.len] = '\0';
        errno = 0;
        units = strtoll(copy, &end, 10);
        if (end == copy + text.len && !errno && copy[0] != '+' &&
            copy[0] != ' ')
            return check_units(units, MANUAL_MIN, MANUAL_STEP, &out->manual,
                               err);
    }
    return rn_fail(err, RN_BAD_REQUEST, "'%.*s' is not a throughput",
                   text.len > 40 ? 40 : (int)text.len, text.at);
}

/* Performance levels, from before throughput was given in RU/s.  The lowest
 * level had less than today's minimum. */
static const struct {
    const char *type;
    uint32_t units;
} levels[] = { { "S1", MANUAL_MIN }, { "S2", 1000 }, { "S3", 2500 } };

enum rn_code rn_offer_terms_parse_type(struct rn_view text,
                                       struct rn_offer_terms *out,
                                       struct rn_err *err)
{
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        if (rn_view_eq(text, rn_view_text(levels[i].type))) {
            out->type = levels[i].type;
            out->manual = levels[i].units;
            return RN_OK;
        }
    }
    return rn_fail(err, RN_BAD_REQUEST, "'%.*s' is not a type of offer",
                   text.len > 40 ? 40 : (int)text.len, text.at);
}

static enum rn_code read_autoscale(const struct rn_json *j, uint32_t settings,
                                   uint32_t least, struct rn_offer_terms *out,
                                   struct rn_err *err)
{
    uint32_t max = rn_json_find(j, settings, RN_LIT("maxThroughput"));
    uint32_t upgrade = rn_json_find(j, settings, RN_LIT("autoUpgradePolicy"));
    int64_t units = 0;

    if (rn_json_kind(j, max) != RN_JSON_NUMBER ||
        !rn_json_int64(j, max, &units)) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "maxThroughput of the autoscale settings is not a "
                       "throughput");
    }
    if (rn_json_kind(j, upgrade) == RN_JSON_OBJECT)
        out->upgrade = rn_json_text(j, upgrade);
    return check_units(units, least, AUTOSCALE_STEP, &out->autoscale, err);
}

enum rn_code rn_offer_terms_parse_autoscale(struct rn_view json,
                                            struct rn_offer_terms *out,
                                            struct rn_err *err)
{
    struct rn_json j;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, json, err);
    if (!rc)
        rc = read_autoscale(&j, 0, AUTOSCALE_MIN, out, err);
    rn_json_release(&j);
    return rc;
}

static uint32_t ranges_of(const struct rn_engine *e,
                          const struct rn_offer_terms *t, bool is_new)
{
    uint32_t units = t->autoscale ? t->autoscale : t->manual;
    uint32_t each = is_new && e->opts.is_strict && units > RU_PER_RANGE
                        ? RU_PER_NEW_RANGE
                        : RU_PER_RANGE;
    uint32_t count = (units + each - 1) / each;

    if (e->opts.ranges_default)
        count = e->opts.ranges_default;
    if (count > RN_RANGES_MAX)
        count = RN_RANGES_MAX;
    return count ? count : 1;
}

uint32_t rn_offer_terms_ranges(const struct rn_engine *e,
                               const struct rn_offer_terms *t)
{
    return ranges_of(e, t, false);
}

uint32_t rn_offer_terms_new_ranges(const struct rn_engine *e,
                                   const struct rn_offer_terms *t)
{
    return ranges_of(e, t, true);
}

enum rn_code rn_offer_terms_check_keyless(const struct rn_offer_terms *t,
                                          struct rn_err *err)
{
    uint32_t units = t->autoscale ? t->autoscale : t->manual;

    if (units <= RU_PER_RANGE)
        return RN_OK;
    return rn_fail(err, RN_BAD_REQUEST,
                   "A container without a partition key can have a throughput "
                   "of at most %d; %u was requested.",
                   RU_PER_RANGE, units);
}

static uint32_t round_up(uint32_t n, uint32_t step)
{
    return (n + step - 1) / step * step;
}

/* A hundredth of the highest ever; for autoscale, which scales down to a tenth
 * of its maximum, a tenth. */
static uint32_t minimum(uint32_t most, bool scales)
{
    uint32_t least = scales ? round_up(most / 10, AUTOSCALE_STEP)
                            : round_up(most / 100, MANUAL_STEP);
    uint32_t floor = scales ? AUTOSCALE_MIN : MANUAL_MIN;

    return least > floor ? least : floor;
}

uint32_t rn_offer_minimum(const struct rn_object *offer)
{
    return minimum(offer->number, offer->autoscale);
}

/* ---- bodies -------------------------------------------------------------- */

static void print_content(struct rn_json_out *o, const struct rn_object *like,
                          struct rn_view upgrade)
{
    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("offerThroughput"));
    rn_json_out_uint(o,
                     like->autoscale ? like->autoscale / 10 : like->throughput);
    rn_json_out_key(o, RN_LIT("offerIsRUPerMinuteThroughputEnabled"));
    rn_json_out_bool(o, false);
    if (like->autoscale) {
        rn_json_out_key(o, RN_LIT("offerAutopilotSettings"));
        rn_json_out_object_begin(o);
        rn_json_out_key(o, RN_LIT("maxThroughput"));
        rn_json_out_uint(o, like->autoscale);
        rn_json_out_key(o, RN_LIT("maximumTierThroughput"));
        rn_json_out_uint(o, like->autoscale);
        if (upgrade.at) {
            rn_json_out_key(o, RN_LIT("autoUpgradePolicy"));
            rn_json_out_raw(o, upgrade);
        }
        rn_json_out_object_end(o);
    }
    rn_json_out_key(o, RN_LIT("offerMinimumThroughputParameters"));
    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("maxThroughputEverProvisioned"));
    rn_json_out_uint(o, like->number);
    rn_json_out_key(o, RN_LIT("maxConsumedStorageEverInKB"));
    rn_json_out_uint(o, 0);
    rn_json_out_object_end(o);
    rn_json_out_object_end(o);
}

/* `of` is the rid of its resource; without the closing brace. */
static enum rn_code print(const struct rn_object *like, struct rn_rid of,
                          const struct rn_offer_terms *terms,
                          struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    char rid[RN_RID_TEXT_MAX], self[RN_RID_SELF_MAX];
    enum rn_code rc;

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("resource"));
    rn_json_out_string(&o, rn_rid_print_self(of, self));
    rn_json_out_key(&o, RN_LIT("offerType"));
    rn_json_out_string(&o, rn_view_text(terms->type ? terms->type : "Invalid"));
    rn_json_out_key(&o, RN_LIT("offerResourceId"));
    rn_json_out_string(&o, rn_rid_print(of, rid));
    rn_json_out_key(&o, RN_LIT("offerVersion"));
    rn_json_out_string(&o, RN_LIT("V2"));
    rn_json_out_key(&o, RN_LIT("content"));
    print_content(&o, like, terms->upgrade);
    rn_json_out_key(&o, RN_LIT("id"));
    rn_json_out_string(&o, rn_rid_print(like->rid, rid));
    rn_json_out_object_end(&o);
    rc = rn_json_out_finish(&o);
    if (!rc)
        out->len--;
    return rc;
}

/* ---- changes ------------------------------------------------------------- */

/* The next number that no offer has: there are only 16 million. */
static enum rn_code draw(struct rn_txn *txn, struct rn_counters *n,
                         struct rn_rid *out)
{
    for (uint32_t tries = 0; tries < NUMBER_MAX; tries++) {
        struct rn_view bytes;
        struct rn_key key;
        enum rn_code rc;

        n->offer = n->offer < NUMBER_MAX ? n->offer + 1 : 1;
        *out = rn_rid_offer(n->offer);
        rn_key_object(RN_KIND_OFFER, *out, &key);
        rc = rn_txn_get(txn, rn_key_view(&key), &bytes);
        if (rc)
            return rc == RN_NOT_FOUND ? RN_OK : rc;
    }
    return RN_FULL;
}

/* Does the new resource get an offer of its own, and with which terms? */
static enum rn_code choose(const struct rn_catalog_change *c,
                           struct rn_txn *txn, struct rn_offer_terms *terms,
                           bool *wanted)
{
    char name[RN_RID_TEXT_MAX];
    struct rn_rid shared;
    enum rn_code rc;

    *terms = c->terms;
    *wanted = terms->manual || terms->autoscale;
    if (*wanted || c->kind != RN_KIND_CONTAINER)
        return RN_OK;
    rc = rn_name_get(txn, RN_KIND_OFFER, (struct rn_rid){ 0 },
                     rn_rid_print(c->owner, name), &shared);
    if (rc != RN_NOT_FOUND)
        return rc;
    terms->manual = MANUAL_MIN;
    *wanted = true;
    return RN_OK;
}

enum rn_code rn_offer_create(struct rn_catalog_change *c, struct rn_txn *txn,
                             struct rn_counters *n, struct rn_err *err)
{
    struct rn_buf text = RN_BUF_INIT(64 << 10);
    struct rn_object like = { .kind = RN_KIND_OFFER, .ts = c->object->ts };
    char name[RN_RID_TEXT_MAX];
    struct rn_offer_terms terms;
    bool wanted = false;
    enum rn_code rc = choose(c, txn, &terms, &wanted);

    if (rc || !wanted)
        return rc;
    like.throughput = terms.manual;
    like.autoscale = terms.autoscale;
    like.number = terms.autoscale ? terms.autoscale : terms.manual;
    like.etag.lsn = ++n->etag;
    rc = draw(txn, n, &like.rid);
    if (!rc)
        rc = print(&like, c->object->rid, &terms, &text);
    if (!rc)
        rc = rn_object_json_finish(&like, rn_rid_print(c->object->rid, name),
                                   rn_buf_view(&text), &c->offer);
    if (!rc)
        rc = rn_object_put(txn, c->offer, err);
    rn_buf_release(&text);
    return rc;
}

/* Current offers have a type too, "Invalid" or empty. */
static bool is_level(const struct rn_json *j, uint32_t type)
{
    return rn_json_kind(j, type) == RN_JSON_STRING &&
           !rn_json_string_is(j, type, RN_LIT("Invalid")) &&
           !rn_json_string_is(j, type, RN_LIT(""));
}

/* The terms that the client requests, given the current offer. */
static enum rn_code read_wish(const struct rn_json *j,
                              const struct rn_catalog_change *c,
                              const struct rn_object *old,
                              struct rn_offer_terms *out, struct rn_err *err)
{
    uint32_t content = rn_json_find(j, 0, RN_LIT("content"));
    uint32_t units = rn_json_find(j, content, RN_LIT("offerThroughput"));
    uint32_t settings =
        rn_json_find(j, content, RN_LIT("offerAutopilotSettings"));
    uint32_t type = rn_json_find(j, 0, RN_LIT("offerType"));
    bool scales = rn_json_kind(j, settings) == RN_JSON_OBJECT;
    bool to_autoscale = c->move == RN_OFFER_TO_AUTOSCALE && !old->autoscale;
    uint32_t least = minimum(old->number, true);
    int64_t n = 0;

    if (c->move == RN_OFFER_TO_MANUAL && old->autoscale) {
        out->manual = old->autoscale;
        return RN_OK;
    }
    if (to_autoscale && !scales) {
        out->autoscale = round_up(old->throughput, AUTOSCALE_STEP);
        if (out->autoscale < least)
            out->autoscale = least;
        return RN_OK;
    }
    if (to_autoscale || (old->autoscale && scales))
        return read_autoscale(j, settings, least, out, err);
    if (old->autoscale || scales) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "An offer changes between manual and autoscale "
                       "throughput by the headers "
                       "x-ms-cosmos-migrate-offer-to-autopilot and "
                       "x-ms-cosmos-migrate-offer-to-manual-throughput.");
    }
    if (is_level(j, type)) {
        enum rn_code rc =
            rn_offer_terms_parse_type(rn_json_text(j, type), out, err);
        if (rc || rn_json_kind(j, units) == RN_JSON_UNDEFINED)
            return rc;
    }
    if (rn_json_kind(j, units) != RN_JSON_NUMBER ||
        !rn_json_int64(j, units, &n)) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "The input content is invalid because the required "
                       "properties - 'offerThroughput; ' - are missing");
    }
    return check_units(n, rn_offer_minimum(old), MANUAL_STEP, &out->manual,
                       err);
}

/* A container without a partition key that has several ranges was created
 * before they were limited to one. */
static enum rn_code check_keyless(struct rn_engine *e, struct rn_rid of,
                                  const struct rn_offer_terms *t,
                                  struct rn_err *err)
{
    struct rn_object *o = rn_catalog_find_rid(e, of);
    enum rn_code rc = RN_OK;

    if (o && o->kind == RN_KIND_CONTAINER && o->container->pkdef.is_system &&
        o->container->range_count == 1)
        rc = rn_offer_terms_check_keyless(t, err);
    rn_object_release(o);
    return rc;
}

enum rn_code rn_offer_replace(const struct rn_catalog_change *c,
                              const struct rn_object *old,
                              struct rn_object *like, struct rn_buf *text,
                              struct rn_err *err)
{
    struct rn_offer_terms terms = { 0 };
    char rid[RN_RID_TEXT_MAX];
    struct rn_rid of;
    struct rn_json j;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, c->body, err);
    for (size_t i = 0; !rc && i < 2; i++) {
        uint32_t id = rn_json_find(&j, 0, rn_view_text(i ? "_rid" : "id"));
        if (rn_json_kind(&j, id) != RN_JSON_UNDEFINED &&
            !rn_json_string_is(&j, id, rn_rid_print(old->rid, rid)))
            rc = rn_fail(err, RN_BAD_REQUEST,
                         "The id of an offer cannot be replaced");
    }
    if (!rc && !rn_rid_parse(old->id, &of))
        rc = RN_CORRUPT;
    if (!rc)
        rc = read_wish(&j, c, old, &terms, err);
    if (!rc)
        rc = check_keyless(c->engine, of, &terms, err);
    if (!rc) {
        uint32_t most = terms.autoscale ? terms.autoscale : terms.manual;
        like->throughput = terms.manual;
        like->autoscale = terms.autoscale;
        like->number = most > old->number ? most : old->number;
        rc = print(like, of, &terms, text);
    }
    rn_json_release(&j);
    return rc;
}
