"""logs.py -- what an operator is told: log, metrics, health, limits.

Method: a server with all of its log kept, real requests, and a look at both
sides.
"""
import http.client
import json
import os
import re
import socket
import uuid

from lib import (EMULATOR_KEY, LIMIT_S, Server, case, equal, run_cases, sign)

METRIC = re.compile(r'^[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? '
                    r'(\d+(\.\d+)?(e[+-]?\d+)?|\+Inf)$')
FIELDS = {"ts", "level", "msg", "activity_id", "op", "resource", "path",
          "status", "substatus", "dur_ms", "waited_for", "ru", "req_bytes",
          "resp_bytes", "client", "key", "range", "lsn", "err"}


def requests_of(server):
    lines = [json.loads(line) for line in server.lines]
    return [line for line in lines if line["msg"] == "request"]


@case("every line of the log is a JSON object with time, level and message")
def _():
    with Server("--log-requests") as server:
        container = server.make()
        server.put(container, {"id": "1", "pk": "x"})
        server.ask("GET", "/dbs/%0a%22%1b")
        server.stop()
        for line in server.lines:
            found = json.loads(line)
            assert {"ts", "level", "msg"} <= set(found), line
        first = json.loads(server.lines[0])
        equal((first["msg"], first["tls"]), ("started", False))
        server.start()


@case("every request is logged with its outcome if that is wanted")
def _():
    with Server("--log-requests") as server:
        container = server.make()
        sent = str(uuid.uuid4())
        server.put(container, {"id": "1", "pk": "x"},
                   headers={"x-ms-activity-id": sent})
        server.get(container, "2", "x")
        line = json.loads(server.wait_for_line('"status":404'))
        equal(set(line), FIELDS)
        equal((line["op"], line["resource"], line["path"]),
              ("GET", "docs", container + "/docs/2"))
        assert line["client"].startswith("127.0.0.1:"), line
        made = [r for r in requests_of(server) if r["activity_id"] == sent]
        equal(len(made), 1)
        made = made[0]
        equal((made["status"], made["waited_for"], made["key"], made["lsn"]),
              (201, "commit", "emulator", 1))
        assert made["ru"] > 1 and made["dur_ms"] > 0, made
        assert made["req_bytes"] == len('{"id": "1", "pk": "x"}'), made


@case("requests are not logged unless that is wanted")
def _():
    with Server("--slow-ms", "0") as server:
        server.make()
        equal(requests_of(server), [])


@case("slow requests are logged with what they waited for")
def _():
    with Server("--slow-ms", "1", "--checkpoint-ms", "3600000") as server:
        container = server.make()
        for i in range(300):
            server.put(container, {"id": str(i), "pk": "x" * 1000})
            if any("slow request" in line for line in server.lines):
                break
        line = json.loads(server.wait_for_line("slow request"))
        assert line["dur_ms"] >= 1 and line["level"] == "warn", line
        equal(line["waited_for"], "commit")


@case("a wrong signature is logged and counted by its reason")
def _():
    with Server() as server:
        other = EMULATOR_KEY.replace("C2y6", "D2y6")
        server.ask("GET", "/dbs", key=other)
        server.ask("GET", "/dbs", key=None)
        server.ask("GET", "/dbs", key=None, headers=sign(
            "GET", "/dbs", EMULATOR_KEY, "Thu, 01 Jan 2015 00:00:00 GMT"))
        found = server.metrics()
        for reason in ["missing", "expired", "invalid"]:
            name = f'runnel_auth_failures_total{{reason="{reason}"}}'
            equal(found[name], 1)
        server.wait_for_line("not authorized")


