"""logs.py -- what an operator sees: log, metrics, health, limits.

Method: a server with all of its log kept, real requests, and a look at both
sides.
"""
import http.client
import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import tempfile
import time
import uuid

from lib import (EMULATOR_KEY, LIMIT_S, RUNNEL, Server, case, equal, pk_header,
                 run_cases, sign)

METRIC = re.compile(r'^[a-z_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? '
                    r'(\d+(\.\d+)?(e[+-]?\d+)?|\+Inf)$')
FIELDS = {"ts", "level", "msg", "activity_id", "op", "resource", "path",
          "status", "substatus", "dur_ms", "waited_for", "examined", "ru",
          "req_bytes", "resp_bytes", "client", "key", "range", "lsn", "err"}
QUERY = {"content-type": "application/query+json",
         "x-ms-documentdb-isquery": "true",
         "x-ms-documentdb-query-enablecrosspartition": "true"}


def requests_of(server):
    lines = [json.loads(line) for line in server.lines]
    return [line for line in lines if line["msg"] == "request"]


@case("the log is text on a terminal, and JSON with --log-format json there too")
def _():
    for options, is_json in ([], False), (["--log-format", "json"], True):
        leader, follower = pty.openpty()
        server = subprocess.Popen(
            [RUNNEL, "serve", "--store", "mem", "--listen", "127.0.0.1:0",
             *options], stdout=subprocess.PIPE, stderr=follower, text=True)
        os.close(follower)
        assert server.stdout.readline().startswith("listening on ")
        server.terminate()
        equal(server.wait(LIMIT_S), 0)
        text = os.read(leader, 65536).decode()
        os.close(leader)
        server.stdout.close()
        equal(text.startswith("{"), is_json, text)
        assert "stopped" in text, text


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
        equal((first["msg"], first["tls"]), ("started", True))
        equal(json.loads(server.lines[-1])["msg"], "stopped")
        server.start()


@case("a variable of the environment that is no option is logged by its name")
def _():
    strays = {"RUNNEL_LISTN": "secret", "RUNNEL_PORT": "tcp://10.0.0.1:8081",
              "RUNNEL_IDLE_MS": "60000"}
    os.environ.update(strays)
    try:
        with Server() as server:
            server.wait_for_line('"started"')
            logged = [json.loads(line) for line in server.lines
                    if "names no option" in line]
            equal([(each["level"], each["name"]) for each in logged],
                  [("warn", "RUNNEL_LISTN")])
            assert not any("secret" in line for line in server.lines)
    finally:
        for name in strays:
            del os.environ[name]


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


@case("a query that is left to the client is logged as it is answered")
def _():
    with Server("--log-requests", "--strict") as server:
        status, headers, body = server.post(
            server.make() + "/docs", {"query": "SELECT VALUE COUNT(1) FROM c"},
            headers=QUERY)
        line = json.loads(server.wait_for_line('"status":400'))
        equal((status, headers["x-ms-substatus"]), (400, "1004"))
        equal((line["substatus"], line["err"]), (1004, body["message"]))


@case("a read that meets damage is answered 500 and logged with what it met")
def _():
    with Server("--log-requests") as server:
        container = server.make()
        mark = "needle in the map"
        for number in range(300):  # far from what is read at a start
            server.put(container, {"id": str(number), "pk": "x", "text":
                                   f"{mark} {number} " + "x" * 900})
        server.stop()
        path, = (f"{server.data}/{name}" for name in os.listdir(server.data)
                 if re.fullmatch(r"map-\d+", name))
        with open(path, "r+b") as file:
            at = file.read().rindex(f"{mark} 150 ".encode())
            file.seek(at)
            file.write(b"X")
        server.lines.clear()
        server.start()
        docs = container + "/docs"
        whole = {"x-ms-max-item-count": "1000"}
        for target, headers in ((docs + "/150", pk_header("x")), (docs, whole),
                                (docs, {"a-im": "Incremental Feed", **whole})):
            server.lines.clear()
            status, _, body = server.ask("GET", target, headers=headers)
            equal((status, body["code"]), (500, "InternalServerError"))
            assert path not in body["message"]
            line = json.loads(server.wait_for_line('"status":500'))
            assert "damaged" in line["err"], line


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
    with Server("--log-requests", "--log-level", "info", "--slow-ms",
                "1") as server:
        container = server.make()
        server.put(container, {"id": "1", "pk": canary, "x": canary})
        server.get(container, "1", canary)
        server.post(container + "/docs", {
            "query": "SELECT * FROM c WHERE c.x = @x",
            "parameters": [{"name": "@x", "value": canary}]},
            headers=QUERY)
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


