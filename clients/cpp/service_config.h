// The published service config: how every client of Counter picks servers and repeats calls. The
// same as clients/service_config.json, which every language's client ships; a test compares them.
//
// - Only UNAVAILABLE is repeated: 4 attempts in all, pauses of 50 ms doubling to 1 s (each within
//   20 % of that), inside the call's deadline. Every method of the service is safe to repeat.
// - A call waits, inside its deadline, while no server is ready: attempts are for servers that took
//   the call, so that a restart of a second costs nobody an error.
// - Repeating stops while more than about one call in ten fails (tokens), so that a crowd does not
//   press on a service that is down.
// - Calls go round robin over all addresses of the target, and only to those whose standard health
//   service says that "calls" is SERVING: a server that shuts down is left alone before it refuses.
//   One that has lost its store is called: it answers cached reads, and refuses the rest at once,
//   which is then tried elsewhere.
#ifndef COUNTER_CLIENTS_CPP_SERVICE_CONFIG_H_
#define COUNTER_CLIENTS_CPP_SERVICE_CONFIG_H_

namespace counter::client {

inline constexpr char kServiceConfigJson[] = R"json({
  "loadBalancingConfig": [{"round_robin": {}}],
  "healthCheckConfig": {"serviceName": "calls"},
  "methodConfig": [
    {
      "name": [{"service": "counter.v1.CounterService"}],
      "waitForReady": true,
      "retryPolicy": {
        "maxAttempts": 4,
        "initialBackoff": "0.05s",
        "maxBackoff": "1s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE"]
      }
    }
  ],
  "retryThrottling": {"maxTokens": 100, "tokenRatio": 0.1}
}
)json";

}  // namespace counter::client

#endif  // COUNTER_CLIENTS_CPP_SERVICE_CONFIG_H_
