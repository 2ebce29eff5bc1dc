"""sessions.py -- consistency levels and session tokens on the wire."""
from wire import Client, Server, case, equal

C = "/dbs/d/colls/c"
LEVELS = ["Eventual", "ConsistentPrefix", "Session", "BoundedStaleness",
          "Strong"]


def prepare(server):
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    client.must(201, "POST", "/dbs/d/colls",
                {"id": "c", "partitionKey": {"paths": ["/pk"], "version": 2}},
                x_ms_offer_throughput=20000)
    for pk in "abcdefgh":
        client.must(201, "POST", C + "/docs", {"id": "1", "pk": pk}, pk=[pk])
    return client


@case("of five levels those not above the account's are met, by name in any "
      "case")
def _():
    for most, account in enumerate(LEVELS):
        server = Server("--consistency", account)
        client = prepare(server)
        found = client.must(200, "GET", "/").json["userConsistencyPolicy"]
        equal(found, {"defaultConsistencyLevel": account, **(
            {"maxStalenessPrefix": 100, "maxIntervalInSeconds": 5}
            if account == "BoundedStaleness" else {})})
        for i, level in enumerate(LEVELS):
            want = 200 if i <= most else 400
            for name in (level, level.lower()):
                client.must(want, "GET", C + "/docs/1", pk=["a"],
                            x_ms_consistency_level=name)
                client.must(want, "GET", C + "/docs",
                            x_ms_consistency_level=name)
                client.must(want, "POST", C + "/docs", "SELECT * FROM c",
                            query=True, x_ms_consistency_level=name)
            client.must(200, "PUT", C + "/docs/1", {"id": "1", "pk": "a"},
                        pk=["a"], x_ms_consistency_level=level)
            client.must(200, "GET", "/", x_ms_consistency_level=level)
        client.must(400, "GET", C, x_ms_consistency_level="Perfect")
        for strategy, want in (("Eventual", 200), ("Session", 200),
                               ("LatestCommitted", 200), ("Odd", 400),
                               ("GlobalStrong", 200 if most == 4 else 400)):
            client.must(want, "GET", C + "/docs/1", pk=["a"],
                        x_ms_cosmos_read_consistency_strategy=strategy)
        client.must(400, "GET", C + "/docs/1", pk=["a"],
                    x_ms_cosmos_read_consistency_strategy="Session",
                    x_ms_consistency_level="Eventual")
        server.end()


@case("a token from the future gives 404/1002 on reads, lists and queries, and "
      "only of the ranges asked for")
