"""main.py -- runs every test_*.py of this directory.

Each file has its own server, started by the first case that asks for it and
stopped, with its log checked, behind the last one.  RUNNEL_TEST_FILE=items runs
test_items.py alone.
"""
import glob
import importlib
import os
import sys

import harness


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    only = os.environ.get("RUNNEL_TEST_FILE", "*")
    failed = 0
    for path in sorted(glob.glob(os.path.join(here, f"test_{only}.py"))):
        importlib.import_module(os.path.basename(path)[:-3])
        failed += harness.run_file()
    return 1 if failed else 0


sys.exit(main())
