"""batch.py -- patches and transactional batches."""
from azure.core import MatchConditions
from azure.cosmos import PartitionKey, exceptions

from harness import case, equal, fails

COUNT = [{"op": "incr", "path": "/n", "value": 1}]


def add(client):
    database = client.create_database("py-batch")
    container = database.create_container("c", PartitionKey(path="/pk"))
    add_patches(container)
    add_batches(container)
    add_tree(database)


def add_patches(container):
    @case("each patch operation does what it says")
    def _():
        container.create_item({"id": "each", "pk": "p", "n": 1, "gone": 1,
                               "list": [1, 2], "old": "x"})
        after = container.patch_item("each", "p", [
            {"op": "add", "path": "/new", "value": {"k": [True]}},
            {"op": "set", "path": "/list/0", "value": "over"},
            {"op": "add", "path": "/list/1", "value": "in"},
            {"op": "replace", "path": "/new/k", "value": None},
            {"op": "remove", "path": "/gone"},
            {"op": "incr", "path": "/n", "value": 2},
            {"op": "move", "from": "/old", "path": "/moved"}])
        equal(container.read_item("each", "p"), after)
        equal({name: after.get(name) for name in (
            "n", "list", "new", "moved", "gone", "old")},
            {"n": 3, "list": ["over", "in", 2], "new": {"k": None},
             "moved": "x", "gone": None, "old": None})

    @case("a patch has conditions and refusals")
    def _():
        made = container.create_item({"id": "cond", "pk": "p", "n": 1})
        container.patch_item("cond", "p", COUNT,
                             filter_predicate="from c where c.n = 1")
        fails(412, container.patch_item, "cond", "p", COUNT,
              filter_predicate="from c where c.n = 1")
        fails(412, container.patch_item, "cond", "p", COUNT,
              etag=made["_etag"],
              match_condition=MatchConditions.IfNotModified)
        fails(400, container.patch_item, "cond", "p",
              [{"op": "replace", "path": "/none", "value": 1}])
        fails(400, container.patch_item, "cond", "p",
              [{"op": "set", "path": "/pk", "value": 1}])
        fails(404, container.patch_item, "absent", "p", COUNT)
        equal(container.read_item("cond", "p")["n"], 2)


def failing(container, operations, status, index):
    """The batch fails with that status at that operation, 424 elsewhere."""
    try:
        container.execute_item_batch(operations, "p")
    except exceptions.CosmosBatchOperationError as error:
        equal(error.error_index, index)
        equal([each["statusCode"] for each in error.operation_responses],
              [status if i == index else 424 for i in range(len(operations))])
        return
    raise AssertionError("the batch succeeded")


def add_batches(container):
    @case("a batch does all its operations")
    def _():
        for name in ("b-replace", "b-delete", "b-patch"):
            container.create_item({"id": name, "pk": "p", "n": 1})
        result = container.execute_item_batch([
            ("create", ({"id": "b-create", "pk": "p"},)),
            ("upsert", ({"id": "b-upsert", "pk": "p"},)),
            ("replace", ("b-replace", {"id": "b-replace", "pk": "p", "n": 2})),
            ("read", ("b-replace",)),
            ("patch", ("b-patch", COUNT),
             {"filter_predicate": "from c where c.n = 1"}),
            ("delete", ("b-delete",)),
        ], "p")
        equal([each["statusCode"] for each in result],
              [201, 201, 200, 200, 200, 204])
        equal(result[3]["resourceBody"]["n"], 2)
        equal(result[4]["resourceBody"]["n"], 2)
        assert all(each["requestCharge"] > 0 for each in result)
        equal(result[0]["eTag"], container.read_item("b-create", "p")["_etag"])
        fails(404, container.read_item, "b-delete", "p")

    @case("a failure in a batch undoes it and the others are 424")
    def _():
        made = container.create_item({"id": "f", "pk": "p", "n": 1})
        first = ("create", ({"id": "f-new", "pk": "p"},))
        failing(container, [first, ("create", ({"id": "f", "pk": "p"},))],
                409, 1)
        failing(container, [first, ("delete", ("none",))], 404, 1)
        failing(container, [("create", ({"id": "q", "pk": "q"},)), first],
                400, 0)
        container.patch_item("f", "p", COUNT)
        failing(container, [first, ("replace", ("f", made), {
            "if_match_etag": made["_etag"]})], 412, 1)
        fails(404, container.read_item, "f-new", "p")

    @case("a batch that is empty, too long or too large is refused")
    def _():
        fails(400, container.execute_item_batch, [], "p")
        fails(400, container.execute_item_batch,
              [("read", ("x",))] * 101, "p")
        fails(413, container.execute_item_batch,
              [("create", ({"id": "x", "pk": "p", "t": "x" * 2100000},))], "p")


def add_tree(database):
    @case("a batch works with a hierarchical key")
    def _():
        tree = database.create_container("tree", PartitionKey(
            path=["/a", "/b"], kind="MultiHash"))
        result = tree.execute_item_batch([
            ("create", ({"id": "t", "a": "x", "b": 1},)),
            ("read", ("t",))], ["x", 1])
        equal(result[1]["resourceBody"]["b"], 1)
