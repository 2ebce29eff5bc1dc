"""keys.py -- partition keys of every type, in both hash versions."""
from azure.cosmos import PartitionKey
from azure.cosmos.partition_key import NonePartitionKeyValue, NullPartitionKeyValue

from harness import case, equal, fails

ABSENT = object()
VALUES = ["p", "", "\u9c40\U0001f600", 'a"b\\c\n', "x" * 100, 0, 1, -1, 0.5,
          1e300, -5e-324, 2**53 - 1, True, False, None, ABSENT]


def key_of(value):
    if value is ABSENT:
        return NonePartitionKeyValue
    return NullPartitionKeyValue if value is None else value


def document(value):
    return {"id": "typed"} if value is ABSENT else {"id": "typed", "pk": value}


def check_types(container):
    for value in VALUES:
        container.create_item(document(value))
    for value in VALUES:
        found = container.read_item("typed", key_of(value))
        equal(found.get("pk", ABSENT), value)
    for value in VALUES:
        container.delete_item("typed", key_of(value))
        fails(404, container.read_item, "typed", key_of(value))


def add(client):
    database = client.create_database("py-keys")
    for version in [1, 2]:
        @case(f"keys of every type work with hash version {version}")
        def _(version=version):
            container = database.create_container(
                f"v{version}", PartitionKey(path="/pk", version=version),
                offer_throughput=30000)
            equal(container.read()["partitionKey"].get("version", 1), version)
            check_types(container)
    add_others(database)


def add_others(database):
    @case("a hierarchical key works with every type")
    def _():
        container = database.create_container(
            "tree", PartitionKey(path=["/a", "/b", "/c"]),
            offer_throughput=30000)
        trees = [["x", 1, True], ["x", 1, False], ["x", None, 2.5],
                 ["y", "", None]]
        for a, b, c in trees:
            container.create_item({"id": "t", "a": a, "b": b, "c": c})
        for tree in trees:
            found = container.read_item("t", tree)
            equal([found["a"], found["b"], found["c"]], tree)
        fails(404, container.read_item, "t", ["x", 2, True])
        container.delete_item("t", trees[0])
        fails(404, container.read_item, "t", trees[0])

    @case("a hierarchical key with a part missing is refused with 400/1001")
    def _():
        container = database.get_container_client("tree")
        fails(400, container.read_item, "t", ["x", 1], substatus=1001)
        fails(400, container.delete_item, "t", ["x", 1], substatus=1001)
        batch = [("read", ("t",))]
        error = fails(400, container.execute_item_batch, batch, ["x", 1],
                      substatus=1001)
        assert ("doesn't correspond to definition in the collection or "
                "doesn't match partition key field values") in error.message

    @case("a nested path is a key")
    def _():
        container = database.create_container("nested",
                                              PartitionKey(path="/a/b"))
        container.create_item({"id": "1", "a": {"b": "x"}})
        equal(container.read_item("1", "x")["a"]["b"], "x")

    @case("a key of more than 2048 bytes is refused with 400")
    def _():
        container = database.get_container_client("nested")
        key = "k" * 2048
        container.create_item({"id": "l", "a": {"b": key}})
        equal(container.read_item("l", key)["id"], "l")
        fails(400, container.create_item, {"id": "l", "a": {"b": key + "k"}})
