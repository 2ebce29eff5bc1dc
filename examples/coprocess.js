// coprocess.js -- a handler for `runnel trigger`: a process that stays.
//
//     runnel trigger --container shop/orders --coprocess \
//         --exec 'node coprocess.js prices.ndjson'
//
// A line of standard input is a batch, and each is answered with one line:
// all is done, or the ids that failed and come again.
const fs = require('fs');
const lines = require('readline').createInterface({ input: process.stdin });

const file = process.argv[2];
const failedOnce = new Set();

lines.on('line', (line) => {
  const { batch, changes } = JSON.parse(line);
  const fail = [];
  for (const change of changes) {
    // Work that can fail: an order marked "later" succeeds the second time.
    if (change.later && !failedOnce.has(change._etag)) {
      failedOnce.add(change._etag);
      fail.push(change.id);
      continue;
    }
    fs.appendFileSync(file, JSON.stringify(change) + '\n');
  }
  const answer = fail.length ? { batch, fail } : { batch, ok: true };
  console.log(JSON.stringify(answer));
});
