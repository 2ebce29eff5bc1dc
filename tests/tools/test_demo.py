"""test_demo.py -- `runnel demo`, in a pseudo-terminal."""
import glob
import os
import re
import signal
import time

from harness import LIMIT_S, case, equal, fails, scratch
from terminal import Terminal


def processes(home):
    """Processes that have the directory of the demo in their arguments, or the
    account of its server."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                text = file.read().decode(errors="replace")
        except OSError:
            continue
        if home in text:
            found.append(text)
    return found


class Demo(Terminal):
    def __init__(self, name):
        self.home = scratch(name)
        os.makedirs(self.home)
        super().__init__("demo", rows=40, columns=90,
                         env={"TMPDIR": self.home})
        self.account = ""

    def ready(self):
        """Every lease has a living host."""
        self.account = self.wait_for(r"http://127.0.0.1:\d+/")[0]
        self.wait(lambda s: len(self.leases()) >= 4 and self.owned(),
                  "lease of a living host")

    def leases(self):
        """The host of each lease."""
        return {lease: host for _, lease, host in self.table()}

    def ranges(self):
        return {range for range, _, _ in self.table()}

    def table(self):
        return re.findall(r"^(\d+) +\d+ +(\S+) +(\S+) +[-\d]",
                          self.screen.text, re.M)

    def hosts(self):
        return set(re.findall(r"^(host-\d+) +process", self.screen.text, re.M))

    def owned(self):
        return self.leases() and set(self.leases().values()) <= self.hosts()

    def nothing_is_left(self):
        deadline = time.monotonic() + LIMIT_S
        while processes(self.home) or processes(self.account or self.home):
            assert time.monotonic() < deadline, processes(self.home)
            time.sleep(0.01)
        equal(os.listdir(self.home), [])


@case("the demo shows leases that move when hosts are killed and added")
def _():
    with Demo("moves") as t:
        t.ready()
        equal(t.hosts(), {"host-1", "host-2", "host-3"})
        equal(set(t.leases()), {"0", "1", "2", "3"})
        t.wait_for(r"process \d+, 1 lease\n")
        t.wait_for(r"writes [1-9]\d*/s +feed [1-9]\d*/s")
        for rows, columns in (1, 1), (3, 20), (100, 300):
            t.resize(rows, columns)
            t.wait(lambda s: len(s.text) >= columns, f"{columns} columns")
        t.resize(40, 90)
        t.send("k")
        t.wait(lambda s: t.hosts() == {"host-2", "host-3"} and t.owned(),
               "lease without host-1")
        t.wait_for("moved")
        t.send("a")
        t.wait(lambda s: "host-4" in t.leases().values(), "lease of host-4")
        t.send("s")
        t.wait(lambda s: len(t.ranges()) == 5 and t.owned(), "fifth range")
        t.send("m")
        t.wait(lambda s: len(t.ranges()) == 4 and t.owned(), "merged range")
        t.send("q")
        equal(t.end(), 0)
        t.nothing_is_left()


@case("the demo leaves nothing behind at Ctrl-C, SIGTERM and when it is killed")
def _():
    for name, end in [("c", lambda t: t.interrupt()),
                      ("term", lambda t: t.signal(signal.SIGTERM))]:
        with Demo(name) as t:
            t.wait_for("host-3 +process")
            end(t)
            equal(t.end(), 130)
            t.nothing_is_left()
    with Demo("killed") as t:
        t.wait_for("host-3 +process")
        t.signal(signal.SIGKILL)
        deadline = time.monotonic() + LIMIT_S
        while processes(t.home):
            assert time.monotonic() < deadline, processes(t.home)
            time.sleep(0.01)


@case("the demo needs a terminal")
def _():
    fails(2, "needs a terminal", "demo")
