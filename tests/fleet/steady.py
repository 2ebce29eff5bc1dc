"""steady.py -- what fleets do when hosts start, stop and die one at a time.

Leases expire late, except where a host dies: on a busy machine no host loses
one because its renewal was slow, so nothing is delivered twice.
"""
import collections

from fleet import PAGE, Fleet, until
from wire import case, equal

LATE = "60000"


def add(server, program):
    @case("twenty hosts that start at once make one set of leases")
    def _():
        with Fleet(server, program, "herd", ranges=8,
                   PROGRAM_EXPIRE_MS=LATE) as fleet:
            for _ in range(20):
                fleet.add()
            leases = until(fleet.leases, lambda leases: len(leases) >= 8
                           and None not in leases.values())
            equal(sorted(leases), sorted(
                each["id"] for each in fleet.box.ranges()))
            # One each: nobody has two while others have none.
            until(fleet.owners, lambda owners: len(owners) == 8)
            fleet.write(40)
            found = fleet.finish()
            equal(found.violations, [])
            equal(found.duplicates, 0)
            # A marker, no lock.
            equal(collections.Counter(
                id.rsplit(".", 1)[-1] for id in fleet.documents()
                if ".." not in id), {"info": 1})

    @case("a second host takes half of a hundred leases")
    def _():
        with Fleet(server, program, "halves", ranges=2,
                   PROGRAM_EXPIRE_MS=LATE, PROGRAM_PER_RANGE="50") as fleet:
            first = fleet.add()
            fleet.shared_by([first], 100)
            second = fleet.add()
            until(lambda: collections.Counter(fleet.leases().values()),
                  lambda owned: owned == {first.name: 50, second.name: 50})
            fleet.write(40)
            found = fleet.finish()
            equal(found.violations, [])
            equal(found.duplicates, 0)

    @case("leases have owners again after each step of a rolling restart")
    def _():
        with Fleet(server, program, "rolling", ranges=8,
                   PROGRAM_EXPIRE_MS=LATE) as fleet:
            old = [fleet.add() for _ in range(3)]
            fleet.shared_by(old, 8)
            fleet.start_writers(1)
            for host in old:
                fleet.stop(host)
                fleet.add()
                fleet.shared_by(fleet.hosts, 8)
            fleet.stop_writers()
            found = fleet.finish()
            equal(found.violations, [])
            equal(found.duplicates, 0)

    @case("leases are kept in a container without a partition key, too")
    def _():
        # As the articles of 2017 made them: by an old version of the API.
        with Fleet(server, program, "keyless", ranges=2,
                   PROGRAM_EXPIRE_MS=LATE) as fleet:
            made = server.ask("POST", "/dbs/feed/colls",
                              {"id": "keyless-leases"},
                              {"x-ms-version": "2017-02-22"})
            equal(made.status, 201)
            first = fleet.add()
            fleet.shared_by([first], 2)
            fleet.start_writers(1)
            fleet.box.split(0)
            second = fleet.add()
            fleet.shared_by([first, second], 3)
            fleet.stop(first)
            fleet.shared_by([second], 3)
            fleet.stop_writers()
            found = fleet.finish()
            equal(found.violations, [])

    @case("a split under load gives two leases and repeats at most a page")
    def _():
        with Fleet(server, program, "split", ranges=1,
                   PROGRAM_EXPIRE_MS=LATE) as fleet:
            host = fleet.add()
            fleet.start_writers(2)
            until(fleet.deliveries, lambda lines: len(lines) > 100)
            children = fleet.box.split(0)
            until(fleet.leases, lambda leases: leases == {
                str(each): host.name for each in children})
            fleet.stop_writers()
            found = fleet.finish()
            equal(found.violations, [])
            assert found.duplicates <= PAGE, found.duplicates

    @case("the batch of a killed host is handled once more, by another")
    def _():
        with Fleet(server, program, "killed", ranges=1) as fleet:
            # It writes the batch and does not return.
            doomed = fleet.add(PROGRAM_RETURN_MS="600000")
            fleet.shared_by([doomed], 1)
            fleet.write(1)
            before = until(fleet.deliveries, bool)
            others = [fleet.add(), fleet.add()]
            fleet.write(10)
            fleet.kill(doomed)
            until(fleet.leases, lambda leases: set(leases.values())
                  & {each.name for each in others})
            found = fleet.finish()
            equal(found.violations, [])
            assert len(before) <= found.duplicates <= PAGE, found
