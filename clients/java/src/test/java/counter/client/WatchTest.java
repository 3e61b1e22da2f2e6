package counter.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Status;
import io.grpc.Metadata;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class WatchTest {
  private static final CounterException GONE = error(14);
  private static final CounterException OTHER = error(11);
  private static final CounterException FULL = full(Duration.ZERO);

  private static CounterException error(int code) {
    return Errors.ofCall(io.grpc.Status.fromCodeValue(code), new Metadata(), "");
  }

  private static CounterException full(Duration retryAfter) {
    com.google.rpc.ErrorInfo info =
        com.google.rpc.ErrorInfo.newBuilder().setDomain("counter.v1").setReason("OVERLOADED").build();
    com.google.rpc.RetryInfo retry = com.google.rpc.RetryInfo.newBuilder()
        .setRetryDelay(com.google.protobuf.Duration.newBuilder().setSeconds(retryAfter.toSeconds())).build();
    return Errors.decoded(Status.newBuilder().setCode(8).addDetails(com.google.protobuf.Any.pack(info))
        .addDetails(com.google.protobuf.Any.pack(retry)).build(), "", false);
  }

  private static WatchState state(String... tokens) {
    return new WatchState(List.of(), List.of(tokens), true);
  }

  private static Count count(long id, String token) {
    return new Count(new Item("post", id), 1, Source.CACHE, Instant.EPOCH, token, "");
  }

  private static List<String> tokens(WatchState watch) {
    return watch.begin().getConsistencyTokensList();
  }

  @Test
  void itGoesOnFromTheNewestTokenOfEachItem() {
    WatchState watch = state();
    assertEquals(List.of(), tokens(watch));
    assertTrue(watch.take(true, List.of(count(1, "a"), count(2, "z"))).orElseThrow().snapshot());
    assertFalse(watch.take(false, List.of(count(1, "b"))).orElseThrow().snapshot());
    assertTrue(watch.pauseAfter(GONE).isPresent());
    assertEquals(List.of("b", "z"), tokens(watch));
    assertEquals(Optional.empty(), watch.take(true, List.of()));
    assertFalse(watch.take(false, List.of(count(1, "c"))).orElseThrow().snapshot());
    watch.pauseAfter(GONE);
    watch.begin();
    assertFalse(watch.take(true, List.of(count(1, "d"))).orElseThrow().snapshot());
  }

  @Test
  void aFirstUpdateIsToldEvenIfNothingIsNew() {
    WatchState watch = state("known");
    watch.begin();
    assertEquals(Optional.of(new Update(List.of(), true)), watch.take(true, List.of()));
  }

  @Test
  void ofAnotherHistoryItBeginsAnewAndNotTwiceWithoutTokens() {
    WatchState watch = state("known");
    assertEquals(List.of("known"), tokens(watch));
    assertTrue(watch.pauseAfter(OTHER).isPresent());
    assertEquals(List.of(), tokens(watch));
    assertTrue(watch.pauseAfter(OTHER).isEmpty());
    watch.take(true, List.of(count(1, "a")));
    assertTrue(watch.pauseAfter(OTHER).isPresent());
    assertTrue(watch.pauseAfter(GONE).isPresent());
    assertEquals(List.of(), tokens(watch));
    assertTrue(watch.take(true, List.of(count(1, "b"))).orElseThrow().snapshot());
  }

  @Test
  void whatNeverStoodAndOtherErrorsEndIt() {
    assertTrue(state().pauseAfter(GONE).isEmpty());
    assertTrue(state().pauseAfter(FULL).isEmpty());
    WatchState watch = state();
    watch.take(true, List.of(count(1, "a")));
    assertTrue(watch.pauseAfter(error(13)).isEmpty());
    assertTrue(watch.pauseAfter(FULL).isPresent());
  }

  @Test
  void withoutRetriesEverythingEndsIt() {
    for (CounterException error : List.of(GONE, FULL, OTHER)) {
      WatchState watch = new WatchState(List.of(), List.of("known"), false);
      watch.take(true, List.of(count(1, "a")));
      assertTrue(watch.pauseAfter(error).isEmpty());
    }
  }

  @Test
  void pausesDoubleToASecondAndNoFurtherAndWaitForWhatTheServerSays() {
    WatchState watch = state();
    watch.take(true, List.of(count(1, "a")));
    for (long wanted : new long[] {50, 100, 200, 400, 800, 1000, 1000, 1000}) {
      long pause = watch.pauseAfter(GONE).orElseThrow().toMillis();
      assertTrue(pause >= wanted * 79 / 100 && pause <= wanted * 121 / 100, pause + " for " + wanted);
    }
    assertEquals(Duration.ofSeconds(7), watch.pauseAfter(full(Duration.ofSeconds(7))).orElseThrow());
    watch.take(false, List.of(count(1, "b")));
    assertTrue(watch.pauseAfter(GONE).orElseThrow().toMillis() < 70);
  }

  @Test
  void itGoesOnWithNoMoreTokensThanARequestMayCarry() {
    List<String> given = IntStream.range(0, WatchState.TOKENS_MAX).mapToObj(i -> "t" + i).toList();
    WatchState watch = new WatchState(List.of(), given, true);
    assertEquals(WatchState.TOKENS_MAX, tokens(watch).size());
    watch.take(true, List.of(count(1, "a")));
    assertEquals(WatchState.TOKENS_MAX, tokens(watch).size());
    assertEquals("a", tokens(watch).get(0));
  }

  @Test
  void closingItEndsWhoWaits() throws IOException {
    try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        CounterClient client = CounterClient.builder("127.0.0.1:" + silent.getLocalPort()).build()) {
      Watch watch = client.watchCounts(List.of(new Item("post", 1)));
      CompletableFuture<Update> waiting = watch.nextAsync();
      assertThrows(IllegalStateException.class, watch::nextAsync);
      watch.close();
      CompletionException error = assertThrows(CompletionException.class, waiting::join);
      assertInstanceOf(CounterException.Cancelled.class, error.getCause());
      assertThrows(CounterException.Cancelled.class, watch::next);
    }
  }

  @Test
  void cancellingTheFutureClosesIt() throws IOException {
    try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        CounterClient client = CounterClient.builder("127.0.0.1:" + silent.getLocalPort()).build()) {
      Watch watch = client.watchCounts(List.of(new Item("post", 1)));
      assertTrue(watch.nextAsync().cancel(true));
      assertThrows(CounterException.Cancelled.class, watch::next);
    }
  }
}
