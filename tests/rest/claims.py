"""claims.py -- what the dialect's specification says of single requests.

Each table is a list of claims: what is sent, and the status, sub-status and
words it gets.  One server serves a table, so that a claim costs one request.
"""
import base64
import json
import re
import time
from urllib.parse import quote

from wire import (EMULATOR_KEY, PARTITION_KEY, Client, Server, case, date_of,
                  equal, sign)

KEY = {"paths": ["/pk"], "kind": "Hash", "version": 2}
TWO = {"paths": ["/a", "/b/c"], "kind": "MultiHash", "version": 2}
D, H, U = (f"/dbs/d/colls/{name}/docs" for name in "chu")
UPSERT = {"x_ms_documentdb_is_upsert": "True"}
BATCH = {"x_ms_cosmos_is_batch_request": "True",
         "x_ms_cosmos_batch_atomic": "True"}


def prepare():
    server = Server()
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    client.must(201, "POST", "/dbs/d/colls", {"id": "c", "partitionKey": KEY})
    client.must(201, "POST", "/dbs/d/colls", {"id": "h", "partitionKey": TWO})
    client.must(201, "POST", "/dbs/d/colls", {
        "id": "u", "partitionKey": KEY,
        "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/u"]}]}})
    client.must(201, "POST", D, {"id": "1", "pk": "p", "n": 1}, pk=["p"])
    return server, client


def hold(claims):
    """Sends each claim; all that do not hold are reported."""
    server, client = prepare()
    wrong = []
    for sentence, wanted, words, args, more in claims:
        answer = client.ask(*args, **more)
        status, sub = wanted if isinstance(wanted, tuple) else (wanted, 0)
        text = answer.json["message"] if answer.status >= 400 else words
        if (answer.status, answer.substatus) != (status, sub) or \
                words not in text:
            wrong.append(f"{sentence}: {answer.status}/{answer.substatus} "
                         f"{answer.body[:300]!r}")
    server.end()
    assert not wrong, "\n".join(wrong)


def claim(sentence, wanted, *args, words="", **more):
    return sentence, wanted, words, args, more


@case("refusals have the words that the specification gives them")
def _():
    hold([
        claim("no id", 400, "POST", D, {"pk": "p"}, pk=["p"],
              words="because the required properties - 'id; ' - are missing"),
        claim("another key than the header's", (400, 1001), "POST", D,
              {"id": "2", "pk": "q"}, pk=["p"],
              words="PartitionKey extracted from document doesn't match the "
                    "one specified in the header"),
        claim("a replacement of another key", (400, 1001), "PUT", D + "/1",
              {"id": "1", "pk": "q"}, pk=["p"]),
        claim("fewer components, read", (400, 1001), "GET", H + "/1",
              pk=["x"], words="has fewer components than defined in the the "
                              "collection."),
        claim("fewer components, create", (400, 1001), "POST", H,
              {"id": "1", "a": "x"}, pk=["x"],
              words="Partition key provided either doesn't correspond to "
                    "definition in the collection"),
        claim("more components", 400, "GET", D + "/1", pk=["p", 1]),
        claim("a query of an empty key", 400, "POST", H,
              {"query": "SELECT * FROM c"}, pk=[],
              content_type="application/query+json",
              words="Cross partition query is required but disabled"),
        claim("no key", 400, "GET", D + "/1",
              words="PartitionKey value must be supplied for this operation."),
        claim("a document that is not there", 404, "GET", D + "/none",
              pk=["p"], words="Entity with the specified id does not exist in "
                              "the system. Resource Not Found. More info: "
                              "https://aka.ms/cosmosdb-tsg-not-found"),
        claim("a database that is not there", 404, "GET", "/dbs/none",
              words="Entity with the specified id does not exist in the "
                    "system."),
        claim("an owner that is not there", (404, 1003), "POST",
              "/dbs/d/colls/none/docs", {"id": "1"}, pk=["p"],
              words="Owner resource does not exist"),
        claim("an id that is taken", 409, "POST", D, {"id": "1", "pk": "p"},
              pk=["p"], words="Entity with the specified id already exists in "
                              "the system."),
        claim("an upsert whose condition fails", 412, "POST", D,
              {"id": "1", "pk": "p"}, pk=["p"], if_match='"x"',
              x_ms_documentdb_is_upsert="True",
              words='Message: {"Errors":["One of the specified pre-condition '
                    'is not met. Learn more: https://aka.ms/CosmosDB/sql/'
                    'errors/precondition-failed"]}\r\n'),
        claim("a patch of what has no parent", 400, "PATCH", D + "/1",
              [{"op": "add", "path": "/nonExistentParent/x", "value": 1}],
              pk=["p"], words="For Operation(1): Add Operation can only create "
              "a child object of an existing node(array or object) and cannot "
              "create path recursively, no path found beyond: "
              "'nonExistentParent'. Learn more: "
              "https://aka.ms/cosmosdbpatchdocs"),
        claim("a condition that fails", 412, "PUT", D + "/1",
              {"id": "1", "pk": "p"}, pk=["p"], if_match='"x"',
              words="Operation cannot be performed because one of the "
                    "specified precondition is not met."),
        claim("a document of 2 MiB", 413, "POST", D,
              {"id": "2", "pk": "p", "x": "y" * (2 << 20)}, pk=["p"],
              words='Message: {"Errors":["Request size is too large"]}\r\n'),
        claim("129 levels", 400, "POST", D, {"id": "2", "pk": "p",
              "x": json.loads("[" * 128 + "]" * 128)}, pk=["p"],
              words="more than 128 levels of nesting"),
        claim("no such path", 404, "GET", "/dbs/d/none"),
        claim("a path behind an offer's", 400, "PUT", "/offers/offers/FyUD/",
              {"id": "FyUD"}),
        claim("no such method", 405, "PUT", "/dbs/d", {"id": "d"}),
        claim("a page that was never given", 400, "GET", D,
              x_ms_continuation="none", words="Invalid Continuation Token"),
        claim("ranges that were never given", 400, "GET",
              "/dbs/d/colls/c/pkranges", x_ms_continuation="none",
              words="Invalid Continuation Token"),
        claim("an earlier container", (400, 1024), "GET", D + "/1", pk=["p"],
              x_ms_cosmos_intended_collection_rid="sbNTAL0kkgA="),
        claim("a range that is gone", (410, 1002), "GET", D,
              x_ms_documentdb_partitionkeyrangeid="7"),
        claim("a session of the future", (404, 1002), "GET", D + "/1",
              pk=["p"], x_ms_session_token="0:-1#999",
              words="The read/write session is not available for the input "
                    "session token."),
        claim("a trigger that is not there", 400, "POST", D,
              {"id": "2", "pk": "p"}, pk=["p"],
              x_ms_documentdb_pre_trigger_include="t", words="'t'"),
        claim("four paths", 400, "POST", "/dbs/d/colls",
              {"id": "x", "partitionKey": {
                  "paths": ["/a", "/b", "/c", "/d"], "kind": "MultiHash",
                  "version": 2}}, words="Too many partition key paths"),
        claim("a blank in a path", 400, "POST", "/dbs/d/colls",
              {"id": "x", "partitionKey": {"paths": ["/id ds"]}},
              words="Partition key paths must contain only valid characters "
                    "and not contain a trailing slash or wildcard character"),
        claim("a path without a slash", 400, "POST", "/dbs/d/colls",
              {"id": "x", "partitionKey": {"paths": ["id"]}},
              words="The partition key component definition path 'id' could "
                    "not be accepted"),
        claim("too little throughput", 400, "POST", "/dbs/d/colls",
              {"id": "x", "partitionKey": KEY},
              x_ms_cosmos_offer_autopilot_settings='{"maxThroughput":-200}',
              words="Requested throughput -200 is less than required minimum "
                    "throughput 1000"),
        claim("an empty batch", 400, "POST", D, [], pk=["p"], **BATCH,
              words="Batch request has no operations."),
        claim("101 operations", 400, "POST", D,
              [{"operationType": "Read", "id": "1"}] * 101, pk=["p"], **BATCH,
              words="Batch request has more operations than what is "
                    "supported."),
        claim("an operation of another key", 400, "POST", D,
              [{"operationType": "Read", "id": "1", "partitionKey": '["q"]'}],
              pk=["p"], **BATCH,
              words="One or more operations within the batch request have a "
                    "different partition key value than the request."),
        claim("11 patch operations", 400, "PATCH", D + "/1",
              [{"op": "incr", "path": "/n", "value": 1}] * 11, pk=["p"],
              words="The number of patch operations can't exceed '10'."),
    ])


