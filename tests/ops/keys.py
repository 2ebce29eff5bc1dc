"""keys.py -- `runnel keys`, and how a running server takes new ones.

Method: the commands on the data directory of a server that runs.
"""
import base64
import json
import os
import re
import signal
import stat
import subprocess
import tempfile

from lib import (AS_ROOT, EMULATOR_KEY, LIMIT_S, RUNNEL, Server, case, equal,
                 run, run_cases)

NAMES = ["primary", "secondary", "primaryReadOnly", "secondaryReadOnly"]


def keys_of(server):
    status, out, err = run("keys", "show", server.data)
    equal((status, err), (0, ""))
    return dict(line.split() for line in out.splitlines())


def reload(server):
    count = sum("reloaded" in line for line in server.lines)
    server.process.send_signal(signal.SIGHUP)
    while sum("reloaded" in line for line in server.lines) == count:
        server.wait_for_line("reloaded")


def works(server, key):
    """What a key may do: '' nothing, 'r' read, 'rw' write as well."""
    read = server.ask("GET", "/dbs", key=key)[0]
    write = server.post("/dbs", {"id": "k"}, key=key)[0]
    return ("r" if read == 200 else "") + ("w" if write in (201, 409) else "")


def refused(*arguments, words):
    status, out, err = run(*arguments)
    equal((status, out), (2, ""), err)
    equal(err.count("\n"), 1)
    assert err.startswith("runnel: ") and words in err, err


@case("keys show prints the four keys, and one alone")
def _():
    with Server() as server:
        keys = keys_of(server)
        equal(list(keys), NAMES)
        equal({len(base64.b64decode(key)) for key in keys.values()}, {64})
        equal(len(set(keys.values())), 4)
        for name in NAMES:
            equal(run("keys", "show", server.data, name)[1], keys[name] + "\n")
        mode = os.stat(os.path.join(server.data, "keys")).st_mode
        equal(stat.S_IMODE(mode), 0o600)


@case("new keys are logged by their place, and only when they are new")
def _():
    def logged(server):
        return [json.loads(line)["file"] for line in server.lines
                if "new keys of the account" in line]

    with tempfile.TemporaryDirectory() as home:
        data = home + "/data"
        path = data + "/keys"
        with Server(data=data) as server:
            server.wait_for_line("new keys of the account")
            equal(logged(server), [path])
            first = keys_of(server)
            os.unlink(path)
            reload(server)
            equal(logged(server), [path, path])
            second = keys_of(server)
            equal(set(first.values()) & set(second.values()), set())
            reload(server)
            equal(logged(server), [path, path])
            for key in [*first.values(), *second.values()]:
                assert not any(key in line for line in server.lines)
        with Server(data=data) as server:
            server.wait_for_line('"started"')
        equal(logged(server), [])
    with Server("--store", "mem") as server:
        server.wait_for_line('"started"')
    equal(logged(server), [])


@case("two keys read and write and two only read")
def _():
    with Server() as server:
        keys = keys_of(server)
        equal([works(server, keys[name]) for name in NAMES],
              ["rw", "rw", "r", "r"])
        equal(works(server, EMULATOR_KEY), "rw")


def await_reload(server):
    server.wait_for_line("reloaded")


@case("a rotated key counts soon, or from SIGHUP on, and the old one no more")
def _():
    with Server() as server:
        for i, name in enumerate(NAMES):
            before = keys_of(server)
            rights = works(server, before[name])
            server.lines.clear()
            equal(run("keys", "rotate", server.data, name)[0], 0)
            after = keys_of(server)
            equal([n for n in NAMES if before[n] != after[n]], [name])
            (reload, await_reload)[i % 2](server)
            equal(works(server, before[name]), "")
            equal(works(server, after[name]), rights)
            equal([n for n in NAMES if not works(server, after[n])], [])


