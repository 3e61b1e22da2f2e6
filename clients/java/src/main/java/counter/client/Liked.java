package counter.client;

import java.time.Instant;
import java.util.List;

/**
 * Which items a user likes.
 *
 * @param liked liked.get(i) is of items.get(i)
 * @param source where the answer came from
 * @param asOf an instant at which the store said so
 * @param requestId the server's name of the call
 */
public record Liked(List<Boolean> liked, Source source, Instant asOf, String requestId) {}
