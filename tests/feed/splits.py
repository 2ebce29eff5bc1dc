"""splits.py -- ranges split and merged under their readers.

The last case is a checker: writers, splits and merges at once, and readers of
every kind that go on from their tokens.  Each must be given the latest change
of every document, in order, and nothing twice.
"""
import json
import random
import threading

from latest import seconds, turn
from waits import begin, parked
from wire import Box, INCREMENTAL, case, equal

FEED = dict(INCREMENTAL)


def ranges_of(box, etag=None):
    headers = dict(FEED)
    if etag:
        headers["If-None-Match"] = etag
    return box.server.ask("GET", box.path + "/pkranges", None, headers)


def fill(box, count=40, start=0):
    for n in range(start, start + count):
        box.put(f"k{n % 10}", f"d{n}")


def drain(read, token):
    found = []
    while True:
        answer = read(token)
        assert answer.status in (200, 304), answer.text
        token = answer["etag"]
        if answer.status == 304:
            return found, token
        found += answer.ids


class Part:
    """A reader of a part of a container that names no range."""

    def __init__(self, box, **scope):
        self.box, self.scope, self.token, self.seen = box, scope, None, {}

    def read(self, size):
        """A page; false when there was nothing."""
        answer = self.box.feed(self.token, x_ms_max_item_count=size, **self.scope)
        assert answer.status in (200, 304), answer.text
        for document in answer.json["Documents"] if answer.json else []:
            self.seen[document["id"]] = document["n"]
        self.token = answer["etag"]
        return answer.status == 200


def mix(box, rng, live, n):
    """A write, a delete, a split or a merge."""
    what, ranges = rng.random(), box.ranges()
    a, b = rng.choice("xyz"), rng.randrange(6)
    id = f"{a}{b}"
    if what < 0.7:
        box.put([a, b], id, a=a, b=b, n=n)
        live[id] = n
    elif what < 0.8 and id in live:
        equal(box.server.ask("DELETE", f"{box.path}/docs/{id}", None, {
            "x-ms-documentdb-partitionkey": json.dumps([a, b])}).status, 204)
        del live[id]
    elif what < 0.9 and len(ranges) < 8:
        box.split(rng.choice(ranges)["id"])
    elif len(ranges) > 1:
        at = rng.randrange(len(ranges) - 1)
        box.merge(ranges[at]["id"], ranges[at + 1]["id"])


def parts(server):
    @case("readers of prefixes and intervals follow splits, naming no range")
    def _():
        for seed in range(8):
            rng, live = random.Random(seed), {}
            box = Box(server, f"parts-{seed}", 1 + seed % 3, paths=("/a", "/b"))
            readers = [Part(box, x_ms_documentdb_partitionkey=f'["{a}"]')
                       for a in "xyz"]
            readers += [Part(box, x_ms_start_epk="", x_ms_end_epk="20"),
                        Part(box, x_ms_start_epk="20", x_ms_end_epk="FF")]
            for n in range(60):
                mix(box, rng, live, n)
                rng.choice(readers).read(rng.choice((1, 2, 100)))
            for reader in readers:
                while reader.read(2):
                    pass
            for halves in (readers[:3], readers[3:]):
                seen = {id: n for r in halves for id, n in r.seen.items()}
                equal({id: seen.get(id) for id in live}, live)


