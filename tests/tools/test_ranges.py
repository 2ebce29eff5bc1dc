"""test_ranges.py -- `runnel ranges`, `split` and `merge`."""
from harness import case, container, equal, fails, runnel


@case("ranges lists the ranges, and pieces of them")
def _():
    box = container("ranges", ranges=2)
    result = runnel("ranges", "--container", box.name)
    equal(result.code, 0, result.err)
    equal(result.lines[0].split(), ["ID", "MIN", "MAX"])
    equal(len(result.lines), 3)
    listed = runnel("ranges", "--container", box.name, "--json").json
    equal([r["min"] for r in listed][0], "")
    equal(listed[0]["max"], listed[1]["min"])
    equal(listed[1]["max"], "FF")
    equal(len(runnel("ranges", "--container", box.name, "--json", "--pieces",
                     "5").json), 5)
    fails(3, 'container "none" does not exist', "ranges", "--container",
          "d/none")
    fails(2, "--pieces is a whole number, not 'x'", "ranges", "--pieces", "x",
          "--container", box.name)


@case("split and merge change the ranges")
def _():
    box = container("splits")
    on = ["--container", box.name]
    equal(runnel("split", *on, "0").out, "1 2\n")
    equal(runnel("split", *on, "--at", "0F", "--json", "1").json,
          [{"ranges": ["3", "4"]}])
    listed = runnel("ranges", *on, "--json").json
    equal([r["id"] for r in listed], ["3", "4", "2"])
    assert listed[1]["min"].startswith("0F"), listed
    equal(runnel("merge", *on, "4", "2").out, "5\n")
    equal([r["id"] for r in runnel("ranges", *on, "--json").json], ["3", "5"])


@case("split and merge say which range is wrong")
def _():
    box = container("badsplit")
    on = ["--container", box.name]
    fails(1, "no partition key range '77'", "split", *on, "77")
    fails(2, "'x' is not the id of a range", "split", *on, "x")
    fails(1, "'zz' is not an effective partition key", "split", *on, "--at",
          "zz", "0")
    fails(2, "usage: runnel merge", "merge", *on, "0")
    fails(3, 'container "none" does not exist', "merge", "--container",
          "d/none", "0", "1")
