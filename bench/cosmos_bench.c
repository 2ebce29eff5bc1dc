/* cosmos_bench.c -- what the dialect costs a request: signature, key, place.
 *
 *   cmake --preset release -DRUNNEL_BENCH=ON && cmake --build build/release
 *   build/release/bench/cosmos_bench [seconds each]
 *
 * Each line repeats one piece of work that a server does for every request on
 * a document, with the four keys an account has.  CPU time, so that a busy
 * machine gives the same.
 */
#include "cosmos/auth.h"
#include "cosmos/epk.h"
#include "cosmos/etag.h"
#include "cosmos/link.h"
#include "cosmos/rid.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char date[] = "Thu, 27 Apr 2017 00:51:12 GMT";

struct work {
    struct rn_signer *signers[4];
    struct rn_buf link, text;
    struct rn_arena arena;
    struct rn_pkdef def;
    struct rn_view header;
    char printed[RN_AUTH_TEXT_MAX];
};

static void must(enum rn_code rc)
{
    if (rc) {
        fprintf(stderr, "cosmos_bench: %s\n", rn_code_name(rc));
        exit(1);
    }
}

static void print_text(struct work *w)
{
    const struct rn_view segments[] = { RN_LIT("dbs"),   RN_LIT("shop"),
                                        RN_LIT("colls"), RN_LIT("orders"),
                                        RN_LIT("docs"),  RN_LIT("order-42") };
    struct rn_link l;

    rn_buf_clear(&w->link);
    rn_buf_clear(&w->text);
    must(rn_link_parse(segments, 6, &l, NULL));
    must(rn_link_print(&l, RN_LINK_BY_NAME, RN_LIT(""), &w->link));
    must(rn_sign_print(&(struct rn_sign_parts){ .verb = RN_LIT("GET"),
                                                .word = rn_kind_word(l.kind),
                                                .link = rn_buf_view(&w->link),
                                                .x_date = RN_LIT(date) },
                       &w->text));
}

static void run_sign(struct work *w)
{
    unsigned char signature[RN_SIGNATURE_LEN];

    must(rn_signer_sign(w->signers[0], rn_buf_view(&w->text), signature));
}

static void run_auth(struct work *w)
{
    struct rn_auth auth;
    size_t which;

    rn_arena_clear(&w->arena);
    must(rn_auth_parse(w->header, &w->arena, &auth, NULL));
    must(rn_auth_check_date(RN_LIT(date), RN_LIT(""), 1493254272, NULL));
    print_text(w);
    must(rn_signer_match(w->signers, 4, rn_buf_view(&w->text), auth.signature,
                         &which));
}

static void run_key(struct work *w)
{
    struct rn_epk epk;
    struct rn_pk pk;

    rn_arena_clear(&w->arena);
    must(rn_pk_parse(RN_LIT("[\"customer-0042\"]"), &w->arena, &pk, NULL));
    must(rn_pkdef_fit(&w->def, &pk, NULL));
    rn_epk_of(&w->def, &pk, &epk);
}

static void run_names(struct work *w)
{
    char self[RN_RID_SELF_MAX], etag[RN_ETAG_LEN];
    struct rn_rid rid;

    (void)w;
    if (!rn_rid_parse(RN_LIT("sbNTAL0kkgABAAAAAAAAAA=="), &rid))
        exit(1);
    rn_rid_print_self(rid, self);
    rn_etag_print((struct rn_etag){ 12, 0, 0 }, etag);
}

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void measure(const char *name, void (*run)(struct work *),
                    struct work *w, double limit)
{
    double begin = seconds(), spent = 0;
    unsigned long rounds = 0;

    while (spent < limit) {
        for (int i = 0; i < 1000; i++)
            run(w);
        rounds += 1000;
        spent = seconds() - begin;
    }
    printf("%-40s %8.0f ns\n", name, spent / (double)rounds * 1e9);
}

int main(int argc, char **argv)
{
    double limit = argc > 1 ? strtod(argv[1], NULL) : 1;
    struct work w = { .link = RN_BUF_INIT(8192),
                      .text = RN_BUF_INIT(8192),
                      .arena = RN_ARENA_INIT(1 << 20),
                      .def = { .version = 2, .count = 1 } };
    unsigned char signature[RN_SIGNATURE_LEN];

    for (size_t i = 0; i < 4; i++) {
        char key[64];
        memset(key, (int)i + 1, sizeof(key));
        must(rn_signer_new(rn_view_of(key, sizeof(key)), &w.signers[i]));
    }
    print_text(&w);
    must(rn_signer_sign(w.signers[1], rn_buf_view(&w.text), signature));
    w.header = rn_auth_print(signature, w.printed);
    measure("one signature", run_sign, &w, limit);
    measure("authorization: parse, date, link, 4 keys", run_auth, &w, limit);
    measure("partition key: header to EPK", run_key, &w, limit);
    measure("rid read, self link and etag printed", run_names, &w, limit);
    for (size_t i = 0; i < 4; i++)
        rn_signer_free(w.signers[i]);
    rn_buf_release(&w.link);
    rn_buf_release(&w.text);
    rn_arena_release(&w.arena);
    return 0;
}
