"""faults.py -- what the client makes of answers that say "not now", and of
those that never come.  The server has orders to give them."""
import itertools

from azure.core.exceptions import ServiceResponseError
from azure.cosmos import CosmosClient, PartitionKey

from harness import case, equal, fails

PATH = "/dbs/py-faults/colls/c/docs"
GONE = [1000, 1002, 1007, 1008]
_numbers = itertools.count()


def fresh():
    return {"id": f"new-{next(_numbers)}", "pk": "p"}


def writes(container):
    return [
        lambda: container.create_item(fresh()),
        lambda: container.upsert_item(fresh()),
        lambda: container.replace_item("kept", {"id": "kept", "pk": "p"}),
        lambda: container.patch_item("kept", "p", [
            {"op": "set", "path": "/n", "value": 1}]),
        lambda: container.execute_item_batch([("create", (fresh(),))], "p"),
    ]


def point(container):
    return [lambda: container.read_item("kept", "p")]


def lists(container):
    def found(rows):
        assert "kept" in [row["id"] for row in rows]

    return [
        lambda: found(container.query_items(
            "SELECT * FROM c WHERE c.n > 0", partition_key="p")),
        lambda: found(container.query_items(
            "SELECT * FROM c ORDER BY c.n", enable_cross_partition_query=True)),
        lambda: found(container.read_all_items()),
        lambda: found(container.read_items([("kept", "p"), ("none", "p")])),
        lambda: found(container.query_items_change_feed(
            start_time="Beginning")),
    ]


def add(client, control, endpoint, key):
    # This one repeats requests for which the others get no second try.
    patient = CosmosClient(endpoint, key)
    database = client.create_database("py-faults")
    database.create_container("c", PartitionKey("/pk"), offer_throughput=20000)
    container = patient.get_database_client("py-faults").get_container_client(
        "c")
    container.create_item({"id": "kept", "pk": "p", "n": 1})

    def struck(order, function, *args, **kwargs):
        return control.meets({"path": PATH, **order}, function, *args, **kwargs)

    def all_done(order, operations):
        for operation in operations:
            struck(order, operation)

    add_busy(struck, all_done, container, CosmosClient(
        endpoint, key, retry_throttle_total=1))
    add_gone(struck, all_done, container)
    add_lost(struck, all_done, container)


def add_busy(struck, all_done, container, hasty):
    @case("what is throttled is repeated until it is done")
    def _():
        for operations in [writes, point, lists]:
            all_done({"status": 429, "count": 2}, operations(container))

    @case("one that repeats no more gets 429/3200 with a delay")
    def _():
        error = fails(429, struck, {"status": 429, "count": 2},
                      hasty.get_database_client("py-faults")
                      .get_container_client("c").create_item, fresh(),
                      substatus=3200)
        assert int(error.headers["x-ms-retry-after-ms"]) > 0

    @case("what meets 503 is repeated once, writes too")
    def _():
        all_done({"status": 503}, writes(container)[:1] + point(container) +
                 lists(container))
        item = fresh()
        fails(503, struck, {"status": 503, "count": 2}, container.create_item,
              item)
        container.create_item(item)

    @case("what reads is repeated after 408 and 500, what writes fails")
    def _():
        for status in [408, 500]:
            all_done({"status": status},
                     point(container) + lists(container)[:1])
            item = fresh()
            fails(status, struck, {"status": status}, container.create_item,
                  item)
            container.create_item(item)

    @case("a 449 is reported, and nothing was done")
    def _():
        for operation in point(container) + lists(container):
            fails(449, struck, {"status": 449}, operation)
        item = fresh()
        fails(449, struck, {"status": 449}, container.create_item, item)
        container.create_item(item)


def add_gone(struck, all_done, container):
    @case("queries and feeds look for ranges anew when theirs are gone")
    def _():
        all_done({"status": 410, "subStatus": 1002}, lists(container))
        struck({"status": 410, "subStatus": 1007}, lists(container)[-1])

    @case("a 410 to a single document has its sub-status")
    def _():
        for sub in GONE:
            for operation in point(container) + writes(container)[:1]:
                fails(410, struck, {"status": 410, "subStatus": sub}, operation,
                      substatus=sub)

    @case("a late session and a write elsewhere are repeated")
    def _():
        all_done({"status": 404, "subStatus": 1002},
                 point(container) + lists(container))
        all_done({"status": 403, "subStatus": 3}, writes(container)[:1])


def add_lost(struck, all_done, container):
    @case("what reads is repeated when its answer is lost")
    def _():
        all_done({"lose": "answer"}, point(container) + lists(container))

    @case("a write whose answer is lost is reported, and is there")
    def _():
        item = fresh()
        try:
            struck({"lose": "answer"}, container.create_item, item)
        except ServiceResponseError:
            pass
        else:
            raise AssertionError("it got an answer")
        equal(container.read_item(item["id"], "p")["id"], item["id"])
