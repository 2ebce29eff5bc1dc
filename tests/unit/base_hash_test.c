/* base_hash_test.c -- the hashes are the ones everybody else computes.
 *
 * They are written to disk (xxh3) and shared with Cosmos clients (murmur), so a
 * number that changes is a disaster that no round trip would show.  xxh3 is
 * compared with the system's library at every length up to a few blocks, in
 * each way to compute it that this machine has.  Murmur is run through
 * SMHasher's verification, which covers every length of tail, and through
 * published vectors: hash and length tests of its users, and effective
 * partition keys of the service.
 */
#include "base/hash_avx2.h"

#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <xxhash.h>

#include <cmocka.h>

enum { LONGEST = 2500 };

static char bytes[LONGEST];

static int fill_bytes(void **state)
{
    struct rn_prng prng;

    (void)state;
    rn_prng_init(&prng, 7);
    rn_prng_fill(&prng, bytes, sizeof(bytes));
    return 0;
}

/* ---- xxh3 ---------------------------------------------------------------- */

static void the_numbers_on_disk_never_change(void **state)
{
    struct rn_hash128 empty = rn_hash128(rn_view_of(NULL, 0), 0);

    (void)state;
    assert_int_equal(rn_hash64(rn_view_of(NULL, 0), 0),
                     UINT64_C(0x2d06800538d394c2));
    assert_int_equal(empty.high, UINT64_C(0x99aa06d3014798d8));
    assert_int_equal(empty.low, UINT64_C(0x6001c324468d497f));
    assert_int_equal(rn_hash64(RN_LIT("hello"), 7),
                     UINT64_C(0x1f683eda4e829e1b));
}

static void same_in_every_way(struct rn_view v, uint64_t seed)
{
    uint64_t want = XXH3_64bits_withSeed(v.at, v.len, seed);

    assert_int_equal(rn_hash64(v, seed), want);
    assert_int_equal(rn_hash64_plain(v, seed), want);
    if (rn_hash_has_avx2())
        assert_int_equal(rn_hash64_avx2(v, seed), want);
}

static void xxh3_agrees_with_the_library(void **state)
{
    static const uint64_t seeds[] = { 0, 1, UINT64_MAX };

    (void)state;
    for (size_t len = 0; len <= LONGEST; len++) {
        for (int i = 0; i < 3; i++) {
            struct rn_hash128 h = rn_hash128(rn_view_of(bytes, len), seeds[i]);
            XXH128_hash_t want = XXH3_128bits_withSeed(bytes, len, seeds[i]);
            assert_true(h.high == want.high64 && h.low == want.low64);
            same_in_every_way(rn_view_of(bytes, len), seeds[i]);
        }
    }
}

static void two_parts_hash_like_one(void **state)
{
    static const size_t lens[] = { 0, 1, 16, 240, 241, 1024, LONGEST };
    static const size_t cuts[] = { 0, 1, 8, 64, 255, 256, 257, 1024, LONGEST };

    (void)state;
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        for (size_t k = 0; k < sizeof(cuts) / sizeof(cuts[0]); k++) {
            struct rn_view whole = rn_view_of(bytes, lens[i]), a, b;
            struct rn_hash128 one = rn_hash128(whole, 9), two;
            if (cuts[k] > lens[i])
                continue;
            a = rn_view_of(cuts[k] ? bytes : NULL, cuts[k]);
            b = rn_view_of(bytes + cuts[k], lens[i] - cuts[k]);
            two = rn_hash128_two(a, b, 9);
            assert_true(one.high == two.high && one.low == two.low);
            assert_int_equal(rn_hash64_two(a, b, 9), rn_hash64(whole, 9));
            assert_int_equal(rn_hash64_two(a, b, 0), rn_hash64(whole, 0));
        }
    }
}

/* ---- murmur -------------------------------------------------------------- */

