"""control.py -- the control routes and the test mode, over HTTP.

Goal: a test can turn the clock, order faults and put an LSN forward, and only a
client that may can do any of it.
Method: one server in test mode, one without, real requests.
"""
import http.client
import json
import os

from lib import (EMULATOR_KEY, Server, case, equal, pk_header, run_cases)


def read_only_key(server):
    with open(os.path.join(server.data, "keys")) as file:
        return json.load(file)["primaryReadOnly"]


def refused(server, path, body, status=400):
    got, _, answer = server.post(path, body)
    equal(got, status, answer)
    assert answer["message"], answer
    return answer["message"]


@case("without test mode its routes are not there")
def _():
    with Server() as server:
        for path in ["/_runnel/clock", "/_runnel/fault", "/_runnel/lsn"]:
            equal(server.post(path, {})[0], 404)


@case("control routes need a read-write key")
def _():
    with Server("--test-mode") as server:
        path, body = "/_runnel/clock", {"advanceMs": 1}
        equal(server.post(path, body, key=None)[0], 401)
        other = EMULATOR_KEY.replace("C2y6", "D2y6")
        equal(server.post(path, body, key=other)[0], 401)
        equal(server.post(path, body, key=read_only_key(server))[0], 403)
        equal(server.post("/_runnel/none", {}, key=None)[0], 401)
        equal(server.post("/_runnel/none", {})[0], 404)
        equal(server.ask("PUT", path, body)[0], 405)
        equal(server.ask("GET", path)[2]["aheadMs"], 0)


@case("a signature for one control route is none for another")
def _():
    from lib import sign
    with Server("--test-mode") as server:
        headers = sign("POST", "/_runnel/lsn", EMULATOR_KEY)
        equal(server.post("/_runnel/clock", {"advanceMs": 1}, key=None,
                          headers=headers)[0], 401)


@case("the clock can be turned and _ts follows")
def _():
    with Server("--test-mode") as server:
        container = server.make()
        before = server.put(container, {"id": "1", "pk": "x"})[2]["_ts"]
        status, _, clock = server.post("/_runnel/clock", {"advanceMs": 3600000})
        equal((status, clock["aheadMs"]), (200, 3600000))
        after = server.put(container, {"id": "2", "pk": "x"})[2]["_ts"]
        assert 3600 <= after - before < 3600 + 60, (before, after)
        equal(server.ask("GET", "/_runnel/clock")[2]["aheadMs"], 3600000)


@case("documents expire when the clock is turned")
def _():
    with Server("--test-mode") as server:
        container = server.make(defaultTtl=100)
        server.put(container, {"id": "1", "pk": "x"})
        server.put(container, {"id": "2", "pk": "x", "ttl": -1})
        server.post("/_runnel/clock", {"advanceMs": 50000})
        equal(server.get(container, "1", "x")[0], 200)
        server.post("/_runnel/clock", {"advanceMs": 110000})
        equal(server.get(container, "1", "x")[0], 404)
        equal(server.get(container, "2", "x")[0], 200)


@case("clients need not turn their own clocks")
def _():
    with Server("--test-mode") as server:
        server.post("/_runnel/clock", {"advanceMs": 86400000})
        equal(server.ask("GET", "/")[0], 200)


@case("a clock cannot be turned by what is no time")
def _():
    with Server("--test-mode") as server:
        for bad in [{}, [], {"advanceMs": -1}, {"advanceMs": 0.5},
                    {"advanceMs": "1"}, {"advanceMs": 1e18}, {"advance": 1}]:
            refused(server, "/_runnel/clock", bad)
        refused(server, "/_runnel/clock", "{")


FAULTS = [(429, 3200), (449, 0), (503, 0), (410, 1002), (410, 1007),
          (410, 1000), (410, 0), (404, 1002), (408, 0), (412, 0), (500, 0)]


@case("ordered faults strike as often as ordered and change nothing")
def _():
    with Server("--test-mode") as server:
        container = server.make()
        for status, sub in FAULTS:
            server.post("/_runnel/fault", {"status": status, "subStatus": sub,
                                           "count": 2})
            for _ in range(2):
                got, headers, body = server.put(container,
                                                {"id": "1", "pk": "x"})
                equal(got, status, body)
                equal(int(headers.get("x-ms-substatus", 0)), sub)
                equal("x-ms-retry-after-ms" in headers, status == 429)
                assert body["code"] and body["message"], body
            equal(server.get(container, "1", "x")[0], 404)
        equal(server.put(container, {"id": "1", "pk": "x"})[0], 201)
        equal(server.ask("GET", "/_runnel/fault")[2],
              {"waiting": 0, "taken": 2 * len(FAULTS)})


