package counter.client;

import java.util.List;

/**
 * A page of who likes an item.
 *
 * @param likers newest like first
 * @param nextPageToken gets the next page; empty if no more follow
 * @param requestId the server's name of the call
 */
public record LikersPage(List<Liker> likers, String nextPageToken, String requestId) {}