static void murmur32_gives_the_published_values(void **state)
{
    static const struct {
        struct rn_view text;
        uint32_t seed, hash;
    } cases[] = {
        { { "", 0 }, 0, 0 },
        { { NULL, 0 }, 1, 0x514e28b7 },
        { { "", 0 }, 0xffffffff, 0x81f16f39 },
        { { "\0\0\0\0", 4 }, 0, 0x2362f9de },
        { { "\xff\xff\xff\xff", 4 }, 0, 0x76293b50 },
        { { "!Ce\x87", 4 }, 0, 0xf55b516b },
        { { "!Ce\x87", 4 }, 0x5082edee, 0x2362f9de },
        { { "!Ce", 3 }, 0, 0x7e4a8634 },
        { { "!C", 2 }, 0, 0xa0f7b07a },
        { { "!", 1 }, 0, 0x72661cf4 },
        { { "Hello, world!", 13 }, 0x9747b28c, 0x24884cba },
        /* a partition key of version 1: type, text, terminator */
        { { "\x08/path1\0", 8 }, 0, 0xa6c6298a },
        { { "\x08/path2\0", 8 }, 0, 0x9d008f2c },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(rn_murmur32(cases[i].text, cases[i].seed),
                         cases[i].hash);
}

/* h2 then h1, both big endian, the top two bits cleared: an effective
 * partition key of version 2. */
static void murmur128_places_partition_keys_as_cosmos_does(void **state)
{
    static const struct {
        struct rn_view component;
        const char *epk;
    } cases[] = {
        { { "\x08redmond\xff", 9 }, "22E342F38A486A088463DFF7838A5963" },
        { { "\x01", 1 }, "378867E4430E67857ACE5C908374FE16" },
        { { "\x00", 1 }, "11622DAA78F835834610ABE56EFF5CB5" },
        { { "\x05\0\0\0\0\0\0\x14\x40", 9 },
          "19C08621B135968252FB34B4CF66F811" },
        { { "\x08\xff", 2 }, "32E9366E637A71B4E710384B2F4970A0" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_hash128 h =
            rn_murmur128(cases[i].component, (struct rn_hash128){ 0 });
        char text[33];
        snprintf(text, sizeof(text), "%016llX%016llX",
                 (unsigned long long)(h.high & (UINT64_MAX >> 2)),
                 (unsigned long long)h.low);
        assert_string_equal(text, cases[i].epk);
    }
}

static void murmur128_gives_the_published_value(void **state)
{
    struct rn_hash128 h =
        rn_murmur128(RN_LIT("afdgdd"), (struct rn_hash128){ 0 });

    (void)state;
    assert_int_equal(h.low, UINT64_C(2792699143512860960));
    assert_int_equal(h.high, UINT64_C(15069672278200047189));
    h = rn_murmur128(rn_view_of(NULL, 0), (struct rn_hash128){ 0 });
    assert_true(h.low == 0 && h.high == 0);
}

static void store32(char *at, uint32_t n)
{
    for (int i = 0; i < 4; i++)
        at[i] = (char)(n >> (8 * i) & 0xff);
}

/* SMHasher: hash the keys {}, {0}, {0,1}, ... {0..254} with seeds 256, 255,
 * ... 1; the hash of all those hashes must begin with the known number. */
static void murmur_passes_smhasher_verification(void **state)
{
    char key[256], all32[256 * 4], all128[256 * 16];

    (void)state;
    for (uint32_t i = 0; i < 256; i++) {
        struct rn_hash128 h;
        key[i] = (char)i;
        store32(all32 + i * 4, rn_murmur32(rn_view_of(key, i), 256 - i));
        h = rn_murmur128(rn_view_of(key, i),
                         (struct rn_hash128){ 256 - i, 256 - i });
        store32(all128 + i * 16, (uint32_t)h.low);
        store32(all128 + i * 16 + 4, (uint32_t)(h.low >> 32));
        store32(all128 + i * 16 + 8, (uint32_t)h.high);
        store32(all128 + i * 16 + 12, (uint32_t)(h.high >> 32));
    }
    assert_int_equal(rn_murmur32(rn_view_of(all32, sizeof(all32)), 0),
                     0xb0f57ee3);
    assert_int_equal((uint32_t)rn_murmur128(rn_view_of(all128, sizeof(all128)),
                                            (struct rn_hash128){ 0 })
                         .low,
                     0x6384ba69);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_numbers_on_disk_never_change),
        cmocka_unit_test(xxh3_agrees_with_the_library),
        cmocka_unit_test(two_parts_hash_like_one),
        cmocka_unit_test(murmur32_gives_the_published_values),
        cmocka_unit_test(murmur128_places_partition_keys_as_cosmos_does),
        cmocka_unit_test(murmur128_gives_the_published_value),
        cmocka_unit_test(murmur_passes_smhasher_verification),
    };

    return cmocka_run_group_tests(tests, fill_bytes, NULL);
}
