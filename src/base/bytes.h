/* bytes.h -- integer encoding: little endian in files, big endian in keys.
 *
 * Big endian integers sort as bytes, which is why keys use them.
 */
#ifndef RN_BASE_BYTES_H
#define RN_BASE_BYTES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline void rn_put_u16(void *at, uint16_t n)
{
    n = htole16(n);
    memcpy(at, &n, sizeof(n));
}

static inline void rn_put_u32(void *at, uint32_t n)
{
    n = htole32(n);
    memcpy(at, &n, sizeof(n));
}

static inline void rn_put_u64(void *at, uint64_t n)
{
    n = htole64(n);
    memcpy(at, &n, sizeof(n));
}

static inline uint16_t rn_get_u16(const void *at)
{
    uint16_t n;

    memcpy(&n, at, sizeof(n));
    return le16toh(n);
}

static inline uint32_t rn_get_u32(const void *at)
{
    uint32_t n;

    memcpy(&n, at, sizeof(n));
    return le32toh(n);
}

static inline uint64_t rn_get_u64(const void *at)
{
    uint64_t n;

    memcpy(&n, at, sizeof(n));
    return le64toh(n);
}

static inline void rn_put_u32_be(void *at, uint32_t n)
{
    n = htobe32(n);
    memcpy(at, &n, sizeof(n));
}

static inline void rn_put_u64_be(void *at, uint64_t n)
{
    n = htobe64(n);
    memcpy(at, &n, sizeof(n));
}

static inline uint32_t rn_get_u32_be(const void *at)
{
    uint32_t n;

    memcpy(&n, at, sizeof(n));
    return be32toh(n);
}

static inline uint64_t rn_get_u64_be(const void *at)
{
    uint64_t n;

    memcpy(&n, at, sizeof(n));
    return be64toh(n);
}

#endif
