/* watched.c -- see watched.h. */
#include "server/watched.h"

#include <assert.h>

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

void rn_watched_note(struct rn_watched *w, const char *const *paths,
                     size_t first, size_t len)
{
    assert(len <= RN_WATCHED_MAX);
    for (size_t i = first; i < len; i++)
        w->read[i] = w->seen[i] = stamp_of(paths[i]);
}

bool rn_watched_look(struct rn_watched *w, const char *const *paths, size_t len)
{
    bool changed = false, rests = true;

    assert(len <= RN_WATCHED_MAX);
    for (size_t i = 0; i < len; i++) {
        struct rn_stamp now = stamp_of(paths[i]);
        rests = rests && are_equal(&now, &w->seen[i]);
        changed = changed || (now.inode && !are_equal(&now, &w->read[i]));
        w->seen[i] = now;
    }
    return changed && rests;
}
