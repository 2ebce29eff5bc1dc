# resume.py -- a client that merges ranges by itself goes on where it stopped.
#
# Method: documents whose keys are of every kind, in four ranges.  A model of
# the client: it merges the ranges' rows by ORDER BY, stops after a row, and
# asks each range again with the resume filter that .NET sends, which depends on
# whether the range lies before the last row's, after it, or is that one.  What
# comes must be the rows behind that row, each once.  The order of arrays and
# objects is computed here once more, from the description of the hash.
import base64
import functools
import struct
import time

from wire import Container, case, forget

RANGE = "x-ms-documentdb-partitionkeyrangeid"
POLICY = {
    "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
    "indexingPolicy": {"compositeIndexes": [
        [{"path": "/n", "order": "ascending"},
         {"path": "/m", "order": "ascending"}],
        [{"path": "/n", "order": "ascending"},
         {"path": "/m", "order": "descending"}]]},
}
MASK = (1 << 64) - 1
NONE = object()  # undefined


# ---- the hash of arrays and objects ------------------------------------------


def murmur(data, seed):
    h1, h2 = seed
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F

    def turn(x, n):
        return ((x << n) | (x >> (64 - n))) & MASK

    def first(k):
        return turn(k * c1 & MASK, 31) * c2 & MASK

    def second(k):
        return turn(k * c2 & MASK, 33) * c1 & MASK

    def finish(h):
        h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD & MASK
        h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 & MASK
        return h ^ h >> 33

    whole = len(data) // 16 * 16
    for i in range(0, whole, 16):
        k1, k2 = struct.unpack_from("<QQ", data, i)
        h1 = (turn(h1 ^ first(k1), 27) + h2) * 5 + 0x52DCE729 & MASK
        h2 = (turn(h2 ^ second(k2), 31) + h1) * 5 + 0x38495AB5 & MASK
    k1, k2 = struct.unpack("<QQ", data[whole:].ljust(16, b"\0"))
    h1 ^= first(k1) ^ len(data)
    h2 ^= second(k2) ^ len(data)
    h1 = h1 + h2 & MASK
    h2 = h2 + h1 & MASK
    h1, h2 = finish(h1), finish(h2)
    h1 = h1 + h2 & MASK
    return h1, h2 + h1 & MASK


ROOT = (0xBFC2359EAFC0E2B7, 0x8846E00284C4CF1F)
WORDS = {
    None: (0x1380F68BB3B0CFE4, 0x156C918BF564EE48),
    False: (0xC1BE517FE893B40C, 0xE9FC8A4C531CD0DD),
    True: (0xF86D4ABF9A412E74, 0x788488365C8A985D),
}
STRING = (0x61F53F0A44204CFB, 0x09481BE8EF4B56DD)
ARRAY = (0xFA573B014C4DC18E, 0xA014512C858EB115)
OBJECT = (0x77B285AC511AEF30, 0x3DCF187245822449)
INDEX = 0x5B1CC3178BD9C593FE057204216DB999
NAME = (0xC915DDE058492A8A, 0x7C8BE2EBA72E4634)
NUMBER = (0x2400E8B894CE9C2A, 0x790BE1EABD7B9481)


def mix(hash, seed):
    return murmur(struct.pack("<QQ", *hash), seed)


def hashed(v, seed=ROOT):
    if v is None or isinstance(v, bool):
        return mix(WORDS[v], seed)
    if isinstance(v, str):
        return murmur(v.encode(), mix(STRING, seed))
    if isinstance(v, (int, float)):  # small ones only
        return murmur(struct.pack("<dH", float(v), 0), mix(NUMBER, seed))
    if isinstance(v, list):
        h = mix(ARRAY, seed)
        for i, item in enumerate(v):
            at = INDEX + i
            h = mix(hashed(item, (at & MASK, at >> 64)), h)
        return h
    h, low, high = mix(OBJECT, seed), 0, 0
    for name, value in v.items():
        one = hashed(value, murmur(name.encode(), mix(STRING, NAME)))
        low, high = low ^ one[0], high ^ one[1]
    return mix((low, high), h) if low or high else h


# ---- the model ---------------------------------------------------------------


def rank(v):
    """A key of ORDER BY as something that compares."""
    if v is NONE:
        return (0,)
    if v is None:
        return (1,)
    if isinstance(v, bool):
        return (2, v)
    if isinstance(v, (int, float)):
        return (3, v)
    if isinstance(v, str):
        return (4, v.encode("utf-16-be"))
    return (5 if isinstance(v, list) else 6, struct.pack("<QQ", *hashed(v)))


