/* sim_names.c -- the names of the simulated disk, and which survive a crash. */
#include "base/sim_names.h"

#include <errno.h>
#include <stdlib.h>

/* ---- tables -------------------------------------------------------------- */

static bool same_name(const struct rn_entry *a, const struct rn_entry *b)
{
    return a->dir && a->dir == b->dir && strcmp(a->name, b->name) == 0;
}

static struct rn_entry *find(struct rn_names *names,
                             const struct rn_entry *like)
{
    for (size_t i = 0; i < names->count; i++) {
        if (same_name(&names->entries[i], like))
            return &names->entries[i];
    }
    return NULL;
}

static void drop(struct rn_names *names, const struct rn_entry *like)
{
    struct rn_entry *at = find(names, like);
    size_t after;

    if (!at)
        return;
    after = names->count - (size_t)(at - names->entries) - 1;
    memmove(at, at + 1, after * sizeof(*at));
    names->count--;
}

static void apply(struct rn_names *names, const struct rn_naming *op)
{
    if (op->from.dir)
        drop(names, &op->from);
    if (!op->to.dir)
        return;
    drop(names, &op->to);
    names->entries = rn_disk_grow(names->entries, &names->room, names->count,
                                  sizeof(op->to));
    names->entries[names->count++] = op->to;
}

static void count_names(struct rn_disk *disk)
{
    for (struct rn_node *n = disk->nodes; n; n = n->next)
        n->names = n == disk->root;
    for (size_t i = 0; i < disk->now.count; i++)
        disk->now.entries[i].node->names++;
}

/* Performs the operation now, and lists it as not yet synced. */
static void perform(struct rn_disk *disk, const struct rn_naming *op)
{
    disk->namings = rn_disk_grow(disk->namings, &disk->naming_room,
                                 disk->naming_count, sizeof(*op));
    disk->namings[disk->naming_count++] = *op;
    apply(&disk->now, op);
    count_names(disk);
}

static bool has_children(const struct rn_names *names,
                         const struct rn_node *dir)
{
    for (size_t i = 0; i < names->count; i++) {
        if (names->entries[i].dir == dir)
            return true;
    }
    return false;
}

/* ---- paths --------------------------------------------------------------- */

/* Removes the next component from `*path`; its length is 0 at the end. */
static struct rn_view next_component(const char **path)
{
    struct rn_view part;

    do {
        *path += strspn(*path, "/");
        part = rn_view_of(*path, strcspn(*path, "/"));
        *path += part.len;
    } while (rn_view_eq(part, RN_LIT(".")));
    return part;
}

/* Walks to the last component, which may be absent (out->node is then NULL).
 * The root itself is returned as a node without a directory. */
static int walk(struct rn_disk *disk, const char *path, struct rn_entry *out)
{
    struct rn_view part = next_component(&path);

    *out = (struct rn_entry){ .node = disk->root };
    while (part.len > 0) {
        struct rn_entry *found;
        if (part.len > RN_DISK_NAME_MAX)
            return ENAMETOOLONG;
        if (rn_view_eq(part, RN_LIT("..")))
            return EINVAL; /* unused; not supported */
        if (!out->node)
            return ENOENT;
        if (!out->node->is_dir)
            return ENOTDIR;
        *out = (struct rn_entry){ .dir = out->node };
        memcpy(out->name, part.at, part.len);
        found = find(&disk->now, out);
        out->node = found ? found->node : NULL;
        part = next_component(&path);
    }
    return 0;
}

static int walk_existing(struct rn_disk *disk, const char *path,
                         struct rn_entry *out)
{
    int error = walk(disk, path, out);

    return error ? error : out->node ? 0 : ENOENT;
}

int rn_disk_find(struct rn_disk *disk, const char *path, struct rn_node **out)
{
    struct rn_entry at;
    int error = walk_existing(disk, path, &at);

    if (!error)
        *out = at.node;
    return error;
}

/* ---- operations ---------------------------------------------------------- */

int rn_disk_create(struct rn_disk *disk, const char *path, bool is_dir,
                   struct rn_node **out)
{
    struct rn_naming op = { 0 };
    int error = walk(disk, path, &op.to);

    if (error)
        return error;
    if (op.to.node)
        return EEXIST;
    op.to.node = rn_node_new(disk, is_dir);
    perform(disk, &op);
    *out = op.to.node;
    return 0;
}

int rn_disk_remove(struct rn_disk *disk, const char *path)
{
    struct rn_naming op = { 0 };
    int error = walk_existing(disk, path, &op.from);

    if (error)
        return error;
    if (!op.from.dir)
        return EBUSY;
    if (has_children(&disk->now, op.from.node))
        return ENOTEMPTY;
    perform(disk, &op);
    return 0;
}

/* True if `inside` is `node`, or lies below it. */
static bool contains(struct rn_disk *disk, const struct rn_node *node,
                     const struct rn_node *inside)
{
    const struct rn_node *at = inside;

    while (at && at != node) {
        const struct rn_node *parent = NULL;
        for (size_t i = 0; i < disk->now.count; i++) {
            if (disk->now.entries[i].node == at)
                parent = disk->now.entries[i].dir;
        }
        at = parent;
    }
    return at == node;
}

static int check_rename(struct rn_disk *disk, const struct rn_naming *op)
{
    const struct rn_node *target = op->to.node;

    if (!op->from.dir || !op->to.dir)
        return EBUSY;
    if (contains(disk, op->from.node, op->to.dir))
        return EINVAL;
    if (!target || target == op->from.node)
        return 0;
    if (contains(disk, target, op->from.dir))
        return ENOTEMPTY;
    if (target->is_dir != op->from.node->is_dir)
        return target->is_dir ? EISDIR : ENOTDIR;
    return has_children(&disk->now, target) ? ENOTEMPTY : 0;
}

