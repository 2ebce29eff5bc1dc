/* disk.c -- see disk.h. */
#include "disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PART = 4096,
    SECTOR = 512,
    META_BYTES = 8192, /* the map's two meta pages */
};

static void *must(void *memory)
{
    if (!memory) {
        fprintf(stderr, "disk: out of memory\n");
        _exit(3);
    }
    return memory;
}

/* ---- one file ------------------------------------------------------------ */

static void file_room(struct disk_file *f, uint64_t len)
{
    if (len <= f->room)
        return;
    f->room = len + len / 4 + 65536;
    f->bytes = must(realloc(f->bytes, f->room));
}

static void file_grow(struct disk_file *f, uint64_t len)
{
    file_room(f, len);
    if (len > f->len) {
        memset(f->bytes + f->len, 0, len - f->len);
        f->len = len;
    }
}

static void file_put(struct disk_file *f, uint64_t at, const char *bytes,
                     uint64_t len)
{
    if (at > f->len)
        file_grow(f, at);
    file_room(f, at + len);
    memcpy(f->bytes + at, bytes, len);
    if (at + len > f->len)
        f->len = at + len;
}

static void file_set_length(struct disk_file *f, const struct event *e)
{
    if (e->kind == EVENT_TRUNCATE && e->at < f->len)
        f->len = e->at;
    else
        file_grow(f, e->at);
}

static void file_do(struct disk_file *f, const struct event *e)
{
    if (e->kind == EVENT_WRITE)
        file_put(f, e->at, e->bytes, e->len);
    else
        file_set_length(f, e);
}

static void file_sync(struct disk_file *f)
{
    for (size_t i = 0; i < f->pending_len; i++)
        file_do(f, f->pending[i]);
    f->pending_len = 0;
}

static void file_pend(struct disk_file *f, const struct event *e)
{
    if (f->pending_len == f->pending_room) {
        f->pending_room = 2 * f->pending_room + 64;
        f->pending =
            must(realloc(f->pending, f->pending_room * sizeof(f->pending[0])));
    }
    f->pending[f->pending_len++] = e;
}

static void file_copy(const struct disk_file *from, struct disk_file *to)
{
    file_room(to, from->len);
    if (from->len)
        memcpy(to->bytes, from->bytes, from->len);
    to->len = from->len;
    to->is_map = from->is_map;
    to->pending_len = 0;
}

void disk_file_now(const struct disk_file *from, struct disk_file *to)
{
    file_copy(from, to);
    for (size_t i = 0; i < from->pending_len; i++)
        file_do(to, from->pending[i]);
}

/* ---- the disk ------------------------------------------------------------ */

static void names_clear(struct names *n)
{
    n->there = false;
    for (int i = 0; i < RECORD_NAMES_MAX; i++)
        n->file[i] = RECORD_NO_FILE;
}

struct disk *disk_new(void)
{
    struct disk *d = must(calloc(1, sizeof(*d)));

    disk_clear(d);
    return d;
}

void disk_free(struct disk *d)
{
    for (int i = 0; i < RECORD_FILES_MAX; i++) {
        free(d->file[i].bytes);
        free(d->file[i].pending);
    }
    free(d);
}

void disk_clear(struct disk *d)
{
    names_clear(&d->durable);
    names_clear(&d->now);
    d->names_len = 0;
    d->files_len = 0;
    d->low = d->high = 0;
    d->generations = 0;
}

static void names_do(struct names *n, const struct event *e)
{
    if (e->kind == EVENT_MAKE_DIR) {
        n->there = true;
    } else if (e->kind == EVENT_CREATE) {
        n->file[e->name] = e->file;
    } else if (e->kind == EVENT_REMOVE) {
        n->file[e->name] = RECORD_NO_FILE;
    } else {
        n->file[e->to] = n->file[e->name];
        n->file[e->name] = RECORD_NO_FILE;
    }
}

static void pend_name(struct disk *d, const struct event *e)
{
    if (d->names_len == DISK_PENDING_NAMES_MAX) {
        fprintf(stderr, "disk: the directory is never synced\n");
        _exit(3);
    }
    d->names[d->names_len++] = e;
    names_do(&d->now, e);
}

static void create(struct disk *d, const struct event *e)
{
    struct disk_file *f = &d->file[e->file];

    f->len = 0;
    f->pending_len = 0;
    f->is_map = strncmp(record_name_text(e->name), "map-", 4) == 0;
    if (e->file >= d->files_len)
        d->files_len = e->file + 1;
    pend_name(d, e);
}

