package counter.client;

import com.google.protobuf.Timestamp;
import counter.v1.Counter;
import counter.v1.CounterServiceGrpc;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * The like counter from Java: who likes what, and how often it is liked; over gRPC.
 *
 * <p>Use one client for a whole program: it owns one channel, which any number of threads may share. Every call may be
 * repeated with the effect of one, and UNAVAILABLE is repeated by the client itself. A failed call throws a {@link
 * CounterException}; a method that ends with Async gives a future that ends with one, and cancelling that future ends
 * the call.
 */
public final class CounterClient implements AutoCloseable {
  /** The version of this client, as the user-agent tells it. */
  public static final String VERSION = "0.1.0";

  private static final Metadata.Key<String> REQUEST_ID = key("x-request-id");
  private static final Metadata.Key<String> TRACEPARENT = key("traceparent");
  private static final Pattern REQUEST_ID_FORM = Pattern.compile("[A-Za-z0-9._-]{0,64}");
  private static final Pattern TRACEPARENT_FORM = Pattern.compile("[A-Za-z0-9._-]*");

  private final ManagedChannel channel;
  private final Duration deadline;
  private final CallOptions callOptions;
  private final Tokens tokens; // Null: none are kept.
  private final boolean retries;

  private CounterClient(Builder builder) {
    channel = Channels.open(builder.target, builder.tls, builder.retries, (builder.userAgent + " counter-java/" + VERSION).trim());
    deadline = builder.deadline;
    retries = builder.retries;
    callOptions = builder.bearerToken == null ? CallOptions.DEFAULT
        : CallOptions.DEFAULT.withCallCredentials(new Channels.Bearer(builder.bearerToken));
    tokens = builder.readYourWrites ? new Tokens(Tokens.ITEMS_MAX) : null;
  }

  /** A client of the server at a target: host:port, dns:///name:port ... */
  public static Builder builder(String target) {
    return new Builder(target);
  }

  /** Makes the user like the item. */
  public Written like(long userId, Item item) {
    return like(userId, item, CallSettings.DEFAULT);
  }

  /** Makes the user like the item. */
  public Written like(long userId, Item item, CallSettings settings) {
    return join(likeAsync(userId, item, settings));
  }

  /** Makes the user like the item. */
  public CompletableFuture<Written> likeAsync(long userId, Item item, CallSettings settings) {
    Counter.LikeRequest request = Counter.LikeRequest.newBuilder().setUserId(userId).setItem(encoded(item)).build();
    return call(CounterServiceGrpc.getLikeMethod(), request, settings, (reply, requestId) -> written(item,
        reply.getStatus() == Counter.LikeStatus.LIKE_STATUS_LIKED, reply.getCount(), reply.getConsistencyToken(), requestId));
  }

  /** Takes a like back. */
  public Written unlike(long userId, Item item) {
    return unlike(userId, item, CallSettings.DEFAULT);
  }

  /** Takes a like back. */
  public Written unlike(long userId, Item item, CallSettings settings) {
    return join(unlikeAsync(userId, item, settings));
  }

  /** Takes a like back. */
  public CompletableFuture<Written> unlikeAsync(long userId, Item item, CallSettings settings) {
    Counter.UnlikeRequest request = Counter.UnlikeRequest.newBuilder().setUserId(userId).setItem(encoded(item)).build();
    return call(CounterServiceGrpc.getUnlikeMethod(), request, settings, (reply, requestId) -> written(item,
        reply.getStatus() == Counter.UnlikeStatus.UNLIKE_STATUS_UNLIKED, reply.getCount(), reply.getConsistencyToken(),
        requestId));
  }

  /** Up to 1000 likes and unlikes; each has a result of its own. */
  public WriteResults writeLikes(List<Mutation> mutations) {
    return writeLikes(mutations, CallSettings.DEFAULT);
  }

  /** Up to 1000 likes and unlikes; each has a result of its own. */
  public WriteResults writeLikes(List<Mutation> mutations, CallSettings settings) {
    return join(writeLikesAsync(mutations, settings));
  }

