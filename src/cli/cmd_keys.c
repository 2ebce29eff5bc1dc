/* cmd_keys.c -- `runnel keys`: the account's keys in a data directory. */
#include "base/secret.h"
#include "cli/command.h"
#include "rest/keys.h"

#include <stdio.h>
#include <string.h>

static bool find_key(const char *name, size_t *which)
{
    for (*which = 0; *which < RN_KEY_WELL_KNOWN; ++*which) {
        if (strcmp(name, rn_keys_name(*which)) == 0)
            return true;
    }
    fprintf(stderr,
            "runnel: there is no key '%s'; the keys are primary, secondary, "
            "primaryReadOnly and secondaryReadOnly\n",
            name);
    return false;
}

static int show(const char *dir, const char *name)
{
    struct rn_keys keys = { 0 };
    struct rn_err err = { 0 };
    size_t which = 0;
    enum rn_code rc;

    if (name && !find_key(name, &which))
        return RN_EXIT_REFUSED;
    rc = rn_keys_read(rn_env_real(), dir, &keys, &err);
    for (size_t i = 0; !rc && i < RN_KEY_WELL_KNOWN; i++) {
        if (!name)
            printf("%-17s %s\n", rn_keys_name(i), keys.text[i]);
        else if (i == which)
            printf("%s\n", keys.text[i]);
    }
    rn_wipe_secret(&keys, sizeof(keys));
    return rc ? rn_command_fail(rc, &err) : RN_EXIT_OK;
}

static int rotate(const char *dir, const char *name)
{
    struct rn_err err = { 0 };
    size_t which = 0;
    enum rn_code rc;

    if (!find_key(name, &which))
        return RN_EXIT_REFUSED;
    rc = rn_keys_rotate(rn_env_real(), dir, which, &err);
    if (rc)
        return rn_command_fail(rc, &err);
    printf("new %s key generated; a running server uses it within a second\n",
           name);
    return RN_EXIT_OK;
}

static bool is_key(const char *name)
{
    for (size_t i = 0; i < RN_KEY_WELL_KNOWN; i++) {
        if (strcmp(name, rn_keys_name(i)) == 0)
            return true;
    }
    return false;
}

static int run(int argc, char **argv)
{
    const char *dir = rn_command_data(&argc, argv);
    bool shows = argc > 1 && strcmp(argv[1], "show") == 0;
    bool rotates = argc > 1 && strcmp(argv[1], "rotate") == 0;
    int at = 2;

    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-') {
            fprintf(stderr, "runnel: keys has no option '%s'\n", argv[i]);
            return RN_EXIT_REFUSED;
        }
    }
    /* DIR as an operand is the older syntax. */
    if (at < argc && !is_key(argv[at]) &&
        (argc == 4 || rn_command_is_directory(argv[at])))
        dir = argv[at++];
    if (shows && argc - at <= 1)
        return show(dir, at < argc ? argv[at] : NULL);
    if (rotates && argc - at == 1)
        return rotate(dir, argv[at]);
    fprintf(stderr, "runnel: usage: runnel keys %s\n", rn_command_keys.usage);
    return RN_EXIT_REFUSED;
}

const struct rn_command rn_command_keys = {
    .name = "keys",
    .usage = "show [--data DIR] [KEY] | rotate [--data DIR] KEY",
    .summary = "Show the account's keys, or replace one",
    .help =
        "  show [KEY]\n"
        "        Print the keys of the data directory, one a line with its "
        "name; or only\n        the value of KEY.\n"
        "  rotate KEY\n"
        "        Generate a new KEY: 64 random bytes.  The other keys stay, so "
        "that\n        clients can change from primary to secondary and back "
        "while the server\n        runs.\n"
        "  --data DIR\n"
        "        The data directory.  Default: RUNNEL_DATA, or "
        "./" RN_COMMAND_DATA ", as for\n        'runnel serve'.  DIR may "
        "also stand before KEY.\n"
        "\n"
        "KEY is primary, secondary, primaryReadOnly or secondaryReadOnly.  "
        "The first two\nmay read and write, the others only read.\n"
        "\n"
        "The keys are in DIR/keys, which the first start of the server "
        "creates.  A server\nthat runs uses a new key within a second and "
        "refuses the old one from then on.\n"
        "\n"
        "Example, a rotation without a pause:\n"
        "  runnel keys rotate secondary\n"
        "  (give clients the new secondary key)\n"
        "  runnel keys rotate primary\n",
    .run = run,
};
