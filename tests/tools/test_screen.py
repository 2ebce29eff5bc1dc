"""test_screen.py -- live views and progress bars, on a terminal and off it."""
import os
import signal
import shlex
import subprocess

from harness import (LIMIT_S, RUNNEL, TOOLS, case, container, environment,
                     equal)
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


@case("a view fits the smallest and a huge terminal, one after the other")
def _():
    with Terminal("view", rows=1, columns=1, program=PROGRAM) as t:
        for rows, columns in (1, 1), (3, 20), (100, 300), (3, 20), (1, 1):
            t.resize(rows, columns)
            first = f"{rows} rows, {columns} columns, key"[:columns].rstrip()
            last = ["0" * columns, f"line {rows - 4}"][rows > 3][:columns]
            t.wait(lambda s: s.lines[0].startswith(first) and
                   (rows == 1 or s.lines[-1] == last), first)
        t.send("q")
        equal(t.end(), 0)


@case("the live views of the tools fit the smallest and a huge terminal")
def _():
    box = container("sizes")
    container("sizeleases", partitionKey={"paths": ["/id"], "kind": "Hash"})
    equal(subprocess.run(
        [TOOLS, "trigger", "--container", box.name, "--leases", "sizeleases",
         "--exec", "cat", "--once", "--start", "beginning"],
        env=environment(), stdin=subprocess.DEVNULL, timeout=LIMIT_S,
        capture_output=True).returncode, 0)
    for command, title in (
            (["top", "--interval", "50ms"], "METHOD"),
            (["lag", "--watch", "--interval", "50ms", "--container", box.name,
              "--leases", "sizeleases"], "processor trigger on")):
        with Terminal(*command, rows=1, columns=1) as t:
            t.wait(lambda s: s.text.strip(), "first character")
            t.resize(3, 20)
            t.wait(lambda s: len(s.text) > 3, "more characters")
            t.resize(100, 300)
            t.wait_for(title)
            t.resize(1, 1)
            t.wait(lambda s: s.text.strip(), "one character again")
            t.interrupt()
            equal(t.end(), 130)


@case("Ctrl-Z gives the terminal to the shell, and fg brings the view back")
def _():
    with Terminal("--norc", "--noprofile", "--noediting", "-i", program="/bin/bash",
                  env={"PS1": "ready> ", "HISTFILE": None}) as t:
        t.wait_for("ready>$")
        t.send(shlex.quote(PROGRAM) + " view\n")
        t.wait(lambda s: s.is_alternate and "line 6" in s.text, "view")
        t.send("\x1a")
        t.wait(lambda s: not s.is_alternate and s.has_cursor and s.wraps and
               "Stopped" in s.text and s.text.endswith("ready>"), "prompt")
        t.send("fg\n")
        t.wait(lambda s: s.is_alternate and "line 6" in s.text, "view again")
        t.send("x")
        t.wait_for(f"key {ord('x')}\n")
        t.send("q")
        t.wait(lambda s: not s.is_alternate and s.text.endswith("ready>"),
               "prompt at the end")
        t.send("exit $?\n")
        equal(t.end(), 0)


@case("a terminal that is dumb gets no escape sequences")
def _():
    dumb = {"TERM": "dumb"}
    with Terminal("view", program=PROGRAM, env=dumb) as t:
        equal(t.end(), 2)
        equal(t.screen.text, "runnel screen: the live view needs a terminal "
              "that can move the cursor, and TERM\n is dumb")
    with Terminal("progress", program=PROGRAM, env=dumb) as t:
        equal((t.end(), t.raw), (0, ""))
    box = container("dumb")
    box.put({"id": "1", "pk": "a"})
    get = ["get", "--container", box.name, "--pk", "a", "1"]
    for env, is_colored in (dumb, False), ({"NO_COLOR": "1"}, False), ({}, True):
        with Terminal(*get, env=env) as t:
            equal(t.end(), 0)
            assert '"id": "1"' in t.screen.text, t.screen.text
            equal("\033" in t.raw, is_colored, env)


@case("a view without colours has none")
def _():
    with Terminal("top", env={"NO_COLOR": "1"}) as t:
        t.wait_for("METHOD")
        t.send("q")
        equal(t.end(), 0)
        equal(t.screen.colors - {"0"}, set())


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
    with Terminal("progress", rows=3, columns=20, program=PROGRAM) as t:
        equal(t.end(), 0)
        equal(t.screen.text, "copying [##########")
    done = subprocess.run([PROGRAM, "progress"], capture_output=True,
                          text=True, timeout=30)
    equal((done.returncode, done.stdout, done.stderr), (0, "", ""))
