"""bad.py -- what is wrong with a feed request is said, and nothing is skipped."""
from wire import Box, case, equal


def add(server):
    @case("a malformed place is refused with 400 and words")
    def _():
        box = Box(server, "malformed")
        box.put("p", "a")
        for token in ("abc", "-1", '"-1"', "1.5", '"1', '"1","2"', "**", '"*"',
                      'W/"*"', "0:1:2",
                      '"0:-1#1,0:-1#1"', '"0:-1#"', "99999999999999999999999"):
            answer = box.feed(token)
            equal((token, answer.status), (token, 400))
            assert "If-None-Match" in answer.json["message"], answer.text

    @case("a place from the future is refused, never taken for the end")
    def _():
        box = Box(server, "future")
        box.put("p", "a")
        for answer in (box.range(0, '"2"'), box.feed('"2"'),
                       box.feed('"0:-1#2"'), box.range(0, "18446744073709551615"),
                       box.feed('"2"', x_ms_documentdb_partitionkey='["p"]')):
            equal(answer.status, 400)
            assert "LSN 2" in answer.json["message"] or "1844" in answer.text

    @case("the place of one range is refused for several")
    def _():
        box = Box(server, "several", 3)
        for n in range(3):
            box.put("p", "a", n=n)
        equal(box.feed('"1"').status, 400)
        equal(box.feed('"0:-1#0,9:-1#1"').status, 400)
        equal(box.range(0, '"0:-1#0,1:-1#0"').status, 400)
        equal(box.feed('"0:-1#0"').ids, ["a"])

    @case("a range that is not there is gone with 410/1002")
    def _():
        box = Box(server, "gone", 3)
        for id in ("3", "17", "-1", "x", "00000000000", "4294967296", ","):
            answer = box.range(id)
            equal((id, answer.status), (id, 410))
            equal(answer.substatus, 1000 if id == "," else 1002)
            equal(answer.json["code"], "Gone")
        other = Box(server, "gone-2")
        answer = box.range(f"{other.rid},0")
        equal((answer.status, answer.substatus), (410, 1000))

    @case("a bad page size, time, key or interval is refused with 400")
    def _():
        box = Box(server, "bad-headers")
        for headers in ({"x_ms_max_item_count": 0}, {"x_ms_max_item_count": -2},
                        {"x_ms_max_item_count": "many"},
                        {"If_Modified_Since": "yesterday"},
                        {"If_Modified_Since": "2023-11-14T22:13:20Z"},
                        {"x_ms_documentdb_partitionkey": "p"},
                        {"x_ms_documentdb_partitionkey": '["p","q"]'},
                        {"x_ms_start_epk": "XYZ"}, {"x_ms_end_epk": "1"},
                        {"A_IM": "Decremental Feed"}, {"A_IM": ""},
                        {"x_ms_session_token": "0:-1#"}):
            answer = box.feed(**headers)
            equal((headers, answer.status), (headers, 400))
            assert answer.json["message"]

    @case("a query of the feed is refused with 400, not answered with all")
    def _():
        box = Box(server, "query")
        box.put("p", "a")
        ask = {"x-ms-documentdb-isquery": "true",
               "content-type": "application/query+json",
               "x-ms-documentdb-query-enablecrosspartition": "true"}
        query = {"query": "SELECT * FROM c"}
        for im in ("Incremental Feed", "Full-Fidelity Feed"):
            answer = server.ask("POST", box.path + "/docs", query,
                                {**ask, "A-IM": im})
            equal(answer.status, 400)
            assert "change feed" in answer.json["message"]
        equal(server.ask("POST", box.path + "/docs", query, ask).ids, ["a"])

    @case("all versions and deletes are refused with the service's words")
    def _():
        box = Box(server, "avad")
        answer = box.feed("*", A_IM="Full-Fidelity Feed")
        equal(answer.status, 400)
        assert "All Versions and Deletes" in answer.json["message"]
        assert "must be enabled" in answer.json["message"]

    @case("a session from the future is refused with 404/1002")
    def _():
        box = Box(server, "session")
        box.put("p", "a")
        equal(box.range(0, x_ms_session_token="0:-1#1").ids, ["a"])
        equal(box.range(0, x_ms_session_token="0:-1#1,7:-1#900").ids, ["a"])
        answer = box.range(0, x_ms_session_token="0:-1#2")
        equal((answer.status, answer.substatus), (404, 1002))

    @case("an absent container is not found, an intended other is reported")
    def _():
        box = Box(server, "intended")
        head = {"A-IM": "Incremental Feed"}
        equal(server.ask("GET", "/dbs/feed/colls/none/docs", None, head).status,
              404)
        answer = box.feed(x_ms_cosmos_intended_collection_rid="AAAAAAAAAAA=")
        equal((answer.status, answer.substatus), (400, 1024))
