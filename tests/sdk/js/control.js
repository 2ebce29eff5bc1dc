// control.js -- asks a server in test mode for what the client cannot.
"use strict";
const crypto = require("node:crypto");
const assert = require("node:assert/strict");

async function control({ endpoint, key }, method, route, body) {
  const date = new Date().toUTCString();
  const text = `${method.toLowerCase()}\n\n_runnel/${route}\n` +
    `${date.toLowerCase()}\n\n`;
  const sig = crypto.createHmac("sha256", Buffer.from(key, "base64"))
    .update(text).digest("base64");
  const answer = await fetch(`${endpoint}/_runnel/${route}`, {
    method,
    headers: {
      authorization: encodeURIComponent(`type=master&ver=1.0&sig=${sig}`),
      "x-ms-date": date,
      "x-ms-version": "2020-07-15",
    },
    body: body && JSON.stringify(body),
  });
  assert.ok(answer.ok, `${answer.status} to ${method} ${route}`);
  return answer.status === 204 ? undefined : answer.json();
}

const turnClock = (server, seconds) =>
  control(server, "POST", "clock", { advanceMs: seconds * 1000 });

const split = (server, container, range) =>
  control(server, "POST", "split", { container, range });

const merge = (server, container, range, other) =>
  control(server, "POST", "merge", { container, range, with: other });

// Runs an operation that is to meet a fault, as often as is ordered.
async function meets(server, order, operation) {
  const before = await control(server, "GET", "fault");
  assert.equal(before.waiting, 0);
  await control(server, "POST", "fault", order);
  try {
    return await operation();
  } finally {
    const after = await control(server, "GET", "fault");
    await control(server, "DELETE", "fault");
    assert.equal(after.taken - before.taken, order.count ?? 1, "faults met");
  }
}

module.exports = { turnClock, split, merge, meets };
