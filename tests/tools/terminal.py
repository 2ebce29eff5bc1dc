"""terminal.py -- a pseudo-terminal whose screen can be read back.

    with Terminal("lag", "--watch") as t:
        t.wait_for("LEASE")       # text that stands on the screen
        t.send("q")
        equal(t.end(), 0)

The emulator knows what the tools use: cursor moves, erasing, colours, the
alternate screen, and the column behind the last one: a character there leaves
the cursor on the last column, where erasing takes it away, as in xterm.
Anything else fails the test.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from harness import LIMIT_S, RUNNEL, environment

SEQUENCE = re.compile(r"\033\[([?0-9;]*)([A-Za-z])")


class Screen:
    """Rows of characters, and the state around them."""

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.is_alternate, self.has_cursor = False, True
        self.wraps = True
        self.colors = set()  # every colour that was used
        self.rest = ""
        self.clear()

    def clear(self):
        self.cells = [[" "] * self.columns for _ in range(self.rows)]
        self.row = self.column = 0

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.clear()

    @property
    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]

    @property
    def text(self):
        return "\n".join(self.lines).rstrip()

    def feed(self, text):
        text = self.rest + text
        at = 0
        while at < len(text):
            if text[at] == "\033":
                found = SEQUENCE.match(text, at)
                if not found:
                    break  # the rest of it has not come yet
                self.control(found[1], found[2])
                at = found.end()
            else:
                self.character(text[at])
                at += 1
        self.rest = text[at:]
        assert len(self.rest) < 32, f"unknown sequence {self.rest!r}"

    def character(self, c):
        if c == "\r":
            self.column = 0
        elif c == "\n":
            self.newline()
        elif c != "\a":
            if self.column == self.columns and self.wraps:
                self.column = 0
                self.newline()
            self.column = min(self.column, self.columns - 1)
            self.cells[self.row][self.column] = c
            self.column += 1

    def newline(self):
        self.row += 1
        if self.row == self.rows:
            self.cells = self.cells[1:] + [[" "] * self.columns]
            self.row -= 1

    def control(self, numbers, letter):
        if letter == "m":
            self.colors.update(numbers.split(";"))
        elif letter == "H":
            place = [int(n or 1) for n in (numbers or "1;1").split(";")]
            self.row, self.column = place[0] - 1, place[1] - 1
        elif letter == "K":
            first = min(self.column, self.columns - 1)
            self.cells[self.row][first:] = [" "] * (self.columns - first)
        elif letter == "J":
            first = 0 if numbers == "2" else self.row + 1
            if numbers != "2":
                self.control("", "K")
            for row in range(first, self.rows):
                self.cells[row] = [" "] * self.columns
        elif letter in "hl" and numbers == "?1049":
            self.is_alternate = letter == "h"
            self.clear()
        elif letter in "hl" and numbers == "?7":
            self.wraps = letter == "h"
        elif letter in "hl" and numbers == "?25":
            self.has_cursor = letter == "h"
        else:
            raise AssertionError(f"unknown sequence {numbers}{letter}")


class Terminal:
    """`runnel ...` in a pseudo-terminal."""

    def __init__(self, *arguments, rows=24, columns=80, env=None,
                 program=RUNNEL):
        self.screen = Screen(rows, columns)
        self.raw = ""
        self.master, slave = pty.openpty()
        self._set_size()
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.process = subprocess.Popen(
            [program, *arguments], stdin=slave, stdout=slave, stderr=slave,
            env=environment(**{"TERM": "xterm-256color", **(env or {})}),
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def _set_size(self):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack(
            "HHHH", self.screen.rows, self.screen.columns, 0, 0))

    def resize(self, rows, columns):
        """As a window does: the size changes, and SIGWINCH announces it."""
        self.screen.resize(rows, columns)
        self._set_size()

    def send(self, keys):
        os.write(self.master, keys.encode())

    def interrupt(self):
        """Ctrl-C at the keyboard."""
        self.send("\x03")

    def read(self, seconds):
        """Reads what comes within that time, at most once."""
        if select.select([self.master], [], [], seconds)[0]:
            text = os.read(self.master, 65536).decode(errors="replace")
            self.raw += text
            self.screen.feed(text)

    def wait(self, holds, what):
        deadline = time.monotonic() + LIMIT_S
        while not holds(self.screen):
            assert time.monotonic() < deadline, \
                f"no {what} on the screen:\n{self.screen.text}\n{self.raw!r}"
            self.read(0.1)
        return self.screen

    def wait_for(self, pattern):
        """Waits until the pattern is on the screen; gives the match."""
        self.wait(lambda screen: re.search(pattern, screen.text), pattern)
        return re.search(pattern, self.screen.text)

    def end(self):
        """The exit status; the terminal is as it was before."""
        deadline = time.monotonic() + LIMIT_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.screen.text
            self.read(0.05)
        while select.select([self.master], [], [], 0)[0]:
            self.read(0)
        assert not self.screen.is_alternate, "the alternate screen is left on"
        assert self.screen.has_cursor, "the cursor is left off"
        assert self.screen.wraps, "lines are left without wrapping"
        now = termios.tcgetattr(self.slave)
        assert now == self.before, f"{now} is not {self.before}"
        return self.process.returncode

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)
