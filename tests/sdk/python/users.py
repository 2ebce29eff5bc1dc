"""users.py -- users, permissions, and clients that have no key but a token."""
from azure.cosmos import PartitionKey

from harness import case, equal, fails

PK = PartitionKey(path="/pk")


def add(client, connect):
    @case("a user is created, read, renamed, listed, queried and deleted")
    def _():
        database = client.create_database("py-users")
        user = database.create_user({"id": "ann"})
        equal(user.read()["_permissions"], "permissions/")
        fails(409, database.create_user, {"id": "ann"})
        database.replace_user("ann", {"id": "anna"})
        fails(404, database.get_user_client("ann").read)
        database.upsert_user({"id": "bob"})
        equal([each["id"] for each in database.list_users()], ["anna", "bob"])
        found = database.query_users(
            "SELECT * FROM root r WHERE r.id=@id",
            parameters=[{"name": "@id", "value": "bob"}])
        equal([each["id"] for each in found], ["bob"])
        database.delete_user("bob")
        fails(404, database.get_user_client("bob").read)

    @case("a permission is created, read, replaced, listed and deleted")
    def _():
        database = client.create_database("py-permissions")
        container = database.create_container("c", PK)
        user = database.create_user({"id": "u"})
        wish = {"id": "p", "permissionMode": "Read",
                "resource": container.read()["_self"]}
        made = user.create_permission(wish)
        equal(made.permission_mode, "Read")
        equal(user.get_permission("p").permission_mode, "Read")
        fails(409, user.create_permission, {**wish, "id": "q"})
        user.replace_permission("p", {**wish, "id": "q"})
        fails(404, user.get_permission, "p")
        equal([each["id"] for each in user.list_permissions()], ["q"])
        equal([each["id"] for each in user.query_permissions(
            "SELECT * FROM p WHERE p.id = 'q'")], ["q"])
        user.upsert_permission({**wish, "id": "q", "permissionMode": "All"})
        equal(user.get_permission("q").permission_mode, "All")
        user.delete_permission("q")
        equal(list(user.list_permissions()), [])

    @case("a token admits what its permission says")
    def _():
        database = client.create_database("py-tokens")
        c = database.create_container("c", PK)
        database.create_container("d", PK)
        c.create_item({"id": "1", "pk": "x"})
        c.create_item({"id": "1", "pk": "y"})
        user = database.create_user({"id": "u"})

        def holder(**wish):
            permission = user.create_permission(
                {"id": str(len(wish)) + wish["permissionMode"], **wish})
            other = connect({wish["resource"]: permission.properties["_token"]})
            return other.get_database_client("py-tokens")

        mine = holder(permissionMode="Read", resource="dbs/py-tokens/colls/c")
        there = mine.get_container_client("c")
        equal(there.read_item("1", "x")["id"], "1")
        equal(len(list(there.read_all_items())), 2)
        equal(list(there.query_items("SELECT VALUE COUNT(1) FROM c",
                                     enable_cross_partition_query=True)), [2])
        fails(403, there.create_item, {"id": "2", "pk": "x"})
        fails(403, mine.get_container_client("d").read)
        fails(403, mine.read)

        mine = holder(permissionMode="All", resource="dbs/py-tokens/colls/c",
                      resourcePartitionKey=["x"])
        there = mine.get_container_client("c")
        there.create_item({"id": "2", "pk": "x"})
        fails(403, there.create_item, {"id": "2", "pk": "y"})
        fails(403, there.read_item, "1", "y")
        equal(len(list(there.query_items("SELECT * FROM c",
                                         partition_key="x"))), 2)
        fails(403, lambda: list(there.query_items("SELECT * FROM c",
                                                  partition_key="y")))
