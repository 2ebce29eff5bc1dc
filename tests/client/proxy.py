"""proxy.py -- an HTTP proxy that tunnels: CONNECT HOST:PORT, and bytes.

Prints its port, and then a line for every tunnel.  Ends with its standard
input.
"""
import os
import socket
import sys
import threading


def pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def tunnel(client):
    head = b""
    while b"\r\n\r\n" not in head:
        data = client.recv(4096)
        if not data:
            return
        head += data
    method, target, _ = head.split(b"\r\n")[0].split(b" ")
    if method != b"CONNECT":
        client.sendall(b"HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n")
        client.close()
        return
    print("tunnel", target.decode(), flush=True)
    host, port = target.decode().rsplit(":", 1)
    server = socket.create_connection((host, int(port)))
    client.sendall(b"HTTP/1.1 200 Yes\r\n\r\n")
    threading.Thread(target=pump, args=(client, server), daemon=True).start()
    pump(server, client)


def serve(listener):
    while True:
        client, _ = listener.accept()
        threading.Thread(target=tunnel, args=(client,), daemon=True).start()


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
threading.Thread(target=serve, args=(listener,), daemon=True).start()
sys.stdin.read()
os._exit(0)