int rn_disk_rename(struct rn_disk *disk, const char *from, const char *to)
{
    struct rn_naming op = { 0 };
    int error = walk(disk, from, &op.from);

    if (!error)
        error = walk(disk, to, &op.to);
    if (!error)
        error = op.from.node ? check_rename(disk, &op) : ENOENT;
    if (error || op.from.node == op.to.node)
        return error;
    op.to.node = op.from.node;
    perform(disk, &op);
    return 0;
}

/* Shuffled: no file system promises an order.  The names are copied because
 * `each` may remove the entry it is called for. */
int rn_disk_list(struct rn_disk *disk, const char *path, rn_env_list_fn *each,
                 void *context)
{
    struct rn_names copy = { 0 };
    struct rn_node *dir;
    int error = rn_disk_find(disk, path, &dir);

    if (error)
        return error;
    if (!dir->is_dir)
        return ENOTDIR;
    for (size_t i = 0; i < disk->now.count; i++) {
        struct rn_naming op = { .to = disk->now.entries[i] };
        if (op.to.dir == dir)
            apply(&copy, &op);
    }
    while (copy.count > 0) {
        size_t i = (size_t)rn_prng_below(disk->prng, copy.count);
        each(context, copy.entries[i].name);
        copy.entries[i] = copy.entries[--copy.count];
    }
    rn_free(copy.entries);
    return 0;
}

/* ---- sync and crash ------------------------------------------------------ */

static bool touches_name(const struct rn_naming *op, const struct rn_entry *e)
{
    return same_name(&op->from, e) || same_name(&op->to, e);
}

/* Operations on one name happen in their order, so each needs those before it.
 */
static bool needs(const struct rn_naming *later, const struct rn_naming *first)
{
    return touches_name(later, &first->from) || touches_name(later, &first->to);
}

/* Marks in `saved` the operations that the marked ones need. */
static void save_needed(const struct rn_naming *ops, size_t count, bool *saved)
{
    for (size_t i = count; i-- > 0;) {
        for (size_t k = 0; saved[i] && k < i; k++)
            saved[k] = saved[k] || needs(&ops[i], &ops[k]);
    }
}

/* Applies the marked operations to the synced table; the others stay pending.
 */
static void write_names(struct rn_disk *disk, const bool *saved)
{
    size_t waiting = 0;

    for (size_t i = 0; i < disk->naming_count; i++) {
        struct rn_naming op = disk->namings[i];
        if (saved[i])
            apply(&disk->synced, &op);
        else
            disk->namings[waiting++] = op;
    }
    disk->naming_count = waiting;
}

static bool *new_flags(size_t count)
{
    bool *flags = rn_new(count + 1);

    if (!flags)
        abort();
    return flags;
}

int rn_disk_sync_dir(struct rn_disk *disk, const char *path)
{
    struct rn_node *dir;
    bool *saved;
    int error = rn_disk_find(disk, path, &dir);

    if (error)
        return error;
    if (!dir->is_dir)
        return ENOTDIR;
    saved = new_flags(disk->naming_count);
    for (size_t i = 0; i < disk->naming_count; i++) {
        saved[i] =
            disk->namings[i].from.dir == dir || disk->namings[i].to.dir == dir;
    }
    save_needed(disk->namings, disk->naming_count, saved);
    write_names(disk, saved);
    rn_free(saved);
    rn_disk_sweep(disk);
    return 0;
}

/* Draws which operations survive: one that needs a lost operation is lost, too.
 */
static void draw_saved(struct rn_disk *disk, bool *saved)
{
    unsigned keep_percent = rn_disk_keep_percent(disk);

    for (size_t i = 0; i < disk->naming_count; i++) {
        saved[i] = rn_prng_percent(disk->prng, keep_percent);
        for (size_t k = 0; k < i; k++) {
            if (!saved[k] && needs(&disk->namings[i], &disk->namings[k]))
                saved[i] = false;
        }
    }
}

static bool is_named(const struct rn_names *names, const struct rn_node *node)
{
    for (size_t i = 0; i < names->count; i++) {
        if (names->entries[i].node == node)
            return true;
    }
    return false;
}

/* A directory whose own name was lost takes its contents along. */
static void drop_orphans(struct rn_disk *disk)
{
    size_t i = 0;

    while (i < disk->synced.count) {
        struct rn_entry entry = disk->synced.entries[i];
        if (entry.dir == disk->root || is_named(&disk->synced, entry.dir)) {
            i++;
            continue;
        }
        drop(&disk->synced, &entry);
        i = 0;
    }
}

void rn_names_crash(struct rn_disk *disk)
{
    bool *saved = new_flags(disk->naming_count);

    draw_saved(disk, saved);
    write_names(disk, saved);
    rn_free(saved);
    disk->naming_count = 0;
    drop_orphans(disk);

    disk->now.count = 0;
    for (size_t i = 0; i < disk->synced.count; i++) {
        struct rn_naming op = { .to = disk->synced.entries[i] };
        apply(&disk->now, &op);
    }
    count_names(disk);
    rn_disk_sweep(disk);
}

void rn_names_release(struct rn_disk *disk)
{
    rn_free(disk->now.entries);
    rn_free(disk->synced.entries);
    rn_free(disk->namings);
}
