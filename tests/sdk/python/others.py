"""others.py -- the lists that are empty: conflicts and scripts."""
from azure.cosmos import PartitionKey

from harness import case, equal, fails


def add(client):
    database = client.create_database("py-others")
    container = database.create_container("c", PartitionKey("/pk"))

    @case("the conflicts feed is there and empty")
    def _():
        equal(list(container.list_conflicts()), [])
        equal(list(container.query_conflicts(
            "SELECT * FROM c", enable_cross_partition_query=True)), [])
        fails(404, container.get_conflict, "x", "p")
        fails(404, container.delete_conflict, "x", "p")

    @case("scripts are none, and cannot be made")
    def _():
        scripts = container.scripts
        for kind in ["stored_procedure", "trigger", "user_defined_function"]:
            equal(list(getattr(scripts, f"list_{kind}s")()), [])
            equal(list(getattr(scripts, f"query_{kind}s")(
                "SELECT * FROM s")), [])
            error = fails(400, getattr(scripts, f"create_{kind}"), {
                "id": "s", "body": "function(){}", "triggerType": "pre",
                "triggerOperation": "all"})
            assert "not supported" in str(error), error
            fails(404, getattr(scripts, f"get_{kind}"), "s")
            fails(404, getattr(scripts, f"delete_{kind}"), "s")
        fails(404, scripts.execute_stored_procedure, "s", "p")
