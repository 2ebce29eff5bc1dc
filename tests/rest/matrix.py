"""matrix.py -- rights: verb x resource x credential x mutation.

Goal: without a valid signature or token nothing is written or revealed; a
read-only key or token changes nothing; a token for one resource reaches no
other.

Method: every target (a verb on a resource) is asked for with every credential,
and with some of them under every mutation of their headers.  What must come out
is computed by `oracle`, a few rules that know nothing of the server.  Authorized
requests fail too, at a condition or at their body, so that nothing changes: a
target says by which status one sees that it was let in.  At the end all
resources are compared with what they were.
"""
import base64
import hashlib
import hmac
import json
import secrets
import time
import urllib.parse
from collections import namedtuple

import wire
from wire import Client, Server, case, equal

NEVER = {"if-match": '"00000000-0000-0000-0000-000000000000"'}
UPSERT = {"x-ms-documentdb-is-upsert": "True"}
QUERY = {"x-ms-documentdb-isquery": "true",
         "content-type": "application/query+json",
         "x-ms-documentdb-query-enablecrosspartition": "true"}
PLAN = {"x-ms-cosmos-is-query-plan-request": "True", **QUERY}
FEED = {"a-im": "Incremental Feed"}
BATCH = {"x-ms-cosmos-is-batch-request": "True",
         "x-ms-cosmos-batch-atomic": "True"}
ALL = {"query": "SELECT * FROM c"}
PATCH = {"operations": [{"op": "set", "path": "/n", "value": 1}]}
CONTAINER = {"id": "c", "partitionKey": {"paths": ["/pk"], "version": 2}}

# One verb on one resource.  `status` is the answer to a client that may.
# `kind` and what follows are for tokens: what of a container it is about.
Target = namedtuple("Target", "verb path body headers status writes secret kind "
                    "container id pk", defaults=(None,) * 4)


def target(verb, path, status, body=None, headers=None, writes=None,
           secret=False, **about):
    if writes is None:
        writes = verb not in ("GET",) and headers not in (QUERY, PLAN)
    sent = dict(headers or {})
    if "pk" in about:
        sent[wire.PARTITION_KEY] = json.dumps([about["pk"]])
    return Target(verb, path, body, sent, status, writes, secret,
                  about.get("kind"), about.get("container"), about.get("id"),
                  about.get("pk"))


def account_targets(offer):
    yield target("GET", "/", 200, kind="account")
    yield target("GET", "/dbs", 200)
    yield target("POST", "/dbs", 400, {})
    yield target("POST", "/dbs", 200, ALL, QUERY)
    yield target("DELETE", "/dbs", 405)
    yield target("GET", "/dbs/d", 200)
    yield target("GET", "/dbs/none", 404)
    yield target("DELETE", "/dbs/d", 412, headers=NEVER)
    yield target("GET", "/dbs/d/colls", 200)
    yield target("POST", "/dbs/d/colls", 400, {})
    yield target("POST", "/dbs/d/colls", 200, ALL, QUERY)
    yield target("GET", "/offers", 200)
    yield target("POST", "/offers", 200, ALL, QUERY)
    yield target("GET", f"/offers/{offer}", 200)
    yield target("PUT", f"/offers/{offer}", 412,
                 {"content": {"offerThroughput": 500}}, NEVER)
    yield target("DELETE", f"/offers/{offer}", 405)


def stray_targets():
    """Paths that name no resource, which only a client with a right learns."""
    for path, status in (
            ("/foo", 404), ("/foo/bar", 404), ("/dbs/d/foo", 404),
            ("/DBS/d", 404), ("/dbs/d/colls/c/docs/1/attachments/2", 404),
            ("/media/x", 404), ("/dbs/a%5Cb", 400), ("/dbs/a%2Fb", 400),
            ("/dbs/%zz", 400), ("/dbs/d/colls/%", 400), ("/dbs/a%00b", 400),
            ("/dbs/%FF", 400), ("/dbs/" + 300 * "x", 400), ("/dbs/d%20", 400),
            (f"/dbs/d/colls/c/docs/{1030 * 'x'}", 400), ("/offers/a/b", 400),
            ("/addresses/", 400), ("//addresses/?$resolveFor=dbs", 400)):
        for verb in ("GET", "PUT"):
            yield target(verb, path, status, kind="stray")


