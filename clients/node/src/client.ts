import { create, fromBinary, toBinary, type DescMethodUnary, type MessageShape } from "@bufbuild/protobuf";
import { timestampDate, type Timestamp } from "@bufbuild/protobuf/wkt";
import { ChannelCredentials, Client as Channel, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { Cancelled, Internal, decoded, ofCall, refused } from "./errors";
import * as pb from "./gen/counter/v1/counter_pb";
import { Tokens } from "./tokens";
import type {
  CallOptions,
  ClientOptions,
  Count,
  Counts,
  Id,
  Item,
  Like,
  Liked,
  Liker,
  LikersPage,
  LikesOptions,
  LikesPage,
  Mutation,
  PageOptions,
  ReadOptions,
  Source,
  WatchOptions,
  WriteResults,
  Written,
} from "./types";
import { Watch, WatchState, type WatchStream } from "./watch";

/** The version of this client, as the user-agent tells it. */
export const VERSION = "0.1.0";

const RECONNECT_FIRST_MS = 100;
const RECONNECT_MAX_MS = 1000;
const INT64_MAX = 2n ** 63n - 1n;

interface MethodConfig {
  name: { service: string }[];
  waitForReady?: boolean;
  retryPolicy?: object;
}

/** The published service config: how every client of Counter picks servers and repeats calls. */
export function serviceConfig(): { methodConfig: MethodConfig[]; [member: string]: unknown } {
  return structuredClone(require("../service_config.json"));
}

/**
 * Use one client for a whole program: it owns one channel, which any number of calls may share. A failed call rejects
 * with a CounterError. Every call may be repeated with the effect of one, and UNAVAILABLE is repeated by the client
 * itself.
 */
export class Client {
  private readonly channel: Channel;
  private readonly deadlineMs: number;
  private readonly retries: boolean;
  private readonly waitForReady: boolean;
  private readonly bearerToken: string | undefined;
  private readonly tokens: Tokens | undefined;

  /** Never blocks: connections are made when calls need them, and made again when they break. */
  constructor(target = "127.0.0.1:50051", options: ClientOptions = {}) {
    const { tls, bearerToken, retries = true } = options;
    this.deadlineMs = options.deadlineMs ?? 2000;
    if (!(this.deadlineMs > 0)) throw new RangeError(`deadlineMs: expected more than 0, got ${this.deadlineMs}`);
    if (bearerToken !== undefined && !tls)
      throw new TypeError("bearerToken: expected tls with it; a token must not travel in plain text");
    this.retries = retries;
    this.bearerToken = bearerToken;
    this.tokens = options.readYourWrites ? new Tokens() : undefined;
    const config = serviceConfig();
    // grpc-js parses this member of the config and leaves it to the caller.
    this.waitForReady = retries && config.methodConfig.every((method) => method.waitForReady);
    if (!retries) for (const method of config.methodConfig) delete method.retryPolicy;
    this.channel = new Channel(target, channelCredentials(tls), {
      "grpc.service_config": JSON.stringify(config),
      // What the resolver's own TXT records may say must not override the published config.
      "grpc.service_config_disable_resolution": 1,
      "grpc.enable_retries": retries ? 1 : 0,
      "grpc.initial_reconnect_backoff_ms": RECONNECT_FIRST_MS,
      "grpc.max_reconnect_backoff_ms": RECONNECT_MAX_MS,
      "grpc.primary_user_agent": `${options.userAgent ?? ""} counter-node/${VERSION}`.trim(),
    });
  }

  /** Makes the user like the item. */
  async like(userId: Id, item: Item, options: CallOptions = {}): Promise<Written> {
    const request = create(pb.LikeRequestSchema, { userId: int64(userId), item: encoded(item) });
    const [reply, requestId] = await this.call(pb.CounterService.method.like, request, options);
    return this.written(item, reply.status === pb.LikeStatus.LIKED, reply, requestId);
  }

  /** Takes a like back. */
  async unlike(userId: Id, item: Item, options: CallOptions = {}): Promise<Written> {
    const request = create(pb.UnlikeRequestSchema, { userId: int64(userId), item: encoded(item) });
    const [reply, requestId] = await this.call(pb.CounterService.method.unlike, request, options);
    return this.written(item, reply.status === pb.UnlikeStatus.UNLIKED, reply, requestId);
  }

  /** Up to 1000 likes and unlikes; each has a result of its own. */
  async writeLikes(mutations: Mutation[], options: CallOptions = {}): Promise<WriteResults> {
    const request = create(pb.WriteLikesRequestSchema, {
      mutations: mutations.map(({ userId, item, action }) =>
        create(pb.MutationSchema, { userId: int64(userId), item: encoded(item), action: pb.Action[action] }),
      ),
    });
    const [reply, requestId] = await this.call(pb.CounterService.method.writeLikes, request, options);
    checkNumber(reply.results.length, mutations.length, requestId);
    const results = reply.results.map((result, i) => {
      if (result.error?.code) return decoded(result.error, requestId);
      const changed = result.outcome === pb.Outcome.LIKED || result.outcome === pb.Outcome.UNLIKED;
      if (!changed && result.outcome !== pb.Outcome.ALREADY_LIKED && result.outcome !== pb.Outcome.NOT_LIKED)
        return new Internal("the server answered an outcome that this client does not know", 13, requestId);
      return this.written(mutations[i]!.item, changed, result, requestId);
    });
    return { results, requestId };
  }

  /** How many users like the item. Takes at most one token. */
  async count(item: Item, options: ReadOptions = {}): Promise<Count> {
    if ((options.consistencyTokens?.length ?? 0) > 1)
      throw refused("consistency_tokens", "expected at most one for the count of one item");
    const request = create(pb.GetCountRequestSchema, {
      item: encoded(item),
      consistency: consistencyOf(options),
      consistencyToken: this.tokensFor([item], options)[0] ?? "",
    });
    const [reply, requestId] = await this.call(pb.CounterService.method.getCount, request, options);
    return countOf({ type: item.type, id: int64(item.id) }, reply, requestId);
  }

  /** How many users like each of up to 1000 items, which may repeat. */
  async counts(items: Item[], options: ReadOptions = {}): Promise<Counts> {
    const request = create(pb.BatchGetCountsRequestSchema, {
      items: items.map(encoded),
      consistency: consistencyOf(options),
      consistencyTokens: this.tokensFor(items, options),
    });
    const [reply, requestId] = await this.call(pb.CounterService.method.batchGetCounts, request, options);
    checkNumber(reply.counts.length, items.length, requestId);
    return { counts: itemCountsOf(reply, requestId), requestId };
  }

  /** Which of up to 1000 items, which may repeat, the user likes. */
  async hasLiked(userId: Id, items: Item[], options: ReadOptions = {}): Promise<Liked> {
    const request = create(pb.HasLikedRequestSchema, {
      userId: int64(userId),
      items: items.map(encoded),
      consistency: consistencyOf(options),
      consistencyTokens: this.tokensFor(items, options),
    });
    const [reply, requestId] = await this.call(pb.CounterService.method.hasLiked, request, options);
    checkNumber(reply.liked.length, items.length, requestId);
    return { liked: reply.liked, source: sourceOf(reply.source), asOf: dateOf(reply.asOfTime), requestId };
  }

  /** A page of what the user likes, newest first. */
  async listLikes(userId: Id, options: LikesOptions = {}): Promise<LikesPage> {
    const { itemTypes = [], pageSize = 0, pageToken = "" } = options;
    const request = create(pb.ListLikesRequestSchema, { userId: int64(userId), itemTypes, pageSize, pageToken });
    const [reply, requestId] = await this.call(pb.CounterService.method.listLikes, request, options);
    const likes = reply.likes.map(({ item, likedAt }) => ({
      item: { type: item?.itemType ?? "", id: item?.itemId ?? 0n },
      likedAt: dateOf(likedAt),
    }));
    return { likes, nextPageToken: reply.nextPageToken, requestId };
  }

  /** A page of who likes the item, newest like first; FailedPrecondition where the service has no index of them. */
  async listLikers(item: Item, options: PageOptions = {}): Promise<LikersPage> {
    const { pageSize = 0, pageToken = "" } = options;
    const request = create(pb.ListLikersRequestSchema, { item: encoded(item), pageSize, pageToken });
    const [reply, requestId] = await this.call(pb.CounterService.method.listLikers, request, options);
    const likers = reply.likers.map(({ userId, likedAt }) => ({ userId, likedAt: dateOf(likedAt) }));
    return { likers, nextPageToken: reply.nextPageToken, requestId };
  }

  /** All that the user likes, newest first; each page is got when it is needed. */
  async *allLikes(userId: Id, options: LikesOptions = {}): AsyncGenerator<Like, void, undefined> {
    let pageToken = options.pageToken ?? "";
    do {
      const page = await this.listLikes(userId, { ...options, pageToken });
      yield* page.likes;
      pageToken = page.nextPageToken;
    } while (pageToken);
  }

  /** All who like the item, newest like first; each page is got when it is needed. */
  async *allLikers(item: Item, options: PageOptions = {}): AsyncGenerator<Liker, void, undefined> {
    let pageToken = options.pageToken ?? "";
    do {
      const page = await this.listLikers(item, { ...options, pageToken });
      yield* page.likers;
      pageToken = page.nextPageToken;
    } while (pageToken);
  }

  /**
   * The counts of up to 100 items, and then each change: `for await (const update of likes.watchCounts(items))`.
   *
   * It goes on by itself from what it has told: when its server goes, on another one, and from now when the store has
   * got another history. Without a deadline it stands until stop(), or until its loop is left.
   */
  watchCounts(items: Item[], options: WatchOptions = {}): Watch {
    const metadata = this.metadataOf(options);
    const endsAt = options.deadlineMs === undefined ? Infinity : Date.now() + options.deadlineMs;
    const state = new WatchState(items.map(encoded), options.consistencyTokens ?? [], this.retries);
    return new Watch(state, (request) => this.watch(request, metadata, endsAt), endsAt, options.signal);
  }

  /** Calls that are running end as Cancelled or Unavailable. */
  close(): void {
    this.channel.close();
  }

  /** One unary call: the reply and the server's name of the call. */
  private call<M extends DescMethodUnary>(
    method: M,
    request: MessageShape<M["input"]>,
    options: CallOptions,
  ): Promise<[MessageShape<M["output"]>, string]> {
    const metadata = this.metadataOf(options);
    const deadline = Date.now() + (options.deadlineMs ?? this.deadlineMs);
    return new Promise((resolve, reject) => {
      let requestId = "";
      const call = this.channel.makeUnaryRequest<MessageShape<M["input"]>, MessageShape<M["output"]>>(
        `/${method.parent.typeName}/${method.name}`,
        (message) => Buffer.from(toBinary(method.input, message)),
        (bytes) => fromBinary(method.output, bytes) as MessageShape<M["output"]>,
        request,
        metadata,
        { deadline },
        (failed, reply) => {
          options.signal?.removeEventListener("abort", cancel);
          if (failed) reject(ofCall(failed, requestId));
          else resolve([reply!, requestId]);
        },
      );
      const cancel = () => call.cancel();
      call.on("metadata", (initial) => (requestId = String(initial.get("x-request-id")[0] ?? "")));
      if (options.signal?.aborted) call.cancel();
      else options.signal?.addEventListener("abort", cancel);
    });
  }

  /** One stream of counts. */
  private watch(request: pb.WatchCountsRequest, metadata: Metadata, endsAt: number): WatchStream {
    const method = pb.CounterService.method.watchCounts;
    let stream;
    try {
      stream = this.channel.makeServerStreamRequest<pb.WatchCountsRequest, pb.WatchCountsResponse>(
        `/${method.parent.typeName}/${method.name}`,
        (message) => Buffer.from(toBinary(method.input, message)),
        (bytes) => fromBinary(method.output, bytes),
        request,
        metadata.clone(),
        { deadline: endsAt },
      );
    } catch {
      throw new Cancelled("the client was closed", 1);
    }
    let requestId = "";
    // Who waits for a message is told of an error; nobody else is.
    stream.on("error", () => undefined);
    stream.on("metadata", (initial) => (requestId = String(initial.get("x-request-id")[0] ?? "")));
    const messages = stream[Symbol.asyncIterator]();
    async function* received(): AsyncGenerator<[boolean, Count[]], void, undefined> {
      try {
        for await (const message of messages as AsyncIterableIterator<pb.WatchCountsResponse>)
          yield [message.snapshot, itemCountsOf(message, requestId)];
      } catch (failed) {
        throw ofCall(failed as ServiceError, requestId);
      }
    }
    return { cancel: () => stream.cancel(), [Symbol.asyncIterator]: received };
  }

  private metadataOf({ requestId = "", traceparent = "" }: CallOptions): Metadata {
    if (!/^[A-Za-z0-9._-]{0,64}$/.test(requestId))
      throw refused("request_id", "expected at most 64 characters of [A-Za-z0-9._-]");
    if (!/^[A-Za-z0-9._-]*$/.test(traceparent)) throw refused("traceparent", "expected a W3C trace context");
    const metadata = new Metadata({ waitForReady: this.waitForReady });
    if (requestId) metadata.set("x-request-id", requestId);
    if (traceparent) metadata.set("traceparent", traceparent);
    if (this.bearerToken !== undefined) metadata.set("authorization", `Bearer ${this.bearerToken}`);
    return metadata;
  }

  private written(
    item: Item,
    changed: boolean,
    { count, consistencyToken }: { count: bigint; consistencyToken: string },
    requestId: string,
  ): Written {
    this.tokens?.keep(item, consistencyToken);
    return { changed, count, consistencyToken, requestId };
  }

  private tokensFor(items: Item[], { consistencyTokens = [] }: ReadOptions): string[] {
    return consistencyTokens.length > 0 ? consistencyTokens : (this.tokens?.of(items) ?? []);
  }
}

function channelCredentials(tls: ClientOptions["tls"]): ChannelCredentials {
  if (!tls) return credentials.createInsecure();
  return credentials.createSsl(tls.ca ?? null, tls.key ?? null, tls.certificate ?? null);
}

function int64(id: Id): bigint {
  if (typeof id === "number" && !Number.isSafeInteger(id))
    throw new RangeError(`expected a bigint, or a number that is exact, got ${id}`);
  const value = BigInt(id);
  if (value > INT64_MAX || value < -INT64_MAX - 1n) throw new RangeError(`expected an id below 2^63, got ${id}`);
  return value;
}

function encoded(item: Item): pb.Item {
  return create(pb.ItemSchema, { itemType: item.type, itemId: int64(item.id) });
}

function consistencyOf({ consistency = "CACHED" }: ReadOptions): pb.Consistency {
  return pb.Consistency[consistency];
}

function sourceOf(source: pb.Source): Source {
  return (["UNKNOWN", "CACHE", "REPLICA", "PRIMARY"] as const)[source] ?? "UNKNOWN";
}

function dateOf(time: Timestamp | undefined): Date {
  return time ? timestampDate(time) : new Date(0);
}

function countOf(
  item: { type: string; id: bigint },
  message: { count: bigint; source: pb.Source; asOfTime?: Timestamp; consistencyToken: string },
  requestId: string,
): Count {
  const { count, consistencyToken } = message;
  return { item, count, source: sourceOf(message.source), asOf: dateOf(message.asOfTime), consistencyToken, requestId };
}

function itemCountsOf({ counts }: { counts: pb.ItemCount[] }, requestId: string): Count[] {
  return counts.map((count) =>
    countOf({ type: count.item?.itemType ?? "", id: count.item?.itemId ?? 0n }, count, requestId),
  );
}

function checkNumber(answers: number, asked: number, requestId: string): void {
  if (answers !== asked) throw new Internal(`the server gave ${answers} answers, not ${asked}`, 13, requestId);
}
