"""odd.py -- requests that no client sends on purpose, and clients that are old,
careless or in the middle of a change of what they read."""
import json
import select

from wire import INCREMENTAL, KEY, Answer, Box, Server, case, equal, sign
from waits import begin, parked

FULL = "Full-Fidelity Feed"
EPKS = {"x_ms_read_key_type": "EffectivePartitionKeyRange"}


def send(server, verb, path, fields, version=11):
    """Header fields as they are, in this order, on a connection of its own."""
    c = server.another().connection
    c._http_vsn, c._http_vsn_str = version, f"HTTP/1.{version - 10}"
    c.putrequest(verb, path, skip_accept_encoding=True)
    signed = sign(verb, path, KEY)
    for name, value in [("x-ms-version", "2020-07-15"), *signed.items(), *fields]:
        c.putheader(name, value)
    c.endheaders()
    return c


def ask(server, verb, path, fields, version=11):
    response = send(server, verb, path, fields, version).getresponse()
    answer = Answer(response, response.read())
    answer.closes = response.will_close
    return answer


def end(reader):
    """Its answer, which must come soon."""
    assert select.select([reader.connection.sock], [], [], 30)[0], "no answer"
    return reader.end()


def headers(server):
    @case("header names are read in any case of letters")
    def _():
        box = Box(server, "odd-names")
        for n in range(3):
            box.put("p", f"d{n}")
        answer = ask(server, "GET", box.path + "/docs", [
            ("a-Im", "iNCREMENTAL fEED"), ("IF-NONE-MATCH", '"1"'),
            ("X-MS-MAX-ITEM-COUNT", "1"),
            ("X-Ms-DocumentDB-PartitionKeyRangeID", "0")])
        equal((answer.ids, answer["etag"]), (["d1"], '"2"'))

    @case("a header that says what is read and is there twice is refused")
    def _():
        box = Box(server, "odd-twice")
        box.put("p", "a")
        for name, values in (
                ("A-IM", ("Incremental Feed", FULL)),
                ("If-None-Match", ('"1"', '"0"')),
                ("If-None-Match", ('"0"', '"0"')),
                ("If-Modified-Since", ("Tue, 14 Nov 2023 22:13:20 GMT",) * 2),
                ("x-ms-max-item-count", ("1", "2")),
                ("x-ms-documentdb-partitionkeyrangeid", ("0", "1")),
                ("x-ms-documentdb-partitionkey", ('["p"]', '["q"]')),
                ("x-ms-start-epk", ("", "10")), ("x-ms-end-epk", ("FF", "20"))):
            fields = [] if name == "A-IM" else list(INCREMENTAL.items())
            fields += [(name, values[0]), (name.lower(), values[1])]
            answer = ask(server, "GET", box.path + "/docs", fields)
            equal((name, answer.status), (name, 400))
            assert "more than once" in answer.json["message"], answer.text

    @case("a page size is a number above 0, or -1, however large")
    def _():
        box = Box(server, "odd-sizes")
        for n in range(5):
            box.put("p", f"d{n}")
        for size, count in (("-1", 5), ("1", 1), ("5", 5), ("0002", 2),
                            ("2147483647", 5), ("4294967296", 5), ("", 5)):
            equal((size, len(box.feed(x_ms_max_item_count=size).ids)),
                  (size, count))
        for size in ("0", "-0", "-2", "+5", "5.0", "1e3", "0x10", "1,2", "1 2",
                     "18446744073709551616", "five"):
            answer = box.feed(x_ms_max_item_count=size)
            equal((size, answer.status), (size, 400))
            assert "x-ms-max-item-count" in answer.json["message"]

    @case("a start before all times gives all, one after them nothing yet")
    def _():
        box = Box(server, "odd-times")
        for n in range(3):
            box.put("p", f"d{n}")
        for since in ("Thu, 01 Jan 1970 00:00:00 GMT",
                      "Wed, 31 Dec 1969 23:59:59 GMT",
                      "Mon, 01 Jan 0001 00:00:00 GMT"):
            equal(len(box.feed(If_Modified_Since=since).ids), 3, since)
        late = box.feed(If_Modified_Since="Fri, 31 Dec 9999 23:59:59 GMT")
        equal((late.status, late["etag"]), (304, '"3"'))
        box.put("p", "d3")
        equal(box.feed(late["etag"]).ids, ["d3"])
        for since in ("0", "1700000000", "now", "Tue, 14 Nov 2023 22:13:20",
                      "Tue, 14 Nov 2023 22:13:20 PST",
                      "Mon, 14 Nov 2023 22:13:20 GMT",
                      "Thu, 30 Feb 2023 22:13:20 GMT",
                      "Tue, 14 Nov 2023 24:00:00 GMT"):
            for place in (None, '"1"', "*"):
                answer = box.feed(place, If_Modified_Since=since)
                equal((since, answer.status), (since, 400))
                assert since in answer.json["message"]

    @case("A-IM that names no feed, or two, is refused")
    def _():
        box = Box(server, "odd-modes")
        for im in ("Incremental Feed, Full-Fidelity Feed", "IncrementalFeed",
                   "Incremental  Feed", "feed", "vcdiff", "*"):
            equal((im, box.feed(A_IM=im).status), (im, 400))


