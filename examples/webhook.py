"""webhook.py -- a web service that `runnel trigger --http` calls.

    python3 webhook.py PORT KEY_FILE
    runnel trigger --container shop/orders --http http://localhost:PORT/ \
        --signing-key-file KEY_FILE

It takes a batch only if its signature is right and new, and only once.
"""
import hashlib
import hmac
import http.server
import json
import sys
import time

KEY = open(sys.argv[2], "rb").read().strip()
seen = set()  # a real service keeps the keys with its data


def is_signed(headers, body):
    parts = dict(part.split("=", 1) for part in
                 headers.get("Runnel-Signature", "t=0,v1=").split(","))
    text = f"{parts['t']}.{headers['Idempotency-Key']}.".encode() + body
    sum = hmac.new(KEY, text, hashlib.sha256).hexdigest()
    return hmac.compare_digest(sum, parts["v1"]) and \
        abs(time.time() - int(parts["t"])) < 300


class Hook(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not is_signed(self.headers, body):
            return self.answer(401)
        if self.headers["Idempotency-Key"] not in seen:
            seen.add(self.headers["Idempotency-Key"])
            for change in json.loads(body):
                print(change["id"], flush=True)
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Hook)
print(f"listening on {server.server_port}", flush=True)
server.serve_forever()
