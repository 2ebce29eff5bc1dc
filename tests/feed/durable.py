"""durable.py -- tokens are as good after the server was killed, and to a program
that is newer than the one which gave them.

What "write" keeps in a document is looked at by "reopened", after a kill, and
by "earlier", in a data directory that another program wrote so
(tests/golden/feed-1.tar.gz).
"""
from wire import Box, case, equal

WHOSE = {"reopened": "from before the kill", "earlier": "of an earlier program"}
EVER = {"changeFeedPolicy": {"retentionDuration": -1}}
ALL_VERSIONS = {"A_IM": "Full-Fidelity Feed"}


def shape(box):
    return [[r[name] for name in ("id", "_rid", "minInclusive", "maxExclusive",
                                  "parents")] for r in box.ranges()]


def write(server):
    @case("places are kept before the server is killed")
    def _():
        box = Box(server, "kept", 3)
        notes = Box(server, "notes")
        for n in range(60):
            box.put(f"k{n}", f"d{n}")
        tokens = {"all": box.feed(x_ms_max_item_count=20)["etag"]}
        for each in box.ranges():
            tokens[each["id"]] = box.range(
                each["id"], x_ms_max_item_count=5)["etag"]
        seen = {id: box.range(id, x_ms_max_item_count=5).ids
                for id in tokens if id != "all"}
        seen["all"] = box.feed(x_ms_max_item_count=20).ids
        box.split(1)
        ever = Box(server, "ever", **EVER)
        for n in range(20):
            ever.put("p", f"d{n % 4}", n=n)
        notes.put("n", "tokens", tokens=tokens, seen=seen,
                  ranges=shape(box))
        box.put("k0", "after")


def read(server, whose):
    def noted():
        return Box(server, "notes").feed().json["Documents"][0]

    @case(f"the ranges are those {whose}")
    def _():
        equal(shape(Box(server, "kept", 3)), noted()["ranges"])

    @case(f"a place {whose} goes on where it was")
    def _():
        box = Box(server, "kept", 3)
        notes = noted()
        every = sorted([f"d{n}" for n in range(60)] + ["after"])
        rest = box.feed(notes["tokens"].pop("all")).ids
        equal(sorted(rest + notes["seen"].pop("all")), every)
        found = []
        for id, token in notes["tokens"].items():
            found += notes["seen"][id]
            for each in box.ranges():
                if id == each["id"] or id in each["parents"]:
                    found += box.range(each["id"], token).ids
        equal(sorted(found), every)

    @case(f"a place {whose} goes on in all versions")
    def _():
        box = Box(server, "ever", **EVER)
        for place in range(21):
            got = box.range(0, f'"{place}"', **ALL_VERSIONS).json
            equal([d["current"]["n"] for d in got["Documents"]] if got else [],
                  list(range(place, 20)))


def add(server, phase):
    if phase == "write":
        write(server)
    else:
        read(server, WHOSE[phase])
