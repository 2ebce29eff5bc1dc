"""test_screen.py -- live views and progress bars, on a terminal and off it."""
import os
import signal
import subprocess

from harness import RUNNEL, case, equal
from terminal import Terminal

PROGRAM = os.path.join(os.path.dirname(RUNNEL), "tests/screen_program")


@case("a view fits the terminal, also after its size has changed")
def _():
    with Terminal("view", rows=10, columns=40, program=PROGRAM) as t:
        t.wait_for("10 rows, 40 columns, key 0")
        t.wait_for("line 6$")
        equal(t.screen.is_alternate, True)
        equal(t.screen.lines[1], "gr\u00fcn")
        equal(t.screen.lines[2], "0" * 40)
        equal(t.screen.lines[9], "line 6")
        t.resize(20, 100)
        t.wait_for("20 rows, 100 columns, key -1")
        t.wait_for("line 16$")
        equal(t.screen.lines[2], "0" * 100)
        t.send("q")
        equal(t.end(), 0)


@case("a view reads keys one by one, arrows too")
def _():
    with Terminal("view", program=PROGRAM) as t:
        t.wait_for("key 0")
        for keys, number in (("x", ord("x")), ("\033[A", -3), ("\033[D", -5),
                             (" ", 32)):
            t.send(keys)
            t.wait_for(f"key {number}\n")
        t.send("q")
        equal(t.end(), 0)


@case("Ctrl-C, SIGTERM and a failure leave the terminal as it was")
def _():
    for end in (lambda t: t.interrupt(), lambda t: t.signal(signal.SIGTERM)):
        with Terminal("view", program=PROGRAM) as t:
            t.wait_for("key 0")
            end(t)
            equal(t.end(), 130)
    with Terminal("fail", program=PROGRAM) as t:
        t.wait_for("key 0")
        t.send("x")
        equal(t.end(), 1)
        equal(t.screen.text, "runnel screen: it failed")


@case("a view without a terminal is refused")
def _():
    done = subprocess.run([PROGRAM, "view"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=30)
    equal((done.returncode, done.stdout), (2, ""))
    equal(done.stderr, "runnel screen: the live view needs a terminal as "
          "standard input and output\n")


@case("a progress bar shows share, rate and time left on a terminal only")
def _():
    with Terminal("progress", program=PROGRAM) as t:
        t.wait_for(r"copying \[#{24}\] 1000/1000 documents, \d+/s, ETA 0:00")
        equal(t.end(), 0)
        assert "[##......................] 100/1000" in t.raw, t.raw
    done = subprocess.run([PROGRAM, "progress"], capture_output=True,
                          text=True, timeout=30)
    equal((done.returncode, done.stdout, done.stderr), (0, "", ""))
