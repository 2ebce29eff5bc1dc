"""test_create.py -- `runnel create` and `drop`."""
from harness import account, case, equal, fails, runnel, server


def made(*arguments):
    result = runnel("create", *arguments)
    equal((result.code, result.err), (0, ""))
    return result.out


def definition(path):
    status, _, body = server().ask("GET", path)
    equal(status, 200, body)
    return body


@case("create makes a database and a container unless they exist")
def _():
    equal(made("shop"), "shop created\n")
    equal(made("shop"), "shop exists\n")
    equal(made("shop/orders", "--pk", "/customer"), "shop/orders created\n")
    equal(made("shop/orders", "--pk", "/customer"), "shop/orders exists\n")
    equal(runnel("create", "other/c", "--pk", "/a,/b", "--json").json,
          [{"database": "other", "container": "c", "created": True}])
    equal(runnel("create", "other", "--json").json,
          [{"database": "other", "created": False}])
    equal(definition("/dbs/other/colls/c")["partitionKey"]["paths"],
          ["/a", "/b"])
    equal(made("other/c", "--pk", "/a,/b"), "other/c exists\n")
    fails(6, "other/c exists with the partition key /a,/b", "create",
          "other/c", "--pk", "/a")
    fails(6, "shop/orders", "create", "--new", "shop/orders", "--pk",
          "/customer")
    fails(6, "shop", "create", "--new", "shop")


@case("create takes a time to live, throughput, versions and a definition")
def _():
    made("set/all", "--pk", "/id", "--ttl", "-1", "--throughput", "20000",
         "--all-versions", "2h", "--definition",
         '{"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/mail"]}]}}')
    found = definition("/dbs/set/colls/all")
    equal(found["defaultTtl"], -1)
    equal(found["changeFeedPolicy"]["retentionDuration"], 120)
    equal(found["uniqueKeyPolicy"]["uniqueKeys"][0]["paths"], ["/mail"])
    equal(len(definition("/dbs/set/colls/all/pkranges")["PartitionKeyRanges"]),
          2)
    made("set/short", "--pk", "/id", "--ttl", "60")
    equal(definition("/dbs/set/colls/short")["defaultTtl"], 60)
    made("set/plain", "--pk", "/id", "--ttl", "off")
    assert "defaultTtl" not in definition("/dbs/set/colls/plain")
    made("shared", "--throughput", "4000", "--autoscale")
    offers = definition("/offers")["Offers"]
    equal([offer["content"]["offerAutopilotSettings"]["maxThroughput"]
           for offer in offers if "offerAutopilotSettings" in offer["content"]],
          [4000])


@case("drop deletes a container or a database, but only with --yes")
def _():
    made("gone/one", "--pk", "/id")
    made("gone/two", "--pk", "/id")
    fails(2, "deletes gone/one with all its documents; say --yes", "drop",
          "gone/one")
    equal(runnel("drop", "gone/one", "--yes").out, "gone/one dropped\n")
    fails(3, "gone/one does not exist", "drop", "gone/one", "--yes")
    equal(definition("/dbs/gone/colls/two")["id"], "two")
    equal(runnel("drop", "--yes", "--json", "gone").json,
          [{"database": "gone", "dropped": True}])
    fails(3, "gone does not exist", "drop", "gone", "--yes")
    fails(3, "gone/two does not exist", "drop", "gone/two", "--yes")


@case("create and drop say what is wrong in one line")
def _():
    for words, *arguments in (
            ("--pk is missing", "x/y"),
            ("give DB or DB/CONTAINER, not '/y'", "/y", "--pk", "/id"),
            ("give DB or DB/CONTAINER, not 'x/'", "x/", "--pk", "/id"),
            ("give DB or DB/CONTAINER, not 'x/y/z'", "x/y/z", "--pk", "/id"),
            ("give DB or DB/CONTAINER, not ''", "", "--pk", "/id"),
            ("--pk is of a container", "x", "--pk", "/id"),
            ("--ttl is of a container", "x", "--ttl", "5"),
            ("--ttl is off, -1 or a number of seconds, not '0'", "x/y", "--pk",
             "/id", "--ttl", "0"),
            ("--ttl is off", "x/y", "--pk", "/id", "--ttl", "5s"),
            ("--autoscale needs --throughput", "x", "--autoscale"),
            ("--all-versions is in whole minutes", "x/y", "--pk", "/id",
             "--all-versions", "90s"),
            ("--definition: ", "x/y", "--pk", "/id", "--definition", "{"),
            ("--definition is a JSON object", "x/y", "--pk", "/id",
             "--definition", "[]")):
        fails(2, words, "create", *arguments)
    fails(2, "usage: runnel create", "create")
    fails(1, "x/y: ", "create", "x/y", "--pk", "id")
    fails(1, "a#b: ", "create", "a#b")
    fails(4, "", "create", "x", "--key", "AAAA" * 21 + "AA==")
    fails(5, "", "create", "x", "--account",
          account().replace(str(server().port), "1"))
    fails(2, "give DB or DB/CONTAINER", "drop", "/", "--yes")
