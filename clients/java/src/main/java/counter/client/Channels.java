package counter.client;

import com.google.gson.Gson;
import com.google.gson.reflect.TypeToken;
import io.grpc.CallCredentials;
import io.grpc.ChannelCredentials;
import io.grpc.ConnectivityState;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.TlsChannelCredentials;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/** How a client's channel is made. */
final class Channels {
  private static final long RECONNECT_FIRST_MS = 100;
  private static final long RECONNECT_MAX_MS = 1000;

  private Channels() {}

  /** The published service config: how every client of Counter picks servers and repeats calls. */
  static Map<String, Object> serviceConfig() {
    try (InputStream file = Channels.class.getResourceAsStream("service_config.json")) {
      InputStreamReader text = new InputStreamReader(file, StandardCharsets.UTF_8);
      return new Gson().fromJson(text, new TypeToken<Map<String, Object>>() {}.getType());
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  static Map<String, Object> serviceConfig(boolean retries) {
    Map<String, Object> config = serviceConfig();
    if (!retries) {
      for (Object method : (List<?>) config.get("methodConfig")) {
        ((Map<?, ?>) method).remove("retryPolicy");
        ((Map<?, ?>) method).remove("waitForReady");
      }
    }
    return config;
  }

  static ManagedChannel open(String target, Tls tls, boolean retries, String userAgent) {
    ManagedChannelBuilder<?> builder =
        Grpc.newChannelBuilder(target, credentials(tls))
            .defaultServiceConfig(serviceConfig(retries))
            // What the resolver's own TXT records may say must not override the published config.
            .disableServiceConfigLookUp()
            .userAgent(userAgent);
    ManagedChannel channel = (retries ? builder.enableRetry() : builder.disableRetry()).build();
    watch(channel, channel.getState(false));
    return channel;
  }

  private static ChannelCredentials credentials(Tls tls) {
    if (tls == null) {
      return InsecureChannelCredentials.create();
    }
    try {
      TlsChannelCredentials.Builder builder = TlsChannelCredentials.newBuilder();
      if (tls.ca() != null) {
        builder.trustManager(new ByteArrayInputStream(tls.ca()));
      }
      if (tls.certificate() != null) {
        builder.keyManager(new ByteArrayInputStream(tls.certificate()), new ByteArrayInputStream(tls.key()));
      }
      return builder.build();
    } catch (IOException wrong) {
      throw new IllegalArgumentException("tls: expected the contents of PEM files", wrong);
    }
  }

  // grpc-java waits a second before it tries a broken connection again, and has no setting for it. So that a call
  // which waits finds a server that was away for a moment, the waiting is cut short: after 100 ms at first, each
  // second in the end.
  private static void watch(ManagedChannel channel, ConnectivityState before) {
    channel.notifyWhenStateChanged(
        before,
        () -> {
          ConnectivityState now = channel.getState(false);
          if (now == ConnectivityState.TRANSIENT_FAILURE) {
            reconnect(channel, RECONNECT_FIRST_MS);
          }
          if (now != ConnectivityState.SHUTDOWN) {
            watch(channel, now);
          }
        });
  }

  private static void reconnect(ManagedChannel channel, long pauseMs) {
    CompletableFuture.delayedExecutor(pauseMs, TimeUnit.MILLISECONDS)
        .execute(
            () -> {
              if (channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE) {
                channel.resetConnectBackoff();
                reconnect(channel, Math.min(2 * pauseMs, RECONNECT_MAX_MS));
              }
            });
  }

  /** Sends a bearer token with every call. */
  static final class Bearer extends CallCredentials {
    private static final Metadata.Key<String> AUTHORIZATION =
        Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
    private final String token;

    Bearer(String token) {
      this.token = token;
    }

    @Override
    public void applyRequestMetadata(RequestInfo info, Executor executor, MetadataApplier applier) {
      Metadata headers = new Metadata();
      headers.put(AUTHORIZATION, "Bearer " + token);
      applier.apply(headers);
    }
  }
}