def shapes(server):
    @case("a split has children that name their parent, listed incrementally")
    def _():
        box = Box(server, "split")
        fill(box)
        first = ranges_of(box)
        equal((first.status, first["etag"], first["x-ms-item-count"]),
              (200, '"1"', "1"))
        equal(first.json["PartitionKeyRanges"][0]["lsn"], 40)
        equal(ranges_of(box, '"1"').status, 304)
        equal(box.split(0), ["1", "2"])
        news = ranges_of(box, '"1"')
        equal((news.status, news["etag"], news["x-ms-schemaversion"]),
              (200, '"3"', "1.1"))
        low, high = news.json["PartitionKeyRanges"]
        equal((low["id"], low["minInclusive"], low["parents"]), ("1", "", ["0"]))
        equal((high["id"], high["maxExclusive"], high["parents"]),
              ("2", "FF", ["0"]))
        equal(low["maxExclusive"], high["minInclusive"])
        equal(low["maxExclusive"], "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF")
        equal(ranges_of(box, '"3"').status, 304)
        equal(box.split(2), ["3", "4"])
        grand = ranges_of(box, '"3"').json["PartitionKeyRanges"]
        equal([(r["id"], r["parents"]) for r in grand],
              [("3", ["0", "2"]), ("4", ["0", "2"])])
        equal(box.merge(1, 3), "5")
        merged = ranges_of(box, '"5"').json["PartitionKeyRanges"]
        equal([(r["id"], r["parents"]) for r in merged],
              [("5", ["0", "1", "2", "3"])])
        for etag in (None, '"garbled"', '"999"'):
            everything = ranges_of(box, etag).json["PartitionKeyRanges"]
            equal([r["id"] for r in everything], ["5", "4"])
        equal(sum(r["throughputFraction"] for r in everything), 1)

    @case("a dead range is gone with 410/1002, its token lives on")
    def _():
        box = Box(server, "token")
        fill(box)
        token = box.range(0, x_ms_max_item_count=15)["etag"]
        low, high = box.split(0)
        dead = box.range(0, token)
        equal((dead.status, dead.substatus, dead.json["code"]),
              (410, 1002, "Gone"))
        rest = [drain(lambda t, id=id: box.range(id, t), token)[0]
                for id in (low, high)]
        assert rest[0] and rest[1]
        equal(sorted(rest[0] + rest[1]), sorted(f"d{n}" for n in range(15, 40)))
        fill(box, 10, 100)
        merged = box.merge(high, low)
        equal(box.range(low, token).status, 410)
        again, end = drain(lambda t: box.range(merged, t), token)
        equal(sorted(again), sorted([f"d{n}" for n in range(15, 40)] +
                                    [f"d{n}" for n in range(100, 110)]))
        equal(box.range(merged, "*")["etag"], end)

    @case("a reader of a piece of a merged range goes on from its own token")
    def _():
        box = Box(server, "piece")
        low, high = box.split(0)
        bound = ranges_of(box).json["PartitionKeyRanges"][0]["maxExclusive"]
        fill(box)
        tokens = {id: box.range(id, x_ms_max_item_count=3) for id in (low, high)}
        merged = box.merge(low, high)
        found = []
        for id, (start, end) in ((low, ("", bound)), (high, (bound, "FF"))):
            found += tokens[id].ids + drain(lambda t: box.range(
                merged, t, x_ms_start_epk=start, x_ms_end_epk=end),
                tokens[id]["etag"])[0]
        equal(sorted(found), sorted(f"d{n}" for n in range(40)))

    @case("equal LSNs of a merged range share a page of one")
    def _():
        box = Box(server, "equal")
        low, high = box.split(0)
        for n in range(20):
            box.put(f"k{n}", f"d{n}")
        merged = box.merge(low, high)
        token, found = None, []
        while True:
            page = box.range(merged, token, x_ms_max_item_count=1)
            if page.status == 304:
                break
            lsns = {d["_lsn"] for d in page.json["Documents"]}
            equal(len(lsns), 1)
            token = page["etag"]
            found += page.ids
        equal(sorted(found), sorted(f"d{n}" for n in range(20)))

    @case("readers that name no range see nothing of splits and merges")
    def _():
        box = Box(server, "unnamed")
        key = {"x_ms_documentdb_partitionkey": '["k3"]'}
        fill(box)
        every, by_key = box.feed(x_ms_max_item_count=9), box.feed(
            x_ms_max_item_count=1, **key)
        low, high = box.split(0)
        fill(box, 20, 100)
        box.merge(*box.split(high))
        fill(box, 20, 200)
        rest, token = drain(box.feed, every["etag"])
        want = sorted(f"d{n}" for s, c in ((0, 40), (100, 20), (200, 20))
                      for n in range(s, s + c))
        equal(sorted(every.ids + rest), want)
        equal(len(token.split(",")), 2)
        rest, _ = drain(lambda t: box.feed(t, **key), by_key["etag"])
        equal(by_key.ids + rest, [d for d in (f"d{n}" for n in (
            *range(0, 40), *range(100, 120), *range(200, 220)) if n % 10 == 3)])
        fill(box, 10, 300)
        equal(sorted(drain(box.feed, token)[0]),
              sorted(f"d{n}" for n in range(300, 310)))

    @case("after a merge a reader that has all is given nothing again")
    def _():
        box = Box(server, "unnamed-merge")
        fill(box)
        halves = box.split(0)
        for n in range(10):  # one half is far ahead of the other
            box.put("k3", f"d{n}3")
        _, token = drain(box.feed, None)
        equal(len(token.split(",")), 2)
        box.merge(*halves)
        answer = box.feed(token)
        equal((answer.status, answer["etag"].count(",")), (304, 0))
        fill(box, 10, 300)
        equal(sorted(drain(box.feed, token)[0]),
              sorted(f"d{n}" for n in range(300, 310)))

    @case("a start time finds its place after splits and merges")
    def _():
        box = Box(server, "timed")
        fill(box)
        box.merge(*box.split(0))
        fill(box, 10, 100)
        id = ranges_of(box).json["PartitionKeyRanges"][0]["id"]
        equal(len(box.range(id, If_Modified_Since=
                            "Tue, 14 Nov 2023 22:13:20 GMT").ids), 50)

    @case("beside a place a time leaves out what a merge brought, and no more")
    def _():
        box = Box(server, "merge-time")
        low, high = box.split(0)
        fill(box, 10)
        turn(server, 10)
        middle = box.put("k0", "middle").json["_ts"]
        fill(box, 10, 100)
        merged = box.merge(low, high)
        fill(box, 5, 200)
        new = [f"d{n}" for n in range(200, 205)]
        since = {"If_Modified_Since": seconds(middle)}
        equal(sorted(box.range(merged, '"0"', **since).ids),
              sorted(["middle"] + [f"d{n}" for n in range(100, 110)] + new))
        since = {"If_Modified_Since": seconds(middle + 5000)}
        equal(box.range(merged, '"0"', **since).ids, new)
        equal(box.range(merged, **since).status, 304)

    @case("a reader that waits for a range that is split gets 410, one that "
          "waits for all goes on")
    def _():
        box = Box(server, "split-wait")
        box.put("k", "a")
        named = begin(box, '"1"', x_ms_documentdb_partitionkeyrangeid=0)
        unnamed = begin(box, '"1"')
        parked(unnamed, box)
        box.split(0)
        answer = named.end()
        equal((answer.status, answer.substatus), (410, 1002))
        for _ in range(3):
            box.feed("*")
        box.put("k", "b")
        equal(unnamed.end().ids, ["b"])

    @case("bad splits and merges are refused with words and change nothing")
    def _():
        box = Box(server, "refused", 3)
        where = {"container": box.path[1:]}
        for how, what, status in (
                ("split", {}, 400), ("split", {**where}, 400),
                ("split", {**where, "range": "0"}, 400),
                ("split", {**where, "range": 7}, 410),
                ("split", {**where, "range": 0, "at": "XX"}, 400),
                ("split", {**where, "range": 0, "at": "3F"}, 400),
                ("split", {**where, "range": 0, "to": 1}, 400),
                ("split", {"container": "dbs/no/colls/no", "range": 0}, 404),
                ("merge", {**where, "range": 0}, 400),
                ("merge", {**where, "range": 0, "with": 2}, 400),
                ("merge", {**where, "range": 0, "with": 0}, 400),
                ("merge", {**where, "range": 0, "with": 9}, 410)):
            answer = server.ask("POST", f"/_runnel/{how}", what)
            equal((how, what, answer.status), (how, what, status))
            assert answer.json["message"]
        equal(ranges_of(box)["etag"], '"3"')
        equal(box.split(0, at="0A"), ["3", "4"])
        equal(ranges_of(box).json["PartitionKeyRanges"][0]["maxExclusive"], "0A")


