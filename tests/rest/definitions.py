"""definitions.py -- what a container's definition may say, and how it is shown."""
import time

from wire import Client, Server, case, equal

COLLS = "/dbs/d/colls"
KEY = {"partitionKey": {"paths": ["/pk"]}}


def prepare(*options):
    server = Server(*options)
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    return server, client


@case("the kinds of indexes of a path are kept, and shown to clients before "
      "2018-12-31 only")
def _():
    server, client = prepare()
    old, new = {"x_ms_version": "2017-02-22"}, {"x_ms_version": "2018-12-31"}
    bare = [{"path": "/*"}, {"path": "/a/?"}]
    rich = [{**bare[0], "indexes": [{"kind": "Range", "dataType": "Number",
                                     "precision": -1}]}, bare[1]]
    body = {"id": "c", **KEY, "indexingPolicy": {"includedPaths": rich}}
    for verb, path, status in (("POST", COLLS, 201),
                               ("PUT", COLLS + "/c", 200)):
        for sent in (new, old):
            if verb == "PUT" or sent is new:
                client.must(status, verb, path, body, **sent)
            for version, wanted in ((old, rich), (new, bare)):
                answers = [client.must(200, "GET", COLLS + "/c", **version).json]
                for verb2, text in (("GET", None), ("POST", "SELECT * FROM c")):
                    answers += client.must(
                        200, verb2, COLLS, text, query=bool(text),
                        **version).json["DocumentCollections"]
                equal([each["indexingPolicy"]["includedPaths"]
                       for each in answers], 3 * [wanted])
    server.end()


@case("a spatial index names a shape at least, and serves all")
def _():
    server, client = prepare()
    for id, types in (("a", ["Point"]), ("b", ["Polygon", "LineString"])):
        made = client.must(201, "POST", COLLS, {
            "id": id, **KEY, "indexingPolicy": {"spatialIndexes": [
                {"path": "/l/*", "types": types}]}}).json
        [index] = made["indexingPolicy"]["spatialIndexes"]
        equal((index["path"], sorted(index["types"])),
              ("/l/*", ["LineString", "MultiPolygon", "Point", "Polygon"]))
        client.must(200, "PUT", COLLS + "/" + id, made)
    for bad in ({}, {"types": []}, {"types": None}, {"types": ["Circle"]}):
        client.must(400, "POST", COLLS, {
            "id": "x", **KEY, "indexingPolicy": {"spatialIndexes": [
                {"path": "/l/*", **bad}]}})
    server.end()


@case("a container names client encryption keys that are there; a key says when "
      "it was created, whatever becomes of it")
def _():
    server, client = prepare("--test-mode")
    keys = "/dbs/d/clientencryptionkeys"
    key = {"id": "k", "encryptionAlgorithm": "AEAD_AES_256_CBC_HMAC_SHA256",
           "wrappedDataEncryptionKey": "x", "keyWrapMetadata": {}}

    def make(status, id, key):
        return client.must(status, "POST", COLLS, {
            "id": id, **KEY, "clientEncryptionPolicy": {
                "policyFormatVersion": 1, "includedPaths": [
                    {"path": "/s", "clientEncryptionKeyId": key,
                     "encryptionType": "Deterministic", "encryptionAlgorithm":
                     "AEAD_AES_256_CBC_HMAC_SHA256"}]}}).json

    refused = make(400, "c", "k")
    assert "ClientEncryptionKey with id '[k]' does not exist." in \
        refused["message"], refused
    made = client.must(201, "POST", keys, {**key, "createTimestamp": 5}).json
    equal(made["createTimestamp"], made["_ts"])
    make(201, "c", "k")
    make(400, "e", 5)
    client.must(200, "POST", "/_runnel/clock", {"advanceMs": 60000})
    for sent in (made, key):
        again = client.must(200, "PUT", keys + "/k", sent).json
        equal(again["createTimestamp"], made["_ts"])
        assert again["_ts"] >= made["_ts"] + 60, again
    server.end()


@case("members of a definition that nobody knows are kept")
def _():
    server, client = prepare()
    strange = {"x": {"y": [1, None, "\u00e9"]}, "dataMaskingPolicy": {"a": 1},
               "materializedViewDefinition": {"sourceCollectionId": "s"}}
    made = client.must(201, "POST", COLLS, {"id": "c", **KEY, **strange}).json
    for answer in (made, client.must(200, "GET", COLLS + "/c").json,
                   client.must(200, "PUT", COLLS + "/c", made).json):
        equal({name: answer[name] for name in strange}, strange)
    server.end()


@case("documents live from the time that a property of theirs says, if the "
      "container names one")
def _():
    server, client = prepare("--test-mode")
    body = {"id": "c", **KEY, "defaultTtl": 100, "ttlPropertyPath": "/made/at"}
    client.must(400, "POST", COLLS, {**body, "defaultTtl": None})
    client.must(201, "POST", COLLS, body)
    docs, now = COLLS + "/c/docs", int(time.time())

    def put(id, **more):
        client.must(201, "POST", docs, {"id": id, "pk": 1, **more}, pk=[1])

    put("default")
    put("early", made={"at": now - 50})
    put("past", made={"at": now - 5000})
    put("late", made={"at": now + 200})
    put("short", made={"at": now}, ttl=20)
    put("never", made={"at": now - 5000}, ttl=-1)
    put("text", made={"at": "now"})
    put("moved", made={"at": now})
    client.must(200, "PATCH", docs + "/moved",
                [{"op": "set", "path": "/made/at", "value": now + 500}], pk=[1])

    def there():
        return {each["id"] for each in client.must(
            200, "GET", docs, pk=[1]).json["Documents"]}

    alive = {"default", "early", "late", "short", "never", "text", "moved"}
    for seconds, gone in ((5, set()), (25, {"short"}), (30, {"early"}),
                          (50, {"default", "text"}), (150, set()),
                          (80, {"late"}), (400, {"moved"})):
        client.must(200, "POST", "/_runnel/clock", {"advanceMs": seconds * 1000})
        alive -= gone
        equal(there(), alive, seconds)
    # Without the path it is the time of the last write again.
    client.must(200, "PUT", COLLS + "/c", {**body, "ttlPropertyPath": None})
    put("new", made={"at": now})
    equal(there(), {"never", "new"})
    server.end()
