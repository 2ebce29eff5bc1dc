"""mutated.py -- good requests with a few bytes of header or body changed.

Whatever becomes of them, the answer is JSON, it is no fault of the server's,
and the connection goes on.  The seed is fixed, so that a failure comes again.
"""
import http.client
import json
import random
import socket
import time

from wire import (EMULATOR_KEY, PARTITION_KEY, Client, Server, case, date_of,
                  sign)

SEED, COUNT = 20261116, 3000
C = "/dbs/d/colls/c"
D = C + "/docs"
KEY = {PARTITION_KEY: '["p"]'}
QUERY = {"content-type": "application/query+json",
         "x-ms-documentdb-isquery": "true",
         "x-ms-documentdb-query-enablecrosspartition": "true"}
BATCH = {**KEY, "x-ms-cosmos-is-batch-request": "true",
         "x-ms-cosmos-batch-atomic": "true"}
PATCH = {"operations": [
    {"op": "add", "path": "/a/0", "value": {"x": 1}},
    {"op": "incr", "path": "/n", "value": 1.5},
    {"op": "move", "from": "/a", "path": "/b"}],
    "condition": "FROM c WHERE c.n > 1"}
GROUPED = {"query": "SELECT c.a, COUNT(1) FROM c JOIN x IN c.a WHERE c.n "
                    "BETWEEN 1 AND @p AND ARRAY_CONTAINS(c.a, {b:3}, true) "
                    "GROUP BY c.a ORDER BY c.n DESC OFFSET 1 LIMIT 5",
           "parameters": [{"name": "@p", "value": 5}]}
SHAPED = {"query": "SELECT TOP 3 VALUE {x: c.s, y: ST_DISTANCE({'type':'Point',"
                   "'coordinates':[1,2]}, c.g), z: REGEXMATCH(c.s,'t+(e|x)*')} "
                   "FROM c WHERE c.s LIKE '%e_t%' OR IS_DEFINED(c.q.w[0])"}
DEFINITION = {
    "id": "cc", "defaultTtl": 10, "changeFeedPolicy": {"retentionDuration": 5},
    "partitionKey": {"paths": ["/a/b", "/c"], "kind": "MultiHash",
                     "version": 2},
    "indexingPolicy": {
        "includedPaths": [{"path": "/x/[]/?"}],
        "excludedPaths": [{"path": "/*"}],
        "compositeIndexes": [[{"path": "/a", "order": "ascending"},
                              {"path": "/b"}]]},
    "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/u"]}]},
    "computedProperties": [{"name": "q",
                            "query": "SELECT VALUE LOWER(c.s) FROM c"}],
    "vectorEmbeddingPolicy": {"vectorEmbeddings": [
        {"path": "/v", "dataType": "float32", "dimensions": 3,
         "distanceFunction": "cosine"}]},
    "fullTextPolicy": {"defaultLanguage": "en-US",
                       "fullTextPaths": [{"path": "/s"}]}}
REQUESTS = [
    ("POST", D, {"id": "z", "pk": "p", "a": 1}, KEY),
    ("PUT", D + "/1", {"id": "1", "pk": "p", "ttl": 5}, KEY),
    ("PATCH", D + "/1", PATCH, KEY),
    ("POST", D, [{"operationType": "Create",
                  "resourceBody": {"id": "b", "pk": "p"}},
                 {"operationType": "Patch", "id": "1", "resourceBody": PATCH},
                 {"operationType": "Read", "id": "2"}], BATCH),
    ("POST", D, GROUPED, QUERY),
    ("POST", D, SHAPED, QUERY),
    ("POST", D, GROUPED,
     {**QUERY, "x-ms-cosmos-is-query-plan-request": "True"}),
    ("POST", "/dbs/d/colls", DEFINITION, {}),
    ("PUT", C, DEFINITION, {}),
    ("POST", "/dbs/d/users/u/permissions",
     {"id": "p1", "permissionMode": "All", "resource": "dbs/d/colls/c",
      "resourcePartitionKey": ["p"]}, {}),
    ("GET", D, None, {"a-im": "Incremental Feed", "if-none-match": '"3"'}),
    ("GET", D, None, {"x-ms-continuation": "AAAA",
                      "x-ms-session-token": "0:-1#3"}),
    ("GET", C + "/pkranges", None, {"x-ms-max-item-count": "2"}),
    ("GET", C, None, {"x-ms-documentdb-populatequotainfo": "true"}),
    ("POST", "/offers", {"query": "SELECT * FROM r"}, QUERY),
]
BITS = ["\"", "{", "}", "[", "]", ",", ":", "\\", "\\u0000", "\\ud800", "1e999",
        "-", "0", "9" * 40, "null", "true", "/", "..", "%00", "*", "(", ")",
        "@p", "SELECT", "FROM", "WHERE", "c.", "\u00e9", "\x00", "\u00ff",
        "_ts"]


def mutate(rng, text):
    text = list(text)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at = rng.randrange(len(text)) if text else 0
        how = rng.randrange(5)
        if how == 0:
            del text[at:at + rng.randint(1, 6)]
        elif how == 1:
            text[at:at] = rng.choice(BITS)
        elif how == 2:
            text[at:at + 1] = rng.choice(BITS)
        elif how == 3:
            text[at:at] = text[at // 2:at // 2 + rng.randint(1, 30)]
        else:
            text[at:at + 1] = chr(rng.randrange(256))
    return "".join(text)


def message(rng):
    verb, path, body, headers = rng.choice(REQUESTS)
    text, headers = json.dumps(body) if body else "", dict(headers)
    if text and rng.random() < 0.75:
        text = mutate(rng, text)
    elif headers:
        name = rng.choice(sorted(headers))
        headers[name] = mutate(rng, headers[name])
    date = date_of(time.time())
    headers.update({"Host": "localhost", "x-ms-version": "2020-07-15",
                    "x-ms-date": date,
                    "authorization": sign(EMULATOR_KEY, verb, path, date)})
    body = text.encode("utf-8" if rng.random() < 0.7 else "latin-1",
                       "replace")
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items()
                   if "\r" not in value and "\n" not in value)
    return verb, (f"{verb} {path} HTTP/1.1\r\n{head}Content-Length: "
                  f"{len(body)}\r\n\r\n").encode("latin-1", "replace") + body


@case("a request that is not quite good gets an answer that is JSON, and none "
      "is a fault of the server")
def _():
    rng = random.Random(SEED)
    server = Server()
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    client.must(201, "POST", "/dbs/d/colls",
                {"id": "c", "partitionKey": {"paths": ["/pk"]}})
    client.must(201, "POST", "/dbs/d/users", {"id": "u"})
    for n in range(30):
        client.must(201, "POST", D, {"id": str(n), "pk": "p", "n": n,
                                     "a": [1, 2, {"b": 3}], "s": "text"},
                    pk=["p"])
    connection, statuses = None, set()
    for _ in range(COUNT):
        verb, sent = message(rng)
        connection = connection or socket.create_connection(
            ("127.0.0.1", server.port), 60)
        connection.sendall(sent)
        answer = http.client.HTTPResponse(connection, method=verb)
        answer.begin()
        body = answer.read()
        assert answer.status < 500, (sent, answer.status, body)
        if answer.status >= 400:
            assert json.loads(body)["message"], (sent, body)
        statuses.add(answer.status)
        if answer.getheader("connection", "").lower() == "close":
            connection.close()
            connection = None
    assert {200, 201, 400, 409} <= statuses, statuses
    server.end()
