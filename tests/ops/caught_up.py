"""caught_up.py -- the control route that waits for processors, over HTTP.

Goal: the wait ends when the leases have come to what had been written when it
began, and not before.
Method: the test plays the processor: it writes lease documents of the form that
the libraries use, and moves their continuations.
"""
import threading

from lib import LIMIT_S, Server, case, equal, pk_header, run_cases

LEASES = "/dbs/d/colls/leases"


class Waiting:
    """A wait in a thread of its own."""

    def __init__(self, server, monitored, **more):
        self.answer = None
        ask = {"container": monitored, "leases": LEASES, "prefix": "p",
               "timeoutMs": LIMIT_S * 1000, **more}

        def run():
            self.answer = server.post("/_runnel/wait", ask)
        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def has_ended(self):
        self.thread.join(0.2)
        return not self.thread.is_alive()

    def status(self):
        self.thread.join(LIMIT_S)
        return self.answer[0]

    def has_caught_up(self):
        equal(self.status(), 200, self.answer)
        return self.answer[2]["caughtUp"]


class Processor:
    def __init__(self, server, container, prefix="p"):
        server.post("/dbs/d/colls", {
            "id": "leases", "partitionKey": {"paths": ["/id"], "kind": "Hash"}})
        rid = server.ask("GET", container)[2]["_rid"]
        self.server, self.base = server, f"{prefix}localhost_{rid}.."

    def lease(self, token, lsn, **more):
        identity = self.base + token
        status, _, body = self.server.put(LEASES, {
            "id": identity, "LeaseToken": token, "Owner": "host",
            "ContinuationToken": None if lsn is None else f'"{lsn}"', **more
        }, headers={"x-ms-documentdb-is-upsert": "true", **pk_header(identity)})
        assert status in (200, 201), body

    def drop(self, token):
        identity = self.base + token
        equal(self.server.ask("DELETE", f"{LEASES}/docs/{identity}",
                              headers=pk_header(identity))[0], 204)


def write(server, container, count, pks="abcdefgh"):
    for i in range(count):
        status, _, body = server.put(
            container, {"id": f"{i}", "pk": pks[i % len(pks)]},
            headers={"x-ms-documentdb-is-upsert": "true"})
        assert status in (200, 201), body


@case("a wait ends when every lease has come to what was there when it began")
def _():
    with Server("--ranges", "2") as server:
        container = server.make()
        processor = Processor(server, container)
        write(server, container, 16)
        processor.lease("0", 1)
        waiting = Waiting(server, container)
        assert not waiting.has_ended()  # nothing covers range 1
        processor.lease("1", 1)
        processor.lease("0", 1000)
        assert not waiting.has_ended()
        write(server, container, 16)  # after it began: not waited for
        processor.lease("1", 16)
        assert waiting.has_caught_up()
        equal(waiting.answer[2]["leases"], 2)


@case("a wait ends at once where nothing is left, though a delete was the last")
def _():
    with Server() as server:
        container = server.make()
        processor = Processor(server, container)
        processor.lease("0", None)
        assert Waiting(server, container).has_caught_up()
        write(server, container, 2, "a")
        assert not (waiting := Waiting(server, container)).has_ended()
        server.ask("DELETE", container + "/docs/1", headers=pk_header("a"))
        processor.lease("0", 1)
        assert waiting.has_caught_up()


@case("a wait goes on over a split until the leases of both children are there")
def _():
    with Server() as server:
        container = server.make()
        processor = Processor(server, container)
        write(server, container, 16)
        processor.lease("0", 3)
        waiting = Waiting(server, container)
        server.post("/_runnel/split", {"container": container, "range": 0})
        processor.lease("1", 16)
        assert not waiting.has_ended()
        processor.lease("2", 16)
        assert not waiting.has_ended()  # the parent's lease is behind
        processor.drop("0")
        assert waiting.has_caught_up()
        processor.drop("2")
        middle = server.ask("GET", container + "/pkranges")[2][
            "PartitionKeyRanges"][1]["minInclusive"]
        processor.lease("part", 16, FeedRange={
            "Range": {"min": middle, "max": "FF"}})
        assert Waiting(server, container).has_caught_up()


@case("a wait that takes too long says so, and goes on for the same changes")
def _():
    with Server("--ranges", "2") as server:
        container = server.make()
        processor = Processor(server, container)
        write(server, container, 16)
        first = Waiting(server, container, timeoutMs=50)
        equal(first.has_caught_up(), False)
        equal(first.answer[2]["leases"], 0)
        for token in "01":
            processor.lease(token, 16)
        write(server, container, 16)
        equal(Waiting(server, container, timeoutMs=50).has_caught_up(), False)
        upto = first.answer[2]["upto"]
        again = Waiting(server, container, upto=upto)
        equal(again.has_caught_up(), True)
        equal(again.answer[2]["upto"], upto)


@case("a wait for what cannot be is refused")
def _():
    with Server() as server:
        container = server.make()
        processor = Processor(server, container)
        for bad, status in [({"container": "x"}, 400), ({"leases": "x"}, 400),
                            ({"container": "dbs/d/colls/none"}, 404),
                            ({"leases": "dbs/d/colls/none"}, 404),
                            ({"timeoutMs": -1}, 400), ({"typo": 1}, 400),
                            ({"upto": "x"}, 400), ({"upto": "7:-1#1"}, 400)]:
            equal(Waiting(server, container, **bad).status(), status, bad)
        write(server, container, 1)
        for bad in [{"ContinuationToken": "what"}, {"LeaseToken": "77"},
                    {"LeaseToken": str(2 ** 32)}]:
            processor.lease("0", 1, **bad)
            waiting = Waiting(server, container)
            equal(waiting.status(), 400, bad)
            assert processor.base in waiting.answer[2]["message"]


@case("a server that stops answers open waits")
def _():
    with Server() as server:
        container = server.make()
        Processor(server, container)
        write(server, container, 1)
        waiting = Waiting(server, container)
        assert not waiting.has_ended()
    assert not waiting.has_caught_up()


run_cases()
