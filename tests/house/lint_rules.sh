#!/bin/bash
# lint_rules.sh -- tools/lint.sh checks the files that changed since the last
# release, those that include a changed header among them, and fails if one of
# them has a finding.
#
# A small repository, with stand-ins for cmake and clang-tidy: the one writes
# compile commands, the other names its file, and has a finding where that says
# so.
. "$(dirname "$0")/check.sh"

cp -r "$root/tools" "$scratch/tools"
cd "$scratch" || exit 1
mkdir -p bin src/base src/net include/runnel build
for file in base/a base/b net/c; do echo "int x;" >src/$file.c; done
echo '#include "base/a.h"' >src/net/c.c
echo '#include <runnel/d.h>' >src/base/b.c
touch src/base/a.h include/runnel/d.h
cat >bin/cmake <<'END'
#!/bin/bash
mkdir -p build/lint
{
    echo '['
    for file in src/*/*.c src/base/a.c; do
        printf '{\n  "directory": "/",\n  "command": "cc {}",\n'
        printf '  "file": "%s"\n},\n' "$file"
    done | sed '$s/,$//'
    echo ']'
} >build/lint/compile_commands.json
END
cat >bin/clang-tidy <<'END'
#!/bin/bash
for file; do :; done
echo "checked $file, $(grep -c "\"$file\"" "$2/compile_commands.json") command"
! grep -q finding "$file"
END
chmod +x bin/*
export PATH=$scratch/bin:$PATH
git init -q . && git add -A &&
    git -c user.name=a -c user.email=a@example.org commit -qm first

# checks STATUS FILES ARGUMENTS...: exactly these files, each once.
checks()
{
    local status=$1 files=$2 got

    shift 2
    said=$(tools/lint.sh "$@" 2>&1)
    got=$?
    echo "$said"
    [ "$got" -eq "$status" ] || { echo "exit status $got"; return 1; }
    [ "$(grep '^checked' <<<"$said" | sort)" = "$(for file in $files; do
        echo "checked $file, 1 command"
    done)" ]
}

every='src/base/a.c src/base/b.c src/net/c.c'
check 'without a release all of src is checked' checks 0 "$every" --since-release
check 'without an argument all of src is checked' checks 0 "$every"
check 'a file that is named is checked alone' checks 0 src/base/a.c src/base/a.c
git tag v0.1.0
check 'if nothing has changed nothing is checked' checks 0 '' --since-release
echo 'int y;' >src/base/a.c
check 'a file that has changed is checked' checks 0 src/base/a.c --since-release
echo 'int z;' >src/base/a.h
check 'the files that include a changed header are checked' \
    checks 0 'src/base/a.c src/net/c.c' --since-release
echo 'int z;' >include/runnel/d.h
echo 'int z;' >src/net/e.c
check 'the files that include the public header, and new ones, are checked' \
    checks 0 'src/base/a.c src/base/b.c src/net/c.c src/net/e.c' --since-release
echo 'int finding;' >>src/base/a.c
check 'a finding is a failure' checks 123 "$every src/net/e.c" --since-release
done_checking
