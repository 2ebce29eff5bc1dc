"""hybrid.py -- batches in the binary form of .NET, over HTTP.

The rows are made and read here by the layout that cosmos/hybrid.h describes,
and held against tests/vectors/rest-vectors.json, so that neither side of the
server's code vouches for the other.  No live .NET SDK has been asked.
"""
import json
import os
import struct
import zlib

from wire import Client, Server, case, equal

KEY = {"paths": ["/pk"], "kind": "Hash", "version": 2}
D = "/dbs/d/colls/c/docs"
BATCH = {"x_ms_cosmos_is_batch_request": "True",
         "x_ms_cosmos_batch_ordered": "True"}
ATOMIC = {**BATCH, "x_ms_cosmos_batch_atomic": "True"}
BULK = {**BATCH, "x_ms_cosmos_batch_atomic": "False",
        "x_ms_documentdb_partitionkeyrangeid": "0"}
EACH = {**BULK, "x_ms_cosmos_batch_continue_on_error": "True"}
FIRST = {**BULK, "x_ms_cosmos_batch_continue_on_error": "False"}
TYPES = {"Create": 0, "Patch": 1, "Read": 2, "Delete": 4, "Replace": 5,
         "Upsert": 20}
HEAD = bytes.fromhex("81f0d8ff7f010a000000")


def vectors():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        "../vectors/rest-vectors.json")
    with open(path) as file:
        found = json.load(file)["hybridrow_batch"]
    return {name: bytes.fromhex(text) for name, text in found.items()
            if name.startswith(("request", "response"))}


# ---- rows --------------------------------------------------------------------


def variable(data):
    data = data if isinstance(data, bytes) else data.encode()
    size, length = b"", len(data)
    while length >= 0x80:
        size += bytes([length & 0x7f | 0x80])
        length >>= 7
    return size + bytes([length]) + data


def stream(rows):
    return HEAD + b"".join(
        b"\x81\xf1\xd8\xff\x7f" + struct.pack("<II", len(row), zlib.crc32(row))
        + row for row in rows)


def row_of(op):
    """An operation, given in the JSON form's words."""
    fields = [op.get("partitionKey"), None, op.get("id"), None,
              op.get("resourceBody")]
    row = b""
    has = 3  # type and resource type
    for i, field in enumerate(fields):
        if field is not None:
            has |= 4 << i
            row += variable(field if isinstance(field, (str, bytes))
                            else json.dumps(field))
    for token, name in ((9, "ifMatch"), (10, "ifNoneMatch")):
        if name in op:
            row += bytes([20, token]) + variable(op[name])
    if "timeToLiveInSeconds" in op:
        row += b"\x07\x0b" + struct.pack("<i", op["timeToLiveInSeconds"])
    if "minimalReturnPreference" in op:
        row += bytes([3 if op["minimalReturnPreference"] else 2, 12])
    return (b"\x81\x70\x54\xe1\x7f" + bytes([has])
            + struct.pack("<ii", TYPES[op["operationType"]], 2) + row)


def request(*ops):
    return stream([row_of(op) for op in ops])


def result(status, charge, etag=None, body=None, sub=0, after=None):
    """The row of an answer."""
    row = b"\x81\x71\x54\xe1\x7f"
    row += bytes([3 | (4 if etag else 0) | (8 if body is not None else 0)])
    row += struct.pack("<ii", status, sub)
    row += b"".join(variable(field) for field in (etag, body)
                    if field is not None)
    if after:
        row += b"\x0b\x05" + struct.pack("<I", after)
    return row + b"\x10\x06" + struct.pack("<d", charge)


def take_variable(row, at):
    size = shift = 0
    while True:
        size |= (row[at] & 0x7f) << shift
        shift += 7
        at += 1
        if row[at - 1] < 0x80:
            return row[at:at + size], at + size


