# results.awk -- from what tests print to one line per result.
#
#   awk -f results.awk [-v prefix=tsan.] CTEST_LOG     `ctest -V`
#   awk -f results.awk -v suite=NAME SUITE_LOG         one program's output
#
# Prints "pass NAME", "fail NAME" or "skip NAME" for every test, and the same
# for every case a test announces in TAP ("ok 3 - it_holds", "not ok it_fails",
# "ok # SKIP why"), as TEST/CASE with blanks turned to "_".  cmocka speaks TAP
# when CMOCKA_MESSAGE_OUTPUT=TAP.  A test that passed but showed fewer cases
# than its plan ("1..N") failed: a case must not get lost in silence.  A test
# that was skipped as a whole has its reason behind its name, if it printed a
# line "skipped: REASON".

function announce(test, line,    verdict, name) {
    if (line ~ /^skipped: /)
        why[test] = substr(line, 10)
    if (line ~ /^1\.\.[0-9]+ *$/) {
        planned[test] += substr(line, 4)
        return
    }
    if (line !~ /^(not )?ok([ \t]|$)/)
        return
    verdict = line ~ /^ok/ ? "pass" : "fail"
    if (line ~ /# *[Ss][Kk][Ii][Pp]/)
        verdict = "skip"
    name = line
    sub(/^(not )?ok[ \t]*/, "", name)
    sub(/^[0-9]+[ \t]*/, "", name)
    sub(/^# *[Ss][Kk][Ii][Pp][ \t]*/, "", name)
    sub(/^-[ \t]*/, "", name)
    sub(/[ \t]*#.*/, "", name)
    sub(/[ \t]+$/, "", name)
    gsub(/[ \t]+/, "_", name)
    shown[test]++
    if (verdict == "fail")
        failed[test]++
    print verdict, test "/" (name == "" ? shown[test] : name)
}

function conclude(test, verdict) {
    if (verdict == "pass" && shown[test] < planned[test]) {
        printf "%s: %d cases announced, %d shown\n", test, planned[test],
            shown[test] > "/dev/stderr"
        verdict = "fail"
    }
    if (verdict == "pass" && failed[test])
        verdict = "fail"
    if (verdict == "skip" && why[test] != "")
        print verdict, test, why[test]
    else
        print verdict, test
}

{ sub(/\r$/, "") }

suite != "" { announce(suite, $0); next }

/^ +Start +[0-9]+: / {
    id = $2
    sub(/:$/, "", id)
    name_of[id] = prefix $3
    next
}

/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
    id = $0
    sub(/^[^#]*#/, "", id)
    sub(/:.*/, "", id)
    verdict = "fail"
    if ($0 ~ / Passed +[0-9.]+ sec/)
        verdict = "pass"
    else if ($0 ~ /\*\*\*Skipped/)
        verdict = "skip"
    conclude(name_of[id], verdict)
    next
}

/^[0-9]+: / {
    id = $0
    sub(/:.*/, "", id)
    line = $0
    sub(/^[0-9]+: /, "", line)
    if (id in name_of)
        announce(name_of[id], line)
}

# A suite that shows no case has shown nothing.
END {
    if (suite != "") {
        verdict = status == 0 && shown[suite] > 0 ? "pass" : "fail"
        conclude(suite, status == 77 ? "skip" : verdict)
    }
}
