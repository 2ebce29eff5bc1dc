#!/bin/bash
# tidy.sh -- the rules of the house that a compiler does not know.
#
#   tools/tidy.sh [DIR]        DIR: the tree to look at, this one by default
#
# Prints file:line: what is wrong, and exits with status 1 if anything is.
# tests/house/tidy_rules.sh shows each rule at work.
set -u
export LC_ALL=C
tools=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$tools/..}" || exit 2

# A function that may be called only in the places named: files, directories
# ("base/"), or nowhere ("-").  The first list holds for tests too, the others
# for src/ and include/.
export BANNED='
- | strcpy strcat sprintf vsprintf strtok gets atoi atol gmtime localtime alloca
'
export KEPT='
base/ | malloc calloc realloc reallocarray free strdup strndup asprintf
base/ | vasprintf aligned_alloc posix_memalign
base/ | time clock_gettime gettimeofday sleep usleep nanosleep
base/ | rand random srand srandom getrandom getentropy
cli/ server/ tools/ base/log.c | printf fprintf vprintf vfprintf dprintf vdprintf
cli/ server/ tools/ base/log.c | puts putchar perror
'
# A foreign library enters in one place (ARCHITECTURE.md).
export FOREIGN='
openssl/         net/tls.c net/authority.c cosmos/sign.c base/ tools/trigger/signature.c
lmdb.h           store/lmdb/lmdb_map.c store/lmdb/lmdb_map.h
libpq-fe.h       store/pg.c
pcre2.h          query/
xxhash.h         base/hash.c base/hash_avx2.c
curl/            client/ tools/trigger/http.c
JavaScriptCore/  script/
jansson.h        -
sys/epoll.h      net/ base/
sys/eventfd.h    net/ base/
'
# A function is declared in the header of its own .c file, the one beside it.
# The public headers of include/ are implemented by many files by nature, and
# the handlers of rest/ are slots of one table.  These files implement a contract
# of several implementations, or a part of the noun of another file, whose users
# know one header.
ELSEWHERE='
base/env_real.c                  the machine behind the contract env.h
client/lease/store_blocking.c    a kind of store behind the contract store.h
client/lease/store_container.c   a kind of store behind the contract store.h
client/processor/host_health.c   the host as other threads see it, host.h
client/processor/host_wait.c     the host as other threads see it, host.h
client/processor/window_judge.c  what a window does with a verdict, window.h
json/parse.c                     makes the values of json.h
json/value.c                     reads the values of json.h
'
export ELSEWHERE

bad=0

# mapfile over `find`, since a tree from a tarball has no git to ask.
look_in=()
for dir in src include tests bench examples; do
    if [ -d "$dir" ]; then look_in+=("$dir"); fi
