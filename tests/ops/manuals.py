"""manuals.py -- the commands and requests of docs/operations.md, docs/feed.md
and docs/hacking.md, executed.

What a page shows is run as it stands there; only directories and the port are
the test's own.  docs/tools.md has its test in tests/tools, README.md in
tests/docs.
"""
import glob
import json
import os
import re
import shlex
import subprocess
import tempfile

from lib import LIMIT_S, RUNNEL, Server, case, equal, run_cases

PROGRAMS = os.path.dirname(RUNNEL)


def read_page(name):
    return read(f"docs/{name}")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def blocks(page):
    return re.findall(r"^```\n(.*?)^```", page, re.M | re.S)


def commands(page):
    """The lines behind a prompt, without their comments."""
    return [re.sub(r" +#.*", "", line) for text in blocks(page)
            for line in re.findall(r"^\$ (.*)", text, re.M)]


class Shell:
    """Runs commands of a page; names of directories become the test's."""

    def __init__(self, home, **names):
        self.home = home
        self.names = {old.replace("_", "/"): os.path.join(home, new)
                      for old, new in names.items()}

    def own(self, text):
        for old in sorted(self.names, key=len, reverse=True):
            text = re.sub(re.escape(old) + r"(?![\w/-])", self.names[old], text)
        return text

    def run(self, text):
        done = subprocess.run(
            ["bash", "-euc", self.own(text)], cwd=self.home, text=True,
            capture_output=True, timeout=LIMIT_S, check=False,
            env={**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"})
        equal(done.returncode, 0, f"{text}: {done.stderr}")
        return done.stdout


@case("every command of docs/operations.md works")
def _():
    page = read_page("operations.md")
    left = commands(page)

    def take(begin):
        found = [line for line in left if line.startswith(begin)]
        assert found, begin
        left.remove(found[0])
        return found[0]

    with tempfile.TemporaryDirectory() as home:
        shell = Shell(home, **{
            "_var_lib_runnel": "data", "_var_lib_runnel-new": "new",
            "_backup_monday": "monday", "_tmp_trust": "trust"})
        equal(take("runnel serve"), "runnel serve --data /var/lib/runnel")
        with Server(data=os.path.join(home, "data")) as server:
            container = server.make()
            equal(server.put(container, {"id": "1", "pk": "x"})[0], 201)
            keys = shell.run(take("runnel keys show"))
            shell.run(take("runnel keys rotate"))
            now = shell.run("runnel keys show --data /var/lib/runnel")
            changed = [line.split()[0] for line in now.splitlines()
                       if line not in keys]
            equal(len(changed), 1, now)
            assert "secondary" in changed[0], changed
            shell.run(take("runnel tls init"))
            shell.run(take("runnel tls export"))
            shell.run("runnel tls export /var/lib/runnel trust && "
                      "export SSL_CERT_FILE=$PWD/trust/ca.pem")
            assert "`runnel tls export DIR trust && export " \
                "SSL_CERT_FILE=$PWD/trust/ca.pem`" in page
            printed = shell.run(take("runnel backup"))
            shown = re.search(r"^/backup/monday: .*\n", page, re.M)[0]
            equal(re.sub(r"\d+", "N", printed),
                  re.sub(r"\d+", "N", shell.own(shown)))
            server.stop()
            server.start()
            equal(server.ask("GET", "/", cafile=f"{home}/trust/ca.pem")[0], 200)
        shell.run(take("runnel restore"))
        equal(take("runnel serve"), "runnel serve --data /var/lib/runnel-new")
        with Server(data=os.path.join(home, "new")) as server:
            equal(server.get(container, "1", "x")[0], 200)
        checked = []
        for name in re.findall(r"^`runnel (\w+) DIR`", page, re.M):
            checked.append(name)
            printed = shell.run(f"runnel {name} /var/lib/runnel-new")
            equal(printed.count('"key"') > 0, name == "dump", printed[:500])
        equal(checked, ["verify", "dump", "compact"])
    # The first is in house.install_rules; the second needs systemd.
    equal(left, ["make install PREFIX=/usr/local",
                 "systemctl enable --now runnel"])


def lines_of(text):
    """Method, path and headers of a request as a page shows it."""
    first, *headers = text.strip().splitlines()
    method, path = first.split()
    return method, path, dict(line.split(": ", 1) for line in headers)


@case("every request of docs/feed.md is answered as it says there")
def _():
    page = read_page("feed.md")
    shown = blocks(page)
    policy = json.loads("{" + next(
        text for text in shown if "changeFeedPolicy" in text) + "}")
    with Server("--test-mode") as server:
        container = server.make("shop", "orders", **policy)
        equal(server.post("/_runnel/lsn", {
            "container": container[1:], "range": 0, "lsn": 41})[0], 200)
        server.put(container, {"id": "1", "pk": "x"})
        method, path, headers = lines_of(shown[0])
        status, sent, body = server.ask(method, path, headers=headers)
        equal((status, sent["etag"]), (200, '"42"'), body)
        equal([document["id"] for document in body["Documents"]], ["1"])
        wait = next(text for text in shown if text.startswith("Prefer: wait"))
        name, seconds = wait.strip().split(": ")
        status, sent, _ = server.ask(method, path,
                                     headers={**headers, name: seconds})
        equal((status, sent["preference-applied"]), (200, seconds))
        headers["If-None-Match"] = sent["etag"]
        equal(server.ask(method, path, headers=headers)[0], 304)

        status, _, body = server.ask(method, path, headers={
            "A-IM": "Full-Fidelity Feed", "If-None-Match": '"41"'})
        equal(status, 200, body)
        envelope = next(text for text in shown if "operationType" in text)
        members = json.loads(envelope.replace("{...}", "{}").replace(
            ", ...", ""))
        change = body["Documents"][0]
        assert set(members) <= set(change), change
        assert set(members["metadata"]) <= set(change["metadata"]), change

        posts = [text for text in shown if text.startswith("POST ")][0]
        for line in posts.strip().splitlines():
            method, path, text = line.split(None, 2)
            status, _, body = server.ask(method, path, text)
            equal(status, 200, f"{line} {body}")
        ranges = server.ask("GET", container + "/pkranges")[2]
        equal(ranges["_count"], 1)


@case("the seeds of docs/hacking.md run as it shows")
def _():
    shown = next(text for text in blocks(read_page("hacking.md"))
                 if "--seed 4711" in text)
    for line in shown.strip().splitlines():
        assert "build/dev" in line, line
        line = line.replace("build/dev", PROGRAMS)
        line = re.sub(r"SEEDS=\d+", "SEEDS=1", line)
        done = subprocess.run(["bash", "-euc", line], capture_output=True,
                              text=True, timeout=LIMIT_S, check=False)
        equal(done.returncode, 0, done.stdout[-500:])
        assert "1 seeds, 0 failures" in done.stdout, done.stdout[-500:]


def exists(command):
    """Make's dry run, or whether ctest or a suite has such a test or case."""
    words = shlex.split(command)
    if words[0] == "make":
        return run_quietly(["make", "-n", *words[1:]])
    if words[0] == "ctest":
        words[words.index("build/dev")] = PROGRAMS
        return "Test #" in run_quietly([*words, "-N"])
    if words[0] == "cmake":
        presets = run_quietly(["cmake", "--list-presets"])
        return f'"{words[words.index("--preset") + 1]}"' in presets
    if words[0] == "tools/lint.sh":
        return words[1].startswith("--") or os.path.exists(words[1])
    equal(words[0], "tools/test.sh")
    name, pattern = words[1], "".join(words[2:])
    if os.path.exists(f"tests/suites/{name}.sh"):
        sources = glob.glob(f"tests/{name}/**/*.py", recursive=True)
        return not pattern or any(
            re.search(rf'^@case\(.*{re.escape(pattern)}', read(path), re.M)
            for path in sources)
    shown = run_quietly(["ctest", "--test-dir", PROGRAMS, "-N", "-V", "-R",
                         name])
    program = re.search(r"Test command: (\S+)", shown)[1]
    done = subprocess.run([program.strip('"')], text=True, check=True,
                          capture_output=True, timeout=LIMIT_S,
                          env={**os.environ, "CMOCKA_MESSAGE_OUTPUT": "TAP",
                               "RUNNEL_TEST_CASE": pattern or "*"})
    return re.search("^ok ", done.stdout, re.M) is not None


def run_quietly(words):
    return subprocess.run(words, text=True, check=True, capture_output=True,
                          timeout=LIMIT_S).stdout


@case("the commands of docs/hacking.md name what exists")
def _():
    page = read_page("hacking.md")
    rows = re.findall(r"^\| [^|]* \| (`.*) \|$", page, re.M)
    named = [command for row in rows for command in re.findall("`([^`]+)`", row)
             if " " in command]
    assert len(named) > 12, named
    for command in named:
        assert exists(command.split(" && ")[0]), command


@case("the server that docs/hacking.md shows in a debugger starts")
def _():
    shown = next(text for text in blocks(read_page("hacking.md"))
                 if text.startswith("gdb --args"))
    words = shlex.split(shown)[2:]
    equal(words[:2], ["build/dev/runnel", "serve"])
    words[0] = RUNNEL
    with tempfile.TemporaryDirectory() as home:
        words[words.index("/tmp/d")] = os.path.join(home, "d")
        words += ["--listen", "127.0.0.1:0"]
        server = subprocess.Popen(words, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
        try:
            line = next(line for line in server.stdout if "listening" in line)
            assert "http://127.0.0.1:" in line, line
        finally:
            server.terminate()
            server.communicate(timeout=LIMIT_S)


run_cases()
