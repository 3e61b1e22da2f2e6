package counter.client;

/**
 * What became of a like or an unlike.
 *
 * @param changed false: it was so already
 * @param count likes of the item after it
 * @param consistencyToken pass it to a read to see this write
 * @param requestId the server's name of the call
 */
public record Written(boolean changed, long count, String consistencyToken, String requestId) {}
