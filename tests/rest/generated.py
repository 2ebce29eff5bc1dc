"""generated.py -- requests drawn at random from the dialect's own words.

Each is signed for what it is, so that it gets past the door: any verb on any
path, with headers that mean something elsewhere and bodies with a flaw or
two.  Whatever it asks, the server answers it within the class of what clients
cause, in words; a connection beside it goes on, and the server ends with
nothing leaked.  The seed is printed, and RUNNEL_SEED repeats it.
"""
import json
import os
import random
import time

from wire import Client, Server, case, equal

SECONDS = 6
D = "/dbs/d/colls/c/docs"
WORDS = ["dbs", "d", "colls", "c", "docs", "1", "users", "u", "permissions",
         "pkranges", "offers", "sprocs", "triggers", "udfs", "conflicts",
         "clientencryptionkeys", "operations", "partitionkeydelete", "none",
         "%20", "%F0%9F%98%80", "a%3Fb", "attachments"]
PATHS = ["/", "/dbs", "/dbs/d", "/dbs/d/colls", "/dbs/d/colls/c", D, D + "/1",
         D + "/none", "/dbs/d/colls/c/pkranges", "/dbs/d/users", "/offers",
         "/dbs/d/users/u", "/dbs/d/users/u/permissions",
         "/dbs/d/colls/c/operations/partitionkeydelete",
         "/dbs/d/clientencryptionkeys", "/dbs/d/colls/c/sprocs",
         "/dbs/d/colls/c/conflicts/x"]
VALUES = ["true", "True", "false", "", "0", "-1", "1", "100", "x", "*", '"x"',
          '"1"', "0:-1#1", '["p"]', "[1]", "[{}]", "[]", "[null]", "{}", "null",
          "Session", "Strong", "return=minimal", "wait=0", "2016-07-11",
          "2020-07-15", "Incremental Feed", "Full-Fidelity Feed", "FF", "05C1",
          "application/query+json", '{"maxThroughput":4000}', "9" * 30,
          "Mon, 16 Nov 2026 08:00:00 GMT", "\u00e9", "a,b", "400"]
NAMES = ["a-im", "if-match", "if-none-match", "if-modified-since", "prefer",
         "content-type", "x-ms-version", "x-ms-continuation",
         "x-ms-max-item-count", "x-ms-session-token", "x-ms-consistency-level",
         "x-ms-documentdb-partitionkey", "x-ms-documentdb-partitionkeyrangeid",
         "x-ms-start-epk", "x-ms-end-epk", "x-ms-read-key-type",
         "x-ms-cosmos-is-batch-request", "x-ms-cosmos-batch-atomic",
         "x-ms-cosmos-batch-continue-on-error", "x-ms-documentdb-is-upsert",
         "x-ms-documentdb-isquery", "x-ms-cosmos-is-query-plan-request",
         "x-ms-documentdb-query-enablecrosspartition", "x-ms-activity-id",
         "x-ms-documentdb-populatequerymetrics", "x-ms-offer-throughput",
         "x-ms-cosmos-offer-autopilot-settings",
         "x-ms-documentdb-populatequotainfo",
         "x-ms-documentdb-populatepartitionstatistics",
         "x-ms-documentdb-expiry-seconds",
         "x-ms-cosmos-migrate-offer-to-autopilot",
         "x-ms-cosmos-intended-collection-rid",
         "x-ms-cosmos-populateindexmetrics",
         "x-ms-cosmos-changefeed-wire-format-version"]
