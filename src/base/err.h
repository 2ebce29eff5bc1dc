/* err.h -- error codes and error messages.
 *
 * A function that can fail returns `enum rn_code`; zero is success.  When the
 * failure deserves words it also takes `struct rn_err *err`, always last, which
 * may be NULL.  The struct is a value: it lives on the caller's stack, needs no
 * release, and is written only on failure.
 *
 * The layer that knows the nouns writes the sentence.  The store returns a bare
 * RN_NOT_FOUND; the engine, which knows the container's name, writes it.
 */
#ifndef RN_BASE_ERR_H
#define RN_BASE_ERR_H

#define RN_CHECK __attribute__((warn_unused_result))
/* For a large local on a hot path that is written before it is read: the
 * hardened build, which zeroes all other locals, does not zero it. */
#define RN_UNSET __attribute__((uninitialized))
#define RN_PRINTF(f, a) __attribute__((format(printf, f, a)))

enum rn_code {
    RN_OK = 0,

    /* Answers: the request was understood and this is its outcome. */
    RN_NOT_FOUND,
    RN_CONFLICT,
    RN_PRECONDITION, /* the etag moved */
    RN_NOT_MODIFIED, /* the etag did not move */
    RN_GONE,         /* the partition range split; re-read the ranges */

    /* Refusals: the caller must change something. */
    RN_BAD_REQUEST,
    RN_UNAUTHORIZED,
    RN_FORBIDDEN,
    RN_TOO_LARGE,
    RN_THROTTLED,

    /* Faults: the same call may succeed later, or never. */
    RN_BUSY,
    RN_TIMEOUT,
    RN_FULL,      /* no space left; nothing happened, reads go on */
    RN_READ_ONLY, /* the store refuses writes until it is reopened */
    RN_UNKNOWN,   /* the write may or may not be there after a restart */
    RN_IO,
    RN_CORRUPT, /* bytes on disk are not what was written */
    RN_NOMEM,

    RN_CODES, /* how many there are */
};

struct rn_err {
    enum rn_code code;
    int reason; /* a finer code that the dialect names; 0: none */
    char text[508];
};

/* Records `code` and a sentence in `err`, and returns `code`, so that failing
 * is one statement: `return rn_fail(err, RN_GONE, "range %u has split", id);`
 */
enum rn_code rn_fail(struct rn_err *err, enum rn_code code, const char *fmt,
                     ...) RN_PRINTF(3, 4);

/* The same for a failed system call: `error` (an errno value) chooses the code,
 * and its text is appended to the sentence. */
enum rn_code rn_fail_errno(struct rn_err *err, int error, const char *fmt, ...)
    RN_PRINTF(3, 4);

/* Puts the operation before the message: "opening /var/lib/x: ...".  Keeps the
 * code. */
void rn_err_during(struct rn_err *err, const char *fmt, ...) RN_PRINTF(2, 3);

/* A constant such as "not found".  Never NULL. */
const char *rn_code_name(enum rn_code code);

#endif
