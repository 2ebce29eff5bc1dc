"""latency.py -- answers that are held back for a while (--latency-ms).

Requests over raw sockets, so that what is sent and what is read is ours to say.
That an answer is not too early is measured; that one does not wait for another
is seen by both being there sooner than one after the other would be.
"""
import json
import signal
import socket
import struct
import threading
import time

from lib import LIMIT_S, Server, case, equal, run_cases, sign

MS = 150
DOCS = "/dbs/d/colls/c/docs"


def request(verb, path, body=None, **headers):
    text = json.dumps(body) if body is not None else ""
    lines = {"host": "localhost", "x-ms-version": "2018-12-31",
             "content-length": len(text), **sign(verb, path),
             **{name.replace("_", "-"): value
                for name, value in headers.items()}}
    return (f"{verb} {path} HTTP/1.1\r\n"
            + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
            + "\r\n" + text).encode()


def write(id, path=DOCS):
    return request("POST", path, {"id": id, "pk": "a"},
                   x_ms_documentdb_partitionkey='["a"]')


def read(id):
    return request("GET", f"{DOCS}/{id}", x_ms_documentdb_partitionkey='["a"]')


class Peer:
    """One connection, and the answers on it."""

    def __init__(self, server):
        self.socket = socket.create_connection(("127.0.0.1", server.port),
                                               LIMIT_S)
        self.file = self.socket.makefile("rb")

    def send(self, *requests):
        self.begun = time.monotonic()
        self.socket.sendall(b"".join(requests))

    def answer(self):
        """Status, id of the body, and milliseconds since `send`."""
        status = int(self.file.readline().split()[1])
        took = (time.monotonic() - self.begun) * 1000
        length = 0
        while (line := self.file.readline().strip()):
            name, value = line.split(b":", 1)
            if name.lower() == b"content-length":
                length = int(value)
        body = json.loads(self.file.read(length) or b"{}")
        return status, body.get("id"), took

    def close(self, reset=False):
        if reset:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                   struct.pack("ii", 1, 0))
        self.file.close()
        self.socket.close()


def prepare(server):
    peer = Peer(server)
    peer.send(request("POST", "/dbs", {"id": "d"}),
              request("POST", "/dbs/d/colls",
                      {"id": "c", "partitionKey": {"paths": ["/pk"]}}))
    equal([peer.answer()[0] for _ in range(2)], [201, 201])
    peer.close()


def logged(server):
    """How many requests about documents are done."""
    return sum("/docs" in line for line in list(server.lines))


@case("no answer comes sooner than it may, of whatever kind, and pipelined ones "
      "come in their order")
def _():
    with Server("--latency-ms", str(MS)) as server:
        prepare(server)
        peer = Peer(server)
        query = request("POST", DOCS, {"query": "SELECT VALUE c.id FROM c"},
                        content_type="application/query+json",
                        x_ms_documentdb_isquery="true",
                        x_ms_documentdb_partitionkey='["a"]')
        for sent, status in ((write("1"), 201), (read("1"), 200),
                             (read("none"), 404), (query, 200),
                             (b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n",
                              200)):
            peer.send(sent)
            got = peer.answer()
            equal(got[0], status)
            assert got[2] >= MS, got
        peer.send(write("2"), read("2"), read("none"), read("1"))
        got = [peer.answer() for _ in range(4)]
        equal([each[:2] for each in got],
              [(201, "2"), (200, "2"), (404, None), (200, "1")])
        assert got[0][2] >= MS, got
        peer.close()


@case("answers to many clients are held side by side")
def _():
    """One loop that slept would have done one request by the first answer."""
    with Server("--latency-ms", str(MS), "--loops", "1",
                "--log-requests") as server:
        prepare(server)
        done = 0
        for _ in range(LIMIT_S):  # a slow machine may do few in that time
            peers = [Peer(server) for _ in range(60)]
            before = logged(server)
            for i, peer in enumerate(peers):
                peer.send(write(str(i)) if i % 3 else read("none"))
            for i, peer in enumerate(peers):
                status, _, took = peer.answer()
                done = done if i else logged(server) - before
                assert status in ((201, 409) if i % 3 else (404,)), status
                assert took >= MS, took
                peer.close()
            if done > 2:
                break
        assert done > 2, done


@case("a client that leaves before its answer does no harm, and its write is "
      "there")
def _():
    with Server("--latency-ms", str(MS), "--loops", "1") as server:
        prepare(server)
        for i in range(40):
            peer = Peer(server)
            peer.send(write(str(i)), read("none"))
            if i % 2:
                peer.close(reset=i % 4 == 1)
            else:  # it may still listen
                peer.socket.shutdown(socket.SHUT_WR)
                if i % 8 == 0:
                    equal(peer.answer()[:2], (201, str(i)))
                peer.close()
        peer = Peer(server)
        for i in (0, 2, 3, 39):  # what is reset may be lost on the way
            for _ in range(LIMIT_S):
                peer.send(read(str(i)))
                got = peer.answer()
                if got[0] == 200:
                    break
            equal(got[:2], (200, str(i)))
        peer.close()


@case("a server that is asked to stop gives the answers that it holds")
def _():
    for options in ((), ("--drain-ms", "0")):
        with Server("--latency-ms", str(5 * MS), "--log-requests",
                    *options) as server:
            prepare(server)
            peers = [Peer(server) for _ in range(8)]
            for i, peer in enumerate(peers):
                peer.send(write(str(i)))
            for _ in range(LIMIT_S * 100):  # until all are done, and held
                if logged(server) == 8:
                    break
                threading.Event().wait(0.01)
            server.process.send_signal(signal.SIGTERM)
            for i, peer in enumerate(peers):
                status, id, took = peer.answer()
                equal((status, id), (201, str(i)))
                assert took >= 5 * MS, took
                peer.close()


run_cases()
