#!/bin/bash
# runner_rules.sh -- tools/test.sh counts what ran, case by case, and believes
# no test that died, lied or lost a case.
#
# A small project with the real tools runs its own tests: first all good, then
# with one of every way to fail.
. "$(dirname "$0")/check.sh"
unset RUNNEL_NO_SKIP # CI sets it for its own run

cp -r "$root/tools" "$scratch/tools"
cd "$scratch" || exit 1
mkdir -p docs tests/suites
printf '| A | a thing | yes | `unit.good/it_holds`, `talk/it talks` |\n' |
    sed 's/it talks/it_talks/' >docs/compatibility.md
printf '| S | skipped | yes | `absent/it_holds` |\n' >>docs/compatibility.md
cat >CMakePresets.json <<'EOF'
{ "version": 3, "configurePresets": [
  { "name": "dev", "generator": "Ninja", "binaryDir": "build/dev" },
  { "name": "tsan", "inherits": "dev", "binaryDir": "build/tsan" },
  { "name": "proof", "inherits": "dev", "binaryDir": "build/proof" },
  { "name": "fuzz", "inherits": "dev", "binaryDir": "build/fuzz" },
  { "name": "release", "inherits": "dev", "binaryDir": "build/release" } ] }
EOF
cat >CMakeLists.txt <<'EOF'
cmake_minimum_required(VERSION 3.22)
project(sample C)
enable_testing()
add_executable(sample sample.c)
add_custom_target(proofs DEPENDS sample)
add_custom_target(fuzzers)
if(CMAKE_BINARY_DIR MATCHES "fuzz$")
    add_test(NAME fuzz.tiny COMMAND true)
    set_tests_properties(fuzz.tiny PROPERTIES LABELS fuzz)
endif()
target_link_libraries(sample cmocka)
add_test(NAME unit.good COMMAND sample good)
set_tests_properties(unit.good PROPERTIES LABELS "concurrent;proof")
add_test(NAME plain COMMAND true)
add_test(NAME absent COMMAND sh -c "exit 77")
set_tests_properties(absent PROPERTIES SKIP_RETURN_CODE 77)
EOF
cat >sample.c <<'EOF'
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void it_holds(void **s)
{
    (void)s;
    puts("a word of its own");
}

static void it_breaks(void **s)
{
    (void)s;
    assert_int_equal(6, 7);
}

static void it_waits(void **s)
{
    (void)s;
    skip();
}

