package counter.client;

import java.time.Duration;
import java.util.List;

/**
 * What may be said about one call. Immutable: each method gives another.
 *
 * @param deadline from now, all attempts and pauses included; null: the client's
 * @param requestId names the call in the server's logs, 1 to 64 characters of [A-Za-z0-9._-]; empty: the server makes one
 * @param traceparent the W3C trace context to pass on ("00-TRACE-SPAN-01"); empty: none
 * @param consistency of a read: how fresh it must be
 * @param consistencyTokens of a read: tokens of earlier answers about items of the call, in any order; the answer
 *     includes the writes that they name
 */
public record CallSettings(
    Duration deadline, String requestId, String traceparent, Consistency consistency, List<String> consistencyTokens) {
  /** Nothing in particular. */
  public static final CallSettings DEFAULT = new CallSettings(null, "", "", Consistency.CACHED, List.of());

  /** A read that sees every write acknowledged before it began. */
  public static final CallSettings STRONG = DEFAULT.withConsistency(Consistency.STRONG);

  public CallSettings withDeadline(Duration deadline) {
    return new CallSettings(deadline, requestId, traceparent, consistency, consistencyTokens);
  }

  public CallSettings withRequestId(String requestId) {
    return new CallSettings(deadline, requestId, traceparent, consistency, consistencyTokens);
  }

  public CallSettings withTraceparent(String traceparent) {
    return new CallSettings(deadline, requestId, traceparent, consistency, consistencyTokens);
  }

  public CallSettings withConsistency(Consistency consistency) {
    return new CallSettings(deadline, requestId, traceparent, consistency, consistencyTokens);
  }

  public CallSettings withConsistencyTokens(List<String> tokens) {
    return new CallSettings(deadline, requestId, traceparent, consistency, List.copyOf(tokens));
  }
}
