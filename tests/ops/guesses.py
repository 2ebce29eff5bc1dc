"""guesses.py -- a client that tries wrong keys is refused late.

Method: a delay that no test would outlast shows which clients are held;
nothing is timed.
"""
import base64
import http.client
import signal
import socket
import time

from lib import (AS_ROOT, EMULATOR_KEY, LIMIT_S, Server, case, equal,
                 own_address, run_cases, sign)

HELD_MAX = 64
FOR_EVER = ["--auth-delay-ms", "3600000"]
WRONG = base64.b64encode(bytes(64)).decode()
DELAYED = "runnel_auth_delayed_total"


def connect(server, address="127.0.0.1"):
    return http.client.HTTPConnection(address, server.port, timeout=LIMIT_S)


def guess(connection, path="/dbs", key=WRONG):
    connection.request("GET", path, headers={
        "x-ms-version": "2018-12-31", **sign("GET", path, key)})


def status(connection):
    answer = connection.getresponse()
    answer.read()
    return answer.status


def await_held(server, count):
    """Until so many are; they, and the request for metrics, are under way."""
    for _ in range(LIMIT_S * 1000):
        found = server.metrics()
        if found["runnel_inflight_requests"] == count + 1:
            equal(found["runnel_feed_readers"], 0)
            return
    raise AssertionError(found["runnel_inflight_requests"])


@case("wrong keys are refused late, a few at a time, and right ones served at "
      "once")
def _():
    server = Server(*FOR_EVER)
    with server:
        held = [connect(server) for _ in range(HELD_MAX)]
        for i, connection in enumerate(held):
            guess(connection, ("/dbs", "/dbs/d/colls/c", "/_runnel/clock")[i % 3])
        await_held(server, HELD_MAX)
        equal(server.metrics()[DELAYED], HELD_MAX)
        for _ in range(3):  # there is no place left to hold them in
            beside = connect(server)
            for _ in range(3):
                guess(beside)
                equal(status(beside), 401)
            guess(beside, key=EMULATOR_KEY)
            equal(status(beside), 200)
            beside.close()
        equal(server.ask("GET", "/dbs")[0], 200)
        equal(server.metrics()[DELAYED], HELD_MAX)
        server.process.send_signal(signal.SIGTERM)
        equal({status(connection) for connection in held}, {401})


@case("a refusal that is held has the latency of every answer, too, when the "
      "server stops")
def _():
    server = Server(*FOR_EVER, "--latency-ms", "700")
    with server:
        held = connect(server)
        begun = time.monotonic()
        guess(held)
        await_held(server, 1)
        server.process.send_signal(signal.SIGTERM)
        equal(status(held), 401)
        assert time.monotonic() - begun >= 0.7


@case("a client that goes while it is held does no harm")
def _():
    with Server("--auth-delay-ms", "200") as server:
        for _ in range(HELD_MAX // 4):
            connection = connect(server)
            guess(connection)
            connection.close()
        await_held(server, 0)
        half = connect(server)
        guess(half)
        half.sock.shutdown(socket.SHUT_WR)
        equal(status(half), 401)


@case("a delayed refusal is that refusal")
def _():
    with Server() as fast, Server("--auth-delay-ms", "1") as slow:
        for headers in ({"authorization": "nonsense"},
                        sign("GET", "/dbs", WRONG)):
            found = []
            for server in (fast, slow):
                code, sent, body = server.ask("GET", "/dbs", key=None,
                                              headers=headers)
                found.append((code, sorted(sent), body["code"]))
            equal(found[0], found[1])
            equal(found[0][0], 401)
        equal(fast.metrics()[DELAYED], 0)
        equal(slow.metrics()[DELAYED], 2)


@case("without a signature, or with a right one that may not, none is delayed")
def _():
    with Server(*FOR_EVER) as server:
        equal(server.ask("GET", "/dbs", key=None)[0], 401)
        equal(server.ask("GET", "/nothing", key=None)[0], 401)
        equal(server.ask("GET", "/dbs/none")[0], 404)
        equal(server.ask("GET", "/dbs", key=None, headers=sign(
            "GET", "/dbs", date="Thu, 01 Jan 1970 00:00:00 GMT"))[0], 403)
        equal(server.metrics()[DELAYED], 0)


@case("off loopback wrong keys are delayed by default, on loopback they are "
      "not")
def _():
    address = own_address()
    if not address:
        return
    with Server("--allow-plain-http-on-network", *AS_ROOT,
                listen="0.0.0.0:0") as server:
        for where, count in (("127.0.0.1", 0), (address, 1), (address, 2)):
            connection = connect(server, where)
            guess(connection)
            equal(status(connection), 401)
            connection.close()
            equal(server.metrics()[DELAYED], count)


@case("refused clients are logged, a line a second for each address")
def _():
    address = own_address()
    if not address:
        return
    with Server("--allow-plain-http-on-network", "--auth-delay-ms", "1",
                *AS_ROOT, listen="0.0.0.0:0") as server:
        guesses = 0
        for where in ["127.0.0.1"] * 50 + [address] * 5000:
            connection = connect(server, where)
            guess(connection)
            equal(status(connection), 401)
            connection.close()
            guesses += 1
            lines = [line for line in server.lines if "not authorized" in line]
            if any(f'"client":"{address}:' in line for line in lines):
                break  # at once, unless the two happen to share a line
        assert any('"client":"127.0.0.1:' in line for line in lines), lines
        assert any(f'"client":"{address}:' in line for line in lines), lines
        assert len(lines) < guesses, lines


run_cases()
