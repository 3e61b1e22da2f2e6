"use strict";
const assert = require("node:assert/strict");
const net = require("node:net");
const { test } = require("node:test");
const counter = require("..");
const { Tokens } = require("../dist/tokens");

test("the service config says what the documentation says", () => {
  const config = counter.serviceConfig();
  const [method] = config.methodConfig;
  assert.deepEqual(method.name, [{ service: "counter.v1.CounterService" }]);
  assert.equal(method.waitForReady, true);
  assert.deepEqual(method.retryPolicy, {
    maxAttempts: 4,
    initialBackoff: "0.05s",
    maxBackoff: "1s",
    backoffMultiplier: 2,
    retryableStatusCodes: ["UNAVAILABLE"],
  });
  assert.deepEqual(config.loadBalancingConfig, [{ round_robin: {} }]);
  assert.deepEqual(config.retryThrottling, { maxTokens: 100, tokenRatio: 0.1 });
});

test("tokens of the items written longest ago make room", () => {
  const tokens = new Tokens(2);
  const post = (id) => ({ type: "post", id });
  tokens.keep(post(1n), "a");
  tokens.keep(post(2n), "b");
  tokens.keep(post(1), "c"); // The same item, with a number.
  tokens.keep(post(3n), "d");
  assert.deepEqual(tokens.of([post(3n), post(1n), post(2n), post(3n)]), ["d", "c"]);
});

test("a token without TLS is refused", () => {
  assert.throws(() => new counter.Client("127.0.0.1:1", { bearerToken: "secret" }), /tls/);
});

test("ids that cannot be exact are refused, those at the edge are not", async () => {
  const client = new counter.Client("127.0.0.1:1", { retries: false });
  await assert.rejects(client.like(2 ** 53, { type: "post", id: 1n }), RangeError);
  await assert.rejects(client.like(1n, { type: "post", id: 2n ** 63n }), RangeError);
  await assert.rejects(client.like(2n ** 63n - 1n, { type: "post", id: 1 }), counter.Unavailable);
  client.close();
});

test("an abort signal ends a call as Cancelled", async () => {
  const silent = net.createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => silent.once("listening", resolve));
  const client = new counter.Client(`127.0.0.1:${silent.address().port}`);
  const stop = new AbortController();
  const call = client.like(1n, { type: "post", id: 1n }, { signal: stop.signal, deadlineMs: 60_000 });
  stop.abort();
  await assert.rejects(call, counter.Cancelled);
  client.close();
  silent.close();
});

test("errors say their kind and the request", () => {
  const error = new counter.RateLimited("100 a minute", 8, "r-1");
  error.retryAfterMs = 2500;
  assert.equal(String(error), "RateLimited: 100 a minute; retry after 2.5s (request r-1)");
  assert.ok(error instanceof counter.CounterError && error instanceof Error);
});
