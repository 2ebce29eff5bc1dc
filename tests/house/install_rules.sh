#!/bin/bash
# install_rules.sh -- `make install` puts files where DESTDIR and PREFIX say.
#
# The rules are the real ones; what they install is a program and a library of
# one line each, so that this takes no time.  A user of the library is then
# compiled with what pkg-config says of it.
. "$(dirname "$0")/check.sh"

cd "$scratch" || exit 1
mkdir -p tree/include/runnel
for part in Makefile CMakePresets.json LICENSE README.md ARCHITECTURE.md \
    CHANGELOG.md CONTRIBUTING.md SECURITY.md docs contrib examples tools; do
    cp -r "$root/$part" tree/
done
echo 'int runnel_sample(void);' >tree/include/runnel/runnel.h
echo 'int runnel_sample(void); int runnel_sample(void) { return 42; }' \
    >tree/sample.c
echo 'int main(void) { return 0; }' >tree/main.c
cat >tree/tools.c <<'EOF'
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int lists = strcmp(argv[1], "--commands") == 0;

    puts(lists ? "one The first\ntwo The second" : argv[argc - 1]);
    return 0;
}
EOF
awk '
    /^runnel_module\(/ && !skipping++ {
        print "add_executable(runnel main.c)"
        print "add_executable(runnel-tools tools.c)"
        print "add_library(librunnel STATIC sample.c)"
        print "set_target_properties(librunnel PROPERTIES OUTPUT_NAME runnel)"
    }
    /^# What `make install` copies/ { skipping = 0 }
    !skipping { print }' "$root/CMakeLists.txt" >tree/CMakeLists.txt

install_it()
{
    env -u MAKEFLAGS -u MAKELEVEL make -C tree install PREFIX=/opt/rn \
        DESTDIR="$scratch/dest"
}

check 'make install succeeds' install_it
dest=$scratch/dest/opt/rn
check 'the program is there' test -x "$dest/bin/runnel"
check 'the tools are beside it' test -x "$dest/bin/runnel-tools"
check 'every tool has a man page' \
    test "$(cat "$dest"/share/man/man1/runnel-*.1)" = $'one\ntwo'
check 'the three shells have their completions' test \
    "$(cat "$dest/share/bash-completion/completions/runnel" \
        "$dest/share/zsh/site-functions/_runnel" \
        "$dest/share/fish/vendor_completions.d/runnel.fish")" = \
    $'bash\nzsh\nfish'
check 'the licence is there' test -f "$dest/share/doc/runnel/LICENSE"
check 'the ledger is there' \
    test -f "$dest/share/doc/runnel/docs/compatibility.md"
check 'the unit and the alerts are there' \
    test -f "$dest/share/doc/runnel/contrib/runnel.service" -a \
    -f "$dest/share/doc/runnel/contrib/alerts.yml"
check 'the unit is where systemd looks below the prefix, and starts the program that was installed' \
    grep -qx 'ExecStart=/opt/rn/bin/runnel serve .*' \
    "$dest/lib/systemd/system/runnel.service"
# Prints what links to other files name and is not there.
lost_links()
{
    local page link

    cd "$dest/share/doc/runnel" || return 1
    find . -name '*.md' | while read -r page; do
        grep -o '](\([^):#]*\)[)#]' "$page" | sed 's/^](//; s/[)#]$//' |
            while read -r link; do
                if [ -n "$link" ] && [ ! -e "$(dirname "$page")/$link" ]; then
                    echo "$page: $link"
                fi
            done
    done
}
check 'what the installed pages link to is there' test -z "$(lost_links)"
check 'the public header is there' test -f "$dest/include/runnel/runnel.h"
check 'nothing lies outside the prefix' \
    test "$(cd dest && find . -type f ! -path './opt/rn/*' | wc -l)" -eq 0

PKG_CONFIG_PATH=$(dirname "$(find dest -name runnel.pc)")
export PKG_CONFIG_PATH
export PKG_CONFIG_SYSROOT_DIR=$scratch/dest
compile()
{
    # shellcheck disable=SC2046
    gcc use.c $(pkg-config --cflags --libs runnel) -o use && ./use
}
cat >use.c <<'EOF'
#include <runnel/runnel.h>

int main(void)
{
    return runnel_sample() != 42;
}
EOF
check 'a program compiles by pkg-config' compile
check 'pkg-config has the version of the project' \
    grep -qF "VERSION $(pkg-config --modversion runnel) " "$root/CMakeLists.txt"

done_checking
