"""refused.py -- bad requests of every kind, from tests/evil/requests.

Each case is sent, signed, to the sanitized server; it must get the status that
the corpus says, and in words what is wrong.  A request that is refused must
have changed nothing.  tests/evil/README.md has the format.
"""
import glob
import os
import re
import time

from corpus import expand, read
from wire import (EMULATOR_KEY, PARTITION_KEY, Client, Server, case, date_of,
                  equal, sign)

HERE = os.path.dirname(os.path.abspath(__file__))
HEADER = re.compile(r"\{([A-Za-z][\w-]*): (.*)\}")
C, H, V, S = (f"/dbs/d/colls/{name}" for name in "chvs")
LISTS = ["/dbs", "/dbs/d/colls", "/dbs/d/users", "/dbs/d/users/u/permissions",
         "/offers", C + "/docs", H + "/docs", V + "/docs"]
QUERY = {"content-type": "application/query+json",
         "x-ms-documentdb-isquery": "true",
         "x-ms-documentdb-query-enablecrosspartition": "true"}


def prepare(client):
    """What the corpus is tried upon, and the names it has there."""
    names = {}

    def make(name, path, body, **more):
        made = client.must(201, "POST", path, body, **more)
        names[name] = made.json["_rid"]
        return made

    def key(*paths):
        return {"paths": list(paths), "version": 2,
                "kind": "MultiHash" if len(paths) > 1 else "Hash"}

    make("d", "/dbs", {"id": "d"})
    make("e", "/dbs", {"id": "e"})
    make("c", "/dbs/d/colls", {"id": "c", "partitionKey": key("/pk")},
         x_ms_offer_throughput=400)
    make("h", "/dbs/d/colls", {"id": "h", "partitionKey": key("/a", "/b")})
    make("s", "/dbs/d/colls", {"id": "s", "partitionKey": key("/pk")})
    make("v", "/dbs/d/colls", {"id": "v", "partitionKey": key("/pk"),
                               "changeFeedPolicy": {"retentionDuration": 10}})
    make("f", "/dbs/e/colls", {"id": "f", "partitionKey": key("/pk")})
    made = make("a", C + "/docs", {"id": "a", "pk": "p", "n": 1}, pk=["p"])
    names["etag"] = made.json["_etag"]
    make("b", C + "/docs", {"id": "b", "pk": "p"}, pk=["p"])
    make("x", "/dbs/e/colls/f/docs", {"id": "x", "pk": "p"}, pk=["p"])
    make("k", H + "/docs", {"id": "k", "a": "p", "b": 1}, pk=["p", 1])
    make("u", "/dbs/d/users", {"id": "u"})
    made = make("p", "/dbs/d/users/u/permissions",
                {"id": "p", "permissionMode": "Read", "resource": C[1:],
                 "resourcePartitionKey": ["p"]})
    names["token"] = made.json["_token"]
    for offer in client.must(200, "GET", "/offers").json["Offers"]:
        if offer["offerResourceId"] == names["c"]:
            names["o"] = offer["_rid"]
    client.must(200, "POST", "/_runnel/split", {"container": S[1:], "range": 0})
    answer = client.must(200, "GET", C + "/docs", x_ms_max_item_count=1)
    names["list"] = answer.headers["x-ms-continuation"]
    answer = client.must(200, "POST", C + "/docs", "SELECT * FROM c",
                         query=True, x_ms_max_item_count=1)
    names["rows"] = answer.headers["x-ms-continuation"]
    return names


def take_apart(request, body, names):
    """Verb, path, headers, body and, if the case says so, what is signed."""
    def fill(text):
        text = re.sub(r"\$([a-z]+)\$", lambda m: names[m.group(1)], text)
        return expand(text.encode()).decode("latin-1")

    verb, path = (fill(part) for part in request.split(" ", 1))
    headers, said = {"x-ms-version": "2020-07-15"}, {}
    if verb == "QUERY":
        verb = "POST"
        headers.update(QUERY)
    if verb == "FEED":
        verb = "GET"
        headers["a-im"] = "Incremental Feed"
    lines = []
    for line in body:
        found = HEADER.fullmatch(line.decode())
        if not found:
            lines.append(expand(line.replace(b"$etag$",
                                             names["etag"].encode())))
        elif found.group(1) in ("sign", "key", "authorization"):
            said[found.group(1)] = fill(found.group(2))
        else:
            name = PARTITION_KEY if found.group(1) == "pk" else found.group(1)
            headers[name] = fill(found.group(2))
    return verb, path, headers, b"".join(lines), said


def send(server, client, request, body, names):
    verb, path, headers, body, said = take_apart(request, body, names)
    date = headers.setdefault("x-ms-date", date_of(time.time()))
    key = server.keys()[said["key"]] if "key" in said else EMULATOR_KEY
    kind, _, link = said.get("sign", "").partition(" ")
    headers["authorization"] = said.get("authorization") or (
        sign(key, verb, path, date, kind=kind, rid=link) if "sign" in said
        else sign(key, verb, path, date))
    return client.send(verb, path, body, headers)


def check(answer, outcome):
    status, _, sub = outcome.partition("/")
    equal((answer.status, answer.substatus), (int(status), int(sub or 0)))
    if answer.status >= 400:
        assert answer.json["code"] and answer.json["message"], answer.body
        assert answer.headers["content-type"] == "application/json"
        activity = answer.headers["x-ms-activity-id"]
        assert activity in answer.json["message"], answer.body


def state(client):
    return [sorted((each["_rid"], each["_etag"])
                   for value in client.must(200, "GET", path).json.values()
                   if isinstance(value, list) for each in value)
            for path in LISTS]


@case("bad requests of every kind get what the corpus says")
def _():
    server = Server("--test-mode")
    client = Client(server)
    names = prepare(client)
    before = state(client)
    count, failed = 0, 0
    for path in sorted(glob.glob(f"{HERE}/../evil/requests/*.txt")):
        for name, outcome, request, *body in read(path, joined=False):
            count += 1
            try:
                check(send(server, client, request, body[0], names), outcome)
                if not request.startswith(("GET", "QUERY", "FEED")):
                    assert state(client) == before, "something has changed"
            except Exception as error:  # a wrong answer may be no JSON
                failed += 1
                print(f"{os.path.basename(path)}: {name}: {error!r}"[:400])
                before = state(client)
    client.must(200, "GET", C + "/docs/a", pk=["p"])
    server.end()
    assert not failed, f"{failed} of {count} cases"
    assert count >= 1400, count
