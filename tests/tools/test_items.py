"""test_items.py -- `runnel get`, `put`, `rm` and `patch`."""
import json

from harness import case, container, equal, fails, runnel, scratch
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


@case("get indents and colours on a terminal by default")
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


@case("put writes a document from the argument, a file or standard input")
def _():
    box = container("put")
    put = ["put", "--container", box.name]
    text = '{"id":"1","pk":"a","n":1.50}'
    with open(scratch("document"), "w", encoding="utf-8") as file:
        file.write(text)
    for more, given in ([[text], None], [[scratch("document")], None],
                        [[], text], [["-"], text]):
        result = runnel(*put, *more, input=given)
        equal(result.code, 0, result.err)
        equal(result.json[0]["n"], 1.5)
        equal(runnel("get", "--container", box.name, "--pk", "a", "1").out,
              result.out)


@case("put creates, replaces and compares etags by its options")
def _():
    box = container("modes")
    put = ["put", "--container", box.name]
    one, two = '{"id":"1","pk":"a"}', '{"id":"2","pk":"a"}'
    fails(3, 'document "1" does not exist', *put, "--mode", "replace", one)
    etag = runnel(*put, "--mode", "create", one).json[0]["_etag"]
    fails(6, 'document "1" exists in container "d/modes"', *put, "--mode",
          "create", one)
    equal(runnel(*put, "--mode", "replace", one).code, 0)
    fails(6, "pre-condition is not met", *put, "--if-match", etag, one)
    fails(2, "--if-match", *put, "--mode", "create", "--if-match", etag, two)


@case("put and patch name a violated unique key")
def _():
    box = container("unique", uniqueKeyPolicy={
        "uniqueKeys": [{"paths": ["/mail"]}]})
    box.put({"id": "1", "pk": "a", "mail": "x"})
    box.put({"id": "2", "pk": "a", "mail": "y"})
    third = '{"id":"3","pk":"a","mail":"x"}'
    for mode in ("upsert", "create"):
        fails(6, "put: Unique index constraint violation.$", "put",
              "--container", box.name, "--mode", mode, third)
    fails(6, "patch: Unique index constraint violation.$", "patch",
          "--container", box.name, "--pk", "a", "2",
          '[{"op":"set","path":"/mail","value":"x"}]')


@case("a document that is too large is refused in plain words")
def _():
    box = container("large")
    fails(1, "put: Request size is too large$", "put", "--container",
          box.name, input=json.dumps({"id": "1", "pk": "a",
                                      "x": "x" * 2500000}))


@case("put names what is wrong with its input")
def _():
    box = container("badput")
    put = ["put", "--container", box.name]
    fails(2, r"the argument: JSON at offset 6 \(line 1", *put, '{"id":')
    fails(2, "standard input: not a JSON object", *put, input="[]")
    fails(2, "standard input: ", *put, input="")
    fails(2, "none: No such file", *put, scratch("none"))
    fails(1, "'id' must be a string", *put, '{"id":1,"pk":"a"}')
    fails(3, 'container "none" does not exist', "put", "--container", "d/none",
          '{"id":"1","pk":"a"}')


@case("rm deletes a document, if its etag is current")
def _():
    box = container("rm")
    etag = box.put({"id": "1", "pk": 7})["_etag"]
    rm = ["rm", "--container", box.name, "--pk", "7", "1"]
    fails(6, "pre-condition is not met", *rm, "--if-match", '"x"')
    result = runnel(*rm, "--if-match", etag)
    equal((result.code, result.out, result.err), (0, "", ""))
    fails(3, 'document "1" does not exist in container "d/rm"', *rm)


@case("patch changes members if the condition holds")
def _():
    box = container("patch")
    box.put({"id": "1", "pk": "a", "n": 1})
    patch = ["patch", "--container", box.name, "--pk", "a", "1"]
    more = '[{"op":"incr","path":"/n","value":2}]'
    equal(runnel(*patch, more).json[0]["n"], 3)
    equal(runnel(*patch, input=more).json[0]["n"], 5)
    equal(runnel(*patch, "--if", "FROM c WHERE c.n = 5", more).json[0]["n"], 7)
    fails(6, "precondition is not met", *patch, "--if", "FROM c WHERE c.n = 5",
          more)
    fails(1, "'op' must be add, set", *patch,
          '[{"op":"twist","path":"/n","value":2}]')
    fails(2, "the argument: not a JSON array", *patch, "{}")
    fails(3, 'document "2" does not exist', "patch", "--container", box.name,
          "--pk", "a", "2", more)
