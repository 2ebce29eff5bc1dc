"""main.py -- the programs of examples/ against a real server.

    python3 main.py BUILD ENDPOINT_PORT

Method: each case makes its containers and documents over REST, runs one
example as a process, and looks at what it printed or left.  An example runs
until its standard input ends.
"""
import http.client
import http.server
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from cases import case, equal, eventually, run_all, sign  # noqa: E402

BUILD, PORT = sys.argv[1], int(sys.argv[2])
LIMIT_S = 120


def ask(method, path, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=LIMIT_S)
    sent = {"x-ms-version": "2018-12-31", **sign(method, path),
            **{name.replace("_", "-"): value
               for name, value in headers.items()}}
    connection.request(method, path, json.dumps(body) if body else None, sent)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, json.loads(text) if text else None


def make(database, container, key, **more):
    status, _ = ask("POST", "/dbs", {"id": database})
    assert status in (201, 409), status
    ask("DELETE", f"/dbs/{database}/colls/{container}")
    status, answer = ask("POST", f"/dbs/{database}/colls",
                         {"id": container, "partitionKey":
                          {"paths": [key], "kind": "Hash"}, **more})
    equal(status, 201, answer)


def put(path, document, key):
    status, answer = ask(
        "POST", f"/dbs/{path}/docs", document,
        x_ms_documentdb_is_upsert="true",
        x_ms_documentdb_partitionkey=json.dumps([document[key]]))
    assert status in (200, 201), answer


def documents(path):
    _, answer = ask("GET", f"/dbs/{path}/docs", x_ms_max_item_count="1000")
    return {each["id"]: each for each in answer["Documents"]}


class Example:
    """A running example; its lines can be waited for."""

    def __init__(self, name, *arguments, cwd=None):
        self.name = name
        self.process = subprocess.Popen(
            [os.path.join(BUILD, name), *arguments], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
            env={**os.environ, "RUNNEL_ENDPOINT": f"http://127.0.0.1:{PORT}"})
        self.lines, self.seen = queue.Queue(), []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            self.process.kill()
            print(self.seen, self.process.stderr.read())
        else:
            self.end()

    def line(self, wanted):
        """Waits for a line that has `wanted` in it."""
        while True:
            line = self.lines.get(timeout=LIMIT_S)
            self.seen.append(line)
            assert line is not None, (self.name, self.seen,
                                      self.process.stderr.read())
            if wanted in line:
                return line

    def end(self):
        if self.seen[-1:] == [None]:
            return self.seen[:-1]
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()
        status = self.process.wait(LIMIT_S)
        error = self.process.stderr.read()
        assert status == 0 and "Sanitizer" not in error, (status, error)
        while True:
            line = self.lines.get(timeout=LIMIT_S)
            self.seen.append(line)
            if line is None:
                return self.seen[:-1]


def run(name, *arguments):
    with Example(name, *arguments) as example:
        return example.end()


def order(number, customer="eve", city="Oslo", total=10):
    return {"id": str(number), "customer": customer, "city": city,
            "total": total}


@case("crud creates, patches by etag, queries and deletes")
def _():
    lines = run("crud", f"http://127.0.0.1:{PORT}")
    assert any("12.5" in line for line in lines), lines
    equal(documents("shop/colls/orders"), {})


@case("ranges reads every range with a checkpoint of its own, then two devices")
def _():
    make("iot", "readings", "/device")
    for i in range(6):
        put("iot/colls/readings", {"id": f"old{i}", "device": f"d{i}"}, "device")
    lines = run("ranges")
    equal(len([line for line in lines if "old" in line]), 6, lines)
    new = [line for line in lines if "XMS-000" in line]
    equal(len(new), 2, lines)
    equal(lines[-2:], new)


@case("filter keeps the readings above a temperature")
def _():
    make("iot", "readings", "/device")
    for i, degrees in enumerate([20.5, 35.5, 31, 29]):
        put("iot/colls/readings", {"id": str(i), "device": f"d{i}",
                                   "temperature": degrees}, "device")
    equal(sorted(run("filter", "30")), ["d1 35.5", "d2 31"])


