/* store_subject.h -- the stores that store_bench measures, behind one table. */
#ifndef RN_BENCH_STORE_SUBJECT_H
#define RN_BENCH_STORE_SUBJECT_H

#include "store/store.h"

/* One thread, one open store, one transaction.  Failures end the program. */
struct subject {
    const char *name;
    void (*open)(const char *dir);
    void (*close)(void);
    void (*begin)(void);
    /* Copies a value of exactly `len` bytes that must be there. */
    void (*get)(struct rn_view key, char *out, size_t len);
    void (*put)(struct rn_view key, struct rn_view value);
    void (*del)(struct rn_view key);
    void (*commit)(void); /* returns when it is durable */
    /* Bytes of all values whose keys begin with 'f', read in order; each must
     * be what was written, as far as the store can check. */
    uint64_t (*scan)(void);
};

extern const struct subject subjects[];
extern const size_t subjects_len;

/* The local store, once its subject is open, and how it will be opened. */
extern struct rn_store *bench_store;
extern struct rn_store_opts bench_opts;

void die(const char *what, const char *why) __attribute__((noreturn));

#endif
