/* account.c -- GET /: the account document, which every client reads first. */
#include "rest/account.h"

#include "rest/context.h"
#include "rest/reply.h"

#include "json/print.h"

#include <strings.h>

static const char localhost[] = "localhost";

/* The emulator's account document names 127.0.0.1 to a client that connected to
 * localhost, and tests of the SDKs rely on that.  The server does the same, if
 * that address reaches it and its certificate is valid for it. */
static bool is_emulated(const struct rn_context *x, struct rn_view host)
{
    const struct rn_rest_opts *o = &x->rest->opts;
    size_t len = sizeof(localhost) - 1;

    return o->has_127 && o->loopback_only && host.len >= len &&
           strncasecmp(host.at, localhost, len) == 0 &&
           (host.len == len || host.at[len] == ':') &&
           (!x->call->is_tls ||
            (o->tls_has_127 && atomic_load(o->tls_has_127)));
}

static size_t put(char out[RN_ENDPOINT_MAX], size_t at, struct rn_view text)
{
    size_t room = RN_ENDPOINT_MAX - at;
    size_t len = text.len < room ? text.len : room;

    memcpy(out + at, text.at, len);
    return at + len;
}

/* Clients send all other requests to the endpoint in this document, so it is
 * the one that they connected to, unless --advertise overrides it. */
size_t rn_endpoint_print(const struct rn_context *x, char out[RN_ENDPOINT_MAX])
{
    struct rn_view host = x->call->req->host;
    size_t len = 0;

    if (x->rest->opts.advertise)
        return put(out, 0, rn_view_text(x->rest->opts.advertise));
    if (host.len == 0 && x->call->own)
        host = rn_view_text(x->call->own);
    len =
        put(out, len, x->call->is_tls ? RN_LIT("https://") : RN_LIT("http://"));
    if (is_emulated(x, host)) {
        size_t name = sizeof(localhost) - 1;
        len = put(out, len, RN_LIT("127.0.0.1"));
        host = rn_view_of(host.at + name, host.len - name);
    }
    len = put(out, len, host);
    return put(out, len, RN_LIT("/"));
}

/* The region has the emulator's name where clients take the server for one, so
 * that a client that prefers this region finds it. */
static void print_locations(struct rn_json_out *o, const struct rn_context *x,
                            const char *name, struct rn_view endpoint)
{
    rn_json_out_key(o, rn_view_text(name));
    rn_json_out_array_begin(o);
    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("name"));
    rn_json_out_string(o, x->rest->opts.loopback_only
                              ? RN_LIT("South Central US")
                              : RN_LIT("Runnel"));
    rn_json_out_key(o, RN_LIT("databaseAccountEndpoint"));
    rn_json_out_string(o, endpoint);
    rn_json_out_object_end(o);
    rn_json_out_array_end(o);
}

static void print_raw(struct rn_json_out *o, const char *name, const char *json)
{
    rn_json_out_key(o, rn_view_text(name));
    rn_json_out_raw(o, rn_view_text(json));
}

/* A string that contains JSON: the Java client parses it. */
static const char engine_configuration[] =
    "{\"maxSqlQueryInputLength\":262144,\"maxJoinsPerSqlQuery\":10,"
    "\"maxLogicalAndPerSqlQuery\":500,\"maxLogicalOrPerSqlQuery\":500,"
    "\"maxUdfRefPerSqlQuery\":10,\"maxInExpressionItemsCount\":16000,"
    "\"queryMaxInMemorySortDocumentCount\":500,"
    "\"maxQueryRequestTimeoutFraction\":0.9,"
    "\"sqlAllowNonFiniteNumbers\":false,\"sqlAllowAggregateFunctions\":true,"
    "\"sqlAllowSubQuery\":true,\"sqlAllowScalarSubQuery\":true,"
    "\"allowNewKeywords\":true,\"sqlAllowLike\":true,"
    "\"sqlAllowGroupByClause\":true,\"maxSpatialQueryCells\":12,"
    "\"spatialMaxGeometryPointCount\":256,\"sqlDisableOptimizationFlags\":0,"
    "\"sqlAllowTop\":true,\"enableSpatialIndexing\":true}";

/* Prints the service's defaults for bounded staleness, for the levels that have
 * a bound; reads here are never stale. */
static void print_consistency(struct rn_json_out *o, enum rn_consistency level)
{
    rn_json_out_key(o, RN_LIT("userConsistencyPolicy"));
    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("defaultConsistencyLevel"));
    rn_json_out_string(o, rn_view_text(rn_consistency_name(level)));
    if (level == RN_CONSISTENCY_BOUNDED) {
        print_raw(o, "maxStalenessPrefix", "100");
        print_raw(o, "maxIntervalInSeconds", "5");
    }
    rn_json_out_object_end(o);
}

enum rn_rest_step rn_rest_account_read(struct rn_context *x)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&x->call->body);
    char text[RN_ENDPOINT_MAX];
    struct rn_view endpoint = rn_view_of(text, rn_endpoint_print(x, text));

    rn_json_out_object_begin(&o);
    print_raw(&o, "_self", "\"\"");
    /* Not the emulator's "localhost": with that the JavaScript client reads the
     * account twice before each operation. */
    print_raw(&o, "id", "\"runnel\"");
    print_raw(&o, "_rid", "\"runnel\"");
    print_raw(&o, "media", "\"//media/\"");
    print_raw(&o, "addresses", "\"//addresses/\"");
    print_raw(&o, "_dbs", "\"//dbs/\"");
    print_locations(&o, x, "writableLocations", endpoint);
    print_locations(&o, x, "readableLocations", endpoint);
    print_raw(&o, "enableMultipleWriteLocations", "false");
    print_raw(&o, "continuousBackupEnabled", "false");
    print_raw(&o, "enableNRegionSynchronousCommit", "false");
    print_raw(&o, "enablePerPartitionFailoverBehavior", "false");
    print_raw(&o, "userReplicationPolicy",
              "{\"asyncReplication\":false,\"minReplicaSetSize\":1,"
              "\"maxReplicasetSize\":4}");
    print_consistency(&o, x->rest->consistency);
    print_raw(&o, "systemReplicationPolicy",
              "{\"minReplicaSetSize\":1,\"maxReplicasetSize\":4,"
              "\"asyncReplication\":false}");
    print_raw(&o, "readPolicy",
              "{\"primaryReadCoefficient\":1,\"secondaryReadCoefficient\":1}");
    rn_json_out_key(&o, RN_LIT("queryEngineConfiguration"));
    rn_json_out_string(&o, RN_LIT(engine_configuration));
    rn_json_out_object_end(&o);
    if (rn_json_out_finish(&o))
        return rn_reply_fail(x, RN_NOMEM);
    rn_reply_text(x, RN_HEADER_MEDIA_MAX_MB, "10240");
    rn_reply_text(x, RN_HEADER_MEDIA_MB, "0");
    rn_reply_charge(x, RN_CHARGE_METADATA);
    return rn_reply_json(x, RN_STATUS_OK);
}
