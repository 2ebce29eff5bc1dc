"""test_leases.py -- `runnel lag`, `runnel leases` and `runnel doctor`.

Method: `runnel trigger` is the host.  Its handler appends each change to a
trace, so that a case sees which changes came again.  The leases of a host
expire after a minute: a slow machine does not make a live host look dead.
"""
import json
import re
import signal
import time

from harness import (Server, case, container, equal,
                     eventually, fails, finish, runnel, scratch, server, start)
from terminal import Terminal

INTERVALS = ["--lease-renew", "200", "--lease-acquire", "200",
             "--lease-expire", "60s", "--poll", "100"]
OTHER_KEY = "AAAA" * 21 + "AA=="
_numbers = iter(range(10000))


class Processor:
    """A source with documents 0, 1, ..., and a lease prefix of its own."""

    def __init__(self, documents=3, ranges=1):
        self.number = next(_numbers)
        self.prefix = f"p{self.number}"
        self.box = container(f"source{self.number}", ranges)
        self.trace = scratch(self.prefix)
        self.offset = 0  # how much of the trace was seen
        open(self.trace, "w").close()
        server().post("/dbs/d/colls", {"id": "leases", "partitionKey": {
            "paths": ["/id"], "kind": "Hash"}, "defaultTtl": -1})
        self.written = [self.write(i) for i in range(documents)]

    def write(self, i):
        return self.box.put({"id": str(i), "pk": f"k{i}"})

    def options(self, prefix=None):
        return ["--container", self.box.name, "--leases", "leases",
                "--lease-prefix", prefix or self.prefix]

    def lag(self, *more):
        return runnel("lag", *self.options(), *more)

    def leases(self, verb, *more, prefix=None, **options):
        return runnel("leases", verb, *more, *self.options(prefix), **options)

    def done(self, verb, *more, **options):
        result = self.leases(verb, *more, **options)
        equal((result.code, result.err, result.out), (0, "", ""))

    def refused(self, code, words, verb, *more, prefix=None, **options):
        fails(code, words, "leases", verb, *more, *self.options(prefix),
              **options)

    def listed(self, prefix=None):
        result = self.leases("list", "--json", prefix=prefix)
        equal(result.code, 0, result.err)
        return result.json

    def positions(self, prefix=None):
        return {each["LeaseToken"]: each["ContinuationToken"]
                for each in self.listed(prefix)}

    def trigger(self, prefix=None):
        return ["trigger", *self.options(prefix), *INTERVALS, "--start",
                "beginning", "--exec", f"cat >>{self.trace}"]

    def seen(self):
        """The changes that the handlers got since the last call."""
        with open(self.trace, "rb") as file:
            file.seek(self.offset)
            text = file.read()
        text = text[:text.rfind(b"\n") + 1]  # a line may be half written
        self.offset += len(text)
        return [json.loads(line) for line in text.splitlines()]

    def ids(self):
        return sorted(each["id"] for each in self.seen())

    def once(self, prefix=None):
        """A host handles everything and ends; the ids that it got."""
        result = runnel(*self.trigger(prefix), "--once")
        equal(result.code, 0, result.err)
        return self.ids()

    def await_ids(self, *wanted):
        """Waits until the running host has handled exactly these."""
        got = []
        eventually(lambda: got.extend(self.ids()) or sorted(got),
                   lambda ids: len(ids) >= len(wanted))
        equal(sorted(got), sorted(wanted))


class Host:
    """A trigger that runs until the block ends."""

    def __init__(self, processor):
        self.process = start(*processor.trigger())

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            self.process.kill()
        self.stop()

    def stop(self, number=signal.SIGTERM):
        if self.process.returncode is None:
            self.process.send_signal(number)
            finish(self.process)


# ---- lag ---------------------------------------------------------------------

@case("lag prints how far each lease is behind, as text and as JSON")
def _():
    p = Processor(4, ranges=2)
    fails(3, f'no processor named "{p.prefix}" has leases in "leases"', "lag",
          *p.options())
    equal(p.once(), ["0", "1", "2", "3"])
    equal(p.lag("--json").json[-1], {"leases": 2, "behind": 0,
                                     "behindSeconds": 0, "isUpperBound": False})
    for i in range(3):
        p.write(i)
    head, *rows, total = p.lag().lines
    equal(head.split(), ["LEASE", "HOST", "BEHIND", "OLDEST", "CHECKPOINT"])
    equal([row.split()[:2] for row in rows], [["0", "-"], ["1", "-"]])
    equal(total.split()[:4], ["total", "2", "leases", "3"])
    *rows, total = p.lag("--json").json
    equal([(row["lease"], row["host"], row["state"]) for row in rows],
          [("0", None, "known"), ("1", None, "known")])
    equal((sum(row["behind"] for row in rows), total["behind"]), (3, 3))
    assert all(row["checkpointAgeSeconds"] >= 0 for row in rows), rows


