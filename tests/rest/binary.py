"""binary.py -- documents sent in CosmosBinary, as the Rust client does.

Method: the vectors of the decoder's own test, some of which are documents that
client encoded, as bodies of requests; what is stored is the JSON they mean.
"""
import json
import os
import struct
import zlib

from wire import Client, Server, case, equal

C = "/dbs/d/colls/c"
CREATE_ONE = "817054e17f430000000002000000"  # a row of HybridRow, to its body
here = os.path.dirname(os.path.abspath(__file__))
with open(here + "/../vectors/binary-vectors.json", encoding="utf-8") as file:
    VECTORS = json.load(file)
DOCUMENTS = [(bytes.fromhex(row["bytes"]), json.loads(row["text"]))
             for row in VECTORS["taken"] if '"pk"' in row["text"]]
BINARY = {"x_ms_cosmos_supported_serialization_formats": "CosmosBinary"}


def prepare():
    server = Server()
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    client.must(201, "POST", "/dbs/d/colls",
                {"id": "c", "partitionKey": {"paths": ["/pk"], "version": 2}})
    return server, client


def own(document):
    return {name: value for name, value in document.items()
            if not name.startswith("_")}


def text(value):
    """As CosmosBinary has it, its length in four bytes."""
    return b"\xc2" + struct.pack("<I", len(value)) + value


def members(*pairs):
    """An object, its length in four bytes."""
    inside = b"".join(text(name) + value for name, value in pairs)
    return b"\xec" + struct.pack("<I", len(inside)) + inside


def hybrid(*bodies):
    """Bulk creates as .NET sends them."""
    stream = bytes.fromhex("81f0d8ff7f010a000000")
    for body in bodies:
        assert len(body) < 128
        row = bytes.fromhex(CREATE_ONE) + bytes([len(body)]) + body
        stream += bytes.fromhex("81f1d8ff7f") + struct.pack(
            "<II", len(row), zlib.crc32(row)) + row
    return stream


def batch(client, body):
    return client.ask("POST", C + "/docs", body, pk=["a"],
                      x_ms_cosmos_is_batch_request="true",
                      x_ms_cosmos_batch_atomic="true")


@case("documents in CosmosBinary are created, upserted and replaced, and "
      "answered in text")
def _():
    server, client = prepare()
    equal(len(DOCUMENTS), 3)
    for body, want in DOCUMENTS:
        path = C + "/docs/" + want["id"]
        made = client.must(201, "POST", C + "/docs", body, pk=["a"], **BINARY)
        equal(own(made.json), want)
        client.must(409, "POST", C + "/docs", body, pk=["a"], **BINARY)
        same = client.must(200, "POST", C + "/docs", body, pk=["a"],
                           x_ms_documentdb_is_upsert="true", **BINARY)
        equal(own(same.json), want)
        same = client.must(200, "PUT", path, body, pk=["a"], **BINARY)
        equal(own(same.json), want)
        found = client.must(200, "GET", path, pk=["a"], **BINARY)
        equal((own(found.json), found.body[:1]), (want, b"{"))
        client.must(404, "PUT", path, body, pk=["b"], **BINARY)
    server.end()


@case("numbers, strings and references of all forms come back as JSON has "
      "them")
def _():
    server, client = prepare()
    for row in VECTORS["taken"]:
        value = bytes.fromhex(row["bytes"])[1:]
        if b"\xc3" in value or b"\xc4" in value or b"\xc5" in value or \
                b"\xc6" in value:
            continue  # it would refer to elsewhere
        body = b"\x80" + members((b"id", text(b"v")), (b"pk", text(b"a")),
                                 (b"v", value))
        client.must(200 if row is not VECTORS["taken"][0] else 201, "POST",
                    C + "/docs", body, pk=["a"],
                    x_ms_documentdb_is_upsert="true")
        got = client.must(200, "GET", C + "/docs/v", pk=["a"]).json["v"]
        equal(got, json.loads(row["text"]))
    inside = b"\x82pk" + b"\x81a" + b"\x2c\xc3\x06" + b"\x82ab\xc4\x03\x00"
    body = b"\x80\xea" + bytes([len(inside)]) + inside
    made = client.must(201, "POST", C + "/docs", body, pk=["a"])
    equal(own(made.json), {"pk": "a", "id": "a", "ab": "pk"})
    server.end()


@case("what is not CosmosBinary is refused with the place and the reason, and "
      "the connection goes on")
def _():
    server, client = prepare()
    client.must(201, "POST", C + "/docs", {"id": "1", "pk": "a"}, pk=["a"])
    for row in VECTORS["refused"]:
        for verb, path in (("POST", "/docs"), ("PUT", "/docs/1"),
                           ("PATCH", "/docs/1")):
            got = client.must(400, verb, C + path, bytes.fromhex(row["bytes"]),
                              pk=["a"])
            equal(got.json["code"], "BadRequest")
            why = f"CosmosBinary: at byte {row['at']}, {row['why']}"
            assert why in got.json["message"], got.json
    for body in (b"\x80\xd0", b"\x80\xe0", b"\x80\x81x"):
        client.must(400, "POST", C + "/docs", body, pk=["a"])
    server.end()


@case("a document in CosmosBinary may have as much text as any, whatever its "
      "bytes")
def _():
    server, client = prepare()

    def create(id, value):
        body = b"\x80" + members((b"id", text(id)), (b"pk", text(b"a")),
                                 (b"v", value))
        return len(body), client.ask("POST", C + "/docs", body, pk=["a"])

    numbers = b"\xcb" + struct.pack("<q", 32)
    bytes_, got = create(b"long", b"\xe4" + struct.pack(
        "<I", 300000 * 9) + numbers * 300000)
    equal((bytes_ > 2 << 20, got.status), (True, 201))
    equal(client.must(200, "GET", C + "/docs/long", pk=["a"]).json["v"],
          [32] * 300000)
    room = (2 << 20) - len('{"id":"full","pk":"a","v":""}')
    for id, more, want in ((b"full", 0, 201), (b"over", 1, 413)):
        _, got = create(id, text(b"x" * (room + more)))
        equal(got.status, want)
    inside = text(b"x" * 250) + b"\xc3\x2d" * 20000
    bytes_, got = create(b"far", b"\xe4" + struct.pack("<I", len(inside)) +
                         inside)
    equal((bytes_ < 50000, got.status), (True, 413))
    server.end()


@case("a patch in CosmosBinary is applied")
def _():
    server, client = prepare()
    client.must(201, "POST", C + "/docs", {"id": "1", "pk": "a"}, pk=["a"])
    operation = members((b"op", text(b"set")), (b"path", text(b"/v")),
                        (b"value", b"\xe1\x07"))
    body = b"\x80" + members((b"operations", b"\xe1" + operation))
    got = client.must(200, "PATCH", C + "/docs/1", body, pk=["a"])
    equal(own(got.json), {"id": "1", "pk": "a", "v": [7]})
    server.end()


@case("a batch in HybridRow may have its documents in CosmosBinary")
def _():
    server, client = prepare()

    def document(id):
        return b"\x80" + members((b"id", text(id)), (b"pk", text(b"a")))

    equal(batch(client, hybrid(document(b"1"), b'{"id":"2","pk":"a"}',
                               document(b"3"))).status, 200)
    for id in "123":
        client.must(200, "GET", C + "/docs/" + id, pk=["a"])
    got = batch(client, hybrid(document(b"4"), document(b"5")[:-1]))
    equal(got.status, 400)
    assert "CosmosBinary: at byte" in got.json["message"], got.json
    client.must(404, "GET", C + "/docs/4", pk=["a"])
    server.end()