def read(body):
    """The rows of an answer, every byte of it, as the JSON form has them."""
    equal(body[:10], HEAD)
    found, at = [], 10
    while at < len(body):
        equal(body[at:at + 5], b"\x81\xf1\xd8\xff\x7f")
        length, crc = struct.unpack_from("<II", body, at + 5)
        row = body[at + 13:at + 13 + length]
        at += 13 + length
        equal((len(row), zlib.crc32(row)), (length, crc))
        equal(row[:5], b"\x81\x71\x54\xe1\x7f")
        one = dict(zip(("statusCode", "subStatusCode"),
                       struct.unpack_from("<ii", row, 6)))
        here = 14
        for bit, name in ((4, "eTag"), (8, "resourceBody")):
            if row[5] & bit:
                text, here = take_variable(row, here)
                one[name] = text.decode()
        equal(row[here:here + 2], b"\x10\x06")
        one["requestCharge"], = struct.unpack_from("<d", row, here + 2)
        equal(len(row), here + 10)
        found.append(one)
    return found


def statuses(answer):
    return [one["statusCode"] for one in read(answer.body)]


def make(client, name="c", **definition):
    client.must(201, "POST", "/dbs/d/colls", {
        "id": name, "partitionKey": KEY, **definition})
    return f"/dbs/d/colls/{name}/docs"


def prepare(*options):
    server = Server(*options)
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    return server, client


# ---- cases -------------------------------------------------------------------


@case("the rows of the binary form, as they are made here, are the recorded "
      "ones")
def _():
    recorded = vectors()
    one = {"id": "b1", "pk": "p1"}
    text = json.dumps(one, separators=(",", ":"))
    equal(recorded, {
        "request_create_one_op": request(
            {"operationType": "Create", "resourceBody": text}),
        "request_replace_ifmatch": request(
            {"operationType": "Replace", "id": "b1", "resourceBody": text,
             "ifMatch": '"e0"'}),
        "request_bulk_upsert_minimal": request(
            {"operationType": "Upsert", "partitionKey": '["p1"]',
             "resourceBody": text, "minimalReturnPreference": True}),
        "response_201": stream([result(201, 6.29, '"e1"', text)]),
        "response_404_424": stream([result(424, 0), result(404, 1)]),
        "response_429": stream([result(429, 0.38, sub=3200, after=1500)]),
    })


@case("the recorded requests of .NET are served over HTTP, and answered byte "
      "by byte as the recorded answers are")
def _():
    server, client = prepare()
    make(client)
    sent = vectors()
    answer = client.must(200, "POST", D, sent["request_create_one_op"],
                         pk=["p1"], **ATOMIC)
    stored = client.must(200, "GET", D + "/b1", pk=["p1"])
    equal(answer.body, stream([result(
        201, 6.29, stored.headers["etag"], stored.body)]))
    equal({name: answer.headers[name] for name in (
        "content-type", "x-ms-request-charge", "x-ms-session-token", "lsn",
        "x-ms-alt-content-path", "x-ms-documentdb-partitionkeyrangeid")}, {
            "content-type": "application/json", "x-ms-request-charge": "6.29",
            "x-ms-session-token": "0:-1#1", "lsn": "1",
            "x-ms-alt-content-path": "dbs/d/colls/c",
            "x-ms-documentdb-partitionkeyrangeid": "0"})
    equal(int(answer.headers["content-length"]), len(answer.body))
    again = client.must(207, "POST", D, sent["request_create_one_op"],
                        pk=["p1"], **ATOMIC)
    equal(again.body, stream([result(
        409, 1, body="Entity with the specified id already exists in the "
                     "system.")]))
    missed = client.must(207, "POST", D, sent["request_replace_ifmatch"],
                         pk=["p1"], **ATOMIC)
    words = read(missed.body)[0]["resourceBody"]
    assert "one of the specified precondition is not met" in words, words
    equal(missed.body, stream([result(412, 1, body=words)]))
    done = client.must(200, "POST", D, sent["request_bulk_upsert_minimal"],
                       **EACH)
    after = client.must(200, "GET", D + "/b1", pk=["p1"])
    equal(done.body, stream([result(200, 6.29, after.headers["etag"])]))
    assert after.headers["etag"] != stored.headers["etag"]
    # The recorded 424 and 404 say nothing more; here there are words with them.
    failed = client.must(207, "POST", D, request(
        {"operationType": "Create", "resourceBody": {"id": "x", "pk": "p1"}},
        {"operationType": "Read", "id": "none"}), pk=["p1"], **ATOMIC)
    rows = read(failed.body)
    words = [one.pop("resourceBody") for one in rows]
    assert all(words), words
    equal(rows, read(sent["response_404_424"]))
    equal(float(failed.headers["x-ms-request-charge"]), 1)
    client.must(404, "GET", D + "/x", pk=["p1"])
    server.end()


