"""manual.py -- docs/processor.md against the headers.

    python3 manual.py ROOT

What the page names must exist, each option must be in its table with the
default that the header says, each event in its own, each message that it
quotes must be one of the library, and each block of C must compile.
"""
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from cases import case, equal, run_all  # noqa: E402

ROOT = sys.argv[1]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


PAGE = read("docs/processor.md")
HEADERS = "".join(read(f"include/runnel/{name}.h")
                  for name in ("client", "processor", "host"))


def members(struct):
    """The members of a struct and what its header says of each."""
    body = re.search(rf"typedef struct {struct} {{(.*?)\n}} {struct};",
                     read("include/runnel/processor.h"), re.S).group(1)
    plain = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    return re.findall(r"(\w+);", plain), body


def options():
    """The default in the page's table, by option."""
    table = PAGE.split("## Options")[1].split("\n## ")[0]
    found = {}
    for names, default in re.findall(r"^\| (`.*?) \| (.*?) \|", table, re.M):
        values = default.split(", ")
        names = re.findall(r"`(\w+)`", names)
        for i, name in enumerate(names):
            found[name] = values[i] if len(values) == len(names) else default
    return found


@case("docs/processor.md has every option of a processor")
def _():
    names, _ = members("runnel_processor_options")
    equal(sorted(options()), sorted(set(names) - {"size"}))


@case("its defaults are those of the header")
def _():
    defaults = options()
    _, body = members("runnel_processor_options")
    count = 0
    for name, number in re.findall(
            r"(\w+);\s*/\*\*<[^*]*?\b0: (\d+)\b(?! MiB)", body):
        equal(defaults[name], number, name)
        count += 1
    assert count >= 12, count


@case("its functions, types and constants exist")
def _():
    for name in set(re.findall(r"\b(?:runnel_|RUNNEL_)\w+", PAGE)):
        assert re.search(rf"\b{name}\b", HEADERS), name
    for name in set(re.findall(r"[Ee]vent ([A-Z_]{4,})", PAGE)):
        assert f"RUNNEL_EVENT_{name}" in HEADERS, name


@case("it has every event")
def _():
    table = PAGE.split("## Events")[1].split("\n## ")[0]
    equal(re.findall(r"^\| ([A-Z_]+) \|", table, re.M),
          re.findall(r"^    RUNNEL_EVENT_(\w+)",
                     read("include/runnel/processor.h"), re.M))


def messages():
    """The texts in the sources of the library, adjacent literals joined."""
    found = []
    for path in glob.glob(os.path.join(ROOT, "src/client/**/*.c"),
                          recursive=True):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r'(?<!\\)"\s+"', "", file.read())
        found += re.findall(r'"((?:[^"\\\n]|\\.)*)"', text)
    return found


@case("the messages that it quotes are those of the library")
def _():
    table = PAGE.split("## Troubleshooting")[1].split("\n## ")[0]
    symptoms = "\n".join(re.findall(r"^\| (.*?) \|", table, re.M))
    quoted = re.findall(r'"(.*?)"', symptoms)
    assert len(quoted) >= 14, quoted
    known = messages()
    for text in quoted:
        # "..." stands for a name; a remedy is a text of its own.
        parts = [part.strip() for part in re.split(r"\.\.\.|(?=; )", text)]
        for part in filter(None, parts):
            assert any(part in each for each in known), part


@case("its links lead somewhere")
def _():
    for link in re.findall(r"\]\((\.\./[^)#]*)\)", PAGE):
        assert os.path.exists(os.path.join(ROOT, "docs", link)), link


@case("its C compiles")
def _():
    blocks = re.findall(r"^```c\n(.*?)^```", PAGE, re.M | re.S)
    assert blocks
    for block in blocks:
        subprocess.run(
            ["cc", "-std=c17", "-Wall", "-Wextra", "-Werror",
             "-Wno-unused-function", "-fsyntax-only", "-x", "c",
             f"-I{ROOT}/include", "-"],
            input="#include <runnel/runnel.h>\n#include <stdio.h>\n" + block,
            text=True, check=True)


sys.exit(run_all() > 0)
