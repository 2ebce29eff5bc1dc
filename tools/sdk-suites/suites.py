#!/usr/bin/env python3
"""suites.py -- counts what the SDKs' own tests gave, and writes the document.

  suites.py control LANG RESULT
        Prints the names of the tests that passed.
  suites.py record LANG MODE NAME RESULT CONTROL SECONDS
        Puts the counts of a file's run into results.txt, without the tests that
        CONTROL names, and prints them.  The exit status is 1 if a test failed.
  suites.py expect LANG NAME...
        Notes these files as all that there are.
  suites.py document [--check]
        Writes docs/sdk-suites.md from results.txt, causes.txt and document.md;
        with --check it only compares.  The exit status is 1 if a failure has no
        cause, if a cause has no failure, or if the document differs.

RESULT is what the test runner wrote.  A line of results.txt has fields that are
separated by tabs.  It is a run of a file, or a test that failed in that run:

  LANG MODE FILE COMMIT DATE PASSED FAILED SKIPPED LOCAL
  LANG MODE FILE fail INSTANCES TEST
  LANG none FILE, of a file that is expected and was not run

COMMIT is the last one that changed the server.  LOCAL counts tests that need
no server; the other counts do not contain them.
"""

import collections
import contextlib
import datetime
import fcntl
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as tree

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
RESULTS = HERE / "results.txt"
DOCUMENT = ROOT / "docs/sdk-suites.md"
WHOLE = "(the file as a whole)"
LANGUAGES = {
    "js": "JavaScript", "python": "Python", "go": "Go", "java": "Java"}

# A case: its name, "pass", "fail" or "skip", and the reason of a failure.


def js_cases(path):
    names = {"passed": "pass", "failed": "fail"}
    for file in json.loads(path.read_text())["testResults"]:
        for case in file["assertionResults"]:
            why = (case.get("failureMessages") or [""])[0]
            yield case["fullName"], names.get(case["status"], "skip"), why
        if not file["assertionResults"]:
            yield WHOLE, "fail", file["message"]


def python_cases(path):
    for case in tree.parse(path).getroot().iter("testcase"):
        name = case.get("classname").split(".")[-1] + "::" + case.get("name")
        bad = case.find("failure")
        if bad is None:
            bad = case.find("error")
        if bad is not None:
            yield name, "fail", bad.get("message") or ""
        else:
            yield name, "pass" if case.find("skipped") is None else "skip", ""


def go_cases(path):
    status, why, name = {}, {}, None
    for line in path.read_text(errors="replace").splitlines():
        run = re.match(r"=== RUN +([^/\s]+)$", line)
        end = re.match(r"--- (PASS|FAIL|SKIP): (\S+)", line)
        if run:
            name = run[1]
            status[name] = "fail"
        elif end:
            status[end[2]] = end[1].lower()
        elif name and re.search(r"\w+_test\.go:\d+: |^panic: ", line):
            why.setdefault(name, line.strip())
    for name in status:
        yield name, status[name], why.get(name, "")


def java_cases(path):
    """A test that was tried again counts by its last try, each instance of its
    class and each set of parameters by itself.  TestNG skips a test whose set-up
    failed; here that test has failed."""
    last = {}
    for one in tree.parse(path).iter("test-method"):
        given = [value.text for value in one.findall("params/param/value")]
        key = one.get("signature"), *given
        thrown = one.find("exception")
        status = one.get("status").lower()
        if status == "skip" and thrown is not None:
            is_skipped = thrown.get("class") == "org.testng.SkipException"
            status = "skip" if is_skipped else "fail"
        if one.get("is-config") != "true":
            why = one.findtext("exception/message") or ""
            last[key] = one.get("name"), status, why
    return last.values()


def cases_of(lang, path):
    """The cases, or one failure where the runner wrote no result."""
    try:
        found = list(globals()[lang + "_cases"](path))
    except (OSError, ValueError, tree.ParseError) as error:
        return [(WHOLE, "fail", str(error))]
    return found


