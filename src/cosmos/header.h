/* header.h -- the names of all HTTP headers that are read or sent.
 *
 * Names are lower case, as they are sent; the reader of a message compares
 * case-insensitively.  Headers without effect are not listed: unknown ones are
 * ignored.  rn_header_is_true reads boolean values.
 */
#ifndef RN_COSMOS_HEADER_H
#define RN_COSMOS_HEADER_H

#include "base/mem.h"

/* clang-format off */

/* ---- HTTP's own ---------------------------------------------------------- */
#define RN_HEADER_A_IM                 "a-im"
#define RN_HEADER_ACCEPT               "accept"
#define RN_HEADER_AUTHORIZATION        "authorization"
#define RN_HEADER_CONNECTION           "connection"
#define RN_HEADER_CONTENT_LENGTH       "content-length"
#define RN_HEADER_CONTENT_LOCATION     "content-location"
#define RN_HEADER_CONTENT_TYPE         "content-type"
#define RN_HEADER_DATE                 "date"
#define RN_HEADER_ETAG                 "etag"
#define RN_HEADER_HOST                 "host"
#define RN_HEADER_IF_MATCH             "if-match"
#define RN_HEADER_IF_MODIFIED_SINCE    "if-modified-since"
#define RN_HEADER_IF_NONE_MATCH        "if-none-match"
#define RN_HEADER_PREFER               "prefer"
#define RN_HEADER_PREFERENCE_APPLIED   "preference-applied"
#define RN_HEADER_SERVER               "server"
#define RN_HEADER_USER_AGENT           "user-agent"

/* ---- every request ------------------------------------------------------- */
#define RN_HEADER_CONSISTENCY          "x-ms-consistency-level"
#define RN_HEADER_READ_STRATEGY        "x-ms-cosmos-read-consistency-strategy"
#define RN_HEADER_CONTAINER_RID        "x-ms-cosmos-intended-collection-rid"
#define RN_HEADER_X_DATE               "x-ms-date"
#define RN_HEADER_VERSION              "x-ms-version"

/* ---- what a request is about --------------------------------------------- */
#define RN_HEADER_PARTITION_KEY        "x-ms-documentdb-partitionkey"
#define RN_HEADER_RANGE_ID             "x-ms-documentdb-partitionkeyrangeid"
#define RN_HEADER_START_EPK            "x-ms-start-epk"
#define RN_HEADER_END_EPK              "x-ms-end-epk"
#define RN_HEADER_READ_KEY_TYPE        "x-ms-read-key-type"

/* ---- pages --------------------------------------------------------------- */
#define RN_HEADER_CONTINUATION         "x-ms-continuation"
#define RN_HEADER_CONTINUATION_KB      "x-ms-documentdb-responsecontinuationtokenlimitinkb"
#define RN_HEADER_ITEM_COUNT           "x-ms-item-count"
#define RN_HEADER_MAX_ITEM_COUNT       "x-ms-max-item-count"
#define RN_HEADER_WIRE_FORMAT          "x-ms-cosmos-changefeed-wire-format-version"

/* ---- writes -------------------------------------------------------------- */
#define RN_HEADER_BATCH                "x-ms-cosmos-is-batch-request"
#define RN_HEADER_BATCH_ATOMIC         "x-ms-cosmos-batch-atomic"
#define RN_HEADER_BATCH_CONTINUE       "x-ms-cosmos-batch-continue-on-error"
#define RN_HEADER_BATCH_ORDERED        "x-ms-cosmos-batch-ordered"
#define RN_HEADER_INDEXING_DIRECTIVE   "x-ms-indexing-directive"
#define RN_HEADER_FORMAT               "x-ms-documentdb-content-serialization-format"
#define RN_HEADER_EXCLUDE_SYSTEM       "x-ms-exclude-system-properties"
#define RN_HEADER_IS_UPSERT            "x-ms-documentdb-is-upsert"
#define RN_HEADER_PRE_TRIGGERS         "x-ms-documentdb-pre-trigger-include"
#define RN_HEADER_POST_TRIGGERS        "x-ms-documentdb-post-trigger-include"
#define RN_HEADER_SCRIPT_LOGGING       "x-ms-documentdb-script-enable-logging"
#define RN_HEADER_SCRIPT_LOG           "x-ms-documentdb-script-log-results"
#define RN_HEADER_TOKEN_SECONDS        "x-ms-documentdb-expiry-seconds"

