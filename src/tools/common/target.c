/* target.c -- opens the account and the container that the options name. */
#include "tools/common/target.h"

#include "base/env.h"
#include "base/secret.h"
#include "tools/common/report.h"
#include "tools/common/signals.h"
#include "json/json.h"

#include <errno.h>
#include <unistd.h>

#define LOCAL_SERVER "http://localhost:8081/"

enum { KEY_MAX = 4096, CONNECT_MS = 3000, RETRY_WAIT_MS = 5000 };

const struct rn_option rn_target_options[] = {
    { "account", RN_OPTION_TEXT, "URL", LOCAL_SERVER, "RUNNEL_ACCOUNT",
      "The account: its URL, or a connection string "
      "\"AccountEndpoint=...;AccountKey=...;\"." },
    { "key-file", RN_OPTION_FILE, NULL, NULL, NULL,
      "Read the account key from this file; -: from standard input.  Without "
      "any key, the public key of the emulators is used if the account is on "
      "a loopback address." },
    { "data", RN_OPTION_DIR, NULL, NULL, NULL,
      "Take the primary key from this data directory of the server." },
    { "key", RN_OPTION_SECRET, "KEY", NULL, "RUNNEL_KEY",
      "The account key.  It is removed from the process list at once, but may "
      "stay in the history of the shell: prefer --key-file." },
    { "ca-file", RN_OPTION_FILE, NULL, NULL, "RUNNEL_CA_FILE",
      "Trust the certificates in this PEM file instead of the system's." },
    { "insecure", RN_OPTION_FLAG, NULL, NULL, NULL, "Accept any certificate." },
    { 0 },
};

const struct rn_option rn_target_container_options[] = {
    { "db", RN_OPTION_TEXT, "NAME", NULL, "RUNNEL_DB", "The database." },
    { "container", RN_OPTION_TEXT, "NAME", NULL, "RUNNEL_CONTAINER",
      "The container; DB/NAME names the database, too." },
    { 0 },
};

/* ---- keys ---------------------------------------------------------------- */

static struct rn_view trimmed(struct rn_view v)
{
    while (v.len && strchr(" \t\r\n", v.at[0]))
        v = rn_view_of(v.at + 1, v.len - 1);
    while (v.len && strchr(" \t\r\n", v.at[v.len - 1]))
        v.len--;
    return v;
}

/* Reads all of a small file; "-" is standard input. */
static int read_file(const char *path, char *out, struct rn_view *text)
{
    bool is_input = strcmp(path, "-") == 0;
    FILE *file = is_input ? stdin : fopen(path, "re");
    size_t n;

    if (!file)
        return rn_report(RN_EXIT_USAGE, "key file %s: %s", path,
                         strerror(errno));
    n = fread(out, 1, KEY_MAX, file);
    if (!is_input)
        fclose(file);
    *text = trimmed(rn_view_of(out, n));
    if (!text->len || n == KEY_MAX)
        return rn_report(RN_EXIT_USAGE, "key file %s holds no key", path);
    return RN_EXIT_OK;
}

/* The member "primary" of DIR/keys. */
static int read_data_key(const char *dir, char *out)
{
    char path[4096], bytes[KEY_MAX];
    struct rn_json json;
    struct rn_view text = { 0 };
    uint32_t value;
    int status;

    snprintf(path, sizeof(path), "%s/keys", dir);
    status = read_file(path, bytes, &text);
    if (status)
        return status;
    rn_json_init(&json, NULL);
    value = rn_json_parse(&json, text, NULL)
                ? RN_JSON_NONE
                : rn_json_find(&json, 0, RN_LIT("primary"));
    if (rn_json_kind(&json, value) == RN_JSON_STRING)
        snprintf(out, KEY_MAX, "%.*s", RN_FMT(rn_json_text(&json, value)));
    else
        status = rn_report(RN_EXIT_USAGE, "%s holds no primary key", path);
    rn_json_release(&json);
    rn_wipe_secret(bytes, sizeof(bytes));
    return status;
}

/* The value of --<prefix><name>, if the command has such an option. */
static const char *find_text(const struct rn_args *args, const char *prefix,
                             const char *name)
{
    char full[64];

    snprintf(full, sizeof(full), "%s%s", prefix, name);
    return rn_option_find(args->tool, rn_view_text(full))
               ? rn_args_text(args, full)
               : NULL;
}

