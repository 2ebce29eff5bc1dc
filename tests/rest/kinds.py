"""kinds.py -- what holds for resources of every kind: conditions, names and
rids, answers without a body, policies, expiry, and the queries that SDKs send
by themselves."""
import json

from wire import Client, Server, case, equal

KEY = {"paths": ["/pk"], "kind": "Hash", "version": 2}
C = "/dbs/d/colls/c"
D = C + "/docs"
MINIMAL = {"prefer": "return=minimal"}
UPSERT = {"x_ms_documentdb_is_upsert": "True"}
BATCH = {"x_ms_cosmos_is_batch_request": "True",
         "x_ms_cosmos_batch_atomic": "True"}


def prepare(**definition):
    """A server with one resource of every kind, and their bodies."""
    server = Server("--test-mode")
    client = Client(server)
    made = {}
    for kind, path, body, more in (
            ("database", "/dbs", {"id": "d"}, {}),
            ("container", "/dbs/d/colls",
             {"id": "c", "partitionKey": KEY, **definition}, {}),
            ("document", D, {"id": "1", "pk": "p"}, {"pk": ["p"]}),
            ("user", "/dbs/d/users", {"id": "u"}, {}),
            ("permission", "/dbs/d/users/u/permissions",
             {"id": "q", "permissionMode": "Read", "resource": C[1:]}, {}),
            ("key", "/dbs/d/clientencryptionkeys",
             {"id": "k", "encryptionAlgorithm": "A",
              "wrappedDataEncryptionKey": "QQ==", "keyWrapMetadata": {
                  "type": "t", "name": "n", "value": "v",
                  "algorithm": "a"}}, {})):
        made[kind] = client.must(201, "POST", path, body, **more).json
    made["offer"] = client.must(200, "GET", "/offers").json["Offers"][0]
    return server, client, made


PATHS = {"database": "/dbs/d", "container": C, "document": D + "/1",
         "user": "/dbs/d/users/u",
         "permission": "/dbs/d/users/u/permissions/q",
         "key": "/dbs/d/clientencryptionkeys/k"}


@case("conditions hold for every resource that has an etag")
def _():
    server, client, made = prepare()
    paths = dict(PATHS, offer="/offers/" + made["offer"]["_rid"])
    for kind, path in paths.items():
        key = {"pk": ["p"]} if kind == "document" else {}
        etag = client.must(200, "GET", path, **key).headers["etag"]
        for same in (etag, "*", etag.strip('"')):
            again = client.must(304, "GET", path, if_none_match=same, **key)
            equal((again.headers["etag"], again.body), (etag, b""), kind)
        client.must(200, "GET", path, if_none_match='"x"', **key)
        if kind != "database":
            client.must(412, "PUT", path, made[kind], if_match='"x"', **key)
            equal(client.must(200, "GET", path, **key).headers["etag"], etag)
            done = client.must(200, "PUT", path, made[kind], if_match=etag,
                               **key)
            assert done.headers["etag"] != etag, kind
            client.must(412, "PUT", path, made[kind], if_match=etag, **key)
    for kind in ("document", "permission", "user", "container", "database"):
        key = {"pk": ["p"]} if kind == "document" else {}
        etag = client.must(200, "GET", PATHS[kind], **key).headers["etag"]
        client.must(412, "DELETE", PATHS[kind], if_match='"x"', **key)
        client.must(200, "GET", PATHS[kind], **key)
        client.must(204, "DELETE", PATHS[kind], if_match=etag, **key)
        client.must(404, "GET", PATHS[kind], **key)
    server.end()


@case("an upsert minds the etag of what is there, of every kind that has it")
def _():
    server, client, made = prepare()
    for kind, path in (("document", D), ("user", "/dbs/d/users"),
                       ("permission", "/dbs/d/users/u/permissions")):
        key = {"pk": ["p"]} if kind == "document" else {}
        client.must(412, "POST", path, made[kind], if_match='"x"', **key,
                    **UPSERT)
        client.must(200, "POST", path, made[kind],
                    if_match=made[kind]["_etag"], **key, **UPSERT)
    server.end()


