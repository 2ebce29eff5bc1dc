"""strict.py -- a server that is no kinder than the service (--strict).

Method: the same requests to a server with the option and to one without, and to
one directory under both in turn.
"""
import json
from urllib.parse import quote

from wire import Client, Server, case, equal

C = "/dbs/d/colls/c"
OFFERS = [  # RU/s, or the maximum of autoscale; ranges without the option, with
    (400, 1, 1), (10000, 1, 1), (10100, 2, 2), (12000, 2, 2), (12100, 2, 3),
    (18000, 2, 3), (21000, 3, 4), (25100, 3, 5),
    ({"maxThroughput": 10000}, 1, 1), ({"maxThroughput": 20000}, 2, 4),
]
MERGED = [
    "SELECT * FROM c ORDER BY c.n", "SELECT TOP 2 * FROM c",
    "SELECT DISTINCT VALUE c.pk FROM c", "SELECT VALUE COUNT(1) FROM c",
    "SELECT MAX(c.n) AS m FROM c", "SELECT VALUE c.pk FROM c GROUP BY c.pk",
    "SELECT c.pk, COUNT(1) AS n FROM c GROUP BY c.pk",
    "SELECT * FROM c OFFSET 1 LIMIT 2",
    "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.pk FROM c)",
    "SELECT * FROM c WHERE c.pk IN ('a', 'b') ORDER BY c.n",
    "SELECT * FROM c WHERE c.n = 1 ORDER BY c.n",
    "SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'b'",
    "SELECT DISTINCT VALUE c.n FROM c WHERE c.pk = 'b'",
]
IDS = [  # and how a strict server answers what names them
    ("Test", 200), ("This is a test", 200), ("  Test", 200), ("a?b", 200),
    ("Test ", 401), ("Test   ", 401), (" ", 401), ("a%20", 401),
    ("a%E9%B1%80b", 401), ("a%zz", 200), ("100%", 200), ("5%2", 200),
    ("a#b", 401), (",=.:~+-@()^${}[]!_", 200), ("With\u9c40", 200),
    ("a\rb", 400), ("a\tb", 400), ("a\nb", 400), ("\x7f", 400),
]
RANGE = {"x_ms_documentdb_partitionkeyrangeid": "0"}
SERVED = [
    ("SELECT VALUE c.n FROM c WHERE c.n > 5", [6, 7]),
    ("SELECT VALUE c.n FROM c WHERE c.pk = 'a' ORDER BY c.n DESC", [4, 0]),
    ("SELECT VALUE c.n FROM c WHERE c.pk = 'b' OFFSET 2 LIMIT 1", []),
    ("SELECT TOP 1 VALUE c.n FROM c WHERE c.pk = 'a' AND c.pk = 'b'", []),
    ("SELECT TOP 1 VALUE 5", [5]),
    ("SELECT VALUE ARRAY(SELECT DISTINCT VALUE x FROM x IN c.same) FROM c "
     "WHERE c.n = 3", [[1]]),
]


def make(client, id, units=400, **more):
    header = ({"x_ms_offer_throughput": units} if isinstance(units, int) else
              {"x_ms_cosmos_offer_autopilot_settings": json.dumps(units)})
    return client.must(201, "POST", "/dbs/d/colls", {
        "id": id, "partitionKey": {"paths": ["/pk"], "version": 2}, **more},
        **header).json["_rid"]


def ranges(client, path=C):
    got = client.must(200, "GET", path + "/pkranges")
    return got.json["PartitionKeyRanges"]


def feed(client, status, path=C, **headers):
    return client.must(status, "GET", path + "/docs", a_im="Incremental feed",
                       x_ms_documentdb_partitionkeyrangeid="0", **headers)


@case("a strict server begins a container above 10,000 units with a range for "
      "each 6,000, and raises it like any other")
def _():
    for which, options in ((1, ()), (2, ("--strict",)), (0, ("--ranges", "7",
                                                             "--strict"))):
        server = Server(*options)
        client = Client(server)
        client.must(201, "POST", "/dbs", {"id": "d"})
        for i, row in enumerate(OFFERS):
            make(client, f"c{i}", row[0])
            equal(len(ranges(client, f"/dbs/d/colls/c{i}")),
                  row[which] if which else 7, row)
        rid = client.must(200, "GET", "/dbs/d/colls/c0").json["_rid"]
        offer = next(one for one in client.must(200, "GET", "/offers")
                     .json["Offers"] if one["offerResourceId"] == rid)
        offer["content"]["offerThroughput"] = 18000
        client.must(200, "PUT", "/" + offer["_self"].strip("/"), offer,
                    rid=offer["_rid"])
        equal(len(ranges(client, "/dbs/d/colls/c0")), 2 if which else 7)
        server.end()


