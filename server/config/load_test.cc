#include "server/config/load.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/config/setting.h"

namespace counter {
namespace {

std::string TestDir() {
  const char* dir = std::getenv("TEST_TMPDIR");
  REQUIRE(dir != nullptr);
  return dir;
}

std::string WriteFile(absl::string_view name, absl::string_view text) {
  std::string path = TestDir() + "/" + std::string(name);
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// The lines after the first one, which has their number.
std::vector<std::string> Faults(const ConfigSources& sources) {
  const absl::StatusOr<LoadedConfig> loaded = LoadConfig(sources);
  if (loaded.ok()) return {};
  CHECK(loaded.status().code() == absl::StatusCode::kInvalidArgument);
  std::vector<std::string> lines = absl::StrSplit(loaded.status().message(), "\n  ");
  lines.erase(lines.begin());
  return lines;
}

std::string SourceOf(const LoadedConfig& loaded, absl::string_view name) {
  for (const EffectiveSetting& effective : loaded.effective) {
    if (effective.setting->name == name) return effective.source;
  }
  return "none";
}

TEST_CASE("with no source at all every setting has its default") {
  const absl::StatusOr<LoadedConfig> loaded = LoadConfig({});
  REQUIRE(loaded.ok());
  const Config& config = loaded->config;
  CHECK(config.grpc_listen.ToString() == "127.0.0.1:50051");
  CHECK(config.http_listen == ListenAddress{"127.0.0.1", 8000});
  CHECK(config.metrics_listen->ToString() == "127.0.0.1:9090");
  CHECK(config.reflection);
  CHECK(config.item_types ==
        NamedItemTypes{{"post", ItemType{1}}, {"reel", ItemType{2}}, {"comment", ItemType{3}}});
  CHECK(config.data_dir == "./counter-data");
  CHECK(config.database_url == std::nullopt);
  CHECK(config.redis_url == std::nullopt);
  CHECK(config.cache_ttl == absl::Hours(1));
  CHECK(config.recent_likes_ttl == absl::Hours(24));
  CHECK(config.recent_likes_fresh == absl::Minutes(5));
  CHECK(config.rate_limit_requests == 100);
  CHECK(config.rate_limit_window == absl::Minutes(1));
  CHECK(config.default_deadline == absl::Seconds(5));
  CHECK(config.receive_bytes_max == 1 << 20);
  CHECK(loaded->warnings.empty());
  CHECK(loaded->effective.size() == Settings().size());
  CHECK(SourceOf(*loaded, "DATA_DIR") == "default");
}

TEST_CASE("a flag goes before the environment, which goes before the file") {
  const std::string file = WriteFile("precedence",
                                     "# limits\nRPC_QUEUES = 4\nDRAIN_SECONDS = 4\n"
                                     "CACHE_TTL_SECONDS = 4\n");
  ConfigSources sources;
  sources.environment = {{"CONFIG_FILE", file}, {"RPC_QUEUES", "3"}, {"DRAIN_SECONDS", "3"}};
  sources.flags = {{"RPC_QUEUES", "9"}, {"RPC_QUEUES", "2"}};
  const absl::StatusOr<LoadedConfig> loaded = LoadConfig(sources);
  REQUIRE(loaded.ok());
  CHECK(loaded->config.rpc_queues == 2);
  CHECK(loaded->config.drain == absl::Seconds(3));
  CHECK(loaded->config.cache_ttl == absl::Seconds(4));
  CHECK(SourceOf(*loaded, "RPC_QUEUES") == "flag --rpc-queues");
  CHECK(SourceOf(*loaded, "DRAIN_SECONDS") == "environment");
  CHECK(SourceOf(*loaded, "CACHE_TTL_SECONDS") == "file " + file + " line 4");
  CHECK(SourceOf(*loaded, "DATA_DIR") == "default");
}

TEST_CASE("an empty value is a value, not the absence of one") {
  const std::string file = WriteFile("empty", "METRICS_LISTEN = 127.0.0.1:1\n");
  ConfigSources sources;
  sources.environment = {{"CONFIG_FILE", file}, {"METRICS_LISTEN", ""}};
  const absl::StatusOr<LoadedConfig> loaded = LoadConfig(sources);
  REQUIRE(loaded.ok());
  CHECK(loaded->config.metrics_listen == std::nullopt);
}

TEST_CASE("a bad value that is overridden does no harm") {
  ConfigSources sources;
  sources.environment = {{"RPC_QUEUES", "many"}};
  CHECK(Faults(sources).size() == 1);
  sources.flags = {{"RPC_QUEUES", "2"}};
  CHECK(Faults(sources).empty());
}

TEST_CASE("all faults of all sources come at once, each with setting, value, source, expectation") {
  const std::string file = WriteFile("faults",
                                     "WRITE_QUEUE_MAX = 1e6\n"
                                     "not a setting\n"
                                     "GRPC_LISTN = 127.0.0.1:1\n"
                                     "DRAIN_SECONDS = 1\n"
                                     "DRAIN_SECONDS = 2\n"
                                     "CONFIG_FILE = other\n"
                                     "path = x\n");
  ConfigSources sources;
  sources.flags = {{"CONFIG_FILE", file}, {"RPC_QUEUES", "65"}};
  sources.environment = {{"GRPC_LISTEN", "50051"}, {"LOG_LEVEL", "loud"}};
  const std::vector<std::string> faults = Faults(sources);
  const std::vector<std::string> expected = {
      "file " + file + " line 2: expected NAME = value",
      "file " + file + " line 3: unknown setting \"GRPC_LISTN\"; did you mean GRPC_LISTEN?",
      "file " + file + " line 5: DRAIN_SECONDS was set in line 4 already",
      "file " + file + " line 6: CONFIG_FILE cannot be set in the file itself",
      "file " + file + " line 7: unknown setting \"path\"",
      absl::StrCat("GRPC_LISTEN = \"50051\" (environment): it has no port; expected HOST:PORT, ",
                   "such as 127.0.0.1:50051, 0.0.0.0:50051 or [::1]:50051"),
      "WRITE_QUEUE_MAX = \"1e6\" (file " + file +
          " line 1): it is not a whole number in digits; expected a whole number of mutations from "
          "1000 to 10000000",
      absl::StrCat("RPC_QUEUES = \"65\" (flag --rpc-queues): it is too large; expected a whole ",
                   "number of queues from 1 to 64"),
      absl::StrCat("LOG_LEVEL = \"loud\" (environment): it is none of them; expected debug, info, ",
                   "warning or error"),
  };
  CHECK(faults == expected);
}

// The settings that the faults of these are about, in order.
std::string FaultyNames(const Environment& environment) {
  ConfigSources sources;
  sources.environment = environment;
  std::string names;
  for (const std::string& fault : Faults(sources)) {
    absl::StrAppend(&names, names.empty() ? "" : " ", fault.substr(0, fault.find(' ')));
  }
  return names;
}

TEST_CASE("a listener is on loopback, has TLS, or is allowed to be plaintext") {
  for (const char* listener : {"GRPC_LISTEN", "HTTP_LISTEN", "METRICS_LISTEN"}) {
    CAPTURE(listener);
    for (const char* loopback : {"127.0.0.1:1", "127.8.8.8:1", "localhost:1", "[::1]:1"}) {
      CHECK(FaultyNames({{listener, loopback}}).empty());
    }
    for (const char* reachable :
         {"0.0.0.0:1", "[::]:1", "192.168.0.1:1", "example.org:1", "127.example.org:1"}) {
      CHECK(FaultyNames({{listener, reachable}}) == listener);
      CHECK(FaultyNames({{listener, reachable}, {"ALLOW_PLAINTEXT", "grpc,http,metrics"}}).empty());
    }
  }
  // To be allowed one does not allow the others.
  CHECK(FaultyNames({{"GRPC_LISTEN", "0.0.0.0:1"},
                     {"HTTP_LISTEN", "0.0.0.0:2"},
                     {"METRICS_LISTEN", "0.0.0.0:3"},
                     {"ALLOW_PLAINTEXT", "http"}}) == "GRPC_LISTEN METRICS_LISTEN");
  // Metrics have no TLS.
  CHECK(FaultyNames({{"GRPC_LISTEN", "0.0.0.0:1"},
                     {"HTTP_LISTEN", "0.0.0.0:2"},
                     {"METRICS_LISTEN", "0.0.0.0:3"},
                     {"TLS_CERTIFICATE_FILE", "c"},
                     {"TLS_KEY_FILE", "k"}}) == "METRICS_LISTEN");
}

TEST_CASE("settings of TLS and of callers want one another") {
  CHECK(FaultyNames({{"TLS_CERTIFICATE_FILE", "c"}}) == "TLS_KEY_FILE");
  CHECK(FaultyNames({{"TLS_KEY_FILE", "k"}}) == "TLS_CERTIFICATE_FILE");
  CHECK(FaultyNames({{"TLS_CLIENT_CA_FILE", "a"}}) == "TLS_CLIENT_CA_FILE");
  CHECK(FaultyNames({{"CALLER_TOKENS_FILE", "t"}}) == "CALLERS_FILE");
  CHECK(FaultyNames({{"CALLER_TOKENS_FILE", "t"}, {"CALLERS_FILE", "c"}}).empty());
}

TEST_CASE("tokens that cross the network in clear are warned of, whichever listener takes them") {
  for (const auto& [listener, plaintext] :
       {std::pair{"GRPC_LISTEN", "grpc"}, std::pair{"HTTP_LISTEN", "http"}}) {
    CAPTURE(listener);
    ConfigSources sources;
    sources.environment = {{listener, "0.0.0.0:1"},
                           {"ALLOW_PLAINTEXT", plaintext},
                           {"CALLER_TOKENS_FILE", "t"},
                           {"CALLERS_FILE", "c"}};
    const auto loaded = LoadConfig(sources);
    REQUIRE(loaded.ok());
    CHECK(loaded->warnings.size() == 1);
  }
}

TEST_CASE("AdminService is reachable with TLS and callers, and not with one of them") {
  const Environment open = {{"ADMIN_LISTEN", "0.0.0.0:1"},
                            {"ALLOW_PLAINTEXT", "grpc,http,metrics"}};
  CHECK(FaultyNames(open) == "ADMIN_LISTEN");
  Environment with_tls = open;
  with_tls.insert({{"TLS_CERTIFICATE_FILE", "c"}, {"TLS_KEY_FILE", "k"}});
  CHECK(FaultyNames(with_tls) == "ADMIN_LISTEN");
  Environment with_callers = open;
  with_callers["CALLERS_FILE"] = "t";
  CHECK(FaultyNames(with_callers) == "ADMIN_LISTEN");
  with_tls["CALLERS_FILE"] = "t";
  CHECK(FaultyNames(with_tls).empty());
}

TEST_CASE("what opens no listener does not mind how they are secured") {
  ConfigSources sources;
  sources.environment = {{"GRPC_LISTEN", "0.0.0.0:1"}};
  sources.listens = false;
  CHECK(Faults(sources).empty());
}

TEST_CASE("the number of faults is said, and the caller's own come first") {
  ConfigSources sources;
  sources.environment = {{"RPC_QUEUES", "0"}};
  const absl::StatusOr<LoadedConfig> loaded = LoadConfig(sources, {"unknown flag \"--x\""});
  REQUIRE_FALSE(loaded.ok());
  CHECK(absl::StartsWith(loaded.status().message(),
                         "2 faults in the configuration:\n  unknown flag \"--x\"\n  RPC_QUEUES"));
}

TEST_CASE("rules over several settings are checked, also beside other faults") {
  ConfigSources sources;
  sources.environment = {{"RECENT_LIKES_TTL", "60"},     {"RECENT_LIKES_FRESH_SECONDS", "61"},
                         {"WRITE_QUEUE_MAX", "1000"},    {"BATCH_ROWS_MAX", "1001"},
                         {"GRPC_LISTEN", "127.0.0.1:7"}, {"METRICS_LISTEN", "127.0.0.1:7"},
                         {"HTTP_LISTEN", "127.0.0.1:7"}, {"LOG_LEVEL", "x"}};
  CHECK(Faults(sources).size() == 6);
  sources.environment = {{"RECENT_LIKES_TTL", "60"},     {"RECENT_LIKES_FRESH_SECONDS", "60"},
                         {"WRITE_QUEUE_MAX", "1000"},    {"BATCH_ROWS_MAX", "1000"},
                         {"GRPC_LISTEN", "127.0.0.1:0"}, {"METRICS_LISTEN", "127.0.0.1:0"}};
  CHECK(Faults(sources).empty());
}

TEST_CASE("AdminService listens on this machine alone, and not where another listener does") {
  ConfigSources sources;
  for (const char* good :
       {"", "127.0.0.1:0", "127.0.0.1:50052", "127.1.2.3:1", "localhost:1", "[::1]:1"}) {
    CAPTURE(good);
    sources.environment = {{"ADMIN_LISTEN", good}};
    CHECK(Faults(sources).empty());
  }
  for (const char* bad : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "counter.example:1",
                          "127.evil.example:1", "127.0.0.1:50051", "127.0.0.1:8000"}) {
    CAPTURE(bad);
    sources.environment = {{"ADMIN_LISTEN", bad}};
    CHECK(Faults(sources).size() == 1);
  }
}

TEST_CASE("a data folder that cannot be made is refused at once, and none is made") {
  const std::string file = WriteFile("in_the_way", "");
  const std::string dir = TestDir();
  ConfigSources sources;
  for (const std::string& bad : {std::string(), file, file + "/below", file + "/a/b",
                                 dir + "/" + std::string(300, 'x') + "/y"}) {
    CAPTURE(bad);
    sources.flags = {{"DATA_DIR", bad}};
    CHECK(Faults(sources).size() == 1);
  }
  for (const std::string& good : {dir, dir + "/", dir + "/new", dir + "/new/deep/er",
                                  std::string("x"), dir + "/new/../other"}) {
    CAPTURE(good);
    sources.flags = {{"DATA_DIR", good}};
    CHECK(Faults(sources).empty());
    sources.flags = {};
  }
  CHECK_FALSE(std::ifstream(dir + "/new").good());
}

TEST_CASE("beside a database the data folder does not matter") {
  ConfigSources sources;
  sources.flags = {{"DATA_DIR", WriteFile("beside_a_database", "") + "/below"}};
  CHECK(Faults(sources).size() == 1);
  sources.flags.emplace_back("DATABASE_URL", "postgresql://counter@db.example/counter");
  CHECK(Faults(sources).empty());
}

TEST_CASE("a file that is not there is a fault beside the others") {
  ConfigSources sources;
  sources.flags = {{"CONFIG_FILE", "/none/such"}};
  sources.environment = {{"RPC_QUEUES", "x"}};
  const std::vector<std::string> faults = Faults(sources);
  REQUIRE(faults.size() == 2);
  CHECK(absl::StartsWith(faults[0], "CONFIG_FILE = \"/none/such\" (flag --config-file): "));
}

TEST_CASE("no fault shows a secret, however it was misplaced") {
  const std::string file = WriteFile("secrets",
                                     "DATABASE_URL postgresql://u:hunter2@h/likes\n"
                                     "DATABASE_URLS = postgresql://u:hunter2@h/likes\n"
                                     "DATABASE_URL = mysql://u:hunter2@h/likes\n"
                                     "REDIS_URL = hunter2\n");
  ConfigSources sources;
  sources.flags = {{"CONFIG_FILE", file}};
  const absl::StatusOr<LoadedConfig> loaded = LoadConfig(sources);
  REQUIRE_FALSE(loaded.ok());
  CHECK(Faults(sources).size() == 4);
  CHECK_FALSE(absl::StrContains(loaded.status().message(), "hunter2"));
}

TEST_CASE("an environment variable one letter off a setting is warned of, others are not") {
  ConfigSources sources;
  sources.environment = {{"GRPC_LISTENS", "x"}, {"grpc_listen", "x"},    {"DATA_DRI", "x"},
                         {"PATH", "/bin"},      {"GRPC_VERBOSITY", "x"}, {"LOG_LEVELLING", "x"},
                         {"LISTEN", "x"},       {"DATABASE_URL_2", "x"}};
  const absl::StatusOr<LoadedConfig> loaded = LoadConfig(sources);
  REQUIRE(loaded.ok());
  const std::vector<std::string> expected = {
      "The environment variable DATA_DRI is no setting and is ignored; did you mean DATA_DIR?",
      "The environment variable GRPC_LISTENS is no setting and is ignored; did you mean "
      "GRPC_LISTEN?",
      "The environment variable grpc_listen is no setting and is ignored; did you mean "
      "GRPC_LISTEN?"};
  CHECK(loaded->warnings == expected);
}

TEST_CASE("durability that may lose likes is taken with a warning") {
  ConfigSources sources;
  sources.environment = {{"DURABILITY", "unsafe"}};
  REQUIRE(LoadConfig(sources).ok());
  CHECK(LoadConfig(sources)->warnings.size() == 1);
  sources.environment["DATABASE_URL"] = "postgresql://h/likes";
  REQUIRE(LoadConfig(sources).ok());
  CHECK(
      LoadConfig(sources)->warnings ==
      std::vector<std::string>{"DURABILITY is unsafe: acknowledged likes may be lost in a crash."});
}

TEST_CASE("REST is on the loopback's port 8000 unless it is moved or switched off") {
  ConfigSources sources;
  CHECK(LoadConfig(sources)->config.http_listen->ToString() == "127.0.0.1:8000");
  sources.environment = {{"HTTP_LISTEN", "127.0.0.1:8080"}};
  CHECK(LoadConfig(sources)->config.http_listen->ToString() == "127.0.0.1:8080");
  sources.environment = {{"HTTP_LISTEN", ""}};
  const absl::StatusOr<LoadedConfig> off = LoadConfig(sources);
  CHECK_FALSE(off->config.http_listen.has_value());
  CHECK(off->warnings.empty());
}

}  // namespace
}  // namespace counter