  /** Up to 1000 likes and unlikes; each has a result of its own. */
  public CompletableFuture<WriteResults> writeLikesAsync(List<Mutation> mutations, CallSettings settings) {
    Counter.WriteLikesRequest.Builder request = Counter.WriteLikesRequest.newBuilder();
    for (Mutation mutation : mutations) {
      request.addMutationsBuilder().setUserId(mutation.userId()).setItem(encoded(mutation.item())).setAction(
          mutation.action() == Action.LIKE ? Counter.Action.ACTION_LIKE : Counter.Action.ACTION_UNLIKE);
    }
    return call(CounterServiceGrpc.getWriteLikesMethod(), request.build(), settings, (reply, requestId) -> {
      checkNumber(reply.getResultsCount(), mutations.size(), requestId);
      return new WriteResults(IntStream.range(0, mutations.size())
          .mapToObj(i -> result(mutations.get(i), reply.getResults(i), requestId)).toList(), requestId);
    });
  }

  /** How many users like the item. Takes at most one token. */
  public Count count(Item item) {
    return count(item, CallSettings.DEFAULT);
  }

  /** How many users like the item. Takes at most one token. */
  public Count count(Item item, CallSettings settings) {
    return join(countAsync(item, settings));
  }

  /** How many users like the item. Takes at most one token. */
  public CompletableFuture<Count> countAsync(Item item, CallSettings settings) {
    List<String> read = tokensFor(List.of(item), settings);
    if (read.size() > 1) {
      return CompletableFuture.failedFuture(
          Errors.refused("consistency_tokens", "expected at most one for the count of one item"));
    }
    Counter.GetCountRequest request = Counter.GetCountRequest.newBuilder().setItem(encoded(item))
        .setConsistency(encoded(settings.consistency())).setConsistencyToken(String.join("", read)).build();
    return call(CounterServiceGrpc.getGetCountMethod(), request, settings, (reply, requestId) -> new Count(item,
        reply.getCount(), source(reply.getSource()), instant(reply.getAsOfTime()), reply.getConsistencyToken(), requestId));
  }

  /** How many users like each of up to 1000 items, which may repeat. */
  public Counts counts(List<Item> items) {
    return counts(items, CallSettings.DEFAULT);
  }

  /** How many users like each of up to 1000 items, which may repeat. */
  public Counts counts(List<Item> items, CallSettings settings) {
    return join(countsAsync(items, settings));
  }

  /** How many users like each of up to 1000 items, which may repeat. */
  public CompletableFuture<Counts> countsAsync(List<Item> items, CallSettings settings) {
    Counter.BatchGetCountsRequest request = Counter.BatchGetCountsRequest.newBuilder()
        .addAllItems(items.stream().map(CounterClient::encoded).toList()).setConsistency(encoded(settings.consistency()))
        .addAllConsistencyTokens(tokensFor(items, settings)).build();
    return call(CounterServiceGrpc.getBatchGetCountsMethod(), request, settings, (reply, requestId) -> {
      checkNumber(reply.getCountsCount(), items.size(), requestId);
      return new Counts(decoded(reply.getCountsList(), requestId), requestId);
    });
  }

  /** Which of up to 1000 items, which may repeat, the user likes. */
  public Liked hasLiked(long userId, List<Item> items) {
    return hasLiked(userId, items, CallSettings.DEFAULT);
  }

  /** Which of up to 1000 items, which may repeat, the user likes. */
  public Liked hasLiked(long userId, List<Item> items, CallSettings settings) {
    return join(hasLikedAsync(userId, items, settings));
  }

  /** Which of up to 1000 items, which may repeat, the user likes. */
  public CompletableFuture<Liked> hasLikedAsync(long userId, List<Item> items, CallSettings settings) {
    Counter.HasLikedRequest request = Counter.HasLikedRequest.newBuilder().setUserId(userId)
        .addAllItems(items.stream().map(CounterClient::encoded).toList()).setConsistency(encoded(settings.consistency()))
        .addAllConsistencyTokens(tokensFor(items, settings)).build();
    return call(CounterServiceGrpc.getHasLikedMethod(), request, settings, (reply, requestId) -> {
      checkNumber(reply.getLikedCount(), items.size(), requestId);
      return new Liked(List.copyOf(reply.getLikedList()), source(reply.getSource()), instant(reply.getAsOfTime()), requestId);
    });
  }