OPS = [
    {"operationType": "Create", "resourceBody": {"id": "1", "pk": "p", "n": 1}},
    {"operationType": "Upsert", "resourceBody": {"id": "2", "pk": "p"}},
    {"operationType": "Upsert", "resourceBody": {"id": "1", "pk": "p", "n": 2}},
    {"operationType": "Read", "id": "1"},
    {"operationType": "Replace", "id": "1",
     "resourceBody": {"id": "1", "pk": "p", "n": 3}, "ifMatch": "*"},
    {"operationType": "Patch", "id": "1", "resourceBody": {
        "operations": [{"op": "incr", "path": "/n", "value": 1}],
        "condition": "from c where c.n = 3"}},
    {"operationType": "Patch", "id": "1",
     "resourceBody": [{"op": "set", "path": "/\u00e9", "value": "\u65e5"}]},
    {"operationType": "Read", "id": "1", "ifNoneMatch": '"x"'},
    {"operationType": "Read", "id": "1", "ifNoneMatch": "*"},
    {"operationType": "Create", "minimalReturnPreference": True,
     "resourceBody": {"id": "3", "pk": "p", "text": "y" * 300}},
    {"operationType": "Create", "minimalReturnPreference": False,
     "resourceBody": {"id": "4", "pk": "p"}},
    {"operationType": "Delete", "id": "2"},
]
DONE = [201, 201, 200, 200, 200, 200, 200, 200, 304, 201, 201, 204]
SYSTEM = ("_rid", "_self", "_etag", "_ts")


def bare(results):
    """Without what differs from one container, or moment, to another."""
    for one in results:
        body = one.pop("resourceBody", None)
        if isinstance(body, str):
            body = json.loads(body)
        if body:
            one["body"] = {name: value for name, value in body.items()
                           if name not in SYSTEM}
        one["has_etag"] = one.pop("eTag", None) is not None
        one.setdefault("subStatusCode", 0)
    return results


@case("operations of every kind in binary do and answer what they do in JSON")
def _():
    server, client = prepare()
    for i, (headers, key) in enumerate((
            (ATOMIC, {"pk": ["p"]}), (EACH, {}), (FIRST, {}))):
        here, there = (make(client, name + str(i)) for name in "bj")
        ops = [op if key else {**op, "partitionKey": '["p"]'} for op in OPS]
        binary = client.must(207, "POST", here, request(*ops), **key, **headers)
        plain = client.must(207, "POST", there, ops, **key, **headers)
        equal(bare(read(binary.body)), bare(plain.json))
        equal(statuses(binary), DONE)
        for name in ("lsn", "x-ms-request-charge", "x-ms-session-token"):
            equal(binary.headers[name], plain.headers[name], name)
        for id in "1234":
            one, other = (client.ask("GET", f"{path}/{id}", pk=["p"])
                          for path in (here, there))
            equal((one.status, other.status),
                  (404, 404) if id == "2" else (200, 200))
            for name in SYSTEM if one.status == 200 else ():
                del one.json[name], other.json[name]
            if one.status == 200:
                equal(one.json, other.json)
        lsns = [len({one["_lsn"] for one in client.must(
            200, "GET", path, a_im="Incremental Feed").json["Documents"]})
            for path in (here, there)]
        equal(lsns, [1, 1] if headers is ATOMIC else [3, 3])
    server.end()


@case("a batch in binary that fails leaves nothing, one whose operations stand "
      "alone leaves the others, and one that ends with the first failure those "
      "before it")
def _():
    ops = [{"operationType": "Create", "resourceBody": {"id": "1", "pk": "p"}},
           {"operationType": "Replace", "id": "none",
            "resourceBody": {"id": "none", "pk": "p"}},
           {"operationType": "Create", "resourceBody": {"id": "2", "pk": "p"}}]
    keyed = [{**op, "partitionKey": '["p"]'} for op in ops]
    server, client = prepare()
    for i, (sent, headers, key, wanted, left) in enumerate((
            (ops, ATOMIC, {"pk": ["p"]}, [424, 404, 424], []),
            (keyed, EACH, {}, [201, 404, 201], ["1", "2"]),
            (keyed, FIRST, {}, [201, 404, 424], ["1"]))):
        for name, body in (("b", request(*sent)), ("j", sent)):
            path = make(client, name + str(i))
            answer = client.must(207, "POST", path, body, **key, **headers)
            equal([one["statusCode"] for one in answer.json or
                   read(answer.body)], wanted)
            equal([one["id"] for one in client.must(
                200, "GET", path).json["Documents"]], left)
        words = read(client.must(207, "POST", path, request(sent[1]), **key,
                                 **headers).body)[0]["resourceBody"]
        assert "Entity with the specified id does not exist" in words, words
    server.end()


