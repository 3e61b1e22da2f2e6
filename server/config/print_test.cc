#include "server/config/print.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/config/config_file.h"
#include "server/config/load.h"
#include "server/config/setting.h"

namespace counter {
namespace {

LoadedConfig LoadWithSecrets() {
  ConfigSources sources;
  sources.flags = {{"DATABASE_URL", "postgresql+asyncpg://u:hunter2@h/likes?sslpassword=hunter2"},
                   {"RPC_QUEUES", "2"}};
  sources.environment = {{"REDIS_URL", "redis://:hunter2@h"}};
  return LoadConfig(sources).value();
}

TEST_CASE("docs/configuration.md is what counterd config --markdown prints") {
  std::ifstream file("docs/configuration.md", std::ios::binary);
  const std::string committed((std::istreambuf_iterator<char>(file)), {});
  const bool is_current = committed == FormatMarkdown();
  INFO("Make it again: counterd config --markdown > docs/configuration.md");
  CHECK(is_current);
}

TEST_CASE("help and page name every setting with its default and range") {
  const std::string help = FormatHelp();
  const std::string page = FormatMarkdown();
  for (const Setting& setting : Settings()) {
    CAPTURE(std::string(setting.name));
    CHECK(absl::StrContains(help, absl::StrCat("  ", setting.flag(), " ")));
    CHECK(absl::StrContains(page, absl::StrCat("| `", setting.name, "`<br>`", setting.flag())));
    CHECK(absl::StrContains(page, setting.expected()));
    CHECK(absl::StrContains(page, setting.help));
    CHECK(absl::StrContains(help, setting.default_text));
  }
  CHECK(absl::StrContains(help, "\nListeners:\n"));
}

TEST_CASE("every line of help fits a terminal of 100 columns") {
  for (const absl::string_view line : absl::StrSplit(FormatHelp(), '\n')) {
    CAPTURE(std::string(line));
    CHECK(line.size() <= 100);
  }
}

TEST_CASE("the effective settings come with their sources and without secrets") {
  const std::string printed = FormatConfig(LoadWithSecrets());
  CAPTURE(printed);
  CHECK_FALSE(absl::StrContains(printed, "hunter2"));
  CHECK(absl::StrContains(
      printed, "DATABASE_URL = postgresql+asyncpg://u:***@h/likes?sslpassword=***  # flag"));
  CHECK(absl::StrContains(printed, "REDIS_URL = redis://:***@h"));
  CHECK(absl::StrContains(printed, "  # environment\n"));
  const std::vector<std::string> lines = absl::StrSplit(printed, '\n');
  CHECK(lines.size() == Settings().size() + 1);
}

TEST_CASE("the start line tells what is not a default, without secrets") {
  CHECK(SummarizeConfig(LoadConfig({}).value()) == "defaults");
  const std::string summary = SummarizeConfig(LoadWithSecrets());
  CHECK_FALSE(absl::StrContains(summary, "hunter2"));
  CHECK(absl::StrContains(summary, "RPC_QUEUES=2"));
  CHECK_FALSE(absl::StrContains(summary, "DATA_DIR"));
}

TEST_CASE("printed settings can be read back as a file") {
  const ParsedConfigFile file = ParseConfigFile(FormatConfig(LoadConfig({}).value()));
  CHECK(file.bad_lines.empty());
  REQUIRE(file.settings.size() == Settings().size());
  for (size_t i = 0; i < file.settings.size(); ++i) {
    CHECK(file.settings[i].name == Settings()[i].name);
    CHECK(file.settings[i].value == Settings()[i].default_text);
  }
}

}  // namespace
}  // namespace counter
