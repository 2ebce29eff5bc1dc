#!/bin/bash
# layers_rules.sh -- tools/layers.sh refuses an include against the layers.
. "$(dirname "$0")/check.sh"

mkdir -p "$scratch/tools" "$scratch/src/store" "$scratch/src/base"
cp "$root/tools/layers.sh" "$root/tools/layers.txt" "$scratch/tools/"
echo '#include "base/err.h"' >"$scratch/src/store/store.h"
echo '#include "base/mem.h"' >"$scratch/src/base/err.h"
check 'downward and to itself a module may look' "$scratch/tools/layers.sh"
echo '#include "engine/key.h"' >>"$scratch/src/store/store.h"
check 'upward it may not' \
    says 1 '^src/store/store.h:2: store may not include engine$' \
    "$scratch/tools/layers.sh"
mkdir "$scratch/src/utils"
echo '#include "base/err.h"' >"$scratch/src/utils/x.h"
check 'a directory that has no layer may not look anywhere' \
    says 1 '^src/utils/x.h:1: utils may not include base$' \
    "$scratch/tools/layers.sh"

rm -r "$scratch/src"
mkdir -p "$scratch/src/client/http" "$scratch/src/client/account"
echo '#include "client/http/retry.h"' >"$scratch/src/client/account/call.h"
echo '#include "client/http/exchange.h"' >"$scratch/src/client/http/retry.h"
check 'a part may look at the parts below it and at itself' \
    "$scratch/tools/layers.sh"
echo '#include "client/account/call.h"' >>"$scratch/src/client/http/retry.h"
check 'a part may not look at one above it' \
    says 1 '^src/client/http/retry.h:2: client/http may not include client/account$' \
    "$scratch/tools/layers.sh"

done_checking
