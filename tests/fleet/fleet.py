"""fleet.py -- processes that share a container, and what they handled.

A fleet has a container, its leases, hosts (processor_program), writers, and
one ledger that all hosts append to.  Nothing of it is left when its `with`
block ends.
"""
import os
import random
import signal
import subprocess
import tempfile
import threading
import time

import ledger
from wire import Box

KEYS = 24
PAGE, EXPIRY_S = 50, 3  # of processor_program
LIMIT_S = 300  # for what must happen in the end


def until(ask, holds):
    """Asks until the answer is as it should be; gives it."""
    deadline = time.monotonic() + LIMIT_S
    answer = ask()
    while not holds(answer):
        assert time.monotonic() < deadline, answer
        time.sleep(0.1)
        answer = ask()
    return answer


class Writer(threading.Thread):
    """Upserts documents of its own until it is stopped: two new ones, then a
    new version of one of the last few."""

    def __init__(self, box, name, seed):
        super().__init__(daemon=True)
        self.box, self.name, self.rng = box, name, random.Random(seed)
        self.written, self.failure = {}, None
        self.enough = threading.Event()

    def run(self):
        count = 0
        try:
            while not self.enough.wait(0.004):
                n = count
                if count % 3 == 2:
                    n = self.rng.randrange(max(0, count - 30), count)
                    n -= n % 3 == 2
                id = f"{self.name}-{n}"
                version = self.written.get(id, -1) + 1
                self.box.put(f"k{n % KEYS}", id, v=version)
                self.written[id] = version
                count += 1
        except Exception as failure:  # a write that fails is for stop()
            self.failure = failure

    def stop(self):
        self.enough.set()
        self.join()
        assert self.failure is None, f"a writer failed: {self.failure!r}"


class Host:
    def __init__(self, fleet, name, kind, environment):
        self.name, self.paused_at = name, None
        self.errors = open(os.path.join(fleet.directory, name), "wb+")
        self.process = subprocess.Popen(
            [fleet.program, kind, fleet.url, name, fleet.path],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=self.errors)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)
        self.paused_at = time.monotonic()

    def resume(self):
        self.process.send_signal(signal.SIGCONT)
        self.paused_at = None

    def stop(self):
        """Asks it to end gracefully."""
        self.process.stdin.close()

    def sanitizer_report(self):
        self.errors.seek(0)
        text = self.errors.read().decode(errors="replace")
        self.errors.close()
        return text if "Sanitizer" in text or "runtime error:" in text else ""


class Fleet:
    def __init__(self, server, program, name, ranges=3, **environment):
        self.program, self.name = program, name
        self.server, self.url = server, f"http://{server.netloc}/"
        self.box = Box(server, name, ranges=ranges)
        self.environment = {**os.environ,
                            "PROGRAM_SOURCE": f"feed/{name}",
                            "PROGRAM_LEASES": f"feed/{name}-leases",
                            **environment}
        self.written, self.writers = {}, []
        self.hosts, self.ended, self.troubles, self.starts = [], [], [], 0

    def __enter__(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.directory = self.temporary.name
        self.path = os.path.join(self.directory, "ledger")
        return self

    def __exit__(self, kind, failure, trace):
        for writer in self.writers:
            writer.enough.set()
        for host in list(self.hosts):
            host.kill()
            self.remove(host)
        for host in self.ended:
            self.trouble(host, host.sanitizer_report())
        self.temporary.cleanup()
        assert failure or not self.troubles, self.troubles

    def trouble(self, host, what):
        if what:
            self.troubles.append(f"{host.name}: {what}")

    # ---- hosts ----

    def add(self, kind="host", **environment):
        self.starts += 1
        self.hosts.append(Host(self, f"h{self.starts}", kind,
                               {**self.environment, **environment}))
        return self.hosts[-1]

    def remove(self, host):
        self.hosts.remove(host)
        self.ended.append(host)

    def kill(self, host):
        host.kill()
        self.remove(host)

    def stop(self, *hosts):
        """Gracefully: they release their leases."""
        for host in hosts:
            host.stop()
        for host in hosts:
            status = host.process.wait(LIMIT_S)
            self.trouble(host, f"ended with {status}" if status else "")
            self.remove(host)
        owners = self.owners()
        for host in hosts:
            self.trouble(host, "stopped and owns a lease"
                         if host.name in owners else "")

    def running(self):
        return [each for each in self.hosts if each.paused_at is None]

    # ---- leases ----

    def documents(self):
        """All of the lease container, by id; the first host creates it."""
        answer = self.server.ask("GET", self.box.path + "-leases/docs", None,
                                 {"x-ms-max-item-count": "1000"})
        if answer.status == 404:
            return {}
        return {each["id"]: each for each in answer.json["Documents"]}

    def leases(self):
        """The owner of each lease, or None, by its token."""
        return {each["LeaseToken"]: each.get("Owner") or None
                for each in self.documents().values() if "LeaseToken" in each}

    def owners(self):
        return set(self.leases().values()) - {None}

    def shared_by(self, hosts, count):
        """Waits until just these hosts own `count` leases; gives them."""
        names = {each.name for each in hosts}
        return until(self.leases, lambda leases: len(leases) == count
                     and set(leases.values()) == names)

    def lag(self):
        got = subprocess.run([self.program, "lag", self.url],
                             env=self.environment, capture_output=True,
                             text=True)
        return got.stdout.split()[:1]

    # ---- changes ----

    def write(self, count, key="k"):
        """Creates documents of one key."""
        for n in range(len(self.written), len(self.written) + count):
            self.box.put(key, f"d{n}", v=0)
            self.written[f"d{n}"] = 0

    def start_writers(self, count, seed=1):
        for n in range(count):
            box = Box(self.server.another(), self.name)
            self.writers.append(Writer(box, f"w{n}", seed * 10 + n))
            self.writers[-1].start()

    def stop_writers(self):
        for writer in self.writers:
            writer.stop()
            self.written.update(writer.written)
        self.writers = []

    def deliveries(self):
        if not os.path.exists(self.path):
            return []
        with open(self.path, encoding="utf-8") as text:
            return list(ledger.parse(text.read()))

    def check(self):
        return ledger.check(self.deliveries(), self.written)

    def finish(self):
        """Until nothing is missing, or never will be delivered; stops the
        hosts; gives what the checker found."""
        until(self.check,
              lambda found: not found.missing or self.lag() == ["0"])
        self.stop(*self.hosts)
        return self.check()
