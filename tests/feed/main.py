"""main.py -- the change feed over the wire, and what must outlive a kill.

    python main.py ENDPOINT everyday|write|reopened

Method: raw signed requests, so that headers are what the case says.  Each case
has a container of its own.  "write" keeps tokens in a document, "reopened"
reads on from them after the server was killed.
"""
import sys

import wire


def main():
    endpoint, phase = sys.argv[1:]
    server = wire.Server(endpoint)
    if phase == "everyday":
        import bad
        import claims
        import latest
        import odd
        import ranges
        import reach
        import scopes
        import splits
        import versions
        import waits
        latest.add(server)
        scopes.add(server)
        bad.add(server)
        claims.add(server)
        odd.add(server)
        ranges.add(server)
        reach.add(server)
        splits.add(server)
        waits.add(server)
        versions.add(server)
    else:
        import durable
        durable.add(server, phase)
    return 1 if wire.run_all() else 0


sys.exit(main())
