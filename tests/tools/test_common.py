"""test_common.py -- what all commands share: options, keys, help, failures."""
import os
import pty
import re
import select
import shutil
import socket
import subprocess

from cases import Skipped
from harness import (EMULATOR_KEY, RUNNEL, TOOLS, account, case, container,
                     equal, eventually, fails, finish, runnel, scratch, server,
                     start, tools)


@case("runnel runs a tool with its arguments and exit status")
def _():
    for arguments in (["completion", "bash"], ["get", "--conatiner"]):
        direct = runnel(*arguments)
        done = subprocess.run([RUNNEL, *arguments], capture_output=True,
                              text=True, timeout=30)
        equal((done.returncode, done.stdout, done.stderr),
              (direct.code, direct.out, direct.err))


@case("help lists every tool and explains it")
def _():
    overview = runnel("help").out
    for name in tools():
        assert re.search(rf"^  {name} +[A-Z]", overview, re.M), name
        page = runnel("help", name)
        equal(page.code, 0, page.err)
        equal(page.out, runnel(name, "--help").out)
        assert page.out.startswith(f"Usage: runnel {name} [OPTIONS]"), page.out
        assert "  130  interrupted" in page.out
        assert max(map(len, page.lines)) <= 80, page.out


@case("runnel-tools --help lists every tool")
def _():
    page = subprocess.run([TOOLS, "--help"], capture_output=True, text=True,
                          timeout=30)
    equal(page.returncode, 0, page.stderr)
    for name in tools():
        assert re.search(rf"^  {name} +[A-Z]", page.stdout, re.M), name
    assert max(map(len, page.stdout.splitlines())) <= 80, page.stdout


@case("a misspelt tool or option is corrected")
def _():
    result = runnel("gett")
    equal(result.code, 2)
    assert "did you mean 'get'?" in result.err, result.err
    fails(2, "no option '--conatiner'; did you mean '--container'", "get",
          "--conatiner", "x", "1")
    fails(2, "no option '-x'", "get", "-x", "1")


@case("wrong values of options are refused with what is expected")
def _():
    fails(2, "--color is one of auto.always.never, not 'pink'", "get",
          "--color", "pink", "1")
    fails(2, "--container needs a value", "get", "1", "--container")
    fails(2, "--json takes no value", "get", "--json=1", "1")
    fails(2, r"usage: runnel get \[OPTIONS\] ID", "get")
    fails(2, "--container is missing", "get", "1")
    fails(2, "which database", "get", "--container", "x", "1")
    fails(2, "the account http://192.0.2.1/ needs a key: give --key-file FILE",
          "get", "--account", "http://192.0.2.1/", "--container", "d/c", "1")
    fails(2, "http://192.0.2.1/ needs a key: give --to-key-file FILE", "copy",
          "--to-account", "http://192.0.2.1/", "--container", "d/c", "--to",
          "d/e")


@case("every man page is well formed and has every option")
def _():
    for name in tools():
        page = subprocess.run([TOOLS, "--man", name], capture_output=True,
                              text=True, check=True).stdout
        options = re.findall(r"^  --([a-z-]+)", runnel(name, "--help").out,
                             re.M)
        for option in options:
            wanted = "\\fB\\-\\-" + option.replace("-", "\\-") + "\\fR"
            assert wanted in page, (name, option)
        for line in page.splitlines():
            assert not line.startswith((".", "'")) or re.match(
                r"\.(TH|SH|TP|PP|nf|fi)\b", line), line


@case("completion knows every command and option")
def _():
    listed = re.findall(r"^  ([a-z]+) ", runnel("help").out, re.M)
    for shell in ("bash", "zsh", "fish"):
        script = runnel("completion", shell).out
        for name in listed:
            assert re.search(rf"\b{name}\b", script), (shell, name)
        assert "container" in script and "always" in script
    fails(2, "'csh' is not one of bash.zsh.fish", "completion", "csh")


def completed(*words):
    """What bash offers for the last of the words."""
    quoted = " ".join(f"'{word}'" for word in words)
    done = subprocess.run(
        ["bash", "-c", f"source <('{RUNNEL}' completion bash);"
         f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _runnel;"
         "printf '%s\\n' \"${COMPREPLY[@]}\""],
        capture_output=True, text=True, check=True)
    equal(done.stderr, "")
    return done.stdout.split()


@case("bash completes commands, options and their values")
def _():
    equal(completed("runnel", "ge"), ["get"])
    equal(completed("runnel", "serv"), ["serve"])
    equal(completed("runnel", "get", "--conta"), ["--container"])
    equal(completed("runnel", "get", "--color", "a"), ["auto", "always"])
    equal(completed("runnel", "completion", "z"), ["zsh"])
    with open(scratch("some.key"), "w", encoding="ascii") as file:
        file.write("x")
    equal(completed("runnel", "get", "--key-file", scratch("some")),
          [scratch("some.key")])


