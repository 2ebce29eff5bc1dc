"""seeds.py -- `runnel serve --seed`: data that a new store begins with.

Goal: a directory or a file of data is there at the first start, once;
errors in it are reported with file and line, and then nothing starts and
nothing stays.
Method: servers started with seeds, good and bad, with both stores.
"""
import json
import os
import signal
import subprocess
import tempfile

from lib import LIMIT_S, RUNNEL, Server, case, equal, run, run_cases

DEFINITION = {"partitionKey": {"paths": ["/pk"], "kind": "Hash"}}


def write(path, *lines):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write("".join(
            (line if isinstance(line, str) else json.dumps(line)) + "\n"
            for line in lines))


def seed_directory(home, count=250):
    root = os.path.join(home, "seed")
    write(f"{root}/shop/orders.json", json.dumps(DEFINITION, indent=2))
    write(f"{root}/shop/orders.ndjson",
          *[{"id": f"{i}", "pk": f"k{i % 9}"} for i in range(count)], "", "")
    write(f"{root}/shop/leases.json", {"id": "leases", **DEFINITION})
    os.makedirs(f"{root}/empty")
    return root


def seed_file(home, *more):
    path = os.path.join(home, "seed.ndjson")
    write(path, {"database": 'sh"op'}, {"container": {"id": "c", **DEFINITION}},
          {"document": {"id": "1", "pk": "x"}}, "",
          {"container": {"id": "d", **DEFINITION}},
          {"document": {"id": "1", "pk": "x"}}, {"database": "other"}, *more)
    return path


def count_of(server, container):
    _, _, body = server.ask("GET", container + "/docs",
                            headers={"x-ms-max-item-count": "1000"})
    return body["_count"]


def ids(server, path, member):
    return sorted(o["id"] for o in server.ask("GET", path)[2][member])


def refusal(seed, *more):
    """What a start with a bad seed says, in one line."""
    status, out, err = run("serve", "--listen", "127.0.0.1:0", "--log-level",
                           "error", "--seed", seed, *more)
    assert status != 0 and not out, (status, out, err)
    equal(len(err.splitlines()), 1, err)
    return err


@case("a directory is seeded at the first start, and not again")
def _():
    for store in ["mem", "local"]:
        with tempfile.TemporaryDirectory() as home:
            root = seed_directory(home)
            with Server("--store", store, "--seed", root) as server:
                equal(ids(server, "/dbs", "Databases"), ["empty", "shop"])
                equal(ids(server, "/dbs/shop/colls", "DocumentCollections"),
                      ["leases", "orders"])
                equal(count_of(server, "/dbs/shop/colls/orders"), 250)
                equal(json.loads(server.wait_for_line("seeded"))["documents"],
                      250)
                if store == "mem":
                    continue
                equal(server.ask("DELETE", "/dbs/empty")[0], 204)
                server.put("/dbs/shop/colls/orders", {"id": "new", "pk": "k1"})
                server.stop()
                server.start()
                equal(ids(server, "/dbs", "Databases"), ["shop"])
                equal(count_of(server, "/dbs/shop/colls/orders"), 251)


@case("one file of JSON lines is seeded")
def _():
    with tempfile.TemporaryDirectory() as home:
        with Server("--store", "mem", "--seed", seed_file(home)) as server:
            equal(ids(server, "/dbs", "Databases"), ["other", 'sh"op'])
            equal(count_of(server, "/dbs/sh%22op/colls/d"), 1)


@case("a seed that is wrong is refused with file and line, and leaves nothing")
def _():
    bad = [('{"document": {"id": "1"', ":8:"), ('{"documents": {}}', ":8:"),
           ({"document": {"id": "1", "pk": 1}}, ":8: a document before"),
           ({"database": "a/b"}, ":8:"), ({"database": "other"}, ":8:"),
           ({"container": {"id": "c"}}, ":8:"), ("[]", ":8:")]
    for line, says in bad:
        with tempfile.TemporaryDirectory() as home:
            path, data = seed_file(home, line), os.path.join(home, "data")
            said = refusal(path, "--data", data)
            assert path + says in said, said
    with tempfile.TemporaryDirectory() as home:
        root, data = seed_directory(home), os.path.join(home, "data")
        documents = f"{root}/shop/orders.ndjson"
        with open(documents, "a") as file:
            file.write('{"id": "3", "pk": "k3"}\n')
        said = refusal(root, "--data", data)
        assert documents + ":253: " in said, said
        write(documents, {"id": "7", "pk": "k3"})
        with Server("--seed", root, data=data) as server:
            equal(count_of(server, "/dbs/shop/colls/orders"), 1)
        write(f"{root}/shop/orders.json", "{", '"partitionKey": }')
        said = refusal(root, "--store", "mem")
        assert "orders.json" in said and "line 2" in said, said
        os.remove(f"{root}/shop/orders.json")
        assert "no orders.json" in refusal(root, "--store", "mem")
        write(f"{root}/shop/notes.txt", "x")
        assert "notes.txt" in refusal(root, "--store", "mem")
    assert "/none" in refusal("/none", "--store", "mem")


@case("a seeding that was killed is done again by the next start")
def _():
    with tempfile.TemporaryDirectory() as home:
        root, data = seed_directory(home, 4000), os.path.join(home, "data")
        process = subprocess.Popen(
            [RUNNEL, "serve", "--listen", "127.0.0.1:0", "--data", data,
             "--seed", root], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        while not os.path.exists(os.path.join(data, "seeding")):
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait(LIMIT_S)
        process.stdout.close()
        status, _, err = run("serve", "--listen", "127.0.0.1:0", "--data", data)
        assert status and "interrupted" in err, err
        with Server("--seed", root, data=data) as server:
            equal(server.ask("GET", "/dbs/shop/colls/orders", headers={
                "x-ms-documentdb-populatequotainfo": "true"})[0], 200)
            equal(json.loads(server.wait_for_line("seeded"))["documents"], 4000)
        equal(os.path.exists(os.path.join(data, "seeding")), False)
        equal(run("verify", data)[0], 0)


run_cases()