/* Leaves `out` empty if no option and no variable gives a key. */
static int read_key(const struct rn_args *args, const char *prefix, char *out)
{
    const char *key = find_text(args, prefix, "key");
    const char *file = find_text(args, prefix, "key-file");
    const char *data = find_text(args, prefix, "data");
    struct rn_view text = { 0 };
    int status = RN_EXIT_OK;

    out[0] = 0;
    if (file && data) {
        return rn_report(RN_EXIT_USAGE,
                         "give --%skey-file or --%sdata, not both", prefix,
                         prefix);
    }
    if (data)
        return read_data_key(data, out);
    if (file)
        status = read_file(file, out, &text);
    else if (key)
        text = rn_view_text(key);
    if (status)
        return status;
    if (text.len >= KEY_MAX)
        return rn_report(RN_EXIT_USAGE, "the key is too long");
    if (text.len)
        memmove(out, text.at, text.len);
    out[text.len] = 0;
    return RN_EXIT_OK;
}

/* ---- client and container ------------------------------------------------ */

int rn_target_client(const struct rn_args *args, const char *prefix,
                     runnel_client **out)
{
    const char *account = find_text(args, prefix, "account");
    const char *ca_file = rn_args_text(args, "ca-file");
    runnel_client_options options = { RUNNEL_CLIENT_INIT };
    runnel_error error = { 0 };
    char key[KEY_MAX];
    int status;

    if (ca_file && access(ca_file, R_OK))
        return rn_report(RN_EXIT_USAGE, "the CA file %s: %s", ca_file,
                         strerror(errno));
    status = read_key(args, prefix, key);
    if (status)
        return status;
    options.user_agent = "runnel-tools";
    options.ca_file = ca_file;
    options.insecure_tls = rn_args_flag(args, "insecure");
    /* Somebody waits at a terminal. */
    options.connect_timeout_ms = CONNECT_MS;
    options.retry_wait_ms = RETRY_WAIT_MS;
    if (account && strstr(account, "AccountEndpoint=")) {
        options.connection_string = account;
    } else {
        options.endpoint = account ? account : LOCAL_SERVER;
        options.key = key[0] ? key : NULL;
    }
    if (!runnel_client_open(&options, out, &error)) {
        status = RN_EXIT_OK;
    } else if (!options.key && strstr(error.message, "none of key")) {
        status = rn_report(RN_EXIT_USAGE,
                           "the account %s needs a key: give --%skey-file FILE",
                           account, prefix);
    } else {
        status = rn_report(RN_EXIT_USAGE, "%s", error.message);
    }
    rn_wipe_secret(key, sizeof(key));
    return status;
}

int rn_target_container(runnel_client *client, const char *option,
                        const char *database, const char *name,
                        runnel_container **out)
{
    const char *slash = name ? strchr(name, '/') : NULL;
    char first[512];
    runnel_error error = { 0 };

    if (slash) {
        snprintf(first, sizeof(first), "%.*s", (int)(slash - name), name);
        database = first;
        name = slash + 1;
    }
    if (!name || !*name)
        return rn_report(RN_EXIT_USAGE, "%s is missing", option);
    if (!database || !*database) {
        return rn_report(RN_EXIT_USAGE,
                         "%s %s: which database?  Give DB/CONTAINER or --db",
                         option, name);
    }
    if (runnel_container_open(client, database, name, out, &error))
        return rn_report_error(&error);
    return RN_EXIT_OK;
}

static void cancel(void *client)
{
    runnel_client_cancel(client);
}

/* Keeps the names that messages need. */
static int keep_names(const struct rn_args *args, struct rn_target *out)
{
    const char *database = rn_args_text(args, "db");
    const char *container = rn_args_text(args, "container");
    char *slash;

    if (container && strchr(container, '/'))
        out->names = rn_new_text(container);
    else {
        struct rn_buf both = RN_BUF_INIT(4096);
        if (!rn_buf_printf(&both, "%s/%s", database ? database : "",
                           container ? container : "") &&
            !rn_buf_add(&both, rn_view_of("", 1)))
            out->names = rn_buf_take(&both);
        rn_buf_release(&both);
    }
    if (!out->names)
        return rn_report(RN_EXIT_FAILED, "out of memory");
    slash = strchr(out->names, '/');
    *slash = 0;
    out->database_name = out->names;
    out->container_name = slash + 1;
    return RN_EXIT_OK;
}

int rn_target_open(const struct rn_args *args, struct rn_target *out)
{
    struct rn_target target = { 0 };
    int status = rn_target_client(args, "", &target.client);

    if (!status && args->tool->uses & RN_USES_CONTAINER) {
        status = keep_names(args, &target);
        if (!status) {
            status = rn_target_container(
                target.client, "--container", target.database_name,
                target.container_name, &target.container);
        }
    }
    if (!status)
        rn_on_interrupt(cancel, target.client);
    else
        rn_target_close(&target);
    *out = target;
    return status;
}

void rn_target_close(struct rn_target *target)
{
    rn_on_interrupt(NULL, NULL);
    runnel_container_close(target->container);
    runnel_client_close(target->client);
    rn_free(target->names);
    *target = (struct rn_target){ 0 };
}
