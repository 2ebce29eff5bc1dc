# moving.py -- pages of a query while documents, and ranges, change under it.
#
# Method: documents that stay are known; beside them others come and go, those
# that stay are written again, and ranges split, all between two pages.  Each
# that stays must come exactly once.  A batch keeps two documents alike: a page
# that has both must show them so.
import json
import random
import threading

from wire import Container, Server, case, forget

HASH = {"partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}}
IDS = ["s", "L" * 220]  # the latter lie under a hash
KEYS = ["a", "b", 0, 1.5, None, True, "k" * 300, "", "c", "d"]
RANGE = "x-ms-documentdb-partitionkeyrangeid"


class Crowd:
    """Documents that stay, and those that do not."""

    def __init__(self, server, name):
        self.c = Container(server, "q", name, HASH, throughput=30000)
        self.server = server
        self.dice = random.Random(3)
        self.stays = {}
        self.others = []
        self.turn = 0
        for n in range(240):
            id, key = IDS[n % 4 == 0] + str(n), KEYS[n % len(KEYS)]
            self.stays[id] = key
            self.write(id)

    def write(self, id):
        key = self.stays[id]
        self.turn += 1
        self.c.write({"id": id, "pk": key, "turn": self.turn}, [key])

    def ranges(self):
        got = self.server.send("GET", self.c.path + "/pkranges")
        return got.json["PartitionKeyRanges"]

    def split(self):
        one = self.dice.choice(self.ranges())["id"]
        ask = {"container": self.c.path.strip("/"), "range": int(one)}
        assert self.server.send("POST", "/_runnel/split", ask).status == 200

    def move(self):
        for id in self.dice.sample(sorted(self.stays), 3):
            self.write(id)
        key = self.dice.choice(KEYS)
        id = self.dice.choice(IDS) + f"x{self.turn}"
        self.c.write({"id": id, "pk": key}, [key])
        self.others.append((id, key))
        if len(self.others) > 20:
            id, key = self.others.pop(self.dice.randrange(20))
            self.server.send(
                "DELETE",
                f"{self.c.path}/docs/{id}",
                None,
                {"x-ms-documentdb-partitionkey": json.dumps([key])},
            )

    def once(self, seen):
        seen = [id for id in seen if id in self.stays]
        assert sorted(seen) == sorted(self.stays), len(seen)


def overlap(a, b):
    return a["minInclusive"] < b["maxExclusive"] and \
        b["minInclusive"] < a["maxExclusive"]


def by_ranges(crowd, text, splits):
    """As SDKs read: one range after the other, its children if it is gone."""
    seen, todo = [], [(r, None) for r in crowd.ranges()]
    while todo:
        at, token = todo.pop()
        headers = {RANGE: at["id"], "x-ms-max-item-count": "7"}
        if token:
            headers["x-ms-continuation"] = token
        got = crowd.c.query(text, **headers)
        if got.status == 410:
            todo += [(r, token) for r in crowd.ranges() if overlap(r, at)]
            continue
        assert got.status == 200, got.text
        seen += got.json["Documents"]
        token = got.headers.get("x-ms-continuation")
        if token:
            todo.append((at, token))
        crowd.move()
        if splits and crowd.dice.randrange(12) == 0:
            splits -= 1
            crowd.split()
    return seen


def add_cases(server):
    @case
    def a_document_that_stays_comes_once_while_ranges_split():
        crowd = Crowd(server, "crowd")
        for text in ("SELECT VALUE c.id FROM c",
                     "SELECT VALUE c.id FROM c ORDER BY c.id"):
            seen = []
            for n, page in enumerate(crowd.c.pages(text, 11, change=forget)):
                seen += page.json["Documents"]
                crowd.move()
                if n in (3, 9, 15):
                    crowd.split()
            crowd.once(seen)
            crowd.once(by_ranges(crowd, text, 2))

    @case
    def a_page_sees_one_state():
        c = Container(server, "q", "pairs", HASH)
        for n in range(200):
            c.write({"id": f"m{n:03}", "pk": "p", "n": 0}, ["p"])
        pair = ["m000", "m199"]
        ended = threading.Event()
        failed = []

        def keep_alike():
            mine = Server("http://" + server.address)
            for n in range(1000000):
                if ended.is_set():
                    return
                batch = [{"operationType": "Upsert", "resourceBody":
                          {"id": id, "pk": "p", "n": n}} for id in pair]
                got = mine.send("POST", c.path + "/docs", batch, {
                    "x-ms-cosmos-is-batch-request": "True",
                    "x-ms-cosmos-batch-atomic": "True",
                    "x-ms-documentdb-partitionkey": '["p"]'})
                if got.status != 200:
                    failed.append(got.text)

        writer = threading.Thread(target=keep_alike, daemon=True)
        writer.start()
        for text in ("SELECT VALUE c.n FROM c WHERE c.id IN ('m000', 'm199')",
                     "SELECT VALUE c.n FROM c WHERE c.pk != 'q' AND "
                     "(ENDSWITH(c.id, '000') OR ENDSWITH(c.id, '199'))",
                     "SELECT DISTINCT VALUE c.n FROM c WHERE c.n != 0"):
            pages, values = 0, set()
            while (pages < 60 or len(values) < 10) and not failed:
                rows = c.query(text, x_ms_max_item_count=10).json["Documents"]
                assert len(set(rows)) <= 1, (text, rows)
                values.update(rows)
                pages += 1
        ended.set()
        writer.join()
        assert not failed, failed[0]
