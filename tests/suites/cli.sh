#!/bin/bash
# cli.sh -- the program `runnel`, seen from a shell.
#
# Goal: its exit status and its one line of reason can be relied upon; a data
# directory that will not do is refused by every command and left as it was;
# dump, backup, restore and compact keep every record.
#
# Method: directories are unpacked from tests/golden and harmed in each way that
# an administrator meets.  The sum of all their files is taken before and after.
# RUNNEL is the program as released, RUNNEL_DEV the one with ASan, which is used
# wherever speed does not matter.
. "$(dirname "$0")/../house/check.sh"
release=${RUNNEL:-$root/build/release/runnel}
dev=${RUNNEL_DEV:-$root/build/dev/runnel}
if [ ! -x "$release" ] || [ ! -x "$dev" ]; then
    echo "not built: $release or $dev"
    exit 77
fi
cd "$scratch" || exit 1
golden_sum=$(cat "$root/tests/golden/format-1.dump.sha256")

# unpack DIR: a sound data directory.
unpack()
{
    mkdir "$1" && tar -xzf "$root/tests/golden/format-1.tar.gz" -C "$1"
}

# sum_of DIR: of names and bytes; of an absent one too.
sum_of()
{
    find "$1" 2>&1 | sort
    find "$1" -type f -print0 2>/dev/null | sort -z | xargs -0r sha256sum
}

# refused_so WORDS COMMAND...: exit status 2, nothing printed, and one line of
# reason like that.  What `verify` finds damaged is its output, once, and then
# there is no other line.
refused_so()
{
    local words=$1 got

    shift
    "$@" >out 2>err
    got=$?
    cat err
    [ "$got" -eq 2 ] || { echo "exit status $got"; return 1; }
    if [[ " $* " = *' verify '* ]] && [ -s out ]; then
        cat out
        [ ! -s err ] || { echo 'it says so twice'; return 1; }
        [ -z "$(sort out | uniq -d)" ] || { echo 'a line comes twice'; return 1; }
        grep -q -- "$words" out && return
        echo "no '$words'"
        return 1
    fi
    [ "$(wc -l <err)" -eq 1 ] || { echo 'not one line'; return 1; }
    grep -q -- "^runnel: .*$words" err || { echo "no '$words'"; return 1; }
    [ ! -s out ] || { echo 'it printed'; return 1; }
}

# refused DIR WORDS COMMAND...: the same, and DIR stays as it is.
refused()
{
    local dir=$1 before

    before=$(sum_of "$dir")
    shift
    refused_so "$@" || return 1
    [ "$before" = "$(sum_of "$dir")" ] || { echo 'it was changed'; return 1; }
}

# readers_refuse WHAT DIR WORDS: every command that opens a directory.
readers_refuse()
{
    local command

    for command in verify dump compact; do
        check "$command refuses a directory that is $1" \
            refused "$2" "$3" "$dev" "$command" "$2"
    done
}

# all_refuse WHAT DIR WORDS: and every command that copies one.
all_refuse()
{
    local command

    readers_refuse "$@"
    for command in backup restore; do
        check "$command refuses a directory that is $1" \
            refused "$2" "$3" "$dev" "$command" "$2" "$2.$command"
    done
    check "no copy of a directory that is $1 passes for one" \
        no_store "$2.backup" "$2.restore"
}

no_store()
{
    local dir

    for dir; do
        if [ -e "$dir/format" ]; then return 1; fi
    done
}

# has_all DIR: it is sound and its dump is the golden one.
has_all()
{
    says 0 '^sound: ' "$dev" verify "$1" || return 1
    "$release" dump "$1" >dumped || return 1
    [ "$(sha256sum <dumped | cut -d' ' -f1)" = "$golden_sum" ]
}

# ---- the command line --------------------------------------------------------

check 'help lists the commands' says 0 '^  verify  ' "$dev" help
check '--help does too' says 0 '^  compact  ' "$dev" --help
check '-h does too' says 0 '^  restore  ' "$dev" -h
check 'help is on standard output' test -z "$("$dev" help 2>&1 >/dev/null)"
check 'version prints the version' \
    says 0 '^runnel [0-9]+\.[0-9]+\.[0-9]+$' "$dev" version
check '--version does too' \
    says 0 '^runnel [0-9]+\.[0-9]+\.[0-9]+$' "$dev" --version
check 'no command at all is refused' says 2 '^Usage: runnel COMMAND' "$dev"
check 'an unknown command is refused' \
    refused_so "no command 'frobnicate'" "$dev" frobnicate
check 'an unknown option before the command is refused' \
    refused_so "no command '--frob'" "$dev" --frob verify x
check 'help is printed wherever it is asked for' \
    says 0 '^Usage: runnel keys ' "$dev" keys show --help
check 'version takes no operand' refused_so 'usage: runnel version' "$dev" version 1
for command in help version 'help serve'; do
    check "$command fails if it cannot print" \
        bash -c '"$@" >/dev/full 2>err; [ $? -eq 1 ] && grep -q "cannot write" err' \
        - "$dev" $command
