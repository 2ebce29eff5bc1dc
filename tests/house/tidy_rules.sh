#!/bin/bash
# tidy_rules.sh -- every rule of tools/tidy.sh fires on what it forbids.
#
# A small tree that is tidy; each case breaks it in one way and expects file,
# line and rule; what is allowed must pass.
. "$(dirname "$0")/check.sh"

tree=$scratch/tree

# file PATH TEXT: puts one more file into the tree.
file()
{
    mkdir -p "$tree/$(dirname "$1")"
    printf '%b' "$2" >"$tree/$1"
}

fresh()
{
    rm -rf "$tree"
    file CMakeLists.txt 'runnel_module(base SOURCES a.c)\n'
    file src/base/a.c '/* a.c -- a sample. */\nint rn_a(void)\n{\n}\n'
}

# refused NAME WHERE RULE PATH TEXT [PATH TEXT...]
refused()
{
    local name=$1 where=$2 rule=$3

    shift 3
    fresh
    while [ $# -gt 0 ]; do
        file "$1" "$2"
        shift 2
    done
    check "$name" says 1 "^$where: .*$rule" "$root/tools/tidy.sh" "$tree"
}

# each_refused NAME PATH RULE FUNCTION...: a call of each, one a line.
each_refused()
{
    local name=$1 path=$2 rule=$3

    shift 3
    fresh
    file CMakeLists.txt "$listed"
    file "$path" "/* $(basename "$path") -- a sample. */
$(printf 'int x = %s(y);\\n' "$@")"
    check "$name" each_named "$path" "$rule" "$@"
}

each_named()
{
    local path=$1 rule=$2 said line=1 word

    shift 2
    said=$("$root/tools/tidy.sh" "$tree")
    for word in "$@"; do
        line=$((line + 1))
        grep -qF "$path:$line: $word $rule" <<<"$said" || {
            echo "$word was not refused"
            return 1
        }
    done
}

accepted()
{
    local name=$1

    shift
    fresh
    while [ $# -gt 0 ]; do
        file "$1" "$2"
        shift 2
    done
    check "$name" says 0 '' "$root/tools/tidy.sh" "$tree"
}

a='/* a.c -- a sample. */\n'
s='/* s.c -- a sample. */\n'
listed='runnel_module(base SOURCES a.c)\nrunnel_module(store SOURCES s.c)\n'

accepted 'a tidy tree passes'

each_refused 'every banned function is refused' src/base/a.c 'is banned' \
    strcpy strcat sprintf vsprintf strtok gets atoi atol gmtime localtime alloca
each_refused 'memory, time and random numbers belong in base' src/store/s.c \
    'belongs in base/' malloc calloc realloc reallocarray free strdup strndup \
    asprintf vasprintf aligned_alloc posix_memalign time clock_gettime \
    gettimeofday sleep usleep nanosleep rand random srand srandom getrandom \
    getentropy
each_refused 'a library does not print' src/base/a.c 'belongs in cli/ server/' \
    printf fprintf vprintf vfprintf dprintf vdprintf puts putchar perror
refused 'a banned function is banned in tests too' tests/t.c:2 'is banned' \
    tests/t.c '/* t.c -- a sample. */\nint x = atoi(y);\n'
accepted 'what is kept for base is allowed there' \
    src/base/a.c "${a}int x = malloc(time(0)) + clock_gettime(y);\n"
accepted 'the command line prints' \
    CMakeLists.txt 'runnel_module(base SOURCES a.c)\n
        add_executable(runnel src/cli/c.c)\n' \
    src/cli/c.c '/* c.c -- a sample. */\nint x = printf("x");\n'
accepted 'a slot of a table may be called like a kept function' \
    CMakeLists.txt "$listed" \
    src/store/s.c "${s}int x = ops->free(y) + env.sleep(z) + rn_free(t);\n"
accepted 'a banned name in a comment or a string is only a word' \
    src/base/a.c "${a}/* atoi(x)\n * strcpy(y) */\nint x = f(\"gets(x)\");\n"

refused 'no tabs' src/base/a.c:2 tab src/base/a.c "${a}\tint x;\n"
refused 'no trailing blanks' src/base/a.c:2 'trailing blank' \
    src/base/a.c "${a}int x; \n"
refused 'no tabs in scripts' tools/x.sh:1 tab tools/x.sh 'a\tb\n'
refused 'no trailing blanks in documents' README.md:1 'trailing blank' \
    README.md 'words \n'

long=$(printf 'x%.0s' {1..76})
refused 'no line over 80 columns' src/base/a.c:2 '81 columns' \
    src/base/a.c "${a}int $long;\n"
accepted 'a table with formatting off may be wide' \
    src/base/a.c "${a}/* clang-format off */\nint $long;\n/* clang-format on */\n"
refused 'what follows the table may not' src/base/a.c:4 '81 columns' \
    src/base/a.c "${a}/* clang-format off */\n/* clang-format on */\nint $long;\n"
accepted 'columns are characters, not bytes' \
    src/base/a.c "${a}/* \303\244\303\244 ${long:5} */\n"

refused 'a source says what it is' src/base/a.c:1 'the first line' \
    src/base/a.c 'int x;\n'
refused 'a header says what it is' src/base/b.h:1 'the first line' \
    src/base/b.h '/* c.h -- another name. */\n'

refused 'a source is listed' src/base/b.c:1 'not listed' \
    src/base/b.c '/* b.c -- a sample. */\n'
refused 'a source listed in another module is not listed' src/store/a.c:1 \
    'not listed' src/store/a.c "$a"

refused 'lmdb enters in one place' src/base/a.c:2 'lmdb.h is included in' \
    src/base/a.c "${a}#include <lmdb.h>\n"
refused 'openssl enters where it is meant to' src/store/s.c:2 openssl/evp.h \
    CMakeLists.txt "$listed" src/store/s.c "${s}#include <openssl/evp.h>\n"
refused 'jansson is for tests' src/base/a.c:2 'no file of src' \
    src/base/a.c "${a}#include <jansson.h>\n"
refused 'xxhash is for one file' src/base/a.c:2 xxhash.h \
    src/base/a.c "${a}#include <xxhash.h>\n"
refused 'pcre2 is for queries' src/base/a.c:2 pcre2.h \
    src/base/a.c "${a}#include <pcre2.h>\n"
refused 'libpq is for one file' src/base/a.c:2 libpq-fe.h \
    src/base/a.c "${a}#include <libpq-fe.h>\n"
accepted 'foreign headers at home, and any in tests' \
    CMakeLists.txt 'runnel_module(store SOURCES lmdb/lmdb_map.c)
        runnel_module(base SOURCES a.c)' \
    src/store/lmdb/lmdb_map.c \
    '/* lmdb_map.c -- a sample. */\n#include <lmdb.h>\n' \
    tests/t.c '/* t.c -- a sample. */\n#include <jansson.h>\n'
accepted 'tests may print, allocate and wait' \
    tests/t.c '/* t.c -- a sample. */\nint x = printf(malloc(time(0)));\n'

refused 'a struct tag exists once' src/base/b.h:4 'the tag rn_a exists in' \
    src/base/a.c '/* a.c -- a sample. */\nstruct rn_a {\n    int x;\n};\n' \
    src/base/b.h '/* b.h -- a sample. */\n#ifndef RN_BASE_B_H\n#define RN_BASE_B_H\nstruct rn_a {\n    int y;\n};\n#endif\n'
own='/* a.h -- a sample. */\nenum x rn_x(int (*f)(void),\n            int y) RN_CHECK;\n'
foreign=${own/a.h/b.h}
x="${a}enum x rn_x(int (*f)(void),\n            int y)\n{\n    f();\n}\n"
accepted 'a function is declared in the header of its file' \
    src/base/a.h "$own" src/base/a.c "$x"
refused 'a function is not declared in the header of another file' \
    src/base/a.c:2 'rn_x is declared in src/base/b.h, not in src/base/a.h' \
    src/base/b.h "$foreign" src/base/a.c "$x"
refused 'nor in a header of that name in another directory' \
    src/base/a.c:2 'rn_x is declared in src/json/a.h, not in src/base/a.h' \
    src/json/a.h "$own" src/base/a.c "$x"
table='static const struct {\n    int x;\n} list[] = {\n    { 1 },\n};\n'
refused 'nor does it hide behind a table and a function' \
    src/base/a.c:10 'rn_x is declared in src/base/b.h' \
    src/base/b.h "$foreign" \
    src/base/a.c "$a${table}void f(void)\n{\n}\n${x#"$a"}"
accepted 'two modules may each have a function of one name' \
    src/base/a.h "$own" src/base/a.c "$x" src/json/b.h "$foreign"
accepted 'a static function may be called like one of another header' \
    src/base/b.h "$foreign" src/base/a.c "${a}static ${x#"$a"}"
accepted 'a public header is implemented by many files' \
    include/runnel/b.h "$foreign" src/base/a.c "$x"
listed_elsewhere='runnel_module(base SOURCES a.c env_real.c)\n'
accepted 'a file that tidy.sh lists may implement another header' \
    CMakeLists.txt "$listed_elsewhere" \
    src/base/env.h "${own/a.h/env.h}" src/base/env_real.c "${x/a.c/env_real.c}"
refused 'a file that tidy.sh lists without need is named' \
    src/base/env_real.c:1 'its functions are in its header' \
    CMakeLists.txt "$listed_elsewhere" \
    src/base/env_real.h "${own/a.h/env_real.h}" \
    src/base/env_real.c "${x/a.c/env_real.c}"

refused 'a retired name stays retired' src/base/a.c:2 'a retired name' \
    src/base/a.c "${a}int rn_sieve_add(void);\n"
refused 'a retired constant stays retired' src/base/a.c:2 'a retired name' \
    src/base/a.c "${a}int x = RN_STRETCH_ALL;\n"
refused 'a retired word stays retired' src/base/a.c:2 'a retired word' \
    src/base/a.c '/* a.c -- a. */\nstruct rn_task *keeper;\n'
refused 'a retired callback stays retired' src/base/a.c:2 'a retired word' \
    src/base/a.c "${a}static void on_fed(void *user);\n"
refused 'a retired member stays retired' src/base/a.c:2 'a retired word' \
    src/base/a.c "${a}int x = call->gone(call);\n"
refused 'a retired tag stays retired' src/base/a.c:2 'a retired word' \
    src/base/a.c "${a}struct sieve {\n};\n"
refused 'a retired phrase stays retired' src/base/a.c:2 'a retired phrase' \
    src/base/a.c "${a}/* Nobody is told of it. */\n"
refused 'a phrase without its noun stays retired' src/base/a.c:2 \
    'a retired phrase' src/base/a.c "${a}/* False for a key that is none. */\n"
refused 'a retired word stays retired in a document' docs/x.md:3 \
    'a retired word' docs/x.md 'Ids\n\nThe sieve has all ids.\n'
refused 'a retired word stays retired in a script' tests/x.py:1 \
    'a retired word' tests/x.py 'def reshape(box):\n    pass\n'
refused 'a retired phrase stays retired in a document' docs/x.md:1 \
    'a retired phrase' docs/x.md 'A reader is told of each change.\n'
accepted 'an ordinary word is not a retired name' \
    src/base/a.c "${a}int rn_homes(void); /* a whole journal, a quiet lab */\n"

many=$(printf 'int x;\\n%.0s' {1..1000})
refused 'no file over 1,000 lines' src/base/a.c:1001 'more than 1,000' \
    src/base/a.c "$a$many"
body=$(printf '    x;\\n%.0s' {1..71})
refused 'no function over 70 lines' src/base/a.c:75 'a function of 71 lines' \
    src/base/a.c "${a}void f(void)\n{\n$body}\n"
accepted 'a function of 70 lines passes' \
    src/base/a.c "${a}void f(void)\n{\n${body#*\\n}}\n"
accepted 'a long function may be excused' \
    src/base/a.c "${a}/* NOLINT(readability-function-size): one arm each */
void f(void)\n{\n$body}\n"
refused 'one excuse is for one function' src/base/a.c:79 'a function of 71' \
    src/base/a.c "${a}/* NOLINT(readability-function-size): one arm each */
void f(void)\n{\n}\nvoid g(void)\n{\n$body}\n"

refused 'nothing is left open' src/base/a.c:2 'left open' \
    src/base/a.c "${a}/* TO""DO: more */\n"
refused 'no path of one machine' docs/x.md:1 'a path of one machine' \
    docs/x.md "see /ro""ot/x for it\n"

done_checking
