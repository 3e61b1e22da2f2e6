package counter.client;

import java.time.Instant;

/**
 * One like of a user.
 *
 * @param item what is liked
 * @param likedAt when it was liked, to the second
 */
public record Like(Item item, Instant likedAt) {}
