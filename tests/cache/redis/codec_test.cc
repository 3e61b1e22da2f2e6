// Bytes to replies and back: fragments, what is refused, and what a command looks like.
#include "cache/redis/codec.h"

#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "absl/strings/str_cat.h"
#include "tests/cache/redis/scripted_channel.h"
#include "tests/support/test_settings.h"

namespace counter::redis::testing {
namespace {

const std::string kStream =
    "+OK\r\n"
    "$-1\r\n"
    ":-42\r\n"
    "*4\r\n$3\r\na\r\n\r\n*2\r\n:1\r\n*0\r\n$0\r\n\r\n$-1\r\n"
    "-NOSCRIPT No matching script\r\n"
    "*-1\r\n";

std::vector<Reply> Expected() {
  return {Status("OK"),
          Nil(),
          Integer(-42),
          Array({Text("a\r\n"), Array({Integer(1), Array({})}), Text(""), Nil()}),
          Error("NOSCRIPT No matching script"),
          Nil()};
}

absl::Status FeedOne(const std::string& bytes) {
  ReplyReader reader;
  std::vector<Reply> replies;
  return reader.Feed(bytes, replies);
}

TEST_CASE("codec: replies are read whole from one piece") {
  ReplyReader reader;
  std::vector<Reply> replies;
  REQUIRE(reader.Feed(kStream, replies).ok());
  CHECK(replies == Expected());
}

TEST_CASE("codec: replies are read from two fragments cut anywhere") {
  for (size_t cut = 0; cut <= kStream.size(); ++cut) {
    ReplyReader reader;
    std::vector<Reply> replies;
    INFO("cut at " << cut);
    REQUIRE(reader.Feed(kStream.substr(0, cut), replies).ok());
    REQUIRE(reader.Feed(kStream.substr(cut), replies).ok());
    REQUIRE(replies == Expected());
  }
}

TEST_CASE("codec: replies are read byte by byte, each as soon as it is whole") {
  ReplyReader reader;
  std::vector<Reply> replies;
  for (size_t i = 0; i < 5; ++i) REQUIRE(reader.Feed(kStream.substr(i, 1), replies).ok());
  CHECK(replies.size() == 1);
  for (size_t i = 5; i < kStream.size(); ++i) {
    REQUIRE(reader.Feed(kStream.substr(i, 1), replies).ok());
  }
  CHECK(replies == Expected());
}

TEST_CASE("codec: lengths that no answer can have are refused, not allocated") {
  for (const char* hostile :
       {"*2147483647\r\n", "*99999999999999999999\r\n", "*-2\r\n", "$-5\r\n", "$2147483648\r\n",
        "$9223372036854775807\r\n", "$1048577\r\n", "*16385\r\n", "*\r\n", "$\r\n", "$1x\r\n",
        "$ 1\r\n", ":\r\n", ":1.5\r\n", ":9999999999999999999999\r\n"}) {
    INFO(hostile);
    CHECK_FALSE(FeedOne(hostile).ok());
  }
}

TEST_CASE("codec: nesting without end is refused") {
  std::string nested;
  for (int i = 0; i < 4; ++i) nested += "*1\r\n";
  CHECK(FeedOne(nested).ok());
  CHECK_FALSE(FeedOne(nested + "*1\r\n").ok());
}

TEST_CASE("codec: many small promises that add up to much memory are refused") {
  // 100 arrays of 16,000 elements each, one within a reply after the other.
  std::string bytes = "*100\r\n";
  absl::Status read;
  for (int array = 0; array < 100 && read.ok(); ++array) {
    bytes += "*16000\r\n";
    for (int i = 0; i < 16'000; ++i) bytes += ":1\r\n";
    read = FeedOne(bytes);
  }
  CHECK_FALSE(read.ok());
  CHECK(bytes.size() < 2'000'000);
}

TEST_CASE("codec: a line that never ends is refused") {
  CHECK(FeedOne("+" + std::string(4000, 'x')).ok());
  CHECK_FALSE(FeedOne("+" + std::string(5000, 'x')).ok());
}

TEST_CASE("codec: bytes that are not the protocol are refused") {
  for (const char* wrong : {"HTTP/1.1 400 Bad Request\r\n", "\r\n", "+OK\n", "$3\r\nabcde\r\n",
                            "%1\r\n", "_\r\n", "+a\rb\r\n"}) {
    INFO(wrong);
    CHECK_FALSE(FeedOne(wrong).ok());
  }
}

TEST_CASE("codec: after a refusal everything is refused") {
  ReplyReader reader;
  std::vector<Reply> replies;
  CHECK_FALSE(reader.Feed("$-5\r\n", replies).ok());
  CHECK_FALSE(reader.Feed("+OK\r\n", replies).ok());
  CHECK(replies.empty());
}

TEST_CASE("codec: replies before a refused one are still read") {
  ReplyReader reader;
  std::vector<Reply> replies;
  REQUIRE(reader.Feed("+OK\r\n", replies).ok());
  CHECK_FALSE(reader.Feed("*-9\r\n", replies).ok());
  CHECK(replies.size() == 1);
}

TEST_CASE("codec: half a reply is freed with its reader") {
  ReplyReader reader;
  std::vector<Reply> replies;
  CHECK(reader.Feed("*3\r\n$3\r\nabc\r\n*2\r\n:1\r\n", replies).ok());
  CHECK(replies.empty());
}

TEST_CASE("codec: damaged streams end in replies or a refusal, never in much memory") {
  std::mt19937_64 random(counter::testing::TestSeed());
  constexpr char kBytes[] = "+-:$*0123456789\r\nax";
  int64_t refused = 0;
  for (int run = 0; run < counter::testing::Sized(5000, 500'000); ++run) {
    std::string stream = kStream + kStream;
    for (uint64_t damages = 1 + random() % 4; damages > 0; --damages) {
      stream[random() % stream.size()] = kBytes[random() % (sizeof(kBytes) - 1)];
    }
    ReplyReader reader;
    std::vector<Reply> replies;
    bool is_read = true;
    for (size_t at = 0; at < stream.size() && is_read;) {
      const size_t size = 1 + random() % 20;
      is_read = reader.Feed(stream.substr(at, size), replies).ok();
      at += size;
    }
    refused += is_read ? 0 : 1;
    REQUIRE(replies.size() <= 30);
  }
  CHECK(refused > 100);
}

TEST_CASE("codec: K30: a command carries any bytes as they are") {
  const std::string hostile("%s%n%b\r\nFLUSHALL\r\n\0x", 21);
  std::string bytes;
  AppendCommand({"SET", hostile, ""}, bytes);
  CHECK(bytes == absl::StrCat("*3\r\n$3\r\nSET\r\n$21\r\n", hostile, "\r\n$0\r\n\r\n"));
  CHECK(Words(bytes) == std::vector<std::vector<std::string>>{{"SET", hostile, ""}});
}

TEST_CASE("codec: an error is known by its first word") {
  CHECK(Error("NOSCRIPT No matching").is_error("NOSCRIPT"));
  CHECK(Error("LOADING").is_error("LOADING"));
  CHECK_FALSE(Error("NOSCRIPTS x").is_error("NOSCRIPT"));
  CHECK_FALSE(Text("NOSCRIPT").is_error("NOSCRIPT"));
}

}  // namespace
}  // namespace counter::redis::testing
