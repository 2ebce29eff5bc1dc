"""waits.py -- Prefer: wait: parked without an answer, until there is one.

Nothing here sleeps to wait for the server: that a reader is parked is seen by
its answer not being there when another request, sent later, has been answered.
"""
import select
import socket
import time

from wire import Box, INCREMENTAL, case, equal


def begin(box, token, wait=60, **more):
    """A reader on a connection of its own, waiting."""
    reader = box.server.another()
    headers = dict(INCREMENTAL, Prefer=f"wait={wait}")
    headers["If-None-Match"] = token
    for name, value in more.items():
        headers[name.replace("_", "-")] = str(value)
    reader.begin("GET", box.path + "/docs", None, headers)
    return reader


def is_answered(reader):
    return bool(select.select([reader.connection.sock], [], [], 0)[0])


def parked(reader, box):
    """Some requests later it still has no answer."""
    for _ in range(3):
        box.range(0, "*")
    assert not is_answered(reader), reader.end().status


def add(server):
    @case("a waiting reader is answered by the commit that it waits for")
    def _():
        box = Box(server, "wait")
        box.put("p", "a")
        reader = begin(box, '"1"', x_ms_documentdb_partitionkeyrangeid=0)
        parked(reader, box)
        box.put("p", "b")
        answer = reader.end()
        equal((answer.status, answer.ids, answer["etag"]), (200, ["b"], '"2"'))
        equal(answer["preference-applied"], "wait=60")
        equal(answer["x-ms-session-token"], "0:-1#2")

    @case("a waiting reader has a change within a second of its answer")
    def _():
        box = Box(server, "wait-soon", 3)
        token = box.feed("*")["etag"]
        late = 0  # a busy machine may hold up some, but not most of them
        for n in range(40):
            scope = {"x_ms_documentdb_partitionkey": f'["k{n}"]'} if n % 2 else {}
            place = box.feed("*", **scope)["etag"] if scope else token
            reader = begin(box, place, **scope)
            parked(reader, box)
            box.put(f"k{n}", f"d{n}")
            late += not select.select([reader.connection.sock], [], [], 1)[0]
            answer = reader.end()
            equal(answer.ids, [f"d{n}"])
            token = answer["etag"] if not scope else box.feed(token)["etag"]
            reader.connection.close()
        assert late < 20, late

    @case("what is there already is not waited for")
    def _():
        box = Box(server, "wait-not")
        box.put("p", "a")
        started = time.monotonic()
        answer = begin(box, '"0"').end()
        equal((answer.ids, answer["preference-applied"]), (["a"], "wait=60"))
        now = begin(box, "*").end()
        equal((now.status, now["etag"]), (304, '"1"'))
        assert time.monotonic() - started < 30

    @case("when its time is over a reader learns how far the range has come")
    def _():
        box = Box(server, "wait-late")
        box.put("p", "a")
        box.put("p", "gone")
        reader = begin(box, '"2"', wait=1)
        parked(reader, box)
        box.delete("p", "gone")
        answer = reader.end()
        equal((answer.status, answer["etag"], answer["x-ms-item-count"]),
              (304, '"3"', "0"))
        equal(answer["x-ms-session-token"], "0:-1#3")
        equal(answer["preference-applied"], "wait=1")

    @case("a reader of a key is not answered for the sake of others")
    def _():
        box = Box(server, "wait-key")
        box.put("p", "a")
        reader = begin(box, '"1"', x_ms_documentdb_partitionkey='["p"]',
                       Prefer="return=minimal, wait=60")
        for n in range(20):
            box.put("other", f"o{n}")
        parked(reader, box)
        box.put("p", "b")
        answer = reader.end()
        equal((answer.ids, answer["etag"]), (["b"], '"22"'))

    @case("a reader of all ranges is answered by any of them")
    def _():
        box = Box(server, "wait-all", 3)
        token = box.feed("*")["etag"]
        for n in range(6):
            reader = begin(box, token)
            parked(reader, box)
            box.put(f"k{n}", f"d{n}")
            answer = reader.end()
            equal(answer.ids, [f"d{n}"])
            token = answer["etag"]

    @case("many wait side by side and each gets its own")
    def _():
        box = Box(server, "wait-many", 3)
        readers = []
        for n in range(150):
            readers.append(begin(box, '"0"' if n % 2 else '"0:-1#0"',
                                 **({"x_ms_documentdb_partitionkey":
                                     f'["k{n}"]'} if n % 2 else {})))
        box.put("k0", "zero")
        for n in range(1, 150, 2):
            box.put(f"k{n}", f"d{n}")
        for n, reader in enumerate(readers):
            answer = reader.end()
            equal(answer.status, 200)
            if n % 2:
                equal(answer.ids, [f"d{n}"])
            reader.connection.close()

    @case("readers that hang up leave nothing behind")
    def _():
        box = Box(server, "wait-dead")
        box.put("p", "a")
        for n in range(50):
            reader = begin(box, '"1"', x_ms_documentdb_partitionkey='["none"]')
            if n % 2:  # with a reset
                reader.connection.sock.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER,
                    b"\x01\x00\x00\x00\x00\x00\x00\x00")
            reader.connection.sock.close()
        for n in range(20):
            box.put("p", f"d{n}")
        equal(box.range(0, '"20"').ids, ["d19"])

    @case("a reader of a container that is deleted gets 404 or 410")
    def _():
        box = Box(server, "wait-deleted")
        box.put("p", "a")
        readers = [begin(box, '"1"') for _ in range(20)]
        named = begin(box, '"1"', x_ms_documentdb_partitionkeyrangeid="0")
        parked(named, box)
        equal(server.ask("DELETE", box.path).status, 204)
        for reader in readers:
            answer = reader.end()
            equal((answer.status, answer.substatus), (404, 1003))
        answer = named.end()
        assert answer.status in (404, 410), answer.status

    # Left parked: the server must end in spite of them.
    @case("readers are waiting when the server is killed or stopped")
    def _():
        box = Box(server, "wait-end")
        box.put("p", "a")
        for _ in range(10):
            _left.append(begin(box, '"1"', wait=300))
        parked(_left[0], box)


_left = []
