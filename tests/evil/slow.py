"""slow.py -- two thousand slow clients are held while others are served.

Method: a server whose time-outs are minutes, so that it cuts nobody off
meanwhile; 2,000 connections, each slow in one of the ways below, to which a
thread goes on sending a byte now and then; and beside them clients that create
and read documents, signed, over plain connections and over TLS.  All of their
requests succeed, and afterwards every slow client is still connected: nobody
was served in place of one, or had to wait for one's time-out.  Nothing is
judged by the clock.

That slow clients are cut off in the end is `evil_client pace`.
"""
import json
import os
import resource
import socket
import ssl
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../ops"))
from lib import (Server, case, equal, open_socket, pk_header,  # noqa: E402
                 request, run, run_cases, sign)

SLOW = 2000
HEALTHY, EACH = 8, 50  # clients, and documents that each creates and reads
PATIENT = [word for name in ("head", "idle", "stall")
           for word in (f"--{name}-ms", "600000")]
BIG = 300000  # bytes of a document that is read slowly
UNSENT = 'runnel_arena_bytes{pool="unsent"}'
OPEN = 'runnel_http_connections{state="open"}'


def hello():
    """The first flight of a TLS client."""
    out = ssl.MemoryBIO()
    context = ssl.create_default_context()
    try:
        context.wrap_bio(ssl.MemoryBIO(), out,
                         server_hostname="localhost").do_handshake()
    except ssl.SSLWantReadError:
        return out.read()


def take(connection, count):
    """So many bytes, or none if none has come."""
    try:
        return connection.recv(count)
    except BlockingIOError:
        return None


class Slow:
    """One slow client: what it says at once, a byte at a time, and hears."""

    def __init__(self, server, first=b"", drip=b"", reads=False):
        if reads:  # with little room in kernels: the server keeps the rest
            self.line = socket.socket()
            self.line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            self.line.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
            self.line.connect(("127.0.0.1", server.port))
        else:
            self.line = open_socket(server)
        self.drip, self.at, self.reads = drip, 0, reads
        self.line.sendall(first)
        self.line.setblocking(False)

    def turn(self):
        """One byte more, said or heard."""
        if self.at < len(self.drip):
            self.line.send(self.drip[self.at:self.at + 1])
            self.at += 1
        if self.reads:
            take(self.line, 1)

    def is_held(self):
        """Neither cut off nor done, and not refused."""
        if self.reads:
            return take(self.line, 1) != b""
        got = take(self.line, 1 << 16)
        while got:
            if got.startswith(b"HTTP/1.1 ") and b" 200 " not in got[:13]:
                return False
            got = take(self.line, 1 << 16)
        return got is None


def kinds(container):
    """The ways to be slow: what is said at once, then byte by byte, and
    whether an answer is taken that slowly."""
    flight = hello()
    head = "POST / HTTP/1.1\r\nHost: localhost\r\n"
    healthz = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    drip = b"x" * 100000
    return {
        "says nothing": (b"", b"", False),
        "drips its head": (b"GET / HTTP/1.1\r\nX: ", drip[:1000], False),
        "drips its body":
            (f"{head}Content-Length: 100001\r\n\r\n".encode(), drip, False),
        "drips a chunk":
            (f"{head}Transfer-Encoding: chunked\r\n\r\n1ffff\r\n".encode(),
             drip, False),
        "drips the hello of TLS": (flight[:5], flight[5:-1], False),
        "leaves a handshake of TLS in the middle": (flight, b"", False),
        "is idle after a request": (healthz, b"", False),
        "takes a large answer byte by byte":
            (request("GET", container + "/docs/big",
                     headers=pk_header("p")), b"", True),
    }


class Dripping(threading.Thread):
    """Lets each slow client send or take a byte, in turn, until the end."""

    def __init__(self, slow):
        super().__init__()
        self.slow, self.ends = slow, threading.Event()
        self.turns, self.failed = 0, None

    def run(self):
        try:
            while not self.ends.is_set():
                for each in self.slow:
                    each.turn()
                self.turns += 1
                self.ends.wait(0.02)  # the pace, not a wait for anything
        except OSError as error:
            self.failed = error


class Healthy(threading.Thread):
    """Creates documents and reads each, on one connection."""

    def __init__(self, server, container, number, cafile):
        super().__init__()
        self.server, self.container = server, container
        self.number, self.cafile = number, cafile
        self.done, self.failed = 0, None

    def ask(self, connection, method, path, body=b"", headers=None):
        connection.request(method, path, body or None, {
            "x-ms-version": "2018-12-31", **sign(method, path),
            **(headers or {})})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def run(self):
        try:
            connection = self.server.connect(self.cafile)
            for i in range(EACH):
                identity = f"{self.number}-{i}"
                body = json.dumps({"id": identity, "pk": "p", "n": i})
                status, _ = self.ask(connection, "POST",
                                     self.container + "/docs", body)
                equal(status, 201)
                status, found = self.ask(
                    connection, "GET", f"{self.container}/docs/{identity}",
                    headers=pk_header("p"))
                equal((status, found["n"]), (200, i))
                self.done += 1
            connection.close()
        except Exception as error:  # the case reports it
            self.failed = error


def besiege(server, container, ways):
    names = list(ways)
    slow = []
    for i in range(SLOW):
        first, drip, reads = ways[names[i % len(names)]]
        slow.append(Slow(server, first, drip, reads))
    return slow


@case("two thousand slow clients are held while others are served")
def _():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as home:
        data = home + "/data"
        equal(run("tls", "init", data)[0], 0)
        with Server(*PATIENT, data=data) as server:
            container = server.make()
            equal(server.put(container, {"id": "big", "pk": "p",
                                         "text": "x" * BIG})[0], 201)
            ways = kinds(container)
            slow = besiege(server, container, ways)
            dripping = Dripping(slow)
            dripping.start()
            try:
                work = [Healthy(server, container, i,
                                data + "/tls/ca.pem" if i % 2 else None)
                        for i in range(HEALTHY)]
                for each in work:
                    each.start()
                for each in work:
                    each.join()
            finally:
                dripping.ends.set()
                dripping.join()
            found = server.metrics()
            equal([each.failed for each in work if each.failed], [])
            equal([each.done for each in work], [EACH] * HEALTHY)
            equal(dripping.failed, None)
            assert dripping.turns > 0
            names = list(ways)
            gone = [names[i % len(names)] for i, each in enumerate(slow)
                    if not each.is_held()]
            equal(gone, [])
            assert found[OPEN] > SLOW, found[OPEN]
            readers = sum(each.reads for each in slow)
            assert found[UNSENT] > readers * 10000, found[UNSENT]
            equal(found['runnel_http_rejected_total{reason="timeout"}'], 0)
            print(f"{SLOW} slow clients in {len(ways)} ways, "
                  f"{dripping.turns} bytes of each; {HEALTHY * EACH} creates "
                  f"and as many reads meanwhile; {int(found[UNSENT])} bytes "
                  "unsent")
            for each in slow:
                each.line.close()


run_cases()
