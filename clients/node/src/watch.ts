import { setTimeout as sleep } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { Cancelled, CounterError, OutOfRange, Overloaded, Unavailable } from "./errors";
import * as pb from "./gen/counter/v1/counter_pb";
import type { Count, Update } from "./types";

/** That a request may carry. */
export const TOKENS_MAX = 1000;
// Before a watch is taken up again: doubling, while it gives nothing.
const PAUSE_FIRST_MS = 50;
const PAUSE_MAX_MS = 1000;

/** What a watch asks for, what its messages say, and whether it goes on after an error. No I/O. */
export class WatchState {
  /** The token of the last count of each item that was told. */
  private newest = new Map<string, string>();
  /** It has given something. */
  private stood = false;
  /** What the next stream begins with is all there is. */
  private anew = true;
  /** The stream that is open, from where another one ended. */
  private goesOn = false;
  private pauseMs = 0;

  constructor(
    private readonly items: pb.Item[],
    private given: string[],
    private readonly retries: boolean,
  ) {}

  /** The request of a new stream. */
  begin(): pb.WatchCountsRequest {
    this.goesOn = !this.anew;
    // Of an item the newest counts, so that it does no harm to send older ones.
    const known = [...this.newest.values(), ...this.given];
    return create(pb.WatchCountsRequestSchema, {
      items: this.items,
      consistencyTokens: this.stood ? known.slice(0, TOKENS_MAX) : known,
    });
  }

  /** What a message says; undefined if a watch that goes on has missed nothing. */
  take(snapshot: boolean, counts: Count[]): Update | undefined {
    for (const { item, consistencyToken } of counts) this.newest.set(`${item.type}:${item.id}`, consistencyToken);
    this.stood = true;
    this.anew = false;
    this.pauseMs = 0;
    if (snapshot && this.goesOn && counts.length === 0) return undefined;
    return { counts, snapshot: snapshot && !this.goesOn };
  }

  /** Milliseconds until to begin again; undefined if that cannot mend it. What never stood is the caller's to try again. */
  pauseAfter(error: CounterError): number | undefined {
    if (!this.retries) return undefined;
    if (error instanceof OutOfRange) {
      if (this.given.length === 0 && this.newest.size === 0) return undefined;
      this.given = [];
      this.newest = new Map();
      this.anew = true;
    } else if (!this.stood || !(error instanceof Unavailable || error instanceof Overloaded)) {
      return undefined;
    }
    this.pauseMs = Math.min(PAUSE_MAX_MS, 2 * this.pauseMs) || PAUSE_FIRST_MS;
    return Math.max(this.pauseMs * (0.8 + 0.4 * Math.random()), error.retryAfterMs ?? 0);
  }
}

/** One stream: gives messages, can be cancelled, and fails with a CounterError. */
export interface WatchStream extends AsyncIterable<[snapshot: boolean, counts: Count[]]> {
  cancel(): void;
}

/**
 * Counts as they change: `for await (const update of watch)`. It ends with a CounterError: one that is not mended by
 * watching again, or any with `retries: false`.
 */
export class Watch implements AsyncIterableIterator<Update> {
  private readonly stopping = new AbortController();
  private readonly updates: AsyncGenerator<Update, void, undefined>;
  private stream: WatchStream | undefined;

  constructor(
    private readonly state: WatchState,
    private readonly open: (request: pb.WatchCountsRequest) => WatchStream,
    private readonly endsAt: number,
    signal: AbortSignal | undefined,
  ) {
    this.updates = this.run();
    if (signal?.aborted) this.stop();
    else signal?.addEventListener("abort", () => this.stop(), { signal: this.stopping.signal });
  }

  /** Ends the watch: who waits for an update gets Cancelled. Again it does nothing. */
  stop(): void {
    this.stopping.abort();
    this.stream?.cancel();
  }

  next(): Promise<IteratorResult<Update, void>> {
    return this.updates.next();
  }

  /** As leaving a loop over it does. */
  return(): Promise<IteratorResult<Update, void>> {
    this.stop();
    return this.updates.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  private async *run(): AsyncGenerator<Update, void, undefined> {
    while (true) {
      try {
        this.checkStopped();
        this.stream = this.open(this.state.begin());
        for await (const [snapshot, counts] of this.stream) {
          const update = this.state.take(snapshot, counts);
          if (update) yield update;
        }
        throw new Unavailable("the server ended the watch", 14);
      } catch (error) {
        this.checkStopped();
        const pause = error instanceof CounterError ? this.state.pauseAfter(error) : undefined;
        if (pause === undefined) {
          this.stop();
          throw error;
        }
        // At its deadline the next stream says so.
        const left = Math.max(0, this.endsAt - Date.now());
        await sleep(Math.min(pause, left), undefined, { signal: this.stopping.signal }).catch(() => undefined);
      }
    }
  }

  private checkStopped(): void {
    if (this.stopping.signal.aborted) throw new Cancelled("the watch was stopped", 1);
  }
}
