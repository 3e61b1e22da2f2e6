#include "server/config/setting_table.h"

namespace counter {
namespace {

constexpr int kDay = 86400;

}  // namespace

std::vector<Setting> SettingsOfLimits() {
  return {
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

}  // namespace counter