@case("the answer to a signature that does not fit names what should have been "
      "signed")
def _():
    server, client = prepare()
    other = Client(server, key="eA==").ask("GET", "/dbs/d/colls/c")
    equal(other.status, 401)
    for words in ("The input authorization token can't serve the request.",
                  "Server used the following payload to sign: 'get\ncolls\n"
                  "dbs/d/colls/c\n"):
        assert words in other.json["message"], other.json
    made = client.must(200, "GET", "/dbs/d/colls/c").json
    other = Client(server, key="eA==").ask("GET", "/" + made["_self"],
                                           rid=made["_rid"])
    assert f"colls\n{made['_rid'].lower()}\n" in other.json["message"]
    server.end()


@case("a link is signed in its own case, and what is signed for one name is not "
      "valid for it in another case")
def _():
    server, client = prepare()
    client.must(201, "POST", "/dbs", {"id": "Shop"})
    client.must(201, "POST", "/dbs/Shop/colls",
                {"id": "C \u00dcX", "partitionKey": KEY})
    for path, kind, links in (
            ("/dbs/Shop", "dbs", {"dbs/Shop": 200, "dbs/shop": 401,
                                  "dbs/SHOP": 401, "DBS/SHOP": 401}),
            ("/dbs/Shop/colls", "colls", {"dbs/Shop": 200, "dbs/shop": 401,
                                          "dbs/sHOP": 401}),
            ("/dbs/Shop/colls/C%20%C3%9CX", "colls", {
                "dbs/Shop/colls/C \u00dcX": 200,
                "dbs/shop/colls/c \u00dcx": 401,
                "dbs/Shop/colls/C%20%C3%9CX": 200,
                "dbs/shop/colls/C \u00dcX": 401})):
        for link, status in links.items():
            date = date_of(time.time())
            answer = client.send("GET", path, None, {
                "x-ms-date": date, "authorization": sign(
                    EMULATOR_KEY, "GET", path, date, link, kind)})
            equal(answer.status, status, (path, link))
    server.end()


# ---- what answers are made of ------------------------------------------------

@case("a path that names nothing is reported only to a client that has signed "
      "it in a way that clients do")
