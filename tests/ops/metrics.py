"""metrics.py -- that each metric moves with what it counts.

Method: samples before and after.  Those of requests, commits, feeds, queries
and connections are in logs.py, disk.py and clients.py.
"""
import os
import re
import shutil
import tempfile
import time

from lib import (LIMIT_S, Server, case, equal, open_socket, pk_header, request,
                 run, run_cases)

QUERY = {"content-type": "application/query+json",
         "x-ms-documentdb-isquery": "true",
         "x-ms-documentdb-query-enablecrosspartition": "true"}
STALL = "runnel_event_loop_stall_seconds"
BACKUP = "runnel_last_backup_timestamp_seconds"
NAMED = 64  # containers by name
RANGES = 256


def units(container="", database=""):
    return ("runnel_request_units_total"
            f'{{database="{database}",container="{container}"}}')


def lsn(container, number=0, name="runnel_range_lsn"):
    return f'{name}{{database="d",container="{container}",range="{number}"}}'


def oldest(container):
    return lsn(container, name="runnel_feed_oldest_retained_lsn")


def eventually_holds(server, name, holds):
    """The sample, once it is so, which it is soon."""
    deadline = time.monotonic() + LIMIT_S
    while not holds(server.metrics()[name]):
        assert time.monotonic() < deadline, (name, server.metrics()[name])
    return server.metrics()[name]


@case("each metric has its type and its words before its samples, and is in the "
      "operator's list")
def _():
    with open("docs/operations.md") as file:
        listed = set(re.findall(r"`((?:runnel|process)_[a-z_]+)",
                                file.read()))
    with Server() as server:
        text = server.ask("GET", "/metrics", key=None, raw=True)[2].decode()
    families = {}
    for line in text.splitlines():
        head = re.fullmatch(r"# (HELP|TYPE) (\S+) (.+)", line)
        if head:
            families.setdefault(head[2], []).append(head[1])
            now, kind = head[2], head[3]
        elif line != "# end":
            name = re.match(r"[a-z_]+", line)[0]
            if kind == "histogram":
                name = re.sub("_(bucket|sum|count)$", "", name)
            equal(name, now)
    for name, heads in families.items():
        equal((name, heads), (name, ["HELP", "TYPE"]))
    for name in families:
        assert name in listed or name.startswith("process_"), name


@case("each turn of a loop is counted with the time that it took")
def _():
    with Server("--loops", "1") as server:
        before = server.metrics()
        for _ in range(20):
            equal(server.ask("GET", "/healthz", key=None)[0], 200)
        after = server.metrics()
        assert after[STALL + "_count"] - before[STALL + "_count"] >= 20
        assert after[STALL + "_sum"] > before[STALL + "_sum"]


@case("the memory of answers that wait, for a client or for its next page, is "
      "counted by its pool")
def _():
    unsent, waiting = ('runnel_arena_bytes{pool="%s"}' % pool
                       for pool in ("unsent", "answers"))
    with Server() as server:
        container = server.make()
        for i in range(20):
            server.put(container, {"id": str(i), "pk": "x",
                                   "filler": "x" * 100000})
        equal((server.metrics()[unsent], server.metrics()[waiting]), (0, 0))
        status, headers, _ = server.post(
            container + "/docs",
            {"query": "SELECT * FROM c ORDER BY c.filler"},
            headers={**QUERY, "x-ms-max-item-count": "1"})
        equal(status, 200)
        assert server.metrics()[waiting] >= 100000
        equal(server.post(
            container + "/docs",
            {"query": "SELECT * FROM c ORDER BY c.filler"},
            headers={**QUERY, "x-ms-max-item-count": "-1",
                     "x-ms-continuation": headers["x-ms-continuation"]})[0],
            200)
        equal(server.metrics()[waiting], 0)
        with open_socket(server) as deaf:
            text = request("GET", container + "/docs")
            deaf.sendall(text * 20)
            assert eventually_holds(server, unsent, lambda n: n > 0) >= 100000
        eventually_holds(server, unsent, lambda n: n == 0)


@case("how the server is set is shown without names and places")
def _():
    def config(server):
        found = [name for name in server.metrics()
                 if name.startswith("runnel_config_info{")]
        equal(len(found), 1)
        equal(server.metrics()[found[0]], 1)
        return dict(re.findall(r'(\w+)="(.*?)"', found[0]))

    with Server() as server:
        default = config(server)
        equal((default["store"], default["consistency"], default["strict"],
               default["head_ms"], default["body_bytes_max"]),
              ("local", "Session", "0", "10000", str(4 << 20)))
    with Server("--strict", "--store", "mem", "--head-ms", "5000",
                "--consistency", "Strong", "--advertise",
                "https://db.example.org/") as server:
        now = config(server)
        equal({name: now[name] for name in now if now[name] != default[name]},
              {"strict": "1", "store": "mem", "head_ms": "5000",
               "consistency": "Strong"})
        assert server.data not in str(now) and "example" not in str(now)
        options = set(re.findall(r"^  --(\S+)", run("serve", "--help")[1],
                                 re.M))
        shown = {name.replace("_", "-") for name in now}
        equal(options - shown, {"config", "listen", "data", "advertise",
                               "tls-cert", "tls-key", "metrics-token-file",
                               "user", "seed"})
        equal(shown - options, set())