@case("host copies each document to a container with another partition key")
def _():
    make("shop", "orders", "/customer")
    make("shop", "by-city", "/city")
    make("shop", "leases", "/id")
    for i in range(20):
        put("shop/colls/orders", order(i, f"c{i % 3}", f"city{i % 4}"),
            "customer")
    with Example("host") as host:
        host.line("Observer opened")
        eventually(lambda: documents("shop/colls/by-city"),
                   lambda found: len(found) == 20)
    assert any("Observer closed" in line and "reason 1" in line
               for line in host.seen[:-1]), host.seen


@case("archive appends every change to its file, once when nothing fails")
def _():
    make("shop", "orders", "/customer")
    make("shop", "leases", "/id")
    for i in range(150):
        put("shop/colls/orders", order(i), "customer")
    with tempfile.TemporaryDirectory() as home:
        path = home + "/orders.ndjson"
        with Example("archive", path) as archive:
            archive.line("started")
            eventually(lambda: archived(path), lambda ids: len(ids) >= 150)
            eventually(lambda: lease_of("archive"),
                       lambda lease: lease and lease["ContinuationToken"])
        equal(sorted(archived(path), key=int), [str(i) for i in range(150)])


def archived(path):
    with open(path) as file:
        return [json.loads(line)["id"] for line in file if line.endswith("\n")]


def lease_of(name):
    found = [lease for lease in documents("shop/colls/leases").values()
             if lease["id"].startswith(name) and "LeaseToken" in lease]
    return found[0] if found else None


@case("notify calls the API for each change, again until it is taken")
def _():
    make("shop", "orders", "/customer")
    make("shop", "leases", "/id")
    taken, refused = [], []

    class Api(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(
                int(self.headers["Content-Length"])))
            is_refused = body["id"] == "2" and len(refused) < 3
            (refused if is_refused else taken).append(
                (body["id"], self.headers["Idempotency-Key"]))
            self.send_response(500 if is_refused else 204)
            self.end_headers()

        def log_message(self, *_):
            pass

    api = http.server.HTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=api.serve_forever, daemon=True).start()
    with Example("notify", f"http://127.0.0.1:{api.server_port}/") as notify:
        notify.line("started")
        for i in range(4):
            put("shop/colls/orders", order(i), "customer")
        eventually(lambda: list(taken), lambda found: len(found) >= 4)
    api.shutdown()
    equal([each[0] for each in taken], ["0", "1", "2", "3"])
    equal(len(refused), 3)
    equal({each[1] for each in refused}, {taken[2][1]})


@case("leaderboard shows the three best scores")
def _():
    make("game", "scores", "/player")
    for player, points in ("ann", 10), ("bob", 40), ("cid", 30), ("dan", 20):
        put("game/colls/scores", {"id": player, "player": player,
                                  "points": points}, "player")
    with Example("leaderboard") as board:
        board.line("bob 40, cid 30, dan 20")
        put("game/colls/scores", {"id": "ann", "player": "ann", "points": 50},
            "player")
        board.line("ann 50, bob 40, cid 30")


@case("window sums up each minute, and corrects it for a late event")
def _():
    make("iot", "events", "/device")
    make("iot", "windows", "/id")
    make("iot", "leases", "/id")

    def event(number, minute, value):
        put("iot/colls/events", {"id": str(number), "device": f"d{number % 5}",
                                 "minute": minute, "value": value}, "device")

    for i in range(10):
        event(i, "12:00" if i < 6 else "12:01", i)
    with Example("window") as window:
        eventually(lambda: documents("iot/colls/windows"), lambda found:
                   {key: (each["events"], each["total"])
                    for key, each in found.items()}
                   == {"12:00": (6, 15), "12:01": (4, 30)})
        event(99, "12:00", 5)
        window.line("window 12:00: 7 events, total 20")