def first_change(client, path, lsn):
    """The first write of a new container; the answers before and after."""
    def seen(n):
        return client.ask("GET", path + "/docs",
                          x_ms_session_token=f"0:-1#{n}").status

    equal([one["lsn"] for one in ranges(client, path)], [lsn - 1])
    equal((seen(lsn - 1), seen(lsn)), (200, 404))
    token = f"0:-1#{lsn - 1}"
    equal(client.must(200, "GET", path + "/docs").headers["x-ms-session-token"],
          token)
    for headers in ({}, {"if_none_match": "*"}, {"if_none_match": '"0"'},
                    {"if_none_match": f'"{lsn - 1}"'},
                    {"if_modified_since": "Mon, 01 Jan 2024 00:00:00 GMT"}):
        equal(feed(client, 304, path, **headers).headers["etag"],
              f'"{lsn - 1}"', headers)
    made = client.must(201, "POST", path + "/docs", {"id": "1", "pk": "a"},
                       pk=["a"])
    equal((made.headers["lsn"], made.headers["x-ms-session-token"]),
          (str(lsn), f"0:-1#{lsn}"))
    for from_ in ({}, {"if_none_match": '"0"'},
                  {"if_none_match": f'"{lsn - 1}"'}):
        got = feed(client, 200, path, **from_)
        equal([(one["id"], one["_lsn"]) for one in got.json["Documents"]],
              [("1", lsn)])
        equal(got.headers["etag"], f'"{lsn}"')
    feed(client, 304, path, if_none_match=f'"{lsn}"')


@case("the first change of a range has LSN 2 where a strict server has made "
      "the container, whichever server it has later")
def _():
    server = Server("--strict", "--test-mode")
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    make(client, "c")
    first_change(client, C, 2)
    server.stop()
    server.options = ("--test-mode",)
    server.start()
    client = Client(server)
    make(client, "kind")
    first_change(client, "/dbs/d/colls/kind", 1)
    for path, lsn in ((C, 3), ("/dbs/d/colls/kind", 2)):
        made = client.must(201, "POST", path + "/docs", {"id": "2", "pk": "b"},
                           pk=["b"])
        equal(made.headers["lsn"], str(lsn))
    server.stop()
    server.options = ("--strict", "--test-mode")
    server.start()
    client = Client(server)
    for path, lsn in ((C, 3), ("/dbs/d/colls/kind", 2)):
        got = feed(client, 200, path)
        equal([(one["id"], one["_lsn"]) for one in got.json["Documents"]],
              [("1", lsn - 1), ("2", lsn)])
        client.must(200, "POST", "/_runnel/split",
                    {"container": path.strip("/"), "range": 0})
        whole = client.must(200, "GET", path + "/docs",
                            a_im="Incremental feed").json["Documents"]
        equal({one["id"]: one["_lsn"] for one in whole},
              {"1": lsn - 1, "2": lsn})
        left = [one["lsn"] for one in ranges(client, path)]
        equal(len(left), 2)
        assert min(left) >= lsn, left
    server.end()


@case("all versions of a container of a strict server are there from its first "
      "change on")
def _():
    server = Server("--strict")
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    make(client, "c", changeFeedPolicy={"retentionDuration": 10})
    path = C + "/docs"
    for status in (201, 200):
        client.must(status, "POST", path, {"id": "1", "pk": "a"}, pk=["a"],
                    x_ms_documentdb_is_upsert="true")
    for place in ('"0"', '"1"'):
        got = client.must(200, "GET", path, a_im="Full-Fidelity Feed",
                          x_ms_documentdb_partitionkeyrangeid="0",
                          if_none_match=place).json["Documents"]
        equal([(one["metadata"]["operationType"], one["metadata"]["lsn"])
               for one in got], [("create", 2), ("replace", 3)])
    server.end()


def query(client, text, **headers):
    return client.ask("POST", C + "/docs", text, query=True, **headers)


def pages(client, text, **headers):
    """The rows of each page, to the end."""
    while True:
        got = query(client, text, **headers)
        equal(got.status, 200, text)
        yield got.json["Documents"]
        if "x-ms-continuation" not in got.headers:
            return
        headers["x_ms_continuation"] = got.headers["x-ms-continuation"]


