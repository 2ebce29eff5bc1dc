"""test_trigger.py -- `runnel trigger`: handlers, policies, life and death.

Method: each case puts documents into a container of its own and runs triggers
with handlers that leave a trace.  Most use --once, which ends when everything
was handled.  The rows R1 to R7 are those of the processor's test matrix.
"""
import atexit
import hashlib
import hmac
import http.client
import http.server
import json
import os
import re
import resource
import shlex
import signal
import ssl
import subprocess
import threading
import time

from harness import (EMULATOR_KEY, HERE, LIMIT_S, RUNNEL, account, case,
                     container, equal, eventually, fails, finish, runnel,
                     scratch, server, start)

EXAMPLES = os.path.join(HERE, "../../examples")
FAST = ["--lease-renew", "500", "--lease-acquire", "400", "--lease-expire",
        "2s", "--retry", "fixed:3:20"]
_numbers = iter(range(10000))
_running = []


@atexit.register
def end_all():
    """What a case that failed has left is not in the way of the next."""
    while _running:
        process = _running.pop()
        if process.poll() is None:
            process.kill()
            process.wait()


class Job:
    """A container with documents, a file for the handler's trace, and the
    arguments of a trigger for them."""

    def __init__(self, documents=10, keys=3, ranges=1, **definition):
        end_all()
        self.number = next(_numbers)
        self.box = container(f"trigger{self.number}", ranges, **definition)
        self.trace = scratch(f"trace{self.number}")
        server().post("/dbs/d/colls", {"id": "leases", "defaultTtl": -1,
                                       "partitionKey": {"paths": ["/id"],
                                                        "kind": "Hash"}})
        self.written = [self.box.put({"id": str(i), "pk": f"k{i % keys}"})
                        for i in range(documents)]

    def arguments(self, *more):
        given = ["trigger", "--container", self.box.name, "--leases",
                 "leases", "--lease-prefix", str(self.number), *FAST]
        return given + ([] if "--start" in more
                        else ["--start", "beginning"]) + list(more)

    def start(self, *more, **options):
        _running.append(start(*self.arguments(*more), **options))
        return _running[-1]

    def once(self, *more, **options):
        return runnel(*self.arguments("--once", *more), **options)

    def exec(self, script, *more, **options):
        """Runs `script`, in which $T is the file of the trace, until all is
        handled."""
        return self.once("--exec", f"T={shlex.quote(self.trace)}; {script}",
                         *more, **options)

    def lines(self):
        if not os.path.exists(self.trace):
            return []
        with open(self.trace) as file:
            return file.read().splitlines()

    def ids(self):
        """The ids in the trace, in which each line is a document."""
        return [json.loads(line)["id"] for line in self.lines()]

    def all_ids(self):
        return sorted(str(i) for i in range(len(self.written)))

    def handled_once(self):
        equal(sorted(self.ids()), self.all_ids())


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_gone(pid):
    eventually(lambda: is_alive(pid), lambda alive: not alive)


# ---- processes ---------------------------------------------------------------

@case("trigger runs a process for each batch, with a line for each change")
def _():
    job = Job(ranges=2)
    result = job.exec('cat >>"$T"; env | grep ^RUNNEL_ >"$T.env"')
    equal((result.code, result.err, result.out), (0, "", ""))
    job.handled_once()
    for line in job.lines():
        assert json.loads(line) in [
            {**each, "_lsn": json.loads(line)["_lsn"]} for each in job.written]
    with open(job.trace + ".env") as file:
        facts = dict(line.split("=", 1) for line in file.read().splitlines())
    equal(facts["RUNNEL_ATTEMPT"], "1")
    assert facts["RUNNEL_LEASE"] in "01" and facts["RUNNEL_RANGE"], facts
    assert 0 < int(facts["RUNNEL_COUNT"]) <= 10, facts
    assert re.match(r'"\d+"', facts["RUNNEL_CONTINUATION"]), facts
    assert re.match(r"[^/]+/[01]/\d+-\d+/[0-9a-f]{16}$", facts["RUNNEL_ID"])
    # R4: nothing is left for another.
    equal(job.exec('echo again >>"$T"').code, 0)
    job.handled_once()


@case("trigger retries status 75, other failures, signals and timeouts (R1)")
def _():
    for fault in "exit 75", "exit 3", "kill -9 $$", "sleep 100":
        job = Job(3)
        result = job.exec(f'if [ $RUNNEL_ATTEMPT -lt 3 ]; then {fault}; fi; '
                          'cat >>"$T"', "--timeout", "300")
        equal(result.code, 0, result.err)
        job.handled_once()
        equal(len(result.err.splitlines()), 2, result.err)
        assert "a batch failed, attempt 2: the handler" in result.err


@case("trigger sends what a handler refuses to the dead letters at once (R1)")
def _():
    job = Job(4)
    dead = job.trace + ".dead"
    result = job.exec('! grep -q \'"id":"2"\' || { echo x >>"$T"; exit 65; }',
                      "--per", "doc", "--dlq", f"file:{dead}")
    equal(result.code, 0, result.err)
    equal(job.lines(), ["x"])
    with open(dead) as file:
        letters = [json.loads(line) for line in file]
    equal([each["change"]["id"] for each in letters], ["2"])
    equal(letters[0]["why"], "the handler refused the changes (status 65)")
    equal(letters[0]["processor"], str(job.number))


