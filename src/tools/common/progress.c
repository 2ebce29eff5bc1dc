/* progress.c -- draws a progress bar. */
#include "tools/common/progress.h"

#include "base/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BAR_CELLS = 24, DRAW_NS = 100000000 };

static int64_t now_ns(void)
{
    struct rn_env *env = rn_env_real();

    return env->ops->mono_ns(env);
}

/* "1:02:03" or "2:03". */
static void print_time(char *out, size_t room, double seconds)
{
    unsigned s = seconds > 359999 ? 359999 : (unsigned)seconds;

    if (s >= 3600)
        snprintf(out, room, "%u:%02u:%02u", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, room, "%u:%02u", s / 60, s % 60);
}

/* Shows the line; a longer one than the terminal would wrap, and pile up. */
static void show(const char *line)
{
    struct winsize size = { 0 };
    int columns = 80;

    if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col)
        columns = size.ws_col;
    fprintf(stderr, "\r\033[K%.*s", columns - 1, line);
}

static void draw(struct rn_progress *p, int64_t now)
{
    double seconds = (double)(now - p->began_ns) / 1e9;
    double rate = seconds > 0 ? (double)(p->done - p->began_done) / seconds : 0;
    char left[16] = "-", bar[BAR_CELLS + 1], line[256];
    int cells;

    p->drawn_ns = now;
    if (!p->total) {
        snprintf(line, sizeof(line), "%s %s: %llu, %.0f/s", p->label, p->unit,
                 (unsigned long long)p->done, rate);
        show(line);
        return;
    }
    cells = p->done >= p->total
                ? BAR_CELLS
                : (int)((double)p->done / (double)p->total * BAR_CELLS);
    for (int i = 0; i < BAR_CELLS; i++)
        bar[i] = i < cells ? '#' : '.';
    bar[BAR_CELLS] = 0;
    if (rate > 0 && p->done <= p->total)
        print_time(left, sizeof(left), (double)(p->total - p->done) / rate);
    snprintf(line, sizeof(line), "%s [%s] %llu/%llu %s, %.0f/s, ETA %s",
             p->label, bar, (unsigned long long)p->done,
             (unsigned long long)p->total, p->unit, rate, left);
    show(line);
}

static bool can_show(void)
{
    const char *term = getenv("TERM");

    return isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
}

void rn_progress_begin(struct rn_progress *p, const char *label,
                       const char *unit, uint64_t total, uint64_t done)
{
    *p = (struct rn_progress){ .label = label,
                               .unit = unit,
                               .total = total,
                               .done = done,
                               .began_ns = now_ns(),
                               .began_done = done,
                               .is_shown = can_show() };
    if (p->is_shown)
        draw(p, p->began_ns);
}

void rn_progress_set(struct rn_progress *p, uint64_t done)
{
    int64_t now;

    p->done = done;
    if (!p->is_shown)
        return;
    now = now_ns();
    if (now - p->drawn_ns >= DRAW_NS)
        draw(p, now);
}

void rn_progress_end(struct rn_progress *p)
{
    if (!p->is_shown)
        return;
    draw(p, now_ns());
    fprintf(stderr, "\n");
    p->is_shown = false;
}
