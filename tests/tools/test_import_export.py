"""test_import_export.py -- `runnel import` and `runnel export`."""
import json
import os
import signal
import subprocess

from documents import (PROVE, SYSTEM, by_id, held, read_lines, saved, text_of,
                       write_lines)
from gate import Gate
from harness import (LIMIT_S, case, container, equal, eventually, fails, finish,
                     runnel, scratch, server, start)
from terminal import Terminal

COUNT = 1000000 if PROVE else 20000


def import_file(box, path, *more, code=0, **options):
    result = runnel("import", "--container", box.name, "--json", path, *more,
                    **options)
    equal(result.code, code, result.err[-2000:])
    return result


def counts(result):
    return result.json[-1]["imported"], result.json[-1]["rejected"]


@case("import and export carry unusual documents there and back")
def _():
    first, second = container("there", ranges=3), container("back")
    path = write_lines(scratch("in.ndjson"), map(text_of, range(COUNT)))
    expected = by_id(read_lines(path))
    equal(counts(import_file(first, path)), (COUNT, 0))
    lines, array = scratch("out.ndjson"), scratch("out.json")
    for output, form in (lines, "ndjson"), (array, "json"):
        result = runnel("export", "--container", first.name, "--output",
                        output, "--format", form)
        equal(result.code, 0, result.err)
        equal(result.out, f"{COUNT} documents written to {output}\n")
    equal(by_id(read_lines(lines)) == expected, True)
    with open(array, encoding="utf-8") as file:
        equal(len(json.load(file)), COUNT)
    equal(counts(import_file(second, array)), (COUNT, 0))
    result = runnel("export", "--container", second.name, "--output", lines)
    equal(result.code, 0, result.err)
    equal(by_id(read_lines(lines)) == expected, True)


@case("export writes a key, a query, system properties and an empty array")
def _():
    box = container("parts")
    stored = [box.put({"id": str(i), "pk": f"p{i % 2}"}) for i in range(4)]
    export = ["export", "--container", box.name]
    equal(sorted(runnel(*export, "--pk", "p1").json, key=lambda d: d["id"]),
          [{"id": "1", "pk": "p1"}, {"id": "3", "pk": "p1"}])
    equal(sorted(runnel(*export, "--system").json, key=lambda d: d["id"]),
          stored)
    spread = container("spread")  # written on several lines
    equal(runnel("put", "--container", spread.name,
                 '{\n  "id": "1",\r\n  "pk": ["a",\n 1]\n}').code, 0)
    for more in [], ["--system"]:
        said = runnel("export", "--container", spread.name, *more)
        equal([(d["id"], d["pk"]) for d in said.json], [("1", ["a", 1])])
    query = "SELECT VALUE c._etag FROM c ORDER BY c.id DESC"
    equal(runnel(*export, "--query", query).json,
          [document["_etag"] for document in reversed(stored)])
    equal(runnel(*export, "--pk", "none", "--format", "json").out, "[]\n")
    equal(SYSTEM & set(runnel(*export).json[0]), set())


@case("import turns CSV into documents")
def _():
    box = container("table")
    path = scratch("in.csv")
    rows = ('\ufeffid,pk,n,b,"quoted, ""name""",empty\r\n'
            '1,a,12.50,true,"line\r\nend ""x""",\r\n'
            '\r\n'
            '2,007,-1e5,TRUE,"12",""\r\n'
            '3, eu,5" disk,null,\u00e9,x')
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(rows)
    equal(counts(import_file(box, path)), (3, 0))
    name = 'quoted, "name"'
    equal(held(box.name), {
        "1": {"id": "1", "pk": "a", "n": ("number", "12.50"), "b": True,
              name: 'line\r\nend "x"'},
        "2": {"id": "2", "pk": "007", "n": ("number", "-1e5"), "b": "TRUE",
              name: "12", "empty": ""},
        "3": {"id": "3", "pk": " eu", "n": '5" disk', "b": None,
              name: "\u00e9", "empty": "x"}})
    tabs = runnel("import", "--container", box.name, "--format", "csv",
                  "--delimiter", "tab", input="id\tpk\tn\n\n4\t\t1\n")
    equal(tabs.code, 0, tabs.err)
    equal(held(box.name)["4"], {"id": "4", "n": ("number", "1")})