done
c_files=()
if [ ${#look_in[@]} -gt 0 ]; then
    mapfile -t c_files < <(find "${look_in[@]}" -name node_modules -prune -o \
        -type f -name '*.[ch]' -print | sort)
fi
if [ ${#c_files[@]} -gt 0 ]; then
    awk -f "$tools/tidy.awk" "${c_files[@]}" || bad=1
fi

# Sources are listed by hand; a file that is not listed is not compiled.
listed=$(sed 's/#.*//; s/[()]/ & /g' CMakeLists.txt 2>/dev/null | awk '
    {
        for (i = 1; i <= NF; i++) {
            if (module == "?" && $i != "(") module = $i
            else if ($i == "runnel_module") module = "?"
            else if ($i == ")") module = ""
            else if ($i ~ /^src\/.*\.c$/) print $i
            else if (module != "" && $i ~ /\.c$/)
                print "src/" module "/" $i
        }
    }')
for file in "${c_files[@]}"; do
    case $file in
    src/*.c)
        grep -qxF "$file" <<<"$listed" || {
            echo "$file:1: not listed in CMakeLists.txt"
            bad=1
        }
        ;;
    esac
done

found()
{
    if [ -n "$2" ]; then
        sed "s|^\./||; s|\$|: $1|" <<<"$2"
        bad=1
    fi
}

# A tag names one struct, union or enum in the whole of src/.
if [ -d src ]; then
    again=$(grep -rnE --include='*.[ch]' \
        '^(struct|union|enum) rn_[a-z0-9_]+ \{' src | sort | awk -F: '
        {
            split($3, word, " ")
            if (word[2] in first)
                print $1 ":" $2 ": the tag " word[2] " exists in " first[word[2]]
            else
                first[word[2]] = $1
        }')
    if [ -n "$again" ]; then
        echo "$again"
        bad=1
    fi
fi

# Words of this project alone, for things that have a standard name; the glossary
# of ARCHITECTURE.md has the names that replaced them.
retired='recent|guide|settle|thin|seal|sieves?|turned|chance|keyset|moment|jail'
retired+='|journal|peers|reshape|whole|watched|blocks|reading|home|slim|chore'
retired+='|stretch|homeless|doomed|page_sums|record_sum|wal_sum|sim_chance'
retired+='|http_reader_(space|fed)|segment_(has_)?mark|tree_mark|wal_marks'
retired+='|(memtable|sparse_index)_expect|local_keep'
words='keeper|flusher|settling|recent_bytes|log_bytes|LOG_(SHARE|LEAST|MOST)'
words+='|REST_MS|at_rest|is_jailed|seal_(add|bad|record)|asker|asked_for|box_open'
words+='|reshape|homeless_key|no_chance|on_(fed|late)|call->(gone|quiet)|m->watch'
words+='|struct (sieve|lab|home|figure)|struct rn_apply turn|(new|begin)_watch'
words+='|watch_begin|(fit|sync|verify)_log|log_(opts|records)|home_of|set_home'
words+='|(block|print)_sum|captured_sums|sums_txnid|damaged_is_a_sum'
phrases='(what|that) is none|(is|are) told of|for want of|[Ww]hoever'
phrases+='|\<it is none[.;]'
if [ ${#c_files[@]} -gt 0 ]; then
    found 'a retired name' "$(grep -niE "\\brn_($retired)(_|\\b)" \
        "${c_files[@]}" /dev/null | cut -d: -f1,2)"
    found 'a retired word' "$(grep -nwE "$words" "${c_files[@]}" /dev/null |
        cut -d: -f1,2)"
    found 'a retired phrase' "$(grep -nE "$phrases" "${c_files[@]}" /dev/null |
        cut -d: -f1,2)"
fi

text=(--include='*.sh' --include='*.awk' --include='*.md' --include='*.py'
    --include='*.js' --include='*.json' --include='*.cmake'
    --include=CMakeLists.txt)
everywhere=(--exclude-dir=.git --exclude=.git --exclude-dir=build
    --exclude-dir=node_modules --exclude-dir=__pycache__)
# The same in scripts and documents; the glossary and these rules quote them.
coined='sieves?|reshape[ds]?|homeless|asker|flusher|recent_bytes|log_records'
found 'a retired word' "$(grep -rnIwE "${text[@]}" --include='*.java' \
    "${everywhere[@]}" --exclude=ARCHITECTURE.md --exclude=tidy.sh \
    --exclude=tidy_rules.sh "$coined" . | cut -d: -f1,2)"
found 'a retired phrase' "$(grep -rnIE "${text[@]}" --include='*.java' \
    "${everywhere[@]}" --exclude=tidy.sh --exclude=tidy_rules.sh \
    "$phrases" . | cut -d: -f1,2)"
found 'trailing blank' "$(grep -rnIE "${text[@]}" "${everywhere[@]}" \
    '[[:blank:]]+$' . | cut -d: -f1,2)"
found 'tab' "$(grep -rnI "${text[@]}" "${everywhere[@]}" $'\t' . |
    cut -d: -f1,2)"
found 'a path of one machine' "$(grep -rnIE "${everywhere[@]}" \
    '(^|[^A-Za-z0-9._$}])/([w]ork|[r]oot|[h]ome/[a-z]+|[U]sers)/' . |
    cut -d: -f1,2)"

exit $bad
