"""tokens.py -- how long a resource token lives."""
import base64
import json
import secrets
import signal
import threading
import time

from wire import Client, Server, case, equal, eventually, web_token

C = "/dbs/d/colls/c"
P = "/dbs/d/users/u/permissions"


def prepare(server):
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    client.must(201, "POST", "/dbs/d/colls",
                {"id": "c", "partitionKey": {"paths": ["/pk"]}})
    client.must(201, "POST", "/dbs/d/users", {"id": "u"})
    made = client.must(201, "POST", P, {"id": "p", "permissionMode": "Read",
                                        "resource": "dbs/d/colls/c"})
    return client, made.json["_token"]


@case("a token lives as long as was asked for, an hour if nothing was")
def _():
    server = Server("--test-mode")
    client, token = prepare(server)
    short = client.must(200, "GET", P + "/p",
                        x_ms_documentdb_expiry_seconds=10).json["_token"]
    long = client.must(200, "GET", P, x_ms_documentdb_expiry_seconds=18000)
    long = long.json["Permissions"][0]["_token"]
    for seconds in ("9", "18001", "x", "-10", "10.5", "99999999999"):
        client.must(400, "GET", P + "/p", x_ms_documentdb_expiry_seconds=seconds)
    for ahead, want in ((0, [200, 200, 200]), (15, [403, 200, 200]),
                        (3500, [403, 200, 200]), (200, [403, 403, 200]),
                        (14000, [403, 403, 200]), (600, [403, 403, 403])):
        client.must(200, "POST", "/_runnel/clock", {"advanceMs": ahead * 1000})
        got = [Client(server, token=each).ask("GET", C)
               for each in (short, token, long)]
        equal([each.status for each in got], want)
        for each in got:
            assert each.status == 200 or ("not valid at the current time" in
                                          each.json["message"])
    server.end()


@case("a token outlives the server, and not the key")
def _():
    server = Server()
    _client, token = prepare(server)
    status, said = server.stop()
    equal((status, said), (0, []))
    server.start()
    Client(server, token=token).must(200, "GET", C)
    keys = server.keys()

    def rotate(name):
        keys[name] = base64.b64encode(secrets.token_bytes(64)).decode()
        with open(server.work + "/data/keys", "w") as file:
            json.dump(keys, file)
        server.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 30
        while Client(server, keys[name]).ask("GET", "/").status != 200:
            assert time.monotonic() < deadline

    for name in ("secondary", "primaryReadOnly", "secondaryReadOnly"):
        rotate(name)
        Client(server, token=token).must(200, "GET", C)
    rotate("primary")
    Client(server, token=token).must(401, "GET", C)
    again = Client(server, keys["primary"]).must(200, "GET", P + "/p")
    Client(server, token=again.json["_token"]).must(200, "GET", C)
    server.end()


@case("a token that names no partition key of a pair is for all that begin so")
def _():
    server = Server()
    client, _token = prepare(server)
    client.must(201, "POST", "/dbs/d/colls", {"id": "h", "partitionKey": {
        "paths": ["/a", "/b"], "kind": "MultiHash", "version": 2}})
    path = "/dbs/d/colls/h/docs"
    for a in "xy":
        for b in "12":
            client.must(201, "POST", path, {"id": "1", "a": a, "b": b},
                        pk=[a, b])
    made = client.must(201, "POST", P, {
        "id": "h", "permissionMode": "All", "resource": "dbs/d/colls/h",
        "resourcePartitionKey": ["x"]})
    mine = Client(server, token=made.json["_token"])
    mine.must(200, "GET", path + "/1", pk=["x", "1"])
    mine.must(200, "GET", path + "/1", pk=["x", "2"])
    mine.must(403, "GET", path + "/1", pk=["y", "1"])
    equal(mine.must(200, "POST", path, "SELECT * FROM c", query=True,
                    pk=["x"]).json["_count"], 2)
    mine.must(403, "POST", path, "SELECT * FROM c", query=True, pk=["y"])
    mine.must(403, "POST", path, "SELECT * FROM c", query=True)
    mine.must(403, "POST", path, {"id": "2", "a": "y", "b": "1"}, pk=["y", "1"])
    mine.must(400, "POST", path, {"id": "2", "a": "y", "b": "1"}, pk=["x", "1"])
    mine.must(201, "POST", path, {"id": "2", "a": "x", "b": "1"}, pk=["x", "1"])
    server.end()