@case("lag --exit-code shows whether more changes wait than --limit")
def _():
    p = Processor(2)
    p.once()
    equal(p.lag("--exit-code").code, 0)
    p.write(0)
    p.write(1)
    equal(p.lag().code, 0)
    result = p.lag("--exit-code")
    equal((result.code, result.err), (10, ""))
    equal(p.lag("--exit-code", "--limit", "1").code, 10)
    equal(p.lag("--exit-code", "--limit", "2").code, 0)


@case("lag --watch is live on a terminal with a sparkline, and q ends it")
def _():
    p = Processor(1)
    p.once()
    watch = ["lag", *p.options(), "--watch", "--interval", "50ms"]
    with Terminal(*watch, columns=130) as t:
        t.wait_for("LEASE .*HISTORY")
        t.wait_for(r"\n0 +- +0 .*▁▁")
        for i in range(4):
            p.write(i)
        t.wait_for(r"\n0 +- +4 .*▁.*█")
        t.wait_for(r"total +1 lease +4 ")
        t.resize(10, 60)
        t.wait(lambda s: s.is_alternate and "LEASE" in s.text, "smaller view")
        t.send("q")
        equal(t.end(), 0)
    with Terminal(*watch) as t:
        t.wait_for("LEASE")
        t.interrupt()
        equal(t.end(), 130)


@case("lag --watch prints every reading to a pipe, until it is interrupted")
def _():
    p = Processor(1)
    p.once()
    process = start("lag", *p.options(), "--watch", "--json", "--interval",
                    "20ms")
    for wanted in ["lease", "leases"] * 3:
        assert wanted in json.loads(process.stdout.readline())
    process.send_signal(signal.SIGINT)
    result = finish(process)
    equal((result.code, result.err), (130, ""))


@case("lag --watch --json keeps its interval when the terminal changes size")
def _():
    p = Processor(1)
    p.once()
    with Terminal("lag", *p.options(), "--watch", "--json", "--interval", "1h",
                  columns=300) as t:
        t.wait_for('"leases":1')
        before = t.raw
        t.resize(30, 300)
        equal(p.lag().code, 0)  # as long as a reading takes
        t.read(0)
        equal(t.raw, before)
        t.interrupt()
        equal(t.end(), 130)


# ---- leases ------------------------------------------------------------------

@case("leases list and show print leases, as text and as JSON")
def _():
    p = Processor(4, ranges=2)
    p.once()
    head, *rows = p.leases("list").lines
    equal(head.split(), ["LEASE", "HOST", "MIN", "MAX", "POSITION", "SEEKS",
                         "LIBRARY"])
    equal([row.split()[:3] for row in rows],
          [["0", "-", "-"], ["1", "-", "1FFFFFFFFFFFF"]])
    assert all(row.split()[-2:] == ["0", "runnel"] for row in rows), rows
    first, second = p.listed()
    equal((first["LeaseToken"], second["LeaseToken"]), ("0", "1"))
    equal(first["Owner"], None)
    equal(p.leases("show", "1").json, [second])
    with Host(p) as host:
        eventually(p.listed, lambda all: all[0]["Owner"] and all[1]["Owner"])
        assert p.listed()[0]["Owner"] in p.leases("list").out
        host.stop()


@case("leases seek moves a running processor to the beginning, an LSN, a time")
def _():
    p = Processor(3)
    with Host(p):
        p.await_ids("0", "1", "2")
        p.done("seek", "--to", "beginning")
        p.await_ids("0", "1", "2")
        p.done("seek", "--to", "beginning")
        lsn = {}
        eventually(lambda: lsn.update({each["id"]: each["_lsn"]
                                       for each in p.seen()}) or lsn,
                   lambda all: len(all) == 3)
        p.done("seek", "0", "--to", str(lsn["1"]))
        p.await_ids("2")
        # _ts has seconds.
        eventually(time.time, lambda now: now > p.written[2]["_ts"] + 3)
        moved = p.write(3)
        p.await_ids("3")
        p.done("seek", "--to", time.strftime(
            "%Y-%m-%dT%H:%M:%SZ", time.gmtime(moved["_ts"] - 1)))
        p.await_ids("3")
        equal(p.leases("list").lines[1].split()[-2:], ["4", "runnel"])


