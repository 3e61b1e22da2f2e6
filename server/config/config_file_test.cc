#include "server/config/config_file.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <string>

namespace counter {
namespace {

TEST_CASE("a line is a setting, a comment or nothing, with blanks where one likes") {
  const ParsedConfigFile file = ParseConfigFile(
      "\xef\xbb\xbf# head\r\n"
      "\n"
      "A = 1\r\n"
      "\t B=two words  # why\n"
      "C =\n"
      "D = a#b=c\n"
      "   # E = 5\n"
      "F = #nothing\n"
      "G=last");
  CHECK(file.bad_lines.empty());
  REQUIRE(file.settings.size() == 6);
  const std::vector<std::string> expected = {"A=1@3",     "B=two words@4", "C=@5",
                                             "D=a#b=c@6", "F=@8",          "G=last@9"};
  for (size_t i = 0; i < expected.size(); ++i) {
    const FileSetting& setting = file.settings[i];
    CHECK(setting.name + "=" + setting.value + "@" + std::to_string(setting.line) == expected[i]);
  }
}

TEST_CASE("a line that is neither is told by its number, every one") {
  const ParsedConfigFile file = ParseConfigFile("A = 1\nsecret\n=3\n  = \nB = 2\n[section]\n");
  CHECK(file.bad_lines == std::vector<int>{2, 3, 4, 6});
  CHECK(file.settings.size() == 2);
}

TEST_CASE("a file that cannot be one of settings is refused before it is read") {
  const std::string dir = std::getenv("TEST_TMPDIR");
  CHECK(ReadConfigFile(dir + "/none").status().message() == "there is no such file");
  CHECK(ReadConfigFile(dir).status().message() == "it is no regular file");
  CHECK(ReadConfigFile("/dev/zero").status().message() == "it is no regular file");
  CHECK_FALSE(ReadConfigFile(dir + "/" + std::string(5000, 'x')).ok());
  std::ofstream(dir + "/large") << std::string((1 << 20) + 1, '#');
  CHECK(ReadConfigFile(dir + "/large").status().message() == "it is larger than 1 MiB");
  std::ofstream(dir + "/largest") << std::string(1 << 20, '#');
  CHECK(ReadConfigFile(dir + "/largest").value().size() == 1 << 20);
}

}  // namespace
}  // namespace counter
