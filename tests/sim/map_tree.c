/* map_tree.c -- see map_tree.h.
 *
 * A copy, little endian:     seq u64, then for each entry
 *                            key length u16, value length u32, key, value
 * An image, little endian:   version u32, zero u32, then as u64 each the copy's
 *                            offset, length, checksum, seq
 */
#include "map_tree.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "store/tree.h"

#include <errno.h>

enum {
    VERSION = 1,
    IMAGE_BYTES = 40,
    BLOCK = 4096,
    SLICE = 2 * BLOCK,
    ENTRY_HEADER = 6,
    COPY_MAX = 1 << 24,
};

/* The extent of the file that a pinned copy has. */
struct rn_map_pin {
    struct rn_map_pin *next;
    uint64_t offset, len;
};

struct tree_map {
    struct rn_map base;
    struct rn_env *env;
    struct rn_file *file;
    uint64_t ahead_bytes;

    struct rn_tree now;
    uint64_t seq, written;
    struct rn_map_pin *pins;

    struct rn_buf copy; /* being flushed */
    uint64_t copy_at, flushed;
};

struct rn_map_txn {
    struct tree_map *m;
    struct rn_tree tree;
    uint64_t seq;
};

struct rn_map_cursor {
    struct rn_map_txn *txn;
    struct rn_key_interval range;
    const struct rn_tree_entry *last;
    bool ended;
    char from[RN_BOUND_MAX], before[RN_BOUND_MAX];
};

/* ---- copies -------------------------------------------------------------- */

static enum rn_code add_entry(struct rn_buf *out, const struct rn_tree_entry *e)
{
    char header[ENTRY_HEADER];
    enum rn_code rc;

    rn_put_u16(header, (uint16_t)e->key.len);
    rn_put_u32(header + 2, (uint32_t)e->value.len);
    rc = rn_buf_add(out, rn_view_of(header, sizeof(header)));
    if (!rc)
        rc = rn_buf_add(out, e->key);
    return rc ? rc : rn_buf_add(out, e->value);
}

static enum rn_code copy_encode(const struct tree_map *m, struct rn_buf *out)
{
    const struct rn_key_interval all = { 0 };
    const struct rn_tree_entry *e = NULL;
    char seq[8];
    enum rn_code rc;

    rn_buf_clear(out);
    rn_put_u64(seq, m->seq);
    rc = rn_buf_add(out, rn_view_of(seq, sizeof(seq)));
    while (!rc && (e = rn_tree_next(&m->now, &all, e)) != NULL)
        rc = add_entry(out, e);
    return rc;
}

static enum rn_code copy_decode(struct tree_map *m, struct rn_view copy)
{
    const char *at = copy.at + 8, *end = copy.at + copy.len;
    enum rn_code rc = RN_OK;

    m->seq = rn_get_u64(copy.at);
    while (!rc && end - at >= ENTRY_HEADER) {
        size_t key = rn_get_u16(at), value = rn_get_u32(at + 2);
        at += ENTRY_HEADER;
        if (key + value > (size_t)(end - at))
            return RN_CORRUPT;
        rc = rn_tree_put(&m->now, rn_view_of(at, key),
                         rn_view_of(at + key, value));
        at += key + value;
    }
    return rc || at == end ? rc : RN_CORRUPT;
}

/* ---- pins ---------------------------------------------------------------- */

static uint64_t blocks(uint64_t len)
{
    return (len + BLOCK - 1) / BLOCK * BLOCK;
}

/* The first extent of `len` bytes, behind the first block, that no pin has. */
static uint64_t find_free(const struct tree_map *m, uint64_t len)
{
    uint64_t at = BLOCK;
    bool moved;

    do {
        moved = false;
        for (const struct rn_map_pin *p = m->pins; p; p = p->next) {
            if (at + len > p->offset && at < p->offset + blocks(p->len)) {
                at = p->offset + blocks(p->len);
                moved = true;
            }
        }
    } while (moved);
    return at;
}

static struct rn_map_pin *pin_new(struct tree_map *m, uint64_t offset,
                                  uint64_t len)
{
    struct rn_map_pin *p = rn_new(sizeof(*p));

    if (!p)
        return NULL;
    *p = (struct rn_map_pin){ .next = m->pins, .offset = offset, .len = len };
    m->pins = p;
    return p;
}

/* There are no checksums here, nor anything else that goes by the durable
 * state. */
static void tree_adopt(struct rn_map *base)
{
    (void)base;
}

static void tree_release(struct rn_map *base, struct rn_map_pin *pin)
{
    struct tree_map *m = (struct tree_map *)base;
    struct rn_map_pin **at = &m->pins;

    if (!pin)
        return;
    while (*at != pin)
        at = &(*at)->next;
    *at = pin->next;
    rn_free(pin);
}