def _():
    server, client = prepare()

    def failures():
        text = client.send("GET", "/metrics").body.decode()
        return int(re.search(r'auth_failures_total{reason="invalid"} (\d+)',
                             text).group(1))

    rids = "dbs/sbNTAA==/colls/sbNTAL0kkgA=/docs"
    attachments = f"/{rids}/sbNTAL0kkgABAAAAAAAAAA==/attachments"
    attachment = "sbNTAL0kkgABAAAAAAAAAAAAAAA="
    for path, status, signed, strange in (
            ("/foo", 404, [("foo", "")],
             [("", ""), ("foo", "foo"), ("dbs", ""), ("bar", "")]),
            ("/Foo/bar/", 404, [("foo", "Foo/bar")], [("bar", "Foo")]),
            ("/dbs/d/colls/c/docs/a/b", 404,
             [("b", "dbs/d/colls/c/docs/a"), ("docs", "dbs/d/colls/c/docs/a/b")],
             [("docs", "dbs/d/colls/c/docs/a"), ("docs", "dbs/d/colls/c"),
              ("b", "a")]),
            ("/dbs/a%5Cb", 400, [("dbs", "dbs/a\\b"), ("dbs", "dbs/a%5Cb")],
             [("dbs", "dbs/a"), ("dbs", "")]),
            ("/dbs/a%5Cb%zz", 400,
             [("dbs", "dbs/a%5Cb%zz"), ("dbs", "dbs/a\\b%zz")],
             [("dbs", "dbs/a\\b")]),
            ("/dbs/d/operations/x", 404,
             [("dbs", "dbs/d"), ("operations", "dbs/d/operations/x")],
             [("dbs", ""), ("operations", "dbs/d")]),
            ("/dbs/a?b", 400, [("dbs", "dbs/a?b"), ("dbs", "dbs/a")],
             [("dbs", "dbs/b")]),
            (attachments, 404,
             [("attachments", "sbntal0kkgabaaaaaaaaaa=="),
              ("attachments", attachments[1:-12])],
             [("attachments", "sbNTAL0kkgABAAAAAAAAAA=="), ("attachments", ""),
              ("docs", "sbntal0kkgabaaaaaaaaaa==")]),
            (f"{attachments}/{attachment}/".replace("=", "%3D"), 404,
             [("attachments", attachment.lower())],
             [("attachments", "sbntal0kkgabaaaaaaaaaa=="),
              ("docs", attachment.lower())]),
            ("/addresses/", 400, [("addresses", "")], [("", ""), ("docs", "")]),
            ("//addresses/?$resolveFor=" + quote(rids, ""), 400,
             [("docs", "sbntal0kkga="), ("addresses", "")],
             [("docs", "sbntaa=="), ("dbs", "")]),
            ("/addresses/?$resolveFor=dbs/d/colls/c/docs&$filter=x", 400,
             [("docs", "dbs/d/colls/c"), ("addresses", "")],
             [("docs", "dbs/d/colls/d")])):
        for right, kinds in ((True, signed), (False, strange)):
            for kind, link in kinds:
                before = failures()
                date = date_of(time.time())
                answer = client.send("GET", path, None, {
                    "x-ms-date": date, "authorization": sign(
                        EMULATOR_KEY, "GET", path, date, link, kind)})
                equal((answer.status, failures() - before),
                      (status, 0) if right else (401, 1), (path, kind, link))
                assert right or path[1:] not in answer.json["message"]
    server.end()


EVERY = {"date", "server", "x-ms-activity-id", "x-ms-request-charge",
         "x-ms-gatewayversion", "x-ms-serviceversion",
         "x-ms-request-duration-ms", "content-location"}
BODY = {"content-type", "content-length"}
OWNED = {"x-ms-alt-content-path", "x-ms-content-path"}
PLACED = OWNED | {
    "x-ms-session-token", "lsn", "x-ms-documentdb-partitionkeyrangeid",
    "x-ms-cosmos-llsn", "x-ms-global-committed-lsn", "x-ms-quorum-acked-lsn",
    "x-ms-cosmos-quorum-acked-llsn", "x-ms-number-of-read-regions",
    "x-ms-schemaversion"}
ITEM = PLACED | {"etag", "x-ms-item-lsn", "x-ms-cosmos-item-llsn"}
QUOTA = {"x-ms-resource-quota", "x-ms-resource-usage"}
WHOLE = ITEM | BODY | QUOTA
OBJECT = BODY | {"etag", "x-ms-schemaversion"}
LIST = BODY | {"x-ms-item-count", "x-ms-schemaversion"}


@case("every kind of answer has its headers and no others")
def _():
    server, client = prepare()
    etag = client.must(200, "GET", D + "/1", pk=["p"]).headers["etag"]
    offer = client.must(200, "GET", "/offers").json["Offers"][0]
    paths = {"d": "dbs/d", "c": "dbs/d/colls/c", "u": "dbs/d/users/u"}
    one = {"id": "2", "pk": "p"}
    for status, owner, wanted, args, more in (
            (201, None, OBJECT, ("POST", "/dbs", {"id": "e"}), {}),
            (200, None, OBJECT, ("GET", "/dbs/e"), {}),
            (200, None, LIST, ("GET", "/dbs"), {}),
            (204, None, set(), ("DELETE", "/dbs/e"), {}),
            (201, "d", OBJECT | OWNED,
             ("POST", "/dbs/d/colls", {"id": "x", "partitionKey": KEY}), {}),
            (200, "d", LIST | OWNED, ("GET", "/dbs/d/colls"), {}),
            (204, "d", OWNED, ("DELETE", "/dbs/d/colls/x"), {}),
            (304, "d", OWNED | {"etag"}, ("GET", "/dbs/d/colls/c"),
             {"if_none_match": "*"}),
            (201, "d", OBJECT | OWNED, ("POST", "/dbs/d/users", {"id": "u"}),
             {}),
            (201, "u", OBJECT | OWNED,
             ("POST", "/dbs/d/users/u/permissions",
              {"id": "p", "permissionMode": "read",
               "resource": "dbs/d/colls/c"}), {}),
            (200, None, OBJECT | {"x-ms-offer-replace-pending",
                                  "x-ms-cosmos-min-throughput"},
             ("PUT", "/offers/" + offer["_rid"], offer), {}),
            (201, "c", WHOLE, ("POST", D, one), {"pk": ["p"]}),
            (200, "c", WHOLE, ("POST", D, one), {"pk": ["p"], **UPSERT}),
            (200, "c", WHOLE, ("PUT", D + "/2", one), {"pk": ["p"]}),
            (200, "c", ITEM | QUOTA | {"content-length"}, ("PUT", D + "/2", one),
             {"pk": ["p"], "prefer": "return=minimal"}),
            (200, "c", WHOLE,
             ("PATCH", D + "/2", [{"op": "set", "path": "/n", "value": 1}]),
             {"pk": ["p"]}),
            (200, "c", WHOLE, ("GET", D + "/1"), {"pk": ["p"]}),
            (304, "c", ITEM, ("GET", D + "/1"),
             {"pk": ["p"], "if_none_match": etag}),
            (404, "c", PLACED | BODY, ("GET", D + "/9"), {"pk": ["p"]}),
            (409, "c", PLACED | BODY, ("POST", D, one), {"pk": ["p"]}),
            (412, "c", PLACED | BODY, ("DELETE", D + "/2"),
             {"pk": ["p"], "if_match": '"x"'}),
            (204, "c", PLACED | QUOTA, ("DELETE", D + "/2"), {"pk": ["p"]}),
            (200, "c", PLACED | BODY | {"x-ms-item-count"}, ("GET", D), {}),
            (200, "c", PLACED | {"content-length"},
             ("POST", "/dbs/d/colls/c/operations/partitionkeydelete"),
             {"pk": ["q"]}),
            (404, None, BODY | {"x-ms-substatus"}, ("GET", "/dbs/e/colls"),
             {})):
        answer = client.must(status, *args, **more)
        equal(set(answer.headers), EVERY | wanted, args)
        if owner:
            equal(answer.headers["x-ms-alt-content-path"], paths[owner], args)
        if "etag" in wanted and answer.json:
            equal(answer.headers["etag"], answer.json["_etag"])
    server.end()


