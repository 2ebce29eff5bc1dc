/* dotnet_lease.c -- see dotnet_lease.h. */
#include "client/dotnet_lease.h"

#include "json/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>

void dotnet_copy(char *to, size_t room, struct rn_view from)
{
    if (from.len >= room)
        abort();
    if (from.len)
        memcpy(to, from.at, from.len);
    to[from.len] = '\0';
}

/* ---- reading ------------------------------------------------------------- */

/* The member of that name in any case; RN_JSON_NONE if there is none. */
static uint32_t member(const struct rn_json *j, uint32_t object,
                       const char *name)
{
    struct rn_json_walk w = rn_json_walk_begin(j, object);

    while (w.is_object && rn_json_walk_next(&w)) {
        struct rn_view text = rn_json_text(j, w.name);

        if (text.len == strlen(name) &&
            strncasecmp(text.at, name, text.len) == 0)
            return w.value;
    }
    return RN_JSON_NONE;
}

static void text_read(const struct rn_json *j, uint32_t object,
                      const char *name, char *out, size_t room)
{
    uint32_t value = member(j, object, name);
    struct rn_view raw = rn_json_text(j, value);

    out[0] = '\0';
    if (rn_json_kind(j, value) != RN_JSON_STRING)
        return;
    if (raw.len >= room)
        abort();
    out[rn_json_unescape(raw, out)] = '\0';
}

static void properties_read(const struct rn_json *j, uint32_t object, char *out)
{
    uint32_t value = member(j, object, "properties");
    struct rn_buf text = RN_BUF_INIT(DOTNET_PROPERTIES_MAX);
    struct rn_json_out o = RN_JSON_OUT_INIT(&text);

    out[0] = '\0';
    if (rn_json_kind(j, value) != RN_JSON_OBJECT)
        return;
    rn_json_out_value(&o, j, value);
    if (rn_json_out_finish(&o))
        abort();
    dotnet_copy(out, DOTNET_PROPERTIES_MAX, rn_buf_view(&text));
    rn_buf_release(&text);
}

static int64_t number_read(const struct rn_json *j, uint32_t object,
                           const char *name)
{
    uint32_t value = member(j, object, name);
    int64_t number = 0;

    if (rn_json_kind(j, value) == RN_JSON_NUMBER)
        (void)rn_json_int64(j, value, &number);
    return number;
}

bool dotnet_lease_read(const struct rn_json *j, uint32_t object,
                       struct dotnet_lease *out)
{
    uint32_t range = member(j, member(j, object, "FeedRange"), "Range");

    *out = (struct dotnet_lease){
        .version = (int)number_read(j, object, "version"),
        .ts = number_read(j, object, "_ts"),
        .has_range = rn_json_kind(j, range) == RN_JSON_OBJECT,
    };
    text_read(j, object, "id", out->id, sizeof(out->id));
    text_read(j, object, "partitionKey", out->partition_key,
              sizeof(out->partition_key));
    text_read(j, object, "_etag", out->etag, sizeof(out->etag));
    text_read(j, object, "LeaseToken", out->token, sizeof(out->token));
    text_read(j, object, "PartitionId", out->partition_id,
              sizeof(out->partition_id));
    text_read(j, range, "min", out->min, sizeof(out->min));
    text_read(j, range, "max", out->max, sizeof(out->max));
    text_read(j, object, "Owner", out->owner, sizeof(out->owner));
    text_read(j, object, "ContinuationToken", out->continuation,
              sizeof(out->continuation));
    text_read(j, object, "timestamp", out->timestamp, sizeof(out->timestamp));
    text_read(j, object, "Mode", out->mode, sizeof(out->mode));
    properties_read(j, object, out->properties);
    if (!out->token[0])
        dotnet_copy(out->token, sizeof(out->token),
                    rn_view_text(out->partition_id));
    return out->token[0] != '\0';
}

bool dotnet_lease_parse(struct rn_view json, struct dotnet_lease *out)
{
    struct rn_json j;
    bool ok;

    rn_json_init(&j, NULL);
    ok = !rn_json_parse(&j, json, NULL) && dotnet_lease_read(&j, 0, out);
    rn_json_release(&j);
    return ok;
}

/* ---- writing ------------------------------------------------------------- */

