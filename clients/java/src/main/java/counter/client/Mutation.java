package counter.client;

/** One like or unlike of {@link CounterClient#writeLikes}. */
public record Mutation(long userId, Item item, Action action) {}
