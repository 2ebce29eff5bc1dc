"""test_copy.py -- `runnel copy`: migration of a container that is written."""
import json
import os
import random
import signal
import threading

from documents import by_id, held, saved, text_of, write_lines
from gate import Gate
from harness import (EMULATOR_KEY, LIMIT_S, Server, case, container, equal,
                     eventually, fails, finish, runnel, scratch, server, start)
from terminal import Terminal

VERSIONS = {"changeFeedPolicy": {"retentionDuration": 10}}


def fill(box, texts):
    path = write_lines(scratch("fill.ndjson"), texts)
    result = runnel("import", "--container", box.name, path)
    equal(result.code, 0, result.err)


def copy(source, target, *more, code=0):
    result = runnel("copy", "--container", source.name, "--to", target.name,
                    "--json", *more)
    equal(result.code, code, result.err + result.out)
    return result


def split_or_merge(box, operation, **more):
    status, _, body = server().post(f"/_runnel/{operation}", {
        "container": box.path[1:], **more})
    assert status < 300, body


def start_again(state, *arguments):
    """Starts a command and waits until it works: it has saved its state."""
    before = os.stat(state).st_ino
    process = start(*arguments)
    eventually(lambda: os.stat(state).st_ino, lambda inode: inode != before)
    return process


class Writer(threading.Thread):
    """Creates, replaces and deletes documents until it is stopped."""

    def __init__(self, box, seed, deletes):
        super().__init__(daemon=True)
        self.box, self.random, self.deletes = box, random.Random(seed), deletes
        self.done, self.over = 0, threading.Event()
        self.model, self.fault = {}, None

    def run(self):
        try:
            while not self.over.is_set():
                self.write()
                self.done += 1
        except Exception as fault:  # stop reports it
            self.fault = fault

    def write(self):
        identity = f"w{self.random.randrange(300)}"
        pk = f"p{int(identity[1:]) % 11}"
        if self.deletes and identity in self.model \
                and self.random.random() < 0.3:
            self.box.delete(identity, pk)
            del self.model[identity]
            return
        document = {"id": identity, "pk": pk, "n": self.done,
                    "place": f"q{self.random.randrange(5)}"}
        self.box.put(document)
        self.model[identity] = document

    def wait_for(self, count):
        eventually(lambda: self.fault or self.done, lambda n: n is self.fault
                   or n >= count)

    def stop(self):
        self.over.set()
        self.join(LIMIT_S)
        if self.fault:
            raise self.fault


@case("copy carries every document, and a second run has nothing to do")
def _():
    source, target = container("all"), container("all2", ranges=2)
    texts = [text_of(i) for i in range(3000)]
    fill(source, texts)
    result = copy(source, target, "--verify")
    equal(result.json, [{"copied": 3000, "deleted": 0, "refused": 0,
                         "follows_deletes": False, "differences": 0}])
    assert "deletes are not followed" in result.err, result.err
    equal(len(result.err.splitlines()), 1)
    equal(held(target.name) == by_id(texts), True)
    state = scratch("again.state")
    equal(copy(source, target, "--state", state).json[0]["copied"], 3000)
    equal(copy(source, target, "--state", state).json[0]["copied"], 3000)
    source.put({"id": "new", "pk": "a"})
    equal(copy(source, target, "--state", state).json[0]["copied"], 3001)
    equal(held(target.name)["new"], {"id": "new", "pk": "a"})


@case("copy under writes, deletes and splits, killed and resumed, ends equal")
def _():
    source = container("live", **VERSIONS)
    target = container("live2", ranges=2)
    fill(source, [json.dumps({"id": f"w{i}", "pk": f"p{i % 11}"})
                  for i in range(300)]
         + [json.dumps({"id": f"s{i}", "pk": f"s{i}", "x": "x" * 500})
            for i in range(4000)])
    state = scratch("live.state")
    arguments = ["copy", "--container", source.name, "--to", target.name,
                 "--state", state, "--json", "--parallel", "2"]
    writer = Writer(source, 7, deletes=True)
    writer.model = {f"w{i}": 1 for i in range(300)}
    writer.start()
    with Gate(server().port, after=2200000) as gate:
        process = start(*arguments, "--account", gate.account)
        assert gate.shut.wait(LIMIT_S)
        eventually(lambda: saved(state).get("copied", 0), lambda n: n > 0)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    split_or_merge(source, "split", range=0)
    process = start_again(state, *arguments, "--follow")
    eventually(lambda: saved(state)["lanes"],
               lambda lanes: all(lane["is_following"] for lane in lanes))
    writer.wait_for(writer.done + 30)
    split_or_merge(source, "split", range=1)
    writer.wait_for(writer.done + 30)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    writer.wait_for(writer.done + 30)
    split_or_merge(source, "merge", **{"range": 3, "with": 4})
    process = start_again(state, *arguments, "--follow")
    writer.wait_for(writer.done + 30)
    writer.stop()
    process.send_signal(signal.SIGINT)
    equal(finish(process).code, 130)
    result = runnel(*arguments, "--verify")
    equal(result.code, 0, result.err + result.out)
    equal(result.json[-1]["differences"], 0)
    equal(result.json[-1]["follows_deletes"], True)
    assert result.json[-1]["deleted"] > 0, result.out
    there = held(target.name)
    equal(there == held(source.name), True)
    equal({i for i in there if i[0] == "w"}, set(writer.model))


