/* checkpoint.h -- a position in the feed of a container, kept in a file.
 *
 * The file is a JSON object: {"container":"shop/orders","scope":"",
 * "allVersions":false,"token":"..."}.  It is replaced by rename after fsync, so
 * that a crash leaves the old position or the new one.
 */
#ifndef RN_TOOLS_TAIL_CHECKPOINT_H
#define RN_TOOLS_TAIL_CHECKPOINT_H

#include "base/mem.h"

struct rn_tail_checkpoint {
    const char *path;      /* NULL: nothing is kept */
    const char *container; /* "shop/orders" */
    const char *scope;     /* --range or --pk, as it was given; or "" */
    bool all_versions;
    struct rn_buf token; /* with a NUL; empty: there is no position yet */
    int64_t written_ns;  /* when the file was last written; 0: not yet */
};

enum { RN_CHECKPOINT_MAX = 16 << 20 };

/* Reads the token if the file is there.  Returns an enum rn_exit: it is refused
 * if it is damaged, or of another container, scope or mode. */
int rn_tail_checkpoint_read(struct rn_tail_checkpoint *c) RN_CHECK;
int rn_tail_checkpoint_write(struct rn_tail_checkpoint *c,
                             const char *token) RN_CHECK;

#endif
