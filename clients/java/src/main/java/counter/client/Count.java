package counter.client;

import java.time.Instant;

/**
 * The count of likes of one item.
 *
 * @param item the item
 * @param count 0 for an item that nobody ever liked
 * @param source where the count came from
 * @param asOf an instant at which the store held this count
 * @param consistencyToken pass it to a later read to never see an older state
 * @param requestId the server's name of the call
 */
public record Count(Item item, long count, Source source, Instant asOf, String consistencyToken, String requestId) {}