@case("copy changes the partition key, and documents move in the target")
def _():
    source, name = container("keyed", **VERSIONS), "d/keyed2"
    state = scratch("keyed.state")
    for i in range(200):
        source.put({"id": f"w{i}", "pk": f"p{i % 11}", "place": f"q{i % 5}"})
    arguments = ["copy", "--container", source.name, "--to", name, "--create",
                 "--to-pk", "/place", "--state", state, "--json"]
    result = runnel(*arguments)
    equal(result.code, 0, result.err)
    writer = Writer(source, 3, deletes=True)
    writer.model = {f"w{i}": 1 for i in range(200)}
    writer.start()
    writer.wait_for(60)
    process = start_again(state, *arguments, "--follow")
    writer.wait_for(150)
    writer.stop()
    process.send_signal(signal.SIGINT)
    equal(finish(process).code, 130)
    result = runnel(*arguments, "--verify")
    equal(result.code, 0, result.err + result.out)
    _, _, definition = server().ask("GET", "/dbs/d/colls/keyed2")
    equal(definition["partitionKey"]["paths"], ["/place"])
    equal(definition["changeFeedPolicy"], VERSIONS["changeFeedPolicy"])
    equal(held(name) == held(source.name), True)


@case("copy refuses a document that would replace another one")
def _():
    source = container("clash")
    target = container("clash2", partitionKey={"paths": ["/place"],
                                               "kind": "Hash", "version": 2})
    source.put({"id": "1", "pk": "a", "place": "x"})
    source.put({"id": "1", "pk": "b", "place": "x"})
    source.put({"id": "1", "pk": "c", "place": "y"})
    result = copy(source, target, code=7)
    equal(result.json[0]["refused"], 1)
    assert 'document "1" with partition key "' in result.err, result.err
    result = copy(source, target, "--verify", code=8)
    equal(len(result.json), 2, result.out)
    equal([result.json[0]["difference"], result.json[0]["id"]],
          ["differs", "1"])


@case("verify names what is missing, differs or is only in the target")
def _():
    source, target = container("true"), container("false")
    for i in range(5):
        source.put({"id": str(i), "pk": "a", "n": 1.0, "o": {"a": 1, "b": 2}})
    state = scratch("true.state")
    copy(source, target, "--state", state)
    target.put({"o": {"b": 2, "a": 1}, "n": 1, "id": "0", "pk": "a"})
    target.put({"id": "1", "pk": "a", "n": 2, "o": {"a": 1, "b": 2}})
    target.put({"id": "extra", "pk": "b"})
    target.delete("2", "a")
    result = copy(source, target, "--state", state, "--verify", code=8)
    equal(sorted((d["difference"], d["id"], d["partitionKey"])
                 for d in result.json[:-1]),
          [("differs", "1", "a"), ("missing in the target", "2", "a"),
           ("only in the target", "extra", "b")])
    equal(result.json[-1]["differences"], 3)
    plain = runnel("copy", "--container", source.name, "--to", target.name,
                   "--state", state, "--verify")
    assert 'differs: id "1", partition key "a"\n' in plain.out, plain.out


@case("copy goes to another account and shows its progress")
def _():
    source = container("near")
    for i in range(30):
        source.put({"id": str(i), "pk": "a"})
    with Server() as other:
        url = f"http://127.0.0.1:{other.port}/"
        with Terminal("copy", "--container", source.name, "--to-key",
                      EMULATOR_KEY, "--to", "e/far", "--to-account", url,
                      "--create", "--verify", columns=120) as t:
            t.wait_for(r"copying documents: 30, \d+/s|30 documents, \d+/s")
            t.wait_for("30 documents copied, 0 deleted, 0 refused, "
                       "0 differences")
            equal(t.end(), 0)
        equal(len(runnel("export", "--container", "e/far", "--account",
                         url).json), 30)
        tls = ["copy", "--container", source.name, "--to-key", EMULATOR_KEY,
               "--to", "e/far", "--to-account", url.replace("http", "https")]
        fails(5, "--ca-file", *tls)
        equal(runnel(*tls, "--insecure").code, 0)
        equal(runnel(*tls, "--ca-file", other.data + "/tls/ca.pem").code, 0)


@case("copy names what is wrong on the command line and around it")
def _():
    box, other = container("bad"), container("bad2")
    words = ["copy", "--container", box.name]
    fails(2, "--to is missing", *words)
    fails(2, "is both the source and the target", *words, "--to", "bad")
    fails(2, "--to-pk needs --create", *words, "--to", "bad2",
          "--to-pk", "/x")
    fails(3, 'container "none" does not exist in database "d"', *words, "--to",
          "none")
    fails(3, 'container "none" does not exist in database "d"', "copy",
          "--container", "d/none", "--to", "bad2")
    fails(5, "connect to 127.0.0.1 port 1", *words, "--to", "d/x",
          "--to-account", "http://127.0.0.1:1/")
    fails(2, "--parallel takes 1 to", *words, "--to", "bad2", "--parallel",
          "65")
    path = write_lines(scratch("no.state"), ["{}"])
    fails(2, "is not a state file", *words, "--to", "bad2", "--state", path)
    state = scratch("bad.state")
    equal(copy(box, other, "--state", state).code, 0)
    fails(2, "is of another run: copy of d/bad ", "copy", "--container",
          other.name, "--to", "bad", "--state", state)
    result = runnel(*words, "--to", "bad2", "--state", "/none/x")
    equal(result.code, 1, result.err)
    equal(result.err.count("state file /none/x"), 1, result.err)
