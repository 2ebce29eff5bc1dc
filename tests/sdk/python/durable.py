"""durable.py -- what was acknowledged is there after the server was killed."""
from azure.cosmos import PartitionKey

from harness import case, equal, fails

COUNT = 200


def add(client, phase):
    if phase == "write":
        add_write(client)
    else:
        add_reopened(client.get_database_client("py-durable"))


def add_write(client):
    @case("documents are written before the server is killed")
    def _():
        database = client.create_database("py-durable")
        container = database.create_container(
            "kept", PartitionKey(path="/pk"), default_ttl=100000,
            offer_throughput=30000)
        database.create_container("gone", PartitionKey(path="/pk"))
        database.delete_container("gone")
        for n in range(COUNT):
            container.create_item({"id": f"d{n}", "pk": n % 10, "n": n})
        container.replace_item("d0", {"id": "d0", "pk": 0, "n": "replaced"})
        container.delete_item("d1", 1)


def add_reopened(database):
    container = database.get_container_client("kept")

    @case("containers are as they were before the kill")
    def _():
        equal(container.read()["defaultTtl"], 100000)
        equal([each["id"] for each in database.list_containers()], ["kept"])
        assert len(list(container.read_feed_ranges())) > 1

    @case("every acknowledged write outlived the kill")
    def _():
        for n in range(2, COUNT):
            equal(container.read_item(f"d{n}", n % 10)["n"], n)
        equal(container.read_item("d0", 0)["n"], "replaced")
        fails(404, container.read_item, "d1", 1)
        equal(len(list(container.read_all_items())), COUNT - 1)