def found_in_memory(server, secrets):
    """Which of them are in writable memory that a core would have."""
    with open(f"/proc/{server.process.pid}/smaps") as file:
        areas = re.findall(r"^(\w+)-(\w+) rw.*?^VmFlags:(.*?)$", file.read(),
                           re.M | re.S)
    found = set()
    with open(f"/proc/{server.process.pid}/mem", "rb", 0) as memory:
        for start, end, flags in areas:
            start, size = int(start, 16), int(end, 16) - int(start, 16)
            if " dd" in flags or size > 64 << 20:  # a sanitizer's own
                continue
            memory.seek(start)
            try:
                bytes_ = memory.read(size)
            except OSError:
                continue
            found.update(each for each in secrets if each in bytes_)
    return found


@case("keys lie in memory that no core has, and old ones nowhere")
def _():
    with Server() as server:
        old = keys_of(server)
        for name in NAMES:
            works(server, old[name])
            server.lines.clear()
            equal(run("keys", "rotate", server.data, name)[0], 0)
            await_reload(server)
        new = keys_of(server)
        for name in NAMES:
            works(server, new[name])
        texts = [key.encode() for key in [*old.values(), *new.values()]]
        raw = [base64.b64decode(key) for key in old.values()]
        equal(found_in_memory(server, texts + raw), set())
        equal(len(found_in_memory(server, [server.data.encode()])), 1)


@case("rotated keys outlive a restart")
def _():
    with Server() as server:
        run("keys", "rotate", server.data, "primary")
        keys = keys_of(server)
        server.stop()
        server.start()
        equal(works(server, keys["primary"]), "rw")
        equal(keys_of(server), keys)


@case("a keys file may escape what JSON lets it escape")
def _():
    with Server() as server:
        keys = {**keys_of(server), "secondary": "+/" * 42 + "+w=="}
        text = json.dumps(keys).replace("/", "\\/").replace("+", "\\u002B")
        with open(os.path.join(server.data, "keys"), "w") as file:
            file.write(text)
        reload(server)
        equal(keys_of(server), keys)
        equal([works(server, key) for key in keys.values()],
              ["rw", "rw", "r", "r"])


@case("a keys file that will not do leaves the old keys in place")
def _():
    with Server() as server:
        keys = keys_of(server)
        path = os.path.join(server.data, "keys")
        with open(path) as file:
            text = file.read()
        for bad in ["{", "{}", text.replace(keys["primary"], "???")]:
            with open(path, "w") as file:
                file.write(bad)
            server.lines.clear()
            server.process.send_signal(signal.SIGHUP)
            server.wait_for_line("reload failed")
            equal(works(server, keys["primary"]), "rw")


@case("a flipped bit of the keys file is found by its checksum, at a reload, by "
      "verify and at a start; a file without one is taken")
def _():
    with Server() as server:
        path = os.path.join(server.data, "keys")
        with open(path) as file:
            text = file.read()
        at = text.index(keys_of(server)["secondary"]) + 10
        flipped = text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1:]
        with open(path, "w") as file:
            file.write(flipped)
        server.process.send_signal(signal.SIGHUP)
        assert "checksum" in server.wait_for_line("reload failed")
        server.process.kill()
        server.process.wait(LIMIT_S)
        status, out, err = run("verify", server.data)
        equal((status, err), (2, ""))
        assert out.startswith(path + ": checksum mismatch"), out
        status, _, err = run("serve", "--listen", "127.0.0.1:0", "--data",
                             server.data)
        assert status == 2 and "checksum mismatch" in err, err
        keys = json.loads(flipped)
        del keys["sum"]
        with open(path, "w") as file:
            json.dump(keys, file)
        equal(run("verify", server.data)[0], 0)
        server.start()
        equal(works(server, keys["secondary"]), "rw")


@case("what is no key and no directory is refused")
def _():
    with Server() as server:
        refused("keys", "rotate", server.data, "Primary", words="'Primary'")
        refused("keys", "show", server.data, "all", words="'all'")
        refused("keys", "rotate", server.data, words="usage")
        refused("keys", words="usage")
        refused("keys", "drop", server.data, words="usage")
        refused("keys", "show", "--all", server.data, words="--all")
    with tempfile.TemporaryDirectory() as empty:
        refused("keys", "show", empty, words="keys")
        refused("keys", "rotate", empty, "primary", words="keys")
        equal(os.listdir(empty), [])