def resume_value(v):
    if v is NONE:
        return []
    if isinstance(v, (list, dict)):
        low, high = struct.unpack("<qq", struct.pack("<QQ", *hashed(v)))
        return {"type": "array" if isinstance(v, list) else "object",
                "low": low, "high": high}
    return v


class Row:
    def __init__(self, json, range, keys):
        self.id, self.rid, self.range = json["payload"], json["_rid"], range
        items = json["orderByItems"]
        self.keys = [item.get("item", NONE) for item in items]
        self.number = rid_number(self.rid)
        assert len(self.keys) == keys


def rid_number(rid):
    raw = base64.b64decode(rid.replace("-", "/"))
    return int.from_bytes(raw[-8:], "little")


class Order:
    """One ORDER BY, as the model compares its rows."""

    def __init__(self, *keys, where="true"):
        self.signs = [-1 if "DESC" in key else 1 for key in keys]
        paths = [key.split()[0] for key in keys]
        items = ", ".join('{"item": %s}' % path for path in paths)
        self.text = (
            f"SELECT c._rid, [{items}] AS orderByItems, c.id AS payload FROM c "
            f"WHERE ({where}) ORDER BY {', '.join(keys)}")

    def compare_keys(self, a, b):
        for sign, x, y in zip(self.signs, a, b):
            x, y = rank(x), rank(y)
            if x != y:
                return sign if x > y else -sign
        return 0

    def compare(self, a, b):
        """Within one range."""
        found = self.compare_keys(a.keys, b.keys)
        return found or self.signs[0] * ((a.number > b.number) -
                                         (a.number < b.number))

    def merged(self, ranges):
        """As the client merges: by keys, then by range, then as they came."""
        rows = [row for rows in ranges for row in rows]
        return sorted(rows, key=functools.cmp_to_key(
            lambda a, b: self.compare_keys(a.keys, b.keys) or
            a.range - b.range or self.compare(a, b)))


VALUES = [NONE, None, False, True, -3, 0, 1, 1, 1, 2.5, "", "a", "a", "b",
          "\U0001F600", "\uFFFD", "x" * 300, "x" * 300 + "y", [], [1], [2],
          [1, 2], ["a"], [[]], [{}], {}, {"a": 1}, {"a": 2}, {"b": 1},
          {"a": 1, "b": [None]}, [1], {"a": 1}]


def fill(server, name, count, **more):
    c = Container(server, "q", name, {**POLICY, **more}, throughput=40000)
    c.ranges = sorted(
        server.send("GET", c.path + "/pkranges").json["PartitionKeyRanges"],
        key=lambda range: range["minInclusive"])
    for n in range(count):
        document = {"id": f"d{n * 7 % count}", "pk": f"p{n % 40}"}
        for key, value in (("n", VALUES[n % len(VALUES)]),
                           ("m", VALUES[n * 5 % 11])):
            if value is not NONE:
                document[key] = value
        c.write(document, [document["pk"]])
    return c


def ask(c, order, range, resume=None, size=1000, token=None):
    headers = {RANGE: c.ranges[range]["id"], "x-ms-max-item-count": size,
               "Content-Type": "application/query+json",
               "x-ms-documentdb-isquery": "True",
               "x-ms-documentdb-populatequerymetrics": "True"}
    if token:
        headers["x-ms-continuation"] = token
    body = {"query": order.text}
    if resume:
        body["resumeFilter"] = resume
    return c.server.send("POST", c.path + "/docs", body,
                         {k: str(v) for k, v in headers.items()})


def read(c, order, range, resume=None, size=1000, token=None, change=forget):
    """All rows of a range from there on, page by page."""
    rows = []
    while len(rows) <= 1000:
        got = ask(c, order, range, resume, size, token)
        assert got.status == 200, got.text
        rows += [Row(row, range, len(order.signs))
                 for row in got.json["Documents"]]
        token = got.headers.get("x-ms-continuation")
        if not token:
            return rows
        token = change(token)
    raise AssertionError("it does not end")


def filter_for(row, range):
    """What .NET sends to a range when it goes on behind a row."""
    resume = {"value": [resume_value(key) for key in row.keys],
              "exclude": range < row.range}
    if range == row.range:
        resume["rid"] = row.rid
    return resume


