"""latest.py -- the incremental feed of one range: places, pages, bodies."""
import threading
import time
from email.utils import formatdate

from wire import Box, case, equal


def seconds(at, zone="GMT"):
    return formatdate(at, usegmt=True).replace("GMT", zone)


def turn(server, by):
    equal(server.ask("POST", "/_runnel/clock", {"advanceMs": by * 1000}).status,
          200)


def places(server):
    @case("a second read gives only what is new")
    def _():
        box = Box(server, "new")
        box.put("p", "a")
        box.put("q", "b")
        first = box.range(0)
        equal(first.status, 200)
        equal(first.ids, ["a", "b"])
        equal(first["etag"], '"2"')
        again = box.range(0, first["etag"])
        equal(again.status, 304)
        equal(again.text, "")
        equal(again["etag"], '"2"')
        box.put("p", "c")
        equal(box.range(0, again["etag"]).ids, ["c"])

    @case("the place is accepted quoted, bare and weak")
    def _():
        box = Box(server, "spellings")
        for n in range(4):
            box.put("p", f"d{n}")
        for token in ('"2"', "2", 'W/"2"'):
            equal(box.range(0, token).ids, ["d2", "d3"])
        for token in ('"0"', "0", None, ""):
            equal(len(box.range(0, token).ids), 4)

    @case("zero is the beginning, of several ranges too")
    def _():
        box = Box(server, "zero", 3)
        for n in range(8):
            box.put(f"k{n}", f"d{n}")
        for token in ('"0"', "0", 'W/"0"'):
            equal(sorted(box.feed(token).ids), [f"d{n}" for n in range(8)])

    @case("A-IM is read in any case")
    def _():
        box = Box(server, "words")
        box.put("p", "a")
        for word in ("Incremental feed", "incremental feed", "INCREMENTAL FEED"):
            equal(box.range(0, A_IM=word).ids, ["a"])

    @case("a star answers 304 with the current LSN and misses nothing after")
    def _():
        box = Box(server, "now")
        box.put("p", "old")
        now = box.range(0, "*")
        equal((now.status, now["etag"], now["x-ms-item-count"]), (304, '"1"', "0"))
        box.put("p", "new")
        equal(box.range(0, now["etag"]).ids, ["new"])

    @case("a change moves its document to the end, a delete takes it out")
    def _():
        box = Box(server, "moves")
        for id in "abc":
            box.put("p", id)
        box.put("p", "a", n=2)
        box.delete("p", "b")
        answer = box.range(0)
        equal(answer.ids, ["c", "a"])
        equal(answer.json["Documents"][1]["n"], 2)
        equal(answer["etag"], '"4"')
        end = box.range(0, answer["etag"])
        equal((end.status, end["etag"]), (304, '"5"'))

    @case("an expired document is not in the feed")
    def _():
        box = Box(server, "expired", defaultTtl=-1)
        box.put("p", "short", ttl=1)
        box.put("p", "long", ttl=1000)
        deadline = time.monotonic() + 10
        while "short" in box.range(0).ids and time.monotonic() < deadline:
            time.sleep(0.05)
        answer = box.range(0)
        equal(answer.ids, ["long"])
        equal(answer.json["Documents"][0]["ttl"], 1000)


def times(server):
    @case("a start time gives what is later, in GMT and in UTC")
    def _():
        box = Box(server, "times")
        first = box.put("p", "a").json["_ts"]
        turn(server, 2)
        ts = box.put("p", "b").json["_ts"]
        assert ts >= first + 2
        for zone in ("GMT", "UTC"):
            for at in (first, ts - 1):
                equal(box.range(0, If_Modified_Since=seconds(at, zone)).ids,
                      ["b"])
            equal(box.range(0, If_Modified_Since=seconds(first - 1, zone)).ids,
                  ["a", "b"])
            for at in (ts, ts + 100):
                late = box.range(0, If_Modified_Since=seconds(at, zone))
                equal((late.status, late["etag"]), (304, '"2"'))
            # Beside a place the time leaves out nothing of its own second.
            equal(box.range(0, '"1"', If_Modified_Since=seconds(ts, zone)).ids,
                  ["b"])

    @case("beside a place the time does not move it")
    def _():
        box = Box(server, "both")
        for n in range(3):
            box.put("p", f"d{n}")
        ts = box.range(0).json["Documents"][0]["_ts"]
        since = seconds(ts - 100)
        for when in (since, seconds(ts + 5000)):
            equal(box.range(0, '"2"', If_Modified_Since=when).ids, ["d2"])
        equal(box.range(0, "*", If_Modified_Since=since).status, 304)

    @case("old versions are given a place by time, and read from there")
    def _():
        box = Box(server, "old-times")
        for n in range(3):
            box.put("p", f"d{n}")
        ts = box.range(0).json["Documents"][0]["_ts"]
        turn(server, 2)
        last = box.put("p", "d3").json["_ts"]
        for since, etag in ((ts - 100, '"0"'), (last - 1, '"3"'), (last, '"4"'),
                            (last + 100, '"4"')):
            answer = box.range(0, version="2016-07-11",
                               If_Modified_Since=seconds(since))
            equal((answer.status, answer["etag"]), (304, etag))
            equal(answer["x-ms-session-token"], "0:" + etag.strip('"'))
        equal(len(box.range(0, '"0"', version="2016-07-11").ids), 4)

    @case("from a time there is all after that second, in every range")
    def _():
        box = Box(server, "seconds", 3)
        stamps = {}
        for n in range(24):
            stamps[f"d{n}"] = box.put(f"k{n}", f"d{n}").json["_ts"]
            if n == 12:
                box.merge(*box.split(1))
            turn(server, 1)
        later = {id: ts for id, ts in stamps.items()}
        equal(len(set(later.values())), 24)
        for at in range(min(stamps.values()) - 1, max(stamps.values()) + 2):
            want = sorted(id for id, ts in stamps.items() if ts > at)
            since = {"If_Modified_Since": seconds(at)}
            equal(sorted(box.feed(**since).ids), want)
            equal(sorted(sum((box.range(r["id"], **since).ids
                              for r in box.ranges()), [])), want)

    @case("from now nothing is missed that is written after the answer")
    def _():
        box = Box(server, "from-now", 3)
        written, places = [], []
        writer = Box(server.another(), "from-now", 3)

        def write():
            for n in range(300):
                written.append(f"d{n}")  # it begins
                writer.put(f"k{n % 40}", f"d{n}")

        thread = threading.Thread(target=write)
        thread.start()
        while thread.is_alive():
            token = box.feed("*")["etag"]
            places.append((token, len(written)))
        thread.join()
        assert len(places) > 10
        for token, begun in places:
            found = set(box.feed(token, x_ms_max_item_count=1000).ids)
            equal(sorted(set(written[begun:]) - found), [])
        equal(sorted(box.feed(x_ms_max_item_count=1000).ids), sorted(written))


