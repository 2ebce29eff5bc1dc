"""stop.py -- a server that is asked to stop answers readers that wait.

    python stop.py ENDPOINT PID
"""
import os
import signal
import sys

import waits
import wire


def main():
    server = wire.Server(sys.argv[1])
    box = wire.Box(server, "stop")
    box.put("p", "a")
    readers = [waits.begin(box, '"1"', wait=300) for _ in range(200)]
    waits.parked(readers[0], box)
    os.kill(int(sys.argv[2]), signal.SIGTERM)
    for reader in readers:
        answer = reader.end()
        wire.equal((answer.status, answer["etag"]), (304, '"1"'))


main()