@case("lambda's speed layer and batch layer come to the same totals")
def _():
    make("shop", "orders", "/customer")
    make("shop", "leases", "/id")
    for i in range(12):
        put("shop/colls/orders", order(i, f"c{i}"), "customer")
    with Example("lambda") as example:
        example.line("batch: 12 orders, 120 in all")
        put("shop/colls/orders", order(12), "customer")
        example.line("batch: 13 orders, 130 in all")


@case("migrate copies everything, follows, and ends with no change behind")
def _():
    make("shop", "orders", "/customer")
    make("shop", "by-city", "/city")
    make("shop", "leases", "/id")
    for i in range(200):
        put("shop/colls/orders", order(i, f"c{i % 7}", f"city{i % 9}"),
            "customer")
    with Example("migrate") as migrate:
        migrate.line("started")
        put("shop/colls/orders", order(5, "c5", "city5", total=99), "customer")
        eventually(lambda: documents("shop/colls/by-city"),
                   lambda found: len(found) == 200
                   and found["5"]["total"] == 99)
        migrate.line("0 changes behind")
    own = {key: each["total"]
           for key, each in documents("shop/colls/orders").items()}
    equal({key: each["total"]
           for key, each in documents("shop/colls/by-city").items()}, own)


@case("lag shows how far behind a processor is, per lease and in all")
def _():
    make("shop", "orders", "/customer")
    make("shop", "leases", "/id")
    lines = run("lag")
    assert lines[-1].startswith("total") and "1 changes" in lines[-1], lines


def redis(port, *words):
    done = subprocess.run(["redis-cli", "-p", str(port), *words],
                          capture_output=True, text=True, check=True)
    return done.stdout.strip()


if os.environ.get("REDIS_PORT"):
    @case("cache keeps Redis fresh: changes and deletes")
    def _():
        port = os.environ["REDIS_PORT"]
        make("shop", "versions", "/customer",
             changeFeedPolicy={"retentionDuration": 10})
        make("shop", "leases", "/id")
        with Example("cache", port) as cache:
            cache.line("started")
            for i in range(3):
                put("shop/colls/versions", order(i), "customer")
            put("shop/colls/versions", order(1, total=77), "customer")
            eventually(lambda: redis(port, "GET", "1"),
                       lambda text: '"total":77' in text)
            ask("DELETE", "/dbs/shop/colls/versions/docs/0",
                x_ms_documentdb_partitionkey='["eve"]')
            eventually(lambda: redis(port, "GET", "0"), lambda text: not text)
            equal(redis(port, "DBSIZE").split()[-1], "2")

def postgres(text):
    done = subprocess.run(["psql", "-qtA", os.environ["POSTGRES"], "-c", text],
                          capture_output=True, text=True, check=True)
    return done.stdout.strip()


if os.environ.get("POSTGRES"):
    @case("once counts every order in PostgreSQL exactly once, through kills")
    def _():
        make("shop", "orders", "/customer")
        postgres("CREATE TABLE activity (customer text PRIMARY KEY, "
                 "changes bigint NOT NULL); "
                 "CREATE TABLE lease (id text PRIMARY KEY, "
                 "version bigint NOT NULL, json text NOT NULL, "
                 "written timestamptz NOT NULL)")
        written = 0
        for _ in range(3):
            example = Example("once", os.environ["POSTGRES"])
            example.line("started")
            for _ in range(40):
                put("shop/colls/orders", order(written, f"c{written % 5}"),
                    "customer")
                written += 1
            seen = total()
            eventually(total, lambda now: now > seen or now == written)
            example.process.kill()
            example.process.wait()
        with Example("once", os.environ["POSTGRES"]):
            eventually(total, lambda now: now >= written)
        equal(total(), written)


def total():
    return int(postgres("SELECT coalesce(sum(changes), 0) FROM activity"))


sys.exit(run_all() > 0)
