"""idle.py -- a server of which nothing is asked does nothing.

Method: how often its threads have gone to sleep, by the kernel's count, which a
busy machine does not change.  There are seconds in which something is due, as a
checkpoint after a write, so one still moment must come, and none would if a
thread looked after something again and again.
"""
import glob
import os
import re
import time

from lib import Server, case, equal, eventually, open_socket, run_cases

STILL_S, TRIES = 2, 15


def sleeps(server):
    """Of all threads, since they were started."""
    total = 0
    for path in glob.glob(f"/proc/{server.process.pid}/task/*/status"):
        with open(path) as file:
            total += int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)",
                                   file.read(), re.M)[1])
    return total


@case("an idle server sleeps, with connections open and documents that expire")
def _():
    with Server("--checkpoint-ms", "100") as server:
        container = server.make(defaultTtl=3600)
        equal(server.put(container, {"id": "1", "pk": "a"})[0], 201)
        connection = server.connect()
        connection.request("GET", "/healthz")
        equal(connection.getresponse().read() != b"", True)
        counts = []
        while not counts or counts[-1] > 0 and len(counts) < TRIES:
            before = sleeps(server)
            time.sleep(STILL_S)
            counts.append(sleeps(server) - before)
        equal(counts[-1], 0, f"in {STILL_S} s each: {counts}")
        connection.request("GET", "/healthz")
        equal(connection.getresponse().status, 200)
        connection.close()


def held_kb(server):
    """All memory that it has, and what of it is no mapped file."""
    with open(f"/proc/{server.process.pid}/status") as file:
        found = dict(re.findall(r"^(\w+):\s*(\d+) kB", file.read(), re.M))
    return int(found["VmRSS"]), int(found["RssAnon"])


@case("an idle server takes less than 6 MB, and less than 3 of it are its own")
def _():
    program = os.environ.get("RUNNEL", "")
    if not os.access(program, os.X_OK):
        print("# no release build, and sanitizers take more")
        return
    with Server("--loops", "2", program=program) as server:
        equal(server.ask("GET", "/healthz", key=None)[0], 200)
        held, own = held_kb(server)
        assert held < 6000 and own < 3072, (held, own)


@case("the memory of bodies that were sent by halves is given back")
def _():
    program = os.environ.get("RUNNEL", "")
    if not os.access(program, os.X_OK):
        print("# no release build, and sanitizers keep what is freed")
        return
    head = (b"POST /dbs HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Length: 210000\r\n\r\n")
    with Server(program=program) as server:
        before = held_kb(server)[1]
        for _ in range(2):  # the allocator changes its ways after the first
            held = [open_socket(server) for _ in range(600)]
            for connection in held:
                connection.sendall(head + b"x" * 200000)
            eventually(lambda: held_kb(server)[1],
                       lambda own: own > before + 100000)
            other = server.connect()  # has memory behind theirs
            other.request("GET", "/healthz")
            equal(other.getresponse().read() != b"", True)
            for connection in held:
                connection.close()
            eventually(lambda: held_kb(server)[1],
                       lambda own: own < before + 20000)
            other.close()


run_cases()