@case("errors of a whole batch in binary are reported in JSON, which .NET "
      "reads with any failure")
def _():
    server, client = prepare()
    make(client)
    one = {"operationType": "Create", "resourceBody": {"id": "1", "pk": "p"}}
    for ops, status, words in (
            ([], 400, "Batch request has no operations."),
            ([{"operationType": "Read", "id": "1"}] * 101, 400,
             "Batch request has more operations than what is supported."),
            ([{**one, "partitionKey": '["q"]'}], 400,
             "different partition key value than the request."),
            ([{**one, "resourceBody": {"id": "1", "pk": "p",
                                       "x": "y" * (2 << 20)}}], 413,
             "Request size is too large")):
        answer = client.must(status, "POST", D, request(*ops), pk=["p"],
                             **ATOMIC)
        assert words in answer.json["message"], answer.body
        equal(answer.headers["content-type"], "application/json")
    equal(statuses(client.must(200, "POST", D, request(
        *[{"operationType": "Upsert", "resourceBody": {"id": str(i), "pk": "p"}}
          for i in range(100)]), pk=["p"], **ATOMIC)), [201] * 100)
    server.end()


@case("the time to live that is sent with an operation is its document's, in "
      "JSON and in binary")
def _():
    server, client = prepare("--test-mode")
    for name in "bj":
        path = make(client, name, defaultTtl=-1)

        def run(status, *ops, **more):
            sent = list(ops) if name == "j" else request(*ops)
            answer = client.must(status, "POST", path, sent, pk=["p"],
                                 **ATOMIC, **more)
            return answer.json or [
                {**one, "resourceBody": json.loads(one["resourceBody"])}
                if one["statusCode"] < 300 else one
                for one in read(answer.body)]

        def write(kind, id, seconds, **members):
            return {"operationType": kind, "id": id,
                    "timeToLiveInSeconds": seconds,
                    "resourceBody": {"id": id, "pk": "p", **members}}

        done = run(200, write("Create", "1", 5),
                   write("Create", "2", 5, ttl=50),
                   write("Create", "3", -1, ttl=5), write("Upsert", "4", 50),
                   write("Upsert", "4", 5, x={}), write("Upsert", "5", 5),
                   write("Replace", "5", 50, ttl=5))
        equal([one["resourceBody"]["ttl"] for one in done],
              [5, 5, -1, 50, 5, 5, 50])
        client.must(200, "POST", "/_runnel/clock", {"advanceMs": 6000})
        equal(sorted(one["id"] for one in client.must(
            200, "GET", path).json["Documents"]), ["3", "5"])
        for bad in (0, -2):
            failed = run(207, write("Create", "6", bad))[0]
            equal(failed["statusCode"], 400)
        failed = run(207, {"operationType": "Patch", "id": "5",
                           "timeToLiveInSeconds": 5, "resourceBody": [
                               {"op": "set", "path": "/x", "value": 1}]})[0]
        equal(failed["statusCode"], 400)
        # Of what is no object it makes none.
        for body in ("[]", "5", '"}"', '{"id":"6","pk":"p"', "}", "{ }",
                     '{"id":"6","pk":"p",}', '{"id":"6","pk":"p"}}'):
            if name == "b":
                failed = run(207, {"operationType": "Create",
                                   "timeToLiveInSeconds": 5,
                                   "resourceBody": body})[0]
                equal(failed["statusCode"], 400)
    for bad in ("5", 1.5, 1 << 31, [], True):
        answer = client.must(400, "POST", path, [write("Create", "6", bad)],
                             pk=["p"], **ATOMIC)
        assert "'timeToLiveInSeconds'" in answer.json["message"]
    run(200, write("Create", "6", None))
    assert "ttl" not in client.must(200, "GET", path + "/6", pk=["p"]).json
    server.end()