@case("trigger kills all processes of a handler that takes too long (R1)")
def _():
    job = Job(1)
    result = job.exec('if [ $RUNNEL_ATTEMPT = 1 ]; then sleep 100 & '
                      'echo $! >"$T"; wait; fi', "--timeout", "300")
    equal(result.code, 0, result.err)
    wait_gone(job.lines()[0])


@case("trigger ends if the handler does not exist, and loses nothing")
def _():
    for more in [], ["--coprocess"]:
        job = Job(3)
        result = job.once("--exec", "exec /no/such/handler", *more,
                          "--dlq", f"file:{job.trace}.dead")
        equal(result.code, 1)
        assert "runnel trigger: the handler cannot be executed" in result.err
        equal(os.path.getsize(job.trace + ".dead"), 0)
        equal(job.exec('cat >>"$T"').code, 0)
        job.handled_once()


@case("trigger keeps keys from its handlers")
def _():
    job = Job(1)
    key = EMULATOR_KEY
    for secret in {"RUNNEL_KEY": key}, {
            "RUNNEL_ACCOUNT":
            f"AccountEndpoint={account()};AccountKey={key};"}:
        equal(job.exec('env >"$T"', "--lease-prefix", list(secret)[0],
                       env={**secret, "OTHER": "1"}).code, 0)
        assert "OTHER=1" in job.lines(), job.lines()
        assert not [line for line in job.lines() if key in line]


@case("trigger needs no handler that reads its input")
def _():
    job = Job(0)
    for i in range(3):
        job.box.put({"id": str(i), "pk": "a", "text": "x" * 300000})
    result = job.exec('echo $RUNNEL_COUNT >>"$T"')
    equal((result.code, result.err), (0, ""))
    equal(sum(map(int, job.lines())), 3)


# ---- what a call gets --------------------------------------------------------

@case("trigger --per doc gives one change to a call")
def _():
    job = Job(12)
    equal(job.exec('echo $RUNNEL_COUNT; cat >>"$T"', "--per", "doc").out,
          "1\n" * 12)
    job.handled_once()


@case("trigger --per partition-key gives changes of one key to a call")
def _():
    job = Job(30, keys=3)
    result = job.exec('cat | tr "\\n" " " >>"$T.$$"; echo >>"$T.$$"; '
                      'flock "$T.lock" cat "$T.$$" >>"$T"',
                      "--per", "partition-key")
    equal(result.code, 0, result.err)
    calls = [[json.loads(each) for each in
              re.findall(r'{"id".*?"_lsn":\d+}', line)]
             for line in job.lines()]
    equal(len(calls), 3, job.lines())
    equal(sorted(len({each["pk"] for each in call}) for call in calls),
          [1, 1, 1])
    equal(sorted(each["id"] for call in calls for each in call), job.all_ids())
    for call in calls:
        assert [int(each["id"]) for each in call] == sorted(
            int(each["id"]) for each in call), call


@case("trigger --batch-max limits a call")
def _():
    job = Job(11)
    counts = job.exec('echo $RUNNEL_COUNT', "--batch-max", "4").out.split()
    equal(sum(map(int, counts)), 11)
    equal(max(map(int, counts)), 4)


@case("trigger --concurrency calls at once, and keeps the order of each key")
def _():
    job = Job(0)
    for version in range(5):
        for key in range(6):
            job.box.put({"id": f"{key}-{version}", "pk": f"k{key}"})
    # A call waits until another one is under way, so one at a time fails.
    meet = ('mkdir "$T.d" 2>/dev/null; : >"$T.d/$$"; i=0; '
            'while [ $(ls "$T.d" | wc -l) -lt 2 ] && [ $i -lt 100 ]; do '
            'sleep 0.05; i=$((i+1)); done; [ $i -lt 100 ] && ')
    result = job.exec(meet + 'flock "$T" sh -c \'cat >>"$0"\' "$T"', "--per",
                      "doc", "--concurrency", "3")
    equal(result.code, 0, result.err)
    equal(len(job.ids()), 30)
    for key in range(6):
        of_key = [each for each in job.ids() if each.startswith(f"{key}-")]
        equal(of_key, [f"{key}-{version}" for version in range(5)])


@case("trigger --all-versions gives every version and deletes")
def _():
    job = Job(0, changeFeedPolicy={"retentionDuration": 10})
    process = job.start("--all-versions", "--start", "now", "--exec",
                        f"cat >>{job.trace}")
    eventually(lambda: leases_of(job), lambda found: found and all(
        each["ContinuationToken"] for each in found))
    job.box.put({"id": "a", "pk": "x", "n": 1})
    job.box.put({"id": "a", "pk": "x", "n": 2})
    job.box.delete("a", "x")
    eventually(job.lines, lambda lines: len(lines) >= 3)
    process.terminate()
    equal(finish(process).code, 0)
    changes = [json.loads(line) for line in job.lines()]
    equal([each["kind"] for each in changes],
          ["created", "replaced", "deleted"])
    equal([each.get("document", {}).get("n") for each in changes], [1, 2, None])
    equal((changes[2]["id"], changes[2]["partitionKey"]), ("a", "x"))


def leases_of(job):
    status, _, body = server().ask("GET", "/dbs/d/colls/leases/docs", headers={
        "x-ms-max-item-count": "1000"})
    return [each for each in body["Documents"] if status == 200
            and each["id"].startswith(f"{job.number}127")
            and "LeaseToken" in each] if status == 200 else []


