"""unique.py -- unique keys: the first document with a value has it."""
from azure.cosmos import PartitionKey

from harness import case, equal, fails


def add(client):
    database = client.create_database("py-unique")
    policy = {"uniqueKeys": [{"paths": ["/email", "/n"]}]}
    container = database.create_container("c", PartitionKey("/pk"),
                                          unique_key_policy=policy)

    @case("a container has its unique keys")
    def _():
        equal(container.read()["uniqueKeyPolicy"], policy)

    @case("a unique value is refused to a second document")
    def _():
        container.create_item({"id": "a", "pk": "p", "email": "x", "n": 1})
        fails(409, container.create_item,
              {"id": "b", "pk": "p", "email": "x", "n": 1.0})
        fails(409, container.upsert_item,
              {"id": "b", "pk": "p", "email": "x", "n": 1})
        container.create_item({"id": "b", "pk": "p", "email": "x", "n": 2})
        fails(409, container.replace_item, "b",
              {"id": "b", "pk": "p", "email": "x", "n": 1})
        container.create_item({"id": "a", "pk": "q", "email": "x", "n": 1})
        container.delete_item("a", "p")
        container.replace_item(
            "b", {"id": "b", "pk": "p", "email": "x", "n": 1})
