"""ttl.py -- documents whose time ends: gone for every reader at that second.

The server's clock is turned, so nothing waits."""
from azure.cosmos import PartitionKey

from harness import case, equal, fails


def add(client, control):
    database = client.create_database("py-ttl")

    def make(name, ttl):
        return database.create_container(name, PartitionKey("/pk"),
                                         default_ttl=ttl)

    def ids(container):
        queried = sorted(container.query_items("SELECT VALUE c.id FROM c",
                                               partition_key="p"))
        equal(sorted(row["id"] for row in container.read_all_items()), queried)
        return queried

    @case("an item goes at the end of its ttl")
    def _():
        container = make("own", -1)
        for name, ttl in [("a", 1000), ("b", 100000), ("c", -1)]:
            container.create_item({"id": name, "pk": "p", "ttl": ttl})
        container.create_item({"id": "d", "pk": "p"})
        equal(container.read_item("a", "p")["ttl"], 1000)
        control.turn_clock(1001)
        fails(404, container.read_item, "a", "p")
        fails(404, container.replace_item, "a", {"id": "a", "pk": "p"})
        equal(ids(container), ["b", "c", "d"])
        container.create_item({"id": "a", "pk": "p"})
        control.turn_clock(100000)
        equal(ids(container), ["a", "c", "d"])

    @case("an item without a ttl has that of its container")
    def _():
        container = make("default", 10000)
        container.create_item({"id": "a", "pk": "p"})
        container.create_item({"id": "b", "pk": "p", "ttl": 1000})
        container.create_item({"id": "c", "pk": "p", "ttl": -1})
        control.turn_clock(5000)
        equal(ids(container), ["a", "c"])
        container.upsert_item({"id": "a", "pk": "p"})  # begins anew
        control.turn_clock(6000)
        equal(ids(container), ["a", "c"])
        control.turn_clock(6000)
        equal(ids(container), ["c"])