# ---- co-processes ------------------------------------------------------------

COPROCESS = """
import json, os, sys
for line in sys.stdin:
    call = json.loads(line)
    %s
    with open(sys.argv[1], "a") as file:
        for change in call["changes"]:
            print(json.dumps(change), file=file)
    print(json.dumps({"ok": True, "batch": call["batch"]}), flush=True)
"""


def coprocess(job, body, *more):
    """Runs a co-process with `body` in its loop until all is handled."""
    path = job.trace + ".py"
    with open(path, "w") as file:
        file.write(COPROCESS % body)
    return job.once("--coprocess", "--exec", f"exec python3 -S {path} "
                    f"{job.trace}", *more)


@case("trigger --coprocess gives a line to a process that stays")
def _():
    job = Job(8)
    result = coprocess(job, 'call["changes"][0]["by"] = os.getpid(); '
                       'call["changes"][0]["call"] = {**call, "changes": 0}',
                       "--per", "doc", "--concurrency", "1")
    equal((result.code, result.err), (0, ""))
    job.handled_once()
    seen = [json.loads(line) for line in job.lines()]
    equal(len({each["by"] for each in seen}), 1)
    equal([each["call"]["batch"] for each in seen], list(range(1, 9)))
    equal(seen[0]["call"]["attempt"], 1)
    equal(seen[0]["call"]["lease"], "0")


@case("trigger --coprocess retries only the ids that failed")
def _():
    job = Job(6, keys=6)
    result = coprocess(job, """
    if call["attempt"] == 1:
        good = [each for each in call["changes"] if each["id"] not in "14"]
        with open(sys.argv[1], "a") as file:
            for change in good:
                print(json.dumps(change), file=file)
        print('{"fail":["1","4"],"why":"not yet"}', flush=True)
        continue
""")
    equal(result.code, 0, result.err)
    job.handled_once()
    equal(job.ids()[-2:], ["1", "4"])


@case("trigger --coprocess sends poison ids to the dead letters")
def _():
    job = Job(6, keys=6)
    result = coprocess(job, """
    if len(call["changes"]) == 6:
        print('{"fail":["3"],"retry":false,"why":"bad"}', flush=True)
        continue
""", "--dlq", f"file:{job.trace}.dead")
    equal(result.code, 0, result.err)
    with open(job.trace + ".dead") as file:
        letters = [json.loads(line) for line in file]
    equal([(each["change"]["id"], each["why"]) for each in letters],
          [("3", "bad")])


@case("trigger --coprocess gives up ids that fail each time")
def _():
    job = Job(6, keys=6)
    result = coprocess(job, """
    if any(each["id"] == "3" for each in call["changes"]):
        with open(sys.argv[1], "a") as file:
            for change in call["changes"]:
                print(json.dumps(change), file=file)
        print('{"fail":["3"],"why":"bad"}', flush=True)
        continue
""", "--retry", "fixed:2:10", "--dlq", f"file:{job.trace}.dead")
    equal(result.code, 0, result.err)
    with open(job.trace + ".dead") as file:
        letters = [json.loads(line) for line in file]
    equal([(each["change"]["id"], each["why"]) for each in letters],
          [("3", "bad")])
    equal(sorted(job.ids()), ["0", "1", "2", "3", "3", "3", "4", "5"])


@case("trigger --coprocess survives a handler that crashes, hangs or babbles")
def _():
    for fault, words in (
            ("os._exit(1)", "ended without an acknowledgement"),
            ("os.kill(os.getpid(), 9)", "ended without an acknowledgement"),
            ("import time; time.sleep(100)", "took too long"),
            ("print('hello', flush=True); continue",
             "no acknowledgement of the batch"),
            ("print('{}', flush=True); continue",
             "no acknowledgement of the batch"),
            ("print('{\"ok\":true,\"batch\":99}', flush=True); continue",
             "no acknowledgement of the batch"),
            ("print('{\"ok\":true}\\n{\"ok\":true}', flush=True)",
             "more than one line"),
            ("print('{\"ok\":false,\"why\":\"no\"}', flush=True); continue",
             "attempt 1: no")):
        job = Job(2)
        result = coprocess(job, f'if call["attempt"] == 1: {fault}',
                           "--timeout", "2s")
        equal(result.code, 0, result.err)
        assert words in result.err, result.err
        equal(sorted(set(job.ids())), job.all_ids())


# ---- web services ------------------------------------------------------------

class Hook:
    """A web service whose answers are a list; the last one repeats."""

    def __init__(self, *answers, tls=None):
        hook = self
        self.answers, self.requests = list(answers), []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.requests.append((self.headers, body, time.monotonic()))
                answer = hook.answers.pop(0) if len(hook.answers) > 1 \
                    else hook.answers[0]
                status, headers = answer if isinstance(answer, tuple) \
                    else (answer, {})
                if status == "hang":
                    hook.released.wait(LIMIT_S)
                    return
                self.send_response(status)
                for name, value in {"Content-Length": "0", **headers}.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.released = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls[0], tls[1])
            self.server.socket = context.wrap_socket(self.server.socket,
                                                     server_side=True)
        self.url = (f"http{'s' if tls else ''}://localhost:"
                    f"{self.server.server_port}/hook")
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    def ids(self):
        return [each["id"] for _, body, _ in self.requests
                for each in json.loads(body)]


