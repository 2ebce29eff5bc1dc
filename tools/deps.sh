#!/bin/bash
# deps.sh -- installs the Debian packages that are missing.
#
#   tools/deps.sh [--check] build|test|suites|bench ...
#
# With --check it installs nothing: it names what is missing and fails.  Says
# what it does.  When everything is there it does nothing and touches no
# network.  Needs root or sudo, which may ask for a password on a terminal;
# where it has neither it names the packages and exits with status 2.
#
# `suites` has what single suites need beyond the tests of the tree: a suite
# whose program is missing is skipped, so `make test` goes on without them.
set -u
cd "$(dirname "$0")/.." || exit 1

# One package a line.  A command behind a name: the package is not wanted where
# that command exists, wherever it came from.
list_build='
build-essential
cmake             cmake
ninja-build       ninja
pkgconf           pkg-config
liblmdb-dev
libxxhash-dev
libssl-dev
libcurl4-openssl-dev
libpcre2-dev
'
list_test='
libcmocka-dev
libjansson-dev
libpq-dev
clang             clang
clang-format      clang-format
clang-tidy        clang-tidy
valgrind          valgrind
strace            strace
spin              spin
btrfs-progs       mkfs.btrfs
xfsprogs          mkfs.xfs
'
# What the published Cosmos SDKs run on, the servers that examples use, and the
# shells that complete commands.
list_suites='
nodejs            node
npm               npm
default-jdk-headless javac
maven             mvn
golang            go
python3-venv
redis-server      redis-server
postgresql        psql
zsh               zsh
fish              fish
'
list_bench='
librocksdb-dev
nginx-light       nginx
redis-server      redis-server
postgresql        psql
wrk               wrk
'

fail()
{
    echo "deps: $*" >&2
    exit 2
}

installed()
{
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# clang's sanitizers are a package of their own, named after its version, which
# is known once clang is there; hence the two rounds below.
clang_runtime()
{
    local major

    major=$(clang -dumpversion 2>/dev/null | cut -d. -f1)
    if [ -n "$major" ]; then
        echo "libclang-rt-$major-dev"
    fi
}

wanted()
{
    local group

    for group in "$@"; do
        case $group in
        build) echo "$list_build" ;;
        test)
            echo "$list_test"
            clang_runtime
            ;;
        suites) echo "$list_suites" ;;
        bench) echo "$list_bench" ;;
        esac
    done
}

missing()
{
    local package command

    wanted "$@" | while read -r package command; do
        [ -n "$package" ] || continue
        [ -n "$command" ] && command -v "$command" >/dev/null && continue
        installed "$package" || echo "$package"
    done
}

apt()
{
    $sudo env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y -o DPkg::Lock::Timeout=400 "$@"
}

# Another apt-get may hold the lists; unlike dpkg's lock, apt does not wait for
# that one by itself.
update()
{
    local try

    for try in 1 2 3 4 5 6; do
        apt update && return 0
        echo "deps: apt-get update failed, try $try of 6" >&2
        sleep 10
    done
    return 1
}

install()
{
    echo "deps: installing: $*"
    # Lists that do not know a package are absent or old.
    if apt-cache show --no-all-versions "$@" >/dev/null 2>&1 &&
        apt install --no-install-recommends "$@"; then
        return 0
    fi
    update && apt install --no-install-recommends "$@"
}

is_check=
if [ "${1:-}" = --check ]; then
    is_check=yes
    shift
fi
[ $# -gt 0 ] || fail 'usage: tools/deps.sh [--check] build|test|suites|bench ...'
for group in "$@"; do
    case $group in
    build | test | suites | bench) ;;
    *) fail "there is no list '$group' (build, test, suites, bench)" ;;
    esac
done

sudo=
for round in 1 2; do
    packages=$(missing "$@" | sort -u | tr '\n' ' ')
    [ -n "$packages" ] || exit 0
    command -v apt-get >/dev/null && command -v dpkg-query >/dev/null ||
        fail "this is not Debian; install what these give: $packages"
    if [ -n "$is_check" ]; then
        fail "missing packages; as root: apt-get install $packages"
    fi
    if [ "$(id -u)" -ne 0 ]; then
        if sudo -n true 2>/dev/null; then
            sudo='sudo -n'
        elif [ -t 0 ] && command -v sudo >/dev/null; then
            sudo=sudo # it asks for the password
        else
            fail "not root and no sudo without a password; install: $packages"
        fi
    fi
    # shellcheck disable=SC2086
    install $packages || fail "apt-get could not install: $packages"
done
packages=$(missing "$@" | tr '\n' ' ')
[ -z "$packages" ] || fail "still missing after installing: $packages"
