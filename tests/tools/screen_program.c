/* screen_program.c -- a live view and a progress bar, for test_screen.py.
 *
 *   screen_program view       a frame that shows the size and the last key, and
 *                             is longer and wider than any terminal; q ends it
 *   screen_program progress   a bar from 0 to 1000
 *   screen_program fail       a view that fails while it is open
 */
#include "tools/common/progress.h"
#include "tools/common/report.h"
#include "tools/common/screen.h"
#include "tools/common/signals.h"

#include <string.h>

static void draw(struct rn_screen *screen, int key)
{
    rn_screen_begin(screen);
    rn_screen_line(screen, "%u rows, %u columns, key %d",
                   rn_screen_rows(screen), rn_screen_columns(screen), key);
    rn_screen_line(screen, "\033[32mgr\xc3\xbcn\033[0m");
    rn_screen_line(screen, "%0300d", 7);
    for (int i = 0; i < 200; i++)
        rn_screen_line(screen, "line %d", i);
    rn_screen_end(screen);
}

static int view(bool fails)
{
    struct rn_screen *screen = NULL;
    int key = RN_KEY_NONE;
    int status = rn_screen_open(&screen);

    while (!status && key != 'q' && key != RN_KEY_INTERRUPT) {
        draw(screen, key);
        key = rn_screen_wait(screen, 60000);
        if (fails)
            status = rn_report(RN_EXIT_FAILED, "it failed");
    }
    rn_screen_close(screen);
    return key == RN_KEY_INTERRUPT ? RN_EXIT_INTERRUPTED : status;
}

static int progress(void)
{
    struct rn_progress bar;

    rn_progress_begin(&bar, "copying", "documents", 1000, 100);
    for (uint64_t i = 100; i <= 1000; i++)
        rn_progress_set(&bar, i);
    rn_progress_end(&bar);
    return RN_EXIT_OK;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    rn_report_name("screen");
    if (!rn_signals_begin())
        return RN_EXIT_FAILED;
    return strcmp(what, "progress") == 0 ? progress()
                                         : view(strcmp(what, "fail") == 0);
}
