// Config: every setting of the server as typed values, already checked. What a user may set is
// described once, in the table of setting.h; precedence and reading are load.h's matter.
//
// A value: made and validated whole by LoadConfig() (or, with every default, by DefaultConfig()),
// then passed on as const and never changed. Threads: any, as any const value.
#ifndef COUNTER_SERVER_CONFIG_CONFIG_H_
#define COUNTER_SERVER_CONFIG_CONFIG_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/log_format.h"
#include "storage/durability.h"
#include "storage/like.h"

namespace counter {

// Where a listener binds. The host is a name, an IPv4 address or an IPv6 address without brackets.
struct ListenAddress {
  std::string host;
  int port = 0;  // 0: the system picks one.

  // "127.0.0.1:50051", "[::1]:50051".
  std::string ToString() const;
  // Whether only this machine can reach it: 127.0.0.0/8, ::1 or "localhost".
  bool IsLoopback() const;
  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

// A service that this one uses. `text` holds the password: print only RedactUrl() of it
// (service_url.h).
struct ServiceUrl {
  std::string text;  // Without a driver suffix: `postgresql+asyncpg://` becomes `postgresql://`.

  friend bool operator==(const ServiceUrl&, const ServiceUrl&) = default;
};

// Which listeners may be plaintext where other machines can reach them.
struct PlaintextListeners {
  bool grpc = false;
  bool http = false;
  bool metrics = false;

  friend bool operator==(const PlaintextListeners&, const PlaintextListeners&) = default;
};

using NamedItemTypes = std::vector<std::pair<std::string, ItemType>>;

struct Config {
  // Listeners.
  ListenAddress grpc_listen;
  std::optional<ListenAddress> http_listen;     // None: no REST.
  std::optional<ListenAddress> metrics_listen;  // None: no /metrics and /health.
  std::optional<ListenAddress> admin_listen;    // None: no AdminService.
  int http_connections_max = 0;
  int grpc_connections_max = 0;
  int grpc_connections_per_address_max = 0;
  std::string swagger_ui_dir;  // Empty: beside the program.
  bool reflection = false;

  // Security.
  std::string tls_certificate_file;  // Empty, and so is the key's: no TLS.
  std::string tls_key_file;
  std::string tls_client_ca_file;  // Empty: callers need no certificates.
  PlaintextListeners allow_plaintext;
  std::string callers_file;        // Empty: everybody who gets in may do everything.
  std::string caller_tokens_file;  // Empty: no tokens.
  bool has_tls() const { return !tls_certificate_file.empty(); }

  // Likes.
  NamedItemTypes item_types;  // In the order in which they were given; names and numbers once each.

  // Storage.
  std::string data_dir;
  std::optional<ServiceUrl> database_url;  // None: the embedded store.
  std::vector<ServiceUrl> replica_urls;
  int replica_lag_max_ms = 0;
  Durability durability = Durability::kLocal;
  int write_queue_max = 0;  // Mutations.
  int write_wait_max_ms = 0;
  int read_queue_max = 0;  // Reads.
  int batch_rows_max = 0;  // Mutations a transaction.
  bool likers_index = false;

  // Cache.
  std::optional<ServiceUrl> redis_url;  // None: the cache inside this process.
  absl::Duration cache_ttl;
  int cache_items_max = 0;
  int near_cache_ms = 0;  // 0: none.
  int near_cache_items_max = 0;
  absl::Duration recent_likes_ttl;
  absl::Duration recent_likes_fresh;
  int recent_likes_max = 0;

  // Limits.
  int rate_limit_requests = 0;  // 0: no limit.
  absl::Duration rate_limit_window;
  int rate_limit_users_max = 0;
  int calls_in_flight_max = 0;
  int items_in_flight_max = 0;
  int watches_max = 0;
  int caller_watches_max = 0;
  int watched_items_max = 0;
  int watch_interval_ms = 0;
  int audited_items_per_second = 0;
  int admin_likes_per_second = 0;
  int check_writes_per_second = 0;  // 0: none is checked.
  int receive_bytes_max = 0;
  absl::Duration default_deadline;
  int rpc_queues = 0;

  // Operations.
  absl::Duration drain;
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kAuto;
  std::string ready_file;   // Empty: none.
  std::string config_file;  // Empty: none.
};

}  // namespace counter

#endif  // COUNTER_SERVER_CONFIG_CONFIG_H_