static enum rn_code tree_capture(struct rn_map *base, struct rn_buf *image,
                                 struct rn_map_pin **pin, struct rn_err *err)
{
    struct tree_map *m = (struct tree_map *)base;
    enum rn_code rc = copy_encode(m, &m->copy);

    rn_buf_clear(image);
    if (!rc)
        rc = rn_buf_reserve(image, IMAGE_BYTES);
    if (rc)
        return rn_fail(err, rc, "capturing the tree");
    m->copy_at = find_free(m, m->copy.len);
    m->flushed = 0;
    *pin = pin_new(m, m->copy_at, m->copy.len);
    if (!*pin)
        return rn_fail(err, RN_NOMEM, "pinning the tree");
    rn_put_u32(image->at, VERSION);
    rn_put_u32(image->at + 4, 0);
    rn_put_u64(image->at + 8, m->copy_at);
    rn_put_u64(image->at + 16, m->copy.len);
    rn_put_u64(image->at + 24, rn_hash64(rn_buf_view(&m->copy), 0));
    rn_put_u64(image->at + 32, m->seq);
    image->len = IMAGE_BYTES;
    return RN_OK;
}

static enum rn_code tree_flush(struct rn_map *base, bool *done,
                               struct rn_err *err)
{
    struct tree_map *m = (struct tree_map *)base;
    uint64_t left = m->copy.len - m->flushed;
    size_t slice = left < SLICE ? (size_t)left : SLICE;
    int error;

    *done = left == 0;
    if (*done)
        error = rn_file_sync(m->file);
    else
        error =
            rn_file_write(m->file, rn_view_of(m->copy.at + m->flushed, slice),
                          m->copy_at + m->flushed);
    m->flushed += slice;
    return error ? rn_fail_errno(err, error, "flushing the tree") : RN_OK;
}

/* ---- opening ------------------------------------------------------------- */

static enum rn_code read_copy(struct tree_map *m, struct rn_view image,
                              struct rn_map_pin **pin)
{
    uint64_t offset = rn_get_u64(image.at + 8), len = rn_get_u64(image.at + 16);
    size_t got = 0;
    enum rn_code rc = rn_buf_reserve(&m->copy, (size_t)len);

    if (rc)
        return rc;
    if (rn_file_read(m->file, m->copy.at, (size_t)len, offset, &got))
        return RN_IO;
    m->copy.len = got;
    if (got < len || len < 8 ||
        rn_hash64(rn_buf_view(&m->copy), 0) != rn_get_u64(image.at + 24))
        return RN_CORRUPT;
    rc = copy_decode(m, rn_buf_view(&m->copy));
    if (!rc && m->seq != rn_get_u64(image.at + 32))
        rc = RN_CORRUPT;
    *pin = rc ? NULL : pin_new(m, offset, len);
    return rc || *pin ? rc : RN_NOMEM;
}

static void tree_close(struct rn_map *base)
{
    struct tree_map *m = (struct tree_map *)base;

    while (m->pins)
        tree_release(base, m->pins);
    rn_tree_release(&m->now);
    rn_buf_release(&m->copy);
    rn_file_close(m->file);
    rn_free(m);
}

static enum rn_code tree_open(const struct rn_map_opts *opts,
                              struct rn_map **out, struct rn_map_pin **pin,
                              struct rn_err *err)
{
    struct tree_map *m = rn_new(sizeof(*m));
    bool is_new = opts->image.len == 0;
    enum rn_code rc = RN_OK;
    int error;

    if (!m)
        return rn_fail(err, RN_NOMEM, "%s: no memory", opts->path);
    m->base.ops = &rn_map_tree;
    m->env = opts->env;
    m->ahead_bytes = opts->ahead_bytes;
    m->copy = RN_BUF_INIT(COPY_MAX);
    *pin = NULL;
    error = rn_file_open(m->env, opts->path,
                         is_new ? RN_OPEN_NEW : RN_OPEN_WRITE, &m->file);
    if (error)
        rc = rn_fail_errno(err, error, "%s", opts->path);
    else if (!is_new)
        rc = opts->image.len == IMAGE_BYTES ? read_copy(m, opts->image, pin)
                                            : RN_CORRUPT;
    if (rc) {
        if (!error)
            rn_fail(err, rc, "%s: %s", opts->path, rn_code_name(rc));
        tree_close(&m->base);
        return rc;
    }
    *out = &m->base;
    return RN_OK;
}

static void tree_stat(struct rn_map *base, struct rn_map_stat *out)
{
    struct tree_map *m = (struct tree_map *)base;

    *out = (struct rn_map_stat){ .live_bytes = rn_tree_bytes(&m->now),
                                 .written = m->written };
    (void)rn_file_size(m->file, &out->file_bytes);
}

/* ---- transactions -------------------------------------------------------- */