def user_targets():
    users, one = "/dbs/d/users", "/dbs/d/users/u"
    permissions = one + "/permissions"
    grant = {"id": "p", "permissionMode": "all", "resource": "dbs/d/colls/d"}
    keys = "/dbs/d/clientencryptionkeys"
    yield target("GET", users, 200)
    yield target("POST", users, 400, {})
    yield target("POST", users, 400, {}, UPSERT)
    yield target("POST", users, 200, ALL, QUERY)
    yield target("GET", one, 200)
    yield target("PUT", one, 412, {"id": "u"}, NEVER)
    yield target("DELETE", one, 412, headers=NEVER)
    yield target("GET", permissions, 200, secret=True)
    yield target("POST", permissions, 400, {})
    yield target("POST", permissions, 200, ALL, QUERY, secret=True)
    yield target("GET", permissions + "/absent", 404, secret=True)
    yield target("GET", permissions + "/read", 200, secret=True)
    yield target("PUT", permissions + "/read", 412, grant, NEVER)
    yield target("DELETE", permissions + "/read", 412, headers=NEVER)
    yield target("GET", keys, 200)
    yield target("POST", keys, 400, {})
    yield target("GET", keys + "/none", 404)


def container_targets(name, exists):
    def ok(status):
        return status if exists else 404

    path = "/dbs/d/colls/" + name
    here = {"container": name}
    definition = {**CONTAINER, "id": name}
    yield target("GET", path, ok(200), kind="coll", **here)
    yield target("PUT", path, ok(412), definition, NEVER, kind="coll", **here)
    yield target("DELETE", path, ok(412), headers=NEVER, kind="coll", **here)
    yield target("GET", path + "/pkranges", ok(200), kind="ranges", **here)
    yield target("GET", path + "/docs", ok(200), kind="docs", **here)
    yield target("POST", path + "/docs", ok(400), {}, kind="docs", **here)
    yield target("POST", path + "/docs", ok(200), ALL, QUERY, kind="docs",
                 **here)
    yield target("POST", path + "/docs", ok(200), ALL, PLAN, kind="plan",
                 **here)
    for word in ("conflicts", "sprocs", "triggers", "udfs"):
        yield target("GET", f"{path}/{word}", ok(200), kind=word, **here)
        yield target("GET", f"{path}/{word}/1", 404, kind=word, **here)
    yield target("POST", path + "/sprocs", ok(400), {}, kind="sprocs", **here)


def document_targets(name):
    path = f"/dbs/d/colls/{name}/docs"
    for pk in "xy":
        here = {"container": name, "pk": pk}
        yield target("GET", path, 200, kind="docs", **here)
        yield target("POST", path, 400, {"pk": pk}, kind="docs", **here)
        yield target("POST", path, 400, {"pk": pk}, UPSERT, kind="docs", **here)
        yield target("POST", path, 200, ALL, QUERY, kind="docs", **here)
        yield target("POST", path, 400, [], BATCH, kind="docs", **here)
        yield target("GET", path, 200, headers=FEED, kind="docs", **here)
        for id in "12":
            one = {"kind": "doc", "id": id, **here}
            yield target("GET", f"{path}/{id}", 200, **one)
            yield target("PUT", f"{path}/{id}", 412, {"id": id, "pk": pk}, NEVER,
                         **one)
            yield target("PATCH", f"{path}/{id}", 412, PATCH, NEVER, **one)
            yield target("DELETE", f"{path}/{id}", 412, headers=NEVER, **one)
    yield target("GET", path, 200, headers=FEED, kind="docs", container=name)
    # Of a key that no document has.
    yield target("POST", f"/dbs/d/colls/{name}/operations/partitionkeydelete",
                 200, kind="delete", container=name, pk="q")
    yield target("GET", path + "/none", 404, kind="doc", id="none",
                 container=name, pk="x")


def all_targets(offer):
    return [*account_targets(offer), *stray_targets(), *user_targets(),
            *container_targets("c", True), *container_targets("d", True),
            *container_targets("none", False), *document_targets("c"),
            *document_targets("d")]


# ---- credentials -------------------------------------------------------------

# `rights`: write, read, or for a token its permission; or the status
# of every request with it.
Credential = namedtuple("Credential", "name key token rights")


def granted(client, id, mode, resource, pk=None, user="u", **headers):
    body = {"id": id, "permissionMode": mode, "resource": resource}
    if pk:
        body["resourcePartitionKey"] = [pk]
    answer = client.must(201, "POST", f"/dbs/d/users/{user}/permissions", body,
                         **headers)
    rights = {"mode": mode.lower(), "pk": pk}
    if "/docs/" in resource:
        rights["id"] = "1"
    return answer.json["_token"], rights