def pages(server):
    @case("pages have the size that is asked for, and each its own place")
    def _():
        box = Box(server, "pages")
        for n in range(7):
            box.put("p", f"d{n}")
        token, found = None, []
        for size in (3, 3, 1):
            page = box.range(0, token, x_ms_max_item_count=3)
            equal(len(page.ids), size)
            equal(page["x-ms-item-count"], str(size))
            equal(page.json["_count"], size)
            equal(page["x-ms-continuation"], None)
            token = page["etag"]
            equal(token, f'"{page.json["Documents"][-1]["_lsn"]}"')
            found += page.ids
        equal(found, [f"d{n}" for n in range(7)])
        equal(box.range(0, token, x_ms_max_item_count=3).status, 304)
        equal(len(box.range(0, x_ms_max_item_count=-1).ids), 7)

    @case("without a size a page has a hundred documents")
    def _():
        box = Box(server, "hundred")
        for n in range(120):
            box.put(n, f"d{n}")
        equal(len(box.range(0).ids), 100)
        equal(len(box.range(0, x_ms_max_item_count=-1).ids), 100)
        equal(len(box.range(0, x_ms_max_item_count=110).ids), 110)

    @case("a page ends after about four megabytes")
    def _():
        box = Box(server, "large")
        for n in range(12):
            box.put("p", f"d{n}", text="x" * 700000)
        page = box.range(0)
        assert 5 <= len(page.ids) <= 7, page.ids
        rest = box.range(0, page["etag"])
        assert len(page.ids) + len(rest.ids) == 12


def bodies(server):
    @case("documents come as they are read, with their LSN")
    def _():
        box = Box(server, "bodies")
        stored = box.put("p", "a", n=1.50, text="\u9c40").json
        body = box.range(0).json
        equal(body["_rid"], box.rid)
        document = body["Documents"][0]
        equal(document.pop("_lsn"), 1)
        equal(document, stored)
        read = server.ask("GET", box.path + "/docs/a", None,
                          {"x-ms-documentdb-partitionkey": '["p"]'}).json
        equal(read, stored)

    @case("the wire format header wraps each document")
    def _():
        box = Box(server, "wrapped")
        stored = box.put("p", "a").json
        body = box.range(
            0, x_ms_cosmos_changefeed_wire_format_version="2021-09-15").json
        equal(body["Documents"], [{"current": stored, "metadata": {
            "lsn": 1, "crts": stored["_ts"]}}])
        equal(body["_count"], 1)

    @case("every answer has place, count, charge, session and activity")
    def _():
        box = Box(server, "headers")
        box.put("p", "a")
        box.put("p", "b")
        full = box.range(0, x_ms_max_item_count=1)
        end = box.range(0, '"2"')
        for answer in (full, end):
            assert float(answer["x-ms-request-charge"]) > 0
            assert answer["x-ms-activity-id"]
            equal(answer["x-ms-session-token"], "0:-1#2")
            equal(answer["x-ms-documentdb-partitionkeyrangeid"], "0")
            equal(answer["lsn"], "2")
        equal((full["etag"], end["etag"]), ('"1"', '"2"'))
        equal(full["content-type"], "application/json")
        equal(end["transfer-encoding"], None)


def add(server):
    places(server)
    times(server)
    pages(server)
    bodies(server)