  /** A page of what the user likes, newest first. */
  public LikesPage listLikes(long userId, Page page) {
    return listLikes(userId, page, CallSettings.DEFAULT);
  }

  /** A page of what the user likes, newest first. */
  public LikesPage listLikes(long userId, Page page, CallSettings settings) {
    return join(listLikesAsync(userId, page, settings));
  }

  /** A page of what the user likes, newest first. */
  public CompletableFuture<LikesPage> listLikesAsync(long userId, Page page, CallSettings settings) {
    Counter.ListLikesRequest request = Counter.ListLikesRequest.newBuilder().setUserId(userId)
        .addAllItemTypes(page.itemTypes()).setPageSize(page.size()).setPageToken(page.token()).build();
    return call(CounterServiceGrpc.getListLikesMethod(), request, settings, (reply, requestId) -> new LikesPage(
        reply.getLikesList().stream().map(like -> new Like(
            new Item(like.getItem().getItemType(), like.getItem().getItemId()), instant(like.getLikedAt()))).toList(),
        reply.getNextPageToken(), requestId));
  }

  /** All that the user likes from the page on, newest first; each page is got when it is needed. */
  public Iterable<Like> allLikes(long userId, Page page, CallSettings settings) {
    return () -> new PageIterator<>(page.token(), token -> listLikes(userId, page.withToken(token), settings),
        LikesPage::likes, LikesPage::nextPageToken);
  }

  /** A page of who likes the item, newest like first; FailedPrecondition where the service has no index of them. */
  public LikersPage listLikers(Item item, Page page) {
    return listLikers(item, page, CallSettings.DEFAULT);
  }

  /** A page of who likes the item, newest like first; FailedPrecondition where the service has no index of them. */
  public LikersPage listLikers(Item item, Page page, CallSettings settings) {
    return join(listLikersAsync(item, page, settings));
  }

  /** A page of who likes the item, newest like first; FailedPrecondition where the service has no index of them. */
  public CompletableFuture<LikersPage> listLikersAsync(Item item, Page page, CallSettings settings) {
    Counter.ListLikersRequest request = Counter.ListLikersRequest.newBuilder().setItem(encoded(item))
        .setPageSize(page.size()).setPageToken(page.token()).build();
    return call(CounterServiceGrpc.getListLikersMethod(), request, settings, (reply, requestId) -> new LikersPage(
        reply.getLikersList().stream().map(liker -> new Liker(liker.getUserId(), instant(liker.getLikedAt()))).toList(),
        reply.getNextPageToken(), requestId));
  }

  /** All who like the item from the page on, newest like first; each page is got when it is needed. */
  public Iterable<Liker> allLikers(Item item, Page page, CallSettings settings) {
    return () -> new PageIterator<>(page.token(), token -> listLikers(item, page.withToken(token), settings),
        LikersPage::likers, LikersPage::nextPageToken);
  }

  /** The counts of up to 100 items, and then each change. */
  public Watch watchCounts(List<Item> items) {
    return watchCounts(items, CallSettings.DEFAULT);
  }

  /**
   * The counts of up to 100 items, and then each change.
   *
   * <p>A watch goes on by itself from what it has told: when its server goes, on another one, and from now when the
   * store has got another history. What is known already is left out: that of which the settings have the newest
   * tokens, from any answer. It has no deadline but that of the settings: without one it stands until it is closed.
   */
  public Watch watchCounts(List<Item> items, CallSettings settings) {
    CounterException wrong = check(settings);
    if (wrong != null) {
      throw wrong;
    }
    CallOptions options = settings.deadline() == null ? callOptions
        : callOptions.withDeadlineAfter(settings.deadline().toNanos(), TimeUnit.NANOSECONDS);
    return new Watch(
        new WatchState(items.stream().map(CounterClient::encoded).toList(), settings.consistencyTokens(), retries),
        () -> channel.newCall(CounterServiceGrpc.getWatchCountsMethod(), options), () -> headers(settings),
        (message, requestId) -> decoded(message.getCountsList(), requestId), channel::isShutdown);
  }