@case("the time of the last backup is shown, of one that ended well, and after "
      "a restart too")
def _():
    with tempfile.TemporaryDirectory() as home:
        data = home + "/data"
        with Server(data=data) as server:
            equal(server.metrics()[BACKUP], 0)
            os.mkdir(home + "/taken")
            with open(home + "/taken/format", "w") as file:
                file.write("not ours")
            assert run("backup", data, home + "/taken")[0] != 0
            equal(server.metrics()[BACKUP], 0)
            before = int(time.time())
            equal(run("backup", data, home + "/copy")[0], 0)
            shown = server.metrics()[BACKUP]
            assert before <= shown <= time.time(), shown
        with Server(data=data) as server:
            equal(server.metrics()[BACKUP], shown)
        with Server(data=home + "/copy") as server:
            equal(server.metrics()[BACKUP], 0)
        equal(run("restore", home + "/copy", home + "/restored")[0], 0)
        for each in ("/copy", "/restored"):
            with Server(data=home + each) as server:
                equal(server.metrics()[BACKUP], 0)
            shutil.rmtree(home + each)


@case("units are counted by container, and what is in none by itself")
def _():
    with Server() as server:
        first = server.make("d", "a")
        server.make("d", 'b"\n')
        other = 'b\\"\\n'  # as Prometheus wants it
        before = server.metrics()
        charges = {"a": 0, other: 0, "": 0}
        for i in range(3):
            for name, path in (("a", first),
                               (other, "/dbs/d/colls/b%22%0A")):
                answer = server.put(path, {"id": str(i), "pk": "x"})
                equal(answer[0], 201, answer[2])
                charges[name] += float(answer[1]["x-ms-request-charge"])
        charges["a"] += float(server.ask("GET", first)[1][
            "x-ms-request-charge"])
        charges[""] += float(server.ask("GET", "/dbs/d")[1][
            "x-ms-request-charge"])
        after = server.metrics()
        for name, charge in charges.items():
            sample = units(name, "d" if name else "")
            equal((name, round(after[sample] - before[sample], 2)),
                  (name, round(charge, 2)))


@case("a range's LSN is shown, and from which on all versions are kept")
def _():
    with Server("--test-mode", "--ranges", "2") as server:
        plain = server.make("d", "plain")
        server.make("d", "kept", changeFeedPolicy={"retentionDuration": 5})
        found = server.metrics()
        equal([found[lsn("plain", n)] for n in (0, 1)], [0, 0])
        equal(found[oldest("kept")], 1)
        assert oldest("plain") not in found
        for i in range(5):
            for name in ("plain", "kept"):
                equal(server.put(f"/dbs/d/colls/{name}",
                                 {"id": str(i), "pk": "x"})[0], 201)
        found = server.metrics()
        equal(sorted(found[lsn("plain", n)] for n in (0, 1)), [0, 5])
        answer = server.ask("GET", plain + "/docs/0", headers=pk_header("x"))
        place = answer[1]["x-ms-documentdb-partitionkeyrangeid"]
        equal(found[lsn("plain", place)], int(answer[1]["lsn"]))
        kept = lsn("kept", place, "runnel_feed_oldest_retained_lsn")
        equal(found[kept], 1)
        equal(server.post("/_runnel/clock", {"advanceMs": 600000})[0], 200)
        eventually_holds(server, kept, lambda n: n == 6)


@case("no more than so many containers and ranges are shown by name, and those "
      "deleted make room")
def _():
    def shown(server):
        found = server.metrics()
        return ({re.search('container="(.*?)"', name)[1] for name in found
                 if name.startswith("runnel_request_units_total")
                 and name != units()},
                [name for name in found
                 if name.startswith("runnel_range_lsn{")])

    with Server("--store", "mem") as server:
        for i in range(NAMED):
            server.make("d", f"c{i}")
        many = server.make("d", "many")
        names, ranges = shown(server)
        equal(names, {f"c{i}" for i in range(NAMED)})
        equal(len(ranges), NAMED)
        before = server.metrics()[units()]
        answer = server.put(many, {"id": "1", "pk": "x"})
        equal(round(server.metrics()[units()] - before, 2),
              float(answer[1]["x-ms-request-charge"]))
        spent = server.metrics()
        equal(server.ask("DELETE", "/dbs/d/colls/c7")[0], 204)
        server.metrics()
        names, _ = shown(server)
        equal(names, {f"c{i}" for i in range(NAMED) if i != 7} | {"many"})
        now = server.metrics()
        assert now[units()] >= spent[units()] + spent[units("c7", "d")]
    with Server("--store", "mem", "--ranges", "100") as server:
        for i in range(4):
            server.make("d", f"c{i}")
        equal(len(shown(server)[1]), RANGES)


run_cases()
