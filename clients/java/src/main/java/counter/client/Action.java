package counter.client;

/** What a mutation does. */
public enum Action {
  /** Make the user like the item. */
  LIKE,
  /** Take the like back. */
  UNLIKE
}