@case("every resource is reached by its rid as by its name")
def _():
    server, client, made = prepare()
    for kind, path in PATHS.items():
        key = {"pk": ["p"]} if kind == "document" else {}
        by_name = client.must(200, "GET", path, **key)
        by_rid = client.must(200, "GET", "/" + made[kind]["_self"],
                             rid=made[kind]["_rid"], **key)
        for each in (by_name, by_rid):
            each.json.pop("_token", None)
        equal(by_rid.json, by_name.json, kind)
        equal(by_rid.headers.get("x-ms-content-path"),
              by_name.headers.get("x-ms-content-path"))
    rid = made["container"]["_rid"]
    link = "/" + made["container"]["_self"]
    for word in ("docs", "pkranges", "sprocs", "conflicts"):
        answer = client.must(200, "GET", link + word, rid=rid)
        equal(answer.json["_rid"], rid)
    client.must(201, "POST", link + "docs", {"id": "2", "pk": "p"}, rid=rid,
                pk=["p"])
    two = client.must(200, "GET", D + "/2", pk=["p"]).json
    client.must(200, "PUT", "/" + two["_self"], {"id": "2", "pk": "p", "n": 1},
                rid=two["_rid"], pk=["p"])
    client.must(200, "PATCH", "/" + two["_self"],
                [{"op": "incr", "path": "/n", "value": 1}], rid=two["_rid"],
                pk=["p"])
    equal(client.must(200, "GET", D + "/2", pk=["p"]).json["n"], 2)
    client.must(204, "DELETE", "/" + two["_self"], rid=two["_rid"], pk=["p"])
    client.must(404, "GET", D + "/2", pk=["p"])
    server.end()


@case("every write of documents can do without a body in its answer")
def _():
    server, client, _ = prepare()
    one = {"id": "2", "pk": "p"}
    patch = [{"op": "set", "path": "/n", "value": 1}]
    for status, verb, path, body, more in (
            (201, "POST", D, one, {}), (200, "POST", D, one, UPSERT),
            (200, "PUT", D + "/2", one, {}), (200, "PATCH", D + "/2", patch, {}),
            (201, "POST", D, {"id": "3", "pk": "p"}, UPSERT)):
        answer = client.must(status, verb, path, body, pk=["p"], **MINIMAL,
                             **more)
        equal((answer.body, answer.headers["content-length"]), (b"", "0"))
        stored = client.must(200, "GET", D + "/" + (
            body["id"] if isinstance(body, dict) else "2"), pk=["p"])
        equal(answer.headers["etag"], stored.json["_etag"])
        assert answer.headers["x-ms-session-token"]
    for more, each in ((MINIMAL, {}), ({}, {"minimalReturnPreference": True})):
        done = client.must(200, "POST", D, [
            {"operationType": "Upsert", "resourceBody": one, **each},
            {"operationType": "Replace", "id": "2", "resourceBody": one,
             **each},
            {"operationType": "Patch", "id": "2", "resourceBody": patch,
             **each},
            {"operationType": "Read", "id": "2", **each},
            {"operationType": "Delete", "id": "2", **each},
            {"operationType": "Create", "resourceBody": one, **each}],
            pk=["p"], **BATCH, **more).json
        equal(["resourceBody" in each for each in done],
              [False, False, False, True, False, False])
        equal(["eTag" in each for each in done],
              [True, True, True, True, False, True])
    assert client.must(409, "POST", D, one, pk=["p"], **MINIMAL).json["message"]
    equal(client.must(200, "GET", D + "/2", pk=["p"], **MINIMAL).json["id"],
          "2")
    server.end()


