// The calls of clients/conformance by the generated client of connect-web, in Node and in a browser alike: plain
// ECMAScript and the fetch of the place. It knows no files and no pipes.
import { createRegistry } from "@bufbuild/protobuf";
import { anyUnpack, timestampMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { Action, Consistency, CounterService, LikeStatus, Outcome, Source, UnlikeStatus } from "../dist/counter/v1/counter_pb.js";
import { BadRequestSchema, ErrorInfoSchema, QuotaFailureSchema, RetryInfoSchema } from "../dist/google/rpc/error_details_pb.js";

const DETAILS = createRegistry(ErrorInfoSchema, BadRequestSchema, RetryInfoSchema, QuotaFailureSchema);
const KINDS = {
  [Code.Canceled]: "Cancelled",
  [Code.ResourceExhausted]: "ResourceExhausted",
  [Code.Unknown]: "Internal",
  [Code.Aborted]: "Internal",
  [Code.DataLoss]: "Internal",
};
const KINDS_OF_REASONS = { RATE_LIMITED: "RateLimited", OVERLOADED: "Overloaded" };

// `form` is how messages travel: "json", "proto", or "get" for reads by GET.
export class Caller {
  constructor(form) {
    this.form = form;
  }

  async answer(asked) {
    if (asked.call === "connect") {
      this.connect(asked);
      return { reply: {} };
    }
    const headers = {};
    if (asked.request_id) headers["X-Request-Id"] = asked.request_id;
    if (asked.traceparent) headers.Traceparent = asked.traceparent;
    let requestId = "";
    const options = {
      headers,
      timeoutMs: asked.deadline_ms,
      onHeader: (came) => (requestId = came.get("x-request-id") ?? ""),
    };
    try {
      const reply = await this.call(asked, options);
      return { reply: { ...reply, request_id: requestId } };
    } catch (error) {
      if (!(error instanceof ConnectError)) throw error;
      return { error: failureOfCall(error) };
    }
  }

  connect(asked) {
    this.client = createClient(
      CounterService,
      createConnectTransport({
        baseUrl: asked.target,
        defaultTimeoutMs: asked.deadline_ms,
        useBinaryFormat: this.form !== "json",
        useHttpGet: this.form === "get",
        // The error of a mutation carries messages of google.rpc as Any.
        jsonOptions: { registry: DETAILS },
      }),
    );
  }

  // The values of all pages.
  async all(token, get, decode) {
    const all = [];
    do {
      const { page, next_page_token } = decode(await get(token));
      all.push(...page);
      token = next_page_token;
    } while (token);
    return { all };
  }

  async call(asked, options) {
    const { client } = this;
    const userId = BigInt(asked.user ?? 0);
    const items = (asked.items ?? []).map(item);
    const tokens = asked.tokens ?? [];
    const consistency = Consistency[asked.consistency ?? "CACHED"];
    switch (asked.call) {
      case "like": {
        const reply = await client.like({ userId, item: item(asked.item) }, options);
        return written(reply, reply.status === LikeStatus.LIKED);
      }
      case "unlike": {
        const reply = await client.unlike({ userId, item: item(asked.item) }, options);
        return written(reply, reply.status === UnlikeStatus.UNLIKED);
      }
      case "write_likes": {
        const mutations = asked.mutations.map((one) => ({
          userId: BigInt(one.user), item: item(one.item), action: Action[one.action] }));
        const { results } = await client.writeLikes({ mutations }, options);
        return { results: results.map(resultOf) };
      }
      case "count": {
        const request = { item: item(asked.item), consistency, consistencyToken: tokens[0] ?? "" };
        return countOf({ item: request.item, ...(await client.getCount(request, options)) });
      }
      case "counts": {
        const { counts } = await client.batchGetCounts({ items, consistency, consistencyTokens: tokens }, options);
        return { counts: counts.map(countOf) };
      }
      case "list_likes":
        return likesPage(await client.listLikes(likesRequest(asked, userId), options));
      case "list_likers":
        return likersPage(await client.listLikers(likersRequest(asked), options));
      case "all_likes":
        return this.all(asked.page_token ?? "", (pageToken) => client.listLikes({ ...likesRequest(asked, userId), pageToken }, options), likesPage);
      case "all_likers":
        return this.all(asked.page_token ?? "", (pageToken) => client.listLikers({ ...likersRequest(asked), pageToken }, options), likersPage);
      default: {
        const request = { userId, items, consistency, consistencyTokens: tokens };
        const { liked, source, asOfTime } = await client.hasLiked(request, options);
        return { liked, source: Source[source], as_of_ms: timestampMs(asOfTime) };
      }
    }
  }
}

function likesRequest(asked, userId) {
  return { userId, itemTypes: asked.item_types ?? [], pageSize: asked.page_size ?? 0, pageToken: asked.page_token ?? "" };
}

function likersRequest(asked) {
  return { item: item(asked.item), pageSize: asked.page_size ?? 0, pageToken: asked.page_token ?? "" };
}

function likesPage({ likes, nextPageToken }) {
  const page = likes.map(({ item: { itemType, itemId }, likedAt }) => ({
    item: `${itemType}:${integer(itemId)}`, liked_at_ms: timestampMs(likedAt) }));
  return { page, next_page_token: nextPageToken };
}

function likersPage({ likers, nextPageToken }) {
  const page = likers.map(({ userId, likedAt }) => ({ user: integer(userId), liked_at_ms: timestampMs(likedAt) }));
  return { page, next_page_token: nextPageToken };
}

function item(text) {
  const [itemType, id] = text.split(":");
  return { itemType, itemId: BigInt(id) };
}

function integer(value) {
  if (typeof value !== "bigint") throw new TypeError(`expected a bigint, got ${value}`);
  return String(value);
}

function written({ count, consistencyToken }, changed) {
  return { changed, count: integer(count), consistency_token: consistencyToken };
}

function countOf({ item: { itemType, itemId }, count, source, asOfTime, consistencyToken }) {
  return {
    item: `${itemType}:${integer(itemId)}`,
    count: integer(count),
    source: Source[source],
    as_of_ms: timestampMs(asOfTime),
    consistency_token: consistencyToken,
  };
}

function resultOf(result) {
  const { error } = result;
  if (!error?.code) return written(result, [Outcome.LIKED, Outcome.UNLIKED].includes(result.outcome));
  const details = error.details.map((any) => anyUnpack(any, DETAILS));
  return { error: failure(error.code, error.message, (schema) => details.filter((one) => one?.$typeName === schema.typeName)) };
}

function failureOfCall(error) {
  const out = failure(error.code, error.rawMessage, (schema) => error.findDetails(schema));
  out.not_applied ||= error.metadata.get("outcome") === "not-applied";
  return { ...out, request_id: error.metadata.get("x-request-id") ?? "" };
}

function failure(code, message, find) {
  const [info] = find(ErrorInfoSchema).filter(({ domain }) => domain === "counter.v1");
  const [bad] = find(BadRequestSchema);
  const [retry] = find(RetryInfoSchema);
  const [quota] = find(QuotaFailureSchema);
  const delay = retry?.retryDelay;
  return {
    kind: KINDS_OF_REASONS[info?.reason] ?? KINDS[code] ?? Code[code],
    code,
    reason: info?.reason ?? "",
    message,
    violations: (bad?.fieldViolations ?? []).map(({ field, description }) => ({ field, description })),
    quota: quota ? { subject: quota.violations[0].subject, description: quota.violations[0].description } : null,
    retry_after_ms: delay ? Number(delay.seconds) * 1000 + Math.round(delay.nanos / 1e6) : null,
    not_applied: info?.metadata.outcome === "not-applied",
  };
}
