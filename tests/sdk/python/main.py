"""main.py -- everyday work with the published client, and what must outlive a
kill.

    python main.py ENDPOINT everyday|write|reopened|stranger

Method: each case uses names of its own, so that none depends on another.
"write" leaves documents behind, "reopened" expects them after the server was
killed and started again on the same data.  "stranger" does not trust the
server's authority.
"""
import sys

from azure.cosmos import CosmosClient

import harness
from control import Control

# The key that all emulators share; public.
KEY = ("C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMs"
       "EcaGQy67XIw/Jw==")


def main():
    endpoint, phase = sys.argv[1:]

    def connect(key=KEY):
        return CosmosClient(endpoint, key, retry_total=0)

    if phase == "stranger":
        import stranger
        stranger.add(connect)
        return 1 if harness.run_all() else 0
    client = connect()
    control = Control(endpoint, KEY)
    if phase == "everyday":
        import batch
        import documents
        import faults
        import feed
        import keys
        import objects
        import offers
        import others
        import purge
        import queries
        import ttl
        import unique
        import users
        import versions
        objects.add(client, connect)
        documents.add(client)
        keys.add(client)
        unique.add(client)
        offers.add(client)
        users.add(client, connect)
        feed.add(client)
        purge.add(client)
        queries.add(client)
        batch.add(client)
        versions.add(client)
        ttl.add(client, control)
        others.add(client)
        faults.add(client, control, endpoint, KEY)
    else:
        import durable
        durable.add(client, phase)
    return 1 if harness.run_all() else 0


sys.exit(main())