def _():
    server = Server()
    client = prepare(server)
    tokens = {}
    for pk in "abcdefgh":
        answer = client.must(200, "GET", C + "/docs/1", pk=[pk])
        token = answer.headers["x-ms-session-token"]
        tokens[token.split(":")[0]] = (pk, token)
    equal(sorted(tokens), ["0", "1"])
    (zero, now0), (one, now1) = tokens["0"], tokens["1"]
    future = "0:-1#1000000"

    def asks(pk, token):
        yield client.ask("GET", C + "/docs/1", pk=[pk],
                         x_ms_session_token=token)
        yield client.ask("GET", C + "/docs/none", pk=[pk],
                         x_ms_session_token=token)
        yield client.ask("GET", C + "/docs", pk=[pk], x_ms_session_token=token)
        yield client.ask("POST", C + "/docs", "SELECT * FROM c", pk=[pk],
                         query=True, x_ms_session_token=token)

    for token in (future, "0:1#1000000#1=2#3=4", "0:1000000", f"{now1},{future}",
                  f"{future},{now1}"):
        equal([(each.status, each.substatus) for each in asks(zero, token)],
              [(404, 1002)] * 4)
        equal([each.status for each in asks(one, token)], [200, 404, 200, 200])
        equal([each.status for each in (
            client.ask("GET", C + "/docs", x_ms_session_token=token),
            client.ask("POST", C + "/docs", "SELECT * FROM c", query=True,
                       x_ms_session_token=token))], [404, 404])
    for token in (now0, f"{now0},{now1}", f"{now1},{now0}", "5:-1#1000000"):
        for pk in (zero, one):
            equal([each.status for each in asks(pk, token)],
                  [200, 404, 200, 200])
    for token in ("x", "0:", ":1", "0:-1", "0:-2#1", "0:-1#", "0:-1#1#", "0:-1#1,,",
                  ",0:-1#1", "0:-1#1#1", "0:-1#99999999999999999999"):
        for each in asks(zero, token):
            equal((each.status, each.json["code"]), (400, "BadRequest"))
    client.must(200, "POST", "/_runnel/split",
                {"container": C.strip("/"), "range": 0})
    equal([(each.status, each.substatus) for each in asks(zero, future)],
          [(404, 1002)] * 4)  # a child knows how far its parent came
    equal([each.status for each in asks(zero, now0)], [200, 404, 200, 200])
    # And its children's children, and the ranges merged from those.
    for times in range(2):
        living = client.must(200, "GET", C + "/docs/1", pk=[zero])
        id = living.headers["x-ms-documentdb-partitionkeyrangeid"]
        client.must(200, "POST", "/_runnel/split",
                    {"container": C.strip("/"), "range": int(id)})
    ranges = client.must(200, "GET", C + "/pkranges").json["PartitionKeyRanges"]
    young = [int(each["id"]) for each in ranges if len(each["parents"]) == 3]
    equal(len(young), 2)
    for merge in (False, True):
        if merge:
            client.must(200, "POST", "/_runnel/merge",
                        {"container": C.strip("/"), "range": young[0],
                         "with": young[1]})
        for named in (0, int(id)):
            equal([(each.status, each.substatus) for each in
                   asks(zero, f"{named}:-1#1000000")], [(404, 1002)] * 4)
        equal([each.status for each in asks(zero, now0)], [200, 404, 200, 200])
        equal([each.status for each in asks(one, future)], [200, 404, 200, 200])
    server.end()


@case("a batch that reads minds its session token, in whole or in bulk; one "
      "that writes does not")
def _():
    server = Server()
    client = prepare(server)
    got = client.must(200, "GET", C + "/docs/1", pk=["a"])
    now = got.headers["x-ms-session-token"]
    id = now.split(":")[0]
    future, other = f"{id}:-1#1000000", f"{1 - int(id)}:-1#1000000"
    read = {"operationType": "Read", "id": "1"}
    write = {"operationType": "Upsert", "resourceBody": {"id": "1", "pk": "a"}}
    new = {"operationType": "Create", "resourceBody": {"id": "2", "pk": "a"}}

    def batch(operations, token, **more):
        return client.ask("POST", C + "/docs", operations,
                          x_ms_cosmos_is_batch_request="true",
                          x_ms_session_token=token, **more)

    atomic = {"x_ms_cosmos_batch_atomic": "true", "pk": ["a"]}
    bulk = {"x_ms_cosmos_batch_atomic": "false",
            "x_ms_cosmos_batch_continue_on_error": "true",
            "x_ms_documentdb_partitionkeyrangeid": id}
    for how in (atomic, bulk):
        keyed = [{**each, "partitionKey": '["a"]'} if how is bulk else each
                 for each in (read, write, new)]
        for operations in (keyed[:1], keyed[1::-1], [keyed[2], keyed[0]]):
            got = batch(operations, future, **how)
            equal((got.status, got.substatus), (404, 1002))
        client.must(404, "GET", C + "/docs/2", pk=["a"])
        equal([batch(keyed[1:2], future, **how).status,
               batch(keyed[:2], now, **how).status,
               batch(keyed[:2], other, **how).status], [200] * 3)
        equal(batch(keyed[:1], "x", **how).status, 400)
    server.end()


@case("the token of what was refused, a batch in whole too, names no write "
      "that is not there")