def offers(server):
    @case("raised throughput splits ranges, lowered throughput merges none")
    def _():
        box = Box(server, "raised")
        fill(box)
        token = box.feed(x_ms_max_item_count=10)
        for units, count in ((25000, 3), (50000, 5), (400, 5), (1000, 5)):
            offer = next(each for each in server.ask("GET", "/offers").json[
                "Offers"] if each["offerResourceId"] == box.rid)
            offer["content"] = {"offerThroughput": units}
            answer = server.ask("PUT", f"/offers/{offer['_rid']}", offer)
            assert answer.status in (200, 400), answer.text
            if answer.status == 200:
                equal(answer["x-ms-offer-replace-pending"], "false")
            equal(len(box.ranges()), count)
        rest, _ = drain(box.feed, token["etag"])
        equal(sorted(token.ids + rest), sorted(f"d{n}" for n in range(40)))


class Follower:
    """Reads a feed as the SDKs do: a token for each interval, ranges looked up
    anew when one is gone."""

    def __init__(self, box, scope):
        self.box = Box.__new__(Box)
        self.box.__dict__ = dict(box.__dict__, server=box.server.another())
        self.scope = scope
        self.seen = {}
        self.tokens = [("", "FF", None)] if scope == "ranges" else [None]

    def take(self, answer):
        last = 0
        for document in answer.json["Documents"]:
            lsn, id = document["_lsn"], document["id"]
            if self.scope != "all":  # there one range comes after the other
                assert lsn >= last, "not in order"
            assert document["n"] > self.seen.get(id, -1), (id, document)
            last, self.seen[id] = lsn, document["n"]

    def step(self):
        """True if there was something."""
        if self.scope == "ranges":
            return self.step_ranges()
        key = {} if self.scope == "all" else {
            "x_ms_documentdb_partitionkey": json.dumps([self.scope])}
        answer = self.box.feed(self.tokens[0], x_ms_max_item_count=3, **key)
        assert answer.status in (200, 304), answer.text
        self.tokens[0] = answer["etag"]
        if answer.status == 200:
            self.take(answer)
        return answer.status == 200

    def step_ranges(self):
        start, end, token = self.tokens.pop(0)
        found = False
        for each in self.box.ranges():
            low = max(start, each["minInclusive"])
            high = min(end, each["maxExclusive"])
            if low >= high:
                continue
            answer = self.box.range(each["id"], token, x_ms_start_epk=low,
                                    x_ms_end_epk=high, x_ms_max_item_count=3)
            if answer.status == 410:  # next time
                self.tokens.append((low, high, token))
                found = True
                continue
            assert answer.status in (200, 304), answer.text
            self.tokens.append((low, high, answer["etag"]))
            if answer.status == 200:
                self.take(answer)
                found = True
        return found

    def finish(self):
        quiet = 0
        while quiet <= len(self.tokens):
            quiet = 0 if self.step() else quiet + 1