static void sync_names(struct disk *d)
{
    bool there = d->durable.there;

    d->durable = d->now;
    d->durable.there = there; /* that is the parent's business */
    d->names_len = 0;
    if (d->now.there && !there) { /* so that remains pending */
        static const struct event made = { .kind = EVENT_MAKE_DIR };
        d->names[d->names_len++] = &made;
    }
}

static void sync_parent(struct disk *d)
{
    size_t kept = 0;

    d->durable.there = d->now.there;
    for (size_t i = 0; i < d->names_len; i++) {
        if (d->names[i]->kind != EVENT_MAKE_DIR)
            d->names[kept++] = d->names[i];
    }
    d->names_len = kept;
}

static void promise(struct disk *d, const struct event *e)
{
    if (e->kind == EVENT_BEGIN) {
        d->high = e->at;
        d->generation[e->at] = (uint16_t)e->len;
        if (e->len > d->generations)
            d->generations = (uint16_t)e->len;
    } else if (e->kind == EVENT_SERVED) {
        d->low = d->high = e->at;
    } else if (e->kind == EVENT_REFUSED) {
        d->high = e->at - 1;
    } else if (e->at > d->low) {
        d->low = e->at;
    }
}

void disk_apply(struct disk *d, const struct event *e)
{
    switch (e->kind) {
    case EVENT_CREATE:
        create(d, e);
        break;
    case EVENT_MAKE_DIR:
    case EVENT_RENAME:
    case EVENT_REMOVE:
        pend_name(d, e);
        break;
    case EVENT_SYNC_DIR:
        sync_names(d);
        break;
    case EVENT_SYNC_PARENT:
        sync_parent(d);
        break;
    case EVENT_WRITE:
    case EVENT_TRUNCATE:
    case EVENT_GROW:
        file_pend(&d->file[e->file], e);
        break;
    case EVENT_SYNC:
        file_sync(&d->file[e->file]);
        break;
    case EVENT_BEGIN:
    case EVENT_ACKED:
    case EVENT_REFUSED:
    case EVENT_SEEN:
    case EVENT_SERVED:
        promise(d, e);
        break;
    }
}

bool disk_is_settled(const struct disk *d)
{
    if (d->names_len)
        return false;
    for (int i = 0; i < d->files_len; i++) {
        if (d->file[i].pending_len)
            return false;
    }
    return true;
}

/* ---- a cut --------------------------------------------------------------- */

struct cut {
    const struct disk_style *style;
    struct dice *dice;
    unsigned keep_percent, torn_percent;
    int metas; /* of the map: all kept (1), all lost (-1), as the dice say (0)
                */
};

static void put_garbage(struct disk_file *f, uint64_t at, struct dice *dice)
{
    for (uint64_t i = at; i < at + SECTOR && i < f->len; i += 8) {
        uint64_t noise = dice_next(dice);
        memcpy(f->bytes + i, &noise, f->len - i < 8 ? f->len - i : 8);
    }
}

/* A part of a write, within one 4 KiB block, of which only sectors arrive.  The
 * device was busy with the whole block: garbage may be anywhere in it. */
static void tear(struct cut *c, struct disk_file *f, const struct event *e,
                 uint64_t from, uint64_t to)
{
    uint64_t how = dice_below(c->dice, 3), border = dice_below(c->dice, 9);
    uint64_t block = from / PART * PART;

    for (uint64_t i = 0; i < PART / SECTOR; i++) {
        uint64_t start = block + i * SECTOR, end = start + SECTOR;
        bool keep = how == 0   ? i < border
                    : how == 1 ? i >= border
                               : dice_percent(c->dice, 50);
        uint64_t begin = start < from ? from : start;
        if (end > to)
            end = to;
        if (keep && begin < end)
            file_put(f, begin, e->bytes + (begin - e->at), end - begin);
        if (dice_percent(c->dice, c->style->garbage_percent))
            put_garbage(f, start, c->dice);
    }
}

static bool is_kept(struct cut *c, const struct disk_file *f,
                    const struct event *e)
{
    bool keep = dice_percent(c->dice, c->keep_percent);

    if (f->is_map && c->metas && e->at < META_BYTES && e->len < PART)
        return c->metas > 0;
    return keep;
}