@case("import names the malformed line and imports the others")
def _():
    box = container("malformed")
    lines = [f'{{"id":"{i}","pk":"a"}}' for i in range(1, 10)]
    lines[6] = '{"id":"7","pk":'
    rejected = scratch("rejected")
    path = write_lines(scratch("seven.ndjson"), lines)
    result = import_file(box, path, "--errors", rejected, code=7)
    equal(counts(result), (8, 1))
    equal(len(result.err.splitlines()), 1, result.err)
    assert result.err.startswith(f"runnel import: {path}:7: "), result.err
    equal(read_lines(rejected), [lines[6]])
    write_lines(rejected, [lines[6] + '"a"}'])
    equal(counts(import_file(box, rejected)), (1, 0))
    equal(sorted(held(box.name)), [str(i) for i in range(1, 10)])


@case("import names every line that the server or the format refuses")
def _():
    box = container("refused")
    long_key = "k" * 3000
    lines = ['{"id":"a","pk":1}', '["no object"]', '{"pk":1}', "",
             '{"id":7,"pk":1}', '{"id":"x/y","pk":1}',
             f'{{"id":"k","pk":"{long_key}"}}', '{"id":"b","pk":1}',
             f'{{"id":"big","pk":1,"x":"{"x" * 3000000}"}}', "\udcff",
             '{"id":"dup","id":"x"}', '{"id":"c","pk":1}']
    path = scratch("refused.ndjson")
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write("\n".join(lines))
    rejected = scratch("refused.rejected")
    result = import_file(box, path, "--errors", rejected, code=7)
    equal(counts(result), (3, 8))
    found = sorted(int(line.split(":")[2]) for line in result.err.splitlines())
    equal(found, [2, 3, 5, 6, 7, 9, 10, 11])
    assert f"{path}:9: Request size is too large\n" in result.err, result.err
    with open(rejected, encoding="utf-8", errors="surrogateescape") as file:
        equal(sorted(file.read().splitlines()),
              sorted(lines[line - 1] for line in found))
    equal(sorted(held(box.name)), ["a", "b", "c"])


@case("import finds the malformed element of an array and the row of a table")
def _():
    box = container("elements")
    path = scratch("elements.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write('[{"id":"1","x":"],{"},\n {"id":"2",\n"x":tru},\n'
                   '{"id":\n"3"}\n,4]\n garbage')
    rejected = scratch("elements.rejected")
    result = import_file(box, path, "--errors", rejected, code=7)
    equal(counts(result), (2, 3))
    equal([line.split(":")[2] for line in result.err.splitlines()],
          ["2", "6", "7"])
    equal(read_lines(rejected)[0], '{"id":"2", "x":tru}')
    with open(path, "w", encoding="utf-8") as file:
        file.write('[{"id":"1"},')
    result = import_file(box, path, code=7)
    assert "before the array is closed" in result.err, result.err
    path = scratch("rows.csv")
    with open(path, "wb") as file:
        file.write(b'id,pk\n5,a\n6\n7,"a"b\n8,\xff\n9,b\n10,"open\n')
    result = import_file(box, path, "--errors", rejected, code=7)
    equal(counts(result), (2, 4))
    equal([line.split(":")[2] for line in result.err.splitlines()],
          ["3", "4", "5", "7"])
    with open(rejected, "rb") as file:
        equal(file.read().splitlines(),
              [b"id,pk", b"6", b'7,"a"b', b"8,\xff", b'10,"open'])


@case("import creates what is new, or replaces, the last line of an id last")
def _():
    box = container("modes", ranges=2)
    lines = [json.dumps({"id": str(i % 500), "pk": "a", "n": i})
             for i in range(5000)]
    path = write_lines(scratch("twice.ndjson"), lines)
    equal(counts(import_file(box, path)), (5000, 0))
    expected = by_id(lines[-500:])
    equal(held(box.name), expected)
    result = import_file(box, write_lines(path, lines[:2] + [
        '{"id":"new","pk":"a"}']), "--mode", "create", code=7)
    equal(counts(result), (1, 2))
    equal(held(box.name), {**expected, **by_id(['{"id":"new","pk":"a"}'])})


