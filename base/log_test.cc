#include "base/log.h"

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/log_format.h"

namespace counter {
namespace {

const absl::Time kTime = absl::FromUnixMicros(1'700'000'000'123'456);

std::string Text(absl::string_view event, const std::vector<LogField>& fields = {}) {
  return FormatLogText({LogLevel::kInfo, kTime, event, fields});
}
std::string Json(absl::string_view event, const std::vector<LogField>& fields = {}) {
  return FormatLogJson({LogLevel::kInfo, kTime, event, fields});
}

// Keeps copies of what it was given.
class MemorySink final : public LogSink {
 public:
  void Write(const LogRecord& record) override { lines.push_back(FormatLogText(record)); }
  std::vector<std::string> lines;
};

class InstalledSink {
 public:
  explicit InstalledSink(LogLevel level) { SetLogSink(&sink, level); }
  ~InstalledSink() { SetLogSink(nullptr, LogLevel::kInfo); }
  MemorySink sink;
};

// Of one line only: what a reader of lines or a terminal would act upon.
bool HasControlCharacter(absl::string_view line) {
  for (const char c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return true;
  }
  return false;
}

TEST_CASE("a record has time, level, event and fields in both formats") {
  const std::vector<LogField> fields = {{"grpc", "127.0.0.1:50051"},
                                        {"calls", 3},
                                        {"bytes", uint64_t{18446744073709551615u}},
                                        {"low", std::numeric_limits<int64_t>::min()},
                                        {"ok", true},
                                        {"load", 0.25},
                                        {"wait_seconds", absl::Milliseconds(1500)},
                                        {"note", "two words"},
                                        {"none", ""}};
  CHECK(Text("Server is ready.", fields) ==
        "2023-11-14T22:13:20.123456Z INFO  Server is ready. grpc=127.0.0.1:50051 calls=3 "
        "bytes=18446744073709551615 low=-9223372036854775808 ok=true load=0.25 wait_seconds=1.5 "
        "note=\"two words\" none=\"\"\n");
  CHECK(Json("Server is ready.", fields) ==
        "{\"time\":\"2023-11-14T22:13:20.123456Z\",\"level\":\"info\",\"event\":\"Server is "
        "ready.\",\"grpc\":\"127.0.0.1:50051\",\"calls\":3,\"bytes\":18446744073709551615,\"low\":"
        "-9223372036854775808,\"ok\":true,\"load\":0.25,\"wait_seconds\":1.5,\"note\":\"two "
        "words\",\"none\":\"\"}\n");
}

TEST_CASE("a number that JSON cannot say is null") {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<LogField> fields = {{"a", infinity}, {"b", -infinity}, {"c", infinity * 0}};
  CHECK(absl::StrContains(Json("x", fields), "\"a\":null,\"b\":null,\"c\":null"));
  CHECK_NOTHROW(boost::json::parse(Json("x", fields)));
}

TEST_CASE("a hostile text cannot forge a line, a field or a terminal's command") {
  const std::string hostile =
      "x\n2023-11-14T22:13:20Z ERROR forged\r\x1b[2J\"a\\=b\x7f\xc2\x9b\xe2\x80\xae";
  const std::string text = Text("event", {{"id", hostile}});
  CHECK(absl::EndsWith(text,
                       " event id=\"x\\n2023-11-14T22:13:20Z ERROR "
                       "forged\\u000d\\u001b[2J\\\"a\\\\=b\\u007f\\u009b\\u202e\"\n"));
  const std::string json = Json("event", {{"id", hostile}});
  CHECK(boost::json::parse(json).at("id").as_string() == hostile);
  CHECK_FALSE(HasControlCharacter(json.substr(0, json.size() - 1)));
  CHECK(absl::EndsWith(Text("a\nb"), " a\\nb\n"));
}

TEST_CASE("whatever is not UTF-8 is replaced, whatever is stays") {
  CHECK(absl::StrContains(Json("gr\xc3\xbc\xc3\x9f \xe2\x9d\xa4 \xf0\x9f\x91\x8d"),
                          "gr\xc3\xbc\xc3\x9f \xe2\x9d\xa4 \xf0\x9f\x91\x8d"));
  const std::pair<const char*, int> cases[] = {
      {"\xff", 1},              // Never in UTF-8.
      {"\x80", 1},              // A continuation alone.
      {"\xc3", 1},              // Cut short.
      {"\xe2\x9d", 2},          // Cut short.
      {"\xc0\xaf", 2},          // An overlong slash.
      {"\xe0\x80\xaf", 3},      // An overlong slash.
      {"\xf0\x80\x80\xaf", 4},  // An overlong slash.
      {"\xed\xa0\x80", 3},      // A surrogate.
      {"\xf4\x90\x80\x80", 4},  // Above the last code point.
      {"\xf5\x80\x80\x80", 4},  // Above the last code point.
  };
  for (const auto& [bytes, replaced] : cases) {
    std::string expected = "\"event\":\"";
    for (int i = 0; i < replaced; ++i) absl::StrAppend(&expected, "\\ufffd");
    absl::StrAppend(&expected, ".\"");
    CHECK(absl::StrContains(Json(absl::StrCat(bytes, ".")), expected));
  }
  CHECK(absl::StrContains(Text("x", {{"id", "a\xff"}}), "id=\"a\\xff\""));
}

TEST_CASE("any bytes make one line of JSON that parses and one line of text") {
  const uint32_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 40, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    CAPTURE(bytes);
    const std::string json = Json(bytes, {{"id", bytes}});
    REQUIRE_NOTHROW(boost::json::parse(json));
    REQUIRE_FALSE(HasControlCharacter(json.substr(0, json.size() - 1)));
    const std::string text = Text(bytes, {{"id", bytes}});
    REQUIRE_FALSE(HasControlCharacter(text.substr(0, text.size() - 1)));
    REQUIRE(text.back() == '\n');
  }
}

TEST_CASE("a text of any length makes a line of bounded length") {
  const std::string huge(10'000'000, '\x01');
  CHECK(Json("x", {{"id", huge}}).size() < 60'000);
  CHECK(Text("x", {{"id", huge}}).size() < 60'000);
  CHECK(absl::EndsWith(Text("x", {{"id", std::string(9000, 'a')}}), "a...\"\n"));
}

TEST_CASE("records below the level go nowhere") {
  InstalledSink installed(LogLevel::kWarning);
  CHECK_FALSE(LogEnabled(LogLevel::kInfo));
  CHECK(LogEnabled(LogLevel::kWarning));
  Log(LogLevel::kDebug, "debug");
  Log(LogLevel::kInfo, "info");
  Log(LogLevel::kWarning, "warning", {{"n", 1}});
  Log(LogLevel::kError, "error");
  REQUIRE(installed.sink.lines.size() == 2);
  CHECK(absl::StrContains(installed.sink.lines[0], " WARN  warning n=1\n"));
  CHECK(absl::StrContains(installed.sink.lines[1], " ERROR error\n"));
}

TEST_CASE("a throttle lets one line a period through and counts the others") {
  InstalledSink installed(LogLevel::kInfo);
  ManualClock clock;
  LogThrottle throttle(absl::Seconds(10), clock);
  CHECK(throttle.Log(LogLevel::kInfo, "flood", {{"n", 1}}));
  for (int i = 0; i < 1000; ++i) CHECK_FALSE(throttle.Log(LogLevel::kInfo, "flood", {{"n", 2}}));
  clock.Advance(absl::Seconds(10) - absl::Nanoseconds(1));
  CHECK_FALSE(throttle.Log(LogLevel::kInfo, "flood"));
  clock.Advance(absl::Nanoseconds(1));
  CHECK(throttle.Log(LogLevel::kInfo, "flood", {{"n", 3}}));
  clock.Advance(absl::Seconds(10));
  CHECK(throttle.Log(LogLevel::kInfo, "flood", {{"n", 4}}));
  REQUIRE(installed.sink.lines.size() == 3);
  CHECK(absl::EndsWith(installed.sink.lines[0], "flood n=1\n"));
  CHECK(absl::EndsWith(installed.sink.lines[1], "flood n=3 suppressed=1001\n"));
  CHECK(absl::EndsWith(installed.sink.lines[2], "flood n=4\n"));
}

TEST_CASE("of threads that flood together one line passes and every other is counted") {
  // Takes lines from several threads, one at a time by the throttle's own promise here.
  InstalledSink installed(LogLevel::kInfo);
  ManualClock clock;
  LogThrottle throttle(absl::Seconds(10), clock);
  std::atomic<int> passed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) passed += throttle.Log(LogLevel::kInfo, "flood");
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(passed == 1);
  clock.Advance(absl::Seconds(10));
  CHECK(throttle.Log(LogLevel::kInfo, "flood"));
  CHECK(absl::EndsWith(installed.sink.lines.back(), "suppressed=3999\n"));
}

}  // namespace
}  // namespace counter
