/* cmd_compact.c -- `runnel compact`: writes a dense map file, which returns
 * unused space to the disk. */
#include "cli/command.h"
#include "store/admin/compact.h"
#include "store/admin/verify.h"

#include <stdio.h>

static int run(int argc, char **argv)
{
    struct rn_compacted done = { 0 };
    struct rn_verify_counts counts;
    struct rn_err err = { 0 };
    enum rn_code rc;

    if (!rn_command_operands(&rn_command_compact, argc, argv, 1))
        return RN_EXIT_REFUSED;
    /* Verified first, because opening recovers: a damaged store stays
     * unchanged. */
    rc = rn_verify(rn_env_real(), argv[1], NULL, NULL, &counts, &err);
    if (!rc)
        rc = rn_compact(rn_env_real(), argv[1], &done, &err);
    if (rc)
        return rn_command_fail(rc, &err);
    printf("%llu records, %llu bytes before, %llu after\n",
           (unsigned long long)done.records,
           (unsigned long long)done.bytes_before,
           (unsigned long long)done.bytes_after);
    return RN_EXIT_OK;
}

const struct rn_command rn_command_compact = {
    .name = "compact",
    .usage = "DIR",
    .summary = "Rewrite a data directory in key order, every page full",
    .help = "Needs as much free space as the data takes.  The server must not "
            "be running on\nDIR.  A crash leaves either the old data or the "
            "new, complete.\n",
    .run = run,
};