@case("the account has what SDKs read of it, in the form that they read it in, "
      "and nothing that leads them elsewhere")
def _():
    server, client = prepare()
    account = client.must(200, "GET", "/").json
    assert isinstance(account["id"], str) and account["id"], account
    assert account["id"] != "localhost", account  # JS reads it again and again
    here = f"http://127.0.0.1:{server.port}/"
    for name in ("writableLocations", "readableLocations"):
        equal([each["databaseAccountEndpoint"] for each in account[name]],
              [here])
        assert all(each["name"] for each in account[name]), account
    text = account["queryEngineConfiguration"]  # Java breaks on an object
    assert isinstance(text, str), text
    equal(json.loads(text)["maxJoinsPerSqlQuery"], 10)
    # Java and .NET would speak another protocol.
    assert not any(name.lower().startswith("thinclient") for name in account)
    equal(account["userConsistencyPolicy"],
          {"defaultConsistencyLevel": "Session"})
    equal(account["enableMultipleWriteLocations"], False)
    for name in ("userReplicationPolicy", "systemReplicationPolicy"):
        assert account[name]["maxReplicasetSize"] >= 1  # their spelling
    server.end()


@case("an owner is named as it is, or escaped as JavaScript does where that is "
      "not ASCII")
def _():
    server, client = prepare()
    for database, box, wanted in (
            ("Db One", "C o", "dbs/Db One/colls/C o"),
            ("a+b", "100%", "dbs/a+b/colls/100%"),
            ("Db One", "With\u9c40", "dbs/Db%20One/colls/With%E9%B1%80"),
            ("\u00e9 100%", "c;,:@&=+$-_.!~*'()",
             "dbs/%C3%A9%20100%25/colls/c;,:@&=+$-_.!~*'()"),
            ("\u00e9 100%", "\"<>[]^`{|}",
             "dbs/%C3%A9%20100%25/colls/%22%3C%3E%5B%5D%5E%60%7B%7C%7D")):
        client.ask("POST", "/dbs", {"id": database})
        path = f"/dbs/{quote(database, safe='')}/colls"
        client.must(201, "POST", path, {"id": box, "partitionKey": KEY})
        path = f"{path}/{quote(box, safe='')}/docs"
        for answer in (client.must(201, "POST", path, {"id": "1", "pk": "p"},
                                   pk=["p"]),
                       client.must(200, "GET", path + "/1", pk=["p"]),
                       client.must(404, "GET", path + "/2", pk=["p"])):
            equal(answer.headers["x-ms-alt-content-path"], wanted)
    server.end()


@case("a list ends its page before it has more than 4 MiB, and so does a query "
      "whose rows are of one length")
def _():
    server, client = prepare()
    client.must(204, "DELETE", D + "/1", pk=["p"])
    mixed = [100, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 5, (2 << 20) - 400,
             (2 << 20) - 400, 1500000, 1500000, 1500000, 900000]
    query = {"content_type": "application/query+json",
             "x_ms_documentdb_isquery": "true"}
    for path, key, sizes in ((H, [1, 1], mixed), (D, ["p"], [1200000] * 7)):
        for i, size in enumerate(sizes):
            client.must(201, "POST", path, {
                "id": f"{i:02}", "a": 1, "b": {"c": 1}, "pk": "p",
                "x": "y" * size}, pk=key)
        for text in (None, "SELECT * FROM c", "SELECT * FROM c ORDER BY c.id"):
            found, token, most = [], {}, 4 << 20
            if text and path == H:
                most += 2 << 20  # the next was held to be shorter
            while True:
                answer = client.must(200, "POST", path, {"query": text}, pk=key,
                                     **query, **token) if text else \
                    client.must(200, "GET", path, pk=key, **token)
                rows = answer.json["Documents"]
                found += [each["id"] for each in rows]
                assert rows and len(answer.body) <= most, len(answer.body)
                if "x-ms-continuation" not in answer.headers:
                    break
                token = {"x_ms_continuation":
                         answer.headers["x-ms-continuation"]}
            equal(found, [f"{i:02}" for i in range(len(sizes))])
    server.end()


@case("a deleted container is named by its own rid, for clients to forget it")
def _():
    server, client = prepare()
    rid = client.must(200, "GET", "/dbs/d/colls/c").json["_rid"]
    answer = client.must(204, "DELETE", "/dbs/d/colls/c")
    equal(answer.headers["x-ms-content-path"], rid)
    server.end()


@case("an etag or a continuation of a container that is gone is none of the "
      "one that takes its name")
