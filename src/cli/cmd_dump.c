/* cmd_dump.c -- `runnel dump`: every committed record as a line of JSON. */
#include "cli/command.h"
#include "store/admin/verify.h"
#include "store/store.h"

#include <stdio.h>

/* Prints any bytes as a JSON string: an unprintable byte b becomes \u00bb. */
static void print_bytes(struct rn_view v)
{
    putchar('"');
    for (size_t i = 0; i < v.len; i++) {
        unsigned char b = (unsigned char)v.at[i];
        if (b == '"' || b == '\\')
            printf("\\%c", b);
        else if (b >= 0x20 && b < 0x7f)
            putchar(b);
        else
            printf("\\u%04x", b);
    }
    putchar('"');
}

static enum rn_code print_all(struct rn_txn *txn)
{
    struct rn_key_interval all = { 0 };
    struct rn_cursor *c = NULL;
    struct rn_view key, value;
    enum rn_code rc = rn_txn_scan(txn, &all, &c);

    while (!rc) {
        rc = rn_cursor_next(c, &key, &value);
        if (rc)
            break;
        printf("{\"key\":");
        print_bytes(key);
        printf(",\"value\":");
        print_bytes(value);
        printf("}\n");
    }
    rn_cursor_end(c);
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

static int run(int argc, char **argv)
{
    struct rn_store_opts opts = { .must_exist = true,
                                  .manual = true,
                                  .reader_ms_max = UINT32_MAX };
    struct rn_verify_counts counts;
    struct rn_store *store = NULL;
    struct rn_txn *txn = NULL;
    struct rn_err err = { 0 };
    enum rn_code rc;

    if (!rn_command_operands(&rn_command_dump, argc, argv, 1))
        return RN_EXIT_REFUSED;
    opts.where = argv[1];
    /* Verified first, because opening recovers: a damaged store stays
     * unchanged. */
    rc = rn_verify(rn_env_real(), argv[1], NULL, NULL, &counts, &err);
    if (!rc)
        rc = rn_store_open("local", &opts, &store, &err);
    if (!rc)
        rc =
            rn_txn_begin(store, RN_TXN_READ, (struct rn_lock){ 0 }, &txn, &err);
    if (!rc) {
        rc = print_all(txn);
        if (rc)
            rn_fail(&err, rc, "%s", rn_txn_why(txn, rc));
    }
    rn_txn_abort(txn);
    rn_store_close(store);
    if (!rc && fflush(stdout) == EOF)
        rc = rn_fail(&err, RN_FULL, "standard output: cannot be written");
    return rc ? rn_command_fail(rc, &err) : RN_EXIT_OK;
}

const struct rn_command rn_command_dump = {
    .name = "dump",
    .usage = "DIR",
    .summary = "Print every committed record of a data directory as JSON lines",
    .help =
        "Each line is an object with the strings \"key\" and \"value\", in key "
        "order.\nA byte that is not printable ASCII is written as \\u00XX, "
        "so the lines are exact.\nThe server must not be running on DIR.\n",
    .run = run,
};