@case("a strict server leaves to the client what is to be merged, with the "
      "plan to do it by")
def _():
    for options in (("--strict",), ("--strict", "--ranges", "3")):
        server = Server(*options)
        client = Client(server)
        client.must(201, "POST", "/dbs", {"id": "d"})
        make(client, "c")
        for n in range(8):
            client.must(201, "POST", C + "/docs",
                        {"id": str(n), "pk": "abcd"[n % 4], "n": n,
                         "same": [1, 1]},
                        pk=["abcd"[n % 4]])
        all_ranges = [one["id"] for one in ranges(client)]
        for text in MERGED:
            got = query(client, text)
            equal((got.status, got.substatus, got.json["code"]),
                  (400, 1004, "BadRequest"), text)
            assert "can not be directly served by the gateway" in \
                got.json["message"]
            plan = query(client, text,
                         x_ms_cosmos_is_query_plan_request="True")
            equal(plan.status, 200)
            equal(json.loads(got.json["additionalErrorInfo"]), plan.json)
            rewritten = (plan.json["queryInfo"]["rewrittenQuery"] or text) \
                .replace("{documentdb-formattableorderbyquery-filter}", "true")
            for sent in (text, rewritten):
                for id in all_ranges:
                    equal(query(client, sent,
                                x_ms_documentdb_partitionkeyrangeid=id).status,
                          200, sent)
                equal(query(client, sent, pk=["a"]).status, 200, sent)
                equal(query(client, sent,
                            x_ms_read_key_type="EffectivePartitionKeyRange",
                            x_ms_start_epk="", x_ms_end_epk="1F").status, 200)
        for text, rows in SERVED:
            got = sum(pages(client, text), [])
            equal(got if "ORDER" in text else sorted(got), rows, text)
        got = query(client, "SELECT VALUE SUM(c.n) + 1 FROM c")
        equal((got.status, got.substatus), (400, 0))
        server.end()


@case("a page of a query to all keys has rows of one range where the server is "
      "strict, and none may be left out")
def _():
    for strict in (True, False):
        server = Server("--ranges", "5", "--test-mode",
                        *(["--strict"] if strict else []))
        client = Client(server)
        client.must(201, "POST", "/dbs", {"id": "d"})
        make(client, "c")
        equal([len(page) for page in pages(client, "SELECT * FROM c")],
              [0] * 5 if strict else [0])
        for n in range(40):
            client.must(201, "POST", C + "/docs",
                        {"id": str(n), "pk": f"p{n % 17}", "n": n, "l": [1, 2]},
                        pk=[f"p{n % 17}"])
        by_range = [query(client, "SELECT VALUE c.n FROM c",
                          x_ms_documentdb_partitionkeyrangeid=one["id"])
                    .json["Documents"] for one in ranges(client)]
        assert all(by_range), by_range
        whole = sum(by_range, [])
        equal(sorted(whole), list(range(40)))
        equal(list(pages(client, "SELECT VALUE c.n FROM c")),
              by_range if strict else [whole])
        few = next(pages(client, "SELECT VALUE c.n FROM c WHERE c.n = "
                         f"{by_range[4][0]}"))
        equal(few, [] if strict else [by_range[4][0]])
        for text, rows in (
                ("SELECT VALUE c.n FROM c", whole),
                ("SELECT VALUE c.n FROM c JOIN x IN c.l",
                 [n for n in whole for _ in range(2)]),
                ("SELECT VALUE c.n FROM c WHERE c.pk IN ('p1', 'p2', 'p3')",
                 [n for n in whole if n % 17 in (1, 2, 3)]),
                ("SELECT VALUE c.n FROM c WHERE c.n < 9",
                 [n for n in whole if n < 9])):
            for most in (1, 3, 1000):
                got = list(pages(client, text, x_ms_max_item_count=most))
                equal(sum(got, []), rows, (text, most))
                assert all(len(page) <= most for page in got), (text, most)
                if strict:
                    assert not any(set(page) & set(one) and
                                   set(page) - set(one)
                                   for page in got for one in by_range)
        one = list(pages(client, "SELECT VALUE c.n FROM c WHERE c.pk = 'p5'"))
        equal(one, [[n for n in whole if n % 17 == 5]])
        half = pages(client, "SELECT VALUE c.n FROM c", x_ms_max_item_count=3)
        seen = next(half) + next(half)
        for id in (0, 1, 2):
            client.must(200, "POST", "/_runnel/split",
                        {"container": C.strip("/"), "range": id})
        got = seen + sum(half, [])
        equal(got[:len(by_range[0])], by_range[0])  # it was begun as one range
        equal(sorted(got), sorted(whole))
        server.end()


