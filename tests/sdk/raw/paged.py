# paged.py -- every shape of query, in pages of any size, while ranges split and
# merge and documents come and go between any two pages.
#
# Method: draws from a fixed seed.  The documents that stay are known, so the
# rows they make are too.  Documents that come and go make rows of their own.
# A query is read in one of two ways: as a whole container, where each row that
# stays must come exactly once; or range by range as SDKs do, with the range's
# token for each of the ranges that it became, and merged by value.
import collections
import json
import random
import time

from wire import Container, case, forget

HASH = {"partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
        "indexingPolicy": {"includedPaths": [{"path": "/*"}],
                           "compositeIndexes": [[{"path": "/g"},
                                                 {"path": "/n"}]]}}
SECONDS = 20  # a slow machine draws less
DRAWS = 70
STAY = 120
LONG = "l" * 700  # longer than a token has room for
VALUES = [None, True, 0, -1.5, 10 ** 15, "", "a", "b", "\u20ac" * 90, LONG + "x",
          LONG + "y", LONG + "z", [1, 2], [], {"a": 1, "b": [2]}, {"b": [2]}]

# What is asked, and how the rows of several ranges become one answer: "rows"
# are those of all ranges, "set" drops repetitions, "sum" adds up by key.
SHAPES = [
    ("SELECT VALUE c.id FROM c WHERE c.stays", "rows"),
    ("SELECT VALUE [c.id, t] FROM c JOIN t IN c.tags WHERE c.stays", "rows"),
    ("SELECT VALUE s.id FROM (SELECT * FROM c WHERE c.stays) AS s", "rows"),
    ("SELECT VALUE [s.id, t] FROM (SELECT VALUE c FROM c) AS s "
     "JOIN t IN s.tags WHERE s.stays", "rows"),
    ("SELECT VALUE c.id FROM c WHERE c.stays ORDER BY c.n DESC", "rows"),
    ("SELECT VALUE c.id FROM c WHERE c.stays ORDER BY c.g", "rows"),
    ("SELECT VALUE c.id FROM c WHERE c.stays ORDER BY c.s DESC", "rows"),
    ("SELECT VALUE c.id FROM c WHERE c.stays ORDER BY c.g, c.n", "rows"),
    ("SELECT VALUE [c.id, t] FROM c JOIN t IN c.tags WHERE c.stays "
     "ORDER BY c.n", "rows"),
    ("SELECT DISTINCT VALUE c.n FROM c WHERE c.stays", "set"),
    ("SELECT DISTINCT VALUE c.g FROM c WHERE c.stays", "set"),
    ("SELECT DISTINCT c.g, c.m FROM c WHERE c.stays", "set"),
    ("SELECT DISTINCT * FROM (SELECT c.g, c.m FROM c WHERE c.stays) AS s",
     "set"),
    ("SELECT DISTINCT c.g, c.m FROM c WHERE c.stays ORDER BY c.m DESC", "set"),
    ("SELECT DISTINCT VALUE c.s FROM c WHERE c.stays ORDER BY c.s", "set"),
    ("SELECT VALUE [d, t] FROM (SELECT DISTINCT VALUE c.g FROM c "
     "WHERE c.stays) AS d JOIN t IN (SELECT VALUE [1, 2, 3])", "set"),
    ("SELECT c.n AS k, COUNT(1) AS v FROM c WHERE c.stays GROUP BY c.n", "sum"),
    ("SELECT c.g AS k, SUM(c.n) AS v FROM c WHERE c.stays GROUP BY c.g", "sum"),
    ("SELECT c.s AS k, COUNT(1) AS v FROM c WHERE c.stays GROUP BY c.s", "sum"),
    ("SELECT {'g': c.g, 'm': c.m} AS k, COUNT(1) AS v FROM c WHERE c.stays "
     "GROUP BY c.g, c.m", "sum"),
    ("SELECT VALUE d FROM (SELECT c.m AS k, COUNT(1) AS v FROM c "
     "WHERE c.stays GROUP BY c.m) AS d", "sum"),
]
# Of these the rows depend on how many came before: not of several ranges.
CUT = [
    "SELECT VALUE c.id FROM c WHERE c.stays OFFSET 7 LIMIT 61",
    "SELECT TOP 47 VALUE c.id FROM c WHERE c.stays",
    "SELECT TOP 51 VALUE c.id FROM c WHERE c.stays ORDER BY c.n",
    "SELECT VALUE c.id FROM c WHERE c.stays ORDER BY c.g OFFSET 5 LIMIT 90",
    "SELECT DISTINCT TOP 9 VALUE c.g FROM c WHERE c.stays",
    "SELECT c.m AS k, COUNT(1) AS v FROM c WHERE c.stays GROUP BY c.m "
    "OFFSET 2 LIMIT 4",
]


