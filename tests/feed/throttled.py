"""throttled.py -- the feed where throughput is enforced (--enforce-throughput).

    python throttled.py ENDPOINT
"""
import sys

from wire import Box, Server, case, equal, eventually, run_all


def add(server):
    @case("reads of a feed are charged, 304 too, and throttled beyond the offer")
    def _():
        box = Box(server, "throttled")
        box.put("p", "a", text="x" * 200000)  # 11 RU to read, of 400 a second

        def drain(token):
            """Asks when a read of all has been refused just before."""
            eventually(lambda: box.range(0, '"0"'),
                       lambda got: got.status == 429)
            return box.range(0, token)

        for token, status in (('"0"', 200), ('"1"', 304)):
            answer = eventually(lambda: box.range(0, token),
                                lambda got: got.status != 429)
            equal(answer.status, status)
            assert float(answer["x-ms-request-charge"]) >= 1
            answer = eventually(lambda: drain(token),
                                lambda got: got.status == 429)
            equal((answer.status, answer.substatus), (429, 3200))
            equal(answer.json["code"], "TooManyRequests")
            assert 0 < int(answer["x-ms-retry-after-ms"]) <= 1000
            eventually(lambda: box.range(0, token),
                       lambda got: got.status == status)


def main():
    add(Server(sys.argv[1]))
    return 1 if run_all() else 0


sys.exit(main())
