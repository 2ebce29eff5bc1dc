"""indexes.py -- secondary indexes as a client and an operator meet them.

Goal: an index is made when queries want it, is whole even if the server is
killed while it is built, and changes how documents are found, never which.
Method: servers of their own, queries over HTTP, what /_runnel/explain says.
"""
import base64
import json
import time
import urllib.parse

from lib import Server, case, equal, run_cases

QUERY = {"x-ms-documentdb-isquery": "true",
         "Content-Type": "application/query+json",
         "x-ms-documentdb-query-enablecrosspartition": "true"}


def fill(server, container, first, last, **more):
    for i in range(first, last):
        body = {"id": str(i), "pk": "p%d" % (i % 7), "n": i, "even": i % 2 == 0}
        body.update(more)
        equal(server.put(container, body)[0], 201)


def query(server, container, text, **headers):
    """All pages: the rows, and the headers of the last."""
    rows, token = [], None
    while True:
        sent = dict(QUERY, **headers)
        if token:
            sent["x-ms-continuation"] = token
        status, got, answer = server.ask(
            "POST", container + "/docs", {"query": text}, headers=sent)
        equal(status, 200, answer)
        rows += answer["Documents"]
        token = got.get("x-ms-continuation")
        if not token:
            return rows, got


def explain(server, container, text, **more):
    body = dict({"container": container.strip("/"), "query": text}, **more)
    status, _, answer = server.post("/_runnel/explain", body)
    equal(status, 200, answer)
    return answer


def make(server, container, *paths, status=204, drop=False):
    got, _, answer = server.post("/_runnel/index", {
        "container": container.strip("/"), "paths": list(paths), "drop": drop})
    equal(got, status, answer)
    return answer


def wait_states(server, container, expected):
    """The states of all indexes, by their paths."""
    end = time.monotonic() + 60
    while True:
        found = {" ".join(x["paths"]): x["state"] for x in explain(
            server, container, "SELECT * FROM c WHERE c.id = 'none'")["indexes"]}
        if found == expected:
            return
        assert time.monotonic() < end, found
        time.sleep(0.02)


@case("an index answers equality, ranges, order and extremes")
def _():
    table = [
        ("SELECT VALUE c.n FROM c WHERE c.n = 123", "index", 1),
        ("SELECT VALUE c.n FROM c WHERE c.n >= 290", "index", 10),
        ("SELECT VALUE c.n FROM c WHERE c.n IN (1, 2, 999)", "index", 2),
        ("SELECT VALUE c.n FROM c WHERE c.n BETWEEN 5 AND 8 AND c.even",
         "index", 4),
        ("SELECT VALUE c.n FROM c WHERE c.n = 1 OR c.n = 2.0", "index", 2),
        ("SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n DESC", "order", 4),
        ("SELECT VALUE MAX(c.n) FROM c", "extremes", 1),
        ("SELECT MIN(c.n) AS low, MAX(c.n) AS high FROM c", "extremes", 2),
        ("SELECT VALUE MIN(c.n) FROM c WHERE c.n > 5", "extremes", 1),
        ("SELECT VALUE MAX(c.n) FROM c WHERE c.even", "extremes", 2),
        ("SELECT VALUE MIN(c.n) FROM c WHERE c.n > 290", "index", 9),
        ("SELECT VALUE c.n FROM c WHERE c.even", "scan", 300),
        ("SELECT VALUE c.n FROM c WHERE c.n = 7 AND c.pk = 'p0' AND "
         "c.id = '7'", "points", 1),
    ]
    with Server("--test-mode") as server:
        container = server.make()
        fill(server, container, 0, 300)
        expected = [query(server, container, text)[0] for text, _, _ in table]
        make(server, container, "/n")
        wait_states(server, container, {"/n ASC": "complete"})
        for (text, access, examined), rows in zip(table, expected):
            got = explain(server, container, text)
            equal((text, got["access"]), (text, access))
            assert got["documentsExamined"] <= examined + 64, got
            if access == "index":
                equal((text, got["documentsExamined"]), (text, examined))
                equal(got["index"]["paths"], ["/n ASC"])
            equal((text, query(server, container, text)[0]), (text, rows))
            equal((text, query(server, container, text,
                               **{"x-ms-max-item-count": "2"})[0]),
                  (text, rows))