@case("a fault strikes what it was ordered for and spares what its order "
      "excludes")
def _():
    with Server("--test-mode") as server:
        container = server.make()
        server.post("/_runnel/fault", {
            "status": 503, "method": "POST", "path": container + "/docs",
            "header": "x-ms-documentdb-is-upsert", "skip": 1})
        upsert = {"x-ms-documentdb-is-upsert": "true"}
        equal(server.put(container, {"id": "1", "pk": "x"})[0], 201)
        equal(server.get(container, "1", "x")[0], 200)
        for status in [200, 503, 200]:
            equal(server.put(container, {"id": "1", "pk": "x"},
                             headers=upsert)[0], status)


@case("orders can be taken back")
def _():
    with Server("--test-mode") as server:
        container = server.make()
        server.post("/_runnel/fault", {"status": 503, "count": 1000})
        equal(server.get(container, "1", "x")[0], 503)
        equal(server.ask("DELETE", "/_runnel/fault")[0], 204)
        equal(server.get(container, "1", "x")[0], 404)


@case("a fault after the fact leaves the write in place")
def _():
    with Server("--test-mode") as server:
        container = server.make()
        server.post("/_runnel/fault", {"status": 503, "after": True})
        got, headers, _ = server.put(container, {"id": "1", "pk": "x"})
        equal(got, 503)
        assert "etag" not in headers and "x-ms-activity-id" in headers, headers
        equal(server.get(container, "1", "x")[0], 200)


def lost(server, container, identity):
    try:
        server.put(container, {"id": identity, "pk": "x"})
    except (http.client.RemoteDisconnected, ConnectionError):
        return True
    return False


@case("a lost answer leaves the write in place and a lost request does not")
def _():
    with Server("--test-mode") as server:
        container = server.make()
        server.post("/_runnel/fault", {"lose": "answer"})
        assert lost(server, container, "1")
        equal(server.get(container, "1", "x")[0], 200)
        server.post("/_runnel/fault", {"lose": "request"})
        assert lost(server, container, "2")
        equal(server.get(container, "2", "x")[0], 404)


@case("an invalid fault is refused")
def _():
    with Server("--test-mode") as server:
        for bad in [{}, {"status": 200}, {"status": 999}, {"status": 429.5},
                    {"status": 410, "subStatus": 77}, {"lose": "all"},
                    {"status": 503, "count": 0}, {"status": 503, "count": -1},
                    {"status": 503, "method": 3}, {"status": 503, "typo": 1},
                    {"status": 503, "path": "x" * 600}]:
            refused(server, "/_runnel/fault", bad)
        for _ in range(32):
            equal(server.post("/_runnel/fault", {"status": 503})[0], 200)
        refused(server, "/_runnel/fault", {"status": 503}, 413)


@case("an LSN can be put forward and the next write takes the next one")
def _():
    with Server("--test-mode") as server:
        container = server.make()
        status, _, body = server.post("/_runnel/lsn", {
            "container": container[1:], "range": 0, "lsn": 28534})
        equal((status, body), (200, {"range": "0", "lsn": 28534}))
        _, headers, _ = server.put(container, {"id": "1", "pk": "x"})
        equal(headers["lsn"], "28535")
        equal(headers["x-ms-session-token"], "0:-1#28535")
        equal(server.get(container, "1", "x")[1]["lsn"], "28535")


@case("an LSN put forward outlives a kill")
def _():
    with Server("--test-mode") as server:
        container = server.make()
        server.post("/_runnel/lsn", {"container": container, "lsn": 500})
        server.process.kill()
        server.process.wait()
        server.start()
        equal(server.put(container, {"id": "1", "pk": "x"})[1]["lsn"], "501")


@case("an LSN cannot go back, and only a range has one")
def _():
    with Server("--test-mode") as server:
        container = server.make()
        path = "/_runnel/lsn"
        server.post(path, {"container": container, "lsn": 50})
        refused(server, path, {"container": container, "lsn": 49})
        refused(server, path, {"container": container, "lsn": 2**53})
        refused(server, path, {"container": container})
        refused(server, path, {"lsn": 60})
        refused(server, path, {"container": "dbs/d", "lsn": 60})
        refused(server, path, {"container": "dbs/d/colls", "lsn": 60})
        refused(server, path, {"container": "dbs/d/colls/e", "lsn": 60}, 404)
        refused(server, path, {"container": container, "lsn": 60, "range": 9},
                410)
        equal(server.put(container, {"id": "1", "pk": "x"})[1]["lsn"], "51")


run_cases()
