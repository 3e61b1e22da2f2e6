package counter.client;

import java.util.List;

/**
 * The counts of several items.
 *
 * @param counts counts.get(i) is of items.get(i)
 * @param requestId the server's name of the call
 */
public record Counts(List<Count> counts, String requestId) {}