def _():
    server, client = prepare()
    define = {"id": "c", "partitionKey": KEY}
    page = {"x_ms_max_item_count": 1}
    client.must(201, "POST", D, {"id": "2", "pk": "p"}, pk=["p"])
    old = client.must(200, "GET", D + "/1", pk=["p"]).headers["etag"]
    token = client.must(200, "GET", D, **page).headers["x-ms-continuation"]
    client.must(200, "GET", D, **page, x_ms_continuation=token)
    client.must(400, "GET", H, **page, x_ms_continuation=token)
    client.must(204, "DELETE", "/dbs/d/colls/c")
    client.must(201, "POST", "/dbs/d/colls", define)
    made = client.must(201, "POST", D, {"id": "1", "pk": "p"}, pk=["p"])
    assert made.headers["etag"] != old
    client.must(200, "GET", D + "/1", pk=["p"], if_none_match=old)
    client.must(412, "PUT", D + "/1", {"id": "1", "pk": "p"}, pk=["p"],
                if_match=old)
    client.must(412, "DELETE", D + "/1", pk=["p"], if_match=old)
    client.must(400, "GET", D, **page, x_ms_continuation=token)
    # And its own stays good, whatever becomes of container and server.
    client.must(200, "PUT", "/dbs/d/colls/c", {**define, "defaultTtl": -1})
    equal(server.stop(), (0, []))
    server.start()
    client = Client(server)
    read = client.must(200, "GET", D + "/1", pk=["p"])
    equal((read.headers["etag"], read.json["_etag"]),
          (made.headers["etag"],) * 2)
    client.must(304, "GET", D + "/1", pk=["p"],
                if_none_match=made.headers["etag"])
    client.must(200, "PUT", D + "/1", {"id": "1", "pk": "p"}, pk=["p"],
                if_match=made.headers["etag"])
    server.end()


# ---- bodies ------------------------------------------------------------------


@case("of a name that stands twice the last counts, and a byte order mark is "
      "passed over")
def _():
    server, client = prepare()
    pk = {PARTITION_KEY.replace("-", "_"): '["p"]'}
    texts = (b'{"id":"x","id":"t","pk":"q","pk":"p","a":1,"a":{"b":1,"b":2}}',
             b'\xef\xbb\xbf{"id":"t","pk":"p","a":{"b":2}}',
             b'{"id":"t","pk":"p","a":[{"b":1}],"\\u0061":{"b":2}}')
    for text in texts:
        made = client.must(200, "PUT", D + "/t", text, **pk) \
            if text != texts[0] else client.must(201, "POST", D, text, **pk)
        equal({name: made.json[name] for name in ("id", "pk", "a")},
              {"id": "t", "pk": "p", "a": {"b": 2}})
        equal(made.body.count(b'"b"'), 1)
    for text in texts:
        one = text.replace(b"\xef\xbb\xbf", b"")
        done = client.must(200, "POST", D, b'[{"operationType":"Upsert",'
                           b'"resourceBody":' + one + b'}]', **pk, **BATCH)
        equal(done.json[0]["resourceBody"]["a"], {"b": 2})
        equal(done.body.count(b'"b"'), 1)
    client.must(200, "PATCH", D + "/t",
                b'\xef\xbb\xbf[{"op":"set","path":"/n","value":1}]', **pk)
    for value, left in ((b'{"b":1,"b":2}', {"b": 2}),
                        (b'[{"b":1,"c":{"d":1,"\\u0064":2},"b":2}]',
                         [{"c": {"d": 2}, "b": 2}])):
        done = client.must(200, "PATCH", D + "/t",
                           b'[{"op":"add","op":"set","path":"/a","value":'
                           + value + b'}]', **pk)
        equal(done.json["a"], left)
        equal(done.body.count(b'"b"'), 1)
    client.must(200, "PATCH", D + "/t", b'[{"op":"set","path":"/a","value":'
                b'{"b":1,"b":2}},{"op":"remove","path":"/a/b"}]', **pk)
    equal(client.must(200, "GET", D + "/t", pk=["p"]).json["a"], {})
    equal(client.must(200, "GET", D + "/1", pk=["p"],
                      x_ms_session_token="0:-1#1,").status, 200)
    server.end()


@case("a patch in a batch is not taken in by numbers that are yet to be drawn")
def _():
    server, client = prepare()

    def batch(condition):
        return client.ask("POST", D, [
            {"operationType": "Upsert", "resourceBody": {"id": "e", "pk": "p"}},
            {"operationType": "Patch", "id": "e", "resourceBody": {
                "condition": "from c where " + condition,
                "operations": [{"op": "set", "path": "/s", "value": 1}]}},
        ], pk=["p"], **BATCH)

    first = client.must(200, "GET", D + "/1", pk=["p"]).json["_rid"]
    none = json.dumps('"00000000-0000-0000-0000-000000000000"')
    for condition, statuses in ((f"c._etag = {none}", [424, 412]),
                                (f"c._rid = '{first}'", [424, 412]),
                                (f"c._etag != {none}", [201, 200])):
        equal([each["statusCode"] for each in batch(condition).json], statuses)
    server.end()


@case("an empty condition is none, of documents, in batches and of other "
      "resources")
def _():
    server, client = prepare()
    body = {"id": "1", "pk": "p"}
    for name in ("if_match", "if_none_match"):
        none = {name: "", "pk": ["p"]}
        client.must(200, "PUT", D + "/1", body, **none)
        client.must(200, "PATCH", D + "/1",
                    [{"op": "set", "path": "/s", "value": 1}], **none)
        client.must(200, "POST", D, body, x_ms_documentdb_is_upsert="True",
                    **none)
        client.must(200, "GET", D + "/1", **none)
        member = {"if_match": "ifMatch", "if_none_match": "ifNoneMatch"}[name]
        client.must(200, "POST", D, [
            {"operationType": "Upsert", "resourceBody": body, member: ""},
            {"operationType": "Read", "id": "1", member: ""},
            {"operationType": "Delete", "id": "1", member: ""}],
            pk=["p"], **BATCH)
        client.must(201, "POST", D, body, **none)
        client.must(200, "PUT", "/dbs/d/colls/c",
                    {"id": "c", "partitionKey": KEY}, **{name: ""})
    client.must(204, "DELETE", D + "/1", pk=["p"], if_match="")
    server.end()


@case("a read of a batch or bulk whose document is the version that the client "
      "has is 304, and the whole 207")