@case("an indexing policy is completed, kept, replaced and refused")
def _():
    server, client, _ = prepare()
    whole = {"indexingMode": "consistent", "automatic": True,
             "includedPaths": [{"path": "/*"}],
             "excludedPaths": [{"path": '/"_etag"/?'}]}
    composite = [[{"path": "/a", "order": "ascending"},
                  {"path": "/b", "order": "descending"}]]
    for given, wanted in (
            (None, whole), ({}, whole),
            ({"indexingMode": "Consistent"}, whole),
            ({"excludedPaths": [{"path": "/x/*"}]},
             dict(whole, excludedPaths=[{"path": "/x/*"},
                                        {"path": '/"_etag"/?'}])),
            ({"excludedPaths": [{"path": "/*"}]},
             dict(whole, includedPaths=[], excludedPaths=[
                 {"path": "/*"}, {"path": '/"_etag"/?'}])),
            ({"excludedPaths": [{"path": "/"}]},
             dict(whole, includedPaths=[], excludedPaths=[
                 {"path": "/"}, {"path": '/"_etag"/?'}])),
            ({"includedPaths": [], "excludedPaths": []}, whole),
            ({"includedPaths": [{"path": "/*", "indexes": [
                {"kind": "Range", "dataType": "Number", "precision": -1}]}]},
             whole),
            ({"compositeIndexes": composite},
             dict(whole, compositeIndexes=composite)),
            ({"indexingMode": "None", "automatic": False},
             {"indexingMode": "none", "automatic": False, "includedPaths": [],
              "excludedPaths": []})):
        body = {"id": "c", "partitionKey": KEY}
        if given is not None:
            body["indexingPolicy"] = given
        for verb, path in (("PUT", C), ("POST", "/dbs/d/colls")):
            if verb == "POST":
                client.must(204, "DELETE", C)
            client.must(201 if verb == "POST" else 200, verb, path, body)
            got = client.must(200, "GET", C).json
            equal(got["indexingPolicy"], wanted)
            again = client.must(200, "PUT", C, got).json
            equal(again["indexingPolicy"], wanted)
    for bad in (5, [], {"indexingMode": "other"}, {"automatic": 1},
                {"includedPaths": [{"path": "a"}]},
                {"excludedPaths": [{}]},
                {"compositeIndexes": [[{"path": "/a"}]]},
                {"compositeIndexes": [[{"path": "/a"}, {"path": "b"}]]},
                {"compositeIndexes": [[{"path": "/a"}, {"path": "/b",
                                                        "order": "up"}]]},
                {"compositeIndexes": [[{"path": "/a"}, {"path": "/b/?"}]]},
                {"compositeIndexes": [[{"path": "/a/*"}, {"path": "/b"}]]},
                {"compositeIndexes": [5]}):
        for verb, path in (("PUT", C), ("POST", "/dbs/d/colls")):
            client.must(400, verb, path, {"id": "c" if verb == "PUT" else "x",
                                          "partitionKey": KEY,
                                          "indexingPolicy": bad})
    server.end()


@case("a definition with escaped slashes is as one without")
def _():
    server, client, _ = prepare()
    body = {"id": "e", "partitionKey": KEY, "indexingPolicy": {
        "indexingMode": "consistent", "automatic": True,
        "includedPaths": [{"path": "/a/?"}],
        "excludedPaths": [{"path": "/*"}, {"path": '/"_etag"/?'}],
        "compositeIndexes": [[{"path": "/a", "order": "ascending"},
                              {"path": "/b", "order": "descending"}]]},
        "vectorEmbeddingPolicy": {"vectorEmbeddings": [
            {"path": "/v", "dataType": "float32", "dimensions": 2,
             "distanceFunction": "euclidean"}]}}
    escaped = json.dumps(body).replace("/", "\\/").encode()
    for status, verb, path, sent in ((201, "POST", "/dbs/d/colls", escaped),
                                     (200, "PUT", "/dbs/d/colls/e", escaped),
                                     (200, "PUT", "/dbs/d/colls/e", body)):
        client.must(status, verb, path, sent)
        got = client.must(200, "GET", "/dbs/d/colls/e").json
        equal({name: got[name] for name in body}, body)
        docs = "/dbs/d/colls/e/docs"
        for by, status in (("c.a", 200), ("c.b", 400), ("c.a, c.b DESC", 200),
                           ("c.a, c.b", 400),
                           ("VectorDistance(c.v, [0, 0])", 200)):
            client.must(status, "POST", docs, f"SELECT * FROM c ORDER BY {by}",
                        pk=["p"], query=True)
    server.end()


@case("the attachments of a document are there and none, by name and by rid, and "
      "none can be added")
def _():
    server, client, _ = prepare()
    made = client.must(200, "GET", D + "/1", pk=["p"]).json
    for path, more in ((D + "/1/attachments", {"pk": ["p"]}),
                       (D + "/1/attachments/", {"pk": ["p"]}),
                       ("/" + made["_self"] + made["_attachments"],
                        {"rid": made["_rid"]})):
        answer = client.must(200, "GET", path, **more)
        equal(answer.json, {"_rid": made["_rid"], "Attachments": [],
                            "_count": 0})
        equal(answer.headers["x-ms-item-count"], "0")
        client.must(405, "POST", path, {"id": "a"}, **more)
    client.must(404, "GET", D + "/none/attachments", pk=["p"])
    client.must(404, "GET", D + "/1/attachments", pk=["q"])
    client.must(400, "GET", D + "/1/attachments")
    client.must(404, "GET", "/dbs/d/colls/none/docs/1/attachments", pk=["p"])
    server.end()