done
check 'version fails if standard output is closed' \
    bash -c '"$@" >&- 2>err; [ $? -eq 1 ] && grep -q "cannot write" err' - "$dev" version
check 'help on an unknown command is refused' \
    refused_so "no command 'frobnicate'" "$dev" help frobnicate
listed=$("$dev" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z]*\) .*/\1/p')
check 'all commands are listed' \
    test "$(echo $listed)" = 'serve keys tls verify dump backup restore compact help version'
for command in $listed; do
    check "help $command prints its usage" \
        says 0 "^Usage: runnel $command( |\$)" "$dev" help "$command"
    check "$command --help does too" \
        says 0 "^Usage: runnel $command( |\$)" "$dev" "$command" --help
done
for command in verify dump compact backup restore; do
    check "$command refuses an unknown option" \
        refused_so "$command has no option '--frob'" "$dev" "$command" --frob x
    check "$command refuses a missing operand" \
        refused_so "usage: runnel $command " "$dev" "$command"
    check "$command refuses an operand too many" \
        refused_so "usage: runnel $command " "$dev" "$command" a b c
done
check 'none of these made anything' test ! -e x -a ! -e a -a ! -e b

# ---- directories that will not do --------------------------------------------

all_refuse absent absent absent

mkdir empty
all_refuse empty empty empty

mkdir foreign
echo 'not ours' >foreign/file
all_refuse foreign foreign foreign

unpack newer
sed -i 's/^format 1$/format 2/' newer/format
all_refuse 'of a later format' newer 'newer/format: .*format 2'

unpack no_format
rm no_format/format
all_refuse 'without its format' no_format no_format

unpack bad_format
sed -i 's/^restored 0$/restored 7/' bad_format/format
all_refuse 'damaged in its format' bad_format bad_format/format

unpack bad_checkpoint
printf 'X' | dd of=bad_checkpoint/checkpoint bs=1 seek=100 conv=notrunc \
    status=none
all_refuse 'damaged in its checkpoint' bad_checkpoint bad_checkpoint/checkpoint

unpack no_checkpoint
rm no_checkpoint/checkpoint
all_refuse 'without its checkpoint' no_checkpoint no_checkpoint/checkpoint

unpack bad_log
dd if=/dev/zero of=bad_log/log-0000000006 bs=4096 seek=8 count=4 conv=notrunc \
    status=none
readers_refuse 'damaged in its log' bad_log bad_log/log-0000000006
for command in backup restore; do
    check "$command refuses a directory that is damaged in its log" \
        refused bad_log bad_log/log-0000000006 \
        "$dev" "$command" bad_log "bad_log.$command"
done

unpack no_log
rm no_log/log-0000000005
all_refuse 'without a part of its log' no_log no_log/log-0000000005

unpack no_map
rm no_map/map-1
all_refuse 'without its map' no_map no_map/map-1

unpack short_map
truncate -s 8192 short_map/map-1
all_refuse 'cut short in its map' short_map short_map/map-1

unpack bad_map
dd if=/dev/zero of=bad_map/map-1 bs=4096 seek=10 count=40 conv=notrunc \
    status=none
all_refuse 'damaged in its map' bad_map bad_map/map-1
check 'verify calls a damaged page a checksum mismatch' \
    refused bad_map 'map-1: offset [0-9]*: checksum mismatch' \
    "$dev" verify bad_map

# ---- one that may be looked at only --------------------------------------------

# The superuser may write everywhere, so it becomes somebody else.
somebody=
if [ "$(id -u)" -eq 0 ]; then somebody='setpriv --reuid 65534 --clear-groups'; fi
unpack fixed
unpack wide
chmod 711 .
chmod -R 777 wide
chmod -R a+rX,a-w fixed
mkdir open
chmod 777 open
install -m 755 "$dev" runnel
for command in dump compact; do
    check "$command refuses a directory that cannot be written" \
        refused fixed 'fixed/lock: Permission denied' \
        $somebody ./runnel "$command" fixed
done
check 'backup refuses a directory that cannot be written' \
    refused fixed 'fixed/backup: Permission denied' \
    $somebody ./runnel backup fixed open/backup
check 'restore needs no right to write there' \
    $somebody ./runnel restore fixed open/restore
check 'verify needs no right to write' \
    says 0 '^sound: ' $somebody ./runnel verify fixed
check 'backup refuses a target that cannot be written' \
    refused fixed 'fixed/new: Permission denied' \
    $somebody ./runnel backup wide fixed/new
chmod -R u+w fixed

# ---- one that is in use ------------------------------------------------------

# A dump that nobody reads holds the lock for as long as we like.
unpack used
mkfifo pipe
exec 9<>pipe
"$release" dump used >pipe 2>/dev/null &
holder=$!
head -c 1 <&9 >/dev/null
for command in verify dump compact; do
    check "$command refuses a directory in use" \
        refused used "used/lock: in use, held by process $holder" "$dev" "$command" used
