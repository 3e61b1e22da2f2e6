package counter.client;

/**
 * A thing that can be liked.
 *
 * @param type one that the server is configured with: "post", "reel", "comment"
 * @param id 1 to 2^63-1
 */
public record Item(String type, long id) {}
