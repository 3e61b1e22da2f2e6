package counter.client;

import java.util.List;

/**
 * What became of the mutations of {@link CounterClient#writeLikes}.
 *
 * @param results results.get(i) is of mutations.get(i)
 * @param requestId the server's name of the call
 */
public record WriteResults(List<Result> results, String requestId) {
  /** One of the two is null. */
  public record Result(Written written, CounterException error) {}
}
