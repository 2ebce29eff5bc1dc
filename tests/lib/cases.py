"""cases.py -- what the tests on the wire share: cases, and signatures.

Only the standard library.  Signatures are made here from the public
documentation, not by the server's code.
"""
import base64
import hashlib
import hmac
import json
import os
import time
import traceback
import urllib.parse
from email.utils import formatdate

# The key that all emulators share; public.
EMULATOR_KEY = ("C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mG"
                "GyPMbIZnqyMsEcaGQy67XIw/Jw==")

_cases = []


def case(name):
    """Makes a function a case; the name is a sentence that holds if it ends."""
    def keep(function):
        _cases.append((name, function))
        return function
    return keep


class Skipped(Exception):
    """Raised by a case that this machine or user cannot run, with the reason."""


def run_all():
    """How many failed.  RUNNEL_TEST_CASE: only cases whose name has this text,
    with blanks or underscores."""
    failed = 0
    wanted = os.environ.get("RUNNEL_TEST_CASE", "").replace("_", " ")
    for name, function in _cases:
        if wanted not in name.replace("_", " "):
            continue
        try:
            function()
            print(f"ok {name}", flush=True)
        except Skipped as why:
            print(f"# {why}\nok # SKIP {name}", flush=True)
        except Exception:  # a case may fail in any way
            failed += 1
            text = traceback.format_exc()[-3000:]
            print(f"not ok {name}\n    " + text.replace("\n", "\n    "),
                  flush=True)
    return failed


def forget():
    """Drops the cases, for a runner of several files."""
    _cases.clear()


def equal(found, expected, why=""):
    assert found == expected, f"{found!r} is not {expected!r} {why}"


def eventually(ask, holds):
    """Asks until the answer is as it should be, which it is soon; gives it."""
    deadline = time.monotonic() + 60
    answer = ask()
    while not holds(answer):
        assert time.monotonic() < deadline, answer
        answer = ask()
    return answer


def signed_parts(path):
    """The word and the link that the signature of a path is over."""
    path = urllib.parse.unquote(path.split("?")[0], errors="surrogateescape")
    parts = [part for part in path.split("/") if part]
    is_list = len(parts) % 2
    if parts[:1] == ["_runnel"]:
        return "", "/".join(parts)
    if "operations" in parts[2::2]:
        parts = parts[:2 + 2 * parts[2::2].index("operations")]
        return parts[-2], "/".join(parts)
    if parts[:1] == ["offers"] and not is_list:
        return "offers", parts[-1].lower()
    if is_list:
        return parts[-1], "/".join(parts[:-1])
    return parts[-2] if parts else "", "/".join(parts)


def sign(verb, path, key=EMULATOR_KEY, date=None, rid=None, kind=None):
    """The two headers of a request signed with an account key.  `rid` is what a
    path by rids signs; with `kind`, both are taken as they are."""
    date = date or formatdate(usegmt=True)
    if kind is not None:
        link = rid
    else:
        kind, link = signed_parts(path)
        link = rid.lower() if rid else link
    text = "\n".join([verb.lower(), kind.lower(), link, date.lower(), "", ""])
    digest = hmac.new(base64.b64decode(key),
                      text.encode(errors="surrogateescape"), hashlib.sha256)
    token = ("type=master&ver=1.0&sig="
             + base64.b64encode(digest.digest()).decode())
    return {"authorization": urllib.parse.quote(token, safe=""),
            "x-ms-date": date}


def web_token(key=EMULATOR_KEY, kid="CosmosEmulatorPrimaryMaster", begin=0,
              end=7200, issuer="https://sts.fake-issuer.net/7b1999a1-dfd7-440e-"
              "8204-00170979b984"):
    """As clients make one for the emulator; no key: not signed."""
    now = int(time.time())
    parts = (json.dumps({"typ": "JWT", "alg": "RS256", "kid": kid}),
             json.dumps({"aud": "https://localhost.localhost", "iss": issuer,
                         "iat": now, "nbf": now + begin, "exp": now + end,
                         "tid": "EmulatorFederation"}), key)
    return "type=aad&ver=1.0&sig=" + ".".join(
        base64.urlsafe_b64encode(part.encode()).decode().rstrip("=")
        for part in parts)