def prepare(server):
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    for name in "cd":
        client.must(201, "POST", "/dbs/d/colls", {**CONTAINER, "id": name})
        for pk in "xy":
            for id in "12":
                client.must(201, "POST", f"/dbs/d/colls/{name}/docs",
                            {"id": id, "pk": pk}, pk=[pk])
    client.must(201, "POST", "/dbs/d/users", {"id": "u"})
    return client


def forged(key, token):
    """What stands in a token that is good, signed with `key`."""
    grant = token.split(";")[1]
    text = b"resource token\n" + base64.b64decode(grant)
    mac = hmac.new(base64.b64decode(key), text, hashlib.sha256).digest()
    return ("type=resource&ver=1&sig=" + base64.b64encode(mac).decode() +
            f";{grant};")


def credentials(server, client):
    keys = server.keys()
    yield Credential("the primary key", keys["primary"], None, "write")
    yield Credential("the secondary key", keys["secondary"], None, "write")
    yield Credential("the emulators' key", wire.EMULATOR_KEY, None, "write")
    yield Credential("the primary read-only key", keys["primaryReadOnly"], None,
                     "read")
    yield Credential("the secondary read-only key", keys["secondaryReadOnly"],
                     None, "read")
    yield Credential("a wrong key", base64.b64encode(secrets.token_bytes(64))
                     .decode(), None, 401)
    yield Credential("nothing", None, None, 401)
    yield Credential("a web token", None, "type=aad&ver=1.0&sig=e30.e30.e30",
                     401)
    expired, _ = granted(client, "expired", "All", "dbs/d/colls/c", pk="zz",
                         x_ms_documentdb_expiry_seconds=10)
    client.must(200, "POST", "/_runnel/clock", {"advanceMs": 60000})
    yield Credential("an expired token", None, expired, 403)
    rid = client.must(200, "GET", "/dbs/d/colls/c/docs/1", pk=["x"]).json
    for id, mode, resource, pk in (
            ("read", "Read", "dbs/d/colls/c", None),
            ("all-y", "all", "dbs/d/colls/c", "y"),
            ("read-x", "Read", "dbs/d/colls/c/", "x"),
            ("read-1", "read", "dbs/d/colls/c/docs/1", None),
            ("all-1-x", "All", "dbs/d/colls/c/docs/1", "x"),
            ("all-rid", "All", rid["_self"], "x"),
            ("none", "None", "dbs/d/colls/c", "w")):
        token, rights = granted(client, id, mode, resource, pk)
        yield Credential(f"the token {id}", None, token, rights)
    self = client.must(200, "GET", "/dbs/d/colls/c").json["_self"]
    client.must(201, "POST", "/dbs/d/users", {"id": "v"})
    token, rights = granted(client, "all", "All", self, user="v")
    yield Credential("the token all", None, token, rights)
    # A client that may write could have been given such a token; a client that
    # may only read could not.
    for name, key in [*keys.items(), ("emulators'", wire.EMULATOR_KEY)]:
        yield Credential(f"the token all, signed by the key {name}", None,
                         forged(key, token),
                         401 if name.endswith("ReadOnly") else rights)
    gone, _ = granted(client, "gone", "All", "dbs/d/colls/c", pk="gone")
    client.must(204, "DELETE", "/dbs/d/users/u/permissions/gone")
    yield Credential("the token of a permission that is gone", None, gone, 403)
    changed, _ = granted(client, "changed", "All", "dbs/d/colls/c", pk="v")
    client.must(200, "PUT", "/dbs/d/users/u/permissions/changed",
                {"id": "changed", "permissionMode": "All",
                 "resource": "dbs/d/colls/c", "resourcePartitionKey": ["t"]})
    yield Credential("the token of a permission that was changed", None, changed,
                     403)
    other = Server()
    foreign, _ = granted(prepare(other), "all", "All", "dbs/d/colls/c")
    other.end()
    yield Credential("the token of another account", None, foreign, 401)


# ---- mutations ---------------------------------------------------------------

# What a key's request looks like: (headers) -> headers, and what comes of it;
# None is what comes without.
def unchanged(t, key, now):
    date = wire.date_of(now)
    return [("x-ms-date", date),
            ("authorization", wire.sign(key, t.verb, t.path, date))]


def dated(offset):
    return lambda t, key, now: unchanged(t, key, now + offset)