/* ---- queries ------------------------------------------------------------- */
#define RN_HEADER_IS_QUERY             "x-ms-documentdb-isquery"
#define RN_HEADER_QUERY                "x-ms-documentdb-query" /* Go, old clients */
#define RN_HEADER_IS_QUERY_PLAN        "x-ms-cosmos-is-query-plan-request"
#define RN_HEADER_CROSS_PARTITION      "x-ms-documentdb-query-enablecrosspartition"
#define RN_HEADER_QUERY_FEATURES       "x-ms-cosmos-supported-query-features"
#define RN_HEADER_QUERY_VERSION        "x-ms-cosmos-query-version"
#define RN_HEADER_ENABLE_SCAN          "x-ms-documentdb-query-enable-scan"
#define RN_HEADER_WANT_QUERY_METRICS   "x-ms-documentdb-populatequerymetrics"
#define RN_HEADER_QUERY_METRICS        "x-ms-documentdb-query-metrics"
#define RN_HEADER_QUERY_EXECUTION      "x-ms-cosmos-query-execution-info"
#define RN_HEADER_WANT_INDEX_METRICS   "x-ms-cosmos-populateindexmetrics"
#define RN_HEADER_WANT_INDEX_METRICS_2 "x-ms-cosmos-populateindexmetrics-v2"
#define RN_HEADER_INDEX_METRICS        "x-ms-cosmos-index-utilization"

/* ---- containers and throughput ------------------------------------------- */
#define RN_HEADER_WANT_QUOTA           "x-ms-documentdb-populatequotainfo"
#define RN_HEADER_WANT_STATISTICS      "x-ms-documentdb-populatepartitionstatistics"
#define RN_HEADER_QUOTA                "x-ms-resource-quota"
#define RN_HEADER_USAGE                "x-ms-resource-usage"
#define RN_HEADER_SHARED               "x-ms-share-throughput"
#define RN_HEADER_INDEX_PROGRESS       "x-ms-documentdb-collection-index-transformation-progress"
#define RN_HEADER_THROUGHPUT           "x-ms-offer-throughput"
#define RN_HEADER_AUTOSCALE            "x-ms-cosmos-offer-autopilot-settings"
#define RN_HEADER_OFFER_TYPE           "x-ms-offer-type"
#define RN_HEADER_OFFER_PENDING        "x-ms-offer-replace-pending"
#define RN_HEADER_MIN_THROUGHPUT       "x-ms-cosmos-min-throughput"
#define RN_HEADER_TO_AUTOSCALE         "x-ms-cosmos-migrate-offer-to-autopilot"
#define RN_HEADER_TO_MANUAL            "x-ms-cosmos-migrate-offer-to-manual-throughput"

/* ---- every answer -------------------------------------------------------- */
#define RN_HEADER_ACTIVITY_ID          "x-ms-activity-id"
#define RN_HEADER_CHARGE               "x-ms-request-charge"
#define RN_HEADER_DURATION_MS          "x-ms-request-duration-ms"
#define RN_HEADER_GATEWAY_VERSION      "x-ms-gatewayversion"
#define RN_HEADER_SERVICE_VERSION      "x-ms-serviceversion"
#define RN_HEADER_SCHEMA_VERSION       "x-ms-schemaversion"
#define RN_HEADER_SESSION_TOKEN        "x-ms-session-token"
#define RN_HEADER_CONTENT_PATH         "x-ms-content-path"
#define RN_HEADER_ALT_CONTENT_PATH     "x-ms-alt-content-path"
#define RN_HEADER_LSN                  "lsn"
#define RN_HEADER_ITEM_LSN             "x-ms-item-lsn"
#define RN_HEADER_LOCAL_LSN            "x-ms-cosmos-llsn"
#define RN_HEADER_ITEM_LOCAL_LSN       "x-ms-cosmos-item-llsn"
#define RN_HEADER_COMMITTED_LSN        "x-ms-global-committed-lsn"
#define RN_HEADER_ACKED_LSN            "x-ms-quorum-acked-lsn"
#define RN_HEADER_ACKED_LOCAL_LSN      "x-ms-cosmos-quorum-acked-llsn"
#define RN_HEADER_READ_REGIONS         "x-ms-number-of-read-regions"

/* ---- the account --------------------------------------------------------- */
#define RN_HEADER_MEDIA_MAX_MB         "x-ms-max-media-storage-usage-mb"
#define RN_HEADER_MEDIA_MB             "x-ms-media-storage-usage-mb"
#define RN_HEADER_CONSUMED_MB          "x-ms-databaseaccount-consumed-mb"
#define RN_HEADER_RESERVED_MB          "x-ms-databaseaccount-reserved-mb"
#define RN_HEADER_PROVISIONED_MB       "x-ms-databaseaccount-provisioned-mb"

/* ---- failures ------------------------------------------------------------ */
#define RN_HEADER_RETRY_AFTER_MS       "x-ms-retry-after-ms"
#define RN_HEADER_SUB_STATUS           "x-ms-substatus"

/* clang-format on */

/* "true" in any case: Python and Go send True.  Any other value is false. */
static inline bool rn_header_is_true(struct rn_view value)
{
    static const char yes[] = "true";

    if (value.len != sizeof(yes) - 1)
        return false;
    for (size_t i = 0; i < value.len; i++) {
        if ((value.at[i] | 0x20) != yes[i])
            return false;
    }
    return true;
}

#endif