def shell_of(name):
    """The shell, without the user's own settings; they complete nothing."""
    if not shutil.which(name):
        raise Skipped(f"no {name}")
    script = scratch(f"completion.{name}")
    with open(script, "w", encoding="utf-8") as file:
        file.write(runnel("completion", name).out)
    with open(scratch("some.key"), "w", encoding="ascii") as file:
        file.write("x")
    return script


@case("fish completes commands, options and their values")
def _():
    script = shell_of("fish")

    def offered(line):
        done = subprocess.run(
            ["fish", "--no-config", "-c", f"source {script}; "
             f"complete -C '{line}'"], capture_output=True, text=True,
            env={**os.environ, "HOME": os.path.dirname(script)}, check=True)
        equal(done.stderr, "")
        return [each.split("\t")[0] for each in done.stdout.splitlines()]

    for line, expected in (
            ("runnel ge", ["get"]), ("runnel serv", ["serve"]),
            ("runnel get --conta", ["--container"]),
            ("runnel get --color a", ["always", "auto"]),
            ("runnel get --color=a", ["--color=always", "--color=auto"]),
            ("runnel leases s", ["seek", "show"]),
            ("runnel completion z", ["zsh"]),
            (f"runnel get --key-file {scratch('some')}", [scratch("some.key")]),
            (f"runnel import {scratch('some')}", [scratch("some.key")])):
        equal(sorted(offered(line)), expected, line)


@case("zsh completes commands, options and their values")
def _():
    script = shell_of("zsh")
    for line, expected in (
            ("runnel gi", "runnel gi"), ("runnel spl", "runnel split "),
            ("runnel serv", "runnel serve "),
            ("runnel get --conta", "runnel get --container="),
            ("runnel get --color al", "runnel get --color always "),
            ("runnel get --color=al", "runnel get --color=always "),
            ("runnel leases se", "runnel leases seek "),
            ("runnel completion z", "runnel completion zsh "),
            (f"runnel get --key-file {scratch('some')}",
             f"runnel get --key-file {scratch('some.key')} "),
            (f"runnel import {scratch('some')}",
             f"runnel import {scratch('some.key')} ")):
        equal(line_after_tab(script, line), expected, line)


def line_after_tab(script, line):
    """What zsh's line editor has after TAB: Ctrl-X saves it."""
    path = scratch("buffer")
    open(path, "w").close()
    setup = ("autoload -Uz compinit; compinit -u -D; "
             f"source {script}; save() {{ print -rn -- \"$BUFFER<\" >{path} }};"
             "zle -N save; bindkey '^X' save; PS1='rea'; PS1+='dy> '\n")
    master, slave = pty.openpty()
    zsh = subprocess.Popen(["zsh", "-f", "-i"], stdin=slave, stdout=slave,
                           stderr=slave, start_new_session=True,
                           env={**os.environ, "TERM": "dumb",
                                "HOME": os.path.dirname(script)})
    os.close(slave)
    seen = ""

    def read():
        nonlocal seen
        if select.select([master], [], [], 0.05)[0]:
            seen += os.read(master, 65536).decode(errors="replace")
        with open(path) as file:
            return file.read()

    try:
        os.write(master, setup.encode())
        eventually(lambda: read() or seen, lambda text: "ready> " in text)
        os.write(master, f"{line}\t\x18".encode())
        return eventually(read, lambda text: text.endswith("<"))[:-1]
    finally:
        zsh.kill()
        zsh.wait()
        os.close(master)


@case("the key is taken from a file, the environment, stdin, --data or --key")
def _():
    box = container("keys")
    box.put({"id": "1", "pk": "a"})
    key = runnel("keys", "show", "--data", server().data,
                 "primary").out.strip()
    get = ["get", "--container", box.name, "--pk", "a", "1"]
    with open(scratch("key"), "w", encoding="ascii") as file:
        file.write(key + "\n")
    for more in ([["--key-file", scratch("key")], {}],
                 [["--key-file", "-"], {"input": key}],
                 [["--data", server().data], {}],
                 [["--key", key], {}],
                 [["--key", key, "--color", "never"], {}],
                 [[], {"env": {"RUNNEL_KEY": key}}],
                 [["--account",
                   f"AccountEndpoint={account()};AccountKey={key};"], {}]):
        result = runnel(*get, *more[0], **more[1])
        equal(result.code, 0, result.err)
        equal(result.json[0]["id"], "1")


@case("a wrong key, a key file without a key and no data directory are "
      "reported")
def _():
    box = container("wrong")
    get = ["get", "--container", box.name, "--pk", "a", "1"]
    wrong = "A" * 86 + "=="
    fails(4, "runnel get: ", *get, "--key", wrong)
    fails(2, "key file .*: No such file", *get, "--key-file", scratch("none"))
    open(scratch("empty"), "w", encoding="ascii").close()
    fails(2, "holds no key", *get, "--key-file", scratch("empty"))
    fails(2, "No such file", *get, "--data", scratch("nowhere"))
    fails(2, "give --key-file or --data", *get, "--data", "x", "--key-file",
          "y")