@case("no key, token or document is in the log or the metrics")
def _():
    canary = "canary-" + uuid.uuid4().hex
    with Server("--log-requests", "--log-level", "debug", "--slow-ms",
                "1") as server:
        container = server.make()
        server.put(container, {"id": "1", "pk": canary, "x": canary})
        server.get(container, "1", canary)
        server.post(container + "/docs", {
            "query": "SELECT * FROM c WHERE c.x = @x",
            "parameters": [{"name": "@x", "value": canary}]},
            headers={"content-type": "application/query+json",
                     "x-ms-documentdb-isquery": "true",
                     "x-ms-documentdb-query-enablecrosspartition": "true"})
        token = sign("GET", "/dbs", EMULATOR_KEY)["authorization"]
        server.ask("GET", "/dbs/none", key=None, headers={
            "authorization": token, "x-ms-date": "x"})
        with open(os.path.join(server.data, "keys")) as file:
            keys = list(json.load(file).values())
        _, _, text = server.ask("GET", "/metrics", key=None, raw=True)
        server.stop()
        said = "\n".join(server.lines) + text.decode()
        for secret in [canary, token, token[-30:], EMULATOR_KEY, *keys]:
            assert secret not in said, secret
        server.start()


@case("metrics speak the Prometheus format and every family has a type once")
def _():
    with Server() as server:
        container = server.make()
        server.put(container, {"id": "1", "pk": "x"})
        _, headers, text = server.ask("GET", "/metrics", key=None, raw=True)
        equal(headers["content-type"], "text/plain; version=0.0.4")
        types = re.findall(r"^# TYPE (\S+) (\S+)$", text.decode(), re.M)
        names = [name for name, _ in types]
        equal(len(names), len(set(names)))
        for line in text.decode().splitlines():
            if line.startswith("# "):
                continue
            assert METRIC.match(line), line
            family = re.sub(r"(_bucket|_sum|_count)?(\{.*)? .*", "", line)
            assert family in names, line


NAMES = """runnel_inflight_requests runnel_request_units_total
runnel_throttled_total runnel_http_request_bytes_total
runnel_http_response_bytes_total runnel_http_connections{state="open"}
runnel_http_rejected_total{reason="malformed"} runnel_commits_total
runnel_auth_key_last_used_timestamp_seconds{key="emulator"}
runnel_wal_fsync_duration_seconds_sum runnel_wal_fsync_duration_seconds_count
runnel_commit_batch_size_sum runnel_commit_queue_depth
runnel_corruption_detected_total runnel_store_read_only
runnel_disk_free_bytes runnel_disk_reserve_bytes runnel_db_size_bytes
runnel_store_map_used_ratio runnel_oldest_reader_seconds
runnel_recovery_duration_seconds runnel_recovered_records_total
runnel_clock_jump_total process_cpu_seconds_total
process_resident_memory_bytes process_open_fds process_max_fds
process_start_time_seconds runnel_insecure_config{reason="plain_http"}"""


@case("the metrics that operators expect are there")
def _():
    with Server() as server:
        container = server.make()
        server.put(container, {"id": "1", "pk": "x"})
        found = server.metrics()
        equal([name for name in NAMES.split() if name not in found], [])


@case("requests are counted by operation, resource and status")
def _():
    with Server("--test-mode") as server:
        container = server.make()
        for i in range(3):
            server.put(container, {"id": str(i), "pk": "x"})
        server.put(container, {"id": "0", "pk": "x"})
        server.get(container, "0", "x")
        server.post("/_runnel/fault", {"status": 429, "count": 2})
        server.get(container, "0", "x")
        server.get(container, "0", "x")
        found = server.metrics()

        def count(op, resource, code):
            return found.get(f'runnel_http_requests_total{{op="{op}",resource='
                             f'"{resource}",code="{code}"}}', 0)
        equal([count("POST", "docs", 201), count("POST", "docs", 409),
               count("GET", "docs", 200), count("GET", "docs", 429),
               count("POST", "dbs", 201)], [3, 1, 1, 2, 1])
        equal(found["runnel_throttled_total"], 2)
        name = "runnel_http_request_duration_seconds"
        equal(found[name + '_count{op="GET"}'], 3)
        equal(found[name + '_bucket{op="GET",le="+Inf"}'], 3)
        assert found[name + '_sum{op="POST"}'] > 0
        assert found["runnel_commit_operations_total"] >= 6