def write(box, seed, done, wrote):
    mine = Box.__new__(Box)
    mine.__dict__ = dict(box.__dict__, server=box.server.another())
    dice, n = random.Random(seed), 0
    while not done.is_set():
        key, id = f"w{dice.randrange(6)}", f"{seed}-{dice.randrange(15)}"
        id = f"{key}-{id}"
        if id in wrote and dice.randrange(6) == 0:
            mine.delete(key, id)
            del wrote[id]
            # Its next life differs by n, too.
        else:
            n += 1
            mine.put(key, id, n=n)
            wrote[id] = n


def split_or_merge(box, done):
    mine = Box.__new__(Box)
    mine.__dict__ = dict(box.__dict__, server=box.server.another())
    dice = random.Random(7)
    for _ in range(25):
        ids = [each["id"] for each in mine.ranges()]
        if len(ids) > 1 and dice.randrange(len(ids)) >= 2:
            at = dice.randrange(len(ids) - 1)
            mine.merge(ids[at], ids[at + 1])
        else:
            mine.split(dice.choice(ids))
        if done.wait(0.02):
            return
    done.set()


def checker(server):
    @case("readers of every kind follow writers through splits and merges")
    def _():
        box = Box(server, "checker")
        done = threading.Event()
        wrote = [{} for _ in range(3)]
        failures = []

        def guarded(function, *args):
            try:
                function(*args)
            except BaseException as error:  # the main thread reports it
                failures.append(error)
                done.set()

        readers = [Follower(box, scope) for scope in
                   ("ranges", "ranges", "all", "w0", "w3")]

        def follow(reader):
            while not done.is_set():
                reader.step()

        threads = [threading.Thread(target=guarded, args=a) for a in
                   [(write, box, n, done, wrote[n]) for n in range(3)] +
                   [(split_or_merge, box, done)] +
                   [(follow, r) for r in readers]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures
        live = {id: n for each in wrote for id, n in each.items()}
        for reader in readers:
            reader.finish()
            for id, n in live.items():
                if reader.scope.startswith("w") and not id.startswith(
                        reader.scope + "-"):
                    continue
                equal((reader.scope, id, reader.seen.get(id)),
                      (reader.scope, id, n))


def add(server):
    shapes(server)
    parts(server)
    offers(server)
    checker(server)