def server_commit():
    git = ["git", "-C", str(ROOT)]
    places = ["--", "src", "include", "CMakeLists.txt"]
    commit = subprocess.check_output(
        git + ["log", "-1", "--abbrev=7", "--format=%h"] + places, text=True)
    changed = subprocess.call(git + ["diff", "--quiet", "HEAD"] + places)
    return commit.strip() + ("+" if changed else "")


@contextlib.contextmanager
def locked():
    """Several runs may record their results at the same time."""
    held = os.open(HERE, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def read_results():
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return [line.split("\t") for line in lines]


def control(lang, result):
    for name, status, _ in cases_of(lang, pathlib.Path(result)):
        if status == "pass":
            print(name)
    return 0


def write_results(rows):
    order = list(LANGUAGES)
    rows.sort(key=lambda row: (order.index(row[0]), row[2], row[1]))
    RESULTS.write_text("".join("\t".join(row) + "\n" for row in rows))


def expect(lang, *names):
    with locked():
        rows = [row for row in read_results()
                if row[0] != lang or (row[2] in names and row[1] != "none")]
        have = {row[2] for row in rows if row[0] == lang}
        write_results(rows + [[lang, "none", name] for name in names
                              if name not in have])
    return 0


def record(lang, mode, file, result, local, seconds):
    local = set(pathlib.Path(local).read_text().splitlines())
    cases = cases_of(lang, pathlib.Path(result))
    counted = [case for case in cases if case[0] not in local]
    count = collections.Counter(status for _, status, _ in counted)
    failed = collections.Counter(
        re.sub(r"\[.*", "", name) for name, status, _ in counted
        if status == "fail")
    key = [lang, mode, file]
    numbers = [count["pass"], count["fail"], count["skip"],
               len(cases) - len(counted)]
    found = [key + [server_commit(), str(datetime.date.today())]
             + [str(n) for n in numbers]]
    found += [key + ["fail", str(n), name] for name, n in failed.items()]
    with locked():
        rows = [row for row in read_results()
                if row[:3] not in (key, [lang, "none", file])]
        write_results(rows + found)
    print("%-8s %-44s %3d passed, %d failed, %d skipped, %d local (%s s)"
          % (mode, file, *numbers, seconds), flush=True)
    reasons = {}
    for name, status, why in counted:
        if status == "fail":
            reasons.setdefault(name, []).append(" ".join(why.split())[:300])
    for name, whys in reasons.items():
        times = f" ({len(whys)} times)" if len(whys) > 1 else ""
        print(f"    {name}{times}: {whys[0]}", flush=True)
    return int(count["fail"] > 0)


class Causes:
    """causes.txt: a line `cause NAME`, lines of its text, indented, and lines
    `LANG FILE TEST`, which name failures; * and ? match as in a shell."""

    def __init__(self, path):
        self.texts, self.patterns, self.used = {}, [], set()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line.startswith("cause "):
                name = line[len("cause "):]
                self.texts[name] = ""
            elif line.startswith(" "):
                self.texts[name] += line.strip() + "\n"
            elif line and not line.startswith("#"):
                self.patterns.append((number, name, line.split(None, 2)))

    def find(self, lang, file, test):
        """The name of the first cause that matches, or None."""
        for number, name, pattern in self.patterns:
            if all(map(fnmatch.fnmatchcase, (lang, file, test), pattern)):
                self.used.add(number)
                return name
        return None

    def unused(self):
        return [" ".join(pattern) for number, _, pattern in self.patterns
                if number not in self.used]


def read_runs():
    """What results.txt says: {lang: {file: {mode: numbers}}}, with the commit
    and the date of each file, and {(lang, file, test): {mode: instances}}."""
    runs, failures = {}, {}
    for lang, mode, file, *rest in read_results():
        if mode == "none":
            runs.setdefault(lang, {})[file] = {}
        elif rest[0] == "fail":
            failures.setdefault((lang, file, rest[2]), {})[mode] = int(rest[1])
        else:
            run = runs.setdefault(lang, {}).setdefault(file, {})
            run[mode] = [int(n) for n in rest[2:]]
            run["commit"], run["date"] = rest[:2]
    return runs, failures


def share(numbers):
    """Of the tests that ran and need a server, those that passed."""
    if numbers is None:
        return "not run"
    passed, failed = numbers[:2]
    if not passed + failed:
        return "-"
    return f"{passed:,} of {passed + failed:,}"


def total(files, mode):
    found = [run[mode] for run in files.values() if mode in run]
    return [sum(column) for column in zip(*found)] if found else None


def summary(runs):
    lines = ["| SDK | files | passed by default | passed with `--strict` "
             "| skipped | need no server |", "|---|---|---|---|---|---|"]
    for lang, title in LANGUAGES.items():
        files = {file: run for file, run in runs.get(lang, {}).items() if run}
        plain = total(files, "default") or [0] * 4
        lines.append(
            f"| {title} | {len(files)} | {share(total(files, 'default'))} "
            f"| {share(total(files, 'strict'))} | {plain[2]} | {plain[3]:,} |")
    return "\n".join(lines)


def table(files):
    lines = ["| file | by default | `--strict` | skipped | commit | date |",
             "|---|---|---|---|---|---|"]
    unrun = [file for file, run in sorted(files.items()) if not run]
    for file, run in sorted(files.items()):
        plain = run.get("default")
        if not run or sum((plain or [1])[:3]) == 0:
            continue
        skipped = plain[2] if plain else ""
        lines.append(f"| {file} | {share(plain)} | {share(run.get('strict'))} "
                     f"| {skipped} | `{run['commit']}` | {run['date']} |")
    local = [file for file, run in sorted(files.items())
             if sum(run.get("default", [1])[:3]) == 0]
    if local:
        lines += ["", "No test needs a server in: "
                  + ", ".join(f"`{file}`" for file in local) + "."]
    if unrun:
        lines += ["", f"Not run at these commits ({len(unrun)} files): "
                  + ", ".join(f"`{file}`" for file in unrun) + "."]
    return "\n".join(lines)


def escaped(text):
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


def failure_tables(failures, causes):
    """The text, and the failures that have no cause."""
    found = {name: [] for name in causes.texts}
    unknown = []
    for (lang, file, test), modes in failures.items():
        name = causes.find(lang, file, test)
        if name:
            found[name].append((lang, file, test, modes))
        else:
            unknown.append(f"{lang} {file} {test}")
    parts = []
    for name, text in causes.texts.items():
        if not found[name]:
            continue
        parts.append(f"### {name}\n\n{text}\n"
                     "| SDK, file | test | by default | `--strict` |\n"
                     "|---|---|---|---|")
        for lang, file, test, modes in found[name]:
            parts.append(f"| {LANGUAGES[lang]}, {file} | {escaped(test)} "
                         f"| {modes.get('default', '')} "
                         f"| {modes.get('strict', '')} |")
        parts.append("")
    return "\n".join(parts).rstrip(), unknown


def document(*options):
    runs, failures = read_runs()
    causes = Causes(HERE / "causes.txt")
    tables, unknown = failure_tables(failures, causes)
    text = (HERE / "document.md").read_text()
    places = {"summary": summary(runs), "failures": tables}
    places.update((lang, table(runs.get(lang, {}))) for lang in LANGUAGES)
    for place, filling in places.items():
        text = text.replace("{" + place + "}", filling)
    for line in unknown:
        print("no cause is known:", line, file=sys.stderr)
    for line in causes.unused():
        print("no failure has this cause:", line, file=sys.stderr)
    differs = not DOCUMENT.exists() or DOCUMENT.read_text() != text
    if "--check" not in options:
        DOCUMENT.write_text(text)
    elif differs:
        print("docs/sdk-suites.md is not up to date", file=sys.stderr)
    bad = unknown or causes.unused() or (differs and "--check" in options)
    return int(bool(bad))


if __name__ == "__main__":
    COMMANDS = {"control": control, "expect": expect, "record": record,
                "document": document}
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        sys.exit(__doc__)
    sys.exit(COMMANDS[sys.argv[1]](*sys.argv[2:]))