@case("metrics count the index and the documents that were read")
def _():
    with Server("--test-mode") as server:
        container = server.make(indexingPolicy={"compositeIndexes": [[
            {"path": "/even", "order": "ascending"},
            {"path": "/n", "order": "descending"}]]})
        fill(server, container, 0, 200)
        make(server, container, "/n")
        make(server, container, "/even", "/n DESC")
        wait_states(server, container, {"/n ASC": "complete",
                                        "/even ASC /n DESC": "complete"})
        ask = {"x-ms-documentdb-populatequerymetrics": "true",
               "x-ms-cosmos-populateindexmetrics-V2": "true"}
        _, got = query(server, container,
                       "SELECT * FROM c WHERE c.n = 5 AND c.even = false", **ask)
        metrics = dict(pair.split("=") for pair in
                       got["x-ms-documentdb-query-metrics"].split(";"))
        equal(metrics["retrievedDocumentCount"], "1")
        used = json.loads(urllib.parse.unquote(
            got["x-ms-cosmos-index-utilization"]))
        equal([x["IndexSpec"] for x in used["UtilizedIndexes"]["SingleIndexes"]],
              ["/n/?", "/even/?"])
        _, got = query(server, container,
                       "SELECT TOP 5 * FROM c ORDER BY c.even DESC, c.n", **ask)
        used = json.loads(urllib.parse.unquote(
            got["x-ms-cosmos-index-utilization"]))
        equal([x["IndexSpecs"] for x in
               used["UtilizedIndexes"]["CompositeIndexes"]],
              [["/even ASC", "/n DESC"]])
        _, got = query(server, container, "SELECT TOP 5 * FROM c ORDER BY c.n",
                       **{"x-ms-cosmos-populateindexmetrics": "true"})
        used = json.loads(base64.b64decode(
            got["x-ms-cosmos-index-utilization"]))
        equal([x["IndexSpec"] for x in used["UtilizedSingleIndexes"]], ["/n/?"])


POLICY = {
    "includedPaths": [{"path": "/*"}],
    "excludedPaths": [{"path": "/x/*"}],
    "compositeIndexes": [[{"path": "/a", "order": "ascending"},
                          {"path": "/b", "order": "descending"}]]}
# A query; single indexes utilized and potential; composite ones likewise.
UTILIZED = [
    ("SELECT * FROM c", [], [], [], []),
    ("SELECT * FROM c WHERE c.i > 5", ["/i/?"], [], [], []),
    ("SELECT * FROM c WHERE c.id = '1' OR c._ts > 5", ["/id/?", "/_ts/?"], [],
     [], []),
    ("SELECT * FROM c WHERE c.x.y = 5 AND c.n.m = 1", ["/n/m/?"],
     ["/x/y/?"], [], []),
    ("SELECT * FROM c WHERE c.i > 5 AND STARTSWITH(c.s, 'a')",
     ["/i/?", "/s/?"], [], [], []),
    ("SELECT * FROM c WHERE c.s = 'a' AND c.i > 2", ["/s/?", "/i/?"], [], [],
     [["/s ASC", "/i ASC"]]),
    ("SELECT * FROM c WHERE c.s = 'a' AND c.i > 2 AND NOT (c.t = 'b') AND "
     "c.u < 7", ["/s/?", "/i/?", "/t/?", "/u/?"], [], [],
     [["/s ASC", "/i ASC"], ["/s ASC", "/u ASC"]]),
    ("SELECT * FROM c WHERE c.a = 1 AND c.b > 2", ["/a/?", "/b/?"], [],
     [["/a ASC", "/b DESC"]], []),
    ("SELECT * FROM c WHERE c.a > 1 AND c.b > 2", ["/a/?", "/b/?"], [], [],
     []),
    ("SELECT * FROM c WHERE c.a = 1 OR c.b = 2", ["/a/?", "/b/?"], [], [], []),
    ("SELECT * FROM c ORDER BY c.i", ["/i/?"], [], [], []),
    ("SELECT * FROM c ORDER BY c.a DESC, c.b", [], [], [["/a ASC", "/b DESC"]],
     []),
    ("SELECT VALUE MAX(c.i) FROM c", ["/i/?"], [], [], []),
    ("SELECT * FROM c WHERE c.pk = 'p' AND c.x.y = 1", ["/pk/?"], ["/x/y/?"],
     [], []),
]


@case("index metrics show what the indexing policy has for a query, whichever "
      "indexes there are")
