"""scopes.py -- the feed of a range, a key, an interval, and of all."""
import json

from wire import Box, case, equal

KEYS = [f"k{n}" for n in range(30)]


def fill(server, name, ranges):
    box = Box(server, name, ranges)
    for n, key in enumerate(KEYS):
        box.put(key, f"d{n}")
    return box


def drain(read, size=None):
    """Reads to the end; gives ids and the last token."""
    token, found = None, []
    for _ in range(200):
        more = {"x_ms_max_item_count": size} if size else {}
        answer = read(token, **more)
        token = answer["etag"]
        if answer.status == 304:
            return found, token
        equal(answer.status, 200)
        found += answer.ids
    raise AssertionError("the feed has no end")


def ranges_and_all(server):
    @case("the ranges of a container have each document once")
    def _():
        box = fill(server, "by-range", 3)
        found = []
        for each in box.ranges():
            part, token = drain(lambda t, **h: box.range(each["id"], t, **h), 4)
            assert part
            found += part
            composed = box.range(f"{box.rid},{each['id']}")
            equal(composed["x-ms-documentdb-partitionkeyrangeid"], each["id"])
            equal(composed["x-ms-session-token"],
                  f"{each['id']}:-1#{token.strip(chr(34))}")
        equal(sorted(found), sorted(f"d{n}" for n in range(30)))

    @case("without a scope the ranges are read one after the other")
    def _():
        box = fill(server, "no-scope", 3)
        for size in (1, 7, 100):
            found, token = drain(box.feed, size)
            equal(sorted(found), sorted(f"d{n}" for n in range(30)))
            equal(len(token.split(",")), 3)
            assert token.startswith('"0:-1#') and token.endswith('"'), token
        end = box.feed(token)
        equal((end.status, end["etag"]), (304, token))
        equal(end["x-ms-session-token"], token.strip('"'))
        box.put("k3", "new")
        answer = box.feed(token)
        equal(answer.ids, ["new"])
        now = box.feed("*")
        equal((now.status, now["etag"]), (304, box.feed(answer["etag"])["etag"]))

    @case("one range without a scope is that range")
    def _():
        box = fill(server, "only-range", 1)
        equal(box.feed(x_ms_max_item_count=1)["etag"], '"1"')
        equal(box.feed('"29"').ids, ["d29"])
        equal(box.feed('"0:-1#29"').ids, ["d29"])

    @case("a path may end in a slash and be of rids")
    def _():
        box = fill(server, "slash", 1)
        head = {"A-IM": "Incremental Feed"}
        equal(len(server.ask("GET", box.path + "/docs/", None, head).ids), 30)


