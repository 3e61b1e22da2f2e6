package counter.client;

import java.util.List;

/**
 * Which part of a list to get. Immutable: each method gives another.
 *
 * @param size 1 to 1000; 0: 100
 * @param token the nextPageToken of the page before; empty: the first page
 * @param itemTypes of the likes of a user: only those of these types; none: of all
 */
public record Page(int size, String token, List<String> itemTypes) {
  /** The first page, of 100. */
  public static final Page FIRST = new Page(0, "", List.of());

  public Page withSize(int size) {
    return new Page(size, token, itemTypes);
  }

  public Page withToken(String token) {
    return new Page(size, token, itemTypes);
  }

  public Page withItemTypes(List<String> itemTypes) {
    return new Page(size, token, List.copyOf(itemTypes));
  }
}