def _():
    server = Server()
    client = prepare(server)
    client.must(201, "POST", "/dbs/d/colls", {
        "id": "u", "partitionKey": {"paths": ["/pk"], "version": 2},
        "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/u"]}]}})
    path, key = "/dbs/d/colls/u/docs", {"pk": ["a"]}
    one = {"id": "1", "pk": "a", "u": 1}
    made = client.must(201, "POST", path, one, **key)
    first = made.headers["x-ms-session-token"]
    new = {"operationType": "Create", "resourceBody": {"id": "2", "pk": "a"}}
    again = {"operationType": "Create", "resourceBody": one}
    stale = {"operationType": "Delete", "id": "1", "ifMatch": '"x"'}
    batch = {"x_ms_cosmos_is_batch_request": "true",
             "x_ms_cosmos_batch_atomic": "true"}
    refused = [
        client.must(409, "POST", path, one, **key),
        client.must(409, "POST", path, {**one, "id": "2"}, **key),
        client.must(412, "PUT", path + "/1", one, if_match='"x"', **key),
        client.must(404, "DELETE", path + "/2", **key),
    ] + [client.must(207, "POST", path, operations, **key, **batch)
         for operations in ([new, again], [new, new], [new, stale],
                            [again, new])]
    for answer in refused:
        equal(answer.headers["x-ms-session-token"], first)
    client.must(200, "GET", path + "/1", x_ms_session_token=first, **key)
    client.must(404, "GET", path + "/2", **key)
    server.end()


@case("answers about documents carry the token of the range they are about")
def _():
    server = Server()
    client = prepare(server)
    answers = [
        client.ask("GET", C + "/docs/1", pk=["a"]),
        client.ask("GET", C + "/docs/none", pk=["a"]),
        client.ask("GET", C + "/docs", pk=["a"]),
        client.ask("POST", C + "/docs", "SELECT * FROM c", pk=["a"],
                   query=True),
        client.ask("POST", C + "/docs", {"id": "1", "pk": "a"}, pk=["a"]),
        client.ask("PUT", C + "/docs/1", {"id": "1", "pk": "a"}, pk=["a"]),
        client.ask("PUT", C + "/docs/1", {"id": "1", "pk": "a"}, pk=["a"],
                   if_match='"no"'),
        client.ask("DELETE", C + "/docs/none", pk=["a"]),
    ]
    equal([each.status for each in answers],
          [200, 404, 200, 200, 409, 200, 412, 404])
    ranges = set()
    for each in answers:
        token = each.headers["x-ms-session-token"]
        ranges.add(token.split(":-1#")[0])
        equal(token.split("#")[1], each.headers["lsn"])
    equal(len(ranges), 1)
    server.end()


@case("a session reads its writes over another connection, and after a restart")
def _():
    server = Server()
    client = prepare(server)
    for pk in "abcdefgh":
        made = client.must(200, "PUT", C + "/docs/1",
                           {"id": "1", "pk": pk, "n": 2}, pk=[pk])
        token = made.headers["x-ms-session-token"]
        if pk == "d":
            equal(server.stop(), (0, []))
            server.start()
        client = Client(server)
        read = client.must(200, "GET", C + "/docs/1", pk=[pk],
                           x_ms_session_token=token)
        equal(read.json["n"], 2)
    server.end()


@case("a query that gives up its way and takes another returns its session "
      "once")
def _():
    server = Server()
    client = prepare(server)
    docs = "/dbs/d/colls/o/docs"
    client.must(201, "POST", "/dbs/d/colls",
                {"id": "o", "partitionKey": {"paths": ["/pk"], "version": 2}})
    for start in range(0, 1500, 100):
        client.must(200, "POST", docs, [
            {"operationType": "Create", "resourceBody": {
                "id": str(i), "pk": "p", "ts": i,
                "tags": ["rare"] if i < 3 else ["x"]}}
            for i in range(start, start + 100)], pk=["p"],
            x_ms_cosmos_is_batch_request="True",
            x_ms_cosmos_batch_atomic="True")
    token = "0:-1#15"
    for _ in range(40):  # an index is made of what is asked often
        got = client.must(200, "POST", docs, "SELECT TOP 5 VALUE c.id FROM c "
                          "WHERE ARRAY_CONTAINS(c.tags, 'rare') "
                          "ORDER BY c.ts DESC", query=True,
                          x_ms_session_token=token)
        equal(got.json["Documents"], ["2", "1", "0"])
        equal(got.headers["x-ms-session-token"], token)
    server.end()


