"""claims.py -- what the published articles say of the change feed, one statement
after the other, where no other case has it by itself."""
import json
import random
import time

from wire import INCREMENTAL, Box, case, equal


def batch(box, pk, operations):
    answer = box.server.ask(
        "POST", box.path + "/docs", operations,
        {"x-ms-documentdb-partitionkey": json.dumps([pk]),
         "x-ms-cosmos-is-batch-request": "True",
         "x-ms-cosmos-batch-atomic": "True",
         "x-ms-cosmos-batch-continue-on-error": "False"})
    equal(answer.status, 200)
    return answer


def drain(read, token=None, **headers):
    """Ids by the page until there is nothing, and the last place."""
    pages = []
    while True:
        answer = read(token, **headers)
        assert answer.status in (200, 304), answer.text
        token = answer["etag"]
        if answer.status == 304:
            return pages, token
        pages.append(answer.ids)


def speed(server):
    @case("reads and writes take single-digit milliseconds")
    def _():
        box = Box(server, "said-fast")
        key = {"x-ms-documentdb-partitionkey": '["p"]'}
        took = {"write": [], "read": [], "feed": []}
        asks = {"write": lambda n: box.put("p", f"d{n}"),
                "read": lambda n: box.server.ask(
                    "GET", f"{box.path}/docs/d{n}", None, key),
                "feed": lambda n: box.range(0, f'"{n}"')}
        for n in range(100):
            for what, ask in asks.items():
                begun = time.monotonic()
                ask(n)
                took[what].append(time.monotonic() - begun)
        # A machine that is busy delays some of them; a server that waits for
        # a timer or for an acknowledgement of TCP delays all.
        for what, all in took.items():
            assert sorted(all)[10] < 0.01, (what, sorted(all)[::10])


def contents(server):
    @case("the feed lists documents by their last change, each once, as it is")
    def _():
        box = Box(server, "said-order")
        for id in "abcde":
            box.put("p", id, n=1)
        for id in "bda":
            for n in (2, 3):
                box.put("p", id, n=n)
        box.delete("p", "c")
        answer = box.range(0)
        equal([(d["id"], d["n"]) for d in answer.json["Documents"]],
              [("e", 1), ("b", 3), ("d", 3), ("a", 3)])
        lsns = [d["_lsn"] for d in answer.json["Documents"]]
        equal(lsns, sorted(set(lsns)))

    @case("pages of one have each change once, and their end has none")
    def _():
        box = Box(server, "said-once", 3)
        for n in range(40):
            box.put(f"k{n}", f"d{n}")
        for each in box.ranges():
            pages, end = drain(lambda token, **h: box.range(each["id"], token, **h),
                               x_ms_max_item_count=1)
            assert all(len(page) == 1 for page in pages)
            equal(box.range(each["id"], end).status, 304)
        pages, end = drain(box.feed, x_ms_max_item_count=1)
        equal(sorted(sum(pages, [])), sorted(f"d{n}" for n in range(40)))
        box.put("k7", "d7", again=True)
        equal(drain(box.feed, end)[0], [["d7"]])

    @case("within a partition key value the order of changes is kept")
    def _():
        box = Box(server, "said-keys", 3)
        rng, last = random.Random(7), {}
        for n in range(150):
            key, id = f"k{rng.randrange(5)}", f"d{rng.randrange(8)}"
            box.put(key, f"{key}-{id}", n=n)
            last[f"{key}-{id}"] = n
        read = []
        for each in box.ranges():
            read += box.range(each["id"], x_ms_max_item_count=1000).json[
                "Documents"]
        for key in {d["pk"] for d in read}:
            mine = [d["n"] for d in read if d["pk"] == key]
            equal(mine, sorted(mine))
            scoped = box.feed(x_ms_documentdb_partitionkey=json.dumps([key]),
                              x_ms_max_item_count=1000)
            equal([d["n"] for d in scoped.json["Documents"]], mine)
        equal({d["id"]: d["n"] for d in read}, last)

    @case("a flag that says deleted reaches the reader as any change does")
    def _():
        box = Box(server, "said-flag")
        box.put("p", "a")
        place = box.feed()["etag"]
        box.put("p", "a", deleted=True, ttl=1000)
        box.put("p", "b")
        box.delete("p", "b")
        found = box.feed(place).json["Documents"]
        equal([(d["id"], d["deleted"], d["ttl"]) for d in found],
              [("a", True, 1000)])

    @case("two readers at different places do not disturb each other")
    def _():
        box = Box(server, "said-two")
        for n in range(6):
            box.put("p", f"d{n}")
        places, found = ['"0"', '"3"'], [[], []]
        for _ in range(6):
            for i in (0, 1):
                answer = box.range(0, places[i], x_ms_max_item_count=1)
                places[i] = answer["etag"]
                found[i] += answer.ids
        equal(found, [[f"d{n}" for n in range(6)], [f"d{n}" for n in (3, 4, 5)]])