def raw(server, text):
    """The answer to bytes; the connection's end ends it."""
    with socket.create_connection(("127.0.0.1", server.port),
                                  LIMIT_S) as connection:
        connection.sendall(text)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        return answer.status, answer.headers, answer.read()


@case("every answer has an activity id, those to what was no request too")
def _():
    with Server() as server:
        for path in ["/", "/dbs/none", "/healthz", "/readyz", "/metrics",
                     "/_runnel/none", "/nowhere"]:
            for key in [EMULATOR_KEY, None]:
                _, headers, _ = server.ask("GET", path, key=key, raw=True)
                uuid.UUID(headers["x-ms-activity-id"])
        for text in [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"]:
            status, headers, body = raw(server, text)
            equal(status, 400)
            uuid.UUID(headers["x-ms-activity-id"])
            assert json.loads(body)["message"]
        sent = str(uuid.uuid4())
        _, headers, _ = server.ask("GET", "/", headers={
            "x-ms-activity-id": sent})
        equal(headers["x-ms-activity-id"], sent)
        _, headers, _ = server.ask("GET", "/", headers={
            "x-ms-activity-id": "none"})
        uuid.UUID(headers["x-ms-activity-id"])


@case("what exceeds a limit is refused by the limit's name")
def _():
    with Server("--body-bytes-max", "2048", "--connections-max",
                "3") as server:
        head = b"POST /dbs HTTP/1.1\r\nHost: localhost\r\n"
        cases = [
            (head + b"Content-Length: 2049\r\n\r\n", 413,
             "RequestEntityTooLarge", "body"),
            (head + b"".join(b"a%d: b\r\n" % i for i in range(101)) + b"\r\n",
             431, None, "headers"),
            (b"GET /" + b"x" * 70000, 414, None, ""),
        ]
        for text, status, code, word in cases:
            got, _, body = raw(server, text)
            body = json.loads(body)
            assert got == status or status == 414 and got in (414, 431), got
            assert word in body["message"], body
            assert code in (None, body["code"]), body
        held = [server.connect() for _ in range(3)]
        for connection in held:
            connection.request("GET", "/healthz")
            equal(connection.getresponse().read(), b'{"alive":true}')
        try:
            server.ask("GET", "/healthz", key=None)
            raise AssertionError("a fourth connection")
        except (http.client.RemoteDisconnected, ConnectionError):
            pass
        server.wait_for_line("--connections-max")
        for connection in held[1:]:
            connection.close()
        held[0].request("GET", "/metrics")
        text = held[0].getresponse().read().decode()
        held[0].close()
        assert 'rejected_total{reason="connections"} 1\n' in text, text
        assert 'rejected_total{reason="malformed"} 3\n' in text, text


@case("a client in direct mode is told how to use the gateway")
def _():
    with Server() as server:
        for path in ["/addresses/?$resolveFor=dbs", "//addresses/",
                     "/addresses"]:
            status, _, body = server.ask("GET", path)
            equal(status, 400, body)
            assert "gatewayMode()" in body["message"], body
            assert "ConnectionMode.Gateway" in body["message"], body
            equal(server.ask("GET", path, key=None)[0], 401)


@case("a token of Azure AD is refused with the reason")
def _():
    with Server() as server:
        for token in ["type=aad&ver=1.0&sig=e30.e30.x",
                      "type%3Daad%26ver%3D1.0%26sig%3De30.e30.x"]:
            status, _, body = server.ask("GET", "/dbs", key=None,
                                         headers={"authorization": token})
            equal((status, body["code"]), (401, "Unauthorized"))
            assert "account key" in body["message"], body


@case("alive and ready are two things")
def _():
    with Server() as server:
        equal(server.ask("GET", "/healthz", key=None)[0], 200)
        equal(server.ask("GET", "/readyz", key=None)[2], {"ready": True})
        equal(server.ask("POST", "/healthz", key=None)[0], 401)


run_cases()
