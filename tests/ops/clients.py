"""clients.py -- clients that speak too soon, end too soon, or do not listen.

Method: bytes on sockets.  Nothing is timed: a server that has answered fifty
other requests since would have answered.
"""
import json
import os
import resource
import socket

from lib import (LIMIT_S, Server, case, equal, open_socket, pk_header, request,
                 run_cases)

DEAF = 4
REQUESTS = 100


def answers(connection, count):
    """The statuses of that many answers, read one after the other."""
    file = connection.makefile("rb")
    found = []
    for _ in range(count):
        status = int(file.readline().split()[1])
        length = 0
        for line in iter(file.readline, b"\r\n"):
            name, value = line.split(b":", 1)
            if name.lower() == b"content-length":
                length = int(value)
        equal(len(file.read(length)), length)
        found.append(status)
    return found, file


def count_reads(server):
    return server.metrics().get('runnel_http_requests_total{op="GET",resource='
                                '"docs",code="200"}', 0)


@case("a client that is done speaking gets the answer to its write")
def _():
    with Server() as server:
        container = server.make()
        for i in range(20):
            with open_socket(server) as connection:
                connection.sendall(request(
                    "POST", container + "/docs",
                    b'{"id":"%d","pk":"x"}' % i))
                connection.shutdown(socket.SHUT_WR)
                found, file = answers(connection, 1)
                equal((found, file.read()), ([201], b""))


@case("what was sent before the end of speech is answered to the last")
def _():
    with Server() as server:
        container = server.make()
        text = b"".join(request("POST", container + "/docs",
                                b'{"id":"%d","pk":"x"}' % i)
                        for i in range(50))
        with open_socket(server) as connection:
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
            found, file = answers(connection, 50)
            equal((found, file.read()), ([201] * 50, b""))


@case("a deaf client has few answers made for it and gets all when it listens")
def _():
    with Server() as server:
        container = server.make()
        equal(server.put(container, {"id": "1", "pk": "x",
                                     "filler": "x" * 1000000})[0], 201)
        text = request("GET", container + "/docs/1",
                       headers=pk_header("x")) * REQUESTS
        deaf = [open_socket(server) for _ in range(DEAF)]
        for connection in deaf:
            connection.sendall(text)
        for _ in range(50):
            equal(server.ask("GET", "/healthz", key=None)[0], 200)
        assert count_reads(server) < DEAF * REQUESTS / 2, count_reads(server)
        for connection in deaf:
            equal(answers(connection, REQUESTS)[0], [200] * REQUESTS)
            connection.close()
        equal(count_reads(server), DEAF * REQUESTS)


@case("a client that is gone is forgotten with its answers")
def _():
    with Server() as server:
        container = server.make()
        server.put(container, {"id": "1", "pk": "x", "filler": "x" * 1000000})
        text = request("GET", container + "/docs/1",
                       headers=pk_header("x")) * 10
        for _ in range(20):
            with open_socket(server) as connection:
                connection.sendall(text)
        name = 'runnel_http_connections{state="open"}'
        for _ in range(LIMIT_S * 100):
            if server.metrics()[name] == 1:
                return
        raise AssertionError(server.metrics()[name])


@case("a client that is gone before its answer is logged like any other")
def _():
    with Server("--log-requests") as server:
        container = server.make()
        for i in range(40):
            connection = open_socket(server)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                  b"\x01\x00\x00\x00\x00\x00\x00\x00")
            connection.sendall(request("POST", container + "/docs",
                                       b'{"id":"%d","pk":"x"}' % i))
            connection.close()  # with a reset
        server.put(container, {"id": "last", "pk": "x"})
        server.stop()
        clients = [json.loads(line)["client"] for line in server.lines
                   if '"resource":"docs"' in line]
        assert all(c.startswith("127.0.0.1:") for c in clients), clients
        server.start()


@case("a reader that is gone as soon as it has asked is waited with by nobody")
def _():
    with Server("--log-requests") as server:
        container = server.make()
        server.put(container, {"id": "1", "pk": "x"})
        with open_socket(server) as connection:
            connection.sendall(request("GET", container + "/docs", headers={
                "A-IM": "Incremental feed", "If-None-Match": '"1"',
                "Prefer": "wait=300"}))
        server.wait_for_line('"op":"GET"')
        equal(server.metrics()["runnel_feed_readers"], 0)


@case("a query whose client is gone gives its worker to others, and one that "
      "takes no time is answered to a client that has only ended its side")
def _():
    with Server("--workers", "1", "--log-requests") as server:
        container = server.make()
        server.put(container, {"id": "1", "pk": "x", "a": list(range(1000))})
        ask = {"x-ms-documentdb-isquery": "true",
               "x-ms-documentdb-query-enablecrosspartition": "true",
               "content-type": "application/query+json"}

        def query(text):
            return request("POST", container + "/docs",
                           json.dumps({"query": text}).encode(), ask)

        with open_socket(server) as connection:
            connection.sendall(query("SELECT VALUE COUNT(1) FROM c"))
            connection.shutdown(socket.SHUT_WR)
            equal(answers(connection, 1)[0], [200])
        with open_socket(server) as connection:
            connection.sendall(query("SELECT VALUE COUNT(1) FROM c JOIN x IN "
                                     "c.a JOIN y IN c.a JOIN z IN c.a"))
        with open_socket(server) as connection:
            connection.sendall(query("SELECT VALUE COUNT(1) FROM c"))
            equal(answers(connection, 1)[0], [200])
        server.wait_for_line("the client has ended the connection")


@case("without descriptors clients wait, the log says so, and they are served "
      "when there are some again; the data have some at all times")
def _():
    with Server() as server:
        pid = server.process.pid
        soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        equal(soft, hard)
        few = 128
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (few, hard))
        held = [open_socket(server) for _ in range(few + 20)]
        line = json.loads(server.wait_for_line("cannot accept connections"))
        assert "open files" in line["err"], line
        left = few - len(os.listdir(f"/proc/{pid}/fd"))
        assert left > 8, left
        for connection in held:
            connection.close()
        equal(server.ask("GET", "/dbs")[0], 200)
        assert server.metrics()[
            'runnel_http_rejected_total{reason="connections"}'] > 0


run_cases()
