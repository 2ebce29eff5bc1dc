// stranger.js -- a client that does not trust the server's authority.
"use strict";
const { test, assert } = require("./harness");

module.exports = ({ connect }) => {
  test("a server whose authority is not known is refused", async () => {
    const client = connect({ connectionPolicy: {
      enableBackgroundEndpointRefreshing: false,
      enableEndpointDiscovery: false } });
    const refusal = client.database("none").read();
    await assert.rejects(refusal, { code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" });
    client.dispose();
  });
};
