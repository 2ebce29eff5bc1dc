"""objects.py -- the catalog's objects on the wire: pages, clients of old, what
errors say, what a query must say."""
from wire import Client, Server, case, cases, equal

QUERY = "application/query+json"


def pages(client, path, text, size):
    """The ids that a query gives, page by page."""
    found, more = [], {}
    while True:
        answer = client.must(200, "POST", path, text, query=True,
                             x_ms_max_item_count=size, **more)
        items = next(value for value in answer.json.values()
                     if isinstance(value, list))
        found.append([each["id"] for each in items])
        token = answer.headers.get("x-ms-continuation")
        if not token:
            return found
        assert len(found) < 100, found
        more = {"x_ms_continuation": token}


@case("a query of databases or containers gives each once, in pages of any "
      "size, and the last page says so")
def _():
    server = Server()
    client = Client(server)
    names = [f"n{i}" for i in range(6)]
    for name in names:
        client.must(201, "POST", "/dbs", {"id": name})
        client.must(201, "POST", "/dbs/n0/colls",
                    {"id": name, "partitionKey": {"paths": ["/pk"]}})
    for path in ("/dbs", "/dbs/n0/colls"):
        for text, wanted in (
                ("SELECT * FROM c", names),
                ("SELECT c.id FROM c WHERE c.id != 'n2'",
                 names[:2] + names[3:]),
                ("SELECT * FROM c ORDER BY c.id DESC", names[::-1])):
            for size in (1, 2, 3, 4, 6, 100):
                found = pages(client, path, text, size)
                equal([each for page in found for each in page], wanted)
                equal(len(found), -(-len(wanted) // size))
    server.end()


@case("a list of large objects comes in pages of some megabytes, of any kind")
def _():
    server = Server()
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    users, permissions = "/dbs/d/users", "/dbs/d/users/n0/permissions"
    client.must(201, "POST", "/dbs/d/colls",
                {"id": "c", "partitionKey": {"paths": ["/pk"]}})
    names = [f"n{i}" for i in range(9)]
    for name in names:
        client.must(201, "POST", users, {"id": name, "x": 1_000_000 * "x"})
    for name in names:
        client.must(201, "POST", permissions, {
            "id": name, "x": 1_000_000 * "x", "permissionMode": "Read",
            "resource": "dbs/d/colls/c", "resourcePartitionKey": [name]})
    for path in (users, permissions):
        for size in (-1, 3, 1000):
            found, more = [], {}
            while True:
                page = client.must(200, "GET", path, x_ms_max_item_count=size,
                                   **more)
                items = page.json[path.rpartition("/")[2].capitalize()]
                equal(len(items), page.json["_count"])
                equal(str(len(items)), page.headers["x-ms-item-count"])
                assert 0 < len(items) <= 5 and len(page.body) < 6 << 20, \
                    (len(items), len(page.body))
                found += [each["id"] for each in items]
                token = page.headers.get("x-ms-continuation")
                if not token:
                    break
                more = {"x_ms_continuation": token}
            equal(found, names)
    server.end()


@case("a query is known by its content type, in any case and with parameters")
def _():
    server = Server()
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    for kind in (QUERY, "Application/Query+JSON", QUERY.upper(),
                 "application/query+JSON; charset=utf-8"):
        answer = client.must(200, "POST", "/dbs",
                             {"query": "SELECT VALUE c.id FROM c"},
                             content_type=kind)
        equal(answer.json["Databases"], ["d"])
    for kind in ("application/json", "application/query", "x" + QUERY):
        client.must(400, "POST", "/dbs", {"query": "SELECT VALUE c.id FROM c"},
                    content_type=kind)
    server.end()


@case("a container that a client of old makes without a partition key has one "
      "of the system's, and a later client must name its own")
def _():
    server = Server()
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    client.must(400, "POST", "/dbs/d/colls", {"id": "new"})
    client.must(201, "POST", "/dbs/d/colls", {"id": "old"},
                x_ms_version="2018-06-18")
    client.must(409, "POST", "/dbs/d/colls", {"id": "old"},
                x_ms_version="2018-06-18")
    client.must(400, "POST", "/dbs/d/colls", {}, x_ms_version="2018-06-18")
    client.must(400, "POST", "/dbs/d/colls", [], x_ms_version="2018-06-18")
    key = {"paths": ["/a"], "kind": "Hash"}
    made = client.must(201, "POST", "/dbs/d/colls",
                       {"id": "keyed", "partitionKey": key},
                       x_ms_version="2018-06-18")
    equal(made.json["partitionKey"], key)
    equal(client.must(200, "GET", "/dbs/d/colls/old").json["partitionKey"],
          {"paths": ["/_partitionKey"], "kind": "Hash", "systemKey": True})
    docs = "/dbs/d/colls/old/docs"
    for pk in ([], [{}]):
        client.must(201, "POST", docs, {"id": "1"}, pk=pk)
        client.must(409, "POST", docs, {"id": "1"}, pk=[])
        client.must(200, "GET", docs + "/1", pk=[{}])
        client.must(200, "GET", docs + "/1", pk=[])
        client.must(200, "PUT", docs + "/1", {"id": "1", "n": 2}, pk=pk)
        equal(client.must(200, "POST", docs, "SELECT VALUE c.n FROM c",
                          query=True).json["Documents"], [2])
        client.must(204, "DELETE", docs + "/1", pk=pk)
    server.end()


@case("in a container of old a write that names no partition key means the "
      "documents that have none")
def _():
    server = Server()
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    client.must(201, "POST", "/dbs/d/colls", {"id": "old"},
                x_ms_version="2017-02-22")
    docs = "/dbs/d/colls/old/docs"

    def query(**headers):
        answer = client.send("POST", docs, {"query": "SELECT VALUE c.n FROM c"}, {
            "content-type": QUERY, "x-ms-documentdb-isquery": "True",
            **cases.sign("POST", docs), **headers})
        return answer.status, sorted((answer.json or {}).get("Documents", []))

    for version in ("2015-12-16", "2017-02-22", "2018-06-18", "2020-07-15"):
        old = {"x_ms_version": version}
        client.must(201, "POST", docs, {"id": "1", "n": 1}, **old)
        # Another of that id, of a client that knows of the key.
        client.must(201, "POST", docs, {"id": "1", "n": 9, "_partitionKey": "x"},
                    pk=["x"])
        equal(client.must(200, "GET", docs + "/1", **old).json["n"], 1)
        client.must(200, "PUT", docs + "/1", {"id": "1", "n": 2}, **old)
        client.must(200, "PATCH", docs + "/1",
                    [{"op": "incr", "path": "/n", "value": 1}], **old)
        equal(query(**{"x-ms-version": version}), (200, [3]))
        equal(query(**{"x-ms-documentdb-query-enablecrosspartition": "true"}),
              (200, [3, 9]))
        client.must(204, "DELETE", docs + "/1", **old)
        client.must(404, "GET", docs + "/1", **old)
        client.must(204, "DELETE", docs + "/1", pk=["x"])
    # To delete all of them is another matter.
    client.must(400, "POST", "/dbs/d/colls/old/operations/partitionkeydelete")
    client.must(201, "POST", "/dbs/d/colls",
                {"id": "new", "partitionKey": {"paths": ["/_partitionKey"]}})
    docs = "/dbs/d/colls/new/docs"
    client.must(201, "POST", docs, {"id": "1"}, pk=[{}])
    client.must(400, "GET", docs + "/1")
    equal(query(), (400, []))
    server.end()


@case("an id that is taken is 409, with a sub-status of its own for databases")
def _():
    server = Server()
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    key = {"paths": ["/pk"], "version": 2}
    for path, body, pk, sub in (
            ("/dbs", {"id": "d"}, None, 3206),
            ("/dbs/d/colls", {"id": "c", "partitionKey": key}, None, 0),
            ("/dbs/d/colls/c/docs", {"id": "1", "pk": "a"}, ["a"], 0),
            ("/dbs/d/users", {"id": "u"}, None, 0)):
        if path != "/dbs":
            client.must(201, "POST", path, body, pk=pk)
        got = client.must(409, "POST", path, body, pk=pk)
        equal((got.json["code"], got.substatus), ("Conflict", sub))
        assert got.json["message"].startswith(
            "Entity with the specified id already exists in the system."), path
    server.end()


@case("the message of an error ends with the activity that its headers name")
def _():
    server = Server()
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    for status, args in ((404, ("GET", "/dbs/none")),
                         (409, ("POST", "/dbs", {"id": "d"})),
                         (400, ("POST", "/dbs", {"id": ""})),
                         (404, ("GET", "/nothing"))):
        answer = client.must(status, *args)
        activity = answer.headers["x-ms-activity-id"]
        assert answer.json["message"].endswith(
            f"\r\nActivityId: {activity}"), answer.body
    server.end()


@case("a query says one partition, or by its filter means one, or says that it "
      "crosses them")
def _():
    server = Server()
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    for name, paths in (("one", ["/pk"]), ("two", ["/a", "/b"])):
        client.must(201, "POST", "/dbs/d/colls", {
            "id": name, "partitionKey": {
                "paths": paths, "version": 2,
                "kind": "Hash" if len(paths) == 1 else "MultiHash"}})

    def ask(status, name, text, **more):
        answer = client.must(status, "POST", f"/dbs/d/colls/{name}/docs",
                             {"query": text}, content_type=QUERY, **more)
        if status == 400:
            assert "Cross partition query is required but disabled" in \
                answer.json["message"], answer.body

    ask(400, "one", "SELECT * FROM c")
    ask(400, "one", "SELECT * FROM c WHERE c.pk IN (1, 2)")
    ask(400, "one", "SELECT * FROM c WHERE c.pk = 1 OR c.x = 2")
    ask(400, "one", "SELECT * FROM c",
        x_ms_documentdb_query_enablecrosspartition="False")
    ask(400, "two", "SELECT * FROM c WHERE c.a = 1")
    ask(200, "one", "SELECT * FROM c WHERE c.pk = 1 AND c.x > 2")
    ask(200, "two", "SELECT * FROM c WHERE c.a = 1 AND c.b = 'x'")
    ask(200, "one", "SELECT VALUE 1")
    ask(200, "one", "SELECT * FROM c", pk=["x"])
    ask(200, "two", "SELECT * FROM c", pk=["x"])
    ask(200, "one", "SELECT * FROM c", x_ms_documentdb_partitionkeyrangeid="0")
    ask(200, "one", "SELECT * FROM c", x_ms_start_epk="", x_ms_end_epk="FF")
    ask(200, "one", "SELECT * FROM c",
        x_ms_documentdb_query_enablecrosspartition="True")
    client.must(400, "POST", "/dbs/d/colls/one/conflicts",
                {"query": "SELECT * FROM c"}, content_type=QUERY)
    client.must(200, "POST", "/dbs/d/colls/one/conflicts",
                {"query": "SELECT * FROM c"}, pk=["x"], content_type=QUERY)
    server.end()


@case("a document that is asked for by rid is found under its own key only")
def _():
    server = Server()
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    client.must(201, "POST", "/dbs/d/colls", {"id": "c", "partitionKey": {
        "paths": ["/a", "/b"], "kind": "MultiHash", "version": 2}})
    for a in "xy":
        client.must(201, "POST", "/dbs/d/colls/c/docs",
                    {"id": "1", "a": a, "b": 1}, pk=[a, 1])
    made = client.must(200, "GET", "/dbs/d/colls/c/docs/1", pk=["x", 1]).json
    link = "/" + made["_self"]
    for pk, status in ((["x", 1], 200), (["y", 1], 404), (["x", 2], 404),
                       (["x"], 400), (None, 200)):
        answer = client.must(status, "GET", link, pk=pk, rid=made["_rid"])
        if status == 200:
            equal(answer.json, made)
    server.end()


@case("a container reports how much it holds, range by range, when asked")
def _():
    server = Server("--ranges", "3")
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    client.must(201, "POST", "/dbs/d/colls",
                {"id": "c", "partitionKey": {"paths": ["/pk"]}})
    plain = client.must(200, "GET", "/dbs/d/colls/c").json

    def ask():
        got = client.must(200, "GET", "/dbs/d/colls/c",
                          x_ms_documentdb_populatepartitionstatistics="True",
                          x_ms_documentdb_populatequotainfo="True")
        index_progress = "x-ms-documentdb-collection-%s-progress"
        equal([got.headers.get(index_progress % each) for each in (
            "index-transformation", "lazy-indexing")], ["100", None])
        ranges = got.json.pop("statistics")
        usage = dict(each.split("=") for each in
                     got.headers["x-ms-resource-usage"].strip(";").split(";"))
        quota = [each.split("=")[0] for each in
                 got.headers["x-ms-resource-quota"].strip(";").split(";")]
        equal((got.json, [each["id"] for each in ranges], list(usage)),
              (plain, ["0", "1", "2"], quota))
        count = sum(each["documentCount"] for each in ranges)
        equal(usage["documentsCount"], str(count))
        return usage, ranges, count, sum(
            each["sampledDistinctPartitionKeyCount"] for each in ranges)

    usage, ranges, count, keys = ask()
    equal((usage["documentsSize"], count, keys), ("0", 0, 0))
    for n in range(60):
        client.must(201, "POST", "/dbs/d/colls/c/docs",
                    {"id": f"i{n}", "pk": n % 20, "text": "x" * 2000},
                    pk=[n % 20])
    usage, ranges, count, keys = ask()
    equal((count, keys), (60, 20))
    assert 120 < int(usage["documentsSize"]) < 160, usage
    assert all(each["documentCount"] and each["sizeInKB"] >
               1.9 * each["documentCount"] for each in ranges), ranges
    server.end()


@case("a container replaced by what was counted does not keep the count")
def _():
    server = Server()
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    client.must(201, "POST", "/dbs/d/colls",
                {"id": "c", "partitionKey": {"paths": ["/pk"]}})
    counted = {"x_ms_documentdb_populatepartitionstatistics": "True"}
    got = client.must(200, "GET", "/dbs/d/colls/c", **counted).json
    equal(len(got["statistics"]), 1)
    for made in (client.must(200, "PUT", "/dbs/d/colls/c", got),
                 client.must(200, "GET", "/dbs/d/colls/c"),
                 client.must(201, "POST", "/dbs/d/colls", {**got, "id": "e"})):
        assert "statistics" not in made.json, made.body
    for name in "ce":
        again = client.must(200, "GET", "/dbs/d/colls/" + name, **counted)
        equal(again.body.count(b'"statistics"'), 1)
    server.end()


@case("what a container holds is counted in slices, each document once")
def _():
    server = Server(released=True)
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    client.must(201, "POST", "/dbs/d/colls",
                {"id": "c", "partitionKey": {"paths": ["/pk"]}})
    for n in range(350):
        client.must(200, "POST", "/dbs/d/colls/c/docs", [
            {"operationType": "Create", "resourceBody":
             {"id": f"{n}-{k}", "pk": n % 50}} for k in range(100)],
            pk=[n % 50], x_ms_cosmos_is_batch_request="true",
            x_ms_cosmos_batch_atomic="true")
    got = client.must(200, "GET", "/dbs/d/colls/c",
                      x_ms_documentdb_populatepartitionstatistics="True")
    equal([(each["documentCount"], each["sampledDistinctPartitionKeyCount"])
           for each in got.json["statistics"]], [(35000, 50)])
    server.end()


@case("an offer does not move to autoscale below a tenth of the most it ever "
      "had, nor both ways at once")
def _():
    server = Server()
    client = Client(server)
    to_autoscale = {"x_ms_cosmos_migrate_offer_to_autopilot": "true"}
    to_manual = {"x_ms_cosmos_migrate_offer_to_manual_throughput": "true"}
    client.must(201, "POST", "/dbs", {"id": "d"}, x_ms_offer_throughput=100000)
    offer = client.must(200, "GET", "/offers").json["Offers"][0]
    path = "/offers/" + offer["_rid"]

    def put(status, content, **headers):
        return client.must(status, "PUT", path, {**offer, "content": content},
                           **headers)

    def scaled(n):
        return {"offerAutopilotSettings": {"maxThroughput": n}}

    def most(answer):
        content = answer.json["content"]
        return content.get("offerAutopilotSettings", {}).get(
            "maxThroughput", content["offerThroughput"])

    low = {"offerThroughput": 1000}
    equal(most(put(200, low)), 1000)
    refused = put(400, low, **to_autoscale, **to_manual)
    assert "exclude each other" in refused.json["message"], refused.body
    for n in (1000, 9000):
        refused = put(400, scaled(n), **to_autoscale)
        assert "minimum throughput 10000" in refused.json["message"], n
    moved = put(200, low, **to_autoscale)
    equal(most(moved), 10000)
    equal(moved.headers["x-ms-cosmos-min-throughput"], "10000")
    put(400, scaled(9000))
    back = put(200, low, **to_manual)
    equal(most(back), 10000)
    equal(back.headers["x-ms-cosmos-min-throughput"], "1000")
    equal(most(put(200, scaled(11000), **to_autoscale)), 11000)
    # What it has counts if that is more.
    put(200, scaled(11000), **to_manual)
    put(200, {"offerThroughput": 20100})
    equal(most(put(200, low, **to_autoscale)), 21000)
    server.end()


@case("an offer is replaced under its own rid only, and keeps the type that it "
      "was made with")
def _():
    server = Server()
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    key = {"partitionKey": {"paths": ["/pk"]}}
    for type, units in (("S1", 400), ("S2", 1000), ("S3", 2500), (None, 400)):
        rid = client.must(201, "POST", "/dbs/d/colls",
                          {"id": f"c{type}", **key},
                          **({"x_ms_offer_type": type} if type else {})
                          ).json["_rid"]
        [offer] = client.must(200, "POST", "/offers", "SELECT * FROM c WHERE "
                              f"c.offerResourceId = '{rid}'",
                              query=True).json["Offers"]
        equal((offer["offerType"], offer["content"]["offerThroughput"]),
              (type or "Invalid", units))
        path = "/" + offer["_self"]
        for wrong in ({"_rid": "NotAllowed"}, {"id": "NotAllowed"}):
            client.must(400, "PUT", path, {**offer, **wrong})
        offer["content"]["offerThroughput"] = 900
        again = client.must(200, "PUT", path, offer).json
        equal((again["offerType"], again["content"]["offerThroughput"]),
              (type or "Invalid", 900))
        again = client.must(200, "PUT", path, {
            "offerType": "S2", "id": offer["id"], "_rid": offer["_rid"]}).json
        equal((again["offerType"], again["content"]["offerThroughput"]),
              ("S2", 1000))
        client.must(400, "PUT", path, {**offer, "offerType": "S9"})
    for more in ({"x_ms_offer_type": "S9"},
                 {"x_ms_offer_type": "S1", "x_ms_offer_throughput": 400}):
        client.must(400, "POST", "/dbs/d/colls", {"id": "x", **key}, **more)
    server.end()