  /** Calls that are running end as Unavailable or Cancelled. */
  @Override
  public void close() {
    channel.shutdownNow();
  }

  // One unary call, the answer decoded with the server's name of the call.
  private <Q, R, T> CompletableFuture<T> call(MethodDescriptor<Q, R> method, Q request, CallSettings settings,
      BiFunction<R, String, T> decode) {
    CounterException wrong = check(settings);
    if (wrong != null) {
      return CompletableFuture.failedFuture(wrong);
    }
    Duration time = settings.deadline() == null ? deadline : settings.deadline();
    ClientCall<Q, R> call =
        channel.newCall(method, callOptions.withDeadlineAfter(time.toNanos(), TimeUnit.NANOSECONDS));
    Reply<R, T> reply = new Reply<>(decode);
    reply.future.whenComplete((value, error) -> {
      if (reply.future.isCancelled()) {
        call.cancel("the caller gave up", null);
      }
    });
    call.start(reply, headers(settings));
    call.sendMessage(request);
    call.halfClose();
    call.request(2);
    return reply.future;
  }

  // What is wrong with the settings; null: nothing.
  private static CounterException check(CallSettings settings) {
    if (!REQUEST_ID_FORM.matcher(settings.requestId()).matches()) {
      return Errors.refused("request_id", "expected at most 64 characters of [A-Za-z0-9._-]");
    }
    if (!TRACEPARENT_FORM.matcher(settings.traceparent()).matches()) {
      return Errors.refused("traceparent", "expected a W3C trace context");
    }
    return null;
  }

  private static Metadata headers(CallSettings settings) {
    Metadata headers = new Metadata();
    if (!settings.requestId().isEmpty()) {
      headers.put(REQUEST_ID, settings.requestId());
    }
    if (!settings.traceparent().isEmpty()) {
      headers.put(TRACEPARENT, settings.traceparent());
    }
    return headers;
  }

  /** The server's name of a call, as its headers or trailers have it; empty if they do not. */
  static String requestIdOf(Metadata metadata) {
    String value = metadata.get(REQUEST_ID);
    return value == null ? "" : value;
  }

  private static final class Reply<R, T> extends ClientCall.Listener<R> {
    final CompletableFuture<T> future = new CompletableFuture<>();
    private final BiFunction<R, String, T> decode;
    private String requestId = "";
    private R message;

    Reply(BiFunction<R, String, T> decode) {
      this.decode = decode;
    }

    @Override
    public void onHeaders(Metadata headers) {
      requestId = requestIdOf(headers);
    }

    @Override
    public void onMessage(R message) {
      this.message = message;
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      if (!status.isOk()) {
        future.completeExceptionally(Errors.ofCall(status, trailers, requestId.isEmpty() ? requestIdOf(trailers) : requestId));
        return;
      }
      try {
        future.complete(decode.apply(message, requestId));
      } catch (RuntimeException wrong) {
        future.completeExceptionally(wrong);
      }
    }
  }

  static <T> T join(CompletableFuture<T> future) {
    try {
      return future.join();
    } catch (CompletionException failed) {
      if (failed.getCause() instanceof CounterException error) {
        error.setStackTrace(Thread.currentThread().getStackTrace()); // Where the caller stood, not a thread of gRPC's.
        throw error;
      }
      throw failed;
    }
  }

  private Written written(Item item, boolean changed, long count, String token, String requestId) {
    if (tokens != null) {
      tokens.keep(item, token);
    }
    return new Written(changed, count, token, requestId);
  }

