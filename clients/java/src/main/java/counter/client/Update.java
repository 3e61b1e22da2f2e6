package counter.client;

import java.util.List;

/**
 * What is new to a watch.
 *
 * @param counts each item once at most
 * @param snapshot whether these are the counts of all items, but for those of which tokens were given: the first update
 *     of a watch, and the first after the store got another history, in which counts may be lower than they were
 */
public record Update(List<Count> counts, boolean snapshot) {}
