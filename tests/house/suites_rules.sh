#!/bin/bash
# suites_rules.sh -- tools/sdk-suites/suites.py counts every instance of a test
# that needs a server, and documents no failure without a cause.
#
# One small result of each test runner is recorded in a tree of its own; then
# the document is written with causes that fit and with causes that do not.
. "$(dirname "$0")/check.sh"
command -v python3 >/dev/null || { echo 'skipped: there is no python3'; exit 77; }

mkdir -p "$scratch/tools/sdk-suites" "$scratch/docs" "$scratch/src"
cp "$root/tools/sdk-suites/suites.py" "$scratch/tools/sdk-suites"
cd "$scratch" || exit 1
touch src/server.c
git init -q . && git add src &&
    git -c user.name=a -c user.email=a@b commit -qm server
here=tools/sdk-suites
suites=$here/suites.py
printf '%s\n' '{summary}' '{js}' '{failures}' >$here/document.md

cat >js <<'END'
{"testResults": [{"assertionResults": [
  {"fullName": "needs a server", "status": "passed"},
  {"fullName": "needs none", "status": "passed"},
  {"fullName": "fails", "status": "failed", "failureMessages": ["why\nwhere"]},
  {"fullName": "waits", "status": "pending"}]}]}
END
cat >python <<'END'
<testsuites><testsuite>
<testcase classname="tests.T" name="good"/>
<testcase classname="tests.T" name="bad[1]"><failure message="a"/></testcase>
<testcase classname="tests.T" name="bad[2]"><error message="b"/></testcase>
<testcase classname="tests.T" name="later"><skipped/></testcase>
</testsuite></testsuites>
END
cat >go <<'END'
=== RUN   TestGood
--- PASS: TestGood (0.1s)
=== RUN   TestDies
panic: nil
=== RUN   TestSkips
--- SKIP: TestSkips (0s)
END
cat >java <<'END'
<testng-results>
<test-method name="m" signature="m[instance:a]" status="FAIL"/>
<test-method name="m" signature="m[instance:a]" status="PASS"/>
<test-method name="m" signature="m[instance:b]" status="FAIL"/>
<test-method name="before" signature="before" status="FAIL" is-config="true"/>
<test-method name="n" signature="n" status="SKIP">
<exception class="java.lang.AssertionError"/></test-method>
<test-method name="o" signature="o" status="SKIP">
<exception class="org.testng.SkipException"/></test-method>
</testng-results>
END
echo 'needs none' >local
: >nothing

# record LANG RESULT CONTROL
record()
{
    python3 $suites record "$1" default file "$2" "$3" 1
}

check 'tests that pass without a server are not counted' \
    says 1 '1 passed, 1 failed, 1 skipped, 1 local' record js js local
check 'each set of parameters counts' \
    says 1 '1 passed, 2 failed, 1 skipped, 0 local' \
    record python python nothing
check 'a test that ends the process has failed' \
    says 1 '1 passed, 1 failed, 1 skipped, 0 local' record go go nothing
check 'each instance counts, by its last try, and one without its set-up' \
    says 1 '1 passed, 2 failed, 1 skipped, 0 local' record java java nothing
check 'no result is a failure' says 1 '0 passed, 1 failed' \
    record java absent nothing
record_at_once()
{
    local each runs=

    for each in 1 2 3 4 5 6 7 8 9; do
        python3 $suites record go strict "at-once-$each" go nothing 1 \
            >/dev/null &
        runs+=" $!"
    done
    # shellcheck disable=SC2086
    wait $runs
    [ "$(grep -c '^go.strict.at-once-.*-' $here/results.txt)" -eq 9 ]
}

cp $here/results.txt before
check 'runs at the same time lose no result' record_at_once
mv before $here/results.txt
check 'a file that was not run is noted' \
    python3 $suites expect js file other
check 'the control names what passed' says 0 '^needs none$' \
    python3 $suites control js js

printf '%s\n' 'cause Known' '    Because.' 'js file fails' 'python file *' \
    'go file TestDies' 'java * *' >$here/causes.txt
check 'the document is written' says 0 '' python3 $suites document
check 'it has the counts' grep -q '^| file | 1 of 2 | not run | 1 |' \
    docs/sdk-suites.md
check 'it has what was not run' \
    grep -q '^Not run at these commits (1 files): `other`.$' docs/sdk-suites.md
check 'it has the failures with their cause' \
    grep -q '^| Python, file | T::bad | 2 |  |$' docs/sdk-suites.md
check 'it is up to date' python3 $suites document --check
sed -i '/^go file/d' $here/causes.txt
check 'a failure without a cause is named' \
    says 1 'no cause is known: go file TestDies' python3 $suites document
echo 'js file works' >>$here/causes.txt
check 'so is a cause without a failure' \
    says 1 'no failure has this cause: js file works' python3 $suites document
echo changed >>docs/sdk-suites.md
check 'so is a document that is not up to date' \
    says 1 'not up to date' python3 $suites document --check
check 'docs/sdk-suites.md is what the results and causes say' \
    python3 "$root/tools/sdk-suites/suites.py" document --check
done_checking
