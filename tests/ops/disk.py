"""disk.py -- the server on a disk that fails, fills or takes its time.

The disk is disk_shim.c, compiled here and loaded before the C library, so that
the server is the program as it is.
"""
import http.client
import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from lib import (LIMIT_S, Server, case, equal, open_socket, pk_header, request,
                 run_cases)

QUEUE = 4096  # writes in flight

HOME = tempfile.mkdtemp()
SHIM = os.path.join(HOME, "disk.so")
subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-o",
                SHIM, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                   "disk_shim.c"), "-ldl"], check=True)
os.environ["RUNNEL_DISK"] = HOME
os.environ["ASAN_OPTIONS"] = ":".join(filter(None, [
    os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0"]))


class Disk:
    """Fails in that way inside the block."""

    def __init__(self, how):
        self.file = os.path.join(HOME, how)

    def __enter__(self):
        open(self.file, "w").close()

    def __exit__(self, *_):
        if os.path.exists(self.file):
            os.unlink(self.file)


class Shimmed(Server):
    def start(self):
        os.environ["LD_PRELOAD"] = SHIM
        try:
            super().start()
        finally:
            del os.environ["LD_PRELOAD"]


def put(server, container, number):
    return server.put(container, {"id": str(number), "pk": "p"})


def put_much(server, container):
    return server.put(container, {"id": str(time.monotonic_ns()), "pk": "p",
                                  "text": "x" * 1900000})


def listed(server, container):
    """What each way of reading shows, and the session it returns."""
    docs = container + "/docs"
    query = {"content-type": "application/query+json",
             "x-ms-documentdb-isquery": "true",
             "x-ms-documentdb-query-enablecrosspartition": "true"}
    found = []
    for answer in (server.ask("GET", docs),
                   server.post(docs, {"query": "SELECT * FROM c"},
                               headers=query),
                   server.ask("GET", docs,
                              headers={"a-im": "Incremental Feed"})):
        found.append(sorted(each["id"] for each in answer[2]["Documents"]))
        found.append(answer[1]["x-ms-session-token"])
    return found


def wait_for(ask, wanted):
    """Asks until it is so."""
    deadline = time.monotonic() + LIMIT_S
    while ask() != wanted:
        assert time.monotonic() < deadline, wanted


def under_way(server):
    """How many writes and how many waiting readers."""
    samples = server.metrics()
    return (samples["runnel_commit_queue_depth"],
            samples["runnel_feed_readers"])


def readiness(connection):
    connection.request("GET", "/readyz")
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def listens(server):
    connection = server.connect()
    try:
        connection.connect()
    except ConnectionError:
        return False
    connection.close()
    return True


@case("nothing shows a write, and no token names it, before it is on disk")
def _():
    with Shimmed() as server:
        container = server.make()
        equal(put(server, container, 1)[0], 201)
        before = listed(server, container)
        answers = []
        with Disk("held"):
            writer = threading.Thread(
                target=lambda: answers.append(put(server, container, 2)))
            other = threading.Thread(
                target=lambda: answers.append(put(server, container, 3)))
            writer.start()
            other.start()
            wait_for(lambda: under_way(server), (2, 0))
            for _ in range(20):
                equal(listed(server, container), before)
                equal(server.get(container, "2", "p")[0], 404)
            equal(answers, [])
        writer.join(LIMIT_S)
        other.join(LIMIT_S)
        equal([each[0] for each in answers], [201, 201])
        equal(listed(server, container)[0], ["1", "2", "3"])


@case("after a failed sync no write is acknowledged, reads go on, and "
      "readiness says why, until the server was started anew")
def _():
    with Shimmed() as server:
        container = server.make()
        equal(put(server, container, 1)[0], 201)
        with Disk("broken"):
            status, _, body = put(server, container, 2)
            equal(status, 503)
            assert server.data not in body["message"], body
        server.wait_for_line(f'"err":"[^"]*{server.data}')
        for number in (2, 3):  # the disk works again: too late
            status, _, body = put(server, container, number)
            equal((status, body["code"]), (503, "ServiceUnavailable"))
        equal(server.ask("DELETE", container)[0], 503)
        equal(server.get(container, "1", "p")[0], 200)
        status, _, body = server.ask("GET", "/readyz", key=None)
        equal((status, body["ready"]), (503, False))
        equal(body["reason"], "read-only after a fault of the disk")
        # One, or two: a log segment may have been filled at the same time.
        assert server.metrics()["runnel_sync_errors_total"] >= 1
        equal(server.metrics()["runnel_store_read_only"], 1)
        equal(server.ask("GET", "/healthz", key=None)[0], 200)
        server.process.kill()
        server.process.wait()
        server.start()
        equal(server.ask("GET", "/readyz", key=None)[2], {"ready": True})
        equal(server.get(container, "1", "p")[0], 200)
        assert put(server, container, 3)[0] == 201


@case("a server whose map can neither be written nor read ends with 1, and "
      "starts again with all that was acknowledged")
def _():
    with Shimmed("--checkpoint-ms", "100") as server:
        container = server.make()
        for number in range(20):
            equal(put(server, container, number)[0], 201)
        with Disk("meta"):
            acknowledged = 20
            while server.process.poll() is None and acknowledged < 1000:
                try:
                    if put(server, container, acknowledged)[0] != 201:
                        break
                except (ConnectionError, http.client.HTTPException):
                    break
                acknowledged += 1
            equal(server.process.wait(LIMIT_S), 1)
        line = json.loads(server.wait_for_line("neither written nor read"))
        equal(line["level"], "error")
        server.start()
        equal(server.ask("GET", "/readyz", key=None)[2], {"ready": True})
        for number in range(acknowledged):
            equal(server.get(container, number, "p")[0], 200)


@case("more writes than the queue holds get 429, and those in it are done")
def _():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert hard > QUEUE + 500, f"{hard} files"
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with Shimmed() as server:
        container = server.make()
        with Disk("held"):
            lines = []
            for i in range(QUEUE):
                lines.append(open_socket(server))
                lines[-1].sendall(request("POST", container + "/docs",
                                          b'{"id":"%d","pk":"p"}' % i))
            wait_for(lambda: under_way(server)[0], QUEUE)
            for i in range(3):
                status, headers, body = put(server, container, QUEUE + i)
                equal((status, body["code"]), (429, "TooManyRequests"))
                equal(headers["x-ms-retry-after-ms"], "50")
                equal(headers["x-ms-substatus"], "3200")
            equal(server.metrics()["runnel_throttled_total"], 3)
        for line in lines:
            equal(line.recv(1 << 16)[:13], b"HTTP/1.1 201 ")
            line.close()
        equal(put(server, container, QUEUE)[0], 201)
        equal(under_way(server)[0], 0)


@case("on a full disk writes answer 507 and reads and deletes go on, and writes "
      "work again when there is space")
def _():
    with Shimmed() as server:
        container = server.make()
        for number in (1, 2):
            equal(put(server, container, number)[0], 201)
        with Disk("full"):
            wait_for(lambda: put(server, container, time.monotonic_ns())[0],
                     507)
            status, _, body = put(server, container, 3)
            equal((status, body["code"], body["message"].splitlines()[0]),
                  (507, "InsufficientStorage",
                   "No space is left. Nothing was changed."))
            status, _, body = server.ask("GET", "/readyz", key=None)
            equal((status, body), (503, {"ready": False,
                                         "reason": "disk below the reserve"}))
            equal(server.get(container, "1", "p")[0], 200)
            equal(server.ask("DELETE", container + "/docs/2",
                             headers=pk_header("p"))[0], 204)
            equal(server.get(container, "3", "p")[0], 404)
        wait_for(lambda: put(server, container, time.monotonic_ns())[0], 201)
        equal(server.ask("GET", "/readyz", key=None)[2], {"ready": True})


@case("below the reserve, with room in the map's own file, writes work and the "
      "server stays ready")
def _():
    with Shimmed() as server:
        container = server.make()
        with Disk("tight"):
            equal(put(server, container, 1)[0], 201)
            equal(server.ask("GET", "/readyz", key=None)[2], {"ready": True})
            equal(server.metrics()["runnel_store_full"], 0)


@case("an empty data directory takes less than 36 MB of the disk, and grows with "
      "what is written")
def _():
    with Server() as server:
        def taken():
            return sum(os.lstat(os.path.join(server.data, name)).st_blocks
                       for name in os.listdir(server.data)) * 512

        wait_for(lambda: server.ask("GET", "/readyz", key=None)[0], 200)
        empty = taken()
        assert 8e6 < empty < 36e6, empty
        container = server.make()
        for _ in range(30):
            equal(put_much(server, container)[0], 201)
        wait_for(lambda: taken() > 100e6, True)


@case("a start on a disk that is too small for the reserve warns")
def _():
    with Disk("tight"), Shimmed() as server:
        line = json.loads(server.wait_for_line("writes are refused"))
        equal((line["level"], line["err"]), ("warn", "disk below the reserve"))
        assert line["free_bytes"] < line["reserve_bytes"], line


@case("a server that starts on a full disk deletes, and reports that it is "
      "full")
def _():
    with Shimmed() as server:
        container = server.make()
        for number in (1, 2):
            equal(put(server, container, number)[0], 201)
        server.process.kill() # the log has what the map has not
        server.process.wait(LIMIT_S)
        with Disk("full"):
            server.start()
            equal(put(server, container, 3)[0], 507)
            equal(server.ask("GET", "/readyz", key=None)[0], 503)
            equal(server.ask("DELETE", container + "/docs/2",
                             headers=pk_header("p"))[0], 204)
        wait_for(lambda: put(server, container, 4)[0], 201)
        equal(server.ask("GET", "/readyz", key=None)[2], {"ready": True})


@case("where a quota leaves no space, readiness does not name the reserve")
def _():
    with Shimmed() as server:
        container = server.make()
        with Disk("quota"):
            wait_for(lambda: put_much(server, container)[0], 507)
            status, _, body = server.ask("GET", "/readyz", key=None)
            equal((status, body["ready"]), (503, False))
            assert "quota" in body["reason"], body
        wait_for(lambda: put_much(server, container)[0], 201)
        equal(server.ask("GET", "/readyz", key=None)[2], {"ready": True})


@case("with the log at its ceiling readiness says that writes wait, and is "
      "gone when they are refused")
def _():
    with Server("--wal-bytes", "96M") as server:
        probe = server.connect()
        container = server.make()
        in_its_place = server.data + "/checkpoint.tmp"
        os.mkdir(in_its_place)  # the log is let go of by checkpoints

        def write():
            while not answers:
                status, _, body = put_much(server, container)
                if status != 201:
                    answers.append((status, body["code"]))

        equal(put(server, container, 1)[0], 201)
        answers = []
        writer = threading.Thread(target=write)
        writer.start()
        wait_for(lambda: readiness(probe), (200, {
            "ready": True, "reason": "no room in the WAL"}))
        equal(answers, [])
        wait_for(lambda: readiness(probe), (503, {
            "ready": False, "reason": "no room in the WAL"}))
        writer.join(LIMIT_S)
        equal(answers, [(503, "ServiceUnavailable")])
        equal(server.get(container, "1", "p")[0], 200)
        os.rmdir(in_its_place)
        wait_for(lambda: readiness(probe), (200, {"ready": True}))
        probe.close()
        equal(put(server, container, "last")[0], 201)


@case("a checkpoint that fails is counted at every attempt and logged once, "
      "with the reason, and once when it is over")
def _():
    with Server("--checkpoint-ms", "100") as server:
        def failures():
            return server.metrics()["runnel_checkpoint_failures_total"]

        def logged(words):
            return [json.loads(line) for line in server.lines if words in line]

        container = server.make()
        equal(failures(), 0)
        in_its_place = server.data + "/checkpoint.tmp"
        os.mkdir(in_its_place)
        equal(put(server, container, 1)[0], 201)
        wait_for(lambda: failures() > 2, True)
        equal(put(server, container, 2)[0], 201)
        equal(server.ask("GET", "/readyz", key=None)[2], {"ready": True})
        written = server.metrics()["runnel_checkpoints_total"]
        os.rmdir(in_its_place)
        server.wait_for_line("checkpoints are written again")
        assert server.metrics()["runnel_checkpoints_total"] > written
        line, = logged("cannot write a checkpoint")
        equal((line["level"], "checkpoint.tmp: " in line["err"]),
              ("warn", True), line)
        equal(len(logged("written again")), 1)


@case("SIGTERM finishes what was begun, accepts nothing more and ends with 0")
def _():
    with Shimmed("--drain-ms", "20000") as server:
        container = server.make()
        equal(put(server, container, 0)[0], 201)
        answers, waits = [], []
        threads = [threading.Thread(
            target=lambda i=i: answers.append(put(server, container, i)))
            for i in (1, 2, 3)]
        threads.append(threading.Thread(target=lambda: waits.append(server.ask(
            "GET", container + "/docs", headers={
                "a-im": "Incremental Feed", "if-none-match": '"1"',
                "prefer": "wait=60"}))))
        with Disk("held"):
            for each in threads:
                each.start()
            wait_for(lambda: under_way(server), (3, 1))
            probe = server.connect()
            equal(readiness(probe), (200, {"ready": True}))
            server.process.send_signal(signal.SIGTERM)
            wait_for(lambda: readiness(probe),
                     (503, {"ready": False, "reason": "stopping"}))
            probe.close()
            wait_for(lambda: listens(server), False)
        for each in threads:
            each.join(LIMIT_S)
        equal([each[0] for each in answers], [201, 201, 201])
        assert waits and waits[0][0] in (200, 304), waits
        equal(server.process.wait(LIMIT_S), 0)
        server.start()
        equal(listed(server, container)[0], ["0", "1", "2", "3"])


@case("a wall clock that jumps is counted and logged, both ways")
def _():
    with Shimmed() as server:
        def jumps():
            return server.metrics()["runnel_clock_jump_total"]

        equal(jumps(), 0)
        with Disk("ahead"):
            server.ask("GET", "/healthz", key=None)
            equal(jumps(), 1)
            line = json.loads(server.wait_for_line("wall clock has jumped"))
            assert 3590000 < line["by_ms"] < 3610000, line
        server.ask("GET", "/healthz", key=None)
        equal(jumps(), 2)
        server.wait_for_line(r'"by_ms":-3[56]')


try:
    run_cases()
finally:
    shutil.rmtree(HOME)
