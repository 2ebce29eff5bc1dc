"""chaos.py -- fleets that are killed, paused and resized.

All random choices come from one seed: which hosts die, are paused or stop, in
which order, and which ranges split and merge.  The machine decides the rest.
"""
import os
import random
import time

import fleet
import ledger
from wire import case, equal

SEED = int(os.environ.get("RUNNEL_SEED", 1))
SHORT = dict(seconds=90, kills=20, pauses=6, splits_and_merges=16)
LONG = dict(seconds=600, kills=100, pauses=40, splits_and_merges=120)
RUN = LONG if os.environ.get("RUNNEL_PROVE") else SHORT
HOSTS_MIN, HOSTS_MAX = 3, 8
RANGES_MIN, RANGES_MAX = 2, 8


class Chaos(fleet.Fleet):
    def __init__(self, server, program, name, kind, handle_ms):
        super().__init__(server, program, name,
                         PROGRAM_HANDLE_MS=str(handle_ms),
                         PROGRAM_RETURN_MS=str(handle_ms))
        self.kind, self.rng = kind, random.Random(SEED)
        self.counts = dict.fromkeys(
            ("kills", "kills of owners", "pauses", "stops", "splits",
             "merges"), 0)

    def pick(self, owners=()):
        """A host that runs, one of the owners if one of them does."""
        running = self.running()
        working = [each for each in running if each.name in owners]
        return self.rng.choice(working or running)

    def running_owners(self):
        return self.owners() & {each.name for each in self.running()}

    def resize(self):
        """Paused hosts do not count: others must take their leases."""
        size = self.rng.randint(HOSTS_MIN, HOSTS_MAX)
        if len(self.running()) > size:
            self.stop(self.pick())
            self.counts["stops"] += 1
        while len(self.running()) < size:
            self.add(self.kind)

    # ---- events ----

    def kill_one(self):
        """Mostly a host that has work, once there is one."""
        if self.rng.random() < 0.8:
            owners = fleet.until(self.running_owners, bool)
            host = self.pick(owners)
        else:
            owners = self.owners()
            host = self.pick()
        self.kill(host)
        self.counts["kills"] += 1
        self.counts["kills of owners"] += host.name in owners
        self.resize()

    def pause_one(self):
        self.pick(self.owners()).pause()
        self.counts["pauses"] += 1
        while len(self.running()) < HOSTS_MIN:
            self.add(self.kind)

    def split_or_merge(self):
        ranges = self.box.ranges()
        is_split = self.rng.random() < 0.5
        if len(ranges) <= RANGES_MIN or is_split and len(ranges) < RANGES_MAX:
            self.box.split(self.rng.choice(ranges)["id"])
            self.counts["splits"] += 1
        else:
            ranges.sort(key=lambda each: each["minInclusive"])
            at = self.rng.randrange(len(ranges) - 1)
            self.box.merge(ranges[at]["id"], ranges[at + 1]["id"])
            self.counts["merges"] += 1

    # ---- a run ----

    def resume_dispossessed(self):
        """A pause ends when the expiry is over and others have the leases.
        Gives whether any host is still paused."""
        owners = self.owners()
        for host in self.hosts:
            if host.paused_at is not None and host.name not in owners and (
                    time.monotonic() > host.paused_at + fleet.EXPIRY_S):
                host.resume()
        return len(self.running()) < len(self.hosts)

    def run(self, seconds, kills, pauses, splits_and_merges):
        """All events, spread over the time; gives what the checker found."""
        events = ([self.kill_one] * kills + [self.pause_one] * pauses
                  + [self.split_or_merge] * splits_and_merges)
        self.rng.shuffle(events)
        self.resize()
        self.start_writers(2, SEED)
        due = time.monotonic()
        for event in events:
            due += seconds / len(events)
            while time.monotonic() < due:
                self.resume_dispossessed()
                time.sleep(0.1)
            event()
        self.stop_writers()
        fleet.until(self.resume_dispossessed, lambda any_paused: not any_paused)
        equal((self.counts["kills"], self.counts["pauses"]), (kills, pauses))
        equal(self.counts["splits"] + self.counts["merges"],
              splits_and_merges)
        return self.finish()


def run(server, program, name, what, kind="host", handle_ms=10):
    print(f"# {name}: seed {SEED}", flush=True)
    with Chaos(server, program, name, kind, handle_ms) as made:
        found = made.run(**what)
    print("# " + ", ".join(f"{n} {word}" for word, n in made.counts.items()))
    print(f"# {found}", flush=True)
    return found


def add(server, program):
    @case("the checker finds what is skipped, late or repeated")
    def _():
        lines = [f"k{n % 2} d{n} 0 {n + 1} a 0 1" for n in range(10)]
        other = [each.replace(" a 0 1", " b 0 2") for each in lines]

        def judged(lines):
            found = ledger.check(ledger.parse("\n".join(lines)),
                                 {f"d{n}": 0 for n in range(10)})
            return (len(found.missing), len(found.late), len(found.repeated),
                    found.duplicates)

        equal(judged(lines), (0, 0, 0, 0))
        equal(judged(lines[:4] + lines[5:]), (1, 0, 0, 0))
        equal(judged(lines[:6] + other[4:]), (0, 0, 0, 2))
        equal(judged(lines[:2] + other[4:] + lines[2:4]), (0, 2, 0, 0))
        equal(judged(lines + lines[9:]), (0, 0, 1, 1))

    @case("a fleet that is killed, paused and resized skips no change")
    def _():
        found = run(server, program, "chaos", RUN)
        assert not found.violations, found.violations[:20]
        # A session repeats what its predecessor had not checkpointed.
        assert found.duplicates <= fleet.PAGE * len(found.sessions)

    @case("the checker finds a host that checkpoints before it handles")
    def _():
        # On a slow machine the kills of one run may all miss the moment.
        assert any(run(server, program, f"early{n}",
                       dict(seconds=6, kills=6, pauses=0, splits_and_merges=2),
                       kind="early", handle_ms=200).missing
                   for n in range(5))
