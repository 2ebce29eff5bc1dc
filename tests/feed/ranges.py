"""ranges.py -- the list of a container's partition key ranges."""
import re

from wire import Box, case, equal

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

    @case("an absent container has no ranges")
    def _():
        answer = server.ask("GET", "/dbs/feed/colls/none/pkranges")
        equal((answer.status, answer.substatus), (404, 1003))