def calls(server):
    @case("data is reached by id, by query and by read feed")
    def _():
        box = Box(server, "said-ways")
        box.put("p", "a", n=5)
        path, key = box.path + "/docs", {"x-ms-documentdb-partitionkey": '["p"]'}
        equal(server.ask("GET", path + "/a", None, key).json["n"], 5)
        query = {"query": "SELECT * FROM c WHERE c.n = 5"}
        found = server.ask("POST", path, query, {
            **key, "x-ms-documentdb-isquery": "true",
            "content-type": "application/query+json"})
        equal(found.ids, ["a"])
        equal(server.ask("GET", path).ids, ["a"])
        equal(server.ask("GET", path, None, INCREMENTAL).ids, ["a"])

    @case("without A-IM a place means nothing, and the read feed has no LSN")
    def _():
        box = Box(server, "said-plain")
        box.put("p", "a")
        box.put("p", "b")
        for place in ('"1"', "*", '"2"'):
            answer = server.ask("GET", box.path + "/docs", None,
                                {"If-None-Match": place})
            equal((answer.status, sorted(answer.ids)), (200, ["a", "b"]))
            assert all("_lsn" not in d for d in answer.json["Documents"])

    @case("a first call gives all documents, the next the two created since")
    def _():
        box = Box(server, "said-sample", 3)
        for n in range(10):
            box.put(f"device-{n}", f"reading-{n}")
        places, found = {}, []

        def read():
            """As the articles' loop: a checkpoint for each range."""
            ids = []
            for each in box.ranges():
                pages, places[each["id"]] = drain(
                    lambda token, **h: box.range(each["id"], token, **h),
                    places.get(each["id"]), x_ms_max_item_count=1)
                ids += sum(pages, [])
            return sorted(ids)

        found = read()
        equal(found, sorted(f"reading-{n}" for n in range(10)))
        equal(read(), [])
        box.put("device-1", "reading-10")
        box.put("device-2", "reading-11")
        equal(read(), ["reading-10", "reading-11"])
        equal(read(), [])

    @case("what one transaction wrote comes in one page of one")
    def _():
        box = Box(server, "said-batch")
        box.put("p", "before")
        batch(box, "p", [{"operationType": "Create", "resourceBody": {
            "id": f"d{n}", "pk": "p"}} for n in range(10)])
        box.put("p", "after")
        pages, _ = drain(lambda token, **h: box.range(0, token, **h),
                         x_ms_max_item_count=1)
        equal(pages, [["before"], [f"d{n}" for n in range(10)], ["after"]])
        page = box.range(0, '"1"', x_ms_max_item_count=1)
        equal((page["etag"], page["x-ms-item-count"]), ('"2"', "10"))
        equal({d["_lsn"] for d in page.json["Documents"]}, {2})
        equal(drain(lambda token, **h: box.range(0, token, **h),
                    x_ms_max_item_count=3)[0],
              [["before"] + [f"d{n}" for n in range(10)], ["after"]])

    @case("the answer to a client that asks for the way to replicas names "
          "gateway mode")
    def _():
        answer = server.ask("GET", "/addresses/?$resolveFor=dbs&$filter=protocol"
                            "%20eq%20rntbd")
        equal(answer.status, 400)
        assert "gateway mode" in answer.json["message"], answer.text


def add(server):
    speed(server)
    contents(server)
    calls(server)