@case("trigger --http posts an array with an idempotency key and a signature")
def _():
    job = Job(5)
    key = scratch("hook.key")
    with open(key, "w") as file:
        file.write("a secret\n")
    with Hook(200) as hook:
        result = job.once("--http", hook.url, "--signing-key-file", key)
    equal((result.code, result.err), (0, ""))
    equal(sorted(hook.ids()), job.all_ids())
    headers, body, _ = hook.requests[0]
    equal(headers["Content-Type"], "application/json")
    assert re.match(r".+/0/1-5/[0-9a-f]{16}$", headers["Idempotency-Key"])
    equal(headers["Runnel-Attempt"], "1")
    stamp, made = re.match(r"t=(\d+),v1=([0-9a-f]{64})$",
                           headers["Runnel-Signature"]).groups()
    assert abs(int(stamp) - time.time()) < 300
    text = f"{stamp}.{headers['Idempotency-Key']}.".encode() + body
    equal(made, hmac.new(b"a secret", text, hashlib.sha256).hexdigest())


@case("trigger --http waits as a 429 asks, and retries 503 and silence (R2)")
def _():
    job = Job(3)
    with Hook((429, {"Retry-After": "1"}), (503, {"Retry-After": "1"}), 200) \
            as hook:
        result = job.once("--http", hook.url)
    equal((result.code, result.err), (0, ""))  # no failed attempt
    times = [when for _, _, when in hook.requests]
    equal(len(times), 3)
    assert times[1] - times[0] >= 1 and times[2] - times[1] >= 1, times
    equal({headers["Runnel-Attempt"] for headers, _, _ in hook.requests}, {"1"})
    equal(len({headers["Idempotency-Key"]
               for headers, _, _ in hook.requests}), 1)
    for fault in 503, 500, 429, 408, "hang":
        job = Job(2)
        with Hook(fault, 204) as hook:
            result = job.once("--http", hook.url, "--timeout", "500")
        equal(result.code, 0, result.err)
        equal(sorted(hook.ids()), sorted(2 * job.all_ids()))
        assert "a batch failed, attempt 1: the handler" in result.err


@case("trigger --http takes a 400 for poison (R2)")
def _():
    job = Job(2)
    with Hook(400) as hook, Hook(200) as dead:
        result = job.once("--http", hook.url, "--dlq", dead.url)
    equal(result.code, 0, result.err)
    equal(len(hook.requests), 1)
    letters = [json.loads(body) for _, body, _ in dead.requests]
    equal(sorted(each["change"]["id"] for each in letters), job.all_ids())
    equal({each["why"] for each in letters}, {"the handler answered 400"})
    assert dead.requests[0][0]["Idempotency-Key"]


@case("trigger --http ends if it cannot trust the certificate (R2)")
def _():
    data = scratch("tls")
    made = subprocess.run([RUNNEL, "tls", "init", data, "localhost"],
                          capture_output=True, text=True)
    equal(made.returncode, 0, made.stderr)
    job = Job(2)
    with Hook(200, tls=(data + "/tls/cert.pem", data + "/tls/key.pem")) \
            as hook:
        result = job.once("--http", hook.url, "--dlq",
                          f"file:{job.trace}.dead")
        equal(result.code, 1, result.err)
        assert "the handler's certificate is not trusted" in result.err
        equal((hook.requests, os.path.getsize(job.trace + ".dead")), ([], 0))
        result = job.once("--http", hook.url, "--http-ca-file",
                          data + "/tls/ca.pem")
        equal((result.code, result.err), (0, ""))
        equal(sorted(hook.ids()), job.all_ids())


@case("trigger --http waits for a service that refuses connections")
def _():
    job = Job(3)
    with Hook(200) as hook:
        port = hook.server.server_port
    process = job.start("--http", f"http://127.0.0.1:{port}/", "--retry",
                        "forever", "--once")
    assert "the handler does not answer" in process.stderr.readline()

    class Late(http.server.BaseHTTPRequestHandler):
        seen = []

        def do_POST(self):
            self.seen.append(self.rfile.read(
                int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    late = http.server.ThreadingHTTPServer(("127.0.0.1", port), Late)
    threading.Thread(target=late.serve_forever, daemon=True).start()
    equal(finish(process).code, 0)
    late.shutdown()
    late.server_close()
    equal(sorted(each["id"] for body in Late.seen
                 for each in json.loads(body)), job.all_ids())


# ---- policies ----------------------------------------------------------------

@case("trigger stores dead letters in a container")
def _():
    job = Job(5)
    dead = container(f"dead{job.number}",
                     partitionKey={"paths": ["/id"], "kind": "Hash"})
    result = job.exec('! grep -q \'"id":"3"\'', "--dlq",
                      f"container:{dead.name}")
    equal(result.code, 0, result.err)
    _, _, body = server().ask("GET", dead.path + "/docs")
    equal([each["change"]["id"] for each in body["Documents"]], ["3"])
    equal(body["Documents"][0]["why"], "the handler exited with status 1")


@case("trigger gives dead letters to a command, again until it takes them")
def _():
    job = Job(2)
    result = job.exec("exit 65", "--dlq", "exec:if [ ! -e "
                      f"{job.trace}.x ]; then touch {job.trace}.x; exit 1; fi; "
                      f"cat >>{job.trace}")
    equal(result.code, 0, result.err)
    equal(sorted(json.loads(line)["change"]["id"] for line in job.lines()),
          job.all_ids())
    assert "a dead letter cannot be stored: the handler exited with status 1" \
        in result.err


@case("trigger keeps dead letters apart from a line that a full disk has cut")
def _():
    job = Job(3)
    path = f"{job.trace}.dead"

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, -1))

    process = job.start("--once", "--exec", "exit 65", "--dlq", f"file:{path}",
                        preexec_fn=limit)
    for line in process.stderr:
        if "a dead letter cannot be stored" in line:
            break
    equal(os.path.getsize(path), 100)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (-1, -1))
    equal(finish(process).code, 0)
    with open(path, encoding="utf-8") as file:
        cut, *letters = file.read().splitlines()
    equal(len(cut), 100)
    equal(sorted(json.loads(letter)["change"]["id"] for letter in letters),
          job.all_ids())


