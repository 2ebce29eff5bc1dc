#!/bin/bash
# sdk_java.sh -- the published Java client works against the server.
. "$(dirname "$0")/../sdk/lib.sh"

# What is there is not fetched again.
install()
{
    cmp -s "$sources/pom.xml" "$kit/installed" && return
    cp "$sources/pom.xml" "$kit/" && cd "$kit" &&
        timeout 400 mvn -q -B -Dmaven.repo.local="$kit/repo" \
            dependency:build-classpath -Dmdep.outputFile="$kit/classpath" &&
        cp pom.xml installed
}

sdk_begin java
sdk_need mvn
sdk_need javac
program=${RUNNEL_DEV%/*}/tests/processor_program
[ -x "$program" ] || sdk_skip "there is no $program"
sdk_install install
classpath=$kit/classes:$(cat "$kit/classpath")
javac -Xlint:all,-processing,-path -cp "$classpath" -d "$kit/classes" "$sources"/*.java
sdk_report $? 'the tests compile'
sdk_run java -cp "$classpath" -DCOSMOS.HTTP_CONNECTION_WITHOUT_TLS_ALLOWED=true \
    -Drunnel.program="$program" Main
