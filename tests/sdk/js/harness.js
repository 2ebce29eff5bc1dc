// harness.js -- runs cases one after the other and says how each went.
"use strict";
const assert = require("node:assert/strict");

const cases = [];

function test(name, run) {
  cases.push({ name, run });
}

async function runAll() {
  let failed = 0;
  for (const { name, run } of cases) {
    try {
      await run();
      console.log(`ok ${name}`);
    } catch (error) {
      failed++;
      console.log(`not ok ${name}`);
      const text = error.stack || JSON.stringify(error);
      console.log(text.slice(0, 2000).replace(/^/gm, "    "));
      if (error.code) console.log(`    code ${error.code}/${error.substatus}`);
    }
  }
  return failed;
}

// The error that an operation must end with.
async function fails(promise, code, substatus) {
  let error;
  try {
    await promise;
  } catch (caught) {
    error = caught;
  }
  assert.ok(error, `expected status ${code}, but it succeeded`);
  if (error.code !== code) throw error;
  if (substatus !== undefined)
    assert.equal(error.substatus, substatus, "sub-status");
  return error;
}

module.exports = { test, runAll, fails, assert };