@case("a place in a thousand ranges, and a session in all of them, are taken "
      "back as they were given")
def _():
    server = Server("--ranges", "1024")
    client = prepare(server)
    page = client.must(200, "GET", C + "/docs", a_im="Incremental feed")
    equal(page.json["_count"], 8)
    place, session = (page.headers[name] for name in
                      ("etag", "x-ms-session-token"))
    equal((place.count(","), session.count(",")), (1023, 1023))
    client.must(304, "GET", C + "/docs", a_im="Incremental feed",
                if_none_match=place, x_ms_session_token=session)
    client.must(200, "GET", C + "/docs/1", pk=["a"],
                x_ms_session_token=session)
    client.must(201, "POST", C + "/docs", {"id": "2", "pk": "a"}, pk=["a"])
    page = client.must(200, "GET", C + "/docs", a_im="Incremental feed",
                       if_none_match=place)
    equal([each["id"] for each in page.json["Documents"]], ["2"])
    server.end()


@case("a client from before 2018-06-18 is sent range and LSN alone, of one "
      "range or of several, and may send that")
def _():
    server = Server()
    client = prepare(server)
    for version in ("2015-04-08", "2017-11-15"):
        put = client.must(200, "PUT", C + "/docs/1", {"id": "1", "pk": "a"},
                          pk=["a"], x_ms_version=version)
        token = put.headers["x-ms-session-token"]
        equal(token, put.headers["x-ms-documentdb-partitionkeyrangeid"] + ":" +
              put.headers["lsn"])
        read = client.must(200, "GET", C + "/docs/1", pk=["a"],
                           x_ms_version=version, x_ms_session_token=token)
        equal(read.headers["x-ms-session-token"], token)
        feed = client.must(200, "GET", C + "/docs", a_im="Incremental Feed",
                           x_ms_version=version)
        parts = feed.headers["x-ms-session-token"].split(",")
        equal(len(parts), 2)
        assert token in parts, (token, parts)
        ahead = token.split(":")[0] + ":999"
        client.must(404, "GET", C + "/docs/1", pk=["a"], x_ms_version=version,
                    x_ms_session_token=ahead)
    server.end()


@case("the answer to a session that is not available names the container")
def _():
    server = Server()
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    client.must(201, "POST", "/dbs/d/colls",
                {"id": "c", "partitionKey": {"paths": ["/pk"]}})
    docs = "/dbs/d/colls/c/docs"
    client.must(201, "POST", docs, {"id": "1", "pk": "p"}, pk=["p"])
    text = "SELECT * FROM c"
    for verb, path, body, more in (
            ("GET", docs + "/1", None, {"pk": ["p"]}),
            ("GET", docs, None, {}),
            ("POST", docs, text, {"query": True}),
            ("POST", docs, text, {"query": True, "pk": ["p"]}),
            ("GET", docs, None, {"a_im": "Incremental feed"}),
            ("GET", docs, None, {"a_im": "Incremental feed", "pk": ["p"]}),
            ("POST", docs, [{"operationType": "Read", "id": "1"}],
             {"pk": ["p"], "x_ms_cosmos_is_batch_request": "true"})):
        answer = client.must(404, verb, path, body, **more,
                             x_ms_session_token="0:-1#999")
        equal((answer.substatus, answer.headers["x-ms-alt-content-path"]),
              (1002, "dbs/d/colls/c"))
    server.end()
