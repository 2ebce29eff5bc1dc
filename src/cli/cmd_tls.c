/* cmd_tls.c -- `runnel tls`: creates a CA and certificates for a server. */
#include "base/file.h"
#include "cli/command.h"
#include "net/authority.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

/* How each client is made to trust the CA. */
static void print_trust(const char *pem, const char *p12)
{
    printf("\nLet clients trust %s:\n"
           "  curl         --cacert %s\n"
           "  JavaScript   NODE_EXTRA_CA_CERTS=%s\n"
           "  Python       REQUESTS_CA_BUNDLE=%s, or connection_verify=\n"
           "               azure.cosmos.aio: SSL_CERT_FILE=%s\n"
           "  Go, Rust     SSL_CERT_FILE=%s (in place of the system's)\n",
           pem, pem, pem, pem, pem, pem);
    if (p12) {
        printf("  Java         -Djavax.net.ssl.trustStore=%s\n"
               "               -Djavax.net.ssl.trustStorePassword=%s\n",
               p12, RN_AUTHORITY_PASSWORD);
    } else {
        printf("  Java         see 'runnel tls export'\n");
    }
    printf(
        "  .NET         SSL_CERT_FILE=%s on Linux, or system-wide\n"
        "  system-wide  cp %s /usr/local/share/ca-certificates/runnel.crt\n"
        "               update-ca-certificates\n"
        "Do not turn verification off: then anyone can pose as the server.\n",
        pem, pem);
}

static int init(const char *data, char **names, int count)
{
    char dir[PATH_BYTES], pem[PATH_BYTES + 8];
    struct rn_err err = { 0 };
    bool made = false;
    struct rn_env *env = rn_env_real();
    int held = -1, error = env->ops->make_dir(env, data);
    enum rn_code rc = RN_OK;

    snprintf(dir, sizeof(dir), "%s/tls", data);
    snprintf(pem, sizeof(pem), "%s/ca.pem", dir);
    if (error && error != EEXIST)
        rc = rn_fail_errno(&err, error, "%s", data);
    if (!rc)
        rc = rn_directory_hold(data, &held, &err);
    if (!rc)
        rc = rn_authority_issue(env, dir, (const char *const *)names,
                                (size_t)count, &made, &err);
    if (held >= 0)
        close(held);
    if (rc)
        return rn_command_fail(rc, &err);
    printf(
        "%s/cert.pem is new, signed by %s authority;\n'runnel serve --data %s' "
        "uses it, a running server within a second\n",
        dir, made ? "a new" : "the same", data);
    print_trust(pem, NULL);
    return RN_EXIT_OK;
}

static int export(const char *data, const char *to)
{
    char dir[PATH_BYTES], pem[PATH_BYTES], p12[PATH_BYTES];
    struct rn_err err = { 0 };
    enum rn_code rc;

    snprintf(dir, sizeof(dir), "%s/tls", data);
    snprintf(pem, sizeof(pem), "%s/ca.pem", to);
    snprintf(p12, sizeof(p12), "%s/ca.p12", to);
    rc = rn_authority_export(rn_env_real(), dir, to, &err);
    if (rc)
        return rn_command_fail(rc, &err);
    printf("%s and %s hold the certificate of the authority, no secrets\n", pem,
           p12);
    print_trust(pem, p12);
    return RN_EXIT_OK;
}

static int run(int argc, char **argv)
{
    const char *data = rn_command_data(&argc, argv);
    int at = 2;

    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-') {
            fprintf(stderr, "runnel: tls has no option '%s'\n", argv[i]);
            return RN_EXIT_REFUSED;
        }
    }
    /* DIR as an operand is the older syntax. */
    if (argc >= 2 && strcmp(argv[1], "init") == 0) {
        if (at < argc && rn_command_is_directory(argv[at]))
            data = argv[at++];
        return init(data, argv + at, argc - at);
    }
    if (argc == 4)
        data = argv[at++];
    if ((argc == 3 || argc == 4) && strcmp(argv[1], "export") == 0)
        return export(data, argv[at]);
    fprintf(stderr, "runnel: usage: runnel tls %s\n", rn_command_tls.usage);
    return RN_EXIT_REFUSED;
}

const struct rn_command rn_command_tls = {
    .name = "tls",
    .usage = "init [--data DIR] [NAME ...] | export [--data DIR] TO",
    .summary = "Make certificates for the server, and files for its clients",
    .help =
        "  init [NAME ...]\n"
        "        Make a certificate for localhost, 127.0.0.1, ::1 and each "
        "NAME, a host\n        name or an address.  The data directory's own "
        "authority signs it, which\n        is created if it does not exist; "
        "it replaces the authority that a\n        server on loopback has "
        "created by itself.  Run it again within 825\n        days; clients "
        "that trust the authority need no change.\n"
        "  export TO\n"
        "        Write what clients need to trust the server to the directory "
        "TO: ca.pem,\n        and ca.p12 (PKCS#12, password "
        "\"" RN_AUTHORITY_PASSWORD "\") for Java.  Everyone may read\n"
        "        them.\n"
        "  --data DIR\n"
        "        The data directory.  Default: RUNNEL_DATA, or "
        "./" RN_COMMAND_DATA ", as for\n        'runnel serve'.  DIR may "
        "also be the first operand, with a slash in it.\n"
        "\n"
        "Both print how to make each SDK trust the authority.  The authority "
        "can issue\ncertificates only for the names with which it was "
        "created.  For a new name,\nremove ca.pem and ca-key.pem and run init "
        "again.\n"
        "\n"
        "Files in DIR/tls, all of mode 0600:\n"
        "  ca.pem       the authority's certificate, 10 years; also at\n"
        "               https://HOST:PORT/_explorer/emulator.pem\n"
        "  ca-key.pem   its key; the server does not need it, so it may be "
        "kept elsewhere\n"
        "  cert.pem     the server's certificate, 825 days\n"
        "  key.pem      its key\n"
        "\n"
        "'runnel serve' uses DIR/tls unless it is given --tls-cert and "
        "--tls-key, and\nreads the files again when they change, and at "
        "SIGHUP.\n",
    .run = run,
};