@case("a full page of a query to several keys has a continuation where the "
      "server is strict, and the last page may be empty")
def _():
    for strict in (True, False):
        server = Server(*(["--strict"] if strict else []))
        client = Client(server)
        client.must(201, "POST", "/dbs", {"id": "d"})
        make(client, "c")
        for n in range(6):
            client.must(201, "POST", C + "/docs", {"id": str(n), "pk": "p"},
                        pk=["p"])
        for text, more, most, sizes in (
                ("SELECT * FROM c", {}, 2, [2, 2, 2]),
                ("SELECT * FROM c", {}, 6, [6]),
                ("SELECT * FROM c WHERE c.id > '2'", RANGE, 3, [3])):
            got = pages(client, text, x_ms_max_item_count=most, **more)
            equal([len(page) for page in got], sizes + [0] * strict)
        for text, more, most, sizes in (
                ("SELECT * FROM c", {}, 4, [4, 2]),
                ("SELECT * FROM c", {"pk": ["p"]}, 3, [3, 3]),
                ("SELECT * FROM c WHERE c.pk = 'p'", {}, 3, [3, 3]),
                ("SELECT TOP 3 * FROM c", RANGE, 3, [3]),
                ("SELECT * FROM c ORDER BY c.id", RANGE, 3, [3, 3])):
            got = pages(client, text, x_ms_max_item_count=most, **more)
            equal([len(page) for page in got], sizes)
        server.end()


@case("ids that are lost to the service's older gateway are created by a strict "
      "server, and listed, but not named")
def _():
    for strict in (True, False):
        server = Server(*(["--strict"] if strict else []))
        client = Client(server)
        client.must(201, "POST", "/dbs", {"id": "d"})
        make(client, "c")
        for id, status in IDS:
            body = {"id": id, "pk": "a"}
            client.must(201, "POST", C + "/docs", body, pk=["a"])
            path = f"{C}/docs/{quote(id, safe='')}"
            good = status == 200 or not strict
            for verb, sent in (("GET", None), ("PUT", body), ("DELETE", None)):
                got = client.ask(verb, path, sent, pk=["a"])
                if good:
                    equal(got.status, 204 if verb == "DELETE" else 200, id)
                else:
                    equal((got.status, got.substatus), (status, 0), id)
                if got.status == 401:
                    equal(got.json["code"], "Unauthorized")
                elif got.status == 400:
                    equal(got.headers["content-type"].split(";")[0],
                          "text/html")
                    assert b"<TITLE>Bad Request</TITLE>" in got.body
        left = [id for id, status in IDS if strict and status != 200]
        equal(sorted(next(pages(client, "SELECT VALUE c.id FROM c"))),
              sorted(left))
        equal(sorted(one["id"] for one in client.must(
            200, "GET", C + "/docs").json["Documents"]), sorted(left))
        server.end()


@case("a strict server does not say beside 404 whose session token it is")
def _():
    for strict in (True, False):
        server = Server(*(["--strict"] if strict else []))
        client = Client(server)
        client.must(201, "POST", "/dbs", {"id": "d"})
        rid = make(client, "c")
        body = {"id": "1", "pk": "a"}
        made = client.must(201, "POST", C + "/docs", body, pk=["a"])
        equal(made.headers["x-ms-content-path"], rid)
        patch = {"operations": [{"op": "add", "path": "/x", "value": 1}]}
        for verb, sent in (("GET", None), ("PUT", {"id": "no", "pk": "a"}),
                           ("PATCH", patch), ("DELETE", None)):
            got = client.must(404, verb, C + "/docs/no", sent, pk=["a"])
            equal(got.headers.get("x-ms-content-path"),
                  None if strict else rid, verb)
            equal(got.headers["x-ms-alt-content-path"], C.strip("/"), verb)
            if verb == "GET":
                equal(got.headers["x-ms-session-token"],
                      made.headers["x-ms-session-token"])
        got = client.must(200, "GET", C + "/docs/1", pk=["a"])
        equal(got.headers["x-ms-content-path"], rid)
        for ids, status in ((["1"], 200), (["1", "no"], 207)):
            got = client.must(status, "POST", C + "/docs", [
                {"operationType": "Read", "id": id} for id in ids], pk=["a"],
                x_ms_cosmos_is_batch_request="true",
                x_ms_cosmos_batch_atomic="true")
            equal(got.headers.get("x-ms-content-path"),
                  None if strict and status == 207 else rid)
        server.end()


