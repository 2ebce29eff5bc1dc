# tidy.awk -- the part of tidy.sh that reads C.  BANNED, KEPT, FOREIGN and
# ELSEWHERE come from there, in the environment.

# "place place | word word" on every line -> where[word] = "place place"
function read_words(text, where,    line, half, word, i, j, n, m) {
    n = split(text, line, "\n")
    for (i = 1; i <= n; i++) {
        if (split(line[i], half, "|") != 2)
            continue
        sub(/ +$/, "", half[1])
        m = split(half[2], word, " ")
        for (j = 1; j <= m; j++)
            where[word[j]] = half[1]
    }
}

# "path   reason" on every line -> elsewhere[path]
function read_elsewhere(text,    line, i, n) {
    n = split(text, line, "\n")
    for (i = 1; i <= n; i++)
        if (line[i] ~ /[^ ]/) {
            sub(/ .*/, "", line[i])
            elsewhere["src/" line[i]] = 1
        }
}

function read_foreign(text,    line, i, n, header) {
    n = split(text, line, "\n")
    for (i = 1; i <= n; i++) {
        if (line[i] !~ /[^ ]/)
            continue
        header = line[i]
        sub(/ .*/, "", header)
        sub(/^[^ ]+ +/, "", line[i])
        home[header] = line[i]
    }
}

# Is src/base/x.c in one of "base/ cli/main.c"?
function allowed(places,    place, i, n) {
    n = split(places, place, " ")
    for (i = 1; i <= n; i++)
        if (index(FILENAME, "src/" place[i]) == 1)
            return 1
    return 0
}

function complain(text) {
    print FILENAME ":" FNR ": " text
    bad = 1
}

