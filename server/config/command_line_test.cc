#include "server/config/command_line.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"

namespace counter {
namespace {

absl::StatusOr<CommandLine> Parse(std::vector<const char*> words, Environment environment = {}) {
  words.insert(words.begin(), "counterd");
  return ParseCommandLine(static_cast<int>(words.size()), words.data(), environment);
}

std::string Refusal(const std::vector<const char*>& words) {
  const absl::StatusOr<CommandLine> line = Parse(words);
  return line.ok() ? "accepted" : std::string(line.status().message());
}

TEST_CASE("serve is what counterd does when nothing else is asked") {
  CHECK(Parse({}).value().command == Command::kServe);
  CHECK(Parse({"serve"}).value().command == Command::kServe);
  CHECK(Parse({"--rpc-queues", "2"}).value().command == Command::kServe);
  CHECK(ParseCommandLine(0, nullptr, {}).value().command == Command::kServe);
}

TEST_CASE("each command is recognised before and after flags") {
  CHECK(Parse({"config"}).value().command == Command::kConfig);
  CHECK(Parse({"--rpc-queues=2", "config"}).value().loaded.config.rpc_queues == 2);
  CHECK(Parse({"config", "--rpc-queues=2"}).value().loaded.config.rpc_queues == 2);
  CHECK(Parse({"config", "--markdown"}).value().command == Command::kConfigMarkdown);
  CHECK(Parse({"version"}).value().command == Command::kVersion);
  CHECK(Parse({"--version"}).value().command == Command::kVersion);
  CHECK(Parse({"help"}).value().command == Command::kHelp);
}

TEST_CASE("migrate opens no listener and does not mind where they would be") {
  CHECK(Parse({"migrate", "up", "--grpc-listen=0.0.0.0:1"}).ok());
  CHECK(absl::StrContains(Refusal({"--grpc-listen=0.0.0.0:1"}), "ALLOW_PLAINTEXT"));
}

TEST_CASE("migrate takes up or status and nothing else") {
  CHECK(Parse({"migrate", "up"}).value().command == Command::kMigrateUp);
  CHECK(Parse({"migrate", "status", "--rpc-queues=2"}).value().command == Command::kMigrateStatus);
  CHECK(absl::StrContains(Refusal({"migrate"}), "expected `migrate up` or `migrate status`"));
  CHECK(absl::StrContains(Refusal({"migrate", "down"}), "down"));
  CHECK_FALSE(Parse({"migrate", "up"}, {{"RPC_QUEUES", "x"}}).ok());
}

TEST_CASE("who asks for help gets it, whatever else is wrong") {
  for (const char* help : {"-h", "--help", "help"}) {
    CHECK(Parse({help}).value().command == Command::kHelp);
    CHECK(Parse({"--nonsense", "serve", help}, {{"RPC_QUEUES", "x"}}).value().command ==
          Command::kHelp);
  }
}

TEST_CASE("version and help do not fail on a bad environment") {
  CHECK(Parse({"version"}, {{"RPC_QUEUES", "x"}}).ok());
  CHECK(Parse({"config", "--markdown"}, {{"RPC_QUEUES", "x"}}).ok());
  CHECK_FALSE(Parse({"config"}, {{"RPC_QUEUES", "x"}}).ok());
  CHECK_FALSE(Parse({"serve"}, {{"RPC_QUEUES", "x"}}).ok());
}

TEST_CASE("a flag takes its value after a blank or an equals sign, the last one counts") {
  CHECK(Parse({"--data-dir", "x"}).value().loaded.config.data_dir == "x");
  CHECK(Parse({"--data-dir=x=y"}).value().loaded.config.data_dir == "x=y");
  CHECK(Parse({"--data-dir=x", "--data-dir=y"}).value().loaded.config.data_dir == "y");
  CHECK(Parse({"--metrics-listen="}).value().loaded.config.metrics_listen == std::nullopt);
  CHECK(Parse({"--metrics-listen", ""}).value().loaded.config.metrics_listen == std::nullopt);
}

TEST_CASE("a switch stands alone or has a value") {
  CHECK(Parse({"--reflection"}, {{"REFLECTION", "off"}}).value().loaded.config.reflection);
  CHECK_FALSE(Parse({"--reflection", "false"}).value().loaded.config.reflection);
  CHECK_FALSE(Parse({"--reflection=off"}).value().loaded.config.reflection);
  CHECK(Parse({"--reflection", "config"}).value().command == Command::kConfig);
}

TEST_CASE("an unknown flag or command is refused with the nearest name") {
  CHECK(absl::StrContains(Refusal({"--grpc-listn", "x"}),
                          "unknown flag \"--grpc-listn\"; did you mean --grpc-listen?"));
  CHECK(absl::StrContains(Refusal({"--grpc_listen=x"}), "did you mean --grpc-listen?"));
  CHECK(absl::StrContains(Refusal({"sreve"}), "unknown command \"sreve\"; did you mean serve?"));
  CHECK(absl::StrContains(Refusal({"--zzzzzz"}), "unknown flag \"--zzzzzz\"; see counterd --help"));
  CHECK(absl::StrContains(Refusal({"-x"}), "unknown flag \"-x\""));
  CHECK(absl::StrContains(Refusal({"-"}), "unknown flag \"-\""));
  CHECK(absl::StrContains(Refusal({""}), "unknown command \"\""));
  CHECK(absl::StrContains(Refusal({"--"}), "unknown flag \"--\""));
}

TEST_CASE("faults of the command line and of values come in one refusal") {
  const std::string refusal = Refusal({"--nonsense", "7", "--rpc-queues", "-5", "--drain-seconds",
                                       "--data-dir", "x", "serve", "config", "extra"});
  CAPTURE(refusal);
  CHECK(absl::StartsWith(refusal, "5 faults in the configuration:"));
  CHECK(absl::StrContains(refusal, "unknown flag \"--nonsense\""));
  CHECK(absl::StrContains(refusal, "RPC_QUEUES = \"-5\" (flag --rpc-queues): it is negative"));
  CHECK(absl::StrContains(refusal, "flag --drain-seconds has no value"));
  CHECK(absl::StrContains(refusal, "a second command \"config\""));
  CHECK(absl::StrContains(refusal, "unknown command \"extra\""));
}

TEST_CASE("a flag of another command is refused") {
  CHECK(absl::StrContains(Refusal({"--markdown"}), "--markdown belongs to"));
  CHECK(absl::StrContains(Refusal({"version", "--nonsense"}), "--nonsense"));
}

TEST_CASE("the value of an unknown flag is not repeated") {
  CHECK_FALSE(
      absl::StrContains(Refusal({"--database-urls", "postgresql://u:hunter2@h/d"}), "hunter2"));
  CHECK_FALSE(
      absl::StrContains(Refusal({"--database-urls=postgresql://u:hunter2@h/d"}), "hunter2"));
  CHECK_FALSE(absl::StrContains(Refusal({"--database-url=mysql://u:hunter2@h/d"}), "hunter2"));
}

}  // namespace
}  // namespace counter