def _():
    server, client = prepare()
    etag = client.must(200, "GET", D + "/1", pk=["p"]).json["_etag"]

    def read(**condition):
        return {"operationType": "Read", "id": "1", "partitionKey": '["p"]',
                **condition}

    for headers in ({**BATCH, "pk": ["p"]},
                    {**BATCH, "x_ms_cosmos_batch_atomic": "False"}):
        for condition in ({"ifMatch": etag}, {"ifNoneMatch": etag},
                          {"ifMatch": etag, "ifNoneMatch": '"x"'}):
            first, second = client.must(207, "POST", D, [
                read(), read(**condition)], **headers).json
            equal((first["statusCode"], second["statusCode"]), (200, 304))
            equal((second["eTag"], "resourceBody" in second), (etag, False))
        got = client.must(200, "POST", D, [
            read(ifMatch='"x"'), read(ifNoneMatch='"x"'), read(ifMatch="")],
            **headers).json
        equal([each["resourceBody"]["_etag"] for each in got], 3 * [etag])
    server.end()


@case("a batch whose answer would be too large fails by its last operation")
def _():
    server, client = prepare()
    client.must(201, "POST", D, {"id": "big", "pk": "p", "x": "x" * 1500000},
                pk=["p"])
    got = client.must(207, "POST", D, [
        {"operationType": "Create", "resourceBody": {"id": "new", "pk": "p"}},
        *9 * [{"operationType": "Read", "id": "big"}]], pk=["p"], **BATCH).json
    equal([each["statusCode"] for each in got], 9 * [424] + [413])
    client.must(404, "GET", D + "/new", pk=["p"])
    server.end()


@case("that a document to be replaced is not there is reported before what is "
      "wrong with its replacement")
def _():
    server, client = prepare()
    for body, status, sub in (
            ({"pk": "p"}, 400, 0), ({"id": 5, "pk": "p"}, 400, 0),
            (b"{", 400, 0), ([], 400, 0), (b"\x80\xff", 400, 0),
            ({"id": "1", "pk": "p", "ttl": "x"}, 400, 0),
            ({"id": "1", "pk": "q"}, 400, 1001),
            ({"id": "1", "pk": "p", "x": "x" * (2 << 20)}, 413, 0)):
        for id, wanted in (("1", (status, sub)), ("none", (404, 0))):
            answer = client.ask("PUT", D + "/" + id, body, pk=["p"])
            equal((answer.status, answer.substatus), wanted, (id, str(body)[:40]))
    # A key that does not fit is reported first: it says where to look.
    client.must(400, "PUT", D + "/none", {"id": "x"}, pk=["p", "q"])
    client.must(400, "PUT", D + "/none", {"id": "x"})
    server.end()


@case("an operation of a batch that is refused says why, alone or in whole, and "
      "what is done says nothing")
def _():
    server, client = prepare()
    bulk = {**BATCH, "x_ms_cosmos_batch_atomic": "False"}

    def one(kind, **more):
        return {"operationType": kind, "partitionKey": '["p"]', **more}

    good = one("Read", id="1")
    for operation, status, words in (
            (one("Create", resourceBody={"id": "1", "pk": "p"}), 409,
             "Entity with the specified id already exists"),
            (one("Create", resourceBody={"id": "2", "pk": "q"}), 400,
             "PartitionKey extracted from document doesn't match"),
            (one("Read", id="none"), 404,
             "Entity with the specified id does not exist"),
            (one("Delete", id="1", ifMatch='"x"'), 412, "precondition"),
            (one("Patch", id="1", resourceBody=[{"op": "remove", "path": "/x"}]),
             400, "For Operation(1)"),
            (one("Frob", id="1"), 400, "operationType")):
        for headers, beside in ((BATCH, 424), (bulk, 200)):
            key = {"pk": ["p"]} if headers is BATCH else {}
            kept, refused = client.must(207, "POST", D, [good, operation],
                                        **key, **headers).json
            equal((kept["statusCode"], refused["statusCode"]), (beside, status))
            assert words in refused["message"], refused
            equal("message" in kept, beside == 424)
    server.end()


@case("errors in a patch are reported in JSON, and a word that only begins "
      "like FROM is none")
def _():
    server, client = prepare()
    deep = "/" + "a" * 30 + "/b/c"
    for path in ('/a"b', "/a\\b", deep, '/"' * 40):
        for op in ("replace", "incr", "set"):
            got = client.ask("PATCH", D + "/1", [
                {"op": op, "path": path, "value": 1}], pk=["p"])
            if got.status == 200:
                continue
            equal(got.status, 400)
            text = got.json["message"].partition("\r\n")[0]
            assert text.startswith("Message: "), text
            equal(len(json.loads(text[9:])["Errors"]), 1)
    for condition in ("frommm where true", "fromc", "from2", "from_c", "from"):
        client.must(400, "PATCH", D + "/1", {
            "condition": condition,
            "operations": [{"op": "set", "path": "/w", "value": 1}]}, pk=["p"])
    client.must(200, "PATCH", D + "/1", {
        "condition": "FROM\tc where true",
        "operations": [{"op": "set", "path": "/w", "value": 1}]}, pk=["p"])
    server.end()


@case("a body that is too long for any request is refused like a document that "
      "is too long, and a method that nobody knows by its own word")
def _():
    server, client = prepare()
    for length in (3 << 20, 5 << 20):
        got = client.ask("POST", D, b'{"id":"x","pk":"' + b"x" * length + b'"}',
                         pk=["p"])
        equal((got.status, got.json["code"]), (413, "RequestEntityTooLarge"))
        assert got.json["message"].startswith(
            'Message: {"Errors":["Request size is too large"]}\r\nActivityId: '
            + got.headers["x-ms-activity-id"]), got.body
        for name in ("x-ms-request-charge", "x-ms-gatewayversion"):
            assert name in got.headers, name
    got = client.send("FOO", D, None, {})
    equal((got.status, got.json["code"]), (501, "NotImplemented"))
    server.end()


@case("an offer that there is none of is signed by its id, whatever that looks "
      "like")
def _():
    server, client = prepare()
    for name in ("zz", "AAAA", "a-b", "x" * 30):
        client.must(404, "GET", "/offers/" + name, rid=name)
    server.end()


@case("a replacement with another id renames its document, in the feed too, and "
      "refuses an id that is taken")
