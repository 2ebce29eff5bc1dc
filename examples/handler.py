"""handler.py -- a handler for `runnel trigger`: a process for each batch.

    runnel trigger --container shop/orders --exec 'python3 handler.py totals'

Each line of standard input is a change.  This one adds a line for each order
to a file per customer.  Exit status 0: done; 75: try again later; 65: never.
"""
import json
import os
import sys

EX_TEMPFAIL, EX_DATAERR = 75, 65

directory = sys.argv[1]
for line in sys.stdin:
    order = json.loads(line)
    if "customer" not in order:
        print(f"order {order['id']} has no customer", file=sys.stderr)
        sys.exit(EX_DATAERR)
    try:
        # A batch may come again: what is appended names its batch.
        with open(os.path.join(directory, order["customer"]), "a") as file:
            print(order["id"], order.get("total", 0), os.environ["RUNNEL_ID"],
                  file=file)
    except OSError as fault:
        print(fault, file=sys.stderr)
        sys.exit(EX_TEMPFAIL)
