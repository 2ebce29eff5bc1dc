"""throttled.py -- the feed where throughput is enforced (--enforce-throughput).

    python throttled.py ENDPOINT
"""
import sys

from wire import Box, Server, case, equal, eventually, run_all


def add(server):
    @case("reads of a feed are charged, 304 too, and throttled beyond the offer")
    def _():
        box = Box(server, "throttled")
        box.put("p", "a", text="x" * 40000)
        for token, status in (('"0"', 200), ('"1"', 304)):
            for n in range(100000):
                answer = box.range(0, token)
                if answer.status == 429:
                    break
                equal(answer.status, status)
                assert float(answer["x-ms-request-charge"]) >= 1
            equal((answer.status, answer.substatus), (429, 3200))
            equal(answer.json["code"], "TooManyRequests")
            assert 0 < int(answer["x-ms-retry-after-ms"]) <= 1000
            eventually(lambda: box.range(0, token),
                       lambda got: got.status == status)


def main():
    add(Server(sys.argv[1]))
    return 1 if run_all() else 0


sys.exit(main())
