/* link.c -- see link.h. */
#include "cosmos/link.h"

#include "json/utf8.h"

#include <assert.h>

/* ---- ids ----------------------------------------------------------------- */

static enum rn_code refuse_id(struct rn_err *err, struct rn_view id,
                              const char *why)
{
    return rn_fail(err, RN_BAD_REQUEST, "The id '%.*s' is not valid: %s",
                   id.len > 120 ? 120 : (int)id.len, id.at, why);
}

static enum rn_code refuse_length(struct rn_err *err, struct rn_view id,
                                  bool is_document)
{
    return refuse_id(err, id,
                     is_document
                         ? "Ensure to provide a unique non-empty string less "
                           "than '1024' characters."
                         : "Ensure to provide a unique non-empty string less "
                           "than '255' characters.");
}

/* The length in UTF-16 code units, or -1 if it is not UTF-8. */
static ptrdiff_t count_units(struct rn_view id)
{
    const char *at = id.at, *end = id.at + id.len;
    ptrdiff_t units = 0;

    while (at < end) {
        size_t len = (signed char)*at > 0 ? 1 : rn_utf8_len(at, end);
        if (len == 0)
            return -1;
        units += len == 4 ? 2 : 1;
        at += len;
    }
    return units;
}

/* A document's id may have '?' and '#': the SDKs' own tests create and read
 * such documents.  The service's documentation excludes '/' and '\\', and an
 * encoded '/' would sign like a longer path. */
enum rn_code rn_id_check(enum rn_kind kind, struct rn_view id,
                         struct rn_err *err)
{
    bool is_document = kind == RN_KIND_DOCUMENT;
    ptrdiff_t units = count_units(id);

    if (id.len == 0)
        return refuse_length(err, id, is_document);
    if (units < 0)
        return refuse_id(err, id, "it is not UTF-8");
    if (is_document ? id.len > RN_ID_BYTES_MAX : units > RN_ID_CHARS_MAX)
        return refuse_length(err, id, is_document);
    for (size_t i = 0; i < id.len; i++) {
        if (id.at[i] == '\0' || id.at[i] == '/' || id.at[i] == '\\' ||
            ((id.at[i] == '#' || id.at[i] == '?') && !is_document))
            return refuse_id(err, id, "it contains illegal chars.");
    }
    if (!is_document && id.at[id.len - 1] == ' ')
        return refuse_id(err, id, "it ends with a space.");
    return RN_OK;
}

/* ---- paths --------------------------------------------------------------- */

static enum rn_code refuse_path(struct rn_err *err)
{
    return rn_fail(err, RN_NOT_FOUND,
                   "Resource Not Found. The request's path does not name a "
                   "kind of resource.");
}

/* Whether all ids are rids that contain one another. */
static bool are_rids(const struct rn_link *l)
{
    enum rn_kind kind = l->is_list ? rn_kind_owner(l->kind) : l->kind;
    struct rn_rid rid, want = { .kind = RN_KIND_ACCOUNT };

    if (l->depth == 0)
        return false;
    for (size_t i = l->depth; i-- > 0; kind = rn_kind_owner(kind)) {
        if (!rn_rid_parse(l->ids[i], &rid) || rid.kind != kind)
            return false;
        if (i + 1 < l->depth && !rn_rid_eq(rid, want))
            return false;
        want = rn_rid_owner(rid);
    }
    return true;
}

static bool is_key_delete(const struct rn_view *rest, size_t count,
                          enum rn_kind under)
{
    return under == RN_KIND_CONTAINER && count == 2 &&
           rn_view_eq(rest[0], RN_LIT("operations")) &&
           rn_view_eq(rest[1], RN_LIT("partitionkeydelete"));
}

static const struct rn_view attachments = { "attachments", 11 };

enum rn_code rn_link_parse(const struct rn_view *segments, size_t count,
                           struct rn_link *out, struct rn_err *err)
{
    struct rn_link l = { .kind = RN_KIND_ACCOUNT };
    enum rn_code rc;

    for (size_t i = 0; i < count; i += 2) {
        enum rn_kind kind = rn_kind_find(segments[i]);
        if (is_key_delete(segments + i, count - i, l.kind)) {
            l.is_key_delete = true;
            break;
        }
        l.is_attachments = l.kind == RN_KIND_DOCUMENT && i + 1 == count &&
                           rn_view_eq(segments[i], attachments);
        if (l.is_attachments)
            break;
        if (l.kind == RN_KIND_OFFER) {
            return rn_fail(err, RN_BAD_REQUEST,
                           "The request's path goes on behind an offer, which "
                           "is named by its id alone");
        }
        if (kind == RN_KIND_ACCOUNT || rn_kind_owner(kind) != l.kind)
            return refuse_path(err);
        l.kind = kind;
        l.is_list = i + 1 == count;
        if (l.is_list)
            break;
        rc = rn_id_check(kind, segments[i + 1], err);
        if (rc)
            return rc;
        l.ids[l.depth++] = segments[i + 1];
    }
    l.is_rid = are_rids(&l);
    *out = l;
    return RN_OK;
}

