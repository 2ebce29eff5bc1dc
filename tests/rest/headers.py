"""headers.py -- headers that mean the same whatever is asked for: values that
are refused, where an answer came from, what a document lacks on request."""
import json

from wire import Client, Server, case, equal

D = "/dbs/d/colls/c/docs"
PK = {"pk": ["p"]}
UPSERT = {"x_ms_documentdb_is_upsert": "True"}


def prepare(*options):
    server = Server(*options)
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    client.must(201, "POST", "/dbs/d/colls",
                {"id": "c", "partitionKey": {"paths": ["/pk"]}})
    return server, client


def writes(client, **more):
    """Answers about one document, of each kind."""
    body = {"id": "1", "pk": "p", "text": "\u00e9"}
    yield client.must(201, "POST", D, body, **PK, **more)
    yield client.must(200, "POST", D, body, **PK, **UPSERT, **more)
    yield client.must(200, "PUT", D + "/1", body, **PK, **more)
    yield client.must(200, "PATCH", D + "/1", [
        {"op": "set", "path": "/n", "value": 1}], **PK, **more)
    yield client.must(200, "GET", D + "/1", **PK, **more)
    yield client.must(204, "DELETE", D + "/1", **PK, **more)


@case("values that the service refuses are refused, of headers that nothing "
      "here depends on")
def _():
    server, client = prepare()
    one = {"id": "1", "pk": "p"}
    ask = (("POST", D, one, {**PK, **UPSERT}), ("GET", D + "/1", None, PK),
           ("GET", D, None, {}), ("GET", "/dbs", None, {}))
    for name, good, bad, words in (
            ("x_ms_indexing_directive",
             ("Include", "exclude", "DEFAULT", "0", "1", "2", ""),
             ('"Invalid Value"', "3", "Includes"), "invalid"),
            ("x_ms_documentdb_content_serialization_format",
             ("JsonText", "CosmosBinary", "jsontext", "HybridRow", ""),
             ("Not a valid value", "Json"), "invalid"),
            ("x_ms_version",
             ("2014-08-21", "2015-12-16", "2016-07-11", "2018-09-17",
              "2018-12-31", "2020-07-15", "2030-01-01"),
             ("2015-01-01", "2013-08-21", "2018-12-30", "1"), "invalid"),
            ("x_ms_documentdb_responsecontinuationtokenlimitinkb",
             ("1", "500", ""), ("0", "00"), "limit specified is not large"),
            ("x_ms_documentdb_responsecontinuationtokenlimitinkb",
             (), ("-1", "x", "1.5"), "must be a positive integer")):
        for verb, path, body, more in ask:
            for value in good:
                answer = client.ask(verb, path, body, **more, **{name: value})
                assert answer.status in (200, 201), (name, value, answer.body)
            for value in bad:
                answer = client.must(400, verb, path, body, **more,
                                     **{name: value})
                assert words in answer.json["message"], answer.body
    server.end()


@case("an answer names where it came from, as the account does")
def _():
    for advertised in (None, "https://db.example.org:9000/", "http://db"):
        server, client = prepare(*(["--advertise", advertised]
                                   if advertised else []))
        base = (advertised or f"http://127.0.0.1:{server.port}").rstrip("/")
        for verb, path, body, more in (
                ("POST", D, {"id": "a b", "pk": "p"}, PK),
                ("GET", D + "/a%20b", None, PK), ("GET", "/dbs/d/", None, {}),
                ("GET", D + "/none", None, PK)):
            answer = client.ask(verb, path, body, **more)
            equal(answer.headers["content-location"], base + path)
        refused = Client(server, key="bm8=").must(401, "GET", "/dbs/d")
        assert "content-location" not in refused.headers, refused.headers
        server.end()


@case("an answer about a document says how long it is and how long it may be")
def _():
    server, client = prepare()
    for answer in writes(client):
        equal((answer.headers["x-ms-resource-quota"],
               answer.headers["x-ms-resource-usage"]),
              ("documentSize=2048;", f"documentSize={bool(answer.body):d};"))
    client.must(201, "POST", D, {"id": "1", "pk": "p", "x": "x" * 5000}, **PK)
    equal(client.must(200, "GET", D + "/1", **PK)
          .headers["x-ms-resource-usage"], "documentSize=6;")
    server.end()


@case("a document is sent without its links to a client that does not want "
      "them and wrote it so, and has them for others")
def _():
    server, client = prepare()
    links = {"_self", "_attachments"}
    without = {"x_ms_exclude_system_properties": "True"}
    for answer in writes(client, **without):
        if answer.body:
            equal(set(answer.json) & (links | {"_rid", "_etag", "_ts", "id"}),
                  {"_rid", "_etag", "_ts", "id"})
            assert "\u00e9" in json.dumps(answer.json, ensure_ascii=False)
    for more in ({}, {"x_ms_exclude_system_properties": "false"}):
        for answer in writes(client, **more):
            assert not answer.body or links <= set(answer.json), answer.body
    for written in (without, {}):
        client.must(201, "POST", D, {"id": "2", "pk": "p"}, **PK, **written)
        for read in (without, {}):
            got = set(client.must(200, "GET", D + "/2", **PK, **read).json)
            equal(got & links, set() if written and read else links)
        client.must(204, "DELETE", D + "/2", **PK)
    server.end()


@case("a new container says whether it shares its database's throughput")
def _():
    server, client = prepare()
    client.must(201, "POST", "/dbs", {"id": "s"}, x_ms_offer_throughput=400)
    key = {"partitionKey": {"paths": ["/pk"]}}
    for path, more, shares in (("/dbs/s/colls", {}, "true"),
                               ("/dbs/s/colls", {"x_ms_offer_throughput": 500},
                                None), ("/dbs/d/colls", {}, None)):
        made = client.must(201, "POST", path, {"id": f"x{len(more)}", **key},
                           **more)
        equal(made.headers.get("x-ms-share-throughput"), shares)
    server.end()