@case("trigger blocks by default, and --on-exhausted skip drops the change")
def _():
    job = Job(6, keys=1)
    bad = 'if grep -q \'"id":"3"\'; then exit 1; fi; echo $RUNNEL_COUNT >>"$T"'
    result = job.exec(bad, "--retry", "fixed:0:10")
    equal(result.code, 1, result.err)  # --once cannot come to its end
    assert "change 4 holds up its lease" in result.err
    result = job.exec(bad, "--retry", "fixed:0:10", "--on-exhausted", "skip")
    equal(result.code, 0, result.err)
    assert "change 4 is skipped: the handler exited with status 1" in result.err
    result = job.exec('cat >>"$T.none"')
    equal((result.code, os.path.exists(job.trace + ".none")), (0, False))


@case("trigger --retry counts retries and grows the pause")
def _():
    for policy, least in ("fixed:2:200", 0.35), ("exp:3:100:150", 0.33):
        job = Job(1)
        began = time.monotonic()
        result = job.exec('echo $RUNNEL_ATTEMPT >>"$T"; exit 1', "--retry",
                          policy, "--on-exhausted", "skip")
        equal(result.code, 0, result.err)
        equal(len(job.lines()), 1 + int(policy.split(":")[1]))
        assert time.monotonic() - began > least


@case("trigger --max-lag-exit ends with status 10 (R4)")
def _():
    job = Job(4)
    result = job.exec('cat >>"$T"', "--max-lag-exit", "5")
    equal(result.code, 0, result.err)
    for i in range(4, 24):
        job.box.put({"id": str(i), "pk": "k"})
    result = runnel(*job.arguments("--max-lag-exit", "5", "--exec", "sleep 100",
                                   "--drain-timeout", "100"))
    equal(result.code, 10, result.err)
    assert "runnel trigger: the lag is 20 changes" in result.err, result.err


# ---- metrics and health ------------------------------------------------------

class Served:
    """A running trigger with endpoints."""

    def __init__(self, job, *more):
        self.process = job.start("--metrics", ":0", "--health", "[::1]:0",
                                 *more)
        self.urls = [re.search(r"serving http://(.+)/$",
                               self.process.stderr.readline()).group(1)
                     for _ in range(2)]

    def get(self, path, which=0):
        host, port = self.urls[which].rsplit(":", 1)
        connection = http.client.HTTPConnection(host.strip("[]"), int(port),
                                                timeout=LIMIT_S)
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        return answer.status, body

    def metric(self, name):
        _, text = self.get("/metrics")
        found = re.search(rf"^runnel_trigger_{re.escape(name)} (\S+)$", text,
                          re.M)
        return float(found.group(1)) if found else None

    def end(self):
        self.process.terminate()
        return finish(self.process)


@case("trigger serves metrics and health")
def _():
    job = Job(7)
    served = Served(job, "--exec", f"cat >>{job.trace}; sleep 0.01; "
                    "[ $RUNNEL_ATTEMPT = 2 ]", "--instance", "only")
    eventually(lambda: served.metric("changes_total"), lambda n: n == 7)
    equal(served.metric('calls_total{result="done"}'), 1)
    equal(served.metric('calls_total{result="retry"}'), 1)
    assert served.metric("call_seconds_sum") >= 0.02
    equal(served.metric("leases_owned"), 1)
    eventually(lambda: served.metric("lag_changes"), lambda n: n is not None)
    for which in 0, 1:
        status, body = served.get("/ready", which)
        equal((status, json.loads(body)["state"]), (200, "running"))
        equal(served.get("/live", which)[0], 200)
    equal(served.get("/other")[0], 404)
    equal(leases_of(job)[0]["Owner"], "only")
    equal(served.end().code, 0)
    equal([each["Owner"] for each in leases_of(job)], [None])


@case("trigger reports the lag and keeps its lease while the handler is slow "
      "(R3)")
def _():
    job, gate = Job(6, keys=1), scratch("slow")
    served = Served(job, "--batch-max", "1", "--instance", "only", "--exec",
                    f"T={job.trace}; cat >>$T; "
                    f"until [ -e {gate}$(wc -l <$T) ]; do sleep 0.01; done")
    for i in 1, 2:
        open(f"{gate}{i}", "w").close()
    eventually(job.lines, lambda lines: len(lines) == 3)
    job.box.put({"id": "6", "pk": "k0"})
    # What the handler is working on counts as well.
    eventually(lambda: served.metric("lag_changes"), lambda n: n == 5)
    assert served.metric("lag_seconds") > 0
    equal([each["Owner"] for each in leases_of(job)], ["only"])
    for i in 3, 4, 5, 6, 7:
        open(f"{gate}{i}", "w").close()
    eventually(lambda: served.metric("lag_changes"), lambda n: n == 0)
    equal(served.metric("lag_seconds"), 0)
    equal(served.end().code, 0)
    equal(job.ids(), [str(i) for i in range(7)])


