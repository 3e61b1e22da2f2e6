#include "clients/load/draw.h"

#include <map>
#include <random>
#include <set>
#include <string>

#include <catch2/catch.hpp>

namespace counter::load {
namespace {

std::map<int64_t, int> Counts(const std::string& text, int draws) {
  auto draw = Draw::Parse(text);
  REQUIRE(draw.ok());
  std::mt19937_64 random(7);
  std::map<int64_t, int> counts;
  for (int i = 0; i < draws; ++i) ++counts[(*draw)->Next(random())];
  return counts;
}

TEST_CASE("uniform draws all ids about equally often") {
  const auto counts = Counts("uniform:10", 10'000);
  REQUIRE(counts.size() == 10);
  CHECK(counts.begin()->first == 1);
  CHECK(counts.rbegin()->first == 10);
  for (const auto& [id, count] : counts) CHECK(std::abs(count - 1000) < 200);
}

TEST_CASE("by Zipf's law the hottest id is twice as hot as the second and ten times as the tenth") {
  const auto counts = Counts("zipf:1000", 100'000);
  std::multiset<int> sorted;
  for (const auto& [id, count] : counts) sorted.insert(count);
  auto hottest = sorted.rbegin();
  const double first = *hottest;
  const double second = *std::next(hottest);
  const double tenth = *std::next(hottest, 9);
  CHECK(first / second == Approx(2).epsilon(0.1));
  CHECK(first / tenth == Approx(10).epsilon(0.15));
  // Of all draws it has 1 / (1 + 1/2 + ... + 1/1000).
  CHECK(first / 100'000 == Approx(1 / 7.485).epsilon(0.05));
}

TEST_CASE("a walk visits every id once before any again") {
  const auto once = Counts("walk:1000", 1000);
  REQUIRE(once.size() == 1000);
  CHECK(once.begin()->first == 1);
  CHECK(once.rbegin()->first == 1000);
  for (const auto& [id, count] : Counts("walk:7", 14)) CHECK(count == 2);
}

TEST_CASE("new ids begin where they are told and never come again") {
  auto draw = Draw::Parse("new", 5);
  REQUIRE(draw.ok());
  std::mt19937_64 random;
  CHECK((*draw)->Next(random()) == 5);
  CHECK((*draw)->Next(random()) == 6);
}

TEST_CASE("hot is one id") { CHECK(Counts("hot", 100) == std::map<int64_t, int>{{1, 100}}); }

TEST_CASE("a text that names no way to draw is refused by name") {
  for (const char* text :
       {"", "zipf", "zipf:0", "zipf:20000001", "uniform:x", "walk:-1", "cold:5"}) {
    CAPTURE(text);
    const auto draw = Draw::Parse(text);
    REQUIRE(!draw.ok());
    CHECK(std::string(draw.status().message()).find(text) != std::string::npos);
  }
}

}  // namespace
}  // namespace counter::load
