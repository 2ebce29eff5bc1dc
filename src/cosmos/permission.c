/* permission.c -- see permission.h. */
#include "cosmos/permission.h"

#include "base/base64.h"
#include "base/bytes.h"
#include "json/json.h"

#include <strings.h>

enum {
    GRANT_VERSION = 1,
    SEGMENTS_MAX = 2 * RN_KIND_DEPTH,
    PK_TEXT_MAX = 64 << 10, /* fully escaped, with blanks */
};

/* ---- permissions --------------------------------------------------------- */

static enum rn_code read_mode(const struct rn_json *j, struct rn_arena *arena,
                              struct rn_permission *p, struct rn_err *err)
{
    static const char *const modes[] = { "none", "read", "all" };
    uint32_t value = rn_json_find(j, 0, RN_LIT("permissionMode"));
    struct rn_view text = { 0 };
    enum rn_code rc = RN_OK;

    if (rn_json_kind(j, value) == RN_JSON_STRING)
        rc = rn_json_string_get(j, value, arena, &text);
    if (rc && rc != RN_TOO_LARGE) /* too long for a mode */
        return rc;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (text.len == strlen(modes[i]) &&
            strncasecmp(text.at, modes[i], text.len) == 0) {
            p->mode = (enum rn_permission_mode)i;
            return RN_OK;
        }
    }
    return rn_fail(err, RN_BAD_REQUEST,
                   "The input content is invalid: permissionMode must be All "
                   "or Read");
}

/* The segments of a link, without empty ones; SIZE_MAX if there are more than
 * any link has. */
static size_t split(struct rn_view link, struct rn_view out[SEGMENTS_MAX])
{
    size_t count = 0, from = 0;

    for (size_t i = 0; i <= link.len; i++) {
        if (i < link.len && link.at[i] != '/')
            continue;
        if (i > from && count == SEGMENTS_MAX)
            return SIZE_MAX;
        if (i > from)
            out[count++] = rn_view_of(link.at + from, i - from);
        from = i + 1;
    }
    return count;
}

static enum rn_code read_resource(const struct rn_json *j,
                                  struct rn_arena *arena,
                                  struct rn_permission *p, struct rn_err *err)
{
    uint32_t value = rn_json_find(j, 0, RN_LIT("resource"));
    struct rn_view text, segments[SEGMENTS_MAX];
    size_t count = SIZE_MAX;
    enum rn_code rc;

    if (rn_json_kind(j, value) != RN_JSON_STRING) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "The input content is invalid because the required "
                       "properties - 'resource; ' - are missing");
    }
    text = rn_json_text(j, value);
    rc = rn_json_string_copy(j, value, arena, &text);
    if (rc && rc != RN_TOO_LARGE)
        return rc;
    if (!rc)
        count = split(text, segments);
    if (count == SIZE_MAX || rn_link_parse(segments, count, &p->resource, NULL))
        count = 0;
    if (count == 0 || p->resource.is_list || p->resource.is_key_delete ||
        p->resource.is_attachments ||
        (p->resource.kind != RN_KIND_CONTAINER &&
         rn_kind_owner(p->resource.kind) != RN_KIND_CONTAINER)) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "The resource of a permission must be a container or "
                       "lie in one: '%.*s'",
                       text.len > 120 ? 120 : (int)text.len, text.at);
    }
    return RN_OK;
}

static enum rn_code read_pk(const struct rn_json *j, struct rn_arena *arena,
                            struct rn_permission *p, struct rn_err *err)
{
    uint32_t value = rn_json_find(j, 0, RN_LIT("resourcePartitionKey"));
    struct rn_view text;

    if (rn_json_kind(j, value) == RN_JSON_UNDEFINED ||
        rn_json_kind(j, value) == RN_JSON_NULL)
        return RN_OK;
    if (rn_json_kind(j, value) != RN_JSON_ARRAY || rn_json_count(j, value) == 0)
        return rn_fail(err, RN_BAD_REQUEST,
                       "resourcePartitionKey must be an array of key values");
    text = rn_json_text(j, value);
    if (text.len > PK_TEXT_MAX)
        return rn_fail(err, RN_BAD_REQUEST,
                       "resourcePartitionKey is longer than any key");
    text = rn_arena_copy(arena, text);
    if (!text.at)
        return RN_NOMEM;
    p->has_pk = true;
    return rn_pk_parse(text, arena, &p->pk, err);
}

enum rn_code rn_permission_parse(struct rn_view json, struct rn_arena *arena,
                                 struct rn_permission *out, struct rn_err *err)
{
    struct rn_json j;
    enum rn_code rc;

    *out = (struct rn_permission){ .mode = RN_PERMISSION_NONE };
    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, json, err);
    if (!rc)
        rc = read_mode(&j, arena, out, err);
    if (!rc)
        rc = read_resource(&j, arena, out, err);
    if (!rc)
        rc = read_pk(&j, arena, out, err);
    rn_json_release(&j);
    return rc;
}

