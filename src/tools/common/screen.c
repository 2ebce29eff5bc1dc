/* screen.c -- raw mode, the alternate screen, frames and keys. */
#include "tools/common/screen.h"

#include "base/mem.h"
#include "tools/common/report.h"
#include "tools/common/signals.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum { FRAME_MAX = 1 << 20, LINE_MAX_BYTES = 4096 };

struct rn_screen {
    struct rn_buf frame;
    uint32_t rows, columns, used;
    struct termios raw;
};

enum { CTRL_Z = 'Z' - '@' };

/* The terminal as it was; `is_changed` while a screen is open. */
static struct termios original;
static atomic_bool is_changed;

static void send(struct rn_view bytes)
{
    while (bytes.len) {
        ssize_t n = write(STDOUT_FILENO, bytes.at, bytes.len);

        if (n <= 0)
            return;
        bytes = rn_view_of(bytes.at + n, bytes.len - (size_t)n);
    }
}

void rn_screen_restore(void)
{
    if (!atomic_exchange(&is_changed, false))
        return;
    send(RN_LIT("\033[0m\033[?7h\033[?25h\033[?1049l"));
    (void)!tcsetattr(STDIN_FILENO, TCSAFLUSH, &original);
}

/* Lines do not wrap: characters that take two columns, and a terminal that
 * became narrower behind the last frame, do not break the view. */
static void enter(struct rn_screen *screen)
{
    atomic_store(&is_changed, true);
    (void)!tcsetattr(STDIN_FILENO, TCSAFLUSH, &screen->raw);
    send(RN_LIT("\033[?1049h\033[?25l\033[?7l\033[2J"));
}

/* Ctrl-Z: the shell gets the terminal as it was, until it continues us. */
static void suspend(struct rn_screen *screen)
{
    rn_screen_restore();
    raise(SIGTSTP);
    enter(screen);
}

static bool is_dumb(void)
{
    const char *term = getenv("TERM");

    return term && strcmp(term, "dumb") == 0;
}

int rn_screen_open(struct rn_screen **out)
{
    struct rn_screen *screen;

    if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &original)) {
        return rn_report(RN_EXIT_USAGE,
                         "the live view needs a terminal as standard input "
                         "and output");
    }
    if (is_dumb()) {
        return rn_report(RN_EXIT_USAGE,
                         "the live view needs a terminal that can move the "
                         "cursor, and TERM is dumb");
    }
    screen = rn_new(sizeof(*screen));
    if (!screen)
        return rn_report(RN_EXIT_FAILED, "out of memory");
    screen->frame = RN_BUF_INIT(FRAME_MAX);
    screen->raw = original;
    screen->raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    screen->raw.c_cc[VMIN] = 0;
    screen->raw.c_cc[VTIME] = 0;
    screen->raw.c_cc[VSUSP] = _POSIX_VDISABLE; /* Ctrl-Z is a key: suspend */
    enter(screen);
    *out = screen;
    return RN_EXIT_OK;
}

void rn_screen_close(struct rn_screen *screen)
{
    if (!screen)
        return;
    rn_screen_restore();
    rn_buf_release(&screen->frame);
    rn_free(screen);
}

uint32_t rn_screen_rows(const struct rn_screen *screen)
{
    return screen->rows;
}

uint32_t rn_screen_columns(const struct rn_screen *screen)
{
    return screen->columns;
}

static void add(struct rn_screen *screen, struct rn_view bytes)
{
    (void)!rn_buf_add(&screen->frame, bytes);
}

void rn_screen_begin(struct rn_screen *screen)
{
    struct winsize size = { 0 };

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col)
        size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
    screen->rows = size.ws_row;
    screen->columns = size.ws_col;
    screen->used = 0;
    rn_buf_clear(&screen->frame);
    add(screen, RN_LIT("\033[H"));
}

/* Where the text must be cut to take no more than so many columns.  Escape
 * sequences take none; a character of UTF-8 takes one. */
static size_t fitting(const char *text, uint32_t columns)
{
    size_t at = 0;

    while (text[at]) {
        if (text[at] == '\033' && text[at + 1] == '[') {
            at += 2;
            while (text[at] && (text[at] < '@' || text[at] > '~'))
                at++;
            at += text[at] != 0;
            continue;
        }
        if ((text[at] & 0xc0) != 0x80 && columns-- == 0)
            return at;
        at++;
    }
    return at;
}

void rn_screen_line(struct rn_screen *screen, const char *fmt, ...)
{
    char text[LINE_MAX_BYTES];
    va_list args;

    if (screen->used == screen->rows)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (screen->used++)
        add(screen, RN_LIT("\r\n"));
    /* Erased first: behind a full line, the cursor stands on its last
     * character. */
    add(screen, RN_LIT("\033[K"));
    add(screen, rn_view_of(text, fitting(text, screen->columns)));
    add(screen, RN_LIT("\033[0m"));
}

void rn_screen_end(struct rn_screen *screen)
{
    if (screen->used < screen->rows)
        add(screen, RN_LIT("\r\n\033[J"));
    send(rn_buf_view(&screen->frame));
}

/* The rest of an arrow key's sequence; any other sequence is dropped. */
static int read_sequence(void)
{
    char rest[16];
    ssize_t n = read(STDIN_FILENO, rest, sizeof(rest));

    if (n == 0)
        return '\033';
    if (n == 2 && rest[0] == '[' && rest[1] >= 'A' && rest[1] <= 'D') {
        static const int keys[] = { RN_KEY_UP, RN_KEY_DOWN, RN_KEY_RIGHT,
                                    RN_KEY_LEFT };
        return keys[rest[1] - 'A'];
    }
    return RN_KEY_NONE;
}

int rn_screen_wait(struct rn_screen *screen, uint32_t ms)
{
    struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
                            { .fd = rn_signals_fd(), .events = POLLIN } };
    char byte;

    if (poll(fds, 2, ms > INT32_MAX ? -1 : (int)ms) <= 0)
        return rn_interrupted() ? RN_KEY_INTERRUPT : RN_KEY_NONE;
    if (fds[1].revents)
        return read(rn_signals_fd(), &byte, 1) == 1 ? RN_KEY_RESIZE
                                                    : RN_KEY_INTERRUPT;
    if (read(STDIN_FILENO, &byte, 1) != 1) /* the terminal is gone */
        return fds[0].revents & POLLHUP ? RN_KEY_INTERRUPT : RN_KEY_NONE;
    if (byte == CTRL_Z) {
        suspend(screen);
        return RN_KEY_RESIZE;
    }
    return byte == '\033' ? read_sequence() : (unsigned char)byte;
}
