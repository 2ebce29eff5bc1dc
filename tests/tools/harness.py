"""harness.py -- what the tests of the tools share: a server, commands, cases.

    @case("get prints a document")
    def _():
        box = container("orders")
        box.put({"id": "1", "pk": "a"})
        result = runnel("get", "--container", box.name, "--pk", "a", "1")
        equal(result.code, 0, result.err)

One server serves all cases of a file.  Only the standard library.  RUNNEL_DEV
names the program `runnel`; `runnel-tools` lies beside it.
"""
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../ops"))
sys.path.insert(0, os.path.join(HERE, "../lib"))
import cases  # noqa: E402
from cases import EMULATOR_KEY, case, equal, eventually  # noqa: E402,F401
from lib import LIMIT_S, RUNNEL, Server  # noqa: E402,F401

TOOLS = os.path.join(os.path.dirname(RUNNEL), "runnel-tools")

_servers = []
_scratch = []


@functools.cache
def tools():
    """The names of all tools."""
    listed = subprocess.run([TOOLS, "--commands"], capture_output=True,
                            text=True, check=True).stdout
    return [line.split()[0] for line in listed.splitlines()]


def server():
    """The server of this file; started when the first case asks for it."""
    if not _servers:
        _servers.append(Server().__enter__())
    return _servers[0]


def scratch(name):
    """A path in a directory that is removed behind the file."""
    if not _scratch:
        _scratch.append(tempfile.mkdtemp())
    return os.path.join(_scratch[0], name)


def run_file():
    """Runs the cases declared since the last call; how many failed."""
    failed = cases.run_all()
    cases.forget()
    try:
        for each in _servers:
            each.__exit__(None)
    except AssertionError as fault:
        print(f"not ok the server of the file ends cleanly\n    {fault}")
        failed += 1
    _servers.clear()
    while _scratch:
        shutil.rmtree(_scratch.pop())
    return failed


class Container:
    """A container on the server of the file, with several ranges if asked."""

    def __init__(self, name, ranges=1, **definition):
        self.name, self.path = f"d/{name}", f"/dbs/d/colls/{name}"
        server().post("/dbs", {"id": "d"})
        body = {"id": name, "partitionKey": {"paths": ["/pk"], "kind": "Hash",
                                             "version": 2}, **definition}
        status, _, answer = server().post(
            "/dbs/d/colls", body,
            headers={"x-ms-offer-throughput": str(10000 * ranges)
                     if ranges > 1 else "400"})
        equal(status, 201, answer)

    def put(self, document):
        """Upserts; gives the stored document."""
        status, _, body = server().put(
            self.path, document, headers={
                "x-ms-documentdb-is-upsert": "true",
                "x-ms-documentdb-partitionkey": json.dumps(
                    [document["pk"]] if "pk" in document else [{}])})
        assert status in (200, 201), body
        return body

    def delete(self, identity, pk):
        status, _, body = server().ask(
            "DELETE", f"{self.path}/docs/{identity}",
            headers={"x-ms-documentdb-partitionkey": json.dumps([pk])})
        equal(status, 204, body)


def container(name, ranges=1, **definition):
    return Container(name, ranges, **definition)


def account():
    return f"http://127.0.0.1:{server().port}/"


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def lines(self):
        return self.out.splitlines()

    @property
    def json(self):
        """Each line of the output, which is JSON."""
        return [json.loads(line) for line in self.lines]


def environment(**more):
    """The environment of a command: the server of the file is its account."""
    env = {name: value for name, value in os.environ.items()
           if not name.startswith("RUNNEL_") and name != "NO_COLOR"}
    env.update({"RUNNEL_ACCOUNT": account(), **more})
    return {name: value for name, value in env.items() if value is not None}


def start(*arguments, env=None, **more):
    """Starts `runnel ...`; its pipes are text.  A tool is started as `runnel`
    would become it, without the two programs before it."""
    more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE, "text": True, **more}
    program = TOOLS if arguments[0] in tools() else RUNNEL
    return subprocess.Popen([program, *arguments],
                            env=environment(**(env or {})), **more)


def finish(process, input=None):
    """The result of a process that ends; no sanitizer had a complaint."""
    try:
        out, err = process.communicate(input, LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"does not end: {out[-1000:]} {err}") from None
    assert not re.search("Sanitizer|runtime error:", err or ""), err
    return Result(process.returncode, out, err)


def runnel(*arguments, input=None, env=None, **more):
    """Runs `runnel ...` to its end."""
    if input is not None:
        more["stdin"] = subprocess.PIPE
    return finish(start(*arguments, env=env, **more), input)


def fails(code, words, *arguments, **more):
    """It exits with that code, prints nothing, and says one line like that."""
    result = runnel(*arguments, **more)
    equal(result.code, code, result.err)
    equal(result.out, "")
    equal(len(result.err.splitlines()), 1, result.err)
    assert re.search(words, result.err), result.err
    assert result.err.startswith(f"runnel {arguments[0]}: "), result.err
    return result