enum rn_code rn_permission_print_claim(const struct rn_permission *p,
                                       struct rn_buf *out)
{
    enum rn_code rc = rn_link_print(&p->resource, RN_LINK_BY_NAME,
                                    (struct rn_view){ 0 }, out);

    if (!rc && p->has_pk)
        rc = rn_pk_print(&p->pk, out);
    return rc;
}

/* ---- tokens -------------------------------------------------------------- */

/* Domain separation: no signed request starts with this, since it is not a
 * verb. */
static const char purpose[] = "resource token\n";

enum { PURPOSE = sizeof(purpose) - 1, SIGNED = PURPOSE + RN_GRANT_BYTES };

static void encode(const struct rn_grant *g, char out[SIGNED])
{
    unsigned char rid[RN_RID_BYTES_MAX] = { 0 };
    char *at = out + PURPOSE;

    memcpy(out, purpose, PURPOSE);
    at[0] = GRANT_VERSION;
    rn_rid_encode(g->permission, rid);
    memcpy(at + 1, rid, 16);
    rn_put_u64_be(at + 17, g->lsn);
    memset(rid, 0, sizeof(rid));
    if (g->container.kind == RN_KIND_CONTAINER)
        rn_rid_encode(g->container, rid);
    memcpy(at + 25, rid, 8);
    rn_put_u64_be(at + 33, (uint64_t)g->until);
}

static bool decode(const char *at, struct rn_grant *out)
{
    if (at[0] != GRANT_VERSION ||
        !rn_rid_decode(rn_view_of(at + 1, 16), &out->permission) ||
        out->permission.kind != RN_KIND_PERMISSION)
        return false;
    out->lsn = rn_get_u64_be(at + 17);
    if (!rn_rid_decode(rn_view_of(at + 25, 8), &out->container))
        out->container = (struct rn_rid){ .kind = RN_KIND_ACCOUNT };
    out->until = (int64_t)rn_get_u64_be(at + 33);
    return true;
}

enum rn_code rn_grant_print(const struct rn_grant *g, struct rn_signer *signer,
                            char out[RN_GRANT_TEXT_MAX], struct rn_view *text)
{
    static const char head[] = "type=resource&ver=1&sig=";
    unsigned char signature[RN_SIGNATURE_LEN];
    char bytes[SIGNED];
    size_t n = sizeof(head) - 1;
    enum rn_code rc;

    encode(g, bytes);
    rc = rn_signer_sign(signer, rn_view_of(bytes, SIGNED), signature);
    if (rc)
        return rc;
    memcpy(out, head, n);
    n += rn_base64_encode(rn_view_of(signature, RN_SIGNATURE_LEN),
                          RN_BASE64_STANDARD, out + n)
             .len;
    out[n++] = ';';
    n += rn_base64_encode(rn_view_of(bytes + PURPOSE, RN_GRANT_BYTES),
                          RN_BASE64_STANDARD, out + n)
             .len;
    out[n++] = ';';
    *text = rn_view_of(out, n);
    return RN_OK;
}

/* Takes the text before the next semicolon, decoded.  The last semicolon is
 * optional, since some clients trim it. */
static bool take(struct rn_view *in, void *out, size_t bytes)
{
    const char *end = in->len ? memchr(in->at, ';', in->len) : NULL;
    size_t len = 0, n = end ? (size_t)(end - in->at) : in->len;

    if (rn_base64_decode(rn_view_of(in->at, n), RN_BASE64_STANDARD, out, bytes,
                         &len) ||
        len != bytes)
        return false;
    *in = end ? rn_view_of(end + 1, in->len - n - 1) : (struct rn_view){ 0 };
    return true;
}

enum rn_code rn_grant_parse(struct rn_view text,
                            struct rn_signer *const *signers, size_t count,
                            struct rn_grant *out, size_t *which,
                            struct rn_err *err)
{
    unsigned char signature[RN_SIGNATURE_LEN];
    char bytes[SIGNED];
    enum rn_code rc = RN_UNAUTHORIZED;

    memcpy(bytes, purpose, PURPOSE);
    if (take(&text, signature, RN_SIGNATURE_LEN) &&
        take(&text, bytes + PURPOSE, RN_GRANT_BYTES) && text.len == 0)
        rc = rn_signer_match(signers, count, rn_view_of(bytes, SIGNED),
                             signature, which);
    if (!rc && !decode(bytes + PURPOSE, out))
        rc = RN_UNAUTHORIZED;
    if (rc) {
        return rn_fail(err, rc,
                       "The input authorization token can't serve the request: "
                       "it is no resource token of this account, or its key "
                       "has been replaced.");
    }
    return RN_OK;
}