GAUGES = """runnel_inflight_requests runnel_http_connections
runnel_auth_key_last_used_timestamp_seconds runnel_commit_queue_depth
runnel_store_read_only runnel_store_full runnel_disk_free_bytes
runnel_disk_reserve_bytes runnel_db_size_bytes runnel_db_live_bytes
runnel_wal_size_bytes runnel_store_recent_bytes runnel_store_map_used_ratio
runnel_store_readers runnel_oldest_reader_seconds
runnel_recovery_duration_seconds runnel_wal_fsync_duration_seconds_max
runnel_feed_readers runnel_build_info runnel_insecure_config
process_resident_memory_bytes process_open_fds process_max_fds
process_start_time_seconds runnel_arena_bytes runnel_config_info
runnel_last_backup_timestamp_seconds runnel_range_lsn
runnel_feed_oldest_retained_lsn"""
COUNTERS = """runnel_http_requests_total runnel_request_units_total
runnel_throttled_total runnel_http_request_bytes_total
runnel_http_response_bytes_total runnel_http_rejected_total
runnel_auth_failures_total runnel_resource_tokens_issued_total
runnel_auth_delayed_total
runnel_commits_total runnel_commit_operations_total
runnel_commit_aborted_total runnel_commit_busy_total
runnel_sync_errors_total runnel_checkpoints_total
runnel_checkpoint_failures_total
runnel_corruption_detected_total runnel_recovered_records_total
runnel_feed_reads_total runnel_feed_items_total
runnel_query_docs_examined_total runnel_query_docs_returned_total
runnel_query_index_used_total runnel_query_aborted_total
runnel_removal_failures_total
runnel_clock_jump_total runnel_log_lines_lost_total process_cpu_seconds_total"""
HISTOGRAMS = """runnel_http_request_duration_seconds
runnel_commit_duration_seconds runnel_commit_batch_size
runnel_wal_fsync_duration_seconds runnel_feed_wait_seconds
runnel_query_duration_seconds runnel_event_loop_stall_seconds
runnel_query_wait_seconds"""


TLS_END = "runnel_tls_cert_not_after_seconds"  # with TLS only
UNREADY = ["runnel_store_read_only", "runnel_store_full"]  # must have alerts


def read_file(name):
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    with open(os.path.join(root, name)) as file:
        return file.read()


@case("every metric of the manual is there with its type, and no other is")
def _():
    want = {name: kind for kind, names in (
        ("gauge", GAUGES), ("counter", COUNTERS), ("histogram", HISTOGRAMS))
        for name in names.split()}
    with Server("--no-auto-tls") as server:
        _, _, text = server.ask("GET", "/metrics", key=None, raw=True)
    equal(dict(re.findall(r"^# TYPE (\S+) (\S+)$", text.decode(), re.M)), want)
    manual = read_file("docs/operations.md")
    equal([name for name in want if f"`{name}" not in manual
           and not name.startswith("process_")], [])
    watched = re.findall(r"\b(?:runnel|process)_\w+",
                         read_file("contrib/alerts.yml"))
    equal([name for name in UNREADY if name not in watched], [])
    equal([name for name in watched if name != TLS_END and
           re.sub("_(bucket|sum|count)$", "", name) not in want], [])


