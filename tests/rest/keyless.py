"""keyless.py -- containers without a partition key, which clients before API
version 2018-12-31 create, against a model of the rule.

The model has two functions: what a definition becomes when a client of some
version sends it, and what a client of some version is shown of what is stored.
Versions and operations are drawn at random; the seed is printed, and
RUNNEL_SEED repeats a run.
"""
import os
import random
import time

from wire import Client, Server, case, equal

SYSTEM = {"paths": ["/_partitionKey"], "kind": "Hash", "systemKey": True}
OLD = ["2014-08-21", "2015-12-16", "2017-02-22", "2018-06-18", "2018-09-17"]
NEW = ["2018-12-31", "2020-07-15", "2020-11-05"]
ABSENT = object()  # the definition does not have the member
FORMS = [ABSENT, None, {"paths": []}, {"paths": [], "kind": "Hash"},
         {"paths": ["/_partitionKey"]},  # as the JavaScript SDK sends it
         {"paths": ["/id"], "kind": "Hash", "version": 2}, SYSTEM]


def is_old(version):
    return version < "2018-12-31"


def is_none(form):
    return form is ABSENT or form is None or form["paths"] == []


def stored(version, form, was=None):
    """The key of a definition, or None if it is refused."""
    if not is_none(form):
        key = {"kind": "Hash", **form}
    else:
        key = was or SYSTEM
        if not is_old(version) or not key.get("systemKey"):
            return None
    return None if was and key != was else key


def shown(version, key):
    return ABSENT if is_old(version) and key.get("systemKey") else key


def body(name, form, **more):
    return {"id": name, **({} if form is ABSENT else {"partitionKey": form}),
            **more}


def key_of(definition):
    return definition.get("partitionKey", ABSENT)


class Model:
    def __init__(self, client, dice):
        self.client, self.dice, self.keys = client, dice, {}

    def ask(self, verb, path, body=None, **more):
        self.version = self.dice.choice(OLD + NEW)
        return self.client.ask(verb, path, body, x_ms_version=self.version,
                               **more)

    def create(self):
        name, form = f"c{len(self.keys)}", self.dice.choice(FORMS)
        answer = self.ask("POST", "/dbs/d/colls", body(name, form))
        key = stored(self.version, form)
        equal(answer.status, 201 if key else 400, (self.version, form))
        if key:
            self.keys[name] = key
            equal(key_of(answer.json), shown(self.version, key))

    def replace(self):
        name, form = self.pick(), self.dice.choice(FORMS)
        answer = self.ask("PUT", "/dbs/d/colls/" + name,
                          body(name, form, defaultTtl=9))
        key = stored(self.version, form, self.keys[name])
        equal(answer.status, 200 if key else 400,
              (self.version, form, self.keys[name]))
        if key:
            equal(answer.json["defaultTtl"], 9)
            equal(key_of(answer.json), shown(self.version, key))

    def replace_as_read(self):
        path = "/dbs/d/colls/" + self.pick()
        read = self.ask("GET", path)
        put = self.client.must(200, "PUT", path, read.json,
                               x_ms_version=self.version)
        equal(key_of(put.json), key_of(read.json))

    def read(self):
        name = self.pick()
        more = {"x_ms_documentdb_populatepartitionstatistics": "true"} \
            if self.dice.random() < .5 else {}
        answer = self.ask("GET", "/dbs/d/colls/" + name, **more)
        equal("statistics" in answer.json, bool(more))
        equal(key_of(answer.json), shown(self.version, self.keys[name]))

    def list(self):
        self.check(self.ask("GET", "/dbs/d/colls"))

    def query(self):
        self.check(self.ask("POST", "/dbs/d/colls", "SELECT * FROM c",
                            query=True))

    def check(self, answer):
        equal({each["id"]: key_of(each)
               for each in answer.json["DocumentCollections"]},
              {name: shown(self.version, key)
               for name, key in self.keys.items()})

    def pick(self):
        return self.dice.choice(list(self.keys))


@case("a container without a partition key shows none to clients before "
      "2018-12-31, in every answer, and takes none from them")
def _():
    seed = int(os.environ.get("RUNNEL_SEED", time.time_ns() % 10 ** 9))
    print(f"# seed {seed}", flush=True)
    server = Server()
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    model = Model(client, random.Random(seed))
    while len(model.keys) < 12:
        model.create()
    for _ in range(300):
        model.dice.choice([model.replace, model.replace_as_read, model.read,
                           model.list, model.query])()
    server.end()


@case("a container without a partition key has one range and at most 10,000 "
      "RU/s; one that has several ranges keeps them")
def _():
    server = Server("--ranges", "3")
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    old = {"x_ms_version": "2017-02-22"}

    def ranges(name):
        return len(client.must(200, "GET", f"/dbs/d/colls/{name}/pkranges")
                   .json["PartitionKeyRanges"])

    def offer_of(name):
        rid = client.must(200, "GET", "/dbs/d/colls/" + name).json["_rid"]
        return client.must(200, "POST", "/offers", "SELECT * FROM c WHERE "
                           f"c.offerResourceId = '{rid}'",
                           query=True).json["Offers"][0]

    for more in ({"x_ms_offer_throughput": 10100},
                 {"x_ms_cosmos_offer_autopilot_settings":
                  '{"maxThroughput":11000}'}):
        refused = client.must(400, "POST", "/dbs/d/colls", {"id": "no"}, **old,
                              **more)
        assert "10000" in refused.json["message"], refused.body
    client.must(404, "GET", "/dbs/d/colls/no")
    client.must(201, "POST", "/dbs/d/colls", {"id": "c"}, **old,
                x_ms_offer_throughput=10000)
    client.must(201, "POST", "/dbs/d/colls", {"id": "keyed", "partitionKey": {
        "paths": ["/a"]}}, **old, x_ms_offer_throughput=20000)
    equal((ranges("c"), ranges("keyed")), (1, 3))
    for name, units, status in (("c", 10100, 400), ("c", 9000, 200),
                                ("keyed", 40000, 200)):
        offer = offer_of(name)
        offer["content"]["offerThroughput"] = units
        client.must(status, "PUT", "/" + offer["_self"], offer)
    equal(ranges("c"), 1)
    # As one that an earlier version of the server made with several.
    client.must(200, "POST", "/_runnel/split",
                {"container": "dbs/d/colls/c", "range": 0})
    equal(ranges("c"), 2)
    offer = offer_of("c")
    offer["content"]["offerThroughput"] = 20000
    client.must(200, "PUT", "/" + offer["_self"], offer)
    equal(ranges("c"), 2)
    server.end()
