#!/bin/bash
# hardening_rules.sh -- the flags in CMakeLists.txt make a hardened program with
# either compiler, and tools/hardening.sh misses nothing.
#
# The real CMakeLists.txt and base/ build a program of ten lines, which must
# pass; then the same lines are compiled with one protection taken away.
. "$(dirname "$0")/check.sh"

cd "$scratch" || exit 1
mkdir tree
cp -r "$root/src" "$root/CMakeLists.txt" "$root/tools" tree/
cat >sample.c <<'EOF'
#include <assert.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    char text[64];

    assert(argc > 0);
    strncpy(text, argv[argc - 1], (unsigned)argc * 8);
    return puts(text) < 0;
}
EOF
cat >>tree/CMakeLists.txt <<'EOF'
add_executable(sample ../sample.c)
target_link_libraries(sample PRIVATE rn_base)
EOF

build()
{
    cmake -S tree -B "$1" -G Ninja -DCMAKE_C_COMPILER="$1" \
        -DCMAKE_BUILD_TYPE=RelWithDebInfo -DRUNNEL_TESTS=OFF &&
        cmake --build "$1" --target sample
}

for compiler in gcc clang; do
    check "the release flags suit $compiler" build "$compiler"
    check "a program of $compiler is hardened" \
        "$root/tools/hardening.sh" "$compiler/sample"
done

all='-O2 -fPIE -D_FORTIFY_SOURCE=2 -fstack-protector-strong
-pie -Wl,-z,relro,-z,now,-z,noexecstack'

# lacks RULE FLAG...: compiled with flags that undo one of `all`
lacks()
{
    local rule=$1

    shift
    # shellcheck disable=SC2086
    gcc $all "$@" sample.c -o weak || return 1
    says 1 "$rule" "$root/tools/hardening.sh" weak
}

# shellcheck disable=SC2086
gcc $all sample.c -o strong
check 'a hardened program passes' "$root/tools/hardening.sh" strong
check 'a fixed address is refused' lacks 'position independent' -fno-pie -no-pie
check 'a library is refused' lacks 'not a program' -fPIC -shared
check 'a writable relocation table is refused' lacks RELRO -Wl,-z,norelro
check 'lazy binding is refused' lacks lazily -Wl,-z,lazy
check 'an executable stack is refused' lacks 'stack is executable' \
    -Wl,-z,execstack
check 'no stack protector is refused' lacks 'no stack protector' \
    -fno-stack-protector
check 'no fortification is refused' lacks fortified -U_FORTIFY_SOURCE
check 'compiled-out asserts are refused' lacks 'asserts' -DNDEBUG
check 'a sanitizer is refused' lacks sanitizer -fsanitize=address
check 'no program is no verdict' says 77 'not built' \
    "$root/tools/hardening.sh" none

done_checking
