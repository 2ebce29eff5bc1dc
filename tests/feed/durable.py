"""durable.py -- tokens are as good after the server was killed."""
from wire import Box, case, equal


def add(server, phase):
    if phase == "write":
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
            notes.put("n", "tokens", tokens=tokens, seen=seen)
            box.put("k0", "after")
        return

    @case("a place from before the kill goes on where it was")
    def _():
        box = Box(server, "kept", 3)
        notes = Box(server, "notes").feed().json["Documents"][0]
        every = sorted([f"d{n}" for n in range(60)] + ["after"])
        rest = box.feed(notes["tokens"].pop("all")).ids
        equal(sorted(rest + notes["seen"].pop("all")), every)
        found = []
        for id, token in notes["tokens"].items():
            found += notes["seen"][id] + box.range(id, token).ids
        equal(sorted(found), every)