def resumed(c, order, row, **more):
    found = []
    for range, _ in enumerate(c.ranges):
        rows = read(c, order, range, filter_for(row, range), **more)
        if range == row.range:  # the client skips what it has
            assert rows[0].rid == row.rid
            rows = rows[1:]
        found.append(rows)
    return [each.id for each in order.merged(found)]


def check(c, order, step):
    ranges = [read(c, order, range) for range, _ in enumerate(c.ranges)]
    for rows in ranges:
        best = sorted(rows, key=functools.cmp_to_key(order.compare))
        assert [row.id for row in rows] == [row.id for row in best], order.text
    rows = order.merged(ranges)
    ids = [row.id for row in rows]
    for i in range(0, len(rows), step):
        got = resumed(c, order, rows[i])
        assert got == ids[i + 1:], (order.text, rows[i].keys)
    got = resumed(c, order, rows[len(rows) // 3], size=3)
    assert got == ids[len(rows) // 3 + 1:], order.text
    return ranges


ORDERS = [(Order("c.n"), 2), (Order("c.n DESC"), 3),
          (Order("c.n", "c.m"), 9), (Order("c.n DESC", "c.m DESC"), 9),
          (Order("c.n", "c.m DESC"), 9), (Order("c.n DESC", "c.m"), 9),
          (Order("c.n", where="c.n >= 1 OR IS_ARRAY(c.n)"), 9)]


def make_index(c, *paths):
    body = {"container": c.path.strip("/"), "paths": list(paths)}
    assert c.server.send("POST", "/_runnel/index", body).status == 204
    end = time.monotonic() + 60
    while True:
        got = c.server.send("POST", "/_runnel/explain", {
            "container": c.path.strip("/"), "query": "SELECT * FROM c"})
        if all(x["state"] == "complete" for x in got.json["indexes"]):
            return
        assert time.monotonic() < end, got.text
        time.sleep(0.02)


def add_cases(server):
    @case
    def a_resume_filter_goes_on_behind_every_row_of_several_ranges():
        c = fill(server, "resumed", 96)
        assert len(c.ranges) == 4
        for order, step in ORDERS:
            check(c, order, step)

    @case
    def a_resume_filter_goes_on_along_an_index():
        c = fill(server, "resumed_indexed", 96)
        make_index(c, "/n")
        make_index(c, "/n ASC", "/m ASC")
        make_index(c, "/n ASC", "/m DESC")
        for order, step in ORDERS:
            check(c, order, 2 * step + 1)
            got = server.send("POST", "/_runnel/explain", {
                "container": c.path.strip("/"), "query": order.text})
            assert got.json["access"] == "order" or "WHERE (c.n" in order.text

    @case
    def a_resumed_page_reads_no_more_than_the_first():
        c = Container(server, "q", "resumed_far", POLICY)
        c.ranges = [{"id": "0"}]
        for n in range(400):
            c.write({"id": f"i{n}", "pk": "p", "n": n}, ["p"])
        make_index(c, "/n")
        for order in (Order("c.n"), Order("c.n DESC")):
            rows = read(c, order, 0)
            first = ask(c, order, 0, size=10).metrics()
            for exclude, rid in ((True, False), (False, False), (False, True)):
                far = filter_for(rows[350], 0)
                far["exclude"] = exclude
                if not rid:
                    del far["rid"]
                got = ask(c, order, 0, far, size=10)
                want = [row.id for row in rows[350 + exclude:][:10]]
                assert [x["payload"] for x in got.json["Documents"]] == want
                assert (got.metrics()["retrievedDocumentCount"] <=
                        first["retrievedDocumentCount"] + 1), got.headers

    @case
    def of_a_continuation_and_a_resume_filter_the_later_place_counts():
        c = fill(server, "resumed_both", 96)
        for order, _ in ORDERS[:3]:
            rows = read(c, order, 1)
            for size in (4, 13):
                got = ask(c, order, 1, size=size)
                token = forget(got.headers["x-ms-continuation"])
                for at in (0, size - 1, size, len(rows) - 1):
                    found = read(c, order, 1, filter_for(rows[at], 1),
                                 token=token)
                    want = rows[max(at, size):]
                    assert [x.id for x in found] == [x.id for x in want], at
        # A key that is too long for a token, which has its beginning only.
        long = Container(server, "q", "resumed_long", POLICY)
        long.ranges = [{"id": "0"}]
        for n in range(12):
            long.write({"id": f"i{n}", "pk": "p", "n": "x" * 900 + chr(97 + n)},
                       ["p"])
        order = Order("c.n")
        rows = read(long, order, 0, size=5)
        assert [row.id for row in rows] == [f"i{n}" for n in range(12)]
        token = ask(long, order, 0, size=5).headers["x-ms-continuation"]
        found = read(long, order, 0, filter_for(rows[4], 0), 2, forget(token))
        assert [row.id for row in found] == [f"i{n}" for n in range(5, 12)]

    @case
    def a_resume_filter_works_under_distinct_top_and_offset():
        c = Container(server, "q", "resumed_shapes", POLICY)
        for n in range(60):
            c.write({"id": f"i{n}", "pk": "p", "n": n % 20, "m": n}, ["p"])

        def rows(text, size, **resume):
            found, token = [], None
            while len(found) <= 100:
                body = {"query": text}
                if resume:
                    body["resumeFilter"] = resume
                more = {"x-ms-continuation": token} if token else {}
                got = server.send("POST", c.path + "/docs", body, {
                    "Content-Type": "application/query+json",
                    "x-ms-documentdb-isquery": "True",
                    "x-ms-documentdb-partitionkey": '["p"]',
                    "x-ms-max-item-count": str(size), **more})
                assert got.status == 200, got.text
                found += got.json["Documents"]
                token = got.headers.get("x-ms-continuation")
                if not token:
                    return found
                token = forget(token)
            raise AssertionError("it does not end")

        for size in (100, 3):
            text = "SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n"
            for at in range(20):
                for exclude in (False, True):
                    got = rows(text, size, value=[at], exclude=exclude)
                    assert got == list(range(at + exclude, 20)), got
            text = "SELECT DISTINCT VALUE c.n FROM c ORDER BY c.m DESC"
            got = rows(text, size, value=[49], exclude=True)
            assert got == list(range(8, -1, -1)), got
            text = "SELECT TOP 7 VALUE c.m FROM c ORDER BY c.m DESC"
            got = rows(text, size, value=[30], exclude=False)
            assert got == list(range(30, 23, -1)), got
            text = "SELECT VALUE c.m FROM c ORDER BY c.m OFFSET 2 LIMIT 9"
            got = rows(text, size, value=[40], exclude=True)
            assert got == list(range(43, 52)), got

    @case
    def a_resume_filter_that_is_none_is_refused():
        c = Container(server, "q", "resumed_badly", POLICY)
        one, two = Order("c.n").text, Order("c.n", "c.m").text
        rid = c.write({"id": "i", "pk": "p", "n": 1}, ["p"])["_rid"]
        owner = server.send("GET", c.path).json["_rid"]
        for text, resume in (
                (one, "nonsense"), (one, 5), (one, []), (one, {}),
                (one, {"value": 5}), (one, {"value": []}),
                (one, {"value": [1, 2]}), (two, {"value": [1]}),
                (one, {"value": [[1]]}), (one, {"value": [{}]}),
                (one, {"value": [{"type": "array", "low": 1}]}),
                (one, {"value": [{"type": "set", "low": 1, "high": 2}]}),
                (one, {"value": [{"type": "array", "low": 1.5, "high": 2}]}),
                (one, {"value": [{"type": "array", "low": "1", "high": 2}]}),
                (one, {"value": [{"type": "array", "low": 1 << 63, "high": 2}]}),
                (one, {"value": [1], "rid": 7}),
                (one, {"value": [1], "rid": "x"}),
                (one, {"value": [1], "rid": owner}),
                (one, {"value": [1], "exclude": "no"}),
                ("SELECT * FROM c", {"value": [1]}),
                ("SELECT VALUE COUNT(1) FROM c", {"value": [1]})):
            got = server.send("POST", c.path + "/docs", {
                "query": text, "resumeFilter": resume}, {
                    "Content-Type": "application/query+json",
                    "x-ms-documentdb-isquery": "True",
                    "x-ms-documentdb-partitionkey": '["p"]'})
            assert got.status == 400, (text, resume, got.text)
            assert "resumeFilter" in got.text, got.text
        for resume in (None, {"value": [1], "rid": rid, "exclude": False},
                       {"value": [1], "rid": None}, {"value": [[]]}):
            got = server.send("POST", c.path + "/docs", {
                "query": one, "resumeFilter": resume}, {
                    "Content-Type": "application/query+json",
                    "x-ms-documentdb-isquery": "True",
                    "x-ms-documentdb-partitionkey": '["p"]'})
            assert got.status == 200, (resume, got.text)
            assert len(got.json["Documents"]) == 1, (resume, got.text)
