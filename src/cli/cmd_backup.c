/* cmd_backup.c -- `runnel backup` and `runnel restore`. */
#include "cli/command.h"
#include "store/admin/backup.h"

#include <stdio.h>

static int print_copied(const char *where, const struct rn_copied *copied)
{
    printf("%s: %llu bytes of data, %llu bytes of WAL\n", where,
           (unsigned long long)copied->map_bytes,
           (unsigned long long)copied->wal_bytes);
    return RN_EXIT_OK;
}

static int run_backup(int argc, char **argv)
{
    struct rn_copied copied;
    struct rn_err err = { 0 };
    enum rn_code rc;

    if (!rn_command_operands(&rn_command_backup, argc, argv, 2))
        return RN_EXIT_REFUSED;
    rc = rn_backup(rn_env_real(), argv[1], argv[2], &copied, &err);
    return rc ? rn_command_fail(rc, &err) : print_copied(argv[2], &copied);
}

static int run_restore(int argc, char **argv)
{
    struct rn_copied copied;
    struct rn_err err = { 0 };
    enum rn_code rc;

    if (!rn_command_operands(&rn_command_restore, argc, argv, 2))
        return RN_EXIT_REFUSED;
    rc = rn_restore(rn_env_real(), argv[1], argv[2], &copied, &err);
    return rc ? rn_command_fail(rc, &err) : print_copied(argv[2], &copied);
}

const struct rn_command rn_command_backup = {
    .name = "backup",
    .usage = "DIR COPY",
    .summary = "Copy a data directory, even while the server runs",
    .help = "COPY must be empty or absent; it becomes a data directory with "
            "every write that\nwas acknowledged before the command began.  "
            "Writes continue during\nthe backup.  Every command refuses an "
            "incomplete copy.\n",
    .run = run_backup,
};

const struct rn_command rn_command_restore = {
    .name = "restore",
    .usage = "COPY DIR",
    .summary = "Make a new data directory from a backup",
    .help =
        "DIR must be empty or absent.  It gets a new identity.  At its first "
        "start all\nLSNs and ids rise above those that the original can have "
        "issued since the\nbackup, so that continuations of readers stay "
        "valid.  Writes after the backup\nare lost.\n\nA COPY can also be "
        "served directly, in place of the original.\n",
    .run = run_restore,
};
