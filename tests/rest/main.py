"""main.py -- the parts named, one after the other.

    python3 main.py PART...
"""
import importlib
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import wire  # noqa: E402

for part in sys.argv[1:]:
    importlib.import_module(part)
sys.exit(1 if wire.run_all() else 0)
