package counter.client;

import counter.v1.Counter;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * Counts as they change. One thread at a time asks it for updates; any may close it.
 *
 * <p>It asks the server for a message only when it is asked for an update, so that it holds one at most.
 */
public final class Watch implements AutoCloseable {
  private final Supplier<ClientCall<Counter.WatchCountsRequest, Counter.WatchCountsResponse>> newCall;
  private final Supplier<Metadata> headers;
  private final BiFunction<Counter.WatchCountsResponse, String, List<Count>> decode;
  private final BooleanSupplier clientIsClosed;
  // All below by this object's lock, under which no future is completed.
  private final WatchState state;
  private ClientCall<Counter.WatchCountsRequest, Counter.WatchCountsResponse> call; // Null: none is open.
  private CompletableFuture<Update> waiting; // Null: nobody waits.
  private CounterException failed; // Null: it goes on.
  private long openAtNanos = System.nanoTime(); // Not before that.

  Watch(WatchState state, Supplier<ClientCall<Counter.WatchCountsRequest, Counter.WatchCountsResponse>> newCall,
      Supplier<Metadata> headers, BiFunction<Counter.WatchCountsResponse, String, List<Count>> decode,
      BooleanSupplier clientIsClosed) {
    this.state = state;
    this.newCall = newCall;
    this.headers = headers;
    this.decode = decode;
    this.clientIsClosed = clientIsClosed;
  }

  /**
   * Waits for the next update. Throws what the watch ended with: a {@link CounterException} that is not mended by
   * watching again, or any without retries.
   */
  public Update next() {
    return CounterClient.join(nextAsync());
  }

  /** The next update. Cancelling the future closes the watch. Requires that the future before has ended. */
  public CompletableFuture<Update> nextAsync() {
    CompletableFuture<Update> future = new CompletableFuture<>();
    synchronized (this) {
      if (failed != null) {
        return CompletableFuture.failedFuture(failed);
      }
      if (waiting != null) {
        throw new IllegalStateException("expected the update that was asked for before to have come");
      }
      waiting = future;
      goOn();
    }
    future.whenComplete((update, error) -> {
      if (future.isCancelled()) {
        close();
      }
    });
    return future;
  }

  /** Ends the watch: who waits for an update gets Cancelled. Again it does nothing. */
  @Override
  public void close() {
    fail(Errors.cancelled("the watch was closed"));
  }

  // Requires the lock, and somebody who waits.
  private void goOn() {
    if (call != null) {
      call.request(1);
      return;
    }
    long pause = openAtNanos - System.nanoTime();
    if (pause > 0) {
      CompletableFuture.delayedExecutor(pause, TimeUnit.NANOSECONDS).execute(this::open);
    } else {
      open();
    }
  }

  private synchronized void open() {
    if (failed != null || call != null) {
      return;
    }
    call = newCall.get();
    call.start(new Stream(call), headers.get());
    call.sendMessage(state.begin());
    call.halfClose();
    call.request(1);
  }

  private void fail(CounterException error) {
    CompletableFuture<Update> waited;
    ClientCall<?, ?> open;
    synchronized (this) {
      if (failed != null) {
        return;
      }
      failed = error;
      waited = waiting;
      waiting = null;
      open = call;
      call = null;
    }
    if (open != null) {
      open.cancel("the caller gave up", null);
    }
    if (waited != null) {
      waited.completeExceptionally(error);
    }
  }

  private final class Stream extends ClientCall.Listener<Counter.WatchCountsResponse> {
    private final ClientCall<?, ?> mine;
    private String requestId = "";

    Stream(ClientCall<?, ?> mine) {
      this.mine = mine;
    }

    @Override
    public void onHeaders(Metadata headers) {
      requestId = CounterClient.requestIdOf(headers);
    }

    @Override
    public void onMessage(Counter.WatchCountsResponse message) {
      Optional<Update> update;
      CompletableFuture<Update> waited;
      synchronized (Watch.this) {
        if (call != mine || waiting == null) {
          return;
        }
        update = state.take(message.getSnapshot(), decode.apply(message, requestId));
        if (update.isEmpty()) {
          goOn();
          return;
        }
        waited = waiting;
        waiting = null;
      }
      waited.complete(update.get());
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      Status why = status.isOk() ? Status.UNAVAILABLE.withDescription("the server ended the watch") : status;
      String id = requestId.isEmpty() ? CounterClient.requestIdOf(trailers) : requestId;
      CounterException error = Errors.ofCall(why, trailers, id);
      synchronized (Watch.this) {
        if (call != mine) {
          return;
        }
        call = null;
        Optional<Duration> pause =
            clientIsClosed.getAsBoolean() ? Optional.empty() : state.pauseAfter(error);
        if (pause.isPresent()) {
          openAtNanos = System.nanoTime() + pause.get().toNanos();
          if (waiting != null) {
            goOn();
          }
          return;
        }
      }
      fail(error);
    }
  }
}