def resigned(verb=None, path=None):
    def mutate(t, key, now):
        date = wire.date_of(now)
        return [("x-ms-date", date),
                ("authorization", wire.sign(key, verb or t.verb,
                                            path or t.path, date))]
    return mutate


def rewritten(change):
    def mutate(t, key, now):
        headers = unchanged(t, key, now)
        return [headers[0], ("authorization", change(headers[1][1]))]
    return mutate


def lower_hex(text):
    return text.replace("%3D", "%3d").replace("%2B", "%2b").replace("%2F", "%2f")


def flipped(text):
    at = text.index("sig%3D") + 6
    return text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1:]


KEY_MUTATIONS = {
    "as it is": (unchanged, None),
    "14 minutes early": (dated(-840), None),
    "14 minutes late": (dated(840), None),
    "16 minutes early": (dated(-960), 403),
    "16 minutes late": (dated(960), 403),
    "a year late": (dated(366 * 86400), 403),
    "without a date": (lambda t, k, n: unchanged(t, k, n)[1:], 401),
    "with an invalid date": (lambda t, k, n:
                                 [("x-ms-date", "yesterday"),
                                  unchanged(t, k, n)[1]], 401),
    "with another date than signed": (lambda t, k, n:
                                      [("x-ms-date", wire.date_of(n + 1)),
                                       unchanged(t, k, n)[1]], 401),
    "signed for another verb": (resigned(verb="MERGE"), 401),
    "signed for another path": (resigned(path="/dbs/other/colls/x"), 401),
    "not encoded": (rewritten(urllib.parse.unquote), None),
    "encoded in lower case": (rewritten(lower_hex), None),
    "with a letter changed": (rewritten(flipped), 401),
    "with a letter more": (rewritten(lambda text: text + "A"), 401),
    "cut short": (rewritten(lambda text: text[:-8]), 401),
    "of an unknown type": (rewritten(
        lambda text: text.replace("master", "minor")), 401),
    "of an unknown version": (rewritten(
        lambda text: text.replace("1.0", "2.0")), 401),
    "twice": (lambda t, k, n: unchanged(t, k, n) + unchanged(t, k, n)[1:], 401),
    "empty": (lambda t, k, n: [unchanged(t, k, n)[0], ("authorization", "")],
              401),
}


def token_headers(change=lambda text: text, encode=True, *more):
    def mutate(_target, token, _now):
        text = change(token)
        return [("authorization",
                 urllib.parse.quote(text, "") if encode else text), *more]
    return mutate


def flip_at(part):
    """Another letter in the middle of the signature, or of the grant."""
    def change(token):
        head, _, rest = token.partition("sig=")
        parts = rest.split(";")
        at = len(parts[part]) // 2
        letter = "A" if parts[part][at] != "A" else "B"
        parts[part] = parts[part][:at] + letter + parts[part][at + 1:]
        return head + "sig=" + ";".join(parts)
    return change


TOKEN_MUTATIONS = {
    "as it is": (token_headers(), None),
    "not encoded": (token_headers(encode=False), None),
    "without its last semicolon": (token_headers(lambda t: t.rstrip(";")), None),
    "with a date, an old one": (token_headers(
        lambda t: t, True, ("x-ms-date", "Thu, 27 Apr 2017 00:51:12 GMT")), None),
    "with another signature": (token_headers(flip_at(0)), 401),
    "with another grant": (token_headers(flip_at(1)), 401),
    "cut short": (token_headers(lambda t: t[:-8]), 401),
    "with a letter more": (token_headers(lambda t: t + "A"), 401),
    "as a master's": (token_headers(
        lambda t: t.replace("type=resource&ver=1&", "type=master&ver=1.0&")),
        401),
    "without its grant": (token_headers(lambda t: t.split(";")[0] + ";"), 401),
}


# ---- the oracle --------------------------------------------------------------

def token_admits(t, rights):
    if t.kind in ("account", "stray"):
        return True
    if t.container != "c" or rights["mode"] == "none":
        return False
    if t.writes and rights["mode"] != "all":
        return False
    if "id" in rights and (t.kind, t.id) != ("doc", rights["id"]):
        return t.kind in ("coll", "ranges") and not t.writes
    if rights["pk"] is None or t.kind == "plan":
        return True
    if t.kind in ("coll", "ranges"):
        return not t.writes
    return t.pk == rights["pk"]