def _():
    with Server("--test-mode") as server:
        container = server.make(indexingPolicy=POLICY)
        fill(server, container, 0, 20)

        def metrics(text, container):
            _, got = query(server, container, text, **{
                "x-ms-cosmos-populateindexmetrics-V2": "true"})
            found = json.loads(urllib.parse.unquote(
                got["x-ms-cosmos-index-utilization"]))
            lists = [found["UtilizedIndexes"], found["PotentialIndexes"]]
            return tuple([x["IndexSpec"] for x in each["SingleIndexes"]]
                         for each in lists) + \
                tuple([x["IndexSpecs"] for x in each["CompositeIndexes"]]
                      for each in lists)

        for text, *want in UTILIZED:
            equal((text, *metrics(text, container)), (text, *want))
        make(server, container, "/i")
        wait_states(server, container, {"/i ASC": "complete"})
        for text, *want in UTILIZED:
            equal((text, *metrics(text, container)), (text, *want))
        other = server.make(container="none", indexingPolicy={
            "indexingMode": "none",
            "automatic": False})
        equal(metrics("SELECT * FROM c WHERE c.a = 1 AND c.b > 2", other),
              ([], ["/a/?", "/b/?"], [], []))


@case("scans that cost more than an index make one")
def _():
    with Server() as server:
        container = server.make()
        fill(server, container, 0, 500)
        text = "SELECT * FROM c WHERE c.n = 77"
        equal(explain(server, container, text)["missedIndex"], ["/n ASC"])
        for i in range(20):
            query(server, container, text)
        wait_states(server, container, {"/n ASC": "complete"})
        got = explain(server, container, text)
        equal((got["access"], got["documentsExamined"]), ("index", 1))
        equal(len(query(server, container, text)[0]), 1)


@case("scans of a path that the policy excludes make none")
def _():
    with Server() as server:
        container = server.make(indexingPolicy={
            "excludedPaths": [{"path": "/n/?"}]})
        fill(server, container, 0, 300)
        text = "SELECT * FROM c WHERE c.n = 77"
        for i in range(30):
            query(server, container, text)
        got = explain(server, container, text)
        equal((got["access"], got["missedIndex"], got["indexes"]),
              ("scan", [], []))


@case("an index is whole although the server was killed while it was built")
def _():
    with Server("--test-mode") as server:
        container = server.make()
        fill(server, container, 0, 1200)
        make(server, container, "/n")
        make(server, container, "/pk")
        server.process.kill()
        server.process.wait()
        for i in range(2):
            server.start()
            server.put(container, {"id": "new%d" % i, "pk": "p", "n": 5})
            server.process.kill()
            server.process.wait()
        server.start()
        wait_states(server, container, {"/n ASC": "complete",
                                        "/pk ASC": "complete"})
        got = explain(server, container, "SELECT * FROM c WHERE c.n = 5")
        equal((got["access"], got["documentsExamined"]), ("index", 3))
        rows, _ = query(server, container, "SELECT VALUE c.n FROM c ORDER BY c.n",
                        **{"x-ms-max-item-count": "250"})
        equal(rows, sorted(list(range(1200)) + [5, 5]))


@case("a policy without its path drops an index, and queries go on")
def _():
    with Server("--test-mode") as server:
        container = server.make()
        fill(server, container, 0, 50)
        make(server, container, "/n")
        wait_states(server, container, {"/n ASC": "complete"})
        status, _, definition = server.ask("GET", container)
        equal(status, 200)
        definition["indexingPolicy"]["excludedPaths"] = [{"path": "/n/?"}]
        equal(server.ask("PUT", container, definition)[0], 200)
        wait_states(server, container, {})
        equal(query(server, container, "SELECT VALUE c.n FROM c WHERE c.n = 5")[0],
              [5])


@case("errors in an index or in a query to explain are reported")
def _():
    with Server("--test-mode") as server:
        container = server.make()
        name = container.strip("/")
        for body in [{"paths": ["/n"]},
                     {"container": name, "paths": []},
                     {"container": name, "paths": ["n"]},
                     {"container": name, "paths": [7]},
                     {"container": name, "paths": ["/n DESC"]},
                     {"container": name, "paths": ["/n", "/m"]},
                     {"container": name, "paths": ["/n"], "now": True}]:
            status, _, answer = server.post("/_runnel/index", body)
            equal((body, status), (body, 400))
            assert answer["message"], answer
        equal(server.post("/_runnel/index", {"container": name + "x",
                                             "paths": ["/n"]})[0], 404)
        for body in [{"query": "SELECT * FROM c"},
                     {"container": name},
                     {"container": name, "query": "SELEC * FROM c"}]:
            status, _, answer = server.post("/_runnel/explain", body)
            equal((body, status), (body, 400))
            assert answer["message"], answer
    with Server() as server:
        equal(server.post("/_runnel/index", {})[0], 404)


run_cases()
