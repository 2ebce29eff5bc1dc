"""evil.py -- bad patches and batches, from the corpus in tests/evil.

Each case is sent, signed, to the sanitized server; it must get the answer that
the corpus says, with words if it is a refusal.  What is refused must have
changed nothing.  tests/evil/README.md has the format.
"""
import glob
import os
import re

from corpus import read
from wire import PARTITION_KEY, Client, Server, case, equal

HERE = os.path.dirname(os.path.abspath(__file__))
DOCS = "/dbs/d/colls/c/docs"
STATUS = re.compile(r"(\d{3})(?:/(\d+))?$")
# What patches and batches are tried upon.
DOCUMENTS = [{"id": "a", "pk": "p", "n": 1, "s": "x", "list": [1, 2],
              "deep": {"b": {"c": 1}}, "nil": None},
             {"id": "b", "pk": "p"}]


def send(client, request, body):
    kind, _, rest = request.partition(" ")
    headers = {}
    for each in re.findall(r"\{(.*?): (.*?)\}", rest):
        headers[each[0].replace("-", "_")] = each[1]
    argument = re.sub(r"\{\S+: .*?\}", "", rest).strip()
    if kind == "PATCH":
        headers.setdefault(PARTITION_KEY.replace("-", "_"), '["p"]')
        return client.ask("PATCH", f"{DOCS}/{argument}", body, **headers)
    headers["x_ms_cosmos_is_batch_request"] = "true"
    if kind == "BATCH":
        headers["x_ms_cosmos_batch_atomic"] = "true"
        headers[PARTITION_KEY.replace("-", "_")] = argument or '["p"]'
    else:
        headers["x_ms_cosmos_batch_atomic"] = "false"
        headers["x_ms_cosmos_batch_continue_on_error"] = "true"
        headers["x_ms_documentdb_partitionkeyrangeid"] = argument or "0"
    return client.ask("POST", DOCS, body, **headers)


def check(answer, outcome):
    status, *each = outcome.split()
    number, sub = STATUS.match(status).groups()
    equal((answer.status, answer.substatus), (int(number), int(sub or 0)))
    if answer.status >= 400:
        assert answer.json["code"] and answer.json["message"], answer.body
    if each:
        equal([result["statusCode"] for result in answer.json],
              [int(part) for part in each])


def state(client):
    found = client.must(200, "GET", DOCS).json["Documents"]
    return sorted((doc["id"], str(doc["pk"]), doc["_etag"]) for doc in found)


def run(files):
    server = Server()
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    client.must(201, "POST", "/dbs/d/colls",
                {"id": "c", "partitionKey": {"paths": ["/pk"], "version": 2}})
    failed = []
    count = 0
    for path in files:
        for name, outcome, request, body in read(path):
            for doc in DOCUMENTS:
                client.ask("POST", DOCS, doc, pk=["p"],
                           x_ms_documentdb_is_upsert="true")
            before = state(client)
            count += 1
            try:
                answer = send(client, request, body)
                check(answer, outcome)
                codes = [int(code) for code in re.findall(r"\b\d{3}\b",
                                                          outcome)]
                if all(code >= 300 or code == 207 for code in codes):
                    equal(state(client), before)
            except AssertionError as error:
                failed.append(f"{os.path.basename(path)}: {name}: {error}")
    server.end()
    assert not failed, "\n".join(failed)
    return count


def add(subject, least):
    files = sorted(glob.glob(f"{HERE}/../evil/{subject}/*.txt"))

    @case(f"bad input of {subject} gets what the corpus says")
    def _():
        count = run(files)
        assert count >= least, count


add("patch", 60)
add("batch", 90)
