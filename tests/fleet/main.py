"""main.py -- fleets of real processes against a real server.

    python3 main.py ENDPOINT PROGRAM steady|chaos

PROGRAM is processor_program.  With RUNNEL_PROVE chaos is longer; RUNNEL_SEED
chooses another.
"""
import importlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../feed"))
from wire import Server, run_all  # noqa: E402

endpoint, program, part = sys.argv[1:]
importlib.import_module(part).add(Server(endpoint), program)
sys.exit(1 if run_all() else 0)