static enum rn_code tree_reserve(struct rn_map *base, enum rn_txn_mode mode,
                                 uint64_t more)
{
    struct tree_map *m = (struct tree_map *)base;
    uint64_t want = 2 * rn_tree_bytes(&m->now) + BLOCK;
    int error;

    want += mode == RN_TXN_SHRINK ? m->ahead_bytes / 4 : m->ahead_bytes + more;
    error = m->env->ops->reserve(m->file, 0, want, RN_RESERVE_KEEP);
    return error ? RN_FULL : RN_OK;
}

static enum rn_code tree_begin(struct rn_map *base, enum rn_txn_mode mode,
                               struct rn_map_txn **out, struct rn_err *err)
{
    struct rn_map_txn *t = rn_new(sizeof(*t));

    (void)mode;
    if (!t)
        return rn_fail(err, RN_NOMEM, "no memory for a transaction");
    t->m = (struct tree_map *)base;
    t->tree = rn_tree_copy(&t->m->now);
    t->seq = t->m->seq;
    *out = t;
    return RN_OK;
}

static void tree_abort(struct rn_map_txn *t)
{
    rn_tree_release(&t->tree);
    rn_free(t);
}

static enum rn_code tree_commit(struct rn_map_txn *t, struct rn_err *err)
{
    struct tree_map *m = t->m;
    char mark[8];
    int error;

    rn_put_u64(mark, t->seq);
    error = rn_file_write(m->file, rn_view_of(mark, sizeof(mark)), 0);
    if (error) {
        tree_abort(t);
        return rn_fail_errno(err, error, "committing the tree");
    }
    rn_tree_release(&m->now);
    m->now = t->tree;
    m->seq = t->seq;
    rn_free(t);
    return RN_OK;
}

static enum rn_code tree_seq(struct rn_map_txn *t, uint64_t *out)
{
    *out = t->seq;
    return RN_OK;
}

static enum rn_code tree_set_seq(struct rn_map_txn *t, uint64_t seq)
{
    t->seq = seq;
    return RN_OK;
}

static enum rn_code tree_get(struct rn_map_txn *t, struct rn_view key,
                             struct rn_view *out)
{
    const struct rn_tree_entry *e = rn_tree_find(&t->tree, key);

    if (!e)
        return RN_NOT_FOUND;
    *out = e->value;
    return RN_OK;
}

static enum rn_code tree_put(struct rn_map_txn *t, struct rn_view key,
                             struct rn_view value)
{
    t->m->written += key.len + value.len;
    return rn_tree_put(&t->tree, key, value);
}

static enum rn_code tree_del(struct rn_map_txn *t, struct rn_view key)
{
    t->m->written += key.len;
    return rn_tree_del(&t->tree, key);
}

/* ---- cursors ------------------------------------------------------------- */

static enum rn_code tree_scan(struct rn_map_txn *t,
                              const struct rn_key_interval *r,
                              struct rn_map_cursor **out)
{
    struct rn_map_cursor *c = rn_new(sizeof(*c));

    if (!c)
        return RN_NOMEM;
    c->txn = t;
    c->range = *r;
    if (r->from.len)
        c->range.from.at = memcpy(c->from, r->from.at, r->from.len);
    if (r->before.len)
        c->range.before.at = memcpy(c->before, r->before.at, r->before.len);
    *out = c;
    return RN_OK;
}

static enum rn_code tree_next(struct rn_map_cursor *c, struct rn_view *key,
                              struct rn_view *value)
{
    if (!c->ended)
        c->last = rn_tree_next(&c->txn->tree, &c->range, c->last);
    c->ended = !c->last;
    if (c->ended)
        return RN_NOT_FOUND;
    *key = c->last->key;
    *value = c->last->value;
    return RN_OK;
}

/* No pages, so nothing that could thin out. */
static enum rn_code tree_leaf(struct rn_map_cursor *c, struct rn_map_leaf *out)
{
    (void)c;
    *out = (struct rn_map_leaf){ 0 };
    return RN_NOT_FOUND;
}

static void tree_end(struct rn_map_cursor *c)
{
    rn_free(c);
}

const struct rn_map_ops rn_map_tree = {
    .open = tree_open,
    .close = tree_close,
    .stat = tree_stat,
    .capture = tree_capture,
    .flush = tree_flush,
    .adopt = tree_adopt,
    .release = tree_release,
    .reserve = tree_reserve,
    .begin = tree_begin,
    .commit = tree_commit,
    .abort = tree_abort,
    .seq = tree_seq,
    .set_seq = tree_set_seq,
    .get = tree_get,
    .put = tree_put,
    .del = tree_del,
    .append = tree_put,
    .scan = tree_scan,
    .next = tree_next,
    .leaf = tree_leaf,
    .end = tree_end,
};