def _():
    server = Server("--test-mode")
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    client.must(201, "POST", "/dbs/d/colls", {
        "id": "c", "partitionKey": KEY,
        "changeFeedPolicy": {"retentionDuration": 10}})
    made = client.must(201, "POST", D, {"id": "a", "pk": 1}, pk=[1]).json
    client.must(201, "POST", D, {"id": "b", "pk": 1}, pk=[1])
    client.must(409, "PUT", D + "/a", {"id": "b", "pk": 1}, pk=[1])
    client.must(412, "PUT", D + "/a", {"id": "z", "pk": 1}, pk=[1],
                if_match='"x"')
    client.must(404, "PUT", D + "/none", {"id": "z", "pk": 1}, pk=[1])
    done = client.must(200, "PUT", D + "/a", {"id": "z", "pk": 1}, pk=[1],
                       if_match=made["_etag"]).json
    equal((done["id"], done["_rid"], done["_self"]),
          ("z", made["_rid"], made["_self"]))
    client.must(404, "GET", D + "/a", pk=[1])
    equal(client.must(200, "GET", D + "/z", pk=[1]).json, done)
    equal(client.must(200, "GET", "/" + made["_self"],
                      rid=made["_rid"]).json, done)
    answer = client.must(200, "POST", D, [
        {"operationType": "Replace", "id": "z",
         "resourceBody": {"id": "a", "pk": 1}},
        {"operationType": "Read", "id": "a"}], pk=[1], **BATCH)
    equal(answer.json[1]["resourceBody"]["_rid"], made["_rid"])
    answer = client.must(200, "GET", D, a_im="Incremental Feed")
    equal([each["id"] for each in answer.json["Documents"]], ["b", "a"])
    answer = client.must(
        200, "GET", D, a_im="Full-Fidelity Feed", if_none_match='"0"',
        x_ms_cosmos_changefeed_wire_format_version="2021-09-15")
    equal([(each["metadata"]["operationType"], each["current"]["id"])
           for each in answer.json["Documents"]],
          [("create", "a"), ("create", "b"), ("replace", "z"),
           ("replace", "a")])
    server.end()


@case("a token for one document does not let it take another name")
def _():
    server, client = prepare()
    client.must(201, "POST", "/dbs/d/users", {"id": "u"})
    token = client.must(201, "POST", "/dbs/d/users/u/permissions", {
        "id": "p", "permissionMode": "All", "resource": D[1:] + "/1",
        "resourcePartitionKey": ["p"]}).json["_token"]
    guest = Client(server, token=token)
    guest.must(403, "PUT", D + "/1", {"id": "2", "pk": "p"}, pk=["p"])
    guest.must(200, "PUT", D + "/1", {"id": "1", "pk": "p"}, pk=["p"])
    server.end()


@case("an item of 2 MiB may have as many names as that has room for, and all "
      "can be done with it")
def _():
    server, client = prepare()
    for docs in (D, U):
        body = {"id": "2", "pk": "p", "u": 2,
                "x": {f"{i:x}": 1 for i in range(180000)}}
        item = docs + "/2"
        client.must(201, "POST", docs, body, pk=["p"])
        equal(client.must(200, "GET", item, pk=["p"]).json["x"], body["x"])
        client.must(200, "PATCH", item,
                    [{"op": "incr", "path": "/u", "value": 1}], pk=["p"])
        equal(client.must(200, "POST", docs,
                          "SELECT VALUE c.u FROM c WHERE c.x['ff'] = 1",
                          query=True, pk=["p"]).json["Documents"], [3])
        equal([one["statusCode"] for one in client.must(
            200, "POST", docs, [{"operationType": "Upsert",
                                 "resourceBody": body}],
            pk=["p"], prefer="return=minimal", **BATCH).json], [200])
        client.must(204, "DELETE", item, pk=["p"])
    server.end()


@case("a trigger that is named is refused by every write")
def _():
    body, patch = {"id": "1", "pk": "p"}, [
        {"op": "set", "path": "/x", "value": 1}]
    hold([claim(f"{verb} {name}", 400, verb, path, sent, pk=["p"],
                words="does not exist", **{name: "t"})
          for verb, path, sent in (("POST", D, {"id": "2", "pk": "p"}),
                                   ("PUT", D + "/1", body),
                                   ("PATCH", D + "/1", patch),
                                   ("DELETE", D + "/1", None))
          for name in ("x_ms_documentdb_pre_trigger_include",
                       "x_ms_documentdb_post_trigger_include")])


@case("a page of a read feed is not longer than 4 MiB, if it has several items")
def _():
    server, client = prepare()
    for i in range(4):
        client.must(201, "POST", D, {"id": f"b{i}", "pk": "q",
                                     "x": "y" * (1500 << 10)}, pk=["q"])
    seen, more = [], {}
    while True:
        got = client.must(200, "GET", D, pk=["q"], **more)
        assert len(got.body) <= 4 << 20, len(got.body)
        seen += [one["id"] for one in got.json["Documents"]]
        if "x-ms-continuation" not in got.headers:
            break
        more = {"x_ms_continuation": got.headers["x-ms-continuation"]}
    equal(sorted(seen), ["b0", "b1", "b2", "b3"])
    server.end()


@case("names that look like rids are names")
def _():
    server, client = prepare()
    rids = client.must(200, "GET", D + "/1", pk=["p"]).json["_self"]
    _, database, _, container, _, item, _ = rids.split("/")
    client.must(200, "GET", "/" + rids, pk=["p"], rid=item)
    # Of something else that is not there; without letters that no id has.
    for mask in range(1, 64):
        strange = [str(base64.b64encode(bytes(
            mask ^ byte for byte in base64.b64decode(rid, b"+-"))), "ascii")
            for rid in (database, container, item)]
        if not any(letter in "/+" for letter in "".join(strange)):
            break
    client.must(201, "POST", "/dbs", {"id": strange[0]})
    client.must(201, "POST", f"/dbs/{strange[0]}/colls",
                {"id": strange[1], "partitionKey": KEY})
    docs = f"/dbs/{strange[0]}/colls/{strange[1]}/docs"
    client.must(201, "POST", docs, {"id": strange[2], "pk": "p"}, pk=["p"])
    path = docs + "/" + strange[2]
    client.must(200, "GET", path, pk=["p"])
    client.must(200, "PUT", path, {"id": strange[2], "pk": "p"}, pk=["p"])
    client.must(200, "PATCH", path, [{"op": "set", "path": "/x", "value": 1}],
                pk=["p"])
    client.must(204, "DELETE", path, pk=["p"])
    server.end()