@case("leases seek --to now passes over what waits")
def _():
    p = Processor(2, ranges=2)
    p.once()
    for i in range(4):
        p.write(i)
    p.done("seek", "--to", "now")
    equal(p.lag("--json").json[-1]["behind"], 0)
    p.write(9)
    equal(p.once(), ["9"])
    p.done("seek", "1", "--to", "beginning")
    again = p.once()
    assert 0 < len(again) < 5, again  # of one range


@case("leases release and reset: a host that is dead, and one that lives")
def _():
    p = Processor(2)
    with Host(p) as host:
        p.await_ids("0", "1")
        p.refused(6, "holds lease 0; stop it first", "reset")
        epoch = p.listed()[0]["properties"]
        p.done("release")
        eventually(p.listed, lambda all: all[0]["Owner"] and
                   all[0]["properties"] != epoch)  # acquired again
        host.stop(signal.SIGKILL)
        p.refused(6, "stop it first", "reset")
        p.done("release", "0")
        equal(p.listed()[0]["Owner"], None)
    p.ids()
    p.done("reset")
    p.refused(3, "no processor named", "list")
    equal(p.once(), ["0", "1"])
    with Host(p):
        eventually(p.listed, lambda all: all[0]["Owner"])
    p.done("reset")  # it has released its leases


@case("leases export and import carry positions to another processor")
def _():
    p = Processor(4, ranges=2)
    p.once()
    exported = p.leases("export")
    equal([each["LeaseToken"] for each in exported.json[0]], ["0", "1"])
    p.write(7)
    p.done("import", "-", prefix="copied", input=exported.out)
    equal(p.positions("copied"), p.positions())
    equal(p.once("copied"), ["7"])
    p.refused(6, 'processor "copied" has leases in "leases" already', "import",
              exported.out, prefix="copied")
    equal(p.lag("--json").json[-1]["behind"], 1)  # the first is where it was


@case("leases fork begins a second processor where the first is")
def _():
    p = Processor(3)
    p.once()
    p.write(8)
    p.done("fork", p.prefix, prefix="forked")
    equal(p.positions("forked"), p.positions())
    equal(p.once("forked"), ["8"])
    equal(p.once(), ["8"])
    p.refused(6, 'processor "forked" has leases', "fork", p.prefix,
              prefix="forked")
    p.refused(3, 'processor "none" has no lease', "fork", "none",
              prefix="other")


