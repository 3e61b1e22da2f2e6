#include "server/config/setting_table.h"

namespace counter {

std::vector<Setting> SettingsOfAccess() {
  return {
      {.name = "GRPC_LISTEN",
       .group = "Listeners",
       .field = &Config::grpc_listen,
       .default_text = "127.0.0.1:50051",
       .help = "Where the gRPC service listens. Port 0 lets the system pick one (see READY_FILE)."},
      {.name = "GRPC_CONNECTIONS_MAX",
       .group = "Listeners",
       .field = &Config::grpc_connections_max,
       .default_text = "10000",
       .min = 1,
       .max = 100'000,
       .unit = "connections",
       .help = "Connections to GRPC_LISTEN that may be open; a further one is closed at once. Each "
               "takes two descriptors."},
      {.name = "GRPC_CONNECTIONS_PER_ADDRESS_MAX",
       .group = "Listeners",
       .field = &Config::grpc_connections_per_address_max,
       .default_text = "0",
       .min = 0,
       .max = 100'000,
       .unit = "connections",
       .help = "Of them, those from one address (of IPv6: one /64 network). 0: no limit of its "
               "own; so it must be behind a proxy, where all come from one address."},
      {.name = "HTTP_LISTEN",
       .group = "Listeners",
       .field = &Config::http_listen,
       .default_text = "127.0.0.1:8000",
       .help = "Where REST, Connect, Swagger UI (/docs), the live page (/) and /health are served "
               "over HTTP. Empty: nowhere."},
      {.name = "HTTP_CONNECTIONS_MAX",
       .group = "Listeners",
       .field = &Config::http_connections_max,
       .default_text = "1024",
       .min = 1,
       .max = 100'000,
       .unit = "connections",
       .help = "Connections to HTTP_LISTEN that may be open. A further one takes the place of the "
               "one that has been idle longest; if none is idle it is closed at once."},
      {.name = "SWAGGER_UI_DIR",
       .group = "Listeners",
       .field = &Config::swagger_ui_dir,
       .default_text = "",
       .help = "The folder of Swagger UI's files (deploy/swagger_ui/install makes it), which /docs "
               "serves. Empty: `swagger-ui` beside the program."},
      {.name = "METRICS_LISTEN",
       .group = "Listeners",
       .field = &Config::metrics_listen,
       .default_text = "127.0.0.1:9090",
       .help = "Where /metrics (for Prometheus) and /health are served over HTTP. Empty: nowhere."},
      {.name = "ADMIN_LISTEN",
       .group = "Listeners",
       .field = &Config::admin_listen,
       .default_text = "",
       .help =
           "Where AdminService (audit, repair and the like, for operators) listens, over gRPC. "
           "With TLS (TLS_CERTIFICATE_FILE) and callers (CALLERS_FILE) any address is accepted, "
           "otherwise only one of this machine. Empty: nowhere."},
      {.name = "REFLECTION",
       .group = "Listeners",
       .field = &Config::reflection,
       .default_text = "true",
       .help = "Whether tools such as grpcurl may ask the server for its API."},

      {.name = "TLS_CERTIFICATE_FILE",
       .group = "Security",
       .field = &Config::tls_certificate_file,
       .default_text = "",
       .help =
           "The server's certificate in PEM, followed by those that signed it: GRPC_LISTEN and "
           "HTTP_LISTEN then speak TLS (1.2 or 1.3) and nothing else. Looked at each second: a "
           "changed pair that "
           "matches is served to new connections, any other is reported and the former one stays. "
           "Empty: no TLS."},
      {.name = "TLS_KEY_FILE",
       .group = "Security",
       .field = &Config::tls_key_file,
       .default_text = "",
       .help = "The private key of TLS_CERTIFICATE_FILE in PEM, without a password."},
      {.name = "TLS_CLIENT_CA_FILE",
       .group = "Security",
       .field = &Config::tls_client_ca_file,
       .default_text = "",
       .help = "The authorities, in PEM, that sign the certificates of callers: who shows none of "
               "theirs is not let in (mTLS). Looked at each second. Empty: callers need none."},
      {.name = "ALLOW_PLAINTEXT",
       .group = "Security",
       .field = &Config::allow_plaintext,
       .default_text = "",
       .help = "Listeners that may go without TLS although other machines can reach them. One that "
               "is not named here must be on loopback or have TLS, or the server does not start. "
               "METRICS_LISTEN never has TLS."},
      {.name = "CALLERS_FILE",
       .group = "Security",
       .field = &Config::callers_file,
       .default_text = "",
       .help = "Who may call which method (docs/operations.md has the form); whoever it does not "
               "allow is denied, over every listener but METRICS_LISTEN. Looked at each second; a "
               "file with a fault is reported and the former one stays. Empty: whoever TLS lets in "
               "may do everything."},
      {.name = "CALLER_TOKENS_FILE",
       .group = "Security",
       .field = &Config::caller_tokens_file,
       .default_text = "",
       .help =
           "With CALLERS_FILE: a caller's name and its bearer token, or `sha256:` and the token's "
           "SHA-256 in hexadecimal digits, a line. Looked at each second, as CALLERS_FILE."},
  };
}

}  // namespace counter