def oracle(t, credential, header_status):
    """The status that must come."""
    rights = credential.rights
    if header_status:
        return header_status
    if isinstance(rights, int):
        return rights
    if t.status == 405 or t.kind == "stray":
        return t.status
    if rights == "write":
        return t.status
    if rights == "read":
        return 403 if t.writes or t.secret else t.status
    return t.status if token_admits(t, rights) else 403


# ---- asking ------------------------------------------------------------------

class Requester:
    """Sends lists of headers, so that one may come twice."""

    def __init__(self, server):
        self.server, self.sent = server, 0
        self.http = Client(server).http

    def ask(self, t, headers):
        if self.sent % 1000 == 999:
            self.http.close()
        self.sent += 1
        body = json.dumps(t.body).encode() if t.body is not None else b""
        self.http.putrequest(t.verb, t.path)
        for name, value in [*t.headers.items(), *headers]:
            self.http.putheader(name, value)
        if body or t.verb in ("POST", "PUT"):
            self.http.putheader("content-length", str(len(body)))
        self.http.endheaders(body)
        answer = self.http.getresponse()
        return answer.status, answer.read()


def everything(client):
    """All there is, to be compared; tokens aside, which are new each time."""
    found = []
    for path in ("/dbs", "/dbs/d/colls", "/offers", "/dbs/d/users",
                 "/dbs/d/users/u/permissions", "/dbs/d/clientencryptionkeys",
                 "/dbs/d/colls/c/docs", "/dbs/d/colls/d/docs"):
        text = client.must(200, "GET", path).json
        for each in text.get("Permissions", []):
            del each["_token"]
        found.append(text)
    return found


def check(requester, t, credential, mutation, make, header_status):
    secret = credential.key or credential.token
    headers = make(t, secret, time.time()) if secret else []
    status, body = requester.ask(t, headers)
    want = oracle(t, credential, header_status)
    assert status == want, (f"{t.verb} {t.path} {t.headers} with "
                            f"{credential.name}, {mutation}: {status}, not "
                            f"{want}: {body[:300]}")
    if want in (401, 403):
        answer = json.loads(body)
        equal(answer["code"], {401: "Unauthorized", 403: "Forbidden"}[want])
        assert answer["message"] and "_rid" not in answer, body


server = Server("--test-mode")
admin = prepare(server)
known = list(credentials(server, admin))
offer = admin.must(200, "GET", "/offers").json["Offers"][0]["id"]
targets = all_targets(offer)
before = everything(admin)
count = 0


MUTATED = ("the primary key", "the primary read-only key", "the token all",
           "the token all-1-x", "the token all, signed by the key secondary",
           "the token all, signed by the key primaryReadOnly",
           "the token all, signed by the key secondaryReadOnly")


def matrix(credential):
    global count
    requester = Requester(server)
    mutations = TOKEN_MUTATIONS if credential.token else KEY_MUTATIONS
    if credential.name not in MUTATED:
        mutations = {"as it is": mutations["as it is"]}
    for mutation, (make, header_status) in mutations.items():
        for t in targets:
            check(requester, t, credential, mutation, make, header_status)
    count += requester.sent


for each in known:
    case(f"with {each.name} every request comes out as the rules say")(
        lambda credential=each: matrix(credential))


@case("a signature that was right just now is right for nothing else")
def _():
    global count
    requester = Requester(server)
    keys = server.keys()
    date, later = (wire.date_of(time.time() + s) for s in (0, 1))
    c, d = "/dbs/d/colls/c/docs", "/dbs/d/colls/d/docs"

    def ask(verb, path, want, date, token, name="x-ms-date"):
        t = target(verb, path, want, {} if verb == "POST" else None)
        status, body = requester.ask(t, [(name, date), ("authorization", token)])
        assert status == want, (verb, path, date, token, status, body)

    right = wire.sign(keys["primary"], "GET", c, date)
    for wrong in (("POST", c, 401, date, right), ("GET", d, 401, date, right),
                  ("GET", c, 401, later, right),
                  ("GET", c, 401, date, right, "date"),
                  ("GET", c, 401, date, flipped(right))):
        ask("GET", c, 200, date, right)
        ask(*wrong)
        ask("GET", c, 200, date, right)
    for key, want in 4 * [("primary", 400), ("primaryReadOnly", 403)]:
        ask("POST", c, want, date, wire.sign(keys[key], "POST", c, date))
    count += requester.sent


@case("no request of the matrix has changed anything")
def _():
    assert count >= 5000, count
    print(f"# {count} requests, {len(targets)} targets, {len(known)} credentials")
    equal(everything(Client(server)), before)
    server.end()