@case("what exceeds a limit of the dialect is refused by the limit's name")
def _():
    def box(**more):
        return "POST", "/dbs/d/colls", {"id": "x", "partitionKey": KEY, **more}

    def unique(*keys):
        return {"uniqueKeyPolicy": {"uniqueKeys": [
            {"paths": list(paths)} for paths in keys]}}

    def asked(count):
        """A query with parameters, as .NET asks for many documents."""
        names = [f"@p{i}" for i in range(count)]
        return "POST", D, {
            "query": f"SELECT * FROM c WHERE c.id IN ({', '.join(names)})",
            "parameters": [{"name": name, "value": name} for name in names]}

    query = {"content_type": "application/query+json",
             "x_ms_documentdb_query_enablecrosspartition": "true"}
    def permission(**more):
        return "POST", users + "/u/permissions", {
            "id": "p", "permissionMode": "Read", "resource": "dbs/d/colls/c",
            **more}

    users = "/dbs/d/users"
    huge = "x" * 1_100_000
    hold([
        claim("no limit", 201, "POST", users, {"id": "u"}),
        claim("a database's id beyond a megabyte", 400, "POST", "/dbs",
              {"id": huge}, words="less than '255' characters"),
        claim("a user's id beyond a megabyte", 400, "POST", users,
              {"id": huge}, words="less than '255' characters"),
        *(claim(f"a partition key path of {len(path)} letters", 400, *box(
            partitionKey={"paths": ["/a", path, path.upper()], "version": 2,
                          "kind": "MultiHash"}),
            words="could not be accepted")
          for path in ("/" + huge, "/x" * 32768, "/" + "x" * 65536)),
        *(claim(f"a unique key path of {len(path)} letters", 400, *box(
            **unique([path])), words="could not be accepted")
          for path in ("/" + huge, "/" + "x" * 65536)),
        claim("a permission's resource", 400, *permission(resource=huge),
              words="must be a container or lie in one"),
        claim("a permission's key", 400,
              *permission(resourcePartitionKey=[huge]),
              words="longer than any key"),
        claim("a permission's key by a little", 400,
              *permission(resourcePartitionKey=["x" * 2049]), words="2048"),
        claim("a database's id", 400, "POST", "/dbs", {"id": "x" * 256},
              words="less than '255' characters"),
        claim("a user's id", 400, "POST", users, {"id": "x" * 256},
              words="less than '255' characters"),
        claim("a document's id", 400, "POST", D,
              {"id": "x" * 1024, "pk": "p"}, pk=["p"],
              words="less than '1024' characters"),
        claim("a key", 400, "POST", D, {"id": "2", "pk": "x" * 2049},
              pk=["x" * 2049], words="2048"),
        claim("a document", 413, "PUT", D + "/1",
              {"id": "1", "pk": "p", "x": "y" * (2 << 20)}, pk=["p"],
              words="Request size is too large"),
        claim("nesting", 400, "PUT", D + "/1", {
            "id": "1", "pk": "p", "x": json.loads("[" * 128 + "]" * 128)},
            pk=["p"], words="more than 128 levels of nesting"),
        claim("a batch", 413, "POST", D, [
            {"operationType": "Create", "resourceBody": {
                "id": str(i), "pk": "p", "x": "y" * (700 << 10)}}
            for i in range(3)], pk=["p"], **BATCH,
            words="Request size is too large"),
        claim("operations of a batch", 400, "POST", D,
              [{"operationType": "Read", "id": "1"}] * 101, pk=["p"], **BATCH,
              words="more operations than what is supported"),
        claim("operations of a patch", 400, "PATCH", D + "/1",
              [{"op": "incr", "path": "/n", "value": 1}] * 11, pk=["p"],
              words="can't exceed '10'"),
        claim("paths of a key", 400, *box(partitionKey={
            "paths": ["/a", "/b", "/c", "/d"], "kind": "MultiHash",
            "version": 2}), words="Too many partition key paths"),
        claim("unique keys", 400, *box(**unique(
            *([f"/u{i}"] for i in range(11)))), words="10"),
        claim("paths of a unique key", 400, *box(**unique(
            [f"/u{i}" for i in range(17)])), words="16"),
        claim("items of a page", 400, "GET", D, x_ms_max_item_count="0",
              words="x-ms-max-item-count"),
        claim("throughput", 400, *box(), x_ms_offer_throughput="300",
              words="less than required minimum throughput 400"),
        claim("seconds of a token", 400, "GET",
              users + "/u/permissions", x_ms_documentdb_expiry_seconds="18001",
              words="18000"),
        claim("a time to live", 400, "POST", D,
              {"id": "2", "pk": "p", "ttl": 2147483648}, pk=["p"],
              words="32-bit"),
        claim("a query", 400, "POST", D, "SELECT " + "1+" * (256 << 10) + "1",
              query=True, words="longer than 524288 bytes"),
        claim("joins of a query", 400, "POST", D, "SELECT VALUE 1 FROM c "
              + " ".join(f"JOIN x{i} IN c.x" for i in range(11)),
              query=True, words="The SQL query exceeded the maximum number of "
                                "joins. The allowed limit is 10."),
        claim("as many as may be", 200, "POST", D, "SELECT VALUE 1 FROM c "
              + " ".join(f"JOIN x{i} IN c.x" for i in range(10)), query=True),
        claim("parameters of a query", 400, *asked(16001), **query,
              words="more parameters than the allowed limit of 16000"),
        claim("as many as may be", 200, *asked(16000), **query),
    ])
