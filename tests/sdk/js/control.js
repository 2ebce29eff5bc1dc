// control.js -- turns the clock of a server in test mode.
"use strict";
const crypto = require("node:crypto");
const assert = require("node:assert/strict");

module.exports = async function turnClock(endpoint, key, seconds) {
  const date = new Date().toUTCString();
  const text = `post\n\n_runnel/clock\n${date.toLowerCase()}\n\n`;
  const sig = crypto.createHmac("sha256", Buffer.from(key, "base64"))
    .update(text).digest("base64");
  const answer = await fetch(`${endpoint}/_runnel/clock`, {
    method: "POST",
    headers: {
      authorization: encodeURIComponent(`type=master&ver=1.0&sig=${sig}`),
      "x-ms-date": date,
      "x-ms-version": "2020-07-15",
    },
    body: JSON.stringify({ advanceMs: seconds * 1000 }),
  });
  assert.equal(answer.status, 200, await answer.text());
};