# The line without comments and the insides of strings.
function code_of(line,    out, at, mark, end) {
    out = ""
    for (;;) {
        if (in_comment) {
            end = index(line, "*/")
            if (!end)
                return out
            line = substr(line, end + 2)
            in_comment = 0
        }
        if (!match(line, /"|'|\/\*|\/\//))
            return out line
        at = RSTART
        mark = substr(line, at, RLENGTH)
        out = out substr(line, 1, at - 1)
        line = substr(line, at + RLENGTH)
        if (mark == "//")
            return out
        if (mark == "/*") {
            in_comment = 1
        } else if (mark == "\"") {
            if (!match(line, /^([^"\\]|\\.)*"/))
                return out
            out = out "\"\""
            line = substr(line, RLENGTH + 1)
        } else {
            if (!match(line, /^([^'\\]|\\.)*'/))
                return out
            out = out "' '"
            line = substr(line, RLENGTH + 1)
        }
    }
}

# Calls in the code.  A word behind "." or "->" is some table's own.
function check_calls(code,    word, before) {
    while (match(code, /[A-Za-z_][A-Za-z_0-9]*[ ]*\(/)) {
        word = substr(code, RSTART, RLENGTH)
        sub(/[ ]*\($/, "", word)
        before = RSTART > 1 ? substr(code, RSTART - 1, 1) : ""
        code = substr(code, RSTART + RLENGTH)
        if (before == "." || before == ">")
            continue
        if (word in banned)
            complain(word " is banned")
        else if (in_src && word in kept && !allowed(kept[word]))
            complain(word " belongs in " kept[word])
    }
}

function check_include(line,    header, prefix) {
    sub(/^[ ]*#[ ]*include[ ]*[<"]/, "", line)
    sub(/[>"].*/, "", line)
    for (prefix in home)
        if (index(line, prefix) == 1 && !allowed(home[prefix]))
            complain(line " is included in " \
                (home[prefix] == "-" ? "no file of src" : home[prefix]))
}

# The function that a head names; "" if it is not the head of a function that
# other files see.
function function_of(head) {
    if (head !~ /\(/ || head ~ /(^| )(static|typedef) / || head ~ /=/)
        return ""
    sub(/ *\(.*/, "", head)
    if (head !~ /[ *][A-Za-z_0-9]+$/)
        return ""
    sub(/.*[ *]/, "", head)
    return head
}

# What stands outside of braces: declarations in a header, definitions in a
# source.  A brace of a body, of a struct or of a table is the first character
# of its line or the last one.
function outline(code,    end, name) {
    if (in_directive || code ~ /^ *#/) {
        in_directive = code ~ /\\$/
        return
    }
    if (code ~ /^\}/) {
        in_braces = code ~ /\{ *$/
        head = ""
        return
    }
    if (!in_braces && code ~ /\{ *$/) {
        in_braces = 1
        name = code ~ /^\{/ ? function_of(head) : ""
        if (name != "" && FILENAME ~ /\.c$/) {
            defined[++definitions] = name
            defined_in[definitions] = FILENAME
            defines[FILENAME] = 1
            defined_at[definitions] = head_at
        }
        head = ""
    }
    if (in_braces)
        return
    if (head !~ /[^ ]/)
        head_at = FNR
    head = head " " code
    while ((end = index(head, ";"))) {
        name = function_of(substr(head, 1, end - 1))
        if (name != "" && FILENAME ~ /\.h$/)
            declared[name] = declared[name] " " FILENAME
        head = substr(head, end + 1)
    }
}

# A function is declared in the header of its own .c file.
function check_headers(    i, own, in_headers, file) {
    for (i = 1; i <= definitions; i++) {
        own = defined_in[i]
        sub(/c$/, "h", own)
        in_headers = declared[defined[i]]
        if (in_headers == "" || index(in_headers " ", " " own " "))
            continue
        if (defined_in[i] in elsewhere) {
            needed[defined_in[i]] = 1
            continue
        }
        print defined_in[i] ":" defined_at[i] ": " defined[i] \
            " is declared in" in_headers ", not in " own
        bad = 1
    }
    for (file in elsewhere)
        if (file in defines && !(file in needed)) {
            print file ":1: its functions are in its header; tidy.sh lists it"
            bad = 1
        }
}

function leave() {
    if (lines > 1000) {
        print last_file ":" lines ": " lines " lines, more than 1,000"
        bad = 1
    }
}

BEGIN {
    read_words(ENVIRON["BANNED"], banned)
    read_words(ENVIRON["KEPT"], kept)
    read_foreign(ENVIRON["FOREIGN"])
    read_elsewhere(ENVIRON["ELSEWHERE"])
}

FNR == 1 {
    leave()
    last_file = FILENAME
    in_src = FILENAME ~ /^(src|include)\//
    in_comment = in_table = in_body = excused = 0
    in_directive = in_braces = 0
    head = ""
    base = FILENAME
    sub(/.*\//, "", base)
    if (index($0, "/* " base " -- ") != 1)
        complain("the first line should begin with \"/* " base " -- \"")
}

{ lines = FNR }

/\t/ { complain("tab") }
/[ \t]$/ { complain("trailing blank") }
/clang-format off/ { in_table = 1 }
/clang-format on/ { in_table = 0 }

!in_table && length($0) > 80 {
    wide = $0
    gsub(/[\200-\277]/, "", wide) # the later bytes of a UTF-8 character
    if (length(wide) > 80)
        complain(length(wide) " columns, more than 80")
}

# A body lies between braces in the first column.
/NOLINT\(readability-function-size\)/ { excused = 1 }
/^\{/ { in_body = FNR }
/^\}/ {
    if (in_body && FNR - in_body - 1 > 70 && !excused)
        complain("a function of " FNR - in_body - 1 " lines, more than 70")
    in_body = excused = 0
}

in_src && /(^|[^A-Za-z_])(TODO|FIXME|XXX|HACK)([^A-Za-z_]|$)/ {
    complain("left open: " $0)
}

{
    if (!in_comment && in_src && $0 ~ /^[ ]*#[ ]*include/)
        check_include($0)
    else {
        code = code_of($0)
        check_calls(code)
        if (FILENAME ~ /^src\//)
            outline(code)
    }
}

END {
    leave()
    check_headers()
    exit bad
}