@case("a document is granted by its id in every key, by its id in one, or by its "
      "rid alone")
def _():
    server = Server()
    client, _token = prepare(server)
    made = {pk: client.must(201, "POST", C + "/docs", {"id": "1", "pk": pk},
                            pk=[pk]).json for pk in "xy"}
    for n, (resource, more, allowed) in enumerate((
            ("dbs/d/colls/c/docs/1", {}, "xy"),
            ("dbs/d/colls/c/docs/1", {"resourcePartitionKey": ["x"]}, "x"),
            (made["y"]["_self"], {}, "y"))):
        token = client.must(201, "POST", P, {
            "id": f"d{n}", "permissionMode": "Read", "resource": resource,
            **more}).json["_token"]
        for pk in "xy":
            Client(server, token=token).must(
                200 if pk in allowed else 403, "GET", C + "/docs/1", pk=[pk])
    server.end()


@case("one link is granted to a user once; the same resource by its names and "
      "by its rids are two")
def _():
    server = Server()
    client, _token = prepare(server)
    made = client.must(201, "POST", C + "/docs", {"id": "doc", "pk": "x"},
                       pk=["x"]).json
    self = client.must(200, "GET", C).json["_self"]
    named = "dbs/d/colls/c"

    def grant(status, id, resource, pk=None, verb="POST", path=P):
        body = {"id": id, "permissionMode": "Read", "resource": resource}
        if pk:
            body["resourcePartitionKey"] = [pk]
        return client.must(status, verb, path, body).json.get("_token")

    # As Java's ResourceTokenTest does, with container, key and document.
    for name, links, pk in (
            ("c", (named, self), None), ("x", (named, self), "x"),
            ("d", (named + "/docs/doc", made["_self"]), "x")):
        for form, link in zip("nr", links):
            if name + form != "cn":  # p has it
                grant(201, name + form, link, pk)
            for again in (link, link.strip("/"), "/" + link.strip("/") + "/"):
                grant(409, "q", again, pk)
    for id in ("dn", "dr"):
        token = client.must(200, "GET", P + "/" + id).json["_token"]
        equal(Client(server, token=token).must(
            200, "GET", C + "/docs/doc", pk=["x"]).json["_rid"], made["_rid"])
    grant(409, "xn", named, None, "PUT", P + "/xn")
    grant(200, "xn", named, "x", "PUT", P + "/xn")
    grant(201, "y", named, "y")
    # A permission may take the other form where that is free.
    for resource, taken in ((self, self), (named, named)):
        grant(200, "y", resource, "y", "PUT", P + "/y")
        grant(409, "q", taken, "y")
    # Another user is another matter, and what is deleted is free.
    client.must(201, "POST", "/dbs/d/users", {"id": "v"})
    grant(201, "q", self, path="/dbs/d/users/v/permissions")
    client.must(204, "DELETE", C)
    for id in ("p", "cr", "xn", "xr", "dn", "dr", "y"):
        client.must(204, "DELETE", P + "/" + id)
    equal(client.must(200, "GET", P).json["_count"], 0)
    grant(201, "q", named)
    server.end()


@case("a token for a part of a container does not learn how much is in the "
      "whole")
def _():
    server = Server()
    client, whole = prepare(server)
    for pk in "xy":
        client.must(201, "POST", C + "/docs", {"id": "1", "pk": pk}, pk=[pk])
    parts = [client.must(201, "POST", P, {
        "id": f"p{n}", "permissionMode": "All", "resource": "dbs/d/colls/c" +
        inner, **more}).json["_token"] for n, (inner, more) in enumerate((
            ("", {"resourcePartitionKey": ["x"]}), ("/docs/1", {}),
            ("/docs/1", {"resourcePartitionKey": ["x"]})))]
    plain = client.must(200, "GET", C).json
    for token, is_shown in ((whole, True), *((part, False) for part in parts)):
        found = Client(server, token=token).must(
            200, "GET", C, x_ms_documentdb_populatequotainfo="true",
            x_ms_documentdb_populatepartitionstatistics="true")
        equal("x-ms-resource-usage" in found.headers, is_shown)
        equal("x-ms-resource-quota" in found.headers, is_shown)
        equal("statistics" in found.json, is_shown)
        found.json.pop("statistics", None)
        equal(found.json, plain)
    server.end()


