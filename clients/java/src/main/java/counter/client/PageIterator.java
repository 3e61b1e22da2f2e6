package counter.client;

import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.Function;

/** The values of all pages, each got when it is needed. One thread. */
final class PageIterator<P, T> implements Iterator<T> {
  private final Function<String, P> get;
  private final Function<P, List<T>> values;
  private final Function<P, String> next;
  private Iterator<T> page = Collections.emptyIterator();
  private String token; // Null: no page follows.

  PageIterator(String token, Function<String, P> get, Function<P, List<T>> values, Function<P, String> next) {
    this.token = token;
    this.get = get;
    this.values = values;
    this.next = next;
  }

  @Override
  public boolean hasNext() {
    while (!page.hasNext() && token != null) {
      P got = get.apply(token);
      page = values.apply(got).iterator();
      token = next.apply(got).isEmpty() ? null : next.apply(got);
    }
    return page.hasNext();
  }

  @Override
  public T next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return page.next();
  }
}
