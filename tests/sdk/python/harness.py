"""harness.py -- runs cases one after the other and says how each went."""
import traceback

from azure.cosmos import exceptions

_cases = []


def case(name):
    """Makes a function a case; the name is a sentence that holds if it ends."""
    def keep(function):
        _cases.append((name, function))
        return function
    return keep


def run_all():
    failed = 0
    for name, function in _cases:
        try:
            function()
            print(f"ok {name}")
        except Exception:  # a case may fail in any way
            failed += 1
            print(f"not ok {name}")
            text = traceback.format_exc()[-2000:]
            print("    " + text.replace("\n", "\n    "))
    return failed


def fails(status, function, *args, substatus=None, **kwargs):
    """The error that an operation must end with."""
    try:
        function(*args, **kwargs)
    except exceptions.CosmosHttpResponseError as error:
        if error.status_code != status:
            raise
        if substatus is not None:
            equal(error.sub_status or 0, substatus)
        return error
    raise AssertionError(f"expected status {status}, but it succeeded")


def equal(found, expected):
    assert found == expected, f"{found!r} is not {expected!r}"


class Headers:
    """Keeps the headers of the last answer: pass it as response_hook."""

    def __init__(self):
        self.last = {}

    def __call__(self, headers, _body=None):
        self.last = {name.lower(): value for name, value in headers.items()}
