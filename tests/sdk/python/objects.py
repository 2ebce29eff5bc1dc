"""objects.py -- databases, containers, their definitions and their ranges."""
import base64
import time

from azure.cosmos import PartitionKey, ThroughputProperties

from harness import case, equal, fails

PK = PartitionKey(path="/pk")


def check_system(resource, children):
    assert resource["_self"].endswith(resource["_rid"] + "/"), resource["_self"]
    assert resource["_etag"].startswith('"'), resource["_etag"]
    assert abs(resource["_ts"] - time.time()) < 60
    for child in children:
        equal(resource["_" + child], child + "/")


def add(client, connect):
    add_databases(client, connect)
    add_containers(client)
    add_definitions(client)
    add_ranges(client)


def add_databases(client, connect):
    @case("a database is created, read, listed and deleted")
    def _():
        database = client.create_database("py-life")
        properties = database.read()
        check_system(properties, ["colls", "users"])
        assert "py-life" in [each["id"] for each in client.list_databases()]
        client.delete_database("py-life")
        fails(404, database.read)
        fails(404, client.delete_database, "py-life")

    @case("a database is created once")
    def _():
        first = client.create_database_if_not_exists("py-once").read()
        again = client.create_database_if_not_exists("py-once").read()
        equal(again["_rid"], first["_rid"])
        fails(409, client.create_database, "py-once")

    @case("databases are listed in pages of the size asked for")
    def _():
        for i in range(5):
            client.create_database(f"py-p{i}")
        seen = []
        for page in client.list_databases(max_item_count=2).by_page():
            ids = [each["id"] for each in page]
            assert len(ids) <= 2, ids
            seen += ids
        for i in range(5):
            equal(seen.count(f"py-p{i}"), 1)

    @case("an absent database is not found")
    def _():
        absent = client.get_database_client("py-no")
        fails(404, absent.read)
        fails(404, absent.create_container, "c", PK)
        fails(404, lambda: list(absent.list_containers()))

    @case("a wrong key is refused with 401")
    def _():
        wrong = base64.b64encode(bytes(64)).decode()
        fails(401, lambda: list(connect(wrong).list_databases()))


def add_containers(client):
    database = client.create_database("py-containers")

    @case("a container is created, read, listed and deleted")
    def _():
        container = database.create_container("life", PK)
        properties = container.read()
        check_system(properties,
                     ["docs", "sprocs", "triggers", "udfs", "conflicts"])
        equal([each["id"] for each in database.list_containers()], ["life"])
        database.delete_container("life")
        fails(404, container.read)
        fails(404, database.delete_container, "life")

    @case("a container is created once")
    def _():
        first = database.create_container_if_not_exists("once", PK).read()
        again = database.create_container_if_not_exists("once", PK).read()
        equal(again["_rid"], first["_rid"])
        fails(409, database.create_container, "once", PK)

    @case("names with blanks and any script serve databases and containers")
    def _():
        names = client.create_database("Py Dö 鱀")
        container = names.create_container("Coll %20 +&=鱀", PK)
        container.create_item({"id": "x", "pk": 1})
        equal(container.read_item("x", 1)["pk"], 1)
        equal(container.read()["id"], "Coll %20 +&=鱀")
        client.delete_database("Py Dö 鱀")
        fails(404, container.read)

    @case("a deleted database takes its containers along")
    def _():
        gone = client.create_database("py-gone")
        gone.create_container("c", PK).create_item({"id": "x", "pk": 1})
        client.delete_database("py-gone")
        again = client.create_database("py-gone")
        equal(list(again.list_containers()), [])
        container = again.create_container("c", PK)
        fails(404, container.read_item, "x", 1)


def add_definitions(client):
    database = client.create_database("py-definitions")

    @case("a container comes back with the default policies")
    def _():
        found = database.create_container("defaults", PK).read()
        equal(found["partitionKey"],
              {"paths": ["/pk"], "kind": "Hash", "version": 2})
        equal(found["indexingPolicy"], {
            "indexingMode": "consistent", "automatic": True,
            "includedPaths": [{"path": "/*"}],
            "excludedPaths": [{"path": '/"_etag"/?'}]})
        equal(found["conflictResolutionPolicy"]["mode"], "LastWriterWins")
        assert "defaultTtl" not in found

    @case("a container comes back with the policies it was given")
    def _():
        composite = [[{"path": "/a", "order": "ascending"},
                      {"path": "/b", "order": "descending"}]]
        found = database.create_container(
            "given", PK, default_ttl=1000,
            unique_key_policy={"uniqueKeys": [{"paths": ["/a", "/b/c"]}]},
            indexing_policy={"indexingMode": "Consistent", "automatic": True,
                             "includedPaths": [{"path": "/*"}],
                             "excludedPaths": [{"path": "/secret/*"}],
                             "compositeIndexes": composite}).read()
        equal(found["defaultTtl"], 1000)
        equal([each["paths"] for each in found["uniqueKeyPolicy"]["uniqueKeys"]],
              [["/a", "/b/c"]])
        equal(found["indexingPolicy"]["indexingMode"], "consistent")
        equal(found["indexingPolicy"]["excludedPaths"],
              [{"path": "/secret/*"}, {"path": '/"_etag"/?'}])
        equal(found["indexingPolicy"]["compositeIndexes"], composite)

    @case("a container's policies are replaced, its key is not")
    def _():
        container = database.create_container("replaced", PK)
        before = container.read()
        database.replace_container(container, PK, default_ttl=-1)
        after = container.read()
        equal(after["defaultTtl"], -1)
        equal(after["_rid"], before["_rid"])
        assert after["_etag"] != before["_etag"]
        fails(400, database.replace_container, container,
              PartitionKey(path="/other"))

    @case("a bad container definition is refused with 400")
    def _():
        for path in ["id", "/id ds", "/a/*", "/a/"]:
            fails(400, database.create_container, "b", PartitionKey(path=path))
        four = PartitionKey(path=["/a", "/b", "/c", "/d"])
        error = fails(400, database.create_container, "b", four)
        assert "Too many partition key paths" in str(error), error
        for ttl in [0, -2, 1.5, "7"]:
            fails(400, database.create_container, "b", PK, default_ttl=ttl)


def add_ranges(client):
    database = client.create_database("py-ranges")

    @case("a throughput wish gives ranges, and reading them ends")
    def _():
        container = database.create_container(
            "many", PK, offer_throughput=ThroughputProperties(30000))
        ranges = list(container.read_feed_ranges())
        assert len(ranges) > 1, ranges
        whole = sorted((base64_range(each) for each in ranges),
                       key=lambda each: each["min"])
        equal(whole[0]["min"], "")
        equal(whole[-1]["max"], "FF")
        for left, right in zip(whole, whole[1:]):
            equal(left["max"], right["min"])

    @case("every key falls into one range")
    def _():
        container = database.get_container_client("many")
        ranges = list(container.read_feed_ranges())
        for value in ["a", "b", 1, 2.5, True, None]:
            of_key = container.feed_range_from_partition_key(value)
            homes = [each for each in ranges
                     if container.is_feed_range_subset(each, of_key)]
            equal(len(homes), 1)


def base64_range(feed_range):
    import json
    if isinstance(feed_range, str):
        feed_range = json.loads(base64.b64decode(feed_range))
    return feed_range["Range"]