BODIES = [
    {"id": "1", "pk": "p"}, {"id": "2", "pk": "p", "ttl": 5},
    {"id": "x", "partitionKey": {"paths": ["/pk"], "kind": "Hash",
                                 "version": 2}},
    {"id": "h", "partitionKey": {"paths": ["/a", "/b"], "kind": "MultiHash",
                                 "version": 2}, "defaultTtl": -1,
     "indexingPolicy": {"includedPaths": [{"path": "/*"}]},
     "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/u"]}]}},
    {"query": "SELECT c.id, COUNT(1) FROM c WHERE c.pk = @p GROUP BY c.id",
     "parameters": [{"name": "@p", "value": "p"}]},
    {"query": "SELECT TOP 2 * FROM c ORDER BY c.id DESC"},
    {"operations": [{"op": "set", "path": "/a", "value": 1},
                    {"op": "move", "from": "/a", "path": "/b"}],
     "condition": "from c where c.pk = 'p'"},
    [{"op": "incr", "path": "/n", "value": 1}],
    [{"operationType": "Upsert", "resourceBody": {"id": "1", "pk": "p"}},
     {"operationType": "Read", "id": "1"},
     {"operationType": "Patch", "id": "1", "resourceBody": [
         {"op": "add", "path": "/l", "value": []}]},
     {"operationType": "Delete", "id": "9", "ifMatch": "*"}],
    {"id": "p", "permissionMode": "All", "resource": "dbs/d/colls/c",
     "resourcePartitionKey": ["p"]},
    {"content": {"offerThroughput": 500}}, {"id": "u"}, [], {}, 5, None]


def strain(dice, value):
    """The value with one thing in it changed."""
    if isinstance(value, dict) and value and dice.random() < .8:
        name = dice.choice(list(value))
        changed = dict(value)
        what = dice.random()
        if what < .2:
            del changed[name]
        elif what < .3:
            changed[name * 2] = changed.pop(name)
        else:
            changed[name] = strain(dice, value[name])
        return changed
    if isinstance(value, list) and value and dice.random() < .8:
        at = dice.randrange(len(value))
        return value[:at] + [strain(dice, value[at])] + value[at + 1:]
    return dice.choice([None, True, 0, -1, 1.5, 1e308, 2 ** 60, "", "x", "/a",
                        "\u0000", "a" * 300, [], {}, [[]], {"": {}}, "1", "p"])


def draw(dice):
    """Verb, path, headers and body."""
    path = dice.choice(PATHS) if dice.random() < .8 else "/" + "/".join(
        dice.choice(WORDS) for _ in range(dice.randrange(8)))
    headers = {dice.choice(NAMES): dice.choice(VALUES)
               for _ in range(dice.randrange(5))}
    if dice.random() < .5:
        headers["x-ms-documentdb-partitionkey"] = '["p"]'
    body = dice.choice(BODIES)
    for _ in range(dice.randrange(3)):
        body = strain(dice, body)
    text = json.dumps(body).encode()
    if dice.random() < .1:
        at = dice.randrange(len(text) + 1)
        text = text[:at] + bytes([dice.randrange(256)]) + text[at + 1:]
    verb = dice.choice(["GET", "POST", "PUT", "PATCH", "DELETE", "POST"])
    return verb, path, headers, None if verb == "GET" else text


def restore(client):
    """What the requests are about; they may have removed it."""
    client.ask("POST", "/dbs", {"id": "d"})
    client.ask("POST", "/dbs/d/colls", {"id": "c", "partitionKey": {
        "paths": ["/pk"], "version": 2}})
    client.ask("POST", "/dbs/d/users", {"id": "u"})
    client.ask("POST", D, {"id": "1", "pk": "p"}, pk=["p"])


@case("requests drawn at random from the dialect's words are answered, in words "
      "if refused, and disturb nobody")
def _():
    seed = int(os.environ.get("RUNNEL_SEED") or random.randrange(1 << 30))
    dice = random.Random(seed)
    server = Server()
    client, beside = Client(server), Client(server)
    until, count, wrong = time.monotonic() + SECONDS, 0, []
    while time.monotonic() < until and not wrong:
        if count % 50 == 0:
            restore(client)
            beside.must(200, "GET", "/dbs")
        count += 1
        verb, path, headers, body = draw(dice)
        sent = {name.replace("-", "_"): value.encode("utf-8").decode("latin-1")
                for name, value in headers.items()}
        try:
            answer = client.ask(verb, path, body, **sent)
            assert answer.status < 500, answer.body
            assert answer.headers["x-ms-activity-id"]
            if answer.status >= 400 and verb != "HEAD":
                assert answer.json["code"] and answer.json["message"]
        except Exception as error:  # the answer may be none at all
            wrong.append((verb, path, headers, body, repr(error)[:300]))
    print(f"# seed {seed}, {count} requests")
    equal(server.process.poll(), None)
    server.end()
    assert not wrong, wrong