@case("a key of more than 101 bytes is taken with either version of the hash, "
      "by a strict server too, and is a key of its own")
def _():
    for strict in (True, False):
        server = Server(*(["--strict"] if strict else []))
        client = Client(server)
        client.must(201, "POST", "/dbs", {"id": "d"})
        for id, version in (("c", {}), ("one", {"version": 1}),
                            ("two", {"version": 2})):
            client.must(201, "POST", "/dbs/d/colls", {
                "id": id, "partitionKey": {"paths": ["/pk"], **version}})
            path = f"/dbs/d/colls/{id}/docs"
            for key in ("x" * 101, "x" * 102, "\u00e9" * 50 + "yy",
                        "x" * 101 + "z", "x" * 2000):
                one = {"id": "1", "pk": key}
                for status, verb, name, body in (
                        (201, "POST", "", one), (200, "GET", "/1", None),
                        (200, "PUT", "/1", one)):
                    equal(client.must(status, verb, path + name, body,
                                      pk=[key]).json["pk"], key)
                client.must(200, "POST", path, [
                    {"operationType": "Upsert", "resourceBody": one,
                     "partitionKey": json.dumps([key])}],
                    x_ms_cosmos_is_batch_request="true",
                    x_ms_cosmos_batch_atomic="false",
                    x_ms_documentdb_partitionkeyrangeid="0")
            client.must(204, "DELETE", path + "/1", pk=["x" * 101])
            client.must(200, "GET", path + "/1", pk=["x" * 102])
            equal(client.must(200, "POST", path, "SELECT VALUE c.pk FROM c "
                              f"WHERE c.pk = '{'x' * 102}'", query=True)
                  .json["Documents"], ["x" * 102])
        server.end()


@case("a strict server makes no document whose key only its body says")
def _():
    for strict in (True, False):
        server = Server(*(["--strict"] if strict else []))
        client = Client(server)
        client.must(201, "POST", "/dbs", {"id": "d"})
        make(client, "c")
        body = {"id": "1", "pk": "a"}
        for more in ({}, {"x_ms_documentdb_is_upsert": "true"}):
            got = client.ask("POST", C + "/docs", body, **more)
            equal((got.status, got.substatus),
                  (400, 1001) if strict else (200 if more else 201, 0))
            if strict:
                assert "fewer components" in got.json["message"]
        got = client.must(207 if strict else 200, "POST", C + "/docs", [
            {"operationType": "Upsert", "resourceBody": body, **key}
            for key in ({}, {"partitionKey": '["a"]'})],
            x_ms_cosmos_is_batch_request="true",
            x_ms_cosmos_batch_atomic="false",
            x_ms_cosmos_batch_continue_on_error="true")
        equal([one["statusCode"] for one in got.json],
              [400, 201] if strict else [200, 200])
        client.must(200, "POST", C + "/docs", body, pk=["a"],
                    x_ms_documentdb_is_upsert="true")
        server.end()


@case("a strict server answers 304 to a place of the feed that it has not come "
      "to, with that place")
def _():
    ahead = '"9223372036854775797"'
    for strict in (True, False):
        server = Server(*(["--strict"] if strict else []))
        client = Client(server)
        client.must(201, "POST", "/dbs", {"id": "d"})
        make(client, "c")
        client.must(201, "POST", C + "/docs", {"id": "1", "pk": "a"}, pk=["a"])
        got = feed(client, 304 if strict else 400, if_none_match=ahead)
        if strict:
            equal(got.headers["etag"], ahead)
            equal(got.headers["x-ms-session-token"], "0:-1#2")
            client.must(200, "POST", "/_runnel/split",
                        {"container": C[1:], "range": 0})
            place = ahead
            for _ in range(2):  # what the first answer has is a place, too
                got = client.must(304, "GET", C + "/docs",
                                  a_im="Incremental feed", if_none_match=place)
                place = got.headers["etag"]
                assert place.startswith('"1:-1#9223372036854775797,'), place
        else:
            assert "not a place of this feed" in got.json["message"], got.json
        server.end()


@case("a server that is not strict merges what is to be merged")
def _():
    server = Server("--ranges", "3")
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    make(client, "c")
    for text in MERGED:
        equal(query(client, text).status, 200, text)
    server.end()