@case("a permission for what is not there is kept, and its token opens nothing")
def _():
    """The SDKs' own tests make them for "a random one"."""
    server = Server()
    client, _token = prepare(server)
    client.must(201, "POST", P, {"id": "random", "permissionMode": "Read",
                                 "resource": "dbs/AQAAAA==/colls/AQAAAJ0fgTc="})
    early = client.must(201, "POST", P, {
        "id": "early", "permissionMode": "All", "resource": "dbs/d/colls/late"})
    early = Client(server, token=early.json["_token"])
    early.must(200, "GET", "/")
    early.must(403, "GET", "/dbs/d/colls/late")
    client.must(201, "POST", "/dbs/d/colls",
                {"id": "late", "partitionKey": {"paths": ["/pk"]}})
    early.must(403, "GET", "/dbs/d/colls/late")
    later = client.must(200, "GET", P + "/early").json["_token"]
    later = Client(server, token=later)
    later.must(200, "GET", "/dbs/d/colls/late")
    later.must(403, "GET", C)
    client.must(204, "DELETE", "/dbs/d/colls/late")
    client.must(201, "POST", "/dbs/d/colls",
                {"id": "late", "partitionKey": {"paths": ["/pk"]}})
    later.must(403, "GET", "/dbs/d/colls/late")
    server.end()


@case("a token cannot be used for what only an operator may do")
def _():
    server = Server("--test-mode")
    _client, token = prepare(server)
    Client(server, token=token).must(403, "GET", "/_runnel/clock")
    Client(server, server.keys()["primaryReadOnly"]).must(403, "GET",
                                                          "/_runnel/clock")
    server.end()


def wait_for_change(server, client, result):
    """Reads the feed from now on, in a thread; returns when it waits."""
    now = client.must(304, "GET", C + "/docs", a_im="Incremental feed",
                      if_none_match="*").headers["etag"]

    def read():
        result.append(client.ask("GET", C + "/docs", a_im="Incremental feed",
                                 if_none_match=now, prefer="wait=60"))

    thread = threading.Thread(target=read)
    thread.start()
    eventually(lambda: Client(server).send("GET", "/metrics").body,
               lambda text: b"\nrunnel_feed_readers 1\n" in text)
    return thread


@case("a reader that waits for a change until its token or key is good no more "
      "gets 403 or 401, and not the change")
def _():
    server = Server("--test-mode")
    client, _token = prepare(server)
    keys = server.keys()
    wish = {"id": "p", "permissionMode": "Read", "resource": "dbs/d/colls/c"}

    def rotate():
        keys["secondary"] = keys["secondaryReadOnly"]
        with open(server.work + "/data/keys", "w") as file:
            json.dump(keys, file)
        server.process.send_signal(signal.SIGHUP)
        eventually(lambda: Client(server, keys["secondary"]).ask(
            "POST", "/dbs", {"id": "e"}).status,
            lambda status: status in (201, 409))

    for end, status in (
            (lambda: None, 200),
            (lambda: client.must(204, "DELETE", P + "/p"), 403),
            (lambda: client.must(200, "PUT", P + "/p", wish), 403),
            (lambda: client.must(200, "POST", "/_runnel/clock",
                                 {"advanceMs": 20000}), 403),
            (rotate, 401)):
        token = client.ask("POST", P, wish, x_ms_documentdb_is_upsert="true",
                           x_ms_documentdb_expiry_seconds=10).json["_token"]
        holder = Client(server, keys["secondary"],
                        token if end is not rotate else None)
        result = []
        thread = wait_for_change(server, holder, result)
        end()
        client.must(201, "POST", C + "/docs",
                    {"id": secrets.token_hex(8), "pk": 1}, pk=[1])
        thread.join(60)
        equal((result[0].status, b"Documents" in result[0].body),
              (status, status == 200))
    server.end()


@case("the emulator's web tokens are taken on loopback, for documents and to "
      "read the rest; others are refused with the reason")