def give_to_foreign(lease):
    """Writes the lease as a host of the .NET library does that renews it."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    status, _, body = server().put(
        "/dbs/d/colls/leases", {
            "id": lease["id"], "version": 0, "LeaseToken": lease["LeaseToken"],
            "FeedRange": lease["FeedRange"], "Owner": "dotnet-host",
            "ContinuationToken": lease["ContinuationToken"], "properties": {},
            "timestamp": stamp + ".1875233Z", "Mode": "Incremental Feed"},
        headers={"x-ms-documentdb-is-upsert": "true",
                 "x-ms-documentdb-partitionkey": json.dumps([lease["id"]])})
    equal(status, 200, body)


@case("leases are not moved while a live host of another library has one")
def _():
    p = Processor(4, ranges=2)
    p.once()
    give_to_foreign(p.listed()[1])
    before = p.positions()
    row = p.leases("list").lines[2]
    assert "dotnet-host" in row and row.endswith("another library"), row
    words = "lease 1: dotnet-host, a host of another library, holds it"
    p.refused(6, words, "seek", "--to", "beginning")
    p.refused(6, words, "seek", "1", "--to", "7")
    p.refused(6, "dotnet-host holds lease 1; stop it first", "reset")
    equal(p.positions(), before)
    p.done("seek", "0", "--to", "beginning")  # which it does not hold
    p.done("release", "1")
    p.done("seek", "--to", "beginning")
    equal(p.once(), ["0", "1", "2", "3"])


@case("leases say what is wrong with their arguments, the file or a container")
def _():
    p = Processor(1)
    p.refused(3, "no processor named", "export")
    p.refused(3, "there is no lease at all", "release")
    p.once()
    p.refused(2, "mvoe", "mvoe")
    fails(2, "usage: runnel leases", "leases")
    p.refused(2, "'show' needs another argument: the lease", "show")
    p.refused(2, "'import' needs another argument: the file", "import")
    p.refused(2, "'fork' needs another argument: a lease prefix", "fork")
    p.refused(2, "'reset' takes no argument '0'", "reset", "0")
    p.refused(2, "--to belongs to 'seek', not to 'release'", "release", "--to",
              "now")
    p.refused(3, 'has no lease "7"', "show", "7")
    p.refused(3, "there is no lease 7", "release", "7")
    p.refused(3, "there is no lease 7", "seek", "7", "--to", "now")
    p.refused(2, "seek needs --to", "seek")
    for to in "yesterday", "12x", "-3", "9" * 30, "2026-02-30T00:00:00Z", "":
        p.refused(2, "--to is beginning, now, a time", "seek", "--to", to)
    p.refused(2, "/no/such/file: No such file", "import", "/no/such/file")
    p.refused(2, "standard input: not a JSON array", "import", "-", input="{}",
              prefix="new")
    p.refused(2, "has no lease", "import", "[]", prefix="new")
    p.refused(2, "standard input: ", "import", "-", input="[{", prefix="new")
    good = p.leases("export").json[0]
    for bad in [1], [{}], [{**good[0], "LeaseToken": 5}], good + good:
        p.refused(1, r"^runnel leases: -: \w", "import", "-",
                  input=json.dumps(bad), prefix="new")
    p.refused(3, 'no processor named "new"', "list", prefix="new")


@case("lag and leases name the container that does not exist")
def _():
    p = Processor(0)
    missing = ["--container", p.box.name, "--leases", "d/none"]
    source = ["--container", "d/none", "--leases", "leases"]
    for verb in (["lag"], ["leases", "list"], ["leases", "reset"],
                 ["leases", "seek", "--to", "now"], ["leases", "release"],
                 ["leases", "export"], ["leases", "fork", "other"],
                 ["leases", "import", '[{"id":"a..0","LeaseToken":"0"}]']):
        fails(3, 'the lease container "d/none" does not exist', *verb, *missing)
        fails(3, 'container "none" does not exist in database "d"', *verb,
              *source)


# ---- doctor ------------------------------------------------------------------

def doctor(*arguments):
    """Status, and result and text of each check, from both kinds of output."""
    result = runnel("doctor", "--json", *arguments)
    equal(result.err, "")
    text = runnel("doctor", *arguments)
    equal((text.code, text.err), (result.code, ""))
    def timeless(said):
        return re.sub(r"\d+ s\b", "N s", said)  # it is asked twice

    for each in result.json:
        assert timeless(each["text"]) in timeless(text.out), (each, text.out)
        assert "-> " + each.get("remedy", "") in text.out + "-> ", text.out
        assert (each["result"] == "ok") != ("remedy" in each), each
    return result.code, [(each["result"], each["check"], each["text"])
                         for each in result.json]


def finds(code, kind, check, words, *arguments):
    """The last finding is this one; all before it are fine."""
    found = doctor(*arguments)
    equal(found[0], code, found)
    assert all(each[0] == "ok" for each in found[1][:-1]), found
    equal(found[1][-1][:2], (kind, check), found)
    assert words in found[1][-1][2], found


@case("doctor finds nothing wrong with a processor at work")
def _():
    p = Processor(2, ranges=2)
    equal(doctor("--container", p.box.name), (0, [
        ("ok", "account", "answers, and accepts the key"),
        ("ok", "clock", "agrees with the server's"),
        ("ok", "container", f'"{p.box.name}" has 2 partition key ranges'),
        ("ok", "feed", "latest versions; no deletes, since the container has "
         "no changeFeedPolicy")]))
    with Host(p):
        p.await_ids("0", "1")
        eventually(lambda: p.lag("--json").json[-1]["behind"], lambda n: n == 0)
        status, found = doctor(*p.options())
        equal((status, found[4:]), (0, [
            ("ok", "leases", "2, owned: 2 (0 by other libraries)"),
            ("ok", "lag", "0 changes behind")]))
    kept = container("kept", changeFeedPolicy={"retentionDuration": 10})
    finds(0, "ok", "feed", "all versions and deletes", "--container", kept.name)


@case("doctor names a wrong key, a server that is away, a missing container")
def _():
    p = Processor(0)
    finds(1, "fault", "account", "the server does not accept the key",
          *p.options(), "--key", OTHER_KEY)
    with Server("--store", "mem") as other:
        gone = f"http://127.0.0.1:{other.port}/"
    result = runnel("doctor", *p.options(), "--account", gone)
    equal((result.code, len(result.lines)), (1, 2), result.out)
    assert re.match("fault +account .*connect", result.lines[0]), result.out
    assert "-> start the server" in result.lines[1], result.out
    finds(1, "fault", "container", 'container "none" does not exist',
          "--container", "d/none")
    finds(1, "fault", "leases", 'container "d/none" does not exist',
          "--container", p.box.name, "--leases", "d/none")
    fails(2, "--container is missing", "doctor")


@case("doctor names a lease container that cannot keep leases")
def _():
    p = Processor(1)
    keyed = {"kind": "Hash", "paths": ["/id"]}
    for name, words, definition in (
            ("wrongkey", "has the partition key /pk", {}),
            ("twokeys", "has the partition key of several paths",
             {"partitionKey": {"kind": "MultiHash", "version": 2,
                               "paths": ["/a", "/b"]}}),
            ("ttl", "expire after 60 s", {"partitionKey": keyed,
                                          "defaultTtl": 60})):
        container(name, **definition)
        finds(1, "fault", "leases", words, "--container", p.box.name,
              "--leases", name)
    container("kepttl", partitionKey=keyed, defaultTtl=-1)
    finds(1, "fault", "leases", "is the container whose changes are processed",
          "--container", "kepttl", "--leases", "kepttl", "--db", "d")
    finds(0, "warning", "leases", "no processor named", "--container",
          p.box.name, "--leases", "kepttl")


@case("doctor warns of leases that are missing and of changes without a host")
def _():
    p = Processor(2, ranges=2)
    finds(0, "warning", "leases", f'no processor named "{p.prefix}"',
          *p.options())
    p.once()
    p.write(5)
    finds(0, "warning", "lag", "1 change behind, and no host is running",
          *p.options())
    first = p.leases("export").json[0][:1]
    p.done("import", "-", prefix="half", input=json.dumps(first))
    status, found = doctor(*p.options("half"))
    equal(status, 0, found)
    assert ("warning", "leases", "1 lease for 2 ranges") in found, found


def put_lease(leases, box, number, owner, age_s=0, **properties):
    """A lease as a host writes it, that many seconds ago."""
    rid = server().ask("GET", box.path)[2]["_rid"]
    database = server().ask("GET", "/dbs/d")[2]["_rid"]
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ",
                          time.gmtime(time.time() - age_s))
    native = {"runnel.owner": owner} if properties else {}
    leases.put({"id": f"p127.0.0.1_{database}_{rid}..{number}", "version": 0,
                "LeaseToken": str(number), "ContinuationToken": '"0"',
                "Owner": owner, "timestamp": stamp,
                "properties": {**native, **{
                    f"runnel.{name}": value
                    for name, value in properties.items()}}})


class Leases:
    """A source with two ranges, and a lease container of its own, by /id."""

    def __init__(self, **definition):
        number = next(_numbers)
        self.box = container(f"doctored{number}", 2)
        self.name = f"leasesof{number}"
        container(self.name, partitionKey={"kind": "Hash", "paths": ["/id"]},
                  **definition)

    def put(self, document):
        status, _, body = server().put(
            f"/dbs/d/colls/{self.name}", document, headers={
                "x-ms-documentdb-partitionkey": json.dumps([document["id"]])})
        equal(status, 201, body)

    def rids(self):
        return (server().ask("GET", "/dbs/d")[2]["_rid"] + "_"
                + server().ask("GET", self.box.path)[2]["_rid"])

    def options(self):
        return ["--container", self.box.name, "--leases", self.name,
                "--lease-prefix", "p"]

    def doctor(self, *more):
        """What is not fine."""
        status, found = doctor(*self.options(), *more)
        return status, [each for each in found if each[0] != "ok"]


INTERVALS_OF_OURS = {"session": "1-a", "intervals": "13000 17000 60000"}


@case("doctor names a lock that a dead host left, with and without TTL (R9)")
def _():
    fleet = Leases()
    without_ttl = (
        "warning", "leases", f'"{fleet.name}" has no defaultTtl: if a host '
        "dies at its start, its lock stays and others wait for it")
    nobody = ("warning", "leases",
              f'no processor named "p" has leases in "{fleet.name}"')
    equal(fleet.doctor(), (0, [without_ttl, nobody]))
    for prefix, ttl in ("p", 60), ("q", 1):  # no host of ours, and not "p"
        fleet.put({"id": f"{prefix}127.0.0.1_{fleet.rids()}.lock", "ttl": ttl})
    equal(fleet.doctor(), (0, [without_ttl, nobody]))
    names = "d_" + fleet.box.path.rsplit("/", 1)[1]
    for middle in f"localhost_{fleet.rids()}", f"localhost_{names}":
        lock = f"p{middle}.lock"
        fleet.put({"id": lock, "ttl": 1})
        eventually(lambda: runnel("doctor", *fleet.options()).code,
                   lambda code: code == 1)
        status, found = fleet.doctor()
        equal((status, found[0], found[1][:2], found[2]),
              (1, without_ttl, ("fault", "lock"), nobody))
        assert f'"{lock}" in "{fleet.name}" was left by a host' in found[1][2]
        equal(runnel("rm", "--container", f"d/{fleet.name}", lock).code, 0)
        equal(fleet.doctor(), (0, [without_ttl, nobody]))


@case("doctor names intervals that contradict each other (R9)")
def _():
    fleet = Leases(defaultTtl=-1)
    put_lease(fleet, fleet.box, 0, "a", **INTERVALS_OF_OURS)
    put_lease(fleet, fleet.box, 1, "b", session="2-b",
              intervals="13000 60000 60000")
    status, found = fleet.doctor()
    equal((status, [each[:2] for each in found]),
          (1, [("fault", "intervals"), ("warning", "intervals")]))
    assert re.search('"b" renews its leases every 60000 ms, but they expire '
                     "after 60000 ms", str(found)), found
    assert "acquires, renews and expires after" in found[1][2], found
    # Those of a host that shall be started.
    one = Leases(defaultTtl=-1)
    for i in range(2):
        put_lease(one, one.box, i, "a", **INTERVALS_OF_OURS)
    equal(one.doctor(), (0, []))
    equal(one.doctor("--lease-renew", "17s"), (0, []))
    for options, results in (
            (("--lease-renew", "70s"), ["fault", "warning"]),
            (("--lease-renew", "30s"), ["warning", "warning"]),
            (("--lease-acquire", "90s"), ["warning", "warning"]),
            (("--lease-expire", "90s"), ["warning"])):
        found = one.doctor(*options)[1]
        equal([each[0] for each in found], results, found)
        assert all(each[1] == "intervals" for each in found), found


@case("doctor counts no dead host, and names equal names (R9)")
def _():
    fleet = Leases(defaultTtl=-1)
    put_lease(fleet, fleet.box, 0, "dead", 600, **INTERVALS_OF_OURS)
    put_lease(fleet, fleet.box, 1, "dead", 600, **INTERVALS_OF_OURS)
    fleet.box.put({"id": "1", "pk": "x"})
    status, found = fleet.doctor()
    equal((status, [each[:2] for each in found]),
          (0, [("warning", "hosts"), ("warning", "lag")]))
    assert re.match('host "dead" has not renewed its 2 leases for 6.. s: it is '
                    "dead", found[0][2]), found
    assert found[1][2].endswith("and no host is running"), found
    twins = Leases(defaultTtl=-1)
    put_lease(twins, twins.box, 0, "twin", **INTERVALS_OF_OURS)
    put_lease(twins, twins.box, 1, "twin", **{**INTERVALS_OF_OURS,
                                              "session": "2-b"})
    equal(twins.doctor(), (0, [
        ("warning", "hosts", 'two processes are host "twin": they take the '
         "leases from each other")]))


@case("doctor names a key that may not write leases (R9)")
def _():
    fleet = Leases(defaultTtl=-1)
    result = runnel("keys", "show", "--data", server().data,
                    env={"RUNNEL_ACCOUNT": None})
    key = re.search(r"^primaryReadOnly +(\S+)$", result.out, re.M)[1]
    equal(fleet.doctor("--key", key), (1, [
        ("fault", "leases", "the key may not write and delete leases in "
         f'"{fleet.name}"')]))