struct rn_rid rn_link_rid(const struct rn_link *l)
{
    struct rn_rid rid = { .kind = RN_KIND_ACCOUNT };
    bool parsed;

    assert(l->is_rid);
    parsed = rn_rid_parse(l->ids[l->depth - 1], &rid);
    assert(parsed);
    return rid;
}

/* ---- text ---------------------------------------------------------------- */

/* Appends unreserved bytes as they are, and the others as %XX. */
static enum rn_code add_escaped(struct rn_view id, struct rn_buf *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~=";
    enum rn_code rc = RN_OK;

    for (size_t i = 0; !rc && i < id.len; i++) {
        if (memchr(plain, id.at[i], sizeof(plain) - 1))
            rc = rn_buf_add(out, rn_view_of(id.at + i, 1));
        else
            rc = rn_buf_printf(out, "%%%02X", (unsigned char)id.at[i]);
    }
    return rc;
}

/* Appends word/id for the first `depth` ids of `kind`'s path. */
static enum rn_code add_path(const struct rn_link *l, enum rn_kind kind,
                             size_t depth, bool escape, struct rn_buf *out)
{
    struct rn_view id;
    enum rn_code rc = RN_OK;

    if (depth == 0)
        return RN_OK;
    id = l->ids[depth - 1];
    if (depth > 1) {
        rc = add_path(l, rn_kind_owner(kind), depth - 1, escape, out);
        if (!rc)
            rc = rn_buf_add(out, RN_LIT("/"));
    }
    if (!rc)
        rc = rn_buf_add(out, rn_kind_word(kind));
    if (!rc)
        rc = rn_buf_add(out, RN_LIT("/"));
    if (!rc)
        rc = escape ? add_escaped(id, out) : rn_buf_add(out, id);
    return rc;
}

struct rn_view rn_link_word(const struct rn_link *l)
{
    return l->is_attachments ? attachments : rn_kind_word(l->kind);
}

static enum rn_kind path_kind(const struct rn_link *l)
{
    return l->is_list ? rn_kind_owner(l->kind) : l->kind;
}

/* Lower case of ASCII letters. */
static void lower(char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] >= 'A' && text[i] <= 'Z')
            text[i] = (char)(text[i] | 0x20);
    }
}

static enum rn_code add_rid(const struct rn_link *l, struct rn_buf *out)
{
    struct rn_view rid;
    enum rn_code rc;

    /* An offer is always named by its rid, whatever its id looks like. */
    if (!l->is_rid && (l->kind != RN_KIND_OFFER || l->is_list))
        return RN_NOT_FOUND;
    rid = l->ids[l->depth - 1];
    rc = rn_buf_add(out, rid);
    if (!rc)
        lower(out->at + out->len - rid.len, rid.len);
    return rc;
}

/* Appends the first segments of the path as it was sent. */
static enum rn_code add_wire(const struct rn_link *l, struct rn_view wire,
                             struct rn_buf *out)
{
    size_t left = 2 * l->depth;
    bool between = false;
    enum rn_code rc = RN_OK;

    if (left == 0 || !memchr(wire.at, '%', wire.len))
        return RN_NOT_FOUND;
    while (!rc && left > 0 && wire.len > 0) {
        const char *slash = memchr(wire.at, '/', wire.len);
        size_t len = slash ? (size_t)(slash - wire.at) : wire.len;
        if (len > 0) {
            rc = between ? rn_buf_add(out, RN_LIT("/")) : RN_OK;
            if (!rc)
                rc = rn_buf_add(out, rn_view_of(wire.at, len));
            between = true;
            left--;
        }
        len += slash != NULL;
        wire = rn_view_of(wire.at + len, wire.len - len);
    }
    return rc;
}

enum rn_code rn_link_print(const struct rn_link *l, enum rn_link_form form,
                           struct rn_view wire, struct rn_buf *out)
{
    size_t before = out->len;
    enum rn_code rc = RN_NOT_FOUND;

    switch (form) {
    case RN_LINK_BY_RID:
        rc = add_rid(l, out);
        break;
    case RN_LINK_BY_NAME:
        rc = add_path(l, path_kind(l), l->depth, false, out);
        break;
    case RN_LINK_AS_SENT:
        rc = add_wire(l, wire, out);
        break;
    case RN_LINK_FORMS:
        break;
    }
    if (rc)
        out->len = before;
    return rc;
}

enum rn_code rn_link_print_target(const struct rn_link *l, struct rn_buf *out)
{
    size_t before = out->len;
    enum rn_code rc = rn_buf_add(out, RN_LIT("/"));

    if (!rc)
        rc = add_path(l, path_kind(l), l->depth, true, out);
    if (!rc && l->is_list && l->depth > 0)
        rc = rn_buf_add(out, RN_LIT("/"));
    if (!rc && l->is_list)
        rc = rn_buf_add(out, rn_kind_word(l->kind));
    if (!rc && l->is_key_delete)
        rc = rn_buf_add(out, RN_LIT("/operations/partitionkeydelete"));
    if (!rc && l->is_attachments)
        rc = rn_buf_add(out, RN_LIT("/attachments"));
    if (rc)
        out->len = before;
    return rc;
}
