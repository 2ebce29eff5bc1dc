/* secret.c -- see secret.h. */
#include "base/secret.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

bool rn_equal_secret(struct rn_view a, struct rn_view b)
{
    /* volatile: else the compiler may return at the first difference */
    volatile uint64_t differ = 0;
    uint64_t left, right;
    size_t i = 0;

    if (a.len != b.len)
        return false;
    for (; a.len - i >= 8; i += 8) {
        memcpy(&left, a.at + i, 8);
        memcpy(&right, b.at + i, 8);
        differ = differ | (left ^ right);
    }
    for (; i < a.len; i++)
        differ = differ | (unsigned char)(a.at[i] ^ b.at[i]);
    return differ == 0;
}

void rn_wipe_secret(void *at, size_t len)
{
    if (len > 0)
        explicit_bzero(at, len);
}

void *rn_secret_new(size_t size)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        return NULL;
    (void)mlock(at, size);
    (void)madvise(at, size, MADV_DONTDUMP);
    return at;
}

void rn_secret_free(void *secret, size_t size)
{
    if (!secret)
        return;
    rn_wipe_secret(secret, size);
    (void)munmap(secret, size);
}

static enum rn_code check_mode(const char *path, unsigned mode,
                               struct rn_err *err)
{
    if (mode & (S_IWGRP | S_IXGRP | S_IRWXO)) {
        return rn_fail(err, RN_FORBIDDEN,
                       "%s: has mode %04o; let it be 0640 at most", path,
                       mode & 07777);
    }
    return RN_OK;
}

enum rn_code rn_check_secret(const char *path, struct rn_err *err)
{
    struct stat st;

    if (stat(path, &st))
        return rn_fail_errno(err, errno, "%s", path);
    return check_mode(path, st.st_mode, err);
}

enum rn_code rn_secret_open(struct rn_env *env, const char *path,
                            enum rn_open how, struct rn_file **out,
                            struct rn_err *err)
{
    struct rn_file *file = NULL;
    unsigned mode = 0;
    int error = rn_file_open(env, path, how, &file);
    enum rn_code rc;

    if (!error)
        error = env->ops->mode(file, &mode);
    rc = error ? rn_fail_errno(err, error, "%s", path)
               : check_mode(path, mode, err);
    if (rc)
        rn_file_close(file);
    else
        *out = file;
    return rc;
}
