"""test_query.py -- `runnel query` and `runnel explain`."""
from harness import case, container, equal, fails, finish, runnel, start
from terminal import Terminal


def filled(name, count, **more):
    box = container(name, **more)
    for i in range(count):
        box.put({"id": str(i), "pk": f"k{i % 5}", "n": i})
    return box


@case("query prints every row as a line of JSON")
def _():
    box = filled("rows", 30, ranges=3)
    query = ["query", "--container", box.name]
    result = runnel(*query, "SELECT * FROM c")
    equal(result.code, 0, result.err)
    equal(sorted(row["n"] for row in result.json), list(range(30)))
    result = runnel(*query, "--page", "7", "SELECT VALUE c.n FROM c "
                    "ORDER BY c.n DESC")
    equal(result.json, list(range(29, -1, -1)))
    equal(runnel(*query, "--pk", "k2", "SELECT VALUE COUNT(1) FROM c").json,
          [6])


@case("query takes parameters of every type")
def _():
    box = filled("parameters", 3)
    text = "SELECT VALUE [@a, @b, @c, @d] FROM c WHERE c.n = @n"
    result = runnel("query", "--container", box.name, text, "@n=2", "@a=x y",
                    '@b="7"', "@c=null", '@d={"x":[1]}')
    equal(result.json, [["x y", "7", None, {"x": [1]}]], result.err)


@case("query stops after --max-items rows")
def _():
    box = filled("limited", 30)
    for limit in (1, 10, 100):
        result = runnel("query", "--container", box.name, "--page", "4",
                        "--max-items", str(limit), "SELECT VALUE c.n FROM c")
        equal(len(result.json), min(limit, 30))


@case("query reads one range with --range")
def _():
    box = filled("onerange", 30, ranges=2)
    ranges = runnel("ranges", "--json", "--container", box.name).json
    equal(len(ranges), 2)
    found = []
    for one in ranges:
        found += runnel("query", "--container", box.name, "--range",
                        f"{one['min']}-{one['max']}",
                        "SELECT VALUE c.n FROM c").json
    equal(sorted(found), list(range(30)))


@case("query prints a table on a terminal")
def _():
    box = container("table")
    box.put({"id": "1", "pk": "a", "n": 1})
    box.put({"id": "two", "pk": "a", "long": "x" * 100})
    with Terminal("query", "--container", box.name, "SELECT * FROM c") as t:
        t.wait_for(r"2 rows, [0-9.]+ RU")
        equal(t.end(), 0)
        equal(t.screen.lines[0].split(), ["id", "pk", "n", "long"])
        equal(t.screen.lines[1].split(), ["1", "a", "1"])
        equal(t.screen.lines[2].split(), ["two", "a", "x" * 40])


@case("query says what is wrong with a query or a parameter")
def _():
    box = container("badquery")
    query = ["query", "--container", box.name]
    fails(1, "Syntax error, incorrect syntax near 'SELEC'.$", *query, "SELEC")
    fails(2, "'x=1' is not a parameter such as @name=VALUE", *query,
          "SELECT 1", "x=1")
    fails(3, 'container "none" does not exist in database "d"', "query",
          "--container", "d/none", "SELECT 1")
    fails(2, "usage: runnel query", *query)


@case("query ends quietly when its reader goes away")
def _():
    box = filled("gone", 40)
    process = start("query", "--container", box.name, "--page", "1",
                    "SELECT * FROM c")
    process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    result = finish(process)
    equal((result.code, result.err), (141, ""))


@case("explain shows how a query finds its documents")
def _():
    box = filled("explained", 10)
    result = runnel("explain", "--container", box.name,
                    "SELECT * FROM c WHERE c.n > @n", "@n=4")
    equal(result.code, 0, result.err)
    equal(result.json[0]["access"], "scan")
    equal(result.json[0]["documentsMatched"], 5)
    fails(3, 'container "none" does not exist', "explain", "--container",
          "d/none", "SELECT 1")
    fails(1, "Syntax error", "explain", "--container", box.name, "SELEC")