@case("import resumes after kill -9 without loss or repetition")
def _():
    box = container("resumed")
    pipe, state = scratch("in.fifo"), scratch("in.state")
    rejected = scratch("in.rejected")
    os.mkfifo(pipe)
    arguments = ["import", "--container", box.name, "--mode", "create",
                 "--state", state, "--errors", rejected, "--json", pipe]
    lines = [json.dumps({"id": str(i), "pk": i % 7, "n": i})
             for i in range(4000)]
    lines[3] = "malformed 4"
    lines[3500] = "malformed 3501"
    process = start(*arguments)
    with open(pipe, "w", encoding="utf-8") as file:
        sent = 0

        def send():
            nonlocal sent
            file.write("".join(line + "\n" for line in lines[sent:sent + 5]))
            file.flush()
            sent += 5
            return os.path.exists(state)
        eventually(send, lambda there: there)
        file.write("".join(line + "\n" for line in lines[sent:3600]))
        file.flush()
        # Some lines behind the state are stored, and one is rejected.
        eventually(lambda: len(read_lines(rejected)), lambda n: n == 2)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert 0 < saved(state)["line"] < 3500
    process = start(*arguments)
    write_lines(pipe, lines)
    result = finish(process)
    equal(result.code, 7, result.err)
    equal(counts(result), (3998, 2))
    equal(read_lines(rejected), [lines[3], lines[3500]])
    equal(held(box.name), by_id(
        line for line in lines if not line.startswith("malformed")))


@case("export resumes after kill -9 and writes each document once")
def _():
    box = container("torn", ranges=2)
    lines = [json.dumps({"id": str(i), "pk": str(i), "x": "x" * 1000})
             for i in range(6000)]
    import_file(box, write_lines(scratch("torn.ndjson"), lines))
    for form in "ndjson", "json":
        output, state = scratch(f"torn.{form}"), scratch(f"torn.{form}.state")
        arguments = ["export", "--container", box.name, "--output", output,
                     "--state", state, "--format", form, "--parallel", "2"]
        with Gate(server().port, after=5 << 20) as gate:
            process = start(*arguments, "--account", gate.account)
            assert gate.shut.wait(LIMIT_S)
            rows = eventually(lambda: saved(state).get("rows", 0),
                              lambda rows: rows > 0)
            assert rows < 6000
            process.send_signal(signal.SIGKILL)
            process.communicate()
        with open(output, "a", encoding="utf-8") as file:
            file.write('{"id":"torn')
        result = runnel(*arguments)
        equal(result.code, 0, result.err)
        with open(output, encoding="utf-8") as file:
            text = file.read()
        if form == "json":
            text = "".join(json.dumps(d) + "\n" for d in json.loads(text))
        equal(by_id(text.splitlines()) == by_id(lines), True)
        equal(runnel(*arguments).out, f"6000 documents written to {output}\n")


@case("export goes on through a split")
def _():
    box = container("halved")
    lines = [json.dumps({"id": str(i), "pk": str(i), "x": "x" * 200})
             for i in range(3000)]
    import_file(box, write_lines(scratch("halved.ndjson"), lines))
    process = start("export", "--container", box.name, "--parallel", "1")
    first = process.stdout.readline()  # the others wait in the pipe
    status, _, body = server().post("/_runnel/split", {
        "container": box.path[1:], "range": 0})
    assert status < 300, body
    rest = process.stdout.read().splitlines()
    equal(finish(process).code, 0)
    equal(by_id([first, *rest]) == by_id(lines), True)


