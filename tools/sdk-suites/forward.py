#!/usr/bin/env python3
"""forward.py FROM TO -- passes connections to localhost:FROM on to
localhost:TO, as the emulator's second gateway reaches the same data."""

import asyncio
import sys


async def pass_on(reader, writer):
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def main(begin, end):
    async def serve(reader, writer):
        try:
            there = await asyncio.open_connection("127.0.0.1", end)
        except OSError:
            writer.close()
            return
        await asyncio.gather(pass_on(reader, there[1]),
                             pass_on(there[0], writer))

    server = await asyncio.start_server(serve, ["127.0.0.1", "::1"], begin)
    await server.serve_forever()


asyncio.run(main(*map(int, sys.argv[1:])))
