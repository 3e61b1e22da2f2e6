package counter.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class CounterClientTest {
  @Test
  void theServiceConfigSaysWhatTheDocumentationSays() {
    Map<String, Object> config = Channels.serviceConfig(true);
    Map<?, ?> method = (Map<?, ?>) ((List<?>) config.get("methodConfig")).get(0);
    assertEquals(List.of(Map.of("service", "counter.v1.CounterService")), method.get("name"));
    assertEquals(true, method.get("waitForReady"));
    assertEquals(
        Map.of("maxAttempts", 4.0, "initialBackoff", "0.05s", "maxBackoff", "1s", "backoffMultiplier", 2.0,
            "retryableStatusCodes", List.of("UNAVAILABLE")),
        method.get("retryPolicy"));
    assertEquals(List.of(Map.of("round_robin", Map.of())), config.get("loadBalancingConfig"));
    assertEquals(Map.of("maxTokens", 100.0, "tokenRatio", 0.1), config.get("retryThrottling"));
  }

  @Test
  void theServiceConfigHasNoRetriesWhereTheyAreTurnedOff() {
    String config = Channels.serviceConfig(false).toString();
    assertFalse(config.contains("retryPolicy"), config);
    assertFalse(config.contains("waitForReady"), config);
  }

  @Test
  void tokensOfTheItemsWrittenLongestAgoMakeRoom() {
    Tokens tokens = new Tokens(2);
    tokens.keep(new Item("post", 1), "a");
    tokens.keep(new Item("post", 2), "b");
    tokens.keep(new Item("post", 1), "c");
    tokens.keep(new Item("post", 3), "d");
    assertEquals(List.of("d", "c"),
        tokens.of(List.of(new Item("post", 3), new Item("post", 1), new Item("post", 2), new Item("post", 3))));
  }

  @Test
  void aTokenWithoutTlsIsRefused() {
    CounterClient.Builder builder = CounterClient.builder("127.0.0.1:1").bearerToken("secret");
    assertThrows(IllegalArgumentException.class, builder::build);
  }

  @Test
  void cancellingTheFutureEndsTheCall() throws IOException {
    try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        CounterClient client = CounterClient.builder("127.0.0.1:" + silent.getLocalPort()).build()) {
      CompletableFuture<Written> call =
          client.likeAsync(1, new Item("post", 1), CallSettings.DEFAULT.withDeadline(Duration.ofMinutes(1)));
      assertTrue(call.cancel(true));
      assertThrows(CancellationException.class, call::join);
    }
  }

  @Test
  void whereNobodyListensACallWithoutRetriesIsUnavailable() {
    try (CounterClient client = CounterClient.builder("127.0.0.1:1").retries(false).deadline(Duration.ofSeconds(20)).build()) {
      CounterException error = assertThrows(CounterException.class, () -> client.like(1, new Item("post", 1)));
      assertInstanceOf(CounterException.Unavailable.class, error);
      assertTrue(List.of(error.getStackTrace()).stream().anyMatch(
          frame -> frame.getClassName().equals(CounterClientTest.class.getName())), "the trace says who called");
    }
  }
}
