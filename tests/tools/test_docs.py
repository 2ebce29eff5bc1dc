"""test_docs.py -- every command of docs/tools.md, executed.

A block that begins with ```sh is run by bash, all in one directory and one
environment; what it exports holds for the blocks behind it.  Each command of a
block ```sh follow runs until it has printed something, and is interrupted.
"""
import os
import re
import select
import signal
import subprocess

from harness import (HERE, LIMIT_S, RUNNEL, case, equal, environment,
                     runnel, scratch, server, tools)

PAGE = os.path.join(HERE, "../../docs/tools.md")


def blocks():
    with open(PAGE, encoding="utf-8") as file:
        found = re.findall(r"^```(sh|sh follow)\n(.*?)^```", file.read(),
                           re.M | re.S)
    assert len(found) > 5, found
    return found


def shell(text, env):
    return subprocess.Popen(["bash", "-euo", "pipefail", "-c", text], env=env,
                            cwd=scratch(""), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True,
                            start_new_session=True)


def run_block(text, env):
    process = shell(text, env)
    out, err = process.communicate(timeout=LIMIT_S)
    # 141: `| head` has read enough.
    assert process.returncode in (0, 141), f"{text}{out}{err}"
    env.update(re.findall(r"^export (\w+)=(\S+)$", text, re.M))


def follow_each(text, env, touch):
    for line in text.splitlines():
        process = shell(f"exec {line}", env)
        reached = []
        while not reached:  # it follows from now on, whenever that is
            touch()
            reached = select.select([process.stdout], [], [], 0.2)[0]
            assert process.poll() is None, process.stderr.read()
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT_S)
        equal((process.returncode, err), (130, ""), line)


@case("every command of docs/tools.md works")
def _():
    server().make("shop", "orders", changeFeedPolicy={
        "retentionDuration": 10, "previousImages": True})
    env = environment(PATH=os.path.dirname(RUNNEL) + ":" + os.environ["PATH"])

    def touch():
        result = runnel("put", "--container", "shop/orders",
                        '{"id":"t","pk":"eu","status":"open"}')
        equal(result.code, 0, result.err)

    for kind, text in blocks():
        if kind == "sh":
            run_block(text, env)
        else:
            follow_each(text, env, touch)


@case("docs/tools.md has every tool and every exit status")
def _():
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    listed = re.findall(r"^ +(\d+)  (.*)$", runnel("get", "--help").out, re.M)
    equal(re.findall(r"^\| (\d+) \| (.*) \|$", page, re.M), listed)
    for name in tools():
        assert f"runnel {name}" in page, name
