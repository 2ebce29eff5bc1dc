#!/bin/bash
# deps_rules.sh -- tools/deps.sh installs what is missing and only that.
#
# The machine is replaced by small programs first in PATH: dpkg-query knows the
# packages in a file, apt-get writes down its arguments and adds to that file.
. "$(dirname "$0")/check.sh"

bin=$scratch/bin
mkdir -p "$bin" "$scratch/tree/tools" "$scratch/base"
cp "$root/tools/deps.sh" "$scratch/tree/tools/"
for tool in bash sh sed sort tr cut dirname env cat grep chmod; do
    ln -s "$(command -v $tool)" "$scratch/base/$tool"
done

# stub NAME BODY
stub()
{
    printf '#!/bin/bash\n%s\n' "$2" >"$bin/$1"
    chmod +x "$bin/$1"
}

export STATE=$scratch/state
machine()
{
    rm -rf "$bin" "$STATE" "$scratch/tree/tests"
    mkdir -p "$bin" "$STATE"
    printf '%s\n' "$@" >"$STATE/installed"
    : >"$STATE/calls"
    stub dpkg-query 'grep -qxF "${!#}" "$STATE/installed" &&
        printf installed || exit 1'
    stub apt-cache 'exit 0'
    stub apt-get 'echo "$*" >>"$STATE/calls"
        for word; do case $word in -*|install|update|DPkg*) ;;
        *) echo "$word" >>"$STATE/installed";; esac; done'
    stub sleep 'exit 0'
    stub id 'echo 0'
}

deps()
{
    PATH=$bin:$scratch/base "$scratch/tree/tools/deps.sh" "$@"
}

build='build-essential cmake ninja-build pkgconf liblmdb-dev libxxhash-dev
libssl-dev libcurl4-openssl-dev libpcre2-dev'

# shellcheck disable=SC2086
machine $build
check 'when everything is there apt is not called' deps build
check 'no call was made' test ! -s "$STATE/calls"

machine $build
sed -i '/lmdb/d; /ninja/d' "$STATE/installed"
check 'what is missing is installed' \
    says 0 'installing: liblmdb-dev ninja-build' deps build
check 'nothing else is' \
    grep -qE 'install --no-install-recommends liblmdb-dev ninja-build$' \
    "$STATE/calls"
check 'dpkg is waited for' grep -q 'Lock::Timeout=[1-9]' "$STATE/calls"
check 'lists that are good are not fetched again' \
    says 1 '' grep -q update "$STATE/calls"

machine $build
sed -i '/lmdb/d' "$STATE/installed"
check 'a check names what is missing' \
    says 2 'missing packages; as root: apt-get install liblmdb-dev' \
    deps --check build
check 'and installs nothing' test ! -s "$STATE/calls"

machine $build
sed -i '/ninja/d' "$STATE/installed"
stub ninja 'exit 0'
check 'a command from elsewhere will do' deps build
check 'so no call was made' test ! -s "$STATE/calls"

machine $build
sed -i '/lmdb/d' "$STATE/installed"
stub apt-cache 'exit 100'
check 'lists that do not know a package are fetched' deps build
check 'before installing' \
    says 0 'update' sed -n 1p "$STATE/calls"

machine $build
sed -i '/lmdb/d' "$STATE/installed"
stub id 'echo 1000'
check 'without root and sudo the packages are named' \
    says 2 'not root.*install: liblmdb-dev' deps build
stub sudo 'echo "sudo $1" >>"$STATE/calls"; shift; "$@"'
check 'sudo that asks nothing will do' \
    says 0 'installing: liblmdb-dev' deps build
check 'and is what installs' \
    test "$(grep -c '^sudo -n$' "$STATE/calls")" -eq 2

machine $build
sed -i '/lmdb/d' "$STATE/installed"
stub apt-get 'exit 100'
check 'a failed installation is reported' \
    says 2 'could not install: liblmdb-dev' deps build
stub apt-get 'exit 0'
check 'an installation without effect is reported' \
    says 2 'still missing.*liblmdb-dev' deps build
rm "$bin/apt-get" "$bin/dpkg-query"
check 'elsewhere than on Debian the packages are named' \
    says 2 'not Debian.*liblmdb-dev' deps build

machine $build libcmocka-dev libjansson-dev libpq-dev clang-format clang-tidy valgrind \
    strace spin
stub apt-get 'echo "$*" >>"$STATE/calls"
    for word; do case $word in -*|install|DPkg*) ;;
    *) echo "$word" >>"$STATE/installed";; esac; done
    printf "#!/bin/bash\necho 19.1.7\n" >'"$bin"'/clang; chmod +x '"$bin"'/clang'
check 'the sanitizers of the clang that came are installed after it' \
    says 0 'installing: libclang-rt-19-dev' deps build test
check 'clang came first' says 0 ' clang( |$)' sed -n 1p "$STATE/calls"
check 'the tests of the tree do not need what single suites need' \
    says 1 '' grep -qE 'nodejs|maven|golang|redis' "$STATE/calls"
stub node 'exit 0'
stub psql 'exit 0'
check 'what suites need is a list of its own' \
    says 0 'installing: default-jdk-headless fish golang maven npm python3-venv redis-server zsh' \
    deps suites

check 'an unknown list is refused' says 2 "no list 'tests'" deps tests
check 'no list is refused' says 2 usage deps

done_checking
