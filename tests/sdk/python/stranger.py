"""stranger.py -- a client that does not trust the server's authority."""
from azure.core.exceptions import ServiceRequestError

from harness import case


def add(connect):
    @case("a server whose authority is not known is refused")
    def _():
        try:
            connect()
        except ServiceRequestError as error:
            assert "CERTIFICATE_VERIFY_FAILED" in str(error), error
        else:
            raise AssertionError("it was trusted")
