"""ranges.py -- the list of a container's partition key ranges."""
import re

from wire import Box, INCREMENTAL, case, equal

SAMPLE = {"x-ms-consistency-level": "Session", "accept": "application/json",
          "cache-control": "no-cache",
          "user-agent": "Microsoft.Azure.Documents.Client/1.10.27.5"}


def sample(box):
    """The request as the articles print it."""
    return box.server.ask("GET", box.path + "/pkranges", None, SAMPLE,
                          version="2016-07-11")


def add(server):
    @case("the ranges are listed for the articles' request, with its headers")
    def _():
        box = Box(server, "listed", 3)
        answer = sample(box)
        equal(answer.status, 200)
        equal(answer["content-type"], "application/json")
        equal(answer["x-ms-item-count"], "3")
        equal(answer["x-ms-schemaversion"], "1.1")
        assert answer["date"] and answer["x-ms-activity-id"]
        assert float(answer["x-ms-request-charge"]) > 0
        equal(answer["etag"], '"3"')
        equal(server.ask("GET", box.path + "/pkranges/").json, answer.json)

    @case("the body has the container's rid, the ranges and their count")
    def _():
        box = Box(server, "listed", 3)
        body = sample(box).json
        equal(sorted(body), ["PartitionKeyRanges", "_count", "_rid"])
        equal(body["_rid"], box.rid)
        equal(body["_count"], 3)
        equal(len(body["PartitionKeyRanges"]), 3)

    @case("a range has rid, id, etag, bounds, self link and time")
    def _():
        box = Box(server, "listed", 3)
        ranges = sample(box).json["PartitionKeyRanges"]
        database = server.ask("GET", "/dbs/feed").json["_self"]
        bound = ""
        for each in ranges:
            equal(each["minInclusive"], bound)
            bound = each["maxExclusive"]
            assert re.fullmatch("([0-9A-F]{2})+", bound), bound
            assert re.fullmatch(r'"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"',
                                each["_etag"]), each["_etag"]
            equal(each["_self"],
                  f'{database}colls/{box.rid}/pkranges/{each["_rid"]}/')
            assert isinstance(each["_ts"], int) and each["_ts"] > 0
            equal((each["status"], each["parents"]), ("online", []))
        equal(bound, "FF")
        for name in ("_rid", "id", "_etag", "_self"):
            equal(len({each[name] for each in ranges}), 3)

    @case("no range has an id that another has had")
    def _():
        box = Box(server, "ids", 3)
        seen = {each["id"] for each in box.ranges()}
        for n in range(6):
            before = [each["id"] for each in box.ranges()]
            made = ([box.merge(*before[:2])] if n % 2 else box.split(before[0]))
            assert not seen & set(made), (seen, made)
            seen |= set(made)
            equal({each["id"] for each in box.ranges()} - set(before), set(made))

    def page(box, size, **headers):
        headers["x-ms-max-item-count"] = str(size)
        return server.ask("GET", box.path + "/pkranges", None, headers)

    def pages(box, size, **headers):
        """All of them, page by page, by the continuation."""
        found, token = [], None
        while True:
            more = {"x-ms-continuation": token} if token else {}
            answer = page(box, size, **headers, **more)
            equal(answer.status, 200)
            some = answer.json["PartitionKeyRanges"]
            equal((answer.json["_count"], answer["x-ms-item-count"]),
                  (len(some), str(len(some))))
            assert 0 < len(some) <= size, some
            found += some
            token = answer["x-ms-continuation"]
            if not token:
                return found

    @case("ranges come by the page to clients that ask for pages")
    def _():
        box = Box(server, "paged", 5)
        box.split(1)
        whole = box.ranges()
        for size in (1, 2, 5, 6, 7, 2000):
            equal(sorted(pages(box, size), key=str), sorted(whole, key=str))
        for size in (-1, 6, 1000):
            answer = page(box, size)
            equal(answer.json["PartitionKeyRanges"], whole)
            equal(answer["x-ms-continuation"], None)
        for size in ("0", "-2", "x", "1.5"):
            equal(page(box, size).status, 400)

    @case("ranges that are new come by the page too, found by the etag")
    def _():
        box = Box(server, "paged-new", 4)
        found, etag = [], None
        while True:
            more = {"If-None-Match": etag} if etag else {}
            answer = page(box, 3, **INCREMENTAL, **more)
            equal(answer["x-ms-continuation"], None)
            etag = answer["etag"]
            if answer.status == 304:
                break
            equal(answer.status, 200)
            found += [each["id"] for each in answer.json["PartitionKeyRanges"]]
            if len(found) == 3:
                box.split(0)
        equal(found[:3], ["0", "1", "2"])
        equal(sorted(found), ["0", "1", "2", "3", "4", "5"])

    @case("a split between two pages of ranges loses nothing")
    def _():
        box = Box(server, "paged-split", 3)
        first = page(box, 1)
        equal([each["id"] for each in first.json["PartitionKeyRanges"]], ["0"])
        box.split(0)
        box.split(1)
        rest = page(box, 9, **{"x-ms-continuation": first["x-ms-continuation"]})
        equal({each["id"]: each["parents"]
               for each in rest.json["PartitionKeyRanges"]},
              {"2": [], "3": ["0"], "4": ["0"], "5": ["1"], "6": ["1"]})

    @case("a page of ranges is of its own container")
    def _():
        box, other = Box(server, "paged-own", 2), Box(server, "paged-other", 2)
        token = page(other, 1)["x-ms-continuation"]
        for bad in (token, box.rid, "1", "x", token[:-4]):
            answer = page(box, 1, **{"x-ms-continuation": bad})
            equal((answer.status, answer.json["message"].splitlines()[0]),
                  (400, "Invalid Continuation Token"))

    @case("a loop over the ranges, by continuation or by etag, ends with all")
    def _():
        box = Box(server, "ranges-loop", 5)
        box.split(2)
        for size in (-1, 1, 3, 100):
            found, more = [], {}
            for _ in range(20):
                answer = box.server.ask("GET", box.path + "/pkranges", None, {
                    "x-ms-max-item-count": str(size), **more})
                found += [r["id"] for r in answer.json["PartitionKeyRanges"]]
                if not answer["x-ms-continuation"]:
                    break
                more = {"x-ms-continuation": answer["x-ms-continuation"]}
            equal(sorted(found), ["0", "1", "3", "4", "5", "6"])
            found, more = [], {}
            for _ in range(20):
                answer = box.server.ask("GET", box.path + "/pkranges", None, {
                    "A-IM": "Incremental Feed", "x-ms-max-item-count": str(size),
                    **more})
                if answer.status == 304:
                    break
                found += [r["id"] for r in answer.json["PartitionKeyRanges"]]
                more = {"If-None-Match": answer["etag"]}
            equal((answer.status, sorted(found)),
                  (304, ["0", "1", "3", "4", "5", "6"]))

    @case("an absent container has no ranges")
    def _():
        answer = server.ask("GET", "/dbs/feed/colls/none/pkranges")
        equal((answer.status, answer.substatus), (404, 1003))