def keys(server):
    @case("a key's feed has its documents only, and the range's place")
    def _():
        box = fill(server, "by-key", 3)
        for n, key in enumerate(KEYS[:5]):
            box.put(key, f"second{n}")
        for n, key in enumerate(KEYS[:5]):
            def read(token=None, **more):
                return box.feed(token, x_ms_documentdb_partitionkey=json.dumps(
                    [key]), **more)
            found, token = drain(read, 1)
            equal(found, [f"d{n}", f"second{n}"])
            answer = read(token)
            id = answer["x-ms-documentdb-partitionkeyrangeid"]
            equal(box.range(id, "*")["etag"], token)
            equal(box.range(id, x_ms_documentdb_partitionkey=json.dumps(
                [key])).ids, found)
            for other in box.ranges():
                if other["id"] != id:
                    equal(box.range(other["id"], x_ms_documentdb_partitionkey=
                                    json.dumps([key])).status, 304)

    @case("a rare key among many changes is found in one request")
    def _():
        box = Box(server, "rare")
        box.put("rare", "first")
        for n in range(600):
            box.put("often", f"d{n % 500}")
        box.put("rare", "last")
        key = {"x_ms_documentdb_partitionkey": '["rare"]'}
        equal(box.feed(**key).ids, ["first", "last"])
        equal(box.feed('"1"', **key).ids, ["last"])
        equal(box.feed('"601"', **key).ids, ["last"])
        none = box.feed(x_ms_documentdb_partitionkey='["none"]')
        equal((none.status, none["etag"]), (304, '"602"'))

    @case("what a loop does not find at once a worker finds")
    def _():
        # More bytes than a loop reads at once lie before the key's documents,
        # and these are too many to be listed meanwhile.
        box = Box(server, "walk")
        for n in range(10):
            box.put("a", f"a{n}", text="x" * 600000)
        for n in range(60):
            box.put("b", f"b{n}")
        answer = box.feed(x_ms_documentdb_partitionkey='["b"]',
                          x_ms_max_item_count=3)
        equal(answer.ids, ["b0", "b1", "b2"])
        equal(answer["etag"], '"13"')
        equal(answer["x-ms-session-token"], "0:-1#70")

    @case("an interval of EPKs is a part of the range, in any case of letters")
    def _():
        box = Box(server, "interval")
        box.put("1", "one")
        box.put("2", "two")
        start = "3C80B1B7310BB39F29CC4EA05BDD461E"
        end = "3C80B1B7310BB39F29CC4EA05BDD461F"
        kind = {"x_ms_read_key_type": "EffectivePartitionKeyRange"}
        for id in (0, None):
            scope = dict(kind)
            if id is not None:
                scope["x_ms_documentdb_partitionkeyrangeid"] = id
            for s, e in ((start, end), (start.lower(), end.lower()),
                         (start, "FF"), (start, "")):
                equal(box.feed(x_ms_start_epk=s, x_ms_end_epk=e, **scope).ids,
                      ["one"])
            equal(box.feed(x_ms_start_epk="", x_ms_end_epk=start, **scope).ids,
                  ["two"])
            for s, e in (("", "FF"), ("", ""), ("", None), (None, "")):
                equal(box.feed(**{name: bound for name, bound in (
                    ("x_ms_start_epk", s), ("x_ms_end_epk", e))
                    if bound is not None}, **scope).ids, ["one", "two"])
            equal(box.feed(x_ms_start_epk="FF", x_ms_end_epk="", **scope).status,
                  304)
        empty = box.feed(x_ms_start_epk=end, x_ms_end_epk=end + "00")
        equal((empty.status, empty["etag"]), (304, '"2"'))
        equal(box.feed(x_ms_start_epk=end, x_ms_end_epk=start).status, 400)

    @case("a prefix of a hierarchical key is an interval")
    def _():
        box = Box(server, "prefix", 3, paths=("/a", "/b", "/c"))
        for n, key in enumerate((["Redmond", "WA", 1], ["Redmond", "WA", 2],
                                 ["Redmond", "OR", 1], ["Paris", "WA", 1])):
            box.put(key, f"d{n}", a=key[0], b=key[1], c=key[2])
        for prefix, ids in ((["Redmond"], ["d0", "d1", "d2"]),
                            (["Redmond", "WA"], ["d0", "d1"]),
                            (["Redmond", "WA", 2], ["d1"]), (["Rome"], [])):
            equal(box.feed(x_ms_documentdb_partitionkey=json.dumps(prefix)).ids,
                  ids)
        start = "01620B162169497AFD85FA66E99F7376"
        equal(box.range(0, x_ms_start_epk=start, x_ms_end_epk=start + "FF").ids,
              ["d0", "d1", "d2"])


def several(server):
    @case("an interval over several ranges is read on from its own etag")
    def _():
        box = fill(server, "over", 3)
        span = {"x_ms_start_epk": "0A", "x_ms_end_epk": "35"}
        whole = box.feed(**span).ids
        assert 3 < len(whole) < 30, whole
        for size in (1, 2, 7):
            found, token = drain(lambda t, **h: box.feed(t, **span, **h), size)
            equal(sorted(found), sorted(whole))
        box.split(1)
        equal(box.feed(token, **span).status, 304)
        box.put(KEYS[int(whole[0][1:])], "new")
        equal(box.feed(token, **span).ids, ["new"])

    @case("a prefix goes on from its etag when its range is split or merged")
    def _():
        box = Box(server, "prefix-split", 3, paths=("/a", "/b"))
        for n in range(20):
            box.put(["x", n], f"d{n}", a="x", b=n)
        key = {"x_ms_documentdb_partitionkey": '["x"]'}
        first = box.feed(x_ms_max_item_count=8, **key)
        home = first["x-ms-documentdb-partitionkeyrangeid"]
        start = epk_of(box, home)
        low, high = box.split(home, at=start + "20")
        found, token = drain(lambda t, **h: box.feed(t or first["etag"], **key,
                                                     **h), 3)
        equal(sorted(first.ids + found), sorted(f"d{n}" for n in range(20)))
        equal(len(token.split(",")), 2)
        box.merge(low, high)
        box.put(["x", 3], "new", a="x", b=3)
        equal(box.feed(token, **key).ids, ["new"])


def epk_of(box, range):
    """Of the prefix: the middle of a search for where its documents begin."""
    low, high = 0, 1 << 128
    while high - low > 1:
        middle = (low + high) // 2
        found = box.range(range, x_ms_start_epk="", x_ms_end_epk=f"{middle:032X}")
        low, high = (low, middle) if found.status == 200 else (middle, high)
    return f"{low:032X}"


def add(server):
    several(server)
    ranges_and_all(server)
    keys(server)
