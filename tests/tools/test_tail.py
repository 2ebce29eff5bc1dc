"""test_tail.py -- `runnel tail`."""
import json
import os
import queue
import signal
import threading

from harness import (LIMIT_S, Server, case, container, equal, eventually,
                     fails, finish, runnel, scratch, start)
from terminal import Terminal

VERSIONS = {"changeFeedPolicy": {"retentionDuration": 10,
                                 "previousImages": True}}


class Tail:
    """`runnel tail` with a checkpoint, which shows when it has begun."""

    def __init__(self, name, *options, checkpoint=None):
        self.file = checkpoint or scratch(f"{name.replace('/', '-')}.position")
        self.process = start("tail", "--container", name, "--checkpoint",
                             self.file, *options)
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        eventually(lambda: os.path.exists(self.file), lambda done: done)

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))

    def line(self):
        """The next line; it must come."""
        return self.lines.get(timeout=LIMIT_S)

    def rest(self):
        """All that is left, when it has ended."""
        self.process.wait(LIMIT_S)
        self.reader.join(LIMIT_S)
        return list(self.lines.queue)

    def end(self, number=signal.SIGINT):
        """The exit status and standard error; nothing more was printed."""
        self.process.send_signal(number)
        equal(self.rest(), [])
        return self.process.returncode, self.process.stderr.read()


@case("tail prints each change as it comes, until it is interrupted")
def _():
    box = container("follow", ranges=2)
    box.put({"id": "old", "pk": "a"})
    tail = Tail(box.name)
    for i in range(5):
        stored = box.put({"id": str(i), "pk": f"k{i}", "n": i})
        found = tail.line()
        equal({name: found[name] for name in stored}, stored)
    equal(tail.end(), (130, ""))


@case("tail starts at the beginning, now, a time or a token, and ends --once")
def _():
    box = container("starts")
    tail = ["tail", "--container", box.name, "--once"]
    for i in range(3):
        box.put({"id": str(i), "pk": "a"})
    equal([d["id"] for d in runnel(*tail, "--start", "beginning").json],
          ["0", "1", "2"])
    equal(runnel(*tail).out, "")
    equal(runnel(*tail, "--start", "now").out, "")
    equal(len(runnel(*tail, "--start", "2020-01-01T00:00:00Z").json), 3)
    equal(runnel(*tail, "--start", "2100-01-01T00:00:00Z").out, "")
    equal(runnel(*tail, "--start", "beginning", "--checkpoint",
                 scratch("starts")).code, 0)
    with open(scratch("starts"), encoding="utf-8") as file:
        token = json.load(file)["token"]
    box.put({"id": "later", "pk": "a"})
    equal([d["id"] for d in runnel(*tail, "--token", token).json], ["later"])


@case("tail follows a range, a range id or a partition key")
def _():
    box = container("scopes", ranges=2)
    for i in range(20):
        box.put({"id": str(i), "pk": f"k{i % 4}"})
    tail = ["tail", "--container", box.name, "--once", "--start", "beginning"]
    equal(sorted(int(d["id"]) for d in runnel(*tail, "--pk", "k1").json),
          [1, 5, 9, 13, 17])
    ranges = runnel("ranges", "--json", "--container", box.name).json
    by_id = [[d["id"] for d in runnel(*tail, "--range", r["id"]).json]
             for r in ranges]
    by_bounds = [[d["id"] for d in
                  runnel(*tail, "--range", f"{r['min']}-{r['max']}").json]
                 for r in ranges]
    equal(by_id, by_bounds)
    equal(sorted(int(i) for part in by_id for i in part), list(range(20)))


@case("tail prints only changes that the filters let through")
def _():
    box = container("filters")
    for i, status in enumerate(["open", "closed", "open", 7]):
        box.put({"id": str(i), "pk": "a", "status": status,
                 "at": {"zip": "12345" if i % 2 else 12345.0}})
    tail = ["tail", "--container", box.name, "--once", "--start", "beginning"]

    def ids(*filters):
        options = [word for f in filters for word in ("--filter", f)]
        return [d["id"] for d in runnel(*tail, *options).json]

    equal(ids("status=open"), ["0", "2"])
    equal(ids("/status=7"), ["3"])
    equal(ids("/at/zip=12345"), ["0", "1", "2", "3"])
    equal(ids('/at/zip="12345"'), ["1", "3"])
    equal(ids('at={"zip":12345.0}'), ["0", "2"])
    equal(ids("status=open", "id=2"), ["2"])
    equal(ids("none=null"), [])


@case("tail prints all versions with what changed")
def _():
    box = container("versions", **VERSIONS)
    tail = Tail(box.name, "--all-versions")
    box.put({"id": "1", "pk": "a", "n": 1, "old": True})
    box.put({"id": "1", "pk": "a", "n": 2, "new": [1]})
    box.delete("1", "a")
    changes = [tail.line() for _ in range(3)]
    equal([c["kind"] for c in changes], ["created", "replaced", "deleted"])
    equal(changes[1]["document"]["n"], 2)
    equal(changes[1]["previous"]["n"], 1)
    equal(changes[1]["previousLsn"], changes[0]["lsn"])
    equal([c["partitionKey"] for c in changes], ["a"] * 3)
    assert changes[0]["lsn"] < changes[1]["lsn"] < changes[2]["lsn"]
    equal(changes[2]["previous"]["new"], [1])
    equal(tail.end(), (130, ""))


