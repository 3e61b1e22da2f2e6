import type { CounterError } from "./errors";

/** 1 to 2^63-1. Replies always have bigint; a number will do as an argument where it is exact. */
export type Id = bigint | number;

/** A thing that can be liked. */
export interface Item {
  /** One that the server is configured with: "post", "reel", "comment". */
  type: string;
  id: Id;
}

export type Action = "LIKE" | "UNLIKE";

/** One like or unlike of writeLikes. */
export interface Mutation {
  userId: Id;
  item: Item;
  action: Action;
}

/** CACHED, the default: true at some instant within the last second while all is well. STRONG: sees every write
 * acknowledged before the read began. */
export type Consistency = "CACHED" | "STRONG";

/** Where an answer came from. */
export type Source = "UNKNOWN" | "CACHE" | "REPLICA" | "PRIMARY";

/** What became of a like or an unlike. */
export interface Written {
  /** False: it was so already. */
  changed: boolean;
  /** Likes of the item after it. */
  count: bigint;
  consistencyToken: string;
  requestId: string;
}

export interface WriteResults {
  /** results[i] is of mutations[i]: what became of it, or the error that refused it. */
  results: (Written | CounterError)[];
  requestId: string;
}

export interface Count {
  item: { type: string; id: bigint };
  /** 0n for an item that nobody ever liked. */
  count: bigint;
  source: Source;
  /** An instant at which the store held this count. */
  asOf: Date;
  consistencyToken: string;
  requestId: string;
}

export interface Counts {
  /** counts[i] is of items[i]. */
  counts: Count[];
  requestId: string;
}

/** What is new to a watch. */
export interface Update {
  /** Each item once at most. */
  counts: Count[];
  /** Whether these are the counts of all items, but for those of which tokens were given: the first update of a watch,
   * and the first after the store got another history, in which counts may be lower than they were. */
  snapshot: boolean;
}

export interface Liked {
  /** liked[i] is of items[i]. */
  liked: boolean[];
  source: Source;
  asOf: Date;
  requestId: string;
}

/** One like of a user. */
export interface Like {
  item: { type: string; id: bigint };
  /** To the second. */
  likedAt: Date;
}

export interface LikesPage {
  /** Newest first. */
  likes: Like[];
  /** Gets the next page; "" if no more follow. */
  nextPageToken: string;
  requestId: string;
}

/** One user who likes an item. */
export interface Liker {
  userId: bigint;
  /** To the second. */
  likedAt: Date;
}

export interface LikersPage {
  /** Newest like first. */
  likers: Liker[];
  /** Gets the next page; "" if no more follow. */
  nextPageToken: string;
  requestId: string;
}

/** What may be said about any call. */
export interface CallOptions {
  /** From now, all attempts and pauses included. Default: the client's. */
  deadlineMs?: number;
  /** Names the call in the server's logs: 1 to 64 characters of [A-Za-z0-9._-]. Default: the server makes one. */
  requestId?: string;
  /** The W3C trace context to pass on ("00-<trace>-<span>-01"). */
  traceparent?: string;
  /** Ends the call as Cancelled. */
  signal?: AbortSignal;
}

export interface ReadOptions extends CallOptions {
  consistency?: Consistency;
  /** Tokens of earlier answers about items of the call, in any order: the answer includes the writes they name. */
  consistencyTokens?: string[];
}

export interface WatchOptions extends CallOptions {
  /** Default: the watch stands until it is stopped. */
  deadlineMs?: number;
  /** Tokens of what is known already, of any answer: it is left out. */
  consistencyTokens?: string[];
}

/** Which part of a list to get. */
export interface PageOptions extends CallOptions {
  /** 1 to 1000; default 100. */
  pageSize?: number;
  /** The nextPageToken of the page before; default: the first page. */
  pageToken?: string;
}

export interface LikesOptions extends PageOptions {
  /** Only likes of items of these types; default: of all. */
  itemTypes?: string[];
}

/** Contents of PEM files. With a certificate and its key it is mTLS. */
export interface Tls {
  /** Who may sign the server's certificate. Default: the authorities of Node. */
  ca?: Buffer;
  certificate?: Buffer;
  key?: Buffer;
}

export interface ClientOptions {
  /** Of a call that names none; default 2000. */
  deadlineMs?: number;
  /** False: one attempt a call, which fails at once where no server is ready. */
  retries?: boolean;
  /** Put before this client's own: "feed/1.2". */
  userAgent?: string;
  /** Default: plain text. */
  tls?: Tls;
  /** Sent with each call; needs tls. */
  bearerToken?: string;
  /** Keep the tokens of writes, of the last 10,000 items, and pass them to reads that come without tokens. */
  readYourWrites?: boolean;
}