@case("trigger is not ready while it drains")
def _():
    job = Job(1)
    served = Served(job, "--exec", f"touch {job.trace}; while [ -e {job.trace} "
                    "]; do sleep 0.02; done")
    eventually(lambda: os.path.exists(job.trace), bool)
    served.process.terminate()
    eventually(lambda: served.get("/ready")[0], lambda status: status == 503)
    equal(json.loads(served.get("/ready")[1])["state"], "draining")
    os.remove(job.trace)
    equal(finish(served.process).code, 0)


@case("trigger --checkpoint and --poll change how often it asks and stores")
def _():
    counts = []
    for more in [], ["--checkpoint", "changes=1000"], \
            ["--checkpoint", "time=1h"]:
        job = Job(12)
        served = Served(job, "--exec", ":", "--batch-max", "1", *more)
        eventually(lambda: served.metric("changes_total"), lambda n: n == 12)
        eventually(lambda: served.metric("batches_open"), lambda n: n == 0)
        counts.append(served.metric("checkpoints_total"))
        equal(served.end().code, 0)
        equal(job.exec('cat >>"$T"').code, 0)  # the drain has stored it
        equal(job.lines(), [])
    assert counts[0] > 1 >= max(counts[1:]), counts
    served = Served(Job(1), "--exec", ":", "--poll", "20")
    eventually(lambda: served.metric("feed_reads_total"), lambda n: n > 30)
    equal(served.end().code, 0)


# ---- life and death ----------------------------------------------------------

def hanging(job):
    """A handler that leaves its pid and goes on when the trace is removed."""
    return (f"cat >{job.trace}.body; echo $$ >{job.trace}.new; "
            f"mv {job.trace}.new {job.trace}; "
            f"while [ -e {job.trace} ]; do sleep 0.02; done")


def wait_for_handler(job):
    return int(eventually(job.lines, bool)[0])


@case("trigger drains at SIGTERM: the batch under way is done and stored (R5)")
def _():
    job = Job(4)
    process = job.start("--exec", hanging(job))
    wait_for_handler(job)
    process.terminate()
    os.remove(job.trace)
    result = finish(process)
    equal((result.code, result.err), (0, ""))
    equal([each["Owner"] for each in leases_of(job)], [None])
    equal(job.exec('cat >>"$T"').code, 0)
    equal(job.lines(), [])


@case("trigger gives calls up at the end of --drain-timeout (R5)")
def _():
    job = Job(4)
    process = job.start("--exec", hanging(job), "--drain-timeout", "300")
    pid = wait_for_handler(job)
    process.terminate()
    result = finish(process)
    equal(result.code, 1, result.err)
    assert "their changes will be delivered again" in result.err, result.err
    wait_gone(pid)
    os.remove(job.trace)
    equal([each["Owner"] for each in leases_of(job)], [None])
    equal(job.exec('cat >>"$T"').code, 0)
    job.handled_once()


@case("trigger ends at once at a second signal; the batch comes again (R5)")
def _():
    job = Job(4)
    process = job.start("--exec", hanging(job), "--instance", "one")
    pid = wait_for_handler(job)
    process.terminate()
    while process.poll() is None:  # until the first was taken
        process.terminate()
        time.sleep(0.05)
    equal(finish(process).code, 130)
    wait_gone(pid)
    os.remove(job.trace)
    equal(job.exec('cat >>"$T"', "--instance", "one").code, 0)
    job.handled_once()


@case("trigger that is killed takes its handlers with it")
def _():
    for more in [], ["--coprocess"]:
        job = Job(2)
        process = job.start("--exec", f"sleep 1000 & echo $! >{job.trace}.s; "
                            + hanging(job), *more)
        if more:
            eventually(lambda: os.path.exists(job.trace + ".s"), bool)
        else:
            wait_gone_after_kill(wait_for_handler(job), process)
        process.kill()
        process.wait()
        with open(job.trace + ".s") as file:
            wait_gone(file.read().strip())
        process.communicate()


def wait_gone_after_kill(pid, process):
    process.kill()
    process.wait()
    wait_gone(pid)


@case("trigger of the same --instance takes its leases back after a crash")
def _():
    job = Job(3)
    slow = ["--lease-expire", "600s", "--instance", "phoenix"]
    process = job.start("--exec", hanging(job), *slow)
    wait_for_handler(job)
    process.kill()
    process.communicate()
    equal(job.exec('cat >>"$T.again"', *slow).code, 0)
    with open(job.trace + ".again") as file:
        equal(len(file.readlines()), 3)


@case("trigger --create-leases makes the lease container")
def _():
    job = Job(2)
    made = ["--leases", f"d/leases{job.number}"]
    fails(3, f'--leases: container "d/leases{job.number}" does not exist.*; '
          "--create-leases makes it$", *job.arguments("--exec", ":", *made))
    equal(job.exec('cat >>"$T"', "--create-leases", *made).code, 0)
    job.handled_once()


@case("triggers of different --lease-prefix get every change each")
def _():
    job = Job(5)
    for name in "a", "b":
        equal(job.exec('cat >>"$T"', "--lease-prefix", f"{job.number}{name}")
              .code, 0)
    equal(sorted(job.ids()), sorted(2 * job.all_ids()))


