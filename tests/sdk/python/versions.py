"""versions.py -- all versions and deletes, by the client's iterator."""
from azure.cosmos import PartitionKey

from harness import case, equal, fails

MODE = "AllVersionsAndDeletes"


def add(client):
    database = client.create_database("py-versions")
    pk = PartitionKey("/pk")

    def make(name, ranges=1):
        return database.create_container(
            name, pk, offer_throughput=10000 * ranges,
            change_feed_policy={"retentionDuration": 10})

    def read(container, **options):
        pages = container.query_items_change_feed(mode=MODE, **options)
        found = list(pages)
        return found, container.client_connection.last_response_headers["etag"]

    @case("all versions are read from now on")
    def _():
        container = make("all")
        found, token = read(container)
        equal(found, [])
        first = container.create_item({"id": "a", "pk": "p", "n": 1})
        container.upsert_item({"id": "a", "pk": "p", "n": 2})
        container.delete_item("a", "p")
        found, _ = read(container, continuation=token)
        equal([f["metadata"]["operationType"] for f in found],
              ["create", "replace", "delete"])
        equal(found[0]["current"], dict(first))
        equal(found[2]["current"], {})
        equal(found[2]["metadata"]["partitionKey"], {"pk": "p"})
        equal(found[2]["metadata"]["id"], "a")

    @case("all versions are read over several ranges")
    def _():
        container = make("ranges", 3)
        _, token = read(container)
        for n in range(20):
            container.create_item({"id": str(n), "pk": f"k{n}"})
            container.delete_item(str(n), f"k{n}")
        found, _ = read(container, continuation=token)
        equal(len(found), 40)

    @case("all versions are refused without a policy")
    def _():
        container = database.create_container("plain", pk)
        error = fails(400, read, container)
        assert "All Versions and Deletes" in str(error)
        assert "must be enabled" in str(error)
