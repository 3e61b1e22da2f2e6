package counter.client;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletionException;

/** Makes the calls that clients/conformance/run asks for, one a line; with --async by the methods that end with Async. */
public final class ConformanceAdapter {
  private final boolean async;
  private CounterClient client;
  private Watch watch;

  private ConformanceAdapter(boolean async) {
    this.async = async;
  }

  public static void main(String[] arguments) throws IOException {
    ConformanceAdapter adapter = new ConformanceAdapter(List.of(arguments).contains("--async"));
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      System.out.println(adapter.answer(JsonParser.parseString(line).getAsJsonObject()));
      System.out.flush();
    }
    if (adapter.client != null) {
      adapter.client.close();
    }
  }

  private JsonObject answer(JsonObject asked) throws IOException {
    JsonObject answer = new JsonObject();
    try {
      answer.add("reply", asked.get("call").getAsString().equals("connect") ? connect(asked) : call(asked));
    } catch (CompletionException failed) {
      answer.add("error", failure((CounterException) failed.getCause()));
    } catch (CounterException failed) {
      answer.add("error", failure(failed));
    }
    return answer;
  }

  private JsonObject connect(JsonObject asked) throws IOException {
    if (client != null) {
      client.close();
    }
    CounterClient.Builder builder = CounterClient.builder(text(asked, "target")).userAgent(text(asked, "user_agent"));
    if (asked.has("retries")) {
      builder.retries(asked.get("retries").getAsBoolean());
    }
    if (asked.has("read_your_writes")) {
      builder.readYourWrites(asked.get("read_your_writes").getAsBoolean());
    }
    if (asked.has("deadline_ms")) {
      builder.deadline(Duration.ofMillis(asked.get("deadline_ms").getAsLong()));
    }
    if (asked.has("ca_file")) {
      builder.tls(new Tls(file(asked, "ca_file"), file(asked, "certificate_file"), file(asked, "key_file")));
    }
    if (asked.has("bearer_token")) {
      builder.bearerToken(text(asked, "bearer_token"));
    }
    client = builder.build();
    return new JsonObject();
  }

  private JsonObject call(JsonObject asked) {
    CallSettings settings = settings(asked);
    switch (text(asked, "call")) {
      case "like": {
        long user = Long.parseLong(text(asked, "user"));
        Item item = item(text(asked, "item"));
        return written(async ? client.likeAsync(user, item, settings).join() : client.like(user, item, settings));
      }
      case "unlike": {
        long user = Long.parseLong(text(asked, "user"));
        Item item = item(text(asked, "item"));
        return written(async ? client.unlikeAsync(user, item, settings).join() : client.unlike(user, item, settings));
      }
      case "write_likes":
        return writeLikes(asked, settings);
      case "count": {
        Item item = item(text(asked, "item"));
        return count(async ? client.countAsync(item, settings).join() : client.count(item, settings));
      }
      case "counts": {
        List<Item> items = items(asked);
        Counts counts = async ? client.countsAsync(items, settings).join() : client.counts(items, settings);
        JsonArray all = new JsonArray();
        counts.counts().forEach(one -> all.add(count(one)));
        JsonObject out = new JsonObject();
        out.add("counts", all);
        out.addProperty("request_id", counts.requestId());
        return out;
      }
      case "has_liked":
        return hasLiked(asked, settings);
      case "watch":
        watch = client.watchCounts(items(asked), settings);
        return update(async ? watch.nextAsync().join() : watch.next());
      case "next_update":
        return update(async ? watch.nextAsync().join() : watch.next());
      case "stop_watch":
        watch.close();
        return new JsonObject();
      default:
        return list(asked, settings);
    }
  }

  private JsonObject writeLikes(JsonObject asked, CallSettings settings) {
    List<Mutation> mutations = new ArrayList<>();
    for (JsonElement one : asked.getAsJsonArray("mutations")) {
      JsonObject mutation = one.getAsJsonObject();
      mutations.add(new Mutation(Long.parseLong(text(mutation, "user")), item(text(mutation, "item")),
          Action.valueOf(text(mutation, "action"))));
    }
    WriteResults written =
        async ? client.writeLikesAsync(mutations, settings).join() : client.writeLikes(mutations, settings);
    JsonArray results = new JsonArray();
    for (WriteResults.Result result : written.results()) {
      if (result.error() == null) {
        results.add(written(result.written()));
      } else {
        JsonObject failed = new JsonObject();
        failed.add("error", failure(result.error()));
        results.add(failed);
      }
    }
    JsonObject out = new JsonObject();
    out.add("results", results);
    out.addProperty("request_id", written.requestId());
    return out;
  }

  private JsonObject hasLiked(JsonObject asked, CallSettings settings) {
    long user = Long.parseLong(text(asked, "user"));
    List<Item> items = items(asked);
    Liked liked =
        async ? client.hasLikedAsync(user, items, settings).join() : client.hasLiked(user, items, settings);
    JsonArray all = new JsonArray();
    liked.liked().forEach(all::add);
    JsonObject out = new JsonObject();
    out.add("liked", all);
    out.addProperty("source", liked.source().name());
    out.addProperty("as_of_ms", liked.asOf().toEpochMilli());
    out.addProperty("request_id", liked.requestId());
    return out;
  }

  private static JsonObject update(Update update) {
    JsonArray counts = new JsonArray();
    update.counts().stream().sorted(Comparator.comparing(one -> one.item().type() + ":" + one.item().id()))
        .forEach(one -> counts.add(count(one)));
    JsonObject out = new JsonObject();
    out.add("counts", counts);
    out.addProperty("snapshot", update.snapshot());
    return out;
  }

  private JsonObject list(JsonObject asked, CallSettings settings) {
    Page page = Page.FIRST.withToken(text(asked, "page_token")).withItemTypes(texts(asked, "item_types"))
        .withSize(asked.has("page_size") ? asked.get("page_size").getAsInt() : 0);
    JsonArray listed = new JsonArray();
    JsonObject out = new JsonObject();
    switch (text(asked, "call")) {
      case "list_likes": {
        long user = Long.parseLong(text(asked, "user"));
        LikesPage likes =
            async ? client.listLikesAsync(user, page, settings).join() : client.listLikes(user, page, settings);
        likes.likes().forEach(like -> listed.add(listed(like)));
        out.addProperty("next_page_token", likes.nextPageToken());
        out.addProperty("request_id", likes.requestId());
        break;
      }
      case "list_likers": {
        Item item = item(text(asked, "item"));
        LikersPage likers =
            async ? client.listLikersAsync(item, page, settings).join() : client.listLikers(item, page, settings);
        likers.likers().forEach(liker -> listed.add(listed(liker)));
        out.addProperty("next_page_token", likers.nextPageToken());
        out.addProperty("request_id", likers.requestId());
        break;
      }
      case "all_likes":
        client.allLikes(Long.parseLong(text(asked, "user")), page, settings).forEach(like -> listed.add(listed(like)));
        break;
      default:
        client.allLikers(item(text(asked, "item")), page, settings).forEach(liker -> listed.add(listed(liker)));
    }
    out.add(text(asked, "call").startsWith("all") ? "all" : "page", listed);
    return out;
  }

  private static JsonObject listed(Like like) {
    JsonObject out = new JsonObject();
    out.addProperty("item", like.item().type() + ":" + like.item().id());
    out.addProperty("liked_at_ms", like.likedAt().toEpochMilli());
    return out;
  }

  private static JsonObject listed(Liker liker) {
    JsonObject out = new JsonObject();
    out.addProperty("user", Long.toString(liker.userId()));
    out.addProperty("liked_at_ms", liker.likedAt().toEpochMilli());
    return out;
  }

  private static CallSettings settings(JsonObject asked) {
    CallSettings settings = CallSettings.DEFAULT.withRequestId(text(asked, "request_id"))
        .withTraceparent(text(asked, "traceparent"));
    if (asked.has("deadline_ms")) {
      settings = settings.withDeadline(Duration.ofMillis(asked.get("deadline_ms").getAsLong()));
    }
    if (asked.has("consistency")) {
      settings = settings.withConsistency(Consistency.valueOf(text(asked, "consistency")));
    }
    return settings.withConsistencyTokens(texts(asked, "tokens"));
  }

  private static JsonObject written(Written written) {
    JsonObject out = new JsonObject();
    out.addProperty("changed", written.changed());
    out.addProperty("count", Long.toString(written.count()));
    out.addProperty("consistency_token", written.consistencyToken());
    out.addProperty("request_id", written.requestId());
    return out;
  }

  private static JsonObject count(Count count) {
    JsonObject out = new JsonObject();
    out.addProperty("item", count.item().type() + ":" + count.item().id());
    out.addProperty("count", Long.toString(count.count()));
    out.addProperty("source", count.source().name());
    out.addProperty("as_of_ms", count.asOf().toEpochMilli());
    out.addProperty("consistency_token", count.consistencyToken());
    out.addProperty("request_id", count.requestId());
    return out;
  }

  private static JsonObject failure(CounterException error) {
    JsonArray violations = new JsonArray();
    for (CounterException.FieldViolation violation : error.violations()) {
      JsonObject one = new JsonObject();
      one.addProperty("field", violation.field());
      one.addProperty("description", violation.description());
      violations.add(one);
    }
    JsonObject out = new JsonObject();
    out.addProperty("kind", error.kind());
    out.addProperty("code", error.code());
    out.addProperty("reason", error.reason());
    out.addProperty("message", error.getMessage());
    out.add("violations", violations);
    out.add("quota", error.quota().<JsonElement>map(quota -> {
      JsonObject one = new JsonObject();
      one.addProperty("subject", quota.subject());
      one.addProperty("description", quota.description());
      return one;
    }).orElse(JsonNull.INSTANCE));
    out.addProperty("retry_after_ms", error.retryAfter().map(Duration::toMillis).orElse(null));
    out.addProperty("not_applied", error.notApplied());
    out.addProperty("request_id", error.requestId());
    return out;
  }

  private static Item item(String text) {
    int colon = text.indexOf(':');
    return new Item(text.substring(0, colon), Long.parseLong(text.substring(colon + 1)));
  }

  private static List<Item> items(JsonObject asked) {
    return texts(asked, "items").stream().map(ConformanceAdapter::item).toList();
  }

  private static String text(JsonObject object, String name) {
    return object.has(name) ? object.get(name).getAsString() : "";
  }

  private static List<String> texts(JsonObject object, String name) {
    List<String> texts = new ArrayList<>();
    if (object.has(name)) {
      object.getAsJsonArray(name).forEach(text -> texts.add(text.getAsString()));
    }
    return texts;
  }

  private static byte[] file(JsonObject asked, String name) throws IOException {
    return asked.has(name) ? Files.readAllBytes(Path.of(text(asked, name))) : null;
  }
}
