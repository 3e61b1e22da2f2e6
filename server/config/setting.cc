#include "server/config/setting.h"

#include <algorithm>
#include <type_traits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace counter {
namespace {

constexpr int kDay = 86400;
constexpr int kMonth = 30 * kDay;

std::vector<Setting> MakeSettings() {
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

      {.name = "ITEM_TYPES",
       .group = "Likes",
       .field = &Config::item_types,
       .default_text = "post=1,reel=2,comment=3",
       .help =
           "The kinds of item that can be liked, each with the number under which it is stored. "
           "A number must keep its meaning for as long as the data lives."},

      {.name = "DATA_DIR",
       .group = "Storage",
       .field = &Config::data_dir,
       .default_text = "./counter-data",
       .help = "The folder of the embedded store; made if it is not there. One server a folder."},
      {.name = "DATABASE_URL",
       .group = "Storage",
       .field = &Config::database_url,
       .default_text = "",
       .schemes = {"postgresql", "postgres"},
       .secret = true,
       .help =
           "The PostgreSQL database that holds the likes. Empty: the embedded store in DATA_DIR. "
           "Several hosts, with commas between, are the members of one cluster: the primary among "
           "them is found, and followed after a failover. "
           "A driver suffix (postgresql+asyncpg://) is accepted and ignored. On a command line "
           "other users of the machine can read it: prefer the environment or the file."},
      {.name = "REPLICA_URLS",
       .group = "Storage",
       .field = &Config::replica_urls,
       .default_text = "",
       .schemes = {"postgresql", "postgres"},
       .secret = true,
       .help =
           "Standbys of DATABASE_URL's primary, one URL of one host each, with commas or blanks "
           "between. They answer what a cache did not, for reads with CONSISTENCY_CACHED and "
           "with tokens, while they are not further behind than REPLICA_LAG_MAX_MILLISECONDS; "
           "the primary answers what they cannot. Empty: the primary answers everything."},
      {.name = "REPLICA_LAG_MAX_MILLISECONDS",
       .group = "Storage",
       .field = &Config::replica_lag_max_ms,
       .default_text = "1000",
       .min = 100,
       .max = 60'000,
       .unit = "milliseconds",
       .help = "How far a replica's answer may be behind the primary when it is given. It is "
               "measured with every answer; one that is further behind is not used. A count that "
               "is cached from a replica lives 5 seconds more, at most."},
      {.name = "DURABILITY",
       .group = "Storage",
       .field = &Config::durability,
       .default_text = "local",
       .help =
           "What an acknowledged like survives. local: the crash of every process and machine; a "
           "PostgreSQL whose fsync or full_page_writes is off is refused. unsafe: such a "
           "PostgreSQL "
           "is used, and each connection warns of it; the embedded store is always local. "
           "replicated: the loss of the primary, too; a PostgreSQL without "
           "synchronous_standby_names is refused, and a like whose wait for the standby was cut "
           "short is never acknowledged."},
      {.name = "WRITE_QUEUE_MAX",
       .group = "Storage",
       .field = &Config::write_queue_max,
       .default_text = "100000",
       .min = 1000,
       .max = 10'000'000,
       .unit = "mutations",
       .help = "Likes and unlikes that may wait for the store. Further ones are refused as "
               "OVERLOADED."},
      {.name = "WRITE_WAIT_MAX_MILLISECONDS",
       .group = "Storage",
       .field = &Config::write_wait_max_ms,
       .default_text = "500",
       .min = 10,
       .max = 60'000,
       .unit = "milliseconds",
       .help =
           "How long a like or unlike may have to wait for the store, by what waits in front of "
           "it and how fast that goes. One that would wait for longer, or past its deadline, is "
           "refused as OVERLOADED at once; what fits into the next transactions is always "
           "taken."},
      {.name = "READ_QUEUE_MAX",
       .group = "Storage",
       .field = &Config::read_queue_max,
       .default_text = "10000",
       .min = 1,
       .max = 10'000'000,
       .unit = "reads",
       .help = "Reads that may wait for the store. Further ones are refused as OVERLOADED."},
      {.name = "BATCH_ROWS_MAX",
       .group = "Storage",
       .field = &Config::batch_rows_max,
       .default_text = "1000",
       .min = 1,
       .max = 10'000,
       .unit = "mutations",
       .help = "The most that the store applies in one transaction. More raises throughput under "
               "load and the time that each write takes."},

      {.name = "LIKERS_INDEX",
       .group = "Storage",
       .field = &Config::likers_index,
       .default_text = "false",
       .help =
           "Whether the index that ListLikers needs is made: by the embedded store when it is "
           "opened, in PostgreSQL by counterd migrate up, while servers go on working. An index "
           "that is there is used, and kept up to date, whatever this says. It takes room for "
           "each like (docs/lists.md)."},

      {.name = "REDIS_URL",
       .group = "Cache",
       .field = &Config::redis_url,
       .default_text = "",
       .schemes = {"redis", "rediss"},
       .secret = true,
       .help =
           "The Redis that caches counts and recent likes and shares rate limits between servers. "
           "A "
           "Redis Cluster is recognised by itself: name several of its nodes, "
           "redis://USER:PASSWORD@HOST:PORT,HOST:PORT, so that one is there when a server starts. "
           "Empty: a cache inside this process."},
      {.name = "CACHE_TTL_SECONDS",
       .group = "Cache",
       .field = &Config::cache_ttl,
       .default_text = "3600",
       .min = 1,
       .max = kMonth,
       .unit = "seconds",
       .help = "How long a cached count lives. It bounds how old a cached answer can be when "
               "invalidation is lost."},
      {.name = "CACHE_ITEMS_MAX",
       .group = "Cache",
       .field = &Config::cache_items_max,
       .default_text = "1000000",
       .min = 1,
       .max = 100'000'000,
       .unit = "counts",
       .help = "Counts that the cache inside this process holds; about 160 bytes each."},
      {.name = "NEAR_CACHE_MILLISECONDS",
       .group = "Cache",
       .field = &Config::near_cache_ms,
       .default_text = "0",
       .min = 0,
       .max = 600,
       .unit = "milliseconds",
       .help =
           "With REDIS_URL: how long a server answers a count from its own memory before it asks "
           "Redis again; half as long again while it asks. A write through another server may be "
           "unseen for that long, so a caller of two servers may see a count step back. 0: always "
           "ask Redis."},
      {.name = "NEAR_CACHE_ITEMS_MAX",
       .group = "Cache",
       .field = &Config::near_cache_items_max,
       .default_text = "100000",
       .min = 1,
       .max = 100'000'000,
       .unit = "counts",
       .help =
           "With REDIS_URL: counts that a server holds in its own memory; about 180 bytes each."},
      {.name = "RECENT_LIKES_TTL",
       .group = "Cache",
       .field = &Config::recent_likes_ttl,
       .default_text = "86400",
       .min = 1,
       .max = kMonth,
       .unit = "seconds",
       .help = "How long the recent likes of a user who makes no more of them stay cached."},
      {.name = "RECENT_LIKES_FRESH_SECONDS",
       .group = "Cache",
       .field = &Config::recent_likes_fresh,
       .default_text = "300",
       .min = 1,
       .max = kDay,
       .unit = "seconds",
       .help =
           "How long after it was last seen in the store a cached like may answer HasLiked. Not "
           "above RECENT_LIKES_TTL."},
      {.name = "RECENT_LIKES_MAX",
       .group = "Cache",
       .field = &Config::recent_likes_max,
       .default_text = "500000",
       .min = 100'000,
       .max = 100'000'000,
       .unit = "likes",
       .help = "Recent likes, of all users, that the cache inside this process holds; 260 bytes "
               "each at "
               "most."},

      {.name = "RATE_LIMIT_REQUESTS",
       .group = "Limits",
       .field = &Config::rate_limit_requests,
       .default_text = "100",
       .min = 0,
       .max = 1'000'000'000,
       .unit = "likes",
       .help =
           "Likes that one user may make in a window; unlikes and repeats are free. 0: no limit."},
      {.name = "RATE_LIMIT_WINDOW_SECONDS",
       .group = "Limits",
       .field = &Config::rate_limit_window,
       .default_text = "60",
       .min = 1,
       .max = kDay,
       .unit = "seconds",
       .help = "How long a user's window is; it begins with the first like after the former one."},
      {.name = "RATE_LIMIT_USERS_MAX",
       .group = "Limits",
       .field = &Config::rate_limit_users_max,
       .default_text = "1000000",
       .min = 1,
       .max = 100'000'000,
       .unit = "users",
       .help = "Users whose windows the limiter inside this process remembers."},
      {.name = "CALLS_IN_FLIGHT_MAX",
       .group = "Limits",
       .field = &Config::calls_in_flight_max,
       .default_text = "4096",
       .min = 1,
       .max = 1'000'000,
       .unit = "calls",
       .help = "Calls that are worked on at once. Further ones are refused as OVERLOADED."},
      {.name = "ITEMS_IN_FLIGHT_MAX",
       .group = "Limits",
       .field = &Config::items_in_flight_max,
       .default_text = "100000",
       .min = 1000,
       .max = 10'000'000,
       .unit = "mutations and items",
       .help =
           "Mutations that the writes which are worked on may have together, and items that the "
           "reads may; about a kilobyte of memory each. Further batches are refused as "
           "OVERLOADED."},
      {.name = "WATCHES_MAX",
       .group = "Limits",
       .field = &Config::watches_max,
       .default_text = "10000",
       .min = 1,
       .max = 1'000'000,
       .unit = "watches",
       .help =
           "Calls of WatchCounts that may stand. Further ones are refused as OVERLOADED. They do "
           "not count as calls in flight."},
      {.name = "CALLER_WATCHES_MAX",
       .group = "Limits",
       .field = &Config::caller_watches_max,
       .default_text = "500",
       .min = 1,
       .max = 1'000'000,
       .unit = "watches",
       .help = "Watches of one caller of CALLERS_FILE that may stand, unless its line says another "
               "number. Those who do not say who they are count as one caller. Further ones are "
               "refused as OVERLOADED. Without CALLERS_FILE only WATCHES_MAX counts."},
      {.name = "WATCHED_ITEMS_MAX",
       .group = "Limits",
       .field = &Config::watched_items_max,
       .default_text = "100000",
       .min = 100,
       .max = 10'000'000,
       .unit = "items",
       .help = "Different items that may be watched; each is read once an interval, however many "
               "watch it. A watch that would exceed it is refused as OVERLOADED."},
      {.name = "WATCH_INTERVAL_MILLISECONDS",
       .group = "Limits",
       .field = &Config::watch_interval_ms,
       .default_text = "500",
       .min = 10,
       .max = 60'000,
       .unit = "milliseconds",
       .help = "How often the counts of watched items are looked at."},
      {.name = "ADMIN_AUDITED_ITEMS_PER_SECOND",
       .group = "Limits",
       .field = &Config::audited_items_per_second,
       .default_text = "100000",
       .min = 1,
       .max = 100'000'000,
       .unit = "items",
       .help =
           "Items that AdminService recounts, on average. What comes too soon after a large page "
           "is refused as RATE_LIMITED until the page is paid for."},
      {.name = "ADMIN_LIKES_PER_SECOND",
       .group = "Limits",
       .field = &Config::admin_likes_per_second,
       .default_text = "5000",
       .min = 1,
       .max = 10'000'000,
       .unit = "likes",
       .help =
           "Likes and unlikes that AdminService writes to erase, delete and import, on average; "
           "100 likes that it looks at to find those of an item weigh as one. What comes too "
           "soon is refused as RATE_LIMITED."},
      {.name = "CHECK_WRITES_PER_SECOND",
       .group = "Limits",
       .field = &Config::check_writes_per_second,
       .default_text = "0",
       .min = 0,
       .max = 100,
       .unit = "writes",
       .help =
           "Writes a second whose copies this server compares, 0.1, 1, 10 and 60 s after each: its "
           "caches, every replica, the counter and a recount of its likes. It takes a connection "
           "to the primary and one to each replica. 0: none."},
      {.name = "RECEIVE_BYTES_MAX",
       .group = "Limits",
       .field = &Config::receive_bytes_max,
       .default_text = "1048576",
       .min = 262'144,
       .max = 64 << 20,
       .unit = "bytes",
       .help = "The largest request message; a larger one is refused before it is parsed, since "
               "parsing "
               "takes many times its memory. The largest valid request has less than 262144."},
      {.name = "DEFAULT_DEADLINE_SECONDS",
       .group = "Limits",
       .field = &Config::default_deadline,
       .default_text = "5",
       .min = 1,
       .max = 3600,
       .unit = "seconds",
       .help = "The deadline of a call that comes without one."},
      {.name = "RPC_QUEUES",
       .group = "Limits",
       .field = &Config::rpc_queues,
       .default_text = "1",
       .min = 1,
       .max = 64,
       .unit = "queues",
       .help = "Completion queues of the gRPC server, each with a thread of its own."},

      {.name = "DRAIN_SECONDS",
       .group = "Operations",
       .field = &Config::drain,
       .default_text = "10",
       .min = 0,
       .max = 3600,
       .unit = "seconds",
       .help =
           "After SIGTERM or SIGINT, how long calls in flight may take to finish before they are "
           "cancelled. A second signal ends the process at once."},
      {.name = "LOG_LEVEL",
       .group = "Operations",
       .field = &Config::log_level,
       .default_text = "info",
       .help = "The least level of log lines that are written."},
      {.name = "LOG_FORMAT",
       .group = "Operations",
       .field = &Config::log_format,
       .default_text = "auto",
       .help = "How log lines look on standard error. auto: text on a terminal, else JSON."},
      {.name = "READY_FILE",
       .group = "Operations",
       .field = &Config::ready_file,
       .default_text = "",
       .help = "A file to write, whole and by rename, when the server is ready: lines "
               "`grpc=HOST:PORT`, `http=HOST:PORT` and `metrics=HOST:PORT`. For supervisors and "
               "tests."},
      {.name = "CONFIG_FILE",
       .group = "Operations",
       .field = &Config::config_file,
       .default_text = "",
       .help = "A file with lines `NAME = value` of the settings above; `#` begins a comment."},
  };
}

