# main.py -- queries over HTTP: what they look at, how they continue, and what
# they are refused with.
#
#   main.py ENDPOINT everyday|lenient|write|reopened
#
# Method: documents whose answers can be computed by hand; the query metrics say
# how many documents were looked at.  "write" leaves tokens behind (in a
# document), with which "reopened" goes on after the server was killed.
import base64
import json
import random
import re
import sys
import urllib.parse

import moving
import natural
import paged
import resume
from wire import (
    Container,
    Server,
    case,
    close_token,
    forget,
    open_token,
    run_all,
)

endpoint, phase = sys.argv[1:3]
server = Server(endpoint)
server.send("POST", "/dbs", {"id": "q"})
HASH = {"partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}}


def in_phase(name):
    def mark(run):
        run.phase = name
        return run

    return mark


def fill():
    c = Container(server, "q", "plain", HASH)
    for n in range(90):
        c.write(
            {"id": f"i{n}", "pk": f"p{n % 9}", "n": n, "same": n % 2},
            [f"p{n % 9}"],
        )
    return c


plain = fill() if phase == "everyday" else None
moving.add_cases(server)
resume.add_cases(server)
natural.add_cases(server)
paged.add_cases(server)


def looked_at(c, text, rows, **more):
    got = c.query(text, x_ms_max_item_count=1000, **more)
    assert got.status == 200, got.text
    assert len(got.json["Documents"]) == rows, got.text
    return got.metrics()["retrievedDocumentCount"]


# ---- access paths ------------------------------------------------------------


@case
def an_id_with_its_key_is_looked_up():
    by_header = "SELECT * FROM c WHERE c.id = 'i7'"
    assert looked_at(plain, by_header, 1, key=["p7"]) == 1
    assert looked_at(plain, by_header, 0, key=["p6"]) == 0
    in_text = "SELECT * FROM c WHERE c.id = 'i7' AND c.pk = 'p7'"
    assert looked_at(plain, in_text, 1) == 1
    given = "SELECT * FROM c WHERE c.id = @id AND c['pk'] = @pk"
    assert looked_at(plain, given, 1, parameters={"@id": "i8", "@pk": "p8"}) == 1


@case
def ids_are_looked_up_in_the_order_of_keys():
    text = "SELECT VALUE c.id FROM c WHERE c.id IN ('i9','i0','i18','i0') AND c.pk = 'p0'"
    assert looked_at(plain, text, 3) == 3
    assert sorted(plain.rows(text, 1)) == ["i0", "i18", "i9"]
    pairs = " OR ".join(
        f"(c.id = 'i{n}' AND c.pk = 'p{n % 9}')" for n in range(0, 90, 10)
    )
    assert looked_at(plain, f"SELECT * FROM c WHERE {pairs}", 9) <= 9
    assert len(plain.rows(f"SELECT * FROM c WHERE {pairs}", 2)) == 9


@case
def a_key_is_a_range_of_documents():
    assert looked_at(plain, "SELECT * FROM c WHERE c.pk = 'p3'", 10) == 10
    text = "SELECT * FROM c WHERE c.pk IN ('p3', 'p4', 'p3') AND c.n > 80"
    assert looked_at(plain, text, 2) == 20
    assert looked_at(plain, "SELECT * FROM c WHERE c.n = 1", 1) == 90
    assert looked_at(plain, "SELECT * FROM c WHERE c.pk = 'p1' AND false", 0) == 0


@case
def documents_are_counted_without_being_read():
    for key, counted in ((None, 90), (["p1"], 10)):
        for text in ("COUNT(1)", "SUM(1)", "[{'item': COUNT(1)}]"):
            got = plain.query(f"SELECT VALUE {text} FROM c", key=key)
            assert str(counted) in got.text, got.text
            metrics = got.metrics()
            assert metrics["retrievedDocumentCount"] == 0
            assert metrics["retrievedDocumentSize"] == 0
            assert metrics["indexUtilizationRatio"] == 1
    # A query that needs a member of the documents reads them.
    text = "SELECT VALUE COUNT(c.n) FROM c"
    assert looked_at(plain, text, 1, key=["p1"]) == 10
    assert looked_at(plain, "SELECT VALUE COUNT(1) FROM c WHERE c.n > 5", 1) == 90


@case
def a_key_that_no_document_can_have_finds_nothing():
    long = "x" * 3000
    assert looked_at(plain, f"SELECT * FROM c WHERE c.pk = '{long}'", 0) == 0
    assert looked_at(plain, "SELECT * FROM c WHERE c.pk = 'p1' AND c.id = 5", 0) == 0
    text = "SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'p1' AND c.pk = 'p2'"
    got = plain.query(text)
    assert got.json["Documents"] == [0]
    assert got.metrics()["retrievedDocumentCount"] == 0


@case
def both_zeros_are_found():
    c = Container(server, "q", "zeros", HASH)
    c.write({"id": "a", "pk": 0}, [0])
    c.write({"id": "b", "pk": -0.0}, [-0.0])
    c.write({"id": "c", "pk": 1}, [1])
    assert looked_at(c, "SELECT * FROM c WHERE c.pk = 0", 2) == 2
    assert looked_at(c, "SELECT * FROM c WHERE c.pk = null", 0) == 0


@case
def a_prefix_of_a_hierarchical_key_is_a_range():
    c = Container(
        server,
        "q",
        "deep",
        {
            "partitionKey": {
                "paths": ["/a", "/b", "/c"],
                "kind": "MultiHash",
                "version": 2,
            }
        },
    )
    for a in "xy":
        for b in "uvw":
            for n in range(4):
                document = {"id": f"{a}{b}{n}", "a": a, "b": b, "c": n}
                c.write(document, [a, b, n])
    assert looked_at(c, "SELECT * FROM c WHERE c.a = 'x'", 12) == 12
    assert looked_at(c, "SELECT * FROM c WHERE c.a = 'x' AND c.b = 'u'", 4) == 4
    whole = "SELECT * FROM c WHERE c.a='x' AND c.b='u' AND c.c=2"
    assert looked_at(c, whole, 1) == 1
    assert looked_at(c, whole + " AND c.id = 'xu2'", 1) == 1
    assert looked_at(c, "SELECT * FROM c WHERE c.b = 'u'", 8) == 24
    assert looked_at(c, "SELECT * FROM c WHERE c.b = 'u'", 4, key=["y"]) == 4
    assert looked_at(c, "SELECT * FROM c", 4, key=["y", "w"]) == 4
    assert len(c.rows("SELECT * FROM c WHERE c.a IN ('x','y')", 5)) == 24


@case
def the_ranges_of_a_container_are_queried_like_other_lists():
    c = Container(server, "q", "listed", HASH, throughput=30000)
    ranges = server.send("GET", c.path + "/pkranges").json["PartitionKeyRanges"]
    assert len(ranges) == 3, ranges

    def ask(text, size):
        rows, token = [], ""
        while token is not None:
            got = server.send(
                "POST", c.path + "/pkranges", {"query": text},
                {"Content-Type": "application/query+json",
                 "x-ms-documentdb-isquery": "True", "x-ms-continuation": token,
                 "x-ms-max-item-count": str(size)})
            assert got.status == 200, got.text
            rows += got.json["PartitionKeyRanges"]
            token = got.headers.get("x-ms-continuation")
        return rows

    for size in (1, 2, 100):
        assert ask("SELECT * FROM r", size) == ranges
        assert ask("SELECT VALUE COUNT(1) FROM r", size) == [3]
        text = "SELECT VALUE r.id FROM r WHERE r.id != '1' ORDER BY r.minInclusive DESC"
        assert ask(text, size) == ["2", "0"]


@case
def a_range_looks_only_at_its_own():
    c = Container(server, "q", "wide", HASH, throughput=30000)
    for n in range(60):
        c.write({"id": f"i{n}", "pk": f"p{n}", "n": n}, [f"p{n}"])
    seen = []
    for r in range(3):
        text = "SELECT VALUE c.n FROM c"
        got = c.query(
            text, x_ms_documentdb_partitionkeyrangeid=r, x_ms_max_item_count=100
        )
        rows = got.json["Documents"]
        assert got.metrics()["retrievedDocumentCount"] == len(rows) < 60
        seen += rows
        # a key of another range is not found in this one
        text = "SELECT VALUE c.n FROM c WHERE c.pk IN ('p1','p2','p3','p4')"
        got = c.query(text, x_ms_documentdb_partitionkeyrangeid=r)
        assert set(got.json["Documents"]) == {1, 2, 3, 4} & set(rows)
    assert sorted(seen) == list(range(60))
    ordered = c.rows("SELECT VALUE c.n FROM c ORDER BY c.n", 7)
    assert ordered == list(range(60))


# ---- pages -------------------------------------------------------------------

SHAPES = [
    "SELECT VALUE c.n FROM c",
    "SELECT VALUE c.n FROM c WHERE c.same = 1 OFFSET 5 LIMIT 17",
    "SELECT TOP 31 VALUE c.n FROM c",
    "SELECT VALUE c.n FROM c ORDER BY c.n DESC",
    "SELECT VALUE c.n FROM c ORDER BY c.same",
    "SELECT VALUE c.n FROM c ORDER BY c.same DESC OFFSET 3 LIMIT 60",
    "SELECT TOP 40 c.n, c.id FROM c ORDER BY c.nothing",
    "SELECT DISTINCT VALUE c.pk FROM c",
    "SELECT DISTINCT c.same FROM c ORDER BY c.same DESC",
    "SELECT DISTINCT c.pk, c.same FROM c ORDER BY c.same",
    "SELECT c.pk, COUNT(1) AS k FROM c GROUP BY c.pk",
    "SELECT VALUE d FROM (SELECT DISTINCT VALUE c.pk FROM c) AS d",
    "SELECT VALUE SUM(c.n) FROM c",
    "SELECT VALUE c.n FROM c WHERE c.pk IN ('p2', 'p5', 'p1')",
    "SELECT VALUE {a: c.n, t: t} FROM c JOIN t IN [1, 2, 3]",
    "SELECT VALUE [c.n, t] FROM c JOIN t IN [1, 2, 3] ORDER BY c.same",
]


@case
def every_shape_continues_with_any_size_of_page():
    for text in SHAPES:
        if "JOIN" in text:
            text = text.replace("[1, 2, 3]", "(SELECT VALUE [1, 2, 3])")
        whole = plain.rows(text, 1000)
        for size in (1, 7, 50):
            assert plain.rows(text, size) == whole, (text, size)
            # and if nobody remembers the answer
            got = plain.rows(text, size, change=forget)
            assert got == whole, (text, size)


@case
def no_page_is_empty_at_the_end():
    for text, size in (
        ("SELECT * FROM c", 30),
        ("SELECT * FROM c WHERE c.pk = 'p1'", 5),
        ("SELECT * FROM c WHERE c.id = 'i1' AND c.pk = 'p1'", 1),
        ("SELECT * FROM c ORDER BY c.n", 45),
        ("SELECT TOP 20 * FROM c", 10),
        ("SELECT DISTINCT c.pk FROM c", 3),
    ):
        for page in plain.pages(text, size):
            assert page.json["_count"] == size, text


@case
def vectors_over_ranges_are_left_to_the_client():
    text = "SELECT TOP 5 * FROM c ORDER BY VectorDistance(c.v, [1, 2])"
    got = plain.query(text)
    assert got.status == 400, got.text
    assert got.headers["x-ms-substatus"] == "1004"
    plan = json.loads(got.json["additionalErrorInfo"])
    assert plan["queryInfo"]["hasNonStreamingOrderBy"] is True
    assert plan["queryInfo"]["orderBy"] == ["Descending"]
    got = plain.query(text, x_ms_documentdb_partitionkeyrangeid=0)
    assert got.status == 200, got.text
    assert plain.query(text, key=["p1"]).status == 200


@case
def a_sorted_answer_is_computed_once():
    text = "SELECT VALUE c.n FROM c ORDER BY c.n"
    costs = [
        page.metrics()["retrievedDocumentCount"]
        for page in plain.pages(text, 10)
    ]
    assert costs == [90] + [0] * 8, costs


@case
def ties_are_in_the_order_of_rids():
    rids = {d["id"]: d["_rid"] for d in plain.rows("SELECT * FROM c", 100)}

    def number(id):
        raw = base64.b64decode(rids[id].replace("-", "/"))
        return int.from_bytes(raw[8:], "little")

    text = "SELECT VALUE c.id FROM c ORDER BY c.nothing"
    got = [number(id) for id in plain.rows(text, 11, change=forget)]
    assert got == sorted(got)
    got = [number(id) for id in plain.rows(text + " DESC", 11)]
    assert got == sorted(got, reverse=True)


@case
def tokens_stay_within_a_kilobyte():
    c = Container(
        server,
        "q",
        "long",
        {
            "partitionKey": {
                "paths": ["/a", "/b", "/c"],
                "kind": "MultiHash",
                "version": 2,
            },
            "indexingPolicy": {
                "includedPaths": [{"path": "/*"}],
                "compositeIndexes": [
                    [{"path": "/s", "order": "ascending"}, {"path": "/t"}]
                ],
            },
        },
    )
    for n in range(12):
        # the keys are alike for longer than any token could hold
        document = {"id": f"{n:02}" + "i" * 900, "s": "k" * n * 200 + str(n)}
        document.update(a="a" * 600, b="\u20ac" * 200, c=n, t="t" * 50, n=n)
        c.write(document, [document["a"], document["b"], n])
    everything = list(range(12))
    assert sorted(c.rows("SELECT VALUE c.n FROM c", 1)) == everything
    for order in ("c.s", "c.s DESC", "c.s, c.t", "c.id"):
        text = f"SELECT VALUE c.n FROM c ORDER BY {order}"
        whole = c.rows(text, 100)
        assert sorted(whole) == everything
        assert c.rows(text, 1) == whole, order
        assert c.rows(text, 1, change=forget) == whole, order


@case
def a_query_ends_and_misses_nothing_while_documents_change():
    c = Container(server, "q", "moving", HASH)
    for n in range(40):
        c.write({"id": f"i{n}", "pk": str(n % 4), "n": n}, [str(n % 4)])
    rng = random.Random(1)
    for text in ("SELECT * FROM c", "SELECT * FROM c ORDER BY c.n"):
        seen = []
        for page in c.pages(text, 3, change=forget):
            seen += [d["id"] for d in page.json["Documents"]]
            for _ in range(5):
                n = rng.randrange(40)
                document = {"id": f"i{n}", "pk": str(n % 4), "n": n}
                document["again"] = len(seen)
                c.write(document, [str(n % 4)])
        assert sorted(seen) == sorted(f"i{n}" for n in range(40))


@case
def control_characters_stand_raw_in_strings():
    c = Container(server, "q", "raw", HASH)
    odd = "a\tb\r\nc\x05\x00\x1f\"\\"
    spelled = json.dumps(odd)
    for good in ("\\t", "\\r", "\\n", "\\u0005", "\\u0000", "\\u001f"):
        spelled = spelled.replace(good, json.loads(f'"{good}"'))
    assert "\t" in spelled and "\0" in spelled and "\\t" not in spelled

    def send(text, **headers):
        headers = {name.replace("_", "-"): value
                   for name, value in headers.items()}
        return server.send_text("POST", c.path + "/docs", text, headers)

    got = send('{\n\t"id": "1", "pk": "p", "s": ' + spelled + '}',
               x_ms_documentdb_partitionkey='["p"]')
    assert got.status == 201, got.text
    assert got.json["s"] == odd
    got = server.send("GET", c.path + "/docs/1", None,
                      {"x-ms-documentdb-partitionkey": '["p"]'})
    assert got.json["s"] == odd, got.text
    # In the text of a query, raw in JSON; and raw in the literal itself.
    for literal in ("a\\tb\\r\\nc\\u0005\\u0000\\u001f\\\"\\\\", None):
        if literal is None:
            literal = odd.replace("\\", "\\\\").replace('"', '\\"')
        body = {"query": f'SELECT VALUE c.s FROM c WHERE c.s = "{literal}"'}
        got = send(json.dumps(body), x_ms_documentdb_isquery="True",
                   x_ms_documentdb_query_enablecrosspartition="True",
                   Content_Type="application/query+json")
        assert got.status == 200 and got.json["Documents"] == [odd], got.text
    # What is wrong with JSON otherwise stays refused.
    for bad in ('{"id":"2","pk":"p","s":"a', '{"id":"2","pk":"p",\x05"s":1}',
                '{"id":"2","pk":"p","s":"\\\t"}'):
        got = send(bad, x_ms_documentdb_partitionkey='["p"]')
        assert got.status == 400, (bad, got.text)


@case
def bad_tokens_are_refused():
    text = "SELECT * FROM c ORDER BY c.n"
    page = plain.query(text, x_ms_max_item_count=5)
    good = page.headers["x-ms-continuation"]
    short = forget(close_token(open_token(good)[:-1]))
    bad = ["x", "AAAA", "!" * 40, good[:-1], good[1:], '{"token":""}', short]
    for token in bad:
        got = plain.query(text, x_ms_continuation=token)
        assert got.status == 400, token
    for other in ("SELECT * FROM c", "SELECT VALUE COUNT(1) FROM c",
                  "SELECT DISTINCT c.pk FROM c"):
        got = plain.query(other, x_ms_continuation=good)
        assert got.status == 400, got.text


@case
def a_token_of_another_container_is_refused():
    c = Container(server, "q", "stranger", HASH)
    for n in range(3):
        c.write({"id": f"i{n}", "pk": f"p{n}", "n": n}, [f"p{n}"])
    for text in ("SELECT * FROM c", "SELECT * FROM c ORDER BY c.n",
                 "SELECT DISTINCT VALUE c.n FROM c"):
        token = plain.query(text, x_ms_max_item_count=1).headers["x-ms-continuation"]
        got = c.query(text, x_ms_continuation=token)
        assert got.status == 400, got.text
        assert plain.query(text, x_ms_continuation=token).status == 200


# Of every shape: a document's place, a row's, rows that wait.
@case
def no_damaged_token_harms_the_server():
    rng = random.Random(2)
    for text in ("SELECT * FROM c", "SELECT * FROM c ORDER BY c.n",
                 "SELECT DISTINCT VALUE c.id FROM c",
                 "SELECT c.id, COUNT(1) AS n FROM c GROUP BY c.id"):
        page = plain.query(text, x_ms_max_item_count=5)
        raw = open_token(page.headers["x-ms-continuation"])
        for _ in range(150):
            some = bytearray(raw)
            for _ in range(rng.choice((1, 1, 3))):
                some[rng.randrange(len(some))] ^= 1 << rng.randrange(8)
            token = close_token(some[:rng.choice((None, None, len(some) - 1))])
            got = plain.query(text, x_ms_continuation=token)
            assert got.status in (200, 400), (text, token, got.text)


@case
def the_catalog_is_queried_page_by_page():
    for n in range(5):
        Container(server, "q", f"more{n}", HASH)
    path = "/dbs/q/colls"
    for query in (
        "SELECT VALUE c.id FROM c WHERE STARTSWITH(c.id, 'more')",
        "SELECT VALUE c.id FROM c WHERE STARTSWITH(c.id, 'more') ORDER BY c.id",
    ):
        seen, token = [], None
        while True:
            headers = {
                "Content-Type": "application/query+json",
                "x-ms-documentdb-isquery": "True",
                "x-ms-max-item-count": "2",
            }
            if token:
                headers["x-ms-continuation"] = token
            got = server.send("POST", path, {"query": query}, headers)
            assert got.status == 200, got.text
            seen += got.json["DocumentCollections"]
            token = got.headers.get("x-ms-continuation")
            if not token:
                break
        assert sorted(seen) == [f"more{n}" for n in range(5)], seen


@case
def an_object_that_goes_between_pages_takes_no_rows_along():
    paths = [{"path": p} for p in ("/*", "/a/?", "/b/?")]
    for n in range(3):
        Container(server, "q", f"gone{n}",
                  {**HASH, "indexingPolicy": {"includedPaths": paths}})
    query = ("SELECT VALUE CONCAT(c.id, p.path) FROM c "
             "JOIN p IN c.indexingPolicy.includedPaths WHERE STARTSWITH(c.id, 'gone')")
    headers = {"Content-Type": "application/query+json",
               "x-ms-documentdb-isquery": "True", "x-ms-max-item-count": "2"}
    seen = []
    while True:
        got = server.send("POST", "/dbs/q/colls", {"query": query}, headers)
        assert got.status == 200, got.text
        if not seen:
            first = got.json["DocumentCollections"][0][:5]
            server.send("DELETE", "/dbs/q/colls/" + first)
        seen += got.json["DocumentCollections"]
        if "x-ms-continuation" not in got.headers:
            break
        headers["x-ms-continuation"] = got.headers["x-ms-continuation"]
    stay = sorted(f"gone{n}{p['path']}" for n in range(3) for p in paths
                  if f"gone{n}" != first)
    assert sorted(seen[2:]) == stay, seen


# ---- costs -------------------------------------------------------------------


@case
def metrics_count_what_was_looked_at():
    got = plain.query("SELECT * FROM c WHERE c.n < 9", x_ms_max_item_count=100)
    m = got.metrics()
    assert m["retrievedDocumentCount"] == 90
    assert m["outputDocumentCount"] == 9
    assert m["retrievedDocumentSize"] > m["outputDocumentSize"] > 0
    assert m["indexUtilizationRatio"] == 0.1
    assert m["totalExecutionTimeInMs"] >= m["VMExecutionTimeInMs"] > 0
    assert m["totalExecutionTimeInMs"] > m["documentLoadTimeInMs"] > 0
    # A microsecond is seen, too.
    assert re.search(r"\bVMExecutionTimeInMs=\d+\.\d{4};",
                     got.headers["x-ms-documentdb-query-metrics"])
    assert float(got.headers["x-ms-request-charge"]) > 0
    assert got.headers["x-ms-item-count"] == "9"
    assert got.json["_count"] == 9


@case
def a_continuation_of_the_service_begins_at_the_start():
    text = "SELECT VALUE c.n FROM c"
    foreign = "-RID:~a0NPAOszCpOChB4AAAAAAA==#RT:1#TRC:2#ISV:2#IEO:65567#QCF:8"
    first = plain.query(text, x_ms_max_item_count=5).json["Documents"]
    got = plain.query(text, x_ms_max_item_count=5, x_ms_continuation=foreign)
    assert got.status == 200 and got.json["Documents"] == first, got.text
    mine = plain.query("SELECT TOP 1 * FROM c").json["Documents"][0]["_rid"]
    for bad in (f"-RID:~{mine}#RT:1", foreign.replace("#", "!"),
                foreign.replace("a0NP", "a0"), foreign[1:]):
        got = plain.query(text, x_ms_continuation=bad)
        assert got.status == 400 and "Continuation" in got.text, bad


@case
def metrics_of_a_page_count_its_own_rows():
    for text in ("SELECT VALUE c.n FROM c", "SELECT VALUE c.n FROM c ORDER BY c.n",
                 "SELECT DISTINCT VALUE c.n FROM c",
                 "SELECT VALUE c.n FROM c GROUP BY c.n"):
        for size in (7, 1000):
            for got in plain.pages(text, size):
                rows, m = got.json["Documents"], got.metrics()
                assert m["outputDocumentCount"] == len(rows), (text, size)
                assert m["outputDocumentSize"] == \
                    sum(len(str(n)) for n in rows), (text, size)


@case
def index_metrics_name_the_paths_of_the_filter():
    text = "SELECT * FROM c WHERE c.pk = 'p1' AND c.n > 1 AND c['a b'].c = 2"
    got = plain.query(text, x_ms_cosmos_populateindexmetrics_V2="true")
    new = json.loads(
        urllib.parse.unquote(got.headers["x-ms-cosmos-index-utilization"])
    )
    specs = [i["IndexSpec"] for i in new["UtilizedIndexes"]["SingleIndexes"]]
    assert specs == ["/pk/?", "/n/?", '/"a b"/c/?'], new
    assert new["PotentialIndexes"]["SingleIndexes"] == [], new
    # Only potential indexes have an impact.
    assert [list(i) for i in new["UtilizedIndexes"]["SingleIndexes"]] == \
        [["IndexSpec"]] * 3, new
    helps = new["PotentialIndexes"]["CompositeIndexes"]
    assert helps and all(i["IndexImpactScore"] == "High" for i in helps), new
    got = plain.query(text, x_ms_cosmos_populateindexmetrics="true")
    old = json.loads(
        base64.b64decode(got.headers["x-ms-cosmos-index-utilization"])
    )
    assert old["UtilizedSingleIndexes"][0]["IndexSpec"] == "/pk/?"
    assert old["UtilizedSingleIndexes"][0]["IndexImpactScore"] == "High"
    assert old["UtilizedCompositeIndexes"] == []
    got = plain.query(text)
    assert "x-ms-cosmos-index-utilization" not in got.headers
    # The key led to the documents, though WHERE does not name it.
    got = plain.query("SELECT * FROM c", key=["p1"],
                      x_ms_cosmos_populateindexmetrics="true")
    old = json.loads(
        base64.b64decode(got.headers["x-ms-cosmos-index-utilization"])
    )
    specs = [i["IndexSpec"] for i in old["UtilizedSingleIndexes"]]
    assert specs == ["/pk/?"] and old["PotentialSingleIndexes"] == [], old


@case
def index_metrics_have_names_that_are_long_or_odd():
    names = ["n" * 5000, "\u00e9" * 600, 'a"b', "a\\b", "a-b", "\U0001F600"]
    text = "SELECT * FROM c WHERE " + " AND ".join(
        f"c[{json.dumps(name)}] = 1" for name in names)
    want = ["/" + name if name.isalnum() and name.isascii() else
            '/"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
            for name in names]
    for header in ("_V2", ""):
        got = plain.query(text, **{
            "x_ms_cosmos_populateindexmetrics" + header: "true"})
        found = got.headers["x-ms-cosmos-index-utilization"]
        if header:
            found = json.loads(urllib.parse.unquote(found))
            found = found["UtilizedIndexes"]["SingleIndexes"]
        else:
            found = json.loads(base64.b64decode(found))
            found = found["UtilizedSingleIndexes"]
        assert [i["IndexSpec"] for i in found] == [w + "/?" for w in want]


# ---- ranks ---------------------------------------------------------------------


# As an SDK does it: the plan, the statistics, the best by each score, the ranks.
def ranked(c, text, parameters=None, key=None):
    got = c.query(text, parameters)
    assert got.status == 400 and got.headers["x-ms-substatus"] == "1004", got.text
    plan = json.loads(got.json["additionalErrorInfo"])["hybridSearchQueryInfo"]
    found = c.query(plan["globalStatisticsQuery"], parameters, key)
    found = found.json["Documents"][0]
    rows, scores = {}, {}
    for info in plan["componentQueryInfos"]:
        part = info["rewrittenQuery"]
        part = part.replace("{documentdb-formattableorderbyquery-filter}", "true")
        mark = "{documentdb-formattablehybridsearchquery-"
        part = part.replace(mark + "totaldocumentcount}", str(found["documentCount"]))
        for i, one in enumerate(found["fullTextStatistics"]):
            part = part.replace(f"{mark}totalwordcount-{i}}}", str(one["totalWordCount"]))
            part = part.replace(f"{mark}hitcountsarray-{i}}}", json.dumps(one["hitCounts"]))
        scopes = [{"x_ms_documentdb_partitionkeyrangeid": n} for n in range(2)]
        for scope in scopes if key is None else [{"key": key}]:
            for row in c.rows(part, 100, parameters=parameters, **scope):
                rows[row["_rid"]] = row["payload"]["payload"]
                scores[row["_rid"]] = row["payload"]["componentScores"]
    fused = {rid: 0 for rid in rows}
    for i, info in enumerate(plan["componentQueryInfos"]):
        best = sorted({s[i] for s in scores.values()})
        if info["orderBy"] == ["Descending"]:
            best.reverse()
        for rid in fused:
            weight = plan["componentWeights"][i] if plan["componentWeights"] else 1
            fused[rid] += weight / (61 + best.index(scores[rid][i]))
    order = sorted(fused, key=lambda rid: (-fused[rid], rid))
    skip = plan["skip"] or 0
    return [rows[rid]["id"] for rid in order][skip:skip + plan["take"]]


@case
def documents_are_ranked_by_words_and_vectors():
    c = Container(server, "q", "ranks", HASH, throughput=20000)
    for n, (text, v) in enumerate([
        ("A swim in the cold sea", [1, 0]),
        ("Swimmers swim and swim again", [0, 1]),
        ("Nobody runs here", [1, 1]),
        ("A long text about running, biking, hiking and, at last, a swim", [0, 1]),
        (None, [1, 0]),
    ]):
        c.write({"id": str(n), "pk": n, "text": text, "v": v}, [n])
    got = ranked(c, "SELECT TOP 3 c.id FROM c ORDER BY RANK FullTextScore(c.text, 'swim')")
    assert got == ["1", "0", "3"], got
    got = ranked(c, "SELECT c.id FROM c WHERE c.id != '1' "
                    "ORDER BY RANK FullTextScore(c.text, 'swim', 'run') OFFSET 1 LIMIT 2")
    assert len(got) == 2 and "1" not in got and "4" not in got, got
    got = ranked(c, "SELECT TOP 2 c.id FROM c ORDER BY RANK "
                    "RRF(FullTextScore(c.text, ['swim']), VectorDistance(c.v, [1, 0]))")
    assert got == ["0", "1"], got
    bad = c.query("SELECT TOP 1 c.id FROM c ORDER BY RANK FullTextScore(c.text, 'x') DESC")
    assert bad.status == 400 and "sort order" in bad.text, bad.text


RANKS = [
    "SELECT TOP 7 c.id FROM c ORDER BY RANK FullTextScore(c.text, 'swim', 'sea')",
    "SELECT c.id FROM c ORDER BY RANK FullTextScore(c.text, 'swim') OFFSET 3 LIMIT 9",
    "SELECT TOP 20 c.id FROM c ORDER BY RANK "
    "RRF(FullTextScore(c.text, @words), VectorDistance(c.v, @v))",
    "SELECT TOP 20 c.id FROM c ORDER BY RANK "
    "RRF(FullTextScore(c.text, 'sea'), VectorDistance(c.v, [1, 0]), [1, 3])",
]


@case
def documents_of_one_key_are_ranked_here():
    # Clients send such a query as it is.  What comes must be what the plan
    # gives, if it is carried out over that key.
    c = Container(server, "q", "own", HASH, throughput=20000)
    dice = random.Random(5)
    words = ["swim", "sea", "cold", "long", "warm", "run", "hill"]
    for n in range(60):
        text = " ".join(dice.choice(words) for _ in range(dice.randrange(1, 12)))
        c.write({"id": str(n), "pk": n % 2, "text": text,
                 "v": [dice.random(), dice.random()]}, [n % 2])
    given = {"@words": ["swim", "cold"], "@v": [0.5, 0.5]}
    for text in RANKS:
        wanted = ranked(c, text, given, [1])
        whole = c.query(text, given, key=[1], x_ms_max_item_count=100)
        assert whole.status == 200, whole.text
        got = [d["id"] for d in whole.json["Documents"]]
        assert len(got) == len(wanted) and len(got) in (7, 9, 20), got
        assert got == wanted, (text, got, wanted)
        for change in (lambda token: token, forget):
            pages = c.rows(text, 4, change=change, key=[1],
                           parameters=given)
            assert [d["id"] for d in pages] == got, text
    got = c.query("SELECT TOP 3 VALUE c.text FROM c WHERE c.id != '1' ORDER BY RANK "
                  "FullTextScore(c.text, 'hill')", key=[1])
    assert all("hill" in text for text in got.json["Documents"]), got.text
    mark = "{documentdb-formattablehybridsearchquery-"
    for word in (mark, mark + "x}", mark + "totalwordcount-9}", "}"):
        odd = c.query(f"SELECT TOP 1 * FROM c ORDER BY RANK "
                      f"FullTextScore(c.text, '{word}')", key=[1])
        assert odd.status == 200, odd.text
    none = c.query("SELECT TOP 3 * FROM c ORDER BY RANK FullTextScore(c.text, 'x')",
                   key=["nobody"])
    assert none.json["Documents"] == [], none.text


# ---- all documents, in any order -----------------------------------------------


@case
def aggregates_and_sorts_see_every_document_as_it_is():
    # They go through the feed, whose order changes with every update; several
    # ranges have several feeds.
    c = Container(server, "q", "whole", HASH, throughput=30000)
    now = {}
    dice = random.Random(7)
    for turn in range(400):
        n = dice.randrange(120)
        if n in now and dice.randrange(4) == 0:
            path = f"{c.path}/docs/i{n}"
            key = {"x-ms-documentdb-partitionkey": json.dumps([n % 11])}
            assert server.send("DELETE", path, None, key).status == 204
            del now[n]
            continue
        now[n] = turn
        c.write({"id": f"i{n}", "pk": n % 11, "n": n, "v": turn}, [n % 11])
    total = c.query(
        "SELECT COUNT(1) AS k, SUM(c.v) AS s, MIN(c.v) AS l, MAX(c.v) AS h FROM c"
    )
    values = sorted(now.values())
    wanted = {"k": len(now), "s": sum(values), "l": values[0], "h": values[-1]}
    assert total.json["Documents"] == [wanted], total.text
    some = c.query("SELECT VALUE SUM(c.v) FROM c WHERE c.n > 60")
    assert some.json["Documents"] == [sum(v for n, v in now.items() if n > 60)]
    rows = c.rows("SELECT VALUE c.v FROM c ORDER BY c.v DESC", 7)
    assert rows == values[::-1], rows


# ---- refusals ----------------------------------------------------------------

FAULTS = [
    ("SELECT * FROM c WHERE", "SC1002", (21, 21)),
    ("", "SC1002", (0, 0)),
    ("SELECT c.id FROM c;", "SC1010", (18, 19)),
    ("SELECT * FROM c WHERE c.a == 1", "SC1001", (27, 28)),
    ("SELECT 'abc FROM c", "SC1012", (7, 18)),
    ("SELECT * FROM c WHERE x.a = 1", "SC2001", (22, 23)),
    ("SELECT VALUE '\u20ac\U0001f600' || x FROM c", "SC2001", (22, 23)),
    ("SELECT VALUE NOSUCH(1)", "SC2005", (13, 19)),
    ("SELECT VALUE ABS(1, 2)", "SC2050", (13, 22)),
    ("SELECT VALUE SUM(COUNT(1)) FROM c", "SC2101", None),
    ("SELECT c.a, COUNT(1) FROM c", "SC2102", (7, 10)),
    ("SELECT * FROM c GROUP BY c.a", "SC2041", (7, 8)),
    ("SELECT TOP 99999999999 * FROM c", "SC2060", (11, 22)),
    ("SELECT VALUE udf.f(1)", "SC2005", None),
    ("SELECT VALUE FullTextScore(c.t, 'x') FROM c", "SC2240", (13, 36)),
    ("SELECT c.n AS a, c.id AS a FROM c", "SC2022", (25, 26)),
]


@case
def the_answer_to_a_bad_query_names_the_place_of_its_error():
    for text, code, place in FAULTS:
        got = plain.query(text)
        assert got.status == 400, (text, got.text)
        assert got.json["code"] == "BadRequest"
        message = got.json["message"]
        assert message.startswith("Message: "), message
        errors = json.loads(message[9:].split("\r\n")[0])["errors"]
        assert errors[0]["code"] == code, (text, message)
        assert errors[0]["severity"] == "Error"
        if place:
            at = errors[0]["location"]
            assert (at["start"], at["end"]) == place, (text, message)


@case
def a_number_that_json_cannot_say_is_refused():
    got = plain.query("SELECT 1/0 AS x, 1 AS y")
    assert got.status == 400 and got.headers["x-ms-substatus"] == "4001", got.text
    errors = json.loads(got.json["message"][9:].split("\r\n")[0])["errors"]
    assert errors[0]["code"] == 4001 and "location" not in errors[0], got.text


@case
def parameters_have_names_of_their_own():
    def ask(*given):
        body = {"query": "SELECT @p AS v", "parameters": list(given)}
        return server.send("POST", plain.path + "/docs", body, {
            "Content-Type": "application/query+json",
            "x-ms-documentdb-isquery": "True"})

    assert ask().json["Documents"] == [{}]
    assert ask({"name": "@p"}).json["Documents"] == [{}]
    assert ask({"name": "@p", "value": None}).json["Documents"] == [{"v": None}]
    one = {"name": "@p", "value": 1}
    assert ask({"name": "@q", "value": 2}, one).json["Documents"] == [{"v": 1}]
    got = ask(one, one)
    assert got.status == 400 and "duplicate parameter name '@p'" in got.text
    for name in ("p", "@", "@1", "@a-b", "", 5):
        got = ask({"name": name, "value": 1})
        assert got.status == 400 and "is invalid. Parameter names" in got.text


FEATURES = [
    ("SELECT c.n, COUNT(1), AVG(c.n) FROM c GROUP BY c.n",
     "GroupBy MultipleAggregates NonValueAggregate"),
    ("SELECT VALUE COUNT(1) FROM c", "Aggregate"),
    ("SELECT VALUE COUNTIF(c.n = 1) FROM c", "Aggregate CountIf"),
    ("SELECT MAKESET(c.n) FROM c",
     "Aggregate NonValueAggregate ListAndSetAggregate"),
    ("SELECT DISTINCT TOP 3 c.n FROM c", "Distinct Top"),
    ("SELECT * FROM c ORDER BY c.n OFFSET 1 LIMIT 2", "OffsetAndLimit OrderBy"),
    ("SELECT TOP 1 * FROM c ORDER BY VectorDistance(c.v, [1])",
     "OrderBy Top NonStreamingOrderBy"),
    ("SELECT TOP 1 * FROM c ORDER BY RANK RRF(FullTextScore(c.t, 'a'), "
     "VectorDistance(c.v, [1]), [2, 1])", "HybridSearch WeightedRankFusion"),
    ("SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.n FROM c)", "Distinct"),
]


@case
def a_plan_that_the_client_cannot_carry_out_is_refused():
    def ask(text, features):
        headers = {"Content-Type": "application/query+json",
                   "x-ms-cosmos-is-query-plan-request": "True"}
        if features is not None:
            headers["x-ms-cosmos-supported-query-features"] = features
        return server.send("POST", plain.path + "/docs", {"query": text}, headers)

    for text, needed in FEATURES:
        got = ask(text, "Nothing")
        assert got.status == 400, got.text
        assert f"which the calling client does not support: {needed}\"" in \
            got.json["message"], got.text
        assert ask(text, needed.replace(" ", ", ")).status == 200
        assert ask(text, needed.replace(" ", ",")).status == 200
        assert ask(text, None).status == 200
    assert ask("SELECT * FROM c WHERE c.n = 1", "Nothing").status == 200


@case
def a_page_says_which_way_equal_keys_run():
    for order, way in (("", "false"), ("ORDER BY c.n", "false"),
                       ("ORDER BY c.n DESC", "true")):
        got = plain.query("SELECT VALUE c.n FROM c " + order)
        assert got.headers["x-ms-cosmos-query-execution-info"] == \
            '{"reverseRidEnabled":false,"reverseIndexScan":' + way + "}"


@case
def an_order_that_no_index_serves_is_refused():
    got = plain.query("SELECT * FROM c ORDER BY c.a, c.b")
    assert got.status == 400
    assert "does not have a corresponding composite index" in got.text
    got = plain.query("SELECT * FROM c ORDER BY c._etag")
    assert got.status == 400 and "order-by item is excluded" in got.text
    got = plain.query("SELECT * FROM c ORDER BY LOWER(c.a)")
    assert got.status == 400 and "2206" in got.text


@case
def a_container_computes_what_it_defines():
    computed = [{"name": "up", "query": "SELECT VALUE UPPER(c.s) FROM c"}]
    c = Container(server, "q", "computed", {**HASH, "computedProperties": computed})
    c.write({"id": "1", "pk": "p", "s": "abc"}, ["p"])
    got = c.query("SELECT c.up, c.s FROM c WHERE c.up = 'ABC'")
    assert got.json["Documents"] == [{"up": "ABC", "s": "abc"}], got.text
    assert c.made.json["computedProperties"] == computed
    computed = [{"name": "up", "query": "SELECT c.s FROM c"}]
    c = Container(server, "q", "wrong", {**HASH, "computedProperties": computed})
    assert c.made.status == 400 and "Required VALUE expression" in c.made.text


@case
def nothing_hurts_but_the_text():
    for text in ("(" * 100000, "[" * 100000, "1" + "+1" * 100000, "a" * 600000):
        got = plain.query("SELECT VALUE " + text)
        assert got.status in (400, 413), got.text[:200]
    for body in ([], 1, "x", {"query": 5}, {}, {"query": None}):
        got = server.send(
            "POST",
            plain.path + "/docs",
            body,
            {
                "Content-Type": "application/query+json",
                "x-ms-documentdb-isquery": "True",
            },
        )
        assert got.status == 400, (body, got.text)


@case
@in_phase("lenient")
def a_switch_allows_any_order():
    c = Container(server, "q", "any", HASH)
    for n in range(6):
        document = {"id": str(n), "pk": "p", "a": n % 2, "b": n}
        c.write(document, ["p"])
    text = "SELECT VALUE c.b FROM c ORDER BY c.a, c.b DESC"
    assert c.rows(text, 2) == [4, 2, 0, 5, 3, 1]
    assert c.rows(text, 2, change=forget) == [4, 2, 0, 5, 3, 1]
    assert len(c.rows("SELECT * FROM c ORDER BY c._etag", 4)) == 6


# ---- across a kill -----------------------------------------------------------

LASTING = [s for s in SHAPES if "JOIN" not in s]


@case
@in_phase("write")
def tokens_are_left_behind():
    c = Container(server, "q", "lasting", HASH)
    for n in range(50):
        c.write(
            {"id": f"i{n}", "pk": f"p{n % 9}", "n": n, "same": n % 2},
            [f"p{n % 9}"],
        )
    left = []
    for text in LASTING:
        page = next(c.pages(text, 4))
        rest = c.rows(text, 1000)[len(page.json["Documents"]) :]
        token = page.headers.get("x-ms-continuation")
        left.append({"text": text, "token": token, "rest": rest})
    tokens = Container(server, "q", "tokens", HASH)
    tokens.write({"id": "tokens", "pk": "t", "left": left}, ["t"])


@case
@in_phase("reopened")
def tokens_are_good_after_the_server_was_killed():
    tokens = Container(server, "q", "tokens", HASH)
    c = Container(server, "q", "lasting", HASH)
    got = tokens.query("SELECT VALUE c.left FROM c WHERE c.id = 'tokens'")
    for one in got.json["Documents"][0]:
        if one["token"] is None:
            assert one["rest"] == []
            continue
        page = c.query(
            one["text"],
            x_ms_continuation=one["token"],
            x_ms_max_item_count=1000,
        )
        assert page.status == 200, page.text
        assert page.json["Documents"] == one["rest"], one["text"]


sys.exit(1 if run_all(phase) else 0)