def waiting(server):
    @case("a wait that is no whole number of seconds is no wait")
    def _():
        box = Box(server, "odd-waits")
        box.put("p", "a")
        for wait in ("-1", "1.5", "0", "", "soon", "0x10", "60s", "1 2"):
            answer = end(begin(box, '"1"', wait=wait))
            equal((wait, answer.status, answer["preference-applied"]),
                  (wait, 304, None))

    @case("a wait of any length is one of five minutes at most")
    def _():
        box = Box(server, "odd-long")
        box.put("p", "a")
        readers = [begin(box, '"1"', wait=wait) for wait in (
            "301", "4294967295", "4294967296", "9" * 40, '"900";x=y')]
        parked(readers[-1], box)
        box.put("p", "b")
        for reader in readers:
            answer = end(reader)
            equal((answer.ids, answer["preference-applied"]),
                  (["b"], "wait=300"))

    @case("a wait may stand in the second of two Prefer headers")
    def _():
        box = Box(server, "odd-prefers")
        box.put("p", "a")
        c = send(server, "GET", box.path + "/docs", [
            *INCREMENTAL.items(), ("If-None-Match", '"1"'),
            ("Prefer", "return=minimal"), ("prefer", "wait=60")])
        reader = Server("http://" + server.netloc)
        reader.connection = c
        parked(reader, box)
        box.put("p", "b")
        answer = end(reader)
        equal((answer.ids, answer["preference-applied"]), (["b"], "wait=60"))

    @case("a reader that waits in HTTP/1.0 is answered, and its connection "
          "closed")
    def _():
        box = Box(server, "odd-http")
        box.put("p", "a")
        path = box.path + "/docs"
        place = ("If-None-Match", '"1"')
        answer = ask(server, "GET", path, INCREMENTAL.items(), 10)
        equal((answer.ids, answer.closes), (["a"], True))
        answer = ask(server, "GET", path, [*INCREMENTAL.items(), place], 10)
        equal((answer.status, answer.text, answer.closes), (304, "", True))
        c = send(server, "GET", path, [*INCREMENTAL.items(), place,
                                       ("Prefer", "wait=60")], 10)
        box.put("p", "b")
        response = c.getresponse()
        equal(Answer(response, response.read()).ids, ["b"])
        equal(response.will_close, True)

    @case("HEAD of a feed is refused without a body, and nobody waits")
    def _():
        box = Box(server, "odd-head")
        box.put("p", "a")
        for more in ([], [("If-None-Match", '"1"'), ("Prefer", "wait=60")]):
            answer = ask(server, "HEAD", box.path + "/docs",
                         [*INCREMENTAL.items(), *more])
            equal((answer.status, answer.text), (405, ""))

    @case("what is sent behind a request that waits is answered after it")
    def _():
        box = Box(server, "odd-line")
        box.put("p", "a")
        path = box.path + "/docs"
        c = send(server, "GET", path, [*INCREMENTAL.items(), (
            "If-None-Match", '"1"'), ("Prefer", "wait=60")])
        fields = {"Host": server.netloc, "x-ms-version": "2020-07-15",
                  **sign("GET", path, KEY), **INCREMENTAL}
        lines = [f"GET {path} HTTP/1.1"] + [f"{k}: {v}"
                                            for k, v in fields.items()]
        c.sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        parked_reader = Server("http://" + server.netloc)
        parked_reader.connection = c
        parked(parked_reader, box)
        box.put("p", "b")
        file = c.sock.makefile("rb")
        for wanted in (["b"], ["a", "b"]):
            assert b" 200 " in file.readline()
            length = 0
            while (line := file.readline().strip().lower()):
                if line.startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            body = json.loads(file.read(length))
            equal([d["id"] for d in body["Documents"]], wanted)


