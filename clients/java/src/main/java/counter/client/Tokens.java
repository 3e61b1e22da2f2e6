package counter.client;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;

/** The last consistency token of each item written, of the last so many items. Thread-safe. */
final class Tokens {
  /** Items whose last token a client with readYourWrites keeps. */
  static final int ITEMS_MAX = 10_000;

  private final int itemsMax;
  private final LinkedHashMap<Item, String> tokens = new LinkedHashMap<>(); // Written longest ago first.

  Tokens(int itemsMax) {
    this.itemsMax = itemsMax;
  }

  synchronized void keep(Item item, String token) {
    tokens.remove(item);
    tokens.put(item, token);
    if (tokens.size() > itemsMax) {
      Map.Entry<Item, String> oldest = tokens.entrySet().iterator().next();
      tokens.remove(oldest.getKey());
    }
  }

  /** The tokens of these items, each once. */
  synchronized List<String> of(List<Item> items) {
    List<String> found = new ArrayList<>();
    for (Item item : new LinkedHashSet<>(items)) {
      String token = tokens.get(item);
      if (token != null) {
        found.add(token);
      }
    }
    return found;
  }
}
