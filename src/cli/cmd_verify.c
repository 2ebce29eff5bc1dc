/* cmd_verify.c -- `runnel verify`: reads everything and reports damage. */
#include "base/secret.h"
#include "cli/command.h"
#include "rest/keys.h"
#include "store/admin/verify.h"

#include <stdio.h>

static void print_damage(void *context, const struct rn_damage *damage)
{
    printf("%s/%s: offset %llu: %s\n", (const char *)context, damage->file,
           (unsigned long long)damage->offset, damage->what);
}

/* A directory may lack keys: the first start creates them. */
static bool has_good_keys(const char *dir)
{
    struct rn_keys keys = { 0 };
    struct rn_err err = { 0 };
    enum rn_code rc = rn_keys_read(rn_env_real(), dir, &keys, &err);

    rn_wipe_secret(&keys, sizeof(keys));
    if (!rc || rc == RN_NOT_FOUND)
        return true;
    printf("%s\n", err.text);
    return false;
}

static int run(int argc, char **argv)
{
    struct rn_verify_counts counts = { 0 };
    struct rn_err err = { 0 };
    bool keys;
    enum rn_code rc;

    if (!rn_command_operands(&rn_command_verify, argc, argv, 1))
        return RN_EXIT_REFUSED;
    rc =
        rn_verify(rn_env_real(), argv[1], print_damage, argv[1], &counts, &err);
    if (rc && !counts.damages)
        return rn_command_fail(rc, &err);
    keys = has_good_keys(argv[1]);
    if (rc || !keys)
        return RN_EXIT_REFUSED; /* each damage was printed */
    printf("sound: %llu records in %llu pages, %llu records in the WAL\n",
           (unsigned long long)counts.records, (unsigned long long)counts.pages,
           (unsigned long long)counts.wal_records);
    return RN_EXIT_OK;
}

const struct rn_command rn_command_verify = {
    .name = "verify",
    .usage = "DIR",
    .summary = "Check a data directory and list all damage",
    .help = "Reads everything that a start relies on, and changes nothing.  "
            "Prints a line for\neach damage: file, offset and kind.  Exits "
            "with status 2 if there is damage.\nThe server must not be running "
            "on DIR.\n",
    .run = run,
};