@case("the buckets of every histogram rise to its count")
def _():
    with Server() as server:
        container = server.make()
        server.put(container, {"id": "1", "pk": "x"})
        _, _, text = server.ask("GET", "/metrics", key=None, raw=True)
        text = text.decode()
        for name in HISTOGRAMS.split():
            series = {}
            for label, le, n in re.findall(
                    rf'^{name}_bucket{{(?:(\w+="\w+"),)?le="(.*?)"}} (\d+)$',
                    text, re.M):
                series.setdefault(label, []).append((float(le), int(n)))
            assert series, name
            for label, buckets in series.items():
                equal(buckets, sorted(buckets))
                equal([n for _, n in buckets], sorted(n for _, n in buckets))
                equal(buckets[-1][0], float("inf"))
                labels = f"{{{label}}}" if label else ""
                assert f"\n{name}_count{labels} {buckets[-1][1]}\n" in text
                assert f"\n{name}_sum{labels} " in text


def grown(server, do):
    """By how much each sample has grown meanwhile."""
    before = server.metrics()
    do()
    after = server.metrics()
    return {name: after[name] - before.get(name, 0) for name in after}


@case("commits are counted with their size and the time they took")
def _():
    with Server("--checkpoint-ms", "3600000") as server:
        container = server.make()
        more = grown(server, lambda: [
            server.put(container, {"id": str(i), "pk": "x"}) for i in range(5)])
        for name in ("runnel_commit_batch_size_count",
                     'runnel_commit_batch_size_bucket{le="1"}',
                     "runnel_commit_batch_size_sum",
                     "runnel_commit_duration_seconds_count",
                     "runnel_wal_fsync_duration_seconds_count",
                     "runnel_commits_total", "runnel_commit_operations_total"):
            equal((name, more[name]), (name, 5))
        took = more["runnel_commit_duration_seconds_sum"]
        synced = more["runnel_wal_fsync_duration_seconds_sum"]
        assert 0 < synced <= took, (synced, took)


@case("reads of the change feed are counted by their end")
def _():
    with Server() as server:
        container = server.make()
        for i in range(3):
            server.put(container, {"id": str(i), "pk": "x"})

        def read(status, **headers):
            sent = {"a-im": "Incremental Feed"}
            sent.update({name.replace("_", "-"): value
                         for name, value in headers.items()})
            found = server.ask("GET", container + "/docs", headers=sent)
            equal(found[0], status, found[2])
            return found[1]["etag"] if status in (200, 304) else None

        def reads():
            place = read(200, x_ms_max_item_count="2")
            place = read(200, if_none_match=place)
            read(304, if_none_match=place)
            read(304, if_none_match=place, prefer="wait=1")
            read(410, x_ms_documentdb_partitionkeyrangeid="9")
            read(400, x_ms_max_item_count="x")

        more = grown(server, reads)
        equal({result: more[f'runnel_feed_reads_total{{result="{result}"}}']
               for result in ("page", "304", "gone", "error")},
              {"page": 2, "304": 2, "gone": 1, "error": 1})
        equal(more["runnel_feed_items_total"], 3)
        equal(more["runnel_feed_wait_seconds_count"], 1)
        assert more["runnel_feed_wait_seconds_sum"] > 0.5
        equal(server.metrics()["runnel_feed_readers"], 0)


@case("queries are counted with what they read, and slow if that is much")
def _():
    with Server("--slow-ms", "3600000") as server:
        container = server.make()
        for i in range(101):
            batch = [{"operationType": "Create", "resourceBody": {
                "id": f"{i}-{k}", "pk": "x", "n": k}} for k in range(100)]
            status, _, body = server.post(container + "/docs", batch, headers={
                "x-ms-cosmos-is-batch-request": "true",
                "x-ms-cosmos-batch-atomic": "true", **pk_header("x")})
            equal(status, 200, body)

        def ask(text):
            status, _, body = server.post(container + "/docs", {"query": text},
                                          headers=QUERY)
            equal(status, 200, body)

        few = "SELECT * FROM c WHERE c.id = '7-7' AND c.pk = 'x'"
        more = grown(server, lambda: ask(few))
        equal((more["runnel_query_docs_examined_total"],
               more["runnel_query_docs_returned_total"],
               more['runnel_query_index_used_total{kind="points"}'],
               more["runnel_query_duration_seconds_count"]), (1, 1, 1, 1))
        assert not any("slow request" in line for line in server.lines)
        more = grown(server, lambda: ask("SELECT VALUE COUNT(c.n) FROM c"))
        equal((more["runnel_query_docs_examined_total"],
               more["runnel_query_docs_returned_total"],
               more['runnel_query_index_used_total{kind="scan"}']),
              (10100, 1, 1))
        line = json.loads(server.wait_for_line("slow request"))
        equal((line["examined"], line["waited_for"]), (10100, "worker"))


