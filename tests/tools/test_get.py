"""test_get.py -- `runnel get`."""
from harness import case, container, equal, fails, runnel
from terminal import Terminal


@case("get prints a document on one line")
def _():
    box = container("get")
    stored = box.put({"id": "1", "pk": "a", "n": [1, {"x": "\u00e9\n"}]})
    result = runnel("get", "--container", box.name, "--pk", "a", "1")
    equal(result.code, 0, result.err)
    equal(result.json, [stored])


@case("get takes partition keys of every type")
def _():
    box = container("types")
    for i, (pk, text) in enumerate([("a b", "a b"), ("7", '"7"'), (7, "7"),
                                    (True, "true"), (None, "null")]):
        box.put({"id": str(i), "pk": pk})
        result = runnel("get", "--container", box.name, "--pk", text, str(i))
        equal(result.code, 0, result.err)
        equal(result.json[0]["pk"], pk)


@case("get needs no key where the id is the key")
def _():
    box = container("byid", partitionKey={"paths": ["/id"], "kind": "Hash"})
    box.put({"id": "x", "pk": "x"})
    equal(runnel("get", "--container", box.name, "x").json[0]["id"], "x")
    other = container("bypk")
    fails(2, r"--pk is missing: the container is keyed by \[\"/pk\"\]", "get",
          "--container", other.name, "x")


@case("get names what is not there")
def _():
    box = container("absent")
    fails(3, 'document "7" does not exist in container "d/absent"', "get",
          "--container", box.name, "--pk", "a", "7")
    fails(3, 'container "none" does not exist in database "d"', "get",
          "--container", "d/none", "--pk", "a", "7")
    fails(3, 'container "none" does not exist in database "d"', "get",
          "--container", "d/none", "7")


@case("get indents and colours on a terminal, unless told otherwise")
def _():
    box = container("pretty")
    box.put({"id": "1", "pk": "a", "n": {"x": [1, True]}})
    get = ["get", "--container", box.name, "--pk", "a", "1"]
    with Terminal(*get) as t:
        t.wait_for(r'\n    "x": \[\n      1,\n      true\n    \]')
        equal(t.end(), 0)
        assert "34" in t.screen.colors, t.raw
    for more, env in ([["--color", "never"], {}], [[], {"NO_COLOR": "1"}]):
        with Terminal(*get, *more, env=env) as t:
            t.wait_for(r'\n  "pk": "a"')
            equal(t.end(), 0)
            equal(t.screen.colors, set())
    with Terminal(*get, "--json", columns=400) as t:
        t.wait_for(r'^{"id":"1","pk":"a",')
        equal(t.end(), 0)
    assert "\033[34m" in runnel(*get, "--color", "always").out