@case("an expired document is not there for any read, query, feed or write")
def _():
    server, client, _ = prepare(defaultTtl=-1)
    client.must(201, "POST", D, {"id": "2", "pk": "p", "ttl": 10}, pk=["p"])

    def lists():
        """Where documents are listed, and which."""
        return [sorted(each["id"] for each in answer.json["Documents"])
                for answer in (
                    client.must(200, "GET", D),
                    client.must(200, "GET", D, pk=["p"]),
                    client.must(200, "GET", D,
                                x_ms_documentdb_partitionkeyrangeid="0"),
                    client.must(200, "GET", D, a_im="Incremental Feed"),
                    client.must(200, "POST", D, "SELECT * FROM c", query=True),
                    client.must(200, "POST", D,
                                "SELECT * FROM c WHERE c.id IN ('1', '2')",
                                query=True, pk=["p"]))]

    equal(lists(), [["1", "2"]] * 6)
    client.must(200, "POST", "/_runnel/clock", {"advanceMs": 11000})
    equal(lists(), [["1"]] * 6)
    equal(client.must(200, "POST", D, "SELECT VALUE COUNT(1) FROM c",
                      query=True).json["Documents"], [1])
    patch = [{"op": "set", "path": "/n", "value": 1}]
    client.must(404, "GET", D + "/2", pk=["p"])
    client.must(404, "PUT", D + "/2", {"id": "2", "pk": "p"}, pk=["p"])
    client.must(404, "PATCH", D + "/2", patch, pk=["p"])
    client.must(404, "DELETE", D + "/2", pk=["p"])
    for op in ({"operationType": "Read", "id": "2"},
               {"operationType": "Patch", "id": "2", "resourceBody": patch}):
        equal(client.must(207, "POST", D, [op], pk=["p"],
                          **BATCH).json[0]["statusCode"], 404)
    client.must(201, "POST", D, {"id": "2", "pk": "p"}, pk=["p"])
    server.end()


@case("queries and patch conditions take the time from the clock of _ts")
def _():
    server, client, _made = prepare()
    client.must(200, "POST", "/_runnel/clock", {"advanceMs": 86400 * 1000})
    made = client.must(201, "POST", D, {"id": "t", "pk": "p"}, pk=["p"]).json
    [now] = client.must(200, "POST", D, "SELECT VALUE GetCurrentTimestamp()",
                        query=True).json["Documents"]
    assert 0 <= now / 1000 - made["_ts"] < 600, (now, made)
    [seconds] = client.must(
        200, "POST", D, "SELECT VALUE DateTimeDiff('s', TimestampToDateTime("
        "c._ts * 1000), GetCurrentDateTime()) FROM c WHERE c.id = 't'",
        query=True).json["Documents"]
    assert 0 <= seconds < 600, seconds
    young = "FROM c WHERE c._ts * 1000 > GetCurrentTimestamp() - 600000"
    client.must(200, "PATCH", D + "/t", {"condition": young, "operations": [
        {"op": "set", "path": "/n", "value": 1}]}, pk=["p"])
    server.end()


