package counter.client;

/** Where an answer came from. */
public enum Source {
  UNKNOWN,
  CACHE,
  REPLICA,
  PRIMARY
}