static void text_print(struct rn_json_out *o, const char *name,
                       const char *text)
{
    rn_json_out_key(o, rn_view_text(name));
    if (text[0])
        rn_json_out_string(o, rn_view_text(text));
    else
        rn_json_out_null(o);
}

static void some_print(struct rn_json_out *o, const char *name,
                       const char *text)
{
    if (text[0])
        text_print(o, name, text);
}

static void properties_print(struct rn_json_out *o,
                             const struct dotnet_lease *lease)
{
    rn_json_out_key(o, RN_LIT("properties"));
    rn_json_out_raw(o, lease->properties[0] ? rn_view_text(lease->properties)
                                            : RN_LIT("{}"));
}

static void ts_print(struct rn_json_out *o, const struct dotnet_lease *lease)
{
    text_print(o, "timestamp", lease->timestamp);
    rn_json_out_key(o, RN_LIT("_ts"));
    rn_json_out_int(o, lease->ts);
}

static void range_print(struct rn_json_out *o, const struct dotnet_lease *lease)
{
    if (!lease->has_range)
        return;
    rn_json_out_key(o, RN_LIT("FeedRange"));
    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("Range"));
    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("min"));
    rn_json_out_string(o, rn_view_text(lease->min));
    rn_json_out_key(o, RN_LIT("max"));
    rn_json_out_string(o, rn_view_text(lease->max));
    rn_json_out_object_end(o);
    rn_json_out_object_end(o);
}

void dotnet_lease_print(const struct dotnet_lease *lease, struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);

    rn_json_out_object_begin(&o);
    text_print(&o, "id", lease->id);
    some_print(&o, "partitionKey", lease->partition_key);
    rn_json_out_key(&o, RN_LIT("version"));
    rn_json_out_int(&o, lease->version);
    text_print(&o, "_etag", lease->etag);
    text_print(&o, "LeaseToken", lease->token);
    some_print(&o, "PartitionId", lease->partition_id);
    range_print(&o, lease);
    text_print(&o, "Owner", lease->owner);
    text_print(&o, "ContinuationToken", lease->continuation);
    properties_print(&o, lease);
    if (lease->version == 1)
        some_print(&o, "Mode", lease->mode);
    ts_print(&o, lease);
    if (lease->version == 0)
        some_print(&o, "Mode", lease->mode);
    rn_json_out_object_end(&o);
    if (rn_json_out_finish(&o))
        abort();
}

void dotnet_lease_print_v2(const struct dotnet_lease *lease, struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);

    rn_json_out_object_begin(&o);
    text_print(&o, "id", lease->id);
    some_print(&o, "partitionKey", lease->partition_key);
    text_print(&o, "_etag", lease->etag);
    text_print(&o, "PartitionId", lease->token);
    text_print(&o, "Owner", lease->owner);
    text_print(&o, "ContinuationToken", lease->continuation);
    properties_print(&o, lease);
    ts_print(&o, lease);
    rn_json_out_object_end(&o);
    if (rn_json_out_finish(&o))
        abort();
}

/* ---- times --------------------------------------------------------------- */

int64_t dotnet_lease_time_ms(const struct dotnet_lease *lease)
{
    const char *point = strchr(lease->timestamp, '.');
    struct tm parts = { 0 };
    int64_t ms = 0;

    if (!lease->timestamp[0])
        return lease->ts * 1000;
    if (!strptime(lease->timestamp, "%Y-%m-%dT%H:%M:%S", &parts))
        abort();
    for (int i = 1, digit = 100; point && digit; i++, digit /= 10) {
        if (point[i] < '0' || point[i] > '9')
            break;
        ms += digit * (point[i] - '0');
    }
    return (int64_t)timegm(&parts) * 1000 + ms;
}

void dotnet_lease_stamp(struct dotnet_lease *lease, int64_t wall_ms)
{
    time_t seconds = (time_t)(wall_ms / 1000);
    int ms = (int)(wall_ms % 1000);
    char text[32];
    struct tm parts;

    gmtime_r(&seconds, &parts);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
    if (ms == 0)
        snprintf(lease->timestamp, sizeof(lease->timestamp), "%sZ", text);
    else
        snprintf(lease->timestamp, sizeof(lease->timestamp), "%s.%03dZ", text,
                 ms);
}
