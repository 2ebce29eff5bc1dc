"""control.py -- asks a server in test mode for what the client cannot."""
import base64
import hashlib
import hmac
import json
import urllib.parse
import urllib.request
from email.utils import formatdate

from harness import equal


class Control:
    """The control routes of the server at an endpoint."""

    def __init__(self, endpoint, key):
        self.endpoint = endpoint.rstrip("/")
        self.key = base64.b64decode(key)

    def ask(self, method, route, body=None):
        date = formatdate(usegmt=True)
        text = f"{method.lower()}\n\n_runnel/{route}\n{date.lower()}\n\n"
        sig = base64.b64encode(hmac.digest(self.key, text.encode(),
                                           hashlib.sha256)).decode()
        request = urllib.request.Request(
            f"{self.endpoint}/_runnel/{route}", method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"authorization": urllib.parse.quote(
                         f"type=master&ver=1.0&sig={sig}", safe=""),
                     "x-ms-date": date, "x-ms-version": "2020-07-15"})
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read() or b"null")

    def turn_clock(self, seconds):
        self.ask("POST", "clock", {"advanceMs": seconds * 1000})

    def meets(self, order, function, *args, **kwargs):
        """Calls a function that is to meet a fault, as often as ordered."""
        before = self.ask("GET", "fault")
        equal(before["waiting"], 0)
        self.ask("POST", "fault", order)
        try:
            result = function(*args, **kwargs)
        finally:
            after = self.ask("GET", "fault")
            self.ask("DELETE", "fault")
            equal(after["taken"] - before["taken"], order.get("count", 1))
        return result
