// main.js -- everyday work with the published client, and what must outlive a
// kill.
//
//   node main.js ENDPOINT everyday|write|reopened|stranger|throttled
//
// Method: each case uses names of its own, so that none depends on another.
// "write" leaves documents behind, "reopened" expects them after the server
// was killed and started again on the same data.  "stranger" does not trust
// the server's authority.
"use strict";
const { CosmosClient } = require("@azure/cosmos");
const harness = require("./harness");

const [endpoint, phase] = process.argv.slice(2);
// The key that all emulators share; public.
const key =
  "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

function connect(options = {}) {
  return new CosmosClient({
    endpoint,
    key,
    connectionPolicy: { enableBackgroundEndpointRefreshing: false },
    ...options,
  });
}

const parts = {
  everyday: [
    "./objects",
    "./documents",
    "./keys",
    "./queries",
    "./unique",
    "./offers",
    "./users",
    "./others",
    "./sessions",
    "./feed",
    "./purge",
    "./versions",
    "./ttl",
    "./patch",
    "./batch",
    "./faults",
  ],
  write: ["./durable"],
  reopened: ["./durable"],
  stranger: ["./stranger"],
  throttled: ["./throttled"],
};

(async () => {
  const client = connect();
  for (const part of parts[phase])
    await require(part)({ client, connect, endpoint, key, phase });
  const failed = await harness.runAll();
  client.dispose();
  process.exitCode = failed ? 1 : 0;
})();
