// Makes the calls that clients/conformance/run asks for, one a line.
"use strict";
const { readFileSync } = require("node:fs");
const readline = require("node:readline");
const counter = require("..");

const read = (path) => path && readFileSync(path);

function connect(asked) {
  const tls = asked.ca_file && {
    ca: read(asked.ca_file),
    certificate: read(asked.certificate_file),
    key: read(asked.key_file),
  };
  return new counter.Client(asked.target, {
    deadlineMs: asked.deadline_ms,
    retries: asked.retries,
    userAgent: asked.user_agent,
    bearerToken: asked.bearer_token,
    readYourWrites: asked.read_your_writes,
    tls,
  });
}

function item(text) {
  const [type, id] = text.split(":");
  return { type, id: BigInt(id) };
}

async function collected(values) {
  const all = [];
  for await (const value of values) all.push(value);
  return { all };
}

function call(client, asked) {
  const options = {
    deadlineMs: asked.deadline_ms,
    requestId: asked.request_id,
    traceparent: asked.traceparent,
    consistency: asked.consistency,
    consistencyTokens: asked.tokens,
    itemTypes: asked.item_types,
    pageSize: asked.page_size,
    pageToken: asked.page_token,
  };
  switch (asked.call) {
    case "like":
      return client.like(BigInt(asked.user), item(asked.item), options);
    case "unlike":
      return client.unlike(BigInt(asked.user), item(asked.item), options);
    case "write_likes":
      return client.writeLikes(
        asked.mutations.map((m) => ({ userId: BigInt(m.user), item: item(m.item), action: m.action })),
        options,
      );
    case "list_likes":
      return client.listLikes(BigInt(asked.user), options);
    case "list_likers":
      return client.listLikers(item(asked.item), options);
    case "all_likes":
      return collected(client.allLikes(BigInt(asked.user), options));
    case "all_likers":
      return collected(client.allLikers(item(asked.item), options));
    case "count":
      return client.count(item(asked.item), options);
    case "counts":
      return client.counts(asked.items.map(item), options);
    default:
      return client.hasLiked(BigInt(asked.user), asked.items.map(item), options);
  }
}

function watch(client, asked) {
  return client.watchCounts(asked.items.map(item), { deadlineMs: asked.deadline_ms, consistencyTokens: asked.tokens });
}

async function update(watched) {
  const { value } = await watched.next();
  const counts = value.counts.map(encoded).sort((a, b) => (a.item < b.item ? -1 : 1));
  return { counts, snapshot: value.snapshot };
}

const integer = (value) => {
  if (typeof value !== "bigint") throw new TypeError(`expected a bigint, got ${value}`);
  return String(value);
};

function encoded(reply) {
  if (reply instanceof counter.CounterError) return { error: failure(reply) };
  const out = { request_id: reply.requestId };
  if ("changed" in reply) out.changed = reply.changed;
  if ("count" in reply) out.count = integer(reply.count);
  if ("consistencyToken" in reply) out.consistency_token = reply.consistencyToken;
  if ("item" in reply) out.item = `${reply.item.type}:${integer(reply.item.id)}`;
  if ("source" in reply) out.source = reply.source;
  if ("asOf" in reply) out.as_of_ms = reply.asOf.getTime();
  if ("liked" in reply) out.liked = reply.liked;
  if ("userId" in reply) out.user = integer(reply.userId);
  if ("likedAt" in reply) out.liked_at_ms = reply.likedAt.getTime();
  if ("nextPageToken" in reply) out.next_page_token = reply.nextPageToken;
  if ("likes" in reply || "likers" in reply) out.page = (reply.likes ?? reply.likers).map(encoded);
  if ("all" in reply) out.all = reply.all.map(encoded);
  if ("results" in reply) out.results = reply.results.map(encoded);
  if ("counts" in reply) out.counts = reply.counts.map(encoded);
  return out;
}

function failure(error) {
  if (!(error instanceof counter[error.kind])) return { kind: `no ${error.kind}` };
  return {
    kind: error.kind,
    code: error.code,
    reason: error.reason,
    message: error.message,
    violations: error.violations,
    quota: error.quota ?? null,
    retry_after_ms: error.retryAfterMs === undefined ? null : Math.round(error.retryAfterMs),
    not_applied: error.notApplied,
    request_id: error.requestId,
  };
}

async function run() {
  let client, watched;
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const asked = JSON.parse(line);
    let answer;
    try {
      if (asked.call === "connect") {
        client?.close();
        client = connect(asked);
        answer = { reply: {} };
      } else if (asked.call === "stop_watch") {
        watched.stop();
        answer = { reply: {} };
      } else if (asked.call === "watch" || asked.call === "next_update") {
        if (asked.call === "watch") watched = watch(client, asked);
        answer = { reply: await update(watched) };
      } else {
        answer = { reply: encoded(await call(client, asked)) };
      }
    } catch (error) {
      if (!(error instanceof counter.CounterError)) throw error;
      answer = { error: failure(error) };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
  }
  client?.close();
}

run();
