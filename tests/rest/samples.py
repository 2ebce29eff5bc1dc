"""samples.py -- the requests that articles on the change feed print, as they
print them: of the read feed, and of the incremental one at range 16."""
from wire import Client, Server, case, equal

C = "/dbs/bigdb/colls/bigcoll"
OLD = {"x_ms_version": "2016-07-11", "accept": "application/json",
       "cache_control": "no-cache", "x_ms_consistency_level": "Strong"}


def prepare(*options):
    server = Server("--test-mode", *options)
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "bigdb"})
    client.must(201, "POST", "/dbs/bigdb/colls", {
        "id": "bigcoll", "partitionKey": {"paths": ["/pk"], "kind": "Hash"}})
    return server, client


def put(client, id, pk):
    """The id of the range that the document is in."""
    answer = client.must(201, "POST", C + "/docs", {"id": id, "pk": pk}, pk=[pk])
    return answer.headers["x-ms-session-token"].split(":")[0]


def pages(client, **headers):
    """Ids by the page, and the continuations between them."""
    found, tokens, more = [], [], {}
    while True:
        answer = client.must(200, "GET", C + "/docs", **headers, **more)
        found.append([each["id"] for each in answer.json["Documents"]])
        equal(answer.json["_count"], len(found[-1]))
        token = answer.headers.get("x-ms-continuation")
        if not token:
            return found, tokens
        tokens.append(token)
        more = {"x_ms_continuation": token}


@case("a read feed as the articles print it goes through all ranges, by pages "
      "of the size asked for")
def _():
    server, client = prepare("--ranges", "4")
    wanted = {f"d{i}" for i in range(40)}
    ranges = {put(client, id, id) for id in wanted}
    equal(len(ranges), 4)
    for size in (1, 7, 40):
        found, tokens = pages(client, x_ms_max_item_count=size, **OLD)
        equal(sorted(sum(found, [])), sorted(wanted))
        assert all(len(page) <= size for page in found)
        assert len(tokens) == len(found) - 1
        again = client.must(200, "GET", C + "/docs", x_ms_max_item_count=size,
                            x_ms_continuation=tokens[0], **OLD) \
            if tokens else None
        if again:  # a place is good more than once
            equal([each["id"] for each in again.json["Documents"]], found[1])
    found, _ = pages(client, x_ms_max_item_count=-1, **OLD)
    equal(sorted(sum(found, [])), sorted(wanted))
    by_range = [pages(client, x_ms_documentdb_partitionkeyrangeid=each, **OLD)[0]
                for each in ranges]
    equal(sorted(sum(sum(by_range, []), [])), sorted(wanted))
    equal(client.must(200, "GET", C, **OLD).json["id"], "bigcoll")
    server.end()


@case("the incremental feed as the articles print it, at range 16 from 28535")
def _():
    server, client = prepare("--ranges", "17")
    inside = [f"k{i}" for i in range(600)
              if put(client, f"d{i}", f"k{i}") == "16"][:3]
    equal(len(inside), 3)
    client.must(200, "POST", "/_runnel/lsn",
                {"container": C[1:], "range": 16, "lsn": 28535})
    sample = {"x_ms_max_item_count": 1, "a_im": "Incremental feed",
              "x_ms_documentdb_partitionkeyrangeid": 16, **OLD}
    nothing = client.must(304, "GET", C + "/docs", if_none_match='"28535"',
                          **sample)
    equal(nothing.headers["etag"], '"28535"')
    for i, pk in enumerate(inside):
        put(client, f"new{i}", pk)
    place, found = '"28535"', []
    for lsn in (28536, 28537, 28538):
        answer = client.must(200, "GET", C + "/docs", if_none_match=place,
                             **sample)
        place = answer.headers["etag"]
        equal(place, f'"{lsn}"')
        found += [each["id"] for each in answer.json["Documents"]]
    equal(found, ["new0", "new1", "new2"])
    end = client.must(304, "GET", C + "/docs", if_none_match=place, **sample)
    equal(end.headers["etag"], place)
    server.end()