@case("tokens that are made for permissions are counted")
def _():
    with Server() as server:
        server.make()
        server.post("/dbs/d/users", {"id": "u"})
        path = "/dbs/d/users/u/permissions"
        more = grown(server, lambda: (
            server.post(path, {"id": "p", "permissionMode": "Read",
                               "resource": "dbs/d/colls/c"}),
            server.ask("GET", path + "/p"), server.ask("GET", path)))
        equal(more["runnel_resource_tokens_issued_total"], 3)


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


@case("every answer says how long it took, as the log does")
def _():
    with Server("--log-requests") as server:
        container = server.make()
        server.put(container, {"id": "1", "pk": "x"})
        for path in ["/", "/dbs/none", "/healthz", "/metrics", "/nowhere",
                     container + "/docs"]:
            for key in [EMULATOR_KEY, None]:
                _, headers, _ = server.ask("GET", path, key=key, raw=True)
                took = headers["x-ms-request-duration-ms"]
                assert re.fullmatch(r"\d+\.\d{3}", took), took
                line = json.loads(server.wait_for_line(
                    headers["x-ms-activity-id"]))
                assert abs(line["dur_ms"] - float(took)) < 0.01, (line, took)


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


def comes_in(server, source):
    """A connection from that address that is served, else None."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", server.port, timeout=30, source_address=(source, 0))
    try:
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        return connection
    except (http.client.RemoteDisconnected, ConnectionError):
        connection.close()
        return None


@case("an address that has its share of connections does not shut out others")
def _():
    with Server("--connections-per-address", "2") as server:
        held = [comes_in(server, "127.0.0.1") for _ in range(2)]
        assert all(held)
        equal(comes_in(server, "127.0.0.1"), None)
        server.wait_for_line("--connections-per-address")
        other = comes_in(server, "127.0.0.2")
        assert other
        other.request("GET", "/metrics")
        text = other.getresponse().read().decode()
        assert 'rejected_total{reason="connections"} 1\n' in text, text
        equal(comes_in(server, "127.0.0.1"), None)
        held[0].close()
        for _ in range(1000):
            again = comes_in(server, "127.0.0.1")
            if again:
                break
        assert again, "a place that was given up is not given again"
        for connection in (held[1], other, again):
            connection.close()


@case("what exceeds a limit is refused by the limit's name")
def _():
    with Server("--body-bytes-max", "2048", "--connections-max",
                "3") as server:
        head = b"POST /dbs HTTP/1.1\r\nHost: localhost\r\n"
        cases = [
            (head + b"Content-Length: 2049\r\n\r\n", 413,
             "RequestEntityTooLarge", "too large"),
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


@case("a burst of connections does not pass --connections-max")
def _():
    with Server("--connections-max", "5", "--loops", "2") as server:
        # all of them wait in the listener's queue when it gets its turn
        server.process.send_signal(signal.SIGSTOP)
        burst = []
        for _ in range(60):
            connection = socket.create_connection(("127.0.0.1", server.port),
                                                  LIMIT_S)
            connection.sendall(b"GET /healthz HTTP/1.1\r\n"
                               b"Host: localhost\r\n\r\n")
            burst.append(connection)
        server.process.send_signal(signal.SIGCONT)
        served = 0
        for connection in burst:
            try:
                served += connection.recv(1) != b""
            except ConnectionError:
                pass
        for connection in burst:
            connection.close()
        equal(served, 5)


def upload(server, size, step, pause_s):
    """What is answered to a body that comes in steps with pauses; '' without
    an answer."""
    with socket.create_connection(("127.0.0.1", server.port),
                                  LIMIT_S) as connection:
        connection.sendall(b"POST /dbs HTTP/1.1\r\nHost: localhost\r\n"
                           b"Content-Length: %d\r\n\r\n" % size)
        sent = 0
        while sent < size and not select.select([connection], [], [],
                                                pause_s)[0]:
            connection.sendall(b"x" * min(step, size - sent))
            sent += step
        return connection.recv(65536)[:12].decode()


@case("a body that keeps coming is read to its end, and another answered 408")
def _():
    with Server("--head-ms", "1000") as server:
        began = time.monotonic()
        equal(upload(server, 100000, 5000, 0.15), "HTTP/1.1 401")
        assert time.monotonic() - began > 2
        equal(upload(server, 100000, 50, 0.1), "HTTP/1.1 408")
        found = server.metrics()
        equal((found['runnel_http_rejected_total{reason="timeout"}'],
               found['runnel_http_rejected_total{reason="malformed"}']), (1, 0))


@case("bodies that nobody has a right to send take bounded memory together")
def _():
    with Server("--bodies-bytes-max", "8M") as server:
        head = (b"POST /dbs HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Length: 4000000\r\n\r\n")
        held, refused = [], 0
        for _ in range(20):
            connection = socket.create_connection(("127.0.0.1", server.port),
                                                  LIMIT_S)
            held.append(connection)
            try:
                connection.sendall(head + b"x" * 3900000)
            except ConnectionError:
                pass
        for connection in held:
            # a refused connection has an answer, the others are waited for
            if select.select([connection], [], [], 0.2)[0]:
                answer = connection.recv(65536)
                assert answer.startswith(b"HTTP/1.1 503"), answer
                assert b"--bodies-bytes-max" in answer, answer
                refused += 1
        assert 16 <= refused < 20, refused
        # small ones are taken all the while, and large ones afterwards
        equal(server.post("/dbs", {"id": "small"})[0], 201)
        for connection in held:
            connection.close()
        status = 503
        for _ in range(LIMIT_S * 100):
            status = server.post("/dbs", {"id": "d", "x": "x" * 3900000})[0]
            if status != 503:
                break
        assert status not in (503, 401), status


@case("the answer to a client in direct mode says how to use the gateway")
def _():
    with Server() as server:
        for path in ["/addresses/?$resolveFor=dbs", "//addresses/",
                     "/addresses"]:
            status, _, body = server.ask("GET", path)
            equal(status, 400, body)
            assert "gatewayMode()" in body["message"], body
            for options in ("CosmosClientOptions", "ConnectionPolicy"):
                assert (options + ".ConnectionMode = ConnectionMode.Gateway"
                        in body["message"]), body
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


@case("a log that nobody reads holds up neither requests nor the stop")
def _():
    with tempfile.TemporaryDirectory() as data:
        process = subprocess.Popen(
            [RUNNEL, "serve", "--listen", "127.0.0.1:0", "--data", data,
             "--log-requests"], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        port = int(process.stdout.readline().rsplit(":", 1)[1])
        connection = http.client.HTTPConnection("127.0.0.1", port,
                                                timeout=LIMIT_S)
        for i in range(3000):
            connection.request("GET", "/" + "x" * 400)
            equal(connection.getresponse().read() != b"", True)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        lost = re.search(r"^runnel_log_lines_lost_total (\d+)$", text, re.M)
        assert int(lost[1]) > 0, text
        process.send_signal(signal.SIGTERM)
        equal(process.wait(LIMIT_S), 0)
        lines = process.stderr.read().splitlines()
        equal(json.loads(lines[0])["msg"], "started")
        for line in lines[:-1]:
            json.loads(line)
        connection.close()
        process.stdout.close()
        process.stderr.close()


@case("alive and ready are two things")
def _():
    with Server() as server:
        for path in ("/healthz", "/livez"):
            equal(server.ask("GET", path, key=None)[2], {"alive": True})
        for path in ("/healthz/", "/livez/x", "/Healthz", "//healthz",
                     "/readyz?x", "/metrics/"):
            equal((path, server.ask("GET", path, key=None)[0]), (path, 401))
        equal(server.ask("GET", "/readyz", key=None)[2], {"ready": True})
        equal(server.ask("POST", "/healthz", key=None)[0], 401)
        for path in ("/healthz", "/livez", "/readyz", "/metrics"):
            status, headers, body = server.ask("HEAD", path, key=None)
            equal((path, status, body), (path, 200, None))
            assert int(headers["content-length"]) > 0, (path, headers)


run_cases()
