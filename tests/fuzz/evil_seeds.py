#!/usr/bin/env python3
"""evil_seeds.py -- writes the cases of tests/evil as seeds for a fuzzer.

usage: evil_seeds.py PREFIX_BYTES OUT_DIR FILE...

Each case becomes one file: so many zero bytes, in which the fuzz target keeps
its choices, and the bytes of the case.  Cases over 4 KiB are left out; a
fuzzer learns nothing from length.
"""
import os
import re
import sys

PLAIN = {"r": b"\r", "n": b"\n", "t": b"\t", "s": b" ", "\\": b"\\"}
ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|\((\d+)\*([^)]*)\)|(.))|([^\\]+)")


def expand(text):
    out = b""
    for byte, times, repeated, plain, other in ESCAPE.findall(text):
        if byte:
            out += bytes([int(byte, 16)])
        elif times:
            out += expand(repeated) * int(times)
        elif plain:
            out += PLAIN[plain]
        else:
            out += other.encode()
    return out


def cases(path):
    name, data = None, b""
    with open(path, encoding="utf-8") as file:
        for line in map(str.strip, file):
            if line.startswith("@"):
                if name:
                    yield name, data
                name, data = line[1:].split("|")[0].strip(), b""
            elif line and not line.startswith("#"):
                data += expand(line)
    if name:
        yield name, data


def main(prefix, out, *paths):
    os.makedirs(out, exist_ok=True)
    for path in paths:
        group = os.path.splitext(os.path.basename(path))[0]
        for number, (_, data) in enumerate(cases(path)):
            if len(data) <= 4096:
                with open(f"{out}/{group}-{number}", "wb") as file:
                    file.write(bytes(int(prefix)) + data)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
