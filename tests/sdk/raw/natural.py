# natural.py -- without ORDER BY documents come as they were created.
#
# Method: documents whose ids are in no order, in four ranges; the model keeps
# them as they were written.  Every access path, the read feed among them, must
# give them range by range and as written within each, in pages of any size,
# while ranges split and documents come and go.  What has more than 10,000
# documents is read in the order of keys; whichever order the first page had,
# the others have too.
import json
import random

from resume import make_index
from wire import Container, case, forget, open_token

HASH = {"partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}}
RANGE = "x-ms-documentdb-partitionkeyrangeid"
MANY = 10000


class Written:
    """A container and its documents, as they were written."""

    def __init__(self, server, name, count, throughput=40000):
        self.c = Container(server, "q", name, HASH, throughput=throughput)
        self.server = server
        self.dice = random.Random(7)
        self.documents = []
        self.names = self.dice.sample(range(10000), count)
        for n, name in enumerate(self.names):
            self.write(f"d{name}", f"p{n % 30}", n)
        self.find_ranges()

    def write(self, id, key, n):
        document = {"id": id, "pk": key, "n": n % 5, "two": [1, 2]}
        self.documents.append(self.c.write(document, [key]))

    def find_ranges(self):
        """The range of each document, by what the ranges say."""
        ranges = self.server.send("GET", self.c.path + "/pkranges").json
        self.ranges = sorted(ranges["PartitionKeyRanges"],
                             key=lambda range: range["minInclusive"])
        self.at = {}
        for n, range in enumerate(self.ranges):
            for id in self.ids(**{RANGE: range["id"]}):
                self.at[id] = n

    def expected(self, wanted=lambda document: True):
        some = [d for d in self.documents if wanted(d)]
        return [d["id"] for d in sorted(some, key=lambda d: self.at[d["id"]])]

    def ids(self, text="SELECT VALUE c.id FROM c", size=1000, key=None,
            between=lambda: None, change=forget, **headers):
        found = []
        for page in self.c.pages(text, size, change=change, key=key, **headers):
            found += page.json["Documents"]
            between()
        return found

    def feed(self, size, between=lambda: None, **headers):
        found, token = [], None
        while True:
            more = {"x-ms-continuation": token} if token else {}
            got = self.server.send("GET", self.c.path + "/docs", None, {
                "x-ms-max-item-count": str(size), **more, **headers})
            assert got.status == 200, got.text
            found += [d["id"] for d in got.json["Documents"]]
            token = got.headers.get("x-ms-continuation")
            if not token:
                return found
            between()

    def access(self, text):
        return self.server.send("POST", "/_runnel/explain", {
            "container": self.c.path.strip("/"), "query": text}).json["access"]


def by_batches(w, ids, operation):
    for n in range(0, len(ids), 100):
        batch = [{"operationType": operation, "id": id} if operation == "Delete"
                 else {"operationType": operation,
                       "resourceBody": {"id": id, "pk": "p"}}
                 for id in ids[n:n + 100]]
        got = w.server.send("POST", w.c.path + "/docs", batch, {
            "x-ms-cosmos-is-batch-request": "True",
            "x-ms-cosmos-batch-atomic": "True",
            "x-ms-documentdb-partitionkey": '["p"]'})
        assert got.status == 200, got.text


def add_cases(server):
    @case
    def documents_come_as_they_were_created_whichever_way_they_are_found():
        w = Written(server, "created", 300)
        assert len(w.ranges) == 4
        make_index(w.c, "/n")
        text = "SELECT VALUE c.id FROM c"
        some = [f"d{name}" for name in w.names[::7]]
        keys = ["p3", "p7", "p21"]
        for where, access, wanted in (
                ("", "scan", lambda d: True),
                (" WHERE c.two[0] = 1", "scan", lambda d: True),
                (" WHERE c.pk IN ('p3', 'p7', 'p21')", "partition keys",
                 lambda d: d["pk"] in keys),
                (f" WHERE c.pk IN ('p0', 'p7', 'p14', 'p21') AND c.id IN "
                 f"({', '.join(repr(id) for id in some)})", "points",
                 lambda d: d["id"] in some and
                 d["pk"] in ("p0", "p7", "p14", "p21")),
                (" WHERE c.n = 3", "index", lambda d: d["n"] == 3)):
            assert w.access(text + where) == access, where
            for size in (1, 7, 1000):
                got = w.ids(text + where, size)
                assert got == w.expected(wanted), (where, size)
        for size in (1, 7, 1000):
            assert w.feed(size) == w.expected(), size
            one = w.expected(lambda d: d["pk"] == "p7")
            assert w.ids(text, size, key=["p7"]) == one
            assert w.feed(size, **{"x-ms-documentdb-partitionkey":
                                   '["p7"]'}) == one
        for n, range in enumerate(w.ranges):
            of = w.expected(lambda d: w.at[d["id"]] == n)
            assert w.ids(text, 7, **{RANGE: range["id"]}) == of
            assert w.feed(7, **{RANGE: range["id"]}) == of
        part = {"x-ms-start-epk": "08" + "0" * 30, "x-ms-end-epk": "1A"}
        of = set(w.ids(text, **part))
        assert 10 < len(of) < 290
        assert w.ids(text, 3, **part) == w.expected(lambda d: d["id"] in of)

    @case
    def rows_come_as_their_documents_were_created():
        w = Written(server, "created_rows", 60)
        twice = [id for id in w.expected() for _ in (1, 2)]
        for size in (1, 3, 1000):
            got = w.ids("SELECT VALUE c.id FROM c JOIN t IN c.two", size)
            assert got == twice, size
        # Distinct values come in their own order, so that a token can name one.
        keys = sorted({d["pk"] for d in w.documents})
        assert w.ids("SELECT DISTINCT VALUE c.pk FROM c") == keys
        lists = w.ids("SELECT VALUE MAKELIST(c.id) FROM c")
        assert lists == [w.expected()]

    @case
    def a_page_goes_on_by_rid_while_ranges_split():
        w = Written(server, "created_split", 200)
        gone = w.documents[::9]
        stay = [d["id"] for d in w.documents if d not in gone]

        def move():
            w.write(f"x{len(w.documents)}", f"p{w.dice.randrange(30)}", 1)
            if gone:
                d = gone.pop()
                w.server.send(
                    "DELETE", f"{w.c.path}/docs/{d['id']}", None,
                    {"x-ms-documentdb-partitionkey": json.dumps([d["pk"]])})
            if len(w.documents) % 8 == 0:
                ranges = w.server.send("GET", w.c.path + "/pkranges").json
                one = w.dice.choice(ranges["PartitionKeyRanges"])["id"]
                w.server.send("POST", "/_runnel/split", {
                    "container": w.c.path.strip("/"), "range": int(one)})

        for read in (lambda: w.ids(size=6, between=move),
                     lambda: w.feed(6, between=move)):
            got = [id for id in read() if id in stay]
            assert sorted(got) == sorted(stay)
            w.find_ranges()
            for n, _ in enumerate(w.ranges):
                assert [id for id in got if w.at[id] == n] == \
                    [id for id in stay if w.at[id] == n]
        assert len(w.ranges) > 6

    @case
    def many_documents_are_read_in_the_order_of_their_keys():
        w = Written(server, "created_many", 0, throughput=400)
        ids = [f"d{n}" for n in w.dice.sample(range(100000), MANY + 1)]
        text = "SELECT VALUE c.id FROM c"
        by_batches(w, ids[:MANY], "Create")
        page = next(w.c.pages(text, 1000))
        assert page.json["Documents"] == ids[:1000]
        assert open_token(page.headers["x-ms-continuation"])[0] == 4
        natural = page.headers["x-ms-continuation"]
        by_batches(w, ids[MANY:], "Create")
        for key in (None, ["p"]):
            page = next(w.c.pages(text, 1000, key=key))
            assert page.json["Documents"] == sorted(ids)[:1000]
            keys = page.headers["x-ms-continuation"]
            assert open_token(keys)[0] == 1
        # Whichever order was begun with is kept, however many there are now.
        by_batches(w, sorted(ids)[2000:], "Delete")
        few = sorted(ids)[:2000]
        got = w.c.query(text, x_ms_continuation=keys, x_ms_max_item_count=1000)
        assert got.json["Documents"] == few[1000:]
        by_batches(w, sorted(ids)[2000:], "Create")
        for key in (None, ["p"]):
            got = w.c.query(text, x_ms_continuation=natural, key=key,
                            x_ms_max_item_count=1000)
            left = [id for id in ids if id in set(few)]
            behind = left[len([x for x in ids[:1000] if x in set(few)]):]
            want = (behind + sorted(ids)[2000:])[:1000]
            assert got.json["Documents"] == want
