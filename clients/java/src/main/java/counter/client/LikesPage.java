package counter.client;

import java.util.List;

/**
 * A page of what a user likes.
 *
 * @param likes newest first
 * @param nextPageToken gets the next page; empty if no more follow
 * @param requestId the server's name of the call
 */
public record LikesPage(List<Like> likes, String nextPageToken, String requestId) {}