# What .NET's LINQ, EF Core and Spring Data make of programs.
LINQ, NET, SPRING = "SELECT VALUE root FROM root", "root c", "FROM ROOT r"
WRAPPED = [(D, "Documents", text, wanted, values) for text, wanted, values in (
    ("Select * from root r", ["1", "info..0"], {}),
    (LINQ, ["1", "info..0"], {}),
    (LINQ + ' WHERE (root["pk"] = "p")', ["1"], {}),
    (LINQ + ' WHERE ((NOT (root["pk"] = "p")) AND IS_DEFINED(root["id"]))',
     ["info..0"], {}),
    ('SELECT VALUE {"x": root["pk"]} FROM root WHERE (root["id"] = "1")',
     [{"x": "p"}], {}),
    (f'SELECT VALUE c FROM {NET} WHERE (c["pk"] = "p")', ["1"], {}),
    (f'SELECT VALUE c FROM {NET} WHERE (c["Discriminator"] = "X")', [], {}),
    (f'SELECT c["id"] FROM {NET} ORDER BY c["id"] OFFSET @p LIMIT @q',
     ["info..0"], {"@p": 1, "@q": 5}),
    (f'SELECT c FROM {NET} WHERE c["id"] IN ("1")', ["1"], {}),
    (f"SELECT COUNT(1) AS c FROM {NET}", [{"c": 2}], {}),
    (f"SELECT VALUE COUNT(1) FROM {NET}", [2], {}),
    (f"SELECT * {SPRING} WHERE r.pk = @name", ["1"], {"@name": "p"}),
    (f"SELECT COUNT(1) AS _aggregate {SPRING}", [{"_aggregate": 2}], {}),
    ("SELECT VALUE COUNT(1) from r", [2], {}),
    (f'SELECT * {SPRING} WHERE ARRAY_CONTAINS(@list, r["pk"])', ["1"],
     {"@list": ["p", "q"]}),
    (f'SELECT * {SPRING} WHERE ARRAY_CONTAINS(@list, r["pk"], true)', [],
     {"@list": []}))]


@case("the queries that SDKs send by themselves find what they look for")
def _():
    server, client, made = prepare()
    offer, box = made["offer"], made["container"]
    client.must(201, "POST", D, {"id": "info..0", "pk": "info..0"},
                pk=["info..0"])
    for path, name, text, wanted, values in (
            ("/offers", "Offers", "SELECT * from root where root.resource = "
             f'"{box["_self"]}"', [offer["id"]], {}),
            ("/offers", "Offers", "SELECT * FROM root r WHERE r.resource=@link",
             [offer["id"]], {"@link": box["_self"]}),
            ("/offers", "Offers",
             "select * from c where c.offerResourceId = @resourceId",
             [offer["id"]], {"@resourceId": box["_rid"]}),
            ("/offers", "Offers",
             "select * from root r where r.offerResourceId= @targetRID",
             [offer["id"]], {"@targetRID": box["_rid"]}),
            ("/offers", "Offers", "select * FROM root r WHERE r.id=@id",
             [offer["id"]], {"@id": offer["id"]}),
            ("/dbs", "Databases", "SELECT * FROM root r WHERE r.id=@id", ["d"],
             {"@id": "d"}),
            ("/dbs/d/colls", "DocumentCollections",
             "SELECT * FROM root r WHERE r.id=@id", ["c"], {"@id": "c"}),
            ("/dbs/d/users", "Users", "SELECT * FROM root r WHERE r.id=@id",
             ["u"], {"@id": "u"}),
            (D, "Documents", "SELECT * from c", ["1", "info..0"], {}),
            (D, "Documents",
             "SELECT * FROM c WHERE (c.id = @p0 AND c[\"pk\"] = @k0) OR "
             "(c.id = @p1 AND c[\"pk\"] = @k1)", ["1"],
             {"@p0": "1", "@k0": "p", "@p1": "2", "@k1": "p"}),
            (D, "Documents", "SELECT * FROM c WHERE c.id IN (@p0, @p1)", ["1"],
             {"@p0": "1", "@p1": "2"}),
            (D, "Documents",
             "SELECT * FROM c WHERE STARTSWITH(c.id, @PartitionLeasePrefix)",
             ["info..0"], {"@PartitionLeasePrefix": "info."}),
            *WRAPPED):
        body = {"query": text, "parameters": [
            {"name": each, "value": value} for each, value in values.items()]}
        headers = {"content_type": "application/query+json",
                   "x_ms_documentdb_isquery": "true",
                   "x_ms_documentdb_query_enablecrosspartition": "true"}
        answer = client.must(200, "POST", path, body, **headers)
        rows = answer.json[name]
        if wanted and isinstance(wanted[0], str):
            rows = sorted(each.get("c", each)["id"] for each in rows)
        equal(rows, wanted, text)
        equal(answer.headers["x-ms-item-count"], str(len(wanted)))
        if path == D:
            plan = client.must(
                200, "POST", path, body, **headers,
                x_ms_cosmos_is_query_plan_request="True",
                x_ms_cosmos_supported_query_features="Aggregate, "
                "NonValueAggregate, OffsetAndLimit, OrderBy").json
            assert plan["queryInfo"] and plan["queryRanges"], plan
    server.end()
