/* file_watch.c -- detects changed files with inotify; see file_watch.h. */
#include "server/file_watch.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

enum {
    LINKS_MAX = 16, /* followed on the way to one file */
    PATH_BYTES = 4096,
    /* For the directory of the file or link.  Not every write: a file is read
     * when it is closed, and a busy file may be beside it. */
    ENTRIES = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
              IN_CLOSE_WRITE | IN_ATTRIB,
    /* For every directory on the path. */
    ITSELF = IN_MOVE_SELF | IN_DELETE_SELF,
};

/* ---- stamps -------------------------------------------------------------- */

static struct rn_stamp stamp_of(const char *path)
{
    struct stat st;

    if (!path || stat(path, &st))
        return (struct rn_stamp){ 0 };
    return (struct rn_stamp){ .inode = st.st_ino,
                              .length = st.st_size,
                              .changed = st.st_ctim };
}

static bool are_equal(const struct rn_stamp *a, const struct rn_stamp *b)
{
    return a->inode == b->inode && a->length == b->length &&
           a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

void rn_file_watch_note(struct rn_file_watch *w, const char *const *paths,
                        size_t first, size_t len)
{
    assert(len <= RN_FILE_WATCH_MAX);
    for (size_t i = first; i < len; i++)
        w->read[i] = w->seen[i] = stamp_of(paths[i]);
}

/* ---- inotify ------------------------------------------------------------- */

/* A path whose components are watched; [begin, end) is the current one. */
struct walk {
    struct rn_file_watch *watched;
    size_t begin, end;
    char at[PATH_BYTES];
};

/* Only a failure for the file's own directory counts: directories above it may
 * be unreadable, and hardly ever move. */
static void watch(struct walk *k, const char *directory, uint32_t what)
{
    if (inotify_add_watch(k->watched->fd, directory,
                          what | IN_ONLYDIR | IN_MASK_ADD) < 0 &&
        what == ENTRIES)
        k->watched->is_blind = true;
}

static void watch_parent(struct walk *k)
{
    char first = k->at[k->begin];

    k->at[k->begin] = '\0';
    watch(k, k->begin ? k->at : ".", ENTRIES);
    k->at[k->begin] = first;
}

/* False at the end of the path. */
static bool next_component(struct walk *k)
{
    k->begin = k->end + strspn(k->at + k->end, "/");
    k->end = k->begin + strcspn(k->at + k->begin, "/");
    return k->end > k->begin;
}

/* Substitutes the symbolic link at the current component and starts over.
 * False if the result is too long, or it is no longer a link. */
static bool follow(struct walk *k)
{
    char target[PATH_BYTES], whole[PATH_BYTES], last = k->at[k->end];
    ssize_t len;
    int n;

    k->at[k->end] = '\0';
    len = readlink(k->at, target, sizeof(target) - 1);
    k->at[k->end] = last;
    if (len < 0)
        return false;
    target[len] = '\0';
    n = snprintf(whole, sizeof(whole), "%.*s%s%s",
                 target[0] == '/' ? 0 : (int)k->begin, k->at, target,
                 k->at + k->end);
    if (n < 0 || (size_t)n >= sizeof(whole))
        return false;
    memcpy(k->at, whole, (size_t)n + 1);
    k->begin = k->end = 0;
    return true;
}

/* The type of the current component: a directory on the path, 0 if it does not
 * exist, or something else. */
static mode_t kind_of(struct walk *k)
{
    char last = k->at[k->end];
    struct stat st;
    int rc;

    k->at[k->end] = '\0';
    rc = lstat(k->at, &st);
    if (!rc && S_ISDIR(st.st_mode))
        watch(k, k->at, ITSELF);
    k->at[k->end] = last;
    return rc ? 0 : st.st_mode & S_IFMT;
}

static void watch_path(struct rn_file_watch *w, const char *path)
{
    struct walk k = { .watched = w };
    int links = 0, n = snprintf(k.at, sizeof(k.at), "%s", path);

    if (n < 0 || (size_t)n >= sizeof(k.at)) {
        w->is_blind = true;
        return;
    }
    while (next_component(&k)) {
        mode_t kind = kind_of(&k);

        if (kind == S_IFDIR && k.at[k.end])
            continue;
        watch_parent(&k);
        if (kind == S_IFLNK && links++ < LINKS_MAX && follow(&k))
            continue;
        return;
    }
}

/* Sets up all watches anew: an old one may no longer be on any path. */
static void arm(struct rn_file_watch *w, const char *const *paths, size_t len)
{
    int old = w->fd;

    w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    w->is_blind = w->fd < 0;
    for (size_t i = 0; w->fd >= 0 && i < len; i++) {
        if (paths[i])
            watch_path(w, paths[i]);
    }
    if (old >= 0)
        close(old);
}

void rn_file_watch_init(struct rn_file_watch *w)
{
    *w = (struct rn_file_watch){ .fd = -1 };
}

void rn_file_watch_close(struct rn_file_watch *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

enum rn_file_watch_state rn_file_watch_look(struct rn_file_watch *w,
                                            const char *const *paths,
                                            size_t len)
{
    bool changed = false, rests = true;

    assert(len <= RN_FILE_WATCH_MAX);
    arm(w, paths, len);
    for (size_t i = 0; i < len; i++) {
        struct rn_stamp now = stamp_of(paths[i]);
        rests = rests && are_equal(&now, &w->seen[i]);
        changed = changed || (now.inode && !are_equal(&now, &w->read[i]));
        w->seen[i] = now;
    }
    if (!rests)
        return RN_FILE_WATCH_MOVING;
    return changed ? RN_FILE_WATCH_CHANGED : RN_FILE_WATCH_SAME;
}