static void it_dies(void **s)
{
    (void)s;
    _exit(0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest good[] = {
        cmocka_unit_test(it_holds),
        cmocka_unit_test(it_waits),
    };
    const struct CMUnitTest more[] = { cmocka_unit_test(it_holds) };
    const struct CMUnitTest bad[] = {
        cmocka_unit_test(it_holds),
        cmocka_unit_test(it_breaks),
    };
    const struct CMUnitTest dying[] = {
        cmocka_unit_test(it_holds),
        cmocka_unit_test(it_dies),
        cmocka_unit_test(it_holds),
    };

    if (argc < 2)
        return 1;
    if (!strcmp(argv[1], "good"))
        return cmocka_run_group_tests(good, NULL, NULL) +
               cmocka_run_group_tests_name("more", more, NULL, NULL);
    if (!strcmp(argv[1], "bad"))
        return cmocka_run_group_tests(bad, NULL, NULL);
    if (!strcmp(argv[1], "dying"))
        return cmocka_run_group_tests(dying, NULL, NULL);
    cmocka_run_group_tests(more, NULL, NULL);
    return 3; /* as a leak found at exit does */
}
EOF
cat >tests/suites/talk.sh <<'EOF'
#!/bin/sh
echo "some noise"
echo "ok 1 - it talks"
echo "ok it_talks_more"
echo "ok # SKIP it sleeps"
EOF
cat >tests/suites/long.sh <<'EOF'
#!/bin/sh
echo "ok it lasts ${RUNNEL_PROVE:-0}"
EOF
printf 'echo "ok never"\n' >tests/suites/not_executable.sh
chmod +x tests/suites/{talk,long}.sh

has()
{
    grep -qxF -- "$1" build/results.txt || { cat build/results.txt; return 1; }
}

last_line()
{
    [ "$(tail -n 1 out)" = "$1" ] || { cat out; return 1; }
}

tools/test.sh >out 2>&1
check 'a good run succeeds' test $? -eq 0
# five builds, thrice two cases, plain, a fuzzer, three of the suites, the
# ledger
check 'its closing line counts cases and lone tests' \
    last_line '17 passed, 0 failed, 5 skipped'
check 'a case has its name' has 'pass unit.good/it_holds'
check 'a test has its name' has 'pass unit.good'
check 'a skipped case is no failure' has 'skip unit.good/it_waits'
check 'a skipped test is no failure' has 'skip absent'
check 'concurrent tests run in the TSan build too' \
    has 'pass tsan.unit.good/it_holds'
check 'others do not' says 1 '' has 'pass tsan.plain'
check 'proofs run in the release build too' has 'pass proof.unit.good/it_holds'
check 'fuzzers run in a build of their own' has 'pass fuzz.tiny'
check 'a suite is counted by its lines' has 'pass talk/it_talks_more'
check 'a suite may skip' has 'skip talk/it_sleeps'
check 'a file that is not executable is no suite' \
    says 1 '' has 'pass not_executable/never'

check 'a row of a skipped test is not false' \
    grep -q '^ledger: 1 rows are not shown here' out

RUNNEL_NO_SKIP=1 tools/test.sh >out 2>&1
check 'where nothing may be skipped, a skipped test fails' \
    grep -q '^fail absent was skipped' out
check 'and with it the run' grep -qx '17 passed, 1 failed, 4 skipped' out

tools/test.sh check >out 2>&1
# a build, three cases without proofs and suites
check 'the quick check leaves proofs and suites out' \
    last_line '2 passed, 0 failed, 1 skipped'
tools/test.sh talk >out 2>&1
check 'one suite runs by its name' grep -qx 'pass talk/it_talks' build/some.txt
tools/test.sh unit.good >out 2>&1
check 'one test runs by its name' last_line '3 passed, 0 failed, 1 skipped'

tools/test.sh prove >out 2>&1
# four builds, two cases, a fuzzer, one of the suite that has a long count
check 'proofs and fuzzers run alone, and suites that last' \
    last_line '8 passed, 0 failed, 1 skipped'
check 'suites see that they are to last' \
    grep -qx 'pass long/it_lasts_1' build/proofs.txt

cat >>CMakeLists.txt <<'EOF'
add_test(NAME unit.bad COMMAND sample bad)
add_test(NAME unit.dying COMMAND sample dying)
add_test(NAME unit.leaking COMMAND sample leaking)
add_test(NAME unit.missing COMMAND no-such-program)
add_test(NAME lying COMMAND sh -c "echo 'not ok 1 - it lies'")
EOF
printf '#!/bin/sh\necho "ok begun"\nexit 4\n' >tests/suites/ends_badly.sh
printf '#!/bin/sh\necho nothing\n' >tests/suites/silent.sh
printf '#!/bin/sh\necho "not ok it_fails"\n' >tests/suites/fails.sh
printf '#!/bin/sh\necho "skipped: there is no jq"\nexit 77\n' \
    >tests/suites/absent_suite.sh
printf '| B | x | yes | `unit.bad/it_breaks` |\n' >>docs/compatibility.md
chmod +x tests/suites/{ends_badly,silent,fails,absent_suite}.sh
tools/test.sh >out 2>&1
check 'a bad run fails' test $? -eq 1
# unit.bad/it_breaks, dying, leaking, missing, lying/it_lies, ends_badly,
# silent, fails/it_fails, the ledger
check 'its closing line counts every failure once' \
    last_line '20 passed, 9 failed, 6 skipped'
check 'a failed case has its name' has 'fail unit.bad/it_breaks'
check 'what the failed case said is shown' grep -q '0x6 != 0x7' out
check 'what a test printed that lied is shown' grep -q '^  not ok 1 - it lies' out
check 'cases beside it still passed' has 'pass unit.bad/it_holds'
check 'a test that lost cases failed, whatever it returned' \
    has 'fail unit.dying'
check 'and it is said why' \
    grep -q '^unit.dying: 3 cases announced, 1 shown$' out
check 'a test that fails beside its cases failed' has 'fail unit.leaking'
check 'a test that cannot start failed' has 'fail unit.missing'
check 'a case that failed fails a test that returned 0' has 'fail lying'
check 'a suite that ends badly failed' has 'fail ends_badly'
check 'a suite that shows nothing failed' has 'fail silent'
check 'a suite may be skipped, with its reason' \
    has 'skip absent_suite there is no jq'
check 'the reason is shown at the end' \
    grep -qx 'skip absent_suite there is no jq' out
check 'the ledger is held against it' \
    grep -q 'B: marked yes, but unit.bad/it_breaks failed' out

echo 'this is not C' >>sample.c
tools/test.sh >out 2>&1
check 'a build that fails is a failure' has 'fail build.dev'
check 'what the compiler said is shown' grep -q 'error:' out
check 'the closing line is there all the same' \
    grep -qxE '[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped' out

done_checking
