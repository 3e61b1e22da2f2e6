// Everything that README.md shows, as one program; clients/java/run_tests runs it.
import counter.client.Action;
import counter.client.CallSettings;
import counter.client.Count;
import counter.client.CounterClient;
import counter.client.CounterException;
import counter.client.Counts;
import counter.client.Item;
import counter.client.Like;
import counter.client.Liked;
import counter.client.LikesPage;
import counter.client.Mutation;
import counter.client.Page;
import counter.client.Tls;
import counter.client.Update;
import counter.client.Watch;
import counter.client.WriteResults;
import counter.client.Written;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

public class Example {
  public static void main(String[] arguments) throws Exception {
    // snippet: first
    CounterClient likes = CounterClient.builder(System.getenv("COUNTER_SERVER"))
        .deadline(Duration.ofSeconds(10)) // 2 s by default; the first call of a JVM can need them.
        .build();

    Item post = new Item("post", 456);
    Written liked = likes.like(123, post);
    System.out.println("likes: " + liked.count());
    // snippet end

    // snippet: batch
    WriteResults written = likes.writeLikes(List.of(
        new Mutation(1, post, Action.LIKE),
        new Mutation(123, post, Action.UNLIKE),
        new Mutation(0, post, Action.LIKE))); // There is no user 0.
    for (WriteResults.Result result : written.results()) {
      if (result.error() != null) {
        System.out.println("refused: " + result.error().kind());
      } else {
        System.out.println("now " + result.written().count());
      }
    }
    // snippet end

    // snippet: reads
    Count count = likes.count(post, CallSettings.STRONG);
    System.out.println("post 456: " + count.count());

    List<Item> items = List.of(post, new Item("reel", 7));
    Counts counts = likes.counts(items);
    System.out.println("reel 7: " + counts.counts().get(1).count());

    Liked has = likes.hasLiked(1, items);
    for (int i = 0; i < items.size(); i++) {
      if (has.liked().get(i)) {
        System.out.println("user 1 likes " + items.get(i).type() + " " + items.get(i).id());
      }
    }
    // snippet end

    // snippet: lists
    LikesPage page = likes.listLikes(1, Page.FIRST.withSize(10));
    for (Like like : page.likes()) {
      System.out.println("liked: " + like.item().type() + " " + like.item().id());
    }

    // page.nextPageToken() gets the next page; allLikes gets all of them, each when it is needed:
    int number = 0;
    for (Like like : likes.allLikes(1, Page.FIRST.withItemTypes(List.of("post")), CallSettings.DEFAULT)) {
      number++;
    }
    System.out.println("in all: " + number);
    // snippet end

    // snippet: errors
    try {
      likes.like(0, new Item("nothing", 7));
    } catch (CounterException.InvalidArgument error) {
      error.violations().forEach(violation -> System.out.println("wrong: " + violation.field()));
    } catch (CounterException.RateLimited | CounterException.Overloaded error) {
      Thread.sleep(error.retryAfter().orElse(Duration.ofSeconds(1)).toMillis()); // Then once more.
    } catch (CounterException error) {
      System.out.println(error); // What happened, and the request id to report it by.
    }
    // snippet end

    // snippet: options
    Count soon = likes.count(post, CallSettings.DEFAULT
        .withDeadline(Duration.ofMillis(500))
        .withRequestId("feed-42")
        .withTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
    System.out.println("request: " + soon.requestId());
    // snippet end

    // snippet: mine
    try (CounterClient mine =
        CounterClient.builder(System.getenv("COUNTER_SERVER")).readYourWrites(true).build()) {
      mine.like(7, new Item("reel", 7));
      System.out.println("reel 7: " + mine.count(new Item("reel", 7)).count());
    }
    // snippet end

    // snippet: secure
    Tls tls = new Tls(
        Files.readAllBytes(Path.of("ca.pem")),
        Files.readAllBytes(Path.of("client.pem")),
        Files.readAllBytes(Path.of("client.key")));
    CounterClient secure =
        CounterClient.builder("dns:///counter.example:443").tls(tls).bearerToken("secret").build();
    // snippet end
    secure.close();

    // snippet: watch
    try (Watch watch = likes.watchCounts(List.of(post))) {
      Update update = watch.next(); // The counts of now; then, each time, those that have changed.
      for (Count now : update.counts()) {
        System.out.println("watched: " + now.item().type() + " " + now.item().id() + " " + now.count());
      }
    }
    // snippet end

    // snippet: async
    likes.likeAsync(124, post, CallSettings.DEFAULT)
        .thenAccept(reply -> System.out.println("likes: " + reply.count()))
        .join();
    // snippet end
    likes.close();
  }
}