@case("import and export name what is wrong on the command line and around it")
def _():
    box = container("wrong")
    path = write_lines(scratch("good.ndjson"), ['{"id":"1","pk":"a"}'])
    to, of = ["import", "--container"], ["export", "--container"]
    for words in to, of:
        fails(3, 'container "none" does not exist in database "d"', *words,
              "d/none", stdin=open(path, encoding="utf-8"))
        fails(2, "--parallel takes 1 to", *words, box.name, "--parallel", "0",
              stdin=open(path, encoding="utf-8"))
        fails(5, "connect to 127.0.0.1 port 1", *words, box.name,
              "--account", "http://127.0.0.1:1/",
              stdin=open(path, encoding="utf-8"))
    fails(1, f"{path}x: No such file", *to, box.name, path + "x")
    fails(1, "Is a directory", *to, box.name, os.path.dirname(path))
    fails(2, "--delimiter takes one character", *to, box.name, path,
          "--delimiter", "ab")
    fails(1, ":1: not a JSON array", *to, box.name, path, "--format", "json")
    fails(1, "has no header", *to, box.name, "/dev/null", "--format", "csv")
    fails(1, "/none/x: No such file", *to, box.name, path, "--errors",
          "/none/x")
    fails(2, "--state needs --output", *of, box.name, "--state",
          scratch("wrong.state"))
    fails(1, "/none/x: No such file", *of, box.name, "--output", "/none/x")
    fails(2, "is not a state file", *to, box.name, path, "--state", path)
    state = scratch("mine.state")
    equal(import_file(box, path, "--state", state).code, 0)
    fails(2, "is of another run: import of", *of, box.name, "--output",
          scratch("mine"), "--state", state)


@case("import and export survive a full disk and a reader that goes away")
def _():
    box = container("full")
    lines = [json.dumps({"id": str(i), "pk": "a", "x": "x" * 100})
             for i in range(5000)]
    path = write_lines(scratch("full.ndjson"), lines + ["malformed"])
    result = import_file(box, path, "--errors", "/dev/full", code=1)
    assert "/dev/full: No space left" in result.err, result.err
    import_file(box, path, code=7)
    export = ["export", "--container", box.name]
    fails(1, "/dev/full: No space left", *export, "--output", "/dev/full")
    with open("/dev/full", "w", encoding="utf-8") as full:
        result = runnel(*export, stdout=full)
        equal(result.code, 1, result.err)
        assert "No space left" in result.err, result.err
    process = start(*export)
    process.stdout.readline()
    process.stdout.close()
    equal(process.wait(LIMIT_S), 141)
    equal(process.stderr.read(), "")
    process.stderr.close()


@case("an interrupted import says how far it came")
def _():
    box = container("interrupted")
    process = start("import", "--container", box.name, stdin=subprocess.PIPE)
    process.stdin.write('{"id":"1","pk":"a"}\n')
    process.stdin.flush()
    eventually(lambda: process.poll() is None and os.path.exists(
        f"/proc/{process.pid}/task") and len(os.listdir(
            f"/proc/{process.pid}/task")), lambda n: n > 5)
    process.send_signal(signal.SIGINT)
    process.wait(LIMIT_S)  # while its standard input is still open
    result = finish(process)
    equal(result.code, 130, result.err)
    assert "not finished" in result.out, result.out


@case("a noun behind the number 1 is singular")
def _():
    on = ["--container", container("one").name]
    equal(runnel("import", *on, input='{"id":"1","pk":"a"}\n').out,
          "1 document imported, 0 rejected\n")
    out = scratch("one.out")
    equal(runnel("export", *on, "--output", out).out,
          f"1 document written to {out}\n")
    said = runnel("query", *on, "--color", "always", "SELECT * FROM c")
    assert "m1 row, " in said.out, said.out
    copy = runnel("copy", *on, "--to", "d/one2", "--create", "--verify")
    equal(copy.out, "1 document copied, 0 deleted, 0 refused, "
                    "0 differences\n")


@case("import and export show their progress on a terminal")
def _():
    box = container("bar")
    path = write_lines(scratch("bar.ndjson"),
                       [json.dumps({"id": str(i), "pk": "a"})
                        for i in range(2000)])
    with Terminal("import", "--container", box.name, path) as t:
        t.wait_for(r"importing \[#{24}\] \d+/\d+ kB, \d+/s, ETA 0:00")
        t.wait_for("2000 documents imported, 0 rejected")
        equal(t.end(), 0)
    with Terminal("export", "--container", box.name, "--output",
                  scratch("bar.out")) as t:
        t.wait_for(r"exporting \[#{24}\] 2000/2000 documents, \d+/s, ETA 0:00")
        equal(t.end(), 0)