def fold(how, rows):
    """An answer that can be compared: as a client merges rows."""
    texts = [json.dumps(row, sort_keys=True) for row in rows]
    if how == "set":
        return set(texts)
    if how == "rows":
        return collections.Counter(texts)
    sums = collections.Counter()
    for row in rows:
        sums[json.dumps(row.get("k"), sort_keys=True)] += row["v"]
    return {key: n for key, n in sums.items() if n}


class Ground:
    """A container whose ranges and documents move."""

    def __init__(self, server, dice):
        self.server, self.dice = server, dice
        self.c = Container(server, "q", "paged", HASH, throughput=30000)
        self.others = []
        for n in range(STAY):
            document = {"id": f"d{n}", "pk": f"p{n % 37}", "n": n, "m": n % 7,
                        "stays": True, "tags": [1, 2, 3],
                        "s": LONG + str(n % 11) * (1 + n % 3)}
            if n % 17:
                document["g"] = VALUES[n % len(VALUES)]
            self.c.write(document, [document["pk"]])

    def ranges(self):
        got = self.server.send("GET", self.c.path + "/pkranges")
        return sorted(got.json["PartitionKeyRanges"],
                      key=lambda r: r["minInclusive"])

    def split_or_merge(self):
        ranges = self.ranges()
        link = self.c.path.strip("/")
        if len(ranges) > 1 and self.dice.randrange(10) < len(ranges):
            at = self.dice.randrange(len(ranges) - 1)
            pair = [int(r["id"]) for r in ranges[at:at + 2]]
            got = self.server.send("POST", "/_runnel/merge",
                                   {"container": link, "range": pair[0],
                                    "with": pair[1]})
        else:
            one = int(self.dice.choice(ranges)["id"])
            got = self.server.send("POST", "/_runnel/split",
                                   {"container": link, "range": one})
        assert got.status == 200, got.text

    def move(self):
        """Another document comes, or one goes: its rows are nobody's."""
        if len(self.others) > 12:
            id, pk = self.others.pop(self.dice.randrange(12))
            self.server.send("DELETE", f"{self.c.path}/docs/{id}", None,
                             {"x-ms-documentdb-partitionkey": json.dumps([pk])})
            return
        n = self.dice.randrange(10 ** 9)
        id, pk = f"x{n}", f"p{n % 37}"
        self.c.write({"id": id, "pk": pk, "n": n, "stays": False,
                      "tags": [1]}, [pk])
        self.others.append((id, pk))

    def between(self):
        self.move()
        if self.dice.randrange(4) == 0:
            self.split_or_merge()

    def whole(self, text, size):
        change = self.dice.choice([forget, lambda token: token])
        for page in self.c.pages(text, size, change=change):
            yield from page.json["Documents"]
            self.between()

    def by_ranges(self, text, size):
        todo = [(r["minInclusive"], r["maxExclusive"], None)
                for r in self.ranges()]
        while todo:
            low, high, token = todo.pop()
            now = [r for r in self.ranges()
                   if r["minInclusive"] < high and low < r["maxExclusive"]]
            if len(now) > 1:
                todo += [(max(low, r["minInclusive"]),
                          min(high, r["maxExclusive"]), token) for r in now]
                continue
            headers = {"x-ms-documentdb-partitionkeyrangeid": now[0]["id"],
                       "x-ms-start-epk": low, "x-ms-end-epk": high,
                       "x-ms-max-item-count": str(size)}
            if token:
                headers["x-ms-continuation"] = token
            got = self.c.query(text, **headers)
            assert got.status == 200, got.text
            yield from got.json["Documents"]
            token = got.headers.get("x-ms-continuation")
            if token:
                todo.append((low, high, token))
            self.between()


def add_cases(server):
    @case
    def every_shape_is_complete_while_ranges_split_and_merge_between_pages():
        dice = random.Random(20261118)
        ground = Ground(server, dice)
        asked = [(text, how, whole) for text, how in SHAPES
                 for whole in (True, False)]
        asked += [(text, "rows", True) for text in CUT]
        wanted = {text: fold(how, ground.c.rows(text, 1000))
                  for text, how, _ in asked}
        ends = time.monotonic() + SECONDS
        draws = 0
        while draws < max(DRAWS, len(asked)) and time.monotonic() < ends:
            text, how, whole = asked[draws % len(asked)]
            size = dice.choice([1, 2, 3, 7, 11, 20, 50])
            size = max(size, len(wanted[text]) // 12)
            read = ground.whole if whole else ground.by_ranges
            rows = list(read(text, size))
            got = fold(how, rows)
            assert got == wanted[text], (draws, text, size, whole, len(rows),
                                         len(wanted[text]))
            assert not whole or len(rows) == len(fold("rows", rows)), text
            draws += 1
        print(f"# {draws} queries read while ranges moved")
