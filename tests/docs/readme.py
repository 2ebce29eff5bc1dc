"""readme.py -- the commands and the first program of README.md, executed.

What README.md shows is run as it stands there.  Three things differ, so that
several checkouts can run at once and nothing is fetched: the port, the directory
of the data, and `npm install`, in whose place the packages of suite sdk_js are
used.
"""
import os
import re
import shlex
import signal
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
sys.path.insert(0, os.path.join(HERE, "../tools"))
from harness import (EMULATOR_KEY, LIMIT_S, RUNNEL, Server,  # noqa: E402
                     case, environment, equal, eventually, run_file,
                     runnel, scratch, server)
from terminal import Terminal  # noqa: E402

with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as page:
    BLOCKS = re.findall(r"^```\n(.*?)^```", page.read(), re.M | re.S)


def block(command):
    """The one block with that command, as pairs of command and output.  A
    command with a here document goes on to its end, or to where a line goes on
    with only a comment."""
    found = [text for text in BLOCKS if f"$ {command}" in text]
    equal(len(found), 1, command)
    parts = re.split(r"^\$ ", found[0], flags=re.M)
    equal(parts[0], "")
    pairs = []
    for part in parts[1:]:
        here = re.match(r"[^\n]*<<'END'\n.*?^END\n", part, re.M | re.S)
        end = here.end() if here else part.index("\n") + 1
        pairs.append((part[:end], part[end:]))
    return pairs


def command(pairs, begin):
    """The command that begins like that, without its comment; its output."""
    found = [pair for pair in pairs if pair[0].startswith(begin)]
    equal(len(found), 1, begin)
    return re.sub(r" +# .*\n", "\n", found[0][0]), found[0][1]


def replaced(text, old, new):
    """README's name of a thing becomes the test's."""
    assert old in text, f"no {old} in {text}"
    return text.replace(old, new)


def as_pattern(line):
    """An output line of README: `...` stands for any text, and ports and totals
    differ."""
    line = re.escape(line).replace(re.escape("..."), ".*")
    return re.sub(r"(?<=:)\d{4}\b|(?<= )\d+$", r"\\d+", line)


class Output:
    """The lines of a program, as they come."""

    def __init__(self, text, cwd, **more):
        self.process = subprocess.Popen(
            ["bash", "-c", text], cwd=cwd, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
            **more)
        self.lines = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def has(self, patterns):
        """Waits until lines like these came, in this order."""
        patterns = list(patterns)
        assert patterns

        def missing():
            wanted = list(patterns)
            for line in list(self.lines):
                if wanted and re.fullmatch(wanted[0], line):
                    wanted.pop(0)
            assert not wanted or self.process.poll() is None, \
                f"no {wanted[0]} in " + "\n".join(self.lines)
            return wanted
        eventually(missing, lambda wanted: not wanted)

    def interrupt(self):
        """As Ctrl-C does it; the exit status."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.end()

    def end(self):
        status = self.process.wait(LIMIT_S)
        self.reader.join(LIMIT_S)
        return status


@case("README's make run builds and serves, and Ctrl-C stops it")
def _():
    pairs = block("make run")
    _, printed = command(pairs, "make run ")
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        passed = re.search(r'`(make run ARGS="[^`]*")`', file.read())[1]
    passed = replaced(passed, ":9000", f":0 --data {scratch('made')}")
    env = {name: value for name, value in os.environ.items()
           if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    made = Output(passed, ROOT, env=env)
    try:
        made.has(map(as_pattern, printed.splitlines()))
    finally:
        made.interrupt()
    made.has([".*stopped.*"])


@case("README's first program prints orders, and they outlive a kill")
def _():
    pairs = block("npm install @azure/cosmos")
    home = scratch("first")
    os.makedirs(home)
    source, _ = command(pairs, "cat > first.js")
    assert EMULATOR_KEY in source
    with Server() as own:
        source = replaced(source, "127.0.0.1:8081", f"127.0.0.1:{own.port}")
        subprocess.run(["bash", "-euc", source], cwd=home, check=True)
        run, printed = command(pairs, "node first.js")
        first = Output(f"exec {run}", home)
        first.has(map(as_pattern, printed.splitlines()))
        own.process.kill()
        own.process.wait()
        assert first.end() != 0  # the program exits when the server stops
        own.start()
        status, _, order = own.get("/dbs/shop/colls/orders", "1", "ada")
        equal((status, order["customer"]), (200, "ada"))


def tool(begin):
    """A command of README's list of tools."""
    return command(block("runnel tail"), f"runnel {begin}")[0].strip()


def shop():
    """The container of README's commands; a function that changes it."""
    server().make("shop", "orders")

    def change():
        result = runnel("put", "--container", "shop/orders",
                        '{"id":"1","pk":"ada"}')
        equal(result.code, 0, result.err)
    return change


@case("README's tail prints changes and its trigger runs a command for them")
def _():
    change = shop()
    env = environment(PATH=os.path.dirname(RUNNEL) + ":" + os.environ["PATH"])
    tail = Output(f"exec {tool('tail')}", scratch(""), env=env)
    trigger = Output(f"exec {tool('trigger')}", scratch(""), env=env)
    output = scratch("out.ndjson")

    def seen():
        change()  # both follow from now on, whenever that is
        for each in tail, trigger:
            assert each.process.poll() is None, each.lines
        return tail.lines and os.path.exists(output) and \
            os.path.getsize(output) > 0
    eventually(seen, lambda both: both)
    assert any('"ada"' in line or "ada" in line for line in tail.lines)
    with open(output, encoding="utf-8") as file:
        assert '"ada"' in file.read()
    equal(tail.interrupt(), 130)
    equal(trigger.interrupt(), 0, trigger.lines)


@case("README's demo shows hosts, and q ends it")
def _():
    words = shlex.split(tool("demo"))
    equal(words[0], "runnel")
    home = scratch("demo")
    os.makedirs(home)
    with Terminal(*words[1:], rows=40, columns=90,
                  env={"TMPDIR": home}) as demo:
        demo.wait_for(r"host-3 +process")
        demo.send("q")
        equal(demo.end(), 0)
    equal(os.listdir(home), [])


@case("README shows no command that is not executed here")
def _():
    shown = {first.split("<<")[0].strip() for text in BLOCKS
             for first in re.findall(r"^\$ ([^#\n]*)", text, re.M)}
    equal(shown, {
        "git clone URL runnel && cd runnel", "make run",  # a clone is here
        "npm install @azure/cosmos", "cat > first.js", "node first.js",
        tool("tail"), tool("trigger"), tool("demo")})


sys.exit(run_file() > 0)