@case("a key on the command line is not in the process list")
def _():
    listener = socket.socket()  # accepts, and never answers
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    where = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    text = f"AccountEndpoint={where};AccountKey={EMULATOR_KEY};"
    for options in (["--account", where, "--key", EMULATOR_KEY],
                    ["--account", where, f"--key={EMULATOR_KEY}"],
                    ["--account", text]):
        process = start("get", "--container", "d/c", "--pk", "a", "1",
                        *options)
        try:
            connection = listener.accept()[0]  # so it has parsed its options
            with open(f"/proc/{process.pid}/cmdline", "rb") as file:
                shown = file.read()
            assert b"get" in shown and b"--container" in shown, shown
            assert EMULATOR_KEY[:20].encode() not in shown, shown
            connection.close()
        finally:
            process.kill()
            process.communicate()
    listener.close()


@case("a server that is not there is reported in one line")
def _():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    fails(5, str(port), "get", "--account", f"http://127.0.0.1:{port}/",
          "--container", "d/c", "--pk", "a", "1")
    fails(2, "runnel get: ", "get", "--account", "nonsense", "--container",
          "d/c", "--pk", "a", "1")


@case("SIGINT ends a command that waits, with 130 and no words")
def _():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    process = start("get", "--account",
                    f"http://127.0.0.1:{listener.getsockname()[1]}/",
                    "--container", "d/c", "--pk", "a", "1")
    connection = listener.accept()[0]
    process.send_signal(2)
    out, err = process.communicate(timeout=30)
    equal((process.returncode, out, err), (130, "", ""))
    connection.close()
    listener.close()


@case("a broken pipe ends a command quietly")
def _():
    box = container("pipe")
    box.put({"id": "1", "pk": "a"})
    reader, writer = os.pipe()
    os.close(reader)
    process = start("get", "--container", box.name, "--pk", "a", "1",
                    stdout=writer)
    os.close(writer)
    _, err = process.communicate(timeout=30)
    equal((process.returncode, err), (141, ""))


@case("a full disk behind standard output is reported")
def _():
    box = container("full")
    box.put({"id": "1", "pk": "a"})
    with open("/dev/full", "w", encoding="ascii") as full:
        process = start("get", "--container", box.name, "--pk", "a", "1",
                        stdout=full)
    _, err = process.communicate(timeout=30)
    equal(process.returncode, 1)
    equal(err, "runnel get: standard output: No space left on device\n")


@case("the account may be named by the environment alone")
def _():
    box = container("env")
    box.put({"id": "1", "pk": "a"})
    result = eventually(
        lambda: runnel("get", "--pk", "a", "1",
                       env={"RUNNEL_DB": "d", "RUNNEL_CONTAINER": "env"}),
        lambda r: r.code == 0)
    equal(result.json[0]["pk"], "a")


# A use of each command on a container, without the options that name it.
USES = (["get", "--pk", "a", "1"], ["put", '{"id":"1","pk":"a"}'],
        ["rm", "--pk", "a", "1"], ["patch", "--pk", "a", "1", "[]"],
        ["query", "SELECT * FROM c"], ["explain", "SELECT * FROM c"],
        ["ranges"], ["split", "0"], ["merge", "0", "1"], ["tail", "--once"])


@case("every command reports a wrong key, a missing container, a lost server")
def _():
    box = container("every")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        lost = f"http://127.0.0.1:{free.getsockname()[1]}/"
    for more, code, words in (
            (["--container", box.name, "--key", "A" * 86 + "=="], 4,
             "the server does not accept the key"),
            (["--container", "d/none"], 3,
             'container "none" does not exist in database "d"'),
            (["--container", box.name, "--account", lost], 5, "127.0.0.1")):
        started = [start(*use, *more) for use in USES]  # all at once
        for use, result in zip(USES, map(finish, started)):
            equal((result.code, result.out), (code, ""), (use, result.err))
            equal(len(result.err.splitlines()), 1, result.err)
            assert result.err.startswith(f"runnel {use[0]}: "), result.err
            assert words in result.err, result.err


@case("a certificate is checked by default")
def _():
    box = container("tls")
    box.put({"id": "1", "pk": "a"})
    get = ["get", "--db", "d", "--container", "tls", "--pk", "a", "1",
           "--account", f"https://localhost:{server().port}/"]
    fails(5, "certificate problem.*; trust the server's authority with "
             "--ca-file FILE: .* tls/ca.pem of its data directory", *get)
    equal(runnel(*get, "--insecure").code, 0)
    fails(2, "the CA file /nowhere.pem: No such file", *get, "--ca-file", "/nowhere.pem")
    fails(1, "certificate file: .*test_common.py", *get, "--ca-file", __file__)
    equal(runnel(*get, "--ca-file",
                 os.path.join(server().data, "tls/ca.pem")).code, 0)