def _():
    server = Server()
    prepare(server)
    for token in (web_token(), web_token(key="", kid="x"),
                  web_token(begin=-9000, end=60)):
        client = Client(server, token=token)
        client.must(200, "GET", "/")
        client.must(200, "GET", "/dbs")
        client.must(200, "GET", C)
        docs = C + "/docs"
        client.must(201, "POST", docs, {"id": "w", "pk": 1}, pk=[1])
        equal(client.must(200, "POST", docs, "SELECT VALUE c.id FROM c WHERE "
                          "c.id = 'w'", query=True).json["Documents"], ["w"])
        client.must(200, "PATCH", docs + "/w",
                    [{"op": "set", "path": "/n", "value": 1}], pk=[1])
        client.must(204, "DELETE", docs + "/w", pk=[1])
        for args in (("DELETE", "/dbs/d"), ("POST", "/dbs", {"id": "e"}),
                     ("PUT", C, {"id": "c"}), ("GET", P + "/p"),
                     ("POST", "/_runnel/split", {"container": "dbs/d/colls/c",
                                                 "range": 0})):
            refused = client.must(403, *args)
            assert "account key" in refused.json["message"] or \
                refused.substatus == 0, refused.body
        equal(client.must(403, "DELETE", "/dbs/d").substatus, 5300)
    for token, why in ((web_token(end=0), "expired"),
                       (web_token(begin=900), "valid yet"),
                       (web_token(issuer="https://sts.windows.net/x"), "issuer"),
                       (web_token(key=server.keys()["primary"]), "signed"),
                       ("type=aad&ver=1.0&sig=e30.e30.e30", "header")):
        refused = Client(server, token=token).must(401, "GET", "/dbs")
        assert "not supported" in refused.json["message"] and \
            why in refused.json["message"], refused.body
    server.end()


@case("a token for a partition key reads what names it by the interval of its "
      "EPKs, and no other interval")
def _():
    """The Python SDK reads a key's feed, and the queries of a prefix, so."""
    server = Server()
    client, _token = prepare(server)
    client.must(201, "POST", "/dbs/d/colls", {"id": "h", "partitionKey": {
        "paths": ["/a", "/b"], "kind": "MultiHash", "version": 2}})
    client.must(201, "POST", "/dbs/d/colls", {"id": "s", "partitionKey": {
        "paths": ["/pk"], "kind": "Hash", "version": 2}})
    for pk in ("1", "x"):
        client.must(201, "POST", "/dbs/d/colls/s/docs", {"id": "1", "pk": pk},
                    pk=[pk])
        for a in ("Redmond", "y"):
            client.must(201, "POST", "/dbs/d/colls/h/docs",
                        {"id": "1", "a": a, "b": pk}, pk=[a, pk])
    one = "3C80B1B7310BB39F29CC4EA05BDD461"  # and E: the EPK of "1"
    town = "01620B162169497AFD85FA66E99F7376"

    def grant(id, key):
        return Client(server, token=client.must(201, "POST", P, {
            "id": id + str(len(key)), "permissionMode": "Read",
            "resource": "dbs/d/colls/" + id,
            "resourcePartitionKey": key}).json["_token"])

    def check(holder, id, start, end, count):
        """count is None: it is refused."""
        epks = {"x_ms_start_epk": start, "x_ms_end_epk": end,
                "x_ms_documentdb_partitionkeyrangeid": "0",
                "x_ms_read_key_type": "EffectivePartitionKeyRange"}
        docs = f"/dbs/d/colls/{id}/docs"
        for got in (holder.ask("GET", docs, **epks),
                    holder.ask("GET", docs, a_im="Incremental feed", **epks),
                    holder.ask("POST", docs, "SELECT * FROM c", query=True,
                               **epks)):
            equal((got.status, (got.json or {}).get("_count")),
                  (403, None) if count is None else (200, count))

    mine = grant("s", ["1"])
    check(mine, "s", one + "E", one + "F", 1)
    check(mine, "s", one.lower() + "e", one + "F", 1)
    check(mine, "s", one + "E", one + "E00", 1)
    for start, end in ((one + "D", one + "F"), (one + "E", one + "F00"),
                       (one + "F", one + "G"), ("", one + "F"),
                       (one + "E", ""), (one + "E", "FF"), ("", ""), ("x", "y"),
                       (one + "F", one + "E")):
        check(mine, "s", start, end, None)
    mine.must(403, "POST", "/dbs/d/colls/s/docs", {"id": "2", "pk": "1"},
              x_ms_start_epk=one + "E", x_ms_end_epk=one + "F")
    mine.must(403, "GET", "/dbs/d/colls/s/docs/1", x_ms_start_epk=one + "E",
              x_ms_end_epk=one + "F")
    mine = grant("h", ["Redmond"])
    check(mine, "h", town, town + "FF", 2)
    check(mine, "h", town + one + "E", town + one + "F", 1)
    check(mine, "h", town, town[:-1] + "7", None)
    mine = grant("h", ["Redmond", "1"])
    check(mine, "h", town + one + "E", town + one + "F", 1)
    check(mine, "h", town, town + "FF", None)
    server.end()