@case("tail shows a readable diff on a terminal")
def _():
    box = container("diff", **VERSIONS)
    with Terminal("tail", "--container", box.name, "--all-versions",
                  "--checkpoint", scratch("diff")) as t:
        eventually(lambda: os.path.exists(scratch("diff")), lambda x: x)
        box.put({"id": "1", "pk": "eu", "n": 1, "old": "x",
                 "in": {"a": [1, 2, 3]}})
        box.put({"id": "1", "pk": "eu", "n": 2.5, "new": True,
                 "in": {"a": [1, 4]}})
        box.delete("1", "eu")
        t.wait_for(r"deleted")
        t.wait_for(r'created  "eu" 1 lsn \d+\n'
                   r'  {"id": "1", "pk": "eu", "n": 1, "old": "x", '
                   r'"in": {"a": \[1, 2, 3\]}}\n')
        t.wait_for(r'replaced "eu" 1 lsn \d+\n'
                   r'  ~ /n: 1 -> 2.5\n'
                   r'  - /old: "x"\n'
                   r'  ~ /in/a/1: 2 -> 4\n'
                   r'  - /in/a/2: 3\n'
                   r'  \+ /new: true\n')
        assert {"31", "32", "33"} <= t.screen.colors, t.screen.colors
        box.put({"id": "2", "pk": "Zürich 日本 \n"})
        t.wait_for(r'created  "Zürich 日本 \\n" 2 lsn')
        t.interrupt()
        equal(t.end(), 130)


@case("tail resumes behind its checkpoint, which outlives kill -9")
def _():
    box = container("resume", ranges=2)
    seen = []
    for turn in range(3):
        tail = Tail(box.name, "--start", "beginning")
        for i in range(4):
            box.put({"id": f"{turn}-{i}", "pk": f"k{i}"})
        while not {f"{turn}-{i}" for i in range(4)} <= set(seen):
            seen.append(tail.line()["id"])
        tail.process.send_signal(signal.SIGINT if turn == 2 else
                                 signal.SIGKILL)
        seen += [d["id"] for d in tail.rest()]
    equal(sorted(set(seen)), sorted(f"{t}-{i}" for t in range(3)
                                    for i in range(4)))
    equal(Tail(box.name, "--once").rest(), [])  # the last one ended in order


@case("tail prints what changed while it was away exactly once")
def _():
    box = container("away")
    tail = ["tail", "--container", box.name, "--once", "--checkpoint",
            scratch("away"), "--start", "beginning"]
    for i in range(4):
        box.put({"id": str(i), "pk": "a"})
        equal([d["id"] for d in runnel(*tail).json], [str(i)])
    equal(runnel(*tail).out, "")


@case("tail follows splits and merges")
def _():
    box = container("splits")
    tail = Tail(box.name)
    box.put({"id": "0", "pk": "a"})
    equal(tail.line()["id"], "0")
    equal(runnel("split", "--container", box.name, "0").code, 0)
    for i in range(1, 5):
        box.put({"id": str(i), "pk": f"k{i}"})
    equal(sorted(tail.line()["id"] for _ in range(4)), list("1234"))
    equal(runnel("merge", "--container", box.name, "1", "2").code, 0)
    box.put({"id": "5", "pk": "a"})
    equal(tail.line()["id"], "5")
    equal(tail.end(signal.SIGTERM), (130, ""))


@case("tail waits for a server that was stopped and comes back")
def _():
    with Server() as first:
        path = first.make("d", "back")
        tail = Tail("d/back", "--account", f"http://127.0.0.1:{first.port}/")
        first.stop()
        first.listen = f"127.0.0.1:{first.port}"
        said = tail.process.stderr.readline()
        assert "trying again" in said, said
        first.start()
        first.put(path, {"id": "1", "pk": "a"}, headers={
            "x-ms-documentdb-partitionkey": '["a"]'})
        equal(tail.line()["id"], "1")
        equal(tail.end(), (130, ""))


@case("tail ends quietly when its reader goes away, and keeps its position")
def _():
    box = container("pipe")
    process = start("tail", "--container", box.name, "--checkpoint",
                    scratch("pipe"))
    eventually(lambda: os.path.exists(scratch("pipe")), lambda x: x)
    process.stdout.close()
    process.stdout = None
    box.put({"id": "1", "pk": "a"})
    result = finish(process)
    equal((result.code, result.err), (141, ""))
    equal([d["id"] for d in runnel("tail", "--container", box.name, "--once",
                                   "--checkpoint", scratch("pipe")).json],
          ["1"])


@case("tail says what is wrong with its options")
def _():
    box = container("badtail")
    tail = ["tail", "--once", "--container", box.name]
    fails(2, "--start is beginning, now or an instant .*, not 'soon'", *tail,
          "--start", "soon")
    fails(2, "--filter is PATH=VALUE, not 'x'", *tail, "--filter", "x")
    fails(2, "--filter /a b=1: ", *tail, "--filter", "/a b=1")
    fails(1, "'nonsense' is no continuation", *tail, "--token", "nonsense")
    fails(3, 'container "none" does not exist in database "d"', "tail",
          "--once", "--container", "d/none")
    fails(1, "runnel tail: ", *tail, "--range", "7")
    with open(scratch("damaged"), "w", encoding="ascii") as file:
        file.write('{"container":')
    fails(2, "damaged: JSON at offset", *tail, "--checkpoint",
          scratch("damaged"))
    other = container("other")
    equal(runnel("tail", "--once", "--container", other.name, "--checkpoint",
                 scratch("other")).code, 0)
    fails(2, "it is of another container", *tail, "--checkpoint",
          scratch("other"))
    for more in (["--pk", "a"], ["--range", "0"], ["--all-versions"]):
        fails(2, "checkpoint .*: it is of ", "tail", "--once", "--container",
              other.name, "--checkpoint", scratch("other"), *more)
    fails(2, "give --range or --pk", *tail, "--pk", "a", "--range", "0")
    fails(1, "checkpoint .*: ", *tail, "--checkpoint", "/nowhere/x")
