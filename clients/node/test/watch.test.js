"use strict";
const assert = require("node:assert/strict");
const { test } = require("node:test");
const counter = require("..");
const { TOKENS_MAX, Watch, WatchState } = require("../dist/watch");

const GONE = new counter.Unavailable("gone", 14);
const FULL = new counter.Overloaded("full", 8);
const OTHER = new counter.OutOfRange("another history", 11);

const count = ([id, consistencyToken]) => ({ item: { type: "post", id }, count: 1n, consistencyToken });
const state = (given = [], retries = true) => new WatchState([], given, retries);
const take = (watch, snapshot, ...counts) => watch.take(snapshot, counts.map(count));
const tokens = (watch) => watch.begin().consistencyTokens;

test("a watch goes on from the newest token of each item", () => {
  const watch = state();
  assert.deepEqual(tokens(watch), []);
  assert.equal(take(watch, true, [1n, "a"], [2n, "z"]).snapshot, true);
  assert.equal(take(watch, false, [1n, "b"]).snapshot, false);
  assert.notEqual(watch.pauseAfter(GONE), undefined);
  assert.deepEqual(tokens(watch), ["b", "z"]);
  assert.equal(take(watch, true), undefined);
  assert.equal(take(watch, false, [1n, "c"]).snapshot, false);
  watch.pauseAfter(GONE);
  watch.begin();
  assert.equal(take(watch, true, [1n, "d"]).snapshot, false);
});

test("a first update is told even if nothing is new", () => {
  const watch = state(["known"]);
  watch.begin();
  assert.deepEqual(take(watch, true), { counts: [], snapshot: true });
});

test("of another history a watch begins anew, and not twice without tokens", () => {
  const watch = state(["known"]);
  assert.deepEqual(tokens(watch), ["known"]);
  assert.notEqual(watch.pauseAfter(OTHER), undefined);
  assert.deepEqual(tokens(watch), []);
  assert.equal(watch.pauseAfter(OTHER), undefined);
  take(watch, true, [1n, "a"]);
  assert.notEqual(watch.pauseAfter(OTHER), undefined);
  assert.notEqual(watch.pauseAfter(GONE), undefined);
  assert.deepEqual(tokens(watch), []);
  assert.equal(take(watch, true, [1n, "b"]).snapshot, true);
});

test("what never stood, other errors, and anything without retries end a watch", () => {
  assert.equal(state().pauseAfter(GONE), undefined);
  assert.equal(state().pauseAfter(FULL), undefined);
  const stood = state();
  take(stood, true, [1n, "a"]);
  assert.equal(stood.pauseAfter(new counter.Internal("fault", 13)), undefined);
  for (const error of [GONE, FULL, OTHER]) {
    const watch = state(["known"], false);
    take(watch, true, [1n, "a"]);
    assert.equal(watch.pauseAfter(error), undefined);
  }
});

test("pauses double to a second and no further, and wait for what the server says", () => {
  const watch = state();
  take(watch, true, [1n, "a"]);
  for (const wanted of [50, 100, 200, 400, 800, 1000, 1000, 1000]) {
    const pause = watch.pauseAfter(GONE);
    assert.ok(pause >= wanted * 0.79 && pause <= wanted * 1.21, `${pause} for ${wanted}`);
  }
  const full = new counter.Overloaded("full", 8);
  full.retryAfterMs = 7500;
  assert.equal(watch.pauseAfter(full), 7500);
  take(watch, false, [1n, "b"]);
  assert.ok(watch.pauseAfter(GONE) < 70);
});

test("a watch goes on with no more tokens than a request may carry", () => {
  const watch = state(Array.from({ length: TOKENS_MAX }, (_, i) => `t${i}`));
  assert.equal(tokens(watch).length, TOKENS_MAX);
  take(watch, true, [1n, "a"]);
  assert.equal(tokens(watch).length, TOKENS_MAX);
  assert.equal(tokens(watch)[0], "a");
});

// A stream that gives these messages, and then ends with the error or stands.
function stream(messages, error) {
  let cancel;
  const cancelled = new Promise((_, reject) => (cancel = () => reject(new counter.Cancelled("cancelled", 1))));
  cancelled.catch(() => undefined);
  return {
    cancel,
    async *[Symbol.asyncIterator]() {
      yield* messages;
      if (error) throw error;
      await cancelled;
    },
  };
}

test("a loop that is left, and a signal, end the stream", async () => {
  let ends = 0;
  const open = () => {
    const opened = stream([[true, [count([1n, "a"])]]]);
    return { ...opened, cancel: () => (ends++, opened.cancel()) };
  };
  for await (const update of new Watch(state(), open, Infinity)) {
    assert.equal(update.snapshot, true);
    break;
  }
  assert.ok(ends > 0);

  const stop = new AbortController();
  const watch = new Watch(state(), open, Infinity, stop.signal);
  await watch.next();
  const waiting = watch.next();
  stop.abort();
  await assert.rejects(waiting, counter.Cancelled);
});

test("a watch that waits to be taken up again is stopped at once", async () => {
  const full = new counter.Overloaded("full", 8);
  full.retryAfterMs = 3_600_000;
  const watch = new Watch(state(), () => stream([[true, [count([1n, "a"])]]], full), Infinity);
  await watch.next();
  const waiting = watch.next();
  setTimeout(() => watch.stop(), 10);
  await assert.rejects(waiting, counter.Cancelled);
});