static void cut_write(struct cut *c, struct disk_file *f, const struct event *e)
{
    uint64_t at = e->at, end = e->at + e->len;

    while (at < end) {
        uint64_t to = at / PART * PART + PART;
        if (to > end)
            to = end;
        if (dice_percent(c->dice, c->torn_percent))
            tear(c, f, e, at, to);
        else if (is_kept(c, f, e))
            file_put(f, at, e->bytes + (at - e->at), to - at);
        at = to;
    }
}

static void cut_file(const struct disk_file *from, struct cut *c,
                     struct disk_file *to)
{
    static const unsigned keep[] = { 0, 5, 30, 50, 70, 95, 100 };
    uint64_t longest = 0;

    file_copy(from, to);
    c->keep_percent = keep[dice_below(c->dice, 7)];
    c->torn_percent = c->style->torn_percent;
    if (!c->torn_percent && dice_percent(c->dice, 50))
        c->torn_percent = (unsigned)dice_below(c->dice, 60);
    c->metas = (int)dice_below(c->dice, 4);
    c->metas = c->metas == 0 ? 1 : c->metas == 1 ? -1 : 0;
    for (size_t i = 0; i < from->pending_len; i++) {
        const struct event *e = from->pending[i];
        if (e->kind == EVENT_WRITE) {
            cut_write(c, to, e);
            if (e->at + e->len > longest)
                longest = e->at + e->len;
        } else if (dice_percent(c->dice, 50)) {
            file_set_length(to, e);
        }
    }
    if (longest > to->len && dice_percent(c->dice, 33))
        file_grow(to, longest);
}

static bool is_blocked(const bool blocked[RECORD_NAMES_MAX],
                       const struct event *e)
{
    if (e->kind == EVENT_MAKE_DIR)
        return false;
    return blocked[e->name] || (e->kind == EVENT_RENAME && blocked[e->to]);
}

static void block(bool blocked[RECORD_NAMES_MAX], const struct event *e)
{
    if (e->kind == EVENT_MAKE_DIR)
        return;
    blocked[e->name] = true;
    if (e->kind == EVENT_RENAME)
        blocked[e->to] = true;
}

static void cut_names(const struct disk *from, struct dice *dice,
                      struct names *out)
{
    bool blocked[RECORD_NAMES_MAX] = { false };
    bool in_order = dice_percent(dice, 50);
    uint64_t prefix = dice_below(dice, from->names_len + 1);

    *out = from->durable;
    for (size_t i = 0; i < from->names_len; i++) {
        const struct event *e = from->names[i];
        bool keep = in_order ? i < prefix : dice_percent(dice, 50);
        if (keep && !is_blocked(blocked, e))
            names_do(out, e);
        else
            block(blocked, e);
    }
    if (!out->there)
        names_clear(out);
}

static void copy_promises(const struct disk *from, struct disk *to)
{
    to->low = from->low;
    to->high = from->high;
    to->generations = from->generations;
    memcpy(to->generation, from->generation, sizeof(to->generation));
}

void disk_cut(const struct disk *from, const struct disk_style *style,
              struct dice *dice, struct disk *to)
{
    struct cut c = { .style = style, .dice = dice };

    disk_clear(to);
    cut_names(from, dice, &to->durable);
    to->now = to->durable;
    to->files_len = from->files_len;
    for (int i = 0; i < to->files_len; i++)
        to->file[i].pending_len = to->file[i].len = 0;
    for (int i = 0; i < RECORD_NAMES_MAX; i++) {
        int f = to->now.file[i];
        if (f != RECORD_NO_FILE)
            cut_file(&from->file[f], &c, &to->file[f]);
    }
    copy_promises(from, to);
}

void disk_kill(const struct disk *from, struct disk *to)
{
    to->durable = from->durable;
    to->now = from->now;
    memcpy(to->names, from->names, sizeof(to->names));
    to->names_len = from->names_len;
    to->files_len = from->files_len;
    for (int i = 0; i < to->files_len; i++) {
        file_copy(&from->file[i], &to->file[i]);
        for (size_t j = 0; j < from->file[i].pending_len; j++)
            file_pend(&to->file[i], from->file[i].pending[j]);
    }
    copy_promises(from, to);
}

void disk_settle(struct disk *d)
{
    d->durable = d->now;
    d->names_len = 0;
    for (int i = 0; i < d->files_len; i++)
        file_sync(&d->file[i]);
}