@case("off loopback a short key is refused at the start")
def _():
    with tempfile.TemporaryDirectory() as data:
        with Server(data=data):
            pass
        with open(os.path.join(data, "keys")) as file:
            keys = json.load(file)
        keys["secondary"] = base64.b64encode(b"x" * 63).decode()
        del keys["sum"]
        with open(os.path.join(data, "keys"), "w") as file:
            json.dump(keys, file)
        with Server(data=data):
            pass
        refused("serve", "--data", data, "--listen", "0.0.0.0:0",
                "--allow-plain-http-on-network", *AS_ROOT, words="secondary")


@case("keys that others can read are refused, by the server and by the command")
def _():
    with Server() as server:
        path = server.data + "/keys"
        old = keys_of(server)
        for mode in (0o604, 0o644, 0o660, 0o601):
            os.chmod(path, mode)
            refused("keys", "show", server.data, words=f"mode {mode:04o}")
            refused("keys", "rotate", server.data, "primary",
                    words=f"mode {mode:04o}")
        server.wait_for_line("reload failed")
        equal(works(server, old["primary"]), "rw")
        server.stop()
        refused("serve", "--data", server.data, "--listen", "127.0.0.1:0",
                words="mode 0601")
        os.chmod(path, 0o640)
        server.lines.clear()
        server.start()
        equal(keys_of(server), old)


@case("rotations at once are all done")
def _():
    with Server() as server:
        server.stop()
        for _ in range(10):
            before = keys_of(server)
            commands = [subprocess.Popen(
                [RUNNEL, "keys", "rotate", server.data, name],
                stdout=subprocess.DEVNULL) for name in NAMES]
            equal([each.wait(LIMIT_S) for each in commands], [0] * 4)
            after = keys_of(server)
            equal([name for name in NAMES if before[name] == after[name]], [])
        server.start()


@case("off loopback the emulators' key in the file is refused, unless allowed")
def _():
    plain = ["--allow-plain-http-on-network", *AS_ROOT]
    with Server() as server:
        server.stop()
        path = server.data + "/keys"
        with open(path) as file:
            keys = json.load(file)
        del keys["sum"]
        with open(path, "w") as file:
            json.dump({**keys, "secondaryReadOnly": EMULATOR_KEY}, file)
        refused("serve", "--data", server.data, "--listen", "0.0.0.0:0",
                *plain, words="secondaryReadOnly is the emulators'")
        server.options = [*plain, "--allow-well-known-key-on-network"]
        server.listen = "0.0.0.0:0"
        server.start()
        equal(server.metrics()[
            'runnel_insecure_config{reason="well_known_key"}'], 1)


@case("a key that was taken back counts no more whatever else cannot be read")
def _():
    with tempfile.TemporaryDirectory() as home:
        token = home + "/token"
        with open(token, "w") as file:
            file.write("x" * 40)
        os.chmod(token, 0o600)
        with Server("--metrics-token-file", token) as server:
            for what in ("certificate", "metrics token"):
                old = keys_of(server)["primary"]
                equal(works(server, old), "rw")
                equal(run("keys", "rotate", server.data, "primary")[0], 0)
                if what == "certificate":
                    os.makedirs(server.data + "/tls", exist_ok=True)
                    with open(server.data + "/tls/cert.pem", "w") as file:
                        file.write("nonsense")
                else:
                    os.chmod(token, 0o644)
                server.lines.clear()
                server.process.send_signal(signal.SIGHUP)
                server.wait_for_line("reloaded in part")
                line = json.loads(server.wait_for_line("reload failed"))
                equal(line["what"], what)
                equal(works(server, old), "")
                equal(works(server, keys_of(server)["primary"]), "rw")
                if what == "certificate":
                    os.remove(server.data + "/tls/cert.pem")


run_cases()
