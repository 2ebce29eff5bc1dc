"""metrics.py -- that each metric moves with what it tells of.

Method: samples before and after.  Those of requests, commits, feeds, queries
and connections are in logs.py, disk.py and clients.py.
"""
import os
import re
import shutil
import tempfile
import time

from lib import (LIMIT_S, Server, case, equal, open_socket, request, run,
                 run_cases)

QUERY = {"content-type": "application/query+json",
         "x-ms-documentdb-isquery": "true",
         "x-ms-documentdb-query-enablecrosspartition": "true"}
STALL = "runnel_event_loop_stall_seconds"
BACKUP = "runnel_last_backup_timestamp_seconds"


def settled(server, name, holds):
    """The sample, once it is so, which it is soon."""
    deadline = time.monotonic() + LIMIT_S
    while not holds(server.metrics()[name]):
        assert time.monotonic() < deadline, (name, server.metrics()[name])
    return server.metrics()[name]


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
      "told by its pool")
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
            assert settled(server, unsent, lambda n: n > 0) >= 100000
        settled(server, unsent, lambda n: n == 0)


@case("how the server is set is told without names and places")
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
        told = {name.replace("_", "-") for name in now}
        equal(options - told, {"config", "listen", "data", "advertise",
                               "tls-cert", "tls-key", "metrics-token-file",
                               "user"})
        equal(told - options, set())


@case("the time of the last backup is told, of one that ended well, and after "
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
            told = server.metrics()[BACKUP]
            assert before <= told <= time.time(), told
        with Server(data=data) as server:
            equal(server.metrics()[BACKUP], told)
        with Server(data=home + "/copy") as server:
            equal(server.metrics()[BACKUP], 0)
        equal(run("restore", home + "/copy", home + "/restored")[0], 0)
        for each in ("/copy", "/restored"):
            with Server(data=home + each) as server:
                equal(server.metrics()[BACKUP], 0)
            shutil.rmtree(home + each)


run_cases()