  private WriteResults.Result result(Mutation mutation, Counter.MutationResult result, String requestId) {
    if (result.getError().getCode() != 0) {
      return new WriteResults.Result(null, Errors.decoded(result.getError(), requestId, false));
    }
    boolean changed = result.getOutcome() == Counter.Outcome.OUTCOME_LIKED
        || result.getOutcome() == Counter.Outcome.OUTCOME_UNLIKED;
    if (!changed && result.getOutcome() != Counter.Outcome.OUTCOME_ALREADY_LIKED
        && result.getOutcome() != Counter.Outcome.OUTCOME_NOT_LIKED) {
      return new WriteResults.Result(null,
          Errors.badReply("the server answered an outcome that this client does not know", requestId));
    }
    return new WriteResults.Result(
        written(mutation.item(), changed, result.getCount(), result.getConsistencyToken(), requestId), null);
  }

  private List<String> tokensFor(List<Item> items, CallSettings settings) {
    return tokens != null && settings.consistencyTokens().isEmpty() ? tokens.of(items) : settings.consistencyTokens();
  }

  private static Metadata.Key<String> key(String name) {
    return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
  }

  private static void checkNumber(int answers, int asked, String requestId) {
    if (answers != asked) {
      throw Errors.badReply("the server gave " + answers + " answers, not " + asked, requestId);
    }
  }

  private static List<Count> decoded(List<Counter.ItemCount> counts, String requestId) {
    return counts.stream().map(count -> new Count(
        new Item(count.getItem().getItemType(), count.getItem().getItemId()), count.getCount(),
        source(count.getSource()), instant(count.getAsOfTime()), count.getConsistencyToken(), requestId)).toList();
  }

  private static Counter.Item encoded(Item item) {
    return Counter.Item.newBuilder().setItemType(item.type()).setItemId(item.id()).build();
  }

  private static Counter.Consistency encoded(Consistency consistency) {
    return consistency == Consistency.STRONG ? Counter.Consistency.CONSISTENCY_STRONG
        : Counter.Consistency.CONSISTENCY_CACHED;
  }

  private static Source source(Counter.Source source) {
    return switch (source) {
      case SOURCE_CACHE -> Source.CACHE;
      case SOURCE_REPLICA -> Source.REPLICA;
      case SOURCE_PRIMARY -> Source.PRIMARY;
      default -> Source.UNKNOWN;
    };
  }

  private static Instant instant(Timestamp time) {
    return Instant.ofEpochSecond(time.getSeconds(), time.getNanos());
  }

  /** What is true of all calls of a client. */
  public static final class Builder {
    private final String target;
    private Duration deadline = Duration.ofSeconds(2);
    private boolean retries = true;
    private String userAgent = "";
    private Tls tls;
    private String bearerToken;
    private boolean readYourWrites;

    private Builder(String target) {
      this.target = target;
    }

    /** Of a call that names none; 2 s by default. */
    public Builder deadline(Duration deadline) {
      this.deadline = deadline;
      return this;
    }

    /** False: one attempt a call, which fails at once where no server is ready. */
    public Builder retries(boolean retries) {
      this.retries = retries;
      return this;
    }

    /** Put before this client's own: "feed/1.2". */
    public Builder userAgent(String userAgent) {
      this.userAgent = userAgent;
      return this;
    }

    /** Without it: plain text. */
    public Builder tls(Tls tls) {
      this.tls = tls;
      return this;
    }

    /** Sent with each call; needs tls. */
    public Builder bearerToken(String bearerToken) {
      this.bearerToken = bearerToken;
      return this;
    }

    /** Keep the tokens of writes, of the last 10,000 items, and pass them to reads that come without tokens. */
    public Builder readYourWrites(boolean readYourWrites) {
      this.readYourWrites = readYourWrites;
      return this;
    }

    /** Never blocks: connections are made when calls need them, and made again when they break. */
    public CounterClient build() {
      if (bearerToken != null && tls == null) {
        throw new IllegalArgumentException("bearerToken: expected tls with it; a token must not travel in plain text");
      }
      return new CounterClient(this);
    }
  }
}
