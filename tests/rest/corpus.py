"""corpus.py -- reads a file of tests/evil; its README.md has the format."""
import re

ESCAPE = re.compile(rb"\\\((\d+)\*(.*?)\)|\\(x[0-9a-f]{2}|.)", re.S)


def expand(text):
    def one(match):
        if match.group(1):
            return expand(match.group(2)) * int(match.group(1))
        code = match.group(3)
        if code[:1] == b"x" and len(code) == 3:
            return bytes([int(code[1:], 16)])
        return {b"r": b"\r", b"n": b"\n", b"t": b"\t", b"s": b" ",
                b"\\": b"\\"}[code]
    return ESCAPE.sub(one, text)


def read(path, joined=True):
    """Name, outcome, request and body of each case of a file; the body's lines
    as they are unless they are to be joined."""
    found = []
    with open(path, "rb") as file:
        lines = [line.strip() for line in file]
    for line in lines:
        if not line or line.startswith(b"#"):
            continue
        if line.startswith(b"@ "):
            name, outcome = line[2:].decode().rsplit(" | ", 1)
            found.append([name, outcome, None, b"" if joined else []])
        elif found[-1][2] is None:
            found[-1][2] = line.decode()
        else:
            found[-1][3] += expand(line) if joined else [line]
    return found