std::string Range(const Setting& setting, absl::string_view what) {
  return absl::StrCat(what, " ", setting.unit, " from ", setting.min, " to ", setting.max);
}

std::string ExpectedUrl(const Setting& setting) {
  std::vector<std::string> forms;
  for (const absl::string_view scheme : setting.schemes) {
    forms.push_back(absl::StrCat(scheme, "://USER:PASSWORD@HOST:PORT/DATABASE"));
  }
  return absl::StrCat(absl::StrJoin(forms, " or "), ", or nothing");
}

}  // namespace

std::string Setting::flag() const {
  return absl::StrCat("--",
                      absl::StrReplaceAll(absl::AsciiStrToLower(std::string(name)), {{"_", "-"}}));
}

std::string Setting::expected() const {
  struct Visitor {
    const Setting& setting;
    std::string operator()(int Config::*) const { return Range(setting, "a whole number of"); }
    std::string operator()(absl::Duration Config::*) const {
      return Range(setting, "a whole number of");
    }
    std::string operator()(bool Config::*) const { return "true or false"; }
    std::string operator()(std::string Config::*) const {
      return setting.default_text.empty() ? "a path, or nothing" : "a path";
    }
    std::string operator()(ListenAddress Config::*) const {
      return "HOST:PORT, such as 127.0.0.1:50051, 0.0.0.0:50051 or [::1]:50051";
    }
    std::string operator()(std::optional<ListenAddress> Config::*) const {
      return "HOST:PORT, such as 127.0.0.1:9090 or [::1]:9090, or nothing";
    }
    std::string operator()(std::optional<ServiceUrl> Config::*) const {
      return ExpectedUrl(setting);
    }
    std::string operator()(std::vector<ServiceUrl> Config::*) const {
      return absl::StrCat(setting.schemes.front(),
                          "://USER:PASSWORD@HOST:PORT/DATABASE, up to 16, with commas between, or "
                          "nothing");
    }
    std::string operator()(NamedItemTypes Config::*) const {
      return "1 to 100 of NAME=NUMBER with commas between, such as post=1,reel=2; names of 1 to 32 "
             "characters a-z, 0-9 and _ that begin with a letter, numbers from 1 to 32767, each "
             "once";
    }
    std::string operator()(LogLevel Config::*) const { return "debug, info, warning or error"; }
    std::string operator()(LogFormat Config::*) const { return "auto, text or json"; }
    std::string operator()(PlaintextListeners Config::*) const {
      return "some of grpc, http and metrics with commas between, or nothing";
    }
    std::string operator()(Durability Config::*) const {
      return "local, replicated, or unsafe for a database that is thrown away";
    }
  };
  return std::visit(Visitor{*this}, field);
}

const std::vector<Setting>& Settings() {
  static const auto* const settings = new std::vector<Setting>(MakeSettings());
  return *settings;
}

const Setting* FindSetting(absl::string_view name) {
  const std::vector<Setting>& settings = Settings();
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [name](const Setting& setting) { return setting.name == name; });
  return found == settings.end() ? nullptr : &*found;
}

}  // namespace counter
