package counter.client;

import java.time.Instant;

/**
 * One user who likes an item.
 *
 * @param userId the user
 * @param likedAt when the user liked it, to the second
 */
public record Liker(long userId, Instant likedAt) {}
