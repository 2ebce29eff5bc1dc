"""documents.py -- documents with unusual values, and what a container holds.

Texts are made by hand: how a number is written must survive.
"""
import hashlib
import json
import os

from harness import equal, runnel

SYSTEM = {"_rid", "_self", "_etag", "_ts", "_attachments", "_lsn"}
PROVE = bool(os.environ.get("RUNNEL_PROVE"))

NESTED = "[" * 60 + '{"deep":[]}' + "]" * 60
# JSON values; each document has one.
VALUES = [
    '""', "{}", "[]", "null", "true", "[[],{},[{}],null]", '{"":""}',
    "0", "-0", "-0.0", "1.0", "0.1", "1e308", "5e-324", "9007199254740993",
    "12345678901234567890", "-9223372036854775808", "3.141592653589793238",
    '"\\u0000\\u0001\\b\\f\\n\\r\\t\\u001f\\u007f"', '"\\"\\\\\\/"',
    '"\u00e9\u4e2d\U0001f600\u202e\ufeff\ud7ff\uffff"', '"\\ud83d\\ude00"',
    '"a,b;c\\td"', '{"a b":1,"\\"":2,"\u00fc":3,"\\n":4}', NESTED,
    '{"id":"inner","_rid":"mine","_ts":1,"pk":[1,2,{"_etag":"x"}]}',
]


def text_of(i):
    """The i-th document as JSON text."""
    value = VALUES[i % len(VALUES)]
    pk = ['"p%d"' % (i % 97), str(i % 13), "true", "null", '"\u00fc %d"' % i]
    big = ',"big":"%s"' % ("x" * 1000000) if i % 5000 == 1 else ""
    return ('{"id":"d%d \u00e9","pk":%s,"v":%s,"n":%d%s}'
            % (i, pk[i % len(pk)], value, i, big))


def exact(text):
    """Parsed, with the numbers as they are written."""
    return json.loads(text, parse_int=lambda t: ("number", t),
                      parse_float=lambda t: ("number", t))


def by_id(texts):
    """Documents by their ids; digests of them where memory would not do."""
    found = {}
    for text in texts:
        document = exact(text)
        assert document["id"] not in found, document["id"]
        found[document["id"]] = (
            hashlib.sha256(json.dumps(document).encode()).digest() if PROVE
            else document)
    return found


def write_lines(path, texts):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for text in texts:
            file.write(text + "\n")
    return path


def read_lines(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        return file.read().split("\n")[:-1]


def held(name, **more):
    """What the container holds, by id, without system properties."""
    result = runnel("export", "--container", name, **more)
    equal(result.code, 0, result.err)
    return by_id(result.out.split("\n")[:-1])


def saved(path):
    """The content of a state file; empty before there is one."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)
