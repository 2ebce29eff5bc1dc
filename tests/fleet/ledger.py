"""ledger.py -- what a fleet delivered, compared with what was written.

A ledger has a line for each delivery, in the order in which handlers wrote
them: "KEY ID VERSION LSN HOST LEASE EPOCH".  All hosts append to one file, a
batch in one write, so a line is before another only if its handler finished
first.

A delivery is new if neither this version of its document nor a later one was
delivered before.  Every other delivery is a duplicate: it repeats what a host
had handled and not yet checkpointed when its lease went to another host.  The
checker wants

  completeness   the last acknowledged version of each document
  order          new deliveries of a key in the order of their LSNs
  sessions       within one acquisition of a lease, each key's LSNs rising:
                 a host repeats nothing by itself
"""
import collections

Delivery = collections.namedtuple(
    "Delivery", "key id version lsn host lease epoch")


def parse(text):
    for line in text.splitlines():
        key, id, version, lsn, host, lease, epoch = line.split()
        yield Delivery(key, id, int(version), int(lsn), host, lease, epoch)


class Findings:
    def __init__(self):
        self.deliveries = self.new = self.duplicates = 0
        self.missing, self.late, self.repeated = [], [], []
        self.sessions = set()

    @property
    def violations(self):
        return self.missing + self.late + self.repeated

    def __str__(self):
        return (f"{self.new} changes, {self.deliveries} deliveries in "
                f"{len(self.sessions)} sessions, {self.duplicates} duplicates, "
                f"{len(self.missing)} missing, {len(self.late)} late, "
                f"{len(self.repeated)} repeated")


def check(deliveries, written):
    """`written`: the last acknowledged version of each document."""
    found = Findings()
    versions = {}  # the newest that was delivered, by document
    newest = collections.defaultdict(int)  # LSN, by key
    session_newest = collections.defaultdict(int)  # by session and key
    for each in deliveries:
        found.deliveries += 1
        session = each.host, each.lease, each.epoch
        found.sessions.add(session)
        if each.lsn <= session_newest[session, each.key]:
            found.repeated.append(f"twice in one session: {each}")
        session_newest[session, each.key] = each.lsn
        if each.version <= versions.get(each.id, -1):
            found.duplicates += 1
            continue
        versions[each.id] = each.version
        found.new += 1
        if each.lsn < newest[each.key]:
            found.late.append(f"after LSN {newest[each.key]}: {each}")
        newest[each.key] = max(newest[each.key], each.lsn)
    for id, version in written.items():
        if versions.get(id, -1) < version:
            found.missing.append(f"never delivered: {id} version {version}")
    return found
