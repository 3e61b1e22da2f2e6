package counter.client;

/** How fresh a read must be. */
public enum Consistency {
  /** True at some instant within the last second while all is well. The fastest. */
  CACHED,
  /** Sees every write acknowledged before the read began. */
  STRONG
}
