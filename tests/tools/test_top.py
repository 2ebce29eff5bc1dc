"""test_top.py -- `runnel top`."""
import json
import signal

from harness import (Server, case, container, equal, fails, finish, runnel,
                     start)
from terminal import Terminal


def work(process, done, do):
    """Works on the server until the process has printed something."""
    for _ in range(100000):
        do()
        if done(process):
            return
    raise AssertionError("nothing is printed")


@case("top prints rates, latencies and containers, as text and as JSON")
def _():
    box = container("topped", ranges=2)
    process = start("top", "--once", "--json", "--interval", "300ms")
    work(process, lambda p: p.poll() is not None,
         lambda: box.put({"id": "1", "pk": "x"}))
    seen = json.loads(finish(process).out)
    assert seen["requestsPerSecond"] > 0, seen
    assert seen["methods"]["POST"]["requestsPerSecond"] > 0, seen
    assert seen["methods"]["POST"]["p99Seconds"] != 0, seen
    equal(seen["methods"]["DELETE"]["requestsPerSecond"], 0)
    mine, = [c for c in seen["containers"] if c["container"] == "topped"]
    equal(mine["ranges"], 2)
    assert mine["writesPerSecond"] > 0 and mine["lsn"] > 0, mine
    assert mine["unitsPerSecond"] > 0, mine
    text = runnel("top", "--once", "--interval", "1ms")
    equal(text.code, 0, text.err)
    assert "METHOD" in text.out and "d/topped" in text.out, text.out
    assert "\033" not in text.out


@case("top shows how far processors are behind")
def _():
    box = container("lagging")
    leases = container("topleases", partitionKey={"paths": ["/id"],
                                                  "kind": "Hash"})
    for i in range(4):
        box.put({"id": str(i), "pk": "x"})
    on = ["top", "--once", "--json", "--interval", "1ms", "--container",
          box.name, "--leases", leases.name]
    seen, = runnel(*on).json
    equal((seen["lag"], seen["lagMs"]), (1, 0))  # no lease yet
    fails(2, "--container and --leases belong together", *on[:-2])


@case("top is live on a terminal, follows its size, and q leaves it as it was")
def _():
    box = container("live")
    with Terminal("top", "--interval", "50ms", columns=100) as t:
        t.wait_for("METHOD +REQUESTS/S")
        work(t, lambda t: t.read(0.01) or "d/live" in t.screen.text,
             lambda: box.put({"id": "1", "pk": "x"}))
        t.resize(10, 60)
        t.wait(lambda s: s.is_alternate and "POST" in s.text, "smaller view")
        t.send("q")
        equal(t.end(), 0)


@case("top ends at Ctrl-C and SIGTERM, and when the server is gone")
def _():
    container("interrupted")
    for end in (lambda t: t.interrupt(), lambda t: t.signal(signal.SIGTERM)):
        with Terminal("top") as t:
            t.wait_for("METHOD")
            end(t)
            equal(t.end(), 130)
    with Server("--store", "mem") as other:
        t = Terminal("top", "--interval", "50ms", "--account",
                     f"http://127.0.0.1:{other.port}/")
        t.wait_for("METHOD")
    with t:
        equal(t.end(), 5)
        assert "runnel top: " in t.raw.rsplit("\033[?1049l")[1], t.raw[-500:]


@case("top says what is wrong with its options")
def _():
    fails(2, "--interval", "top", "--interval", "x")
