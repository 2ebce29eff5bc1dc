"""purge.py -- all documents of one partition key value go."""
from azure.cosmos import PartitionKey

from harness import case, equal


def add(client):
    database = client.create_database("py-purge")
    container = database.create_container("c", PartitionKey("/pk"))

    @case("all items of a partition key are deleted")
    def _():
        for n in range(60):
            container.create_item({"id": str(n), "pk": n % 3})
        container.delete_all_items_by_partition_key(1)
        for pk, count in [(0, 20), (1, 0), (2, 20)]:
            equal(len(list(container.query_items("SELECT * FROM c",
                                                 partition_key=pk))), count)
        container.create_item({"id": "1", "pk": 1})
        equal(container.read_item("1", 1)["pk"], 1)
