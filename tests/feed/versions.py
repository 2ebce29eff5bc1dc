"""versions.py -- all versions and deletes: every change, as long as it is kept."""
import json

from wire import Box, case, equal, eventually

KEPT = {"changeFeedPolicy": {"retentionDuration": 10}}
FOR_EVER = {"changeFeedPolicy": {"retentionDuration": -1}}


class History(Box):
    def __init__(self, server, name, ranges=1, policy=KEPT, **more):
        super().__init__(server, name, ranges, **policy, **more)

    def feed(self, token=None, **headers):
        return super().feed(token, A_IM="Full-Fidelity Feed", **{
            "x_ms_cosmos_changefeed_wire_format_version": "2021-09-15",
            **headers})

    def now(self, range=0):
        return self.range(range, "*")["etag"]


def changes_of(answer):
    """What an answer has, in short: type, id, LSN, the one before."""
    if answer.status == 304:
        return []
    return [(d["metadata"]["operationType"],
             d["metadata"].get("id") or d["current"]["id"],
             d["metadata"]["lsn"], d["metadata"].get("previousImageLSN"))
            for d in answer.json["Documents"]]


def add(server):
    def turn(seconds):
        equal(server.ask("POST", "/_runnel/clock",
                         {"advanceMs": seconds * 1000}).status, 200)

    @case("all versions have creates, replaces and deletes in order")
    def _():
        box = History(server, "av-all")
        start = box.now()
        equal(start, '"0"')
        first = box.put("p", "a", n=1).json
        second = box.put("p", "a", n=2).json
        box.delete("p", "a")
        answer = box.range(0, start)
        equal(answer.status, 200)
        equal(answer["etag"], '"3"')
        equal(answer["x-ms-item-count"], "3")
        equal(answer["x-ms-session-token"], "0:-1#3")
        equal(answer.json["_rid"], box.rid)
        equal(answer.json["_count"], 3)
        equal(answer.json["Documents"], [
            {"current": first, "metadata": {
                "lsn": 1, "crts": first["_ts"], "operationType": "create"}},
            {"current": second, "metadata": {
                "lsn": 2, "crts": second["_ts"], "operationType": "replace",
                "previousImageLSN": 1}},
            {"current": {}, "metadata": {
                "lsn": 3, "crts": answer.json["Documents"][2]["metadata"]["crts"],
                "operationType": "delete", "previousImageLSN": 2, "id": "a",
                "partitionKey": {"pk": "p"}}},
        ])
        equal(box.range(0, '"3"').status, 304)

    @case("all versions come by the page")
    def _():
        box = History(server, "av-pages")
        token = box.now()
        for n in range(20):
            box.put("p", str(n % 3), n=n)
        seen = []
        while True:
            answer = box.range(0, token, x_ms_max_item_count=3)
            if answer.status == 304:
                break
            assert answer.json["_count"] <= 3
            seen += changes_of(answer)
            token = answer["etag"]
        equal([lsn for _, _, lsn, _ in seen], list(range(1, 21)))
        equal(answer["etag"], '"20"')
        equal(answer["x-ms-item-count"], "0")

    @case("all versions have an end by time")
    def _():
        box = History(server, "av-ttl", defaultTtl=-1)
        token = box.now()
        box.put("p", "a", ttl=5)
        turn(6)
        answer = eventually(lambda: box.range(0, token),
                            lambda got: got.json["_count"] == 2)
        meta = answer.json["Documents"][1]["metadata"]
        equal(meta["timeToLiveExpired"], True)
        equal((meta["operationType"], meta["id"], meta["previousImageLSN"],
               meta["partitionKey"]), ("delete", "a", 1, {"pk": "p"}))

    @case("all versions of a hierarchical key have all of it")
    def _():
        box = History(server, "av-deep", paths=("/a", "/b/c"))
        token = box.now()
        key = json.dumps(["x", 1])
        box.put(["x", 1], "i", a="x", b={"c": 1})
        server.ask("DELETE", box.path + "/docs/i", None,
                   {"x-ms-documentdb-partitionkey": key})
        answer = box.range(0, token)
        equal(answer.json["Documents"][1]["metadata"]["partitionKey"],
              {"a": "x", "b/c": 1})

    @case("all versions have the scopes of a feed")
    def _():
        box = History(server, "av-scopes", 3)
        ids = [r["id"] for r in box.ranges()]
        tokens = {id: box.now(id) for id in ids}
        whole = box.feed("*")["etag"]
        for n in range(30):
            box.put(f"k{n % 7}", str(n))
        for n in range(0, 30, 3):
            box.delete(f"k{n % 7}", str(n))
        seen = {id: changes_of(box.range(id, tokens[id])) for id in ids}
        equal(sum(len(list_) for list_ in seen.values()), 40)
        union = changes_of(box.feed(whole, x_ms_max_item_count=1000))
        equal(sorted(union), sorted(sum(seen.values(), [])))
        one = [changes_of(box.range(id, tokens[id],
                                    x_ms_documentdb_partitionkey='["k1"]'))
               for id in ids]
        mine = [(kind, int(id)) for list_ in one for kind, id, _, _ in list_]
        want = [("create", n) for n in range(30) if n % 7 == 1] + [
            ("delete", n) for n in range(0, 30, 3) if n % 7 == 1]
        equal(sorted(mine), sorted(want))

    @case("all versions are refused without a policy")
    def _():
        for name, policy in (("av-off", {}), ("av-zero", {
                "changeFeedPolicy": {"retentionDuration": 0}})):
            box = History(server, name, policy=policy)
            for token in ("*", '"0"', None):
                answer = box.range(0, token)
                equal((answer.status, answer.json["code"]), (400, "BadRequest"))
                assert "All Versions and Deletes" in answer.json["message"]
                assert "must be enabled" in answer.json["message"]

    @case("all versions are not read from the beginning or a time")
    def _():
        box = History(server, "av-start")
        box.put("p", "a")
        for headers in ({}, {"If_Modified_Since": "Tue, 14 Nov 2023 22:13:20 GMT"}):
            answer = box.range(0, **headers)
            equal(answer.status, 400)
            assert "If-None-Match" in answer.json["message"]
            assert ("You must read the change feed from within the retention "
                    "period.") in answer.json["message"]

    @case("all versions that are kept for ever are read from the beginning")
    def _():
        box = History(server, "av-ever", policy=FOR_EVER)
        for n in range(3):
            box.put("p", "a", n=n)
        turn(100000)
        equal(changes_of(box.range(0)), [("create", "a", 1, None),
                                         ("replace", "a", 2, 1),
                                         ("replace", "a", 3, 2)])

    @case("a place before what is retained is refused, not moved")
    def _():
        box = History(server, "av-retention")
        token = box.now()
        box.put("p", "a")
        later = box.now()
        equal(changes_of(box.range(0, token)), [("create", "a", 1, None)])
        turn(601)
        answer = eventually(lambda: box.range(0, token),
                            lambda got: got.status == 400)
        assert "retained" in answer.json["message"], answer.text
        equal(box.range(0, later).status, 304)
        box.put("p", "b")
        equal(changes_of(box.range(0, later)), [("create", "b", 2, None)])

    @case("a reader that keeps up with parts of several ranges is too late in "
          "none")
    def _():
        box = History(server, "av-parts", 2, policy={
            "changeFeedPolicy": {"retentionDuration": 1}})
        keys = {}
        for n in range(20):
            session = box.put(f"k{n}", "a")["x-ms-session-token"]
            keys[session.split(":")[0]] = f"k{n}"
        part = {"x_ms_start_epk": box.ranges()[0]["maxExclusive"][:-1] + "E",
                "x_ms_end_epk": "FF"}
        first, token = box.now(), box.feed("*", **part)["etag"]
        box.put(keys["0"], "a")
        box.put(keys["1"], "a")
        answer = box.feed(token, **part)
        equal(len(changes_of(answer)), 1)
        turn(61)
        eventually(lambda: box.range(0, first),
                   lambda late: late.status == 400)
        equal(box.feed(answer["etag"], **part).status, 304)

    @case("a reader that keeps up is not too late for what a range merged with "
          "its own lost")
    def _():
        box = History(server, "av-merged", 2, policy={
            "changeFeedPolicy": {"retentionDuration": 1}})
        bound = box.ranges()[0]["maxExclusive"]
        keys = {}
        for n in range(20):
            session = box.put(f"k{n}", "a")["x-ms-session-token"]
            keys[session.split(":")[0]] = f"k{n}"
        for _ in range(40):
            box.put(keys["1"], "a")
        turn(61)
        eventually(lambda: box.range(1, '"30"'),
                   lambda late: late.status == 400)
        token = box.now(0)
        merged = box.merge(0, 1)
        box.put(keys["0"], "a")
        key = {"x_ms_documentdb_partitionkey": json.dumps([keys["0"]])}
        part = {"x_ms_start_epk": "", "x_ms_end_epk": bound}
        equal(len(changes_of(box.range(merged, token, **part))), 1)
        equal(len(changes_of(box.feed(token, **key))), 1)
        equal(box.range(merged, token).status, 400)

    @case("what happened before a policy is refused, not skipped")
    def _():
        box = History(server, "av-late", policy={})
        box.put("p", "a")
        body = server.ask("GET", box.path).json
        equal(server.ask("PUT", box.path, {**body, **KEPT}).status, 200)
        equal(box.range(0, '"0"').status, 400)
        token = box.now()
        equal(token, '"1"')
        box.put("p", "b")
        equal(changes_of(box.range(0, token)), [("create", "b", 2, None)])
        equal(server.ask("PUT", box.path, body).status, 200)
        box.put("p", "c")
        equal(server.ask("PUT", box.path, {**body, **KEPT}).status, 200)
        equal(box.range(0, token).status, 400)

    @case("previous images are there where the policy says so")
    def _():
        policy = {"changeFeedPolicy": {"retentionDuration": 5,
                                       "previousImages": True}}
        box = History(server, "av-previous", policy=policy)
        token = box.now()
        docs = [box.put("p", "a", n=n).json for n in range(2)]
        box.delete("p", "a")
        answer = box.range(0, token)
        equal([d.get("previous") for d in answer.json["Documents"]],
              [None, docs[0], docs[1]])

    @case("a bad change feed policy is refused with 400")
    def _():
        for policy in (1, [], {"retentionDuration": -2},
                       {"retentionDuration": "5"}, {"retentionDuration": 0.5}):
            answer = server.ask("POST", "/dbs/feed/colls", {
                "id": "av-bad", "partitionKey": {"paths": ["/pk"]},
                "changeFeedPolicy": policy})
            equal((policy, answer.status), (policy, 400))

    @case("documents read as they are, beside all versions")
    def _():
        box = History(server, "av-beside")
        box.put("p", "a", n=1)
        box.put("p", "a", n=2)
        answer = Box.feed(box)
        equal(answer.ids, ["a"])
        equal(answer.json["Documents"][0]["_lsn"], 2)
