"""gate.py -- a proxy that stops passing answers on, so that a command can be
killed in the middle of its work.

    with Gate(server().port, after=1 << 20) as gate:
        process = start("export", ..., env={"RUNNEL_ACCOUNT": gate.account})
        gate.shut.wait(LIMIT_S)   # a megabyte has passed; no more will
"""
import socket
import threading


class Gate:
    def __init__(self, port, after):
        self.port, self.left = port, after
        self.shut = threading.Event()
        self.ended = threading.Event()
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.account = f"http://127.0.0.1:{self.listener.getsockname()[1]}/"

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.listener.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.port))
            for source, sink, is_gated in ((client, server, False),
                                           (server, client, True)):
                threading.Thread(target=self.pump, daemon=True,
                                 args=(source, sink, is_gated)).start()

    def pump(self, source, sink, is_gated):
        try:
            while data := source.recv(1 << 16):
                if is_gated and not self.pass_on(len(data)):
                    break
                sink.sendall(data)
        except OSError:
            pass
        finally:
            if is_gated:
                source.close()
                sink.close()

    def pass_on(self, count):
        """False once the gate was shut and the test is over."""
        with self.lock:
            self.left -= count
            if self.left > 0:
                return True
        self.shut.set()
        self.ended.wait()
        return False
