#!/bin/bash
# files_rules.sh -- tools/files.sh holds ARCHITECTURE.md against the tree.
. "$(dirname "$0")/check.sh"

mkdir -p "$scratch/tools" "$scratch/src/store" "$scratch/src/base"
cp "$root/tools/files.sh" "$scratch/tools/"
touch "$scratch/src/store/"{store.c,store.h,wal.c,wal_read.c,map.h}
write()
{
    cat >"$scratch/ARCHITECTURE.md" <<END
 base/         what store/store does, by store/wal_*

| file of \`store/\` | |
|---|---|
| \`store\`, \`map.h\` | the contract |
| $1 | the log |

| other | |
|---|---|
| \`nothing\` | no table of files |
END
}

write '`wal*`'
check 'a tree that is named in whole passes' "$scratch/tools/files.sh"
write '`wal`'
check 'a file that the document lacks is reported' \
    says 1 '^src/store/wal_read.c: not in a table' "$scratch/tools/files.sh"
write '`wal*`, `log`'
check 'a file that is named and not there is reported' \
    says 1 '^ARCHITECTURE.md: there is no src/store/log$' \
    "$scratch/tools/files.sh"
write '`wal*`'
echo 'as `store/walk` does' >>"$scratch/ARCHITECTURE.md"
check 'the text names no file that is not there' \
    says 1 '^ARCHITECTURE.md: there is no store/walk$' "$scratch/tools/files.sh"

write '`wal*`'
mkdir "$scratch/src/store/part"
touch "$scratch/src/store/part/"{one,two}.c
printf '%s\n' '' '| file of `store/part/` | |' '|---|---|' '| `one` | the part |' \
    >>"$scratch/ARCHITECTURE.md"
check 'a file of a part is in a table' \
    says 1 '^src/store/part/two.c: not in a table' "$scratch/tools/files.sh"
rm "$scratch/src/store/part/two.c"
check 'a part may have a table of its own' "$scratch/tools/files.sh"

printf '%s\n' 'struct rn_wal {' '    pthread_mutex_t lock;' '};' \
    >"$scratch/src/store/wal.c"
check 'a lock that the document lacks is reported' \
    says 1 '^src/store/wal.c: its lock is in no table' "$scratch/tools/files.sh"
printf '%s\n' '' '| rank | lock | guards |' '|---|---|---|' \
    '| 6 | `lock` of `struct rn_wal` | the row |' >>"$scratch/ARCHITECTURE.md"
check 'a lock in a table passes' "$scratch/tools/files.sh"

done_checking