def resident_mb(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


@case("trigger keeps its descriptors and processes constant (R6)")
def _():
    """A process for each change.  RUNNEL_PROVE: 10,000, and memory too, which
    a sanitizer does not give back."""
    proves = bool(os.environ.get("RUNNEL_PROVE"))
    rounds = 100 if proves else 1
    job = Job(60, keys=60)
    process = job.start("--exec", f"echo >>{job.trace}", "--per", "doc")
    for i in range(rounds + 1):
        eventually(job.lines, lambda lines: len(lines) >= 60 * (2 * i + 1))
        if i == 0:
            before = len(os.listdir(f"/proc/{process.pid}/fd"))
        if i == rounds // 10:
            memory = resident_mb(process.pid)
        for n in range(60 if i == rounds else 120):
            job.box.put({"id": str(n % 60), "pk": f"k{n % 60}"})
            if n == 59:
                done = 60 * (2 * i + 2)
                eventually(job.lines, lambda lines: len(lines) >= done)
    after = eventually(lambda: len(os.listdir(f"/proc/{process.pid}/fd")),
                       lambda n: n <= before + 2)
    assert after <= before + 2, (before, after)
    if proves:
        now = resident_mb(process.pid)
        assert now <= memory + 2, (memory, now)
    process.terminate()
    equal(finish(process).code, 0)


# ---- a fleet -----------------------------------------------------------------

@case("three triggers under kills lose nothing and keep the order of keys (R7)")
def _():
    """Every version is in the ledger of a handler that succeeded, and new ones
    of a key come in order.  RUNNEL_PROVE: for longer."""
    seconds = 120 if os.environ.get("RUNNEL_PROVE") else 6
    until_kill = time.monotonic() + 1.5
    job = Job(0, ranges=3)
    ledger = job.trace
    # Some calls fail; what is in the ledger was handled with success.
    handler = (f'[ $(($$ % 7)) != 0 ] && exec flock {ledger}.lock sh -c '
               f'"cat >>{ledger}"')
    names = iter(range(10000))
    fleet = []

    def hire():
        name = f"t{next(names)}"
        fleet.append(job.start("--exec", handler, "--instance", name, "--per",
                               "partition-key", "--retry", "forever",
                               stderr=subprocess.DEVNULL))

    for _ in range(3):
        hire()
    end, version, written = time.monotonic() + seconds, 0, {}
    kills = 0
    while time.monotonic() < end:
        version += 1
        for key in range(8):
            identity = f"{key}-{version % 5}"
            job.box.put({"id": identity, "pk": f"k{key}", "version": version})
            written[identity] = version
        if time.monotonic() > until_kill:
            until_kill = time.monotonic() + 1.5
            victim = fleet.pop(0)
            victim.send_signal(signal.SIGKILL if kills % 3 < 2
                               else signal.SIGTERM)
            victim.communicate()
            kills += 1
            hire()

    def newest():
        seen = {}
        for line in job.lines():
            try:
                document = json.loads(line)
            except ValueError:
                continue  # a killed handler may leave half a line
            seen[document["id"]] = max(seen.get(document["id"], 0),
                                       document["version"])
        return seen

    eventually(newest, lambda seen: seen == written)
    for process in fleet:
        process.terminate()
    for process in fleet:
        equal(finish(process).code, 0)
    assert kills >= 2, kills
    check_order(job)


def check_order(job):
    """A version that was not seen before is newer than all of its key."""
    seen, last = set(), {}
    for line in job.lines():
        try:
            document = json.loads(line)
        except ValueError:
            continue
        which = (document["id"], document["version"])
        if which in seen:
            continue
        seen.add(which)
        assert document["_lsn"] >= last.get(document["pk"], 0), document
        last[document["pk"]] = document["_lsn"]


# ---- examples ----------------------------------------------------------------

@case("the handlers of examples do what they say")
def _():
    job = Job(0)
    for i in range(6):
        job.box.put({"id": str(i), "pk": "a", "customer": f"c{i % 2}",
                     "total": 10 * i, "later": i == 4})
    job.box.put({"id": "6", "pk": "a"})
    totals = scratch("totals")
    os.mkdir(totals)
    result = job.once("--exec", f"python3 {EXAMPLES}/handler.py {totals}",
                      "--dlq", f"file:{job.trace}.dead", "--per", "doc")
    equal(result.code, 0, result.err)
    with open(totals + "/c1") as file:
        equal([line.split()[:2] for line in file],
              [["1", "10"], ["3", "30"], ["5", "50"]])
    with open(job.trace + ".dead") as file:
        equal([json.loads(line)["change"]["id"] for line in file], ["6"])
    result = job.once("--exec", f"node {EXAMPLES}/coprocess.js {job.trace}",
                      "--coprocess", "--lease-prefix", f"{job.number}js")
    equal(result.code, 0, result.err)
    # Behind the one that failed, others of its key come again.
    equal(sorted(set(job.ids())), [str(i) for i in range(7)])
    key = scratch("example.key")
    with open(key, "w") as file:
        file.write("s3cret")
    hook = subprocess.Popen(["python3", f"{EXAMPLES}/webhook.py", "0", key],
                            stdout=subprocess.PIPE, text=True)
    port = hook.stdout.readline().split()[-1]
    url = ["--http", f"http://127.0.0.1:{port}/", "--lease-prefix",
           f"{job.number}hook"]
    result = job.once(*url)  # not signed
    equal(result.code, 1, result.err)
    assert "the handler answered 401" in result.err, result.err
    result = job.once(*url, "--signing-key-file", key)
    hook.terminate()
    out, _ = hook.communicate()
    equal(result.code, 0, result.err)
    equal(sorted(out.split()), [str(i) for i in range(7)])


# ---- what a user may get wrong -----------------------------------------------

@case("trigger refuses wrong options with one line")
def _():
    job = Job(0)
    exec = ["--exec", ":"]
    for words, *more in (
            ("give a handler: --exec or --http",),
            ("give --exec or --http, not both", *exec, "--http", "http://x/"),
            ("--exec is empty", "--exec", ""),
            ("--http is a URL, not 'ftp://x/'", "--http", "ftp://x/"),
            ("--http is a URL, not 'x y'", "--http", "x y"),
            ("--coprocess needs --exec", "--http", "http://x/", "--coprocess"),
            ("--http-ca-file needs --http", *exec, "--http-ca-file", "/x"),
            ("--signing-key-file needs --http", *exec, "--signing-key-file",
             "/x"),
            ("--signing-key-file /no: No such file", "--http", "http://x/",
             "--signing-key-file", "/no"),
            ("--signing-key-file /dev/null holds no key", "--http",
             "http://x/", "--signing-key-file", "/dev/null"),
            ("--concurrency is from 1 to 1024", *exec, "--concurrency", "0"),
            ("--concurrency is from 1 to 1024", *exec, "--concurrency", "2000"),
            ("--timeout must not be 0", *exec, "--timeout", "0"),
            ("--per is one of batch.doc.partition-key, not 'x'", *exec, "--per",
             "x"),
            ("--retry is fixed:N:DELAY.* not 'often'", *exec, "--retry",
             "often"),
            ("--retry is", *exec, "--retry", "fixed:3"),
            ("--retry is", *exec, "--retry", "exp:3:10s:1s"),
            ("--retry is", *exec, "--retry", "fixed:3:10:20"),
            ("--retry is", *exec, "--retry", "forever:1"),
            ("--start is now, beginning or a time.* not 'later'", *exec,
             "--start", "later"),
            ("--start is", *exec, "--start", "2026-02-30T00:00:00Z"),
            ("--start is", *exec, "--start", "2026-02-28T-1:30:00Z"),
            ("--checkpoint is batch.* not 'never'", *exec, "--checkpoint",
             "never"),
            ("--once stores its position", *exec, "--once", "--checkpoint",
             "time=1s"),
            ("--on-exhausted dlq and --dlq need each other", *exec,
             "--on-exhausted", "dlq"),
            ("--on-exhausted dlq and --dlq need each other", *exec,
             "--on-exhausted", "skip", "--dlq", "file:/x"),
            ("--dlq is container:DB/NAME.* not 'x'", *exec, "--dlq", "x"),
            ("--dlq /no/such: No such file", *exec, "--dlq", "file:/no/such"),
            ("must be below lease_expire_ms", *exec,
             "--lease-renew", "5s"),
            ("--metrics is .HOST.:PORT, not 'x'", *exec, "--metrics", "x"),
            ("there is no option '--exce'; did you mean '--exec'", "--exce")):
        fails(2, words, *job.arguments(*more))


@case("trigger names the container that does not exist, and other faults")
def _():
    job = Job(0)
    base = ["trigger", "--exec", ":"]
    fails(3, '--container: container "none" does not exist', *base,
          "--container", "d/none")
    fails(3, '--leases: container "no-leases" does not exist', *base,
          "--container", job.box.name, "--leases", "no-leases")
    fails(3, '--dlq: container "d/no-dead" does not exist', *job.arguments(
        "--exec", ":", "--dlq", "container:d/no-dead"))
    fails(4, "signature|key|author", *base, "--container", job.box.name,
          "--key", "d3Jvbmcga2V5")
    fails(5, "", *base, "--container", job.box.name, "--account",
          "http://127.0.0.1:1/")
    port = server().port
    result = runnel(*job.arguments("--exec", ":", "--metrics", f":{port}"))
    equal(result.code, 1)
    assert f"--metrics :{port}: Address already in use" in result.err
    assert account().endswith(f":{port}/")


@case("trigger --start takes a time, and begins now by default")
def _():
    job = Job(3)
    later = stamp(3600)
    for i, begin in enumerate((["--start", "now"], ["--start", later], [])):
        result = runnel(
            "trigger", "--container", job.box.name, "--lease-prefix",
            f"{job.number}-{i}", *FAST, *begin, "--once", "--exec",
            f"cat >>{job.trace}")
        equal((result.code, result.err), (0, ""))
    equal(job.lines(), [])
    result = job.exec('cat >>"$T"', "--start", stamp(-600))
    equal(result.code, 0, result.err)
    job.handled_once()


def stamp(seconds):
    """That many seconds from now, with a fraction."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.5Z",
                         time.gmtime(time.time() + seconds))


@case("trigger --json prints its events as lines of JSON")
def _():
    job = Job(2)
    result = job.exec("[ $RUNNEL_ATTEMPT = 2 ]", "--json")
    equal((result.code, result.err), (0, ""))
    kinds = [each["event"] for each in result.json]
    assert [kind for kind in kinds if kind in ("acquired", "retried",
                                               "released")] == \
        ["acquired", "retried", "released"], kinds
