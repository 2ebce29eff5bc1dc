"""idle.py -- a server of which nothing is asked does nothing.

Method: how often its threads have gone to sleep, by the kernel's count, which a
busy machine does not change.  There are seconds in which something is due, as a
checkpoint after a write, so one still moment must come, and none would if a
thread looked after something again and again.
"""
import glob
import re
import time

from lib import Server, case, equal, run_cases

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


run_cases()
