/* rejects.c -- see rejects.h. */
#include "tools/import/rejects.h"

#include "tools/common/report.h"

static int put_line(struct rn_rejects *r, struct rn_view text)
{
    int status = RN_EXIT_OK;

    /* Outside strings a line end of JSON is as good as a blank, and inside
     * them JSON has none. */
    while (!status && !r->is_csv && text.len) {
        const char *newline = memchr(text.at, '\n', text.len);
        size_t len = newline ? (size_t)(newline - text.at) : text.len;

        status = rn_append_write(&r->file, rn_view_of(text.at, len));
        if (!status && newline)
            status = rn_append_write(&r->file, RN_LIT(" "));
        len += newline != NULL;
        text = rn_view_of(text.at + len, text.len - len);
    }
    if (!status)
        status = rn_append_write(&r->file, text);
    return status ? status : rn_append_write(&r->file, RN_LIT("\n"));
}

int rn_rejects_open(struct rn_rejects *r, const char *input, const char *path,
                    uint64_t length, struct rn_view header)
{
    int status;

    *r = (struct rn_rejects){ .input = input,
                              .is_csv = header.len > 0,
                              .lock = PTHREAD_MUTEX_INITIALIZER };
    if (!path)
        return RN_EXIT_OK;
    status = rn_append_open(&r->file, path, length);
    return status || length || !r->is_csv ? status : put_line(r, header);
}

int rn_rejects_add(struct rn_rejects *r, uint64_t line, struct rn_view text,
                   const char *why)
{
    int status = RN_EXIT_OK;

    pthread_mutex_lock(&r->lock);
    r->count++;
    (void)rn_report(RN_EXIT_PARTIAL, "%s:%llu: %s", r->input,
                    (unsigned long long)line, why);
    if (r->file.is_open)
        status = put_line(r, text);
    pthread_mutex_unlock(&r->lock);
    return status;
}

void rn_rejects_close(struct rn_rejects *r)
{
    rn_append_close(&r->file);
}
