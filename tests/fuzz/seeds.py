#!/usr/bin/env python3
"""seeds.py -- writes what seeds.txt and the test vectors have for a fuzzer.

usage: seeds.py TARGET OUT_DIR
"""
import json
import os
import sys

from evil_seeds import expand

HERE = os.path.dirname(os.path.abspath(__file__))


def vectors(name):
    with open(f"{HERE}/../vectors/{name}.json", encoding="utf-8") as file:
        return json.load(file)


def seeds(target):
    if target == "query":
        return {each["query"].encode() for each in vectors("query-cases")}
    if target == "hybrid":
        table = vectors("rest-vectors")["hybridrow_batch"]
        return {bytes.fromhex(text) for name, text in table.items()
                if name.startswith("request_")}
    with open(f"{HERE}/seeds.txt", encoding="utf-8") as file:
        pairs = [line.rstrip("\n").split(" ", 1) for line in file
                 if not line.startswith("#")]
    return {expand(text) for name, text in pairs if name == target}


def main(target, out):
    os.makedirs(out, exist_ok=True)
    for number, data in enumerate(sorted(seeds(target))):
        with open(f"{out}/seed-{number}", "wb") as file:
            file.write(data)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