done
check 'backup copies a directory in use' "$dev" backup used used.copy
kill "$holder"
wait "$holder" 2>/dev/null
exec 9>&-
check 'that copy has every record' has_all used.copy
check 'the lock goes with its holder' has_all used

# ---- sound ones --------------------------------------------------------------

unpack sound
cat >sound/keys <<'END'
{"primary":"YQ==","secondary":"Yg==","primaryReadOnly":"Yw==",
"secondaryReadOnly":"ZA=="}
END
chmod 600 sound/keys
before=$(sum_of sound)
check 'verify finds the golden directory sound' \
    says 0 '^sound: [0-9]+ records in [0-9]+ pages, 14 records in the WAL$' \
    "$dev" verify sound
check 'backup copies it, and prints how much' \
    says 0 '^copy: [1-9][0-9]+ bytes of data, [1-9][0-9]+ bytes of WAL$' \
    "$dev" backup sound copy
check 'a backup notes when it began' \
    grep -qx '[0-9]\+ *' sound/backup
: >sound/backup
check 'verify and backup change nothing else' test "$before" = "$(sum_of sound)"
check 'the copy is of the same store' cmp sound/format copy/format
check 'the copy has the keys of the account' cmp sound/keys copy/keys
check 'the copy is for its owner only' test -z "$(find copy -perm /077)"
check 'the copy has every record' has_all copy
check 'dump prints exact lines' has_all sound
check 'dump says so when it cannot print' \
    says 1 'standard output' sh -c "'$dev' dump sound >/dev/full"

unpack closed
check 'dump fails if all of standard input, output and error are closed' \
    bash -c '"$@" <&- >&- 2>&-; [ $? -eq 1 ]' - "$dev" dump closed
check 'and prints into no file of the directory' \
    bash -c '! grep -rlE "\"key\"|^runnel: " closed'
check 'which has every record' has_all closed

# line WORD DIR: that line of its format.
line()
{
    sed -n "s/^$1 //p" "$2/format"
}

before=$(sum_of copy)
check 'restore makes a directory, and prints how much' \
    says 0 '^new: [1-9][0-9]+ bytes of data, [1-9][0-9]+ bytes of WAL$' \
    "$dev" restore copy new
check 'it leaves the copy as it was' test "$before" = "$(sum_of copy)"
check 'it is another store' test "$(line store new)" != "$(line store copy)"
check 'it is one restore further' test "$(line restored new)" -eq 1
check 'it has every record' has_all new
check 'it has the keys of the account' cmp sound/keys new/keys
check 'restore of it makes another' "$dev" restore new newer_still
check 'that is two restores further' test "$(line restored newer_still)" -eq 2
check 'and has every record' has_all newer_still

check 'backup says so when a file may not become so long' \
    says 1 'File too large' bash -c "ulimit -f 512; '$dev' backup sound limited"

mkdir waiting
check 'backup takes an empty directory' "$dev" backup sound waiting
check 'and fills it' has_all waiting
for command in backup restore; do
    check "$command refuses a target that holds a store" \
        refused new 'new: ' "$dev" "$command" sound new
    check "$command refuses a target that holds anything" \
        refused foreign 'foreign: ' "$dev" "$command" sound foreign
done

size=$(stat -c %s sound/map-1)
check 'compact rewrites it' \
    says 0 '^[0-9]+ records, [0-9]+ bytes before, [0-9]+ after$' \
    "$dev" compact sound
check 'the old map is gone' test ! -e sound/map-1
check 'the new map is smaller' test "$(stat -c %s sound/map-2)" -lt "$size"
check 'compact keeps every record' has_all sound
check 'compact of a compacted one works' "$dev" compact sound
check 'and keeps every record' has_all sound
before=$(ls sound)
check 'compact says so when there is no space' \
    says 1 'sound/map-4: ' bash -c "ulimit -f 512; '$dev' compact sound"
check 'and leaves none of the new map behind' test "$before" = "$(ls sound)"
check 'nor loses a record' has_all sound

# ---- copies that were cut off ------------------------------------------------

# The map has room to grow at its end, which is copied too: time to kill.
unpack large
truncate -s 256M large/map-1

# cut_off COMMAND FILE: kills it as soon as there is something in that file.
cut_off()
{
    local pid

    rm -rf cut
    "$release" "$1" large cut 2>/dev/null &
    pid=$!
    until [ -s "cut/$2" ]; do
        kill -0 "$pid" 2>/dev/null || return 1
    done
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    test ! -e cut/format
}

for command in backup restore; do
    for file in map-1-sums map-1; do
        check "a $command is cut off after $file" cut_off "$command" "$file"
        all_refuse "a $command cut off after $file" cut cut
        check "nor is it taken as a target after $file" \
            refused cut 'cut: ' "$dev" backup large cut
    done
done
check 'the store that was being copied has every record' has_all large

done_checking