def changed(server):
    @case("a place of a deleted container is refused by one of the same name")
    def _():
        box = Box(server, "odd-again")
        for n in range(5):
            box.put("p", f"d{n}")
        place, rid = box.feed()["etag"], box.rid
        equal(server.ask("DELETE", box.path).status, 204)
        box = Box(server, "odd-again")
        assert box.rid != rid
        for again in range(2):
            answer = box.feed(place)
            equal(answer.status, 400)
            assert "not a place of this feed" in answer.json["message"]
            equal(box.feed('"0"').status, 200 if again else 304)
            answer = box.feed(x_ms_cosmos_intended_collection_rid=rid)
            equal((answer.status, answer.substatus), (400, 1024))
            answer = box.range(f"{rid},0")
            equal((answer.status, answer.substatus), (410, 1000))
            box.put("p", "new")
        equal(box.range(f"{box.rid},0").ids, ["new"])

    @case("a place of another container is refused where it cannot be one")
    def _():
        one, three = Box(server, "odd-one"), Box(server, "odd-three", 3)
        one.put("p", "a")
        for answer in (one.feed('"0:-1#0,1:-1#0,2:-1#0"'), three.feed('"1"'),
                       three.feed('"0:-1#9,1:-1#0,2:-1#0"'),
                       three.feed('"0:-1#-1,1:-1#0,2:-1#0"'),
                       three.range(1, '"0:-1#0"'),
                       one.feed('"00000000-0000-0000-0000-000000000001"')):
            equal(answer.status, 400)
            assert "If-None-Match" in answer.json["message"]

    @case("a reader that waits for a container, or a database, that is deleted "
          "gets 404")
    def _():
        for what in ("container", "database", "container made again"):
            server.ask("POST", "/dbs", {"id": "odd"})
            made = {"id": "c", "partitionKey": {"paths": ["/pk"]}}
            equal(server.ask("POST", "/dbs/odd/colls", made).status, 201)
            box = Box(server, "odd-other")
            box.path = "/dbs/odd/colls/c"
            readers = [begin(box, '"0"'),
                       begin(box, '"0"', x_ms_documentdb_partitionkeyrangeid=0),
                       begin(box, '"0"', x_ms_documentdb_partitionkey='["p"]')]
            parked(readers[-1], box)
            path = "/dbs/odd" if what == "database" else box.path
            equal(server.ask("DELETE", path).status, 204)
            if what == "container made again":
                equal(server.ask("POST", "/dbs/odd/colls", made).status, 201)
            for reader in readers:
                answer = end(reader)
                equal((what, answer.status, answer.substatus), (what, 404, 1003))
            server.ask("DELETE", "/dbs/odd")

    @case("a reader that waits for a key or an interval follows it through "
          "split and merge")
    def _():
        box = Box(server, "odd-shape", 3)
        ranges = box.ranges()
        key = next(k for k in (f"k{n}" for n in range(100))
                   if box.put(k, k)["x-ms-session-token"].startswith("1:"))
        scopes = [{"x_ms_documentdb_partitionkey": json.dumps([key])},
                  {"x_ms_start_epk": ranges[1]["minInclusive"],
                   "x_ms_end_epk": ranges[1]["maxExclusive"], **EPKS}]
        named = {"x_ms_documentdb_partitionkeyrangeid": 1}
        shapes = [lambda: box.split(1)]
        shapes.append(lambda: [box.merge(*children)])
        for change in shapes:
            places = [box.feed("*", **scope)["etag"] for scope in scopes]
            readers = [begin(box, place, **scope)
                       for place, scope in zip(places, scopes)]
            gone = begin(box, box.feed("*", **named)["etag"], **named)
            for reader in [*readers, gone]:
                parked_at(reader, box)
            children = change()
            answer = end(gone)
            equal((answer.status, answer.substatus), (410, 1002))
            named = {"x_ms_documentdb_partitionkeyrangeid": children[0]}
            for reader in readers:
                parked_at(reader, box)
            scopes.pop()  # an interval of several may be given some again
            written = f"after-{len(children)}"
            box.put(key, written)
            for reader in readers:
                answer = end(reader)
                equal((answer.status, answer.ids), (200, [written]))

    @case("a reader that waits for all versions has creates, and ends by time")
    def _():
        box = Box(server, "odd-versions", defaultTtl=-1,
                  changeFeedPolicy={"retentionDuration": 5})
        place = '"0"'
        for step in ("create", "delete"):
            reader = server.another()
            reader.begin("GET", box.path + "/docs", None, {
                "A-IM": FULL, "If-None-Match": place, "Prefer": "wait=60"})
            if step == "create":
                parked(reader, box)
                box.put("p", "a", ttl=1)
            answer = end(reader)
            place = answer["etag"]
            equal([d["metadata"]["operationType"]
                   for d in answer.json["Documents"]], [step])
        equal(answer.json["Documents"][0]["metadata"]["timeToLiveExpired"], True)

    @case("a reader that waits for all versions gets 400 when they are no "
          "longer kept")
    def _():
        policy = {"changeFeedPolicy": {"retentionDuration": 5}}
        box = Box(server, "odd-policy", **policy)
        box.put("p", "a")
        reader = server.another()
        reader.begin("GET", box.path + "/docs", None, {
            "A-IM": FULL, "If-None-Match": '"1"', "Prefer": "wait=60"})
        parked(reader, box)
        body = {"id": "odd-policy", "partitionKey": server.ask(
            "GET", box.path).json["partitionKey"]}
        equal(server.ask("PUT", box.path, body).status, 200)
        box.put("p", "b")
        answer = end(reader)
        equal(answer.status, 400)
        assert "retention" in answer.json["message"]
        answer = box.feed("*", A_IM=FULL)
        equal(answer.status, 400)
        assert "must be enabled" in answer.json["message"]


def parked_at(reader, box):
    """As `parked`, of a container whose ranges are others by now."""
    for _ in range(3):
        box.feed("*")
    assert not select.select([reader.connection.sock], [], [], 0)[0], \
        reader.end().text


def add(server):
    headers(server)
    waiting(server)
    changed(server)
