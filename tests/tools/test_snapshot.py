"""test_snapshot.py -- `runnel snapshot`, `reset` and `wait`."""
from harness import (Server, account, case, container, equal, fails, runnel,
                     server)


@case("snapshot keeps all databases and reset puts them back")
def _():
    with Server("--test-mode", "--store", "mem") as tested:
        box = tested.make()
        for i in range(3):
            tested.put(box, {"id": str(i), "pk": "x"})
        on = ["--account", f"http://127.0.0.1:{tested.port}/"]
        result = runnel("snapshot", "clean", *on)
        equal(result.code, 0, result.err)
        assert result.out.startswith("taken: 2 objects, 3 documents, "), result
        tested.put(box, {"id": "new", "pk": "x"})
        equal(tested.ask("DELETE", box + "/docs/1", headers={
            "x-ms-documentdb-partitionkey": '["x"]'})[0], 204)
        equal(runnel("reset", "clean", *on).out,
              "reset: 0 objects, 1 document, 1 deleted\n")
        equal(runnel("reset", "clean", "--json", *on).json,
              [{"name": "clean", "objects": 0, "documents": 0, "deleted": 0}])
        equal(tested.get(box, "1", "x")[0], 200)
        equal(tested.get(box, "new", "x")[0], 404)
        fails(3, "no snapshot 'none'", "reset", "none", *on)
    fails(3, "no /_runnel/reset, .* with --test-mode", "reset", "clean")
    fails(2, "usage: runnel snapshot", "snapshot")


def lease(box, leases, lsn):
    rid = server().ask("GET", box.path)[2]["_rid"]
    leases.put({"id": f"phost_{rid}..0", "pk": "l", "LeaseToken": "0",
                "ContinuationToken": f'"{lsn}"'})


@case("wait ends when the processor has caught up, or after its time-out")
def _():
    box, leases = container("waited"), container("leases")
    for i in range(3):
        box.put({"id": str(i), "pk": "x"})
    on = ["wait", "--container", box.name, "--leases", "leases",
          "--lease-prefix", "p", "--timeout"]
    fails(10, "after 50 ms there are no leases", *on, "50ms")
    lease(box, leases, 1)
    fails(10, "after 50 ms not every lease has caught up; leases: 1", *on, "50")
    lease(box, leases, 3)
    equal(runnel(*on, "30s", "--json").json, [{"caughtUp": True, "leases": 1}])
    equal(runnel(*on, "30s").out, "")


@case("wait says what is wrong with its options")
def _():
    box = container("badwait")
    fails(10, "there are no leases", "wait", "--container", box.name,
          "--timeout", "50ms")  # of the name "trigger", in d/leases
    fails(3, "no container for the leases",
          "wait", "--container", box.name, "--leases", "d/none")
    fails(3, 'container "none" does not exist', "wait", "--container",
          "d/none", "--leases", "d/badwait")
    fails(5, "Couldn't connect", "wait", "--container", box.name,
          "--leases", box.name, "--account", account().replace(
              str(server().port), "1"))
