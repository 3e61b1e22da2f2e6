package counter.client;

import counter.v1.Counter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;

/** What a watch asks for, what its messages say, and whether it goes on after an error. No I/O; not thread-safe. */
final class WatchState {
  /** That a request may carry. */
  static final int TOKENS_MAX = 1000;

  // Before a watch is taken up again: doubling, while it gives nothing.
  private static final long PAUSE_FIRST_MS = 50;
  private static final long PAUSE_MAX_MS = 1000;

  private final List<Counter.Item> items;
  private final boolean retries;
  private final Map<Item, String> newest = new LinkedHashMap<>(); // Token of the last count of each item that was told.
  private List<String> given; // Tokens of the caller.
  private boolean stood; // It has given something.
  private boolean anew = true; // What the next stream begins with is all there is.
  private boolean goesOn; // The stream that is open, from where another one ended.
  private long pauseMs;

  WatchState(List<Counter.Item> items, List<String> tokens, boolean retries) {
    this.items = items;
    this.given = tokens;
    this.retries = retries;
  }

  /** The request of a new stream. */
  Counter.WatchCountsRequest begin() {
    goesOn = !anew;
    // Of an item the newest counts, so that it does no harm to send older ones.
    List<String> known = new ArrayList<>(newest.values());
    known.addAll(given);
    return Counter.WatchCountsRequest.newBuilder().addAllItems(items)
        .addAllConsistencyTokens(stood ? known.subList(0, Math.min(known.size(), TOKENS_MAX)) : known).build();
  }

  /** What a message says; nothing if a watch that goes on has missed nothing. */
  Optional<Update> take(boolean snapshot, List<Count> counts) {
    counts.forEach(count -> newest.put(count.item(), count.consistencyToken()));
    stood = true;
    anew = false;
    pauseMs = 0;
    if (snapshot && goesOn && counts.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(new Update(counts, snapshot && !goesOn));
  }

  /** How long until to begin again; absent if that cannot mend it. What never stood is the caller's to try again. */
  Optional<Duration> pauseAfter(CounterException error) {
    if (!retries) {
      return Optional.empty();
    }
    if (error instanceof CounterException.OutOfRange) {
      if (given.isEmpty() && newest.isEmpty()) {
        return Optional.empty();
      }
      given = List.of();
      newest.clear();
      anew = true;
    } else if (!stood
        || !(error instanceof CounterException.Unavailable || error instanceof CounterException.Overloaded)) {
      return Optional.empty();
    }
    pauseMs = pauseMs == 0 ? PAUSE_FIRST_MS : Math.min(2 * pauseMs, PAUSE_MAX_MS);
    Duration pause = Duration.ofMillis((long) (pauseMs * ThreadLocalRandom.current().nextDouble(0.8, 1.2)));
    Duration asked = error.retryAfter().orElse(Duration.ZERO);
    return Optional.of(asked.compareTo(pause) > 0 ? asked : pause);
  }
}
