// Whose each reply is: order, abandoned requests, deadlines, bounds, a broken connection.
#include "cache/redis/multiplexer.h"

#include <memory>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "absl/strings/str_cat.h"
#include "tests/cache/redis/scripted_channel.h"
#include "tests/support/test_settings.h"

namespace counter::redis::testing {
namespace {

using counter::testing::TestSeed;

const MonotonicTime kStart = MonotonicTime(std::chrono::hours(1));
MonotonicTime At(int64_t ms) { return kStart + absl::Milliseconds(ms); }

// What became of a request.
struct Outcome {
  int calls = 0;
  Answer answer;
};

class Fixture {
 public:
  explicit Fixture(const MultiplexerBounds& bounds = {}) : multiplexer(bounds) {}

  // A request of `replies` commands; its number. False: it was handed back.
  bool Add(int64_t replies, int64_t deadline_ms = 1000) {
    auto outcome = std::make_unique<Outcome>();
    Outcome* seen = outcome.get();
    outcomes.push_back(std::move(outcome));
    Commands commands;
    for (int64_t i = 0; i < replies; ++i) {
      commands.Add({"GET", absl::StrCat(outcomes.size() - 1, ".", i)});
    }
    auto refused = multiplexer.Add({std::move(commands), At(deadline_ms), [seen](Answer answer) {
                                      ++seen->calls;
                                      seen->answer = std::move(answer);
                                    }});
    if (refused) refused->Tell();
    return !refused;
  }
  // False: nobody had asked.
  bool Reply(redis::Reply reply) {
    auto finished = multiplexer.OnReply(std::move(reply));
    if (finished.ok() && *finished) (**finished).Tell();
    return finished.ok();
  }
  void Tell(std::vector<Finished> finished) {
    for (Finished& one : finished) one.Tell();
  }
  const Outcome& outcome(size_t i) const { return *outcomes[i]; }

  Multiplexer multiplexer;
  std::vector<std::unique_ptr<Outcome>> outcomes;
};

TEST_CASE("multiplexer: all that waits leaves in one write, in order") {
  Fixture fixture;
  fixture.Add(1);
  fixture.Add(2);
  CHECK(fixture.multiplexer.has_waiting());
  CHECK(Words(fixture.multiplexer.TakeWrite(kStart)) ==
        std::vector<std::vector<std::string>>{{"GET", "0.0"}, {"GET", "1.0"}, {"GET", "1.1"}});
  CHECK_FALSE(fixture.multiplexer.has_waiting());
  CHECK(fixture.multiplexer.TakeWrite(kStart).empty());
}

TEST_CASE("multiplexer: replies go to the requests in order") {
  Fixture fixture;
  fixture.Add(2);
  fixture.Add(1);
  fixture.multiplexer.TakeWrite(kStart);
  fixture.Reply(Text("a"));
  CHECK(fixture.outcome(0).calls == 0);
  fixture.Reply(Text("b"));
  CHECK(fixture.outcome(0).answer == Answer({Text("a"), Text("b")}));
  CHECK(fixture.outcome(1).calls == 0);
  fixture.Reply(Text("c"));
  CHECK(fixture.outcome(1).answer == Answer({Text("c")}));
  CHECK(fixture.multiplexer.requests() == 0);
}

TEST_CASE("multiplexer: the replies of an abandoned request are read and thrown away") {
  Fixture fixture;
  fixture.Add(2, 20);
  fixture.Add(1, 40);
  fixture.multiplexer.TakeWrite(kStart);
  fixture.Reply(Text("half"));
  fixture.Tell(fixture.multiplexer.Expire(At(20)));
  CHECK(fixture.outcome(0).calls == 1);
  CHECK_FALSE(fixture.outcome(0).answer);
  CHECK(fixture.multiplexer.requests() == 2);
  CHECK(fixture.multiplexer.late_answers() == 0);
  fixture.Reply(Text("late"));
  CHECK(fixture.outcome(0).calls == 1);
  CHECK(fixture.outcome(1).calls == 0);
  CHECK(fixture.multiplexer.late_answers() == 1);
  fixture.Reply(Text("c"));
  CHECK(fixture.outcome(1).answer == Answer({Text("c")}));
}

TEST_CASE("multiplexer: a request that expires unsent is never sent") {
  Fixture fixture;
  fixture.Add(1, 20);
  fixture.Add(1, 40);
  fixture.Tell(fixture.multiplexer.Expire(At(20)));
  CHECK(fixture.outcome(0).calls == 1);
  CHECK_FALSE(fixture.outcome(0).answer);
  CHECK(Words(fixture.multiplexer.TakeWrite(At(21))) ==
        std::vector<std::vector<std::string>>{{"GET", "1.0"}});
  fixture.Reply(Text("b"));
  CHECK(fixture.outcome(1).answer == Answer({Text("b")}));
}

TEST_CASE("multiplexer: nothing expires before its deadline") {
  Fixture fixture;
  fixture.Add(1, 20);
  CHECK(fixture.multiplexer.Expire(At(19)).empty());
  CHECK(fixture.multiplexer.NextDeadline() == At(20));
}

TEST_CASE("multiplexer: the next deadline is the earliest that somebody waits for") {
  Fixture fixture;
  CHECK_FALSE(fixture.multiplexer.NextDeadline());
  fixture.Add(1, 20);
  fixture.multiplexer.TakeWrite(kStart);
  fixture.Add(1, 30);
  CHECK(fixture.multiplexer.NextDeadline() == At(20));
  fixture.Tell(fixture.multiplexer.Expire(At(20)));
  CHECK(fixture.multiplexer.NextDeadline() == At(30));
  fixture.Tell(fixture.multiplexer.Expire(At(30)));
  CHECK_FALSE(fixture.multiplexer.NextDeadline());
}

TEST_CASE("multiplexer: a connection that never answers is seen by its oldest request") {
  Fixture fixture;
  CHECK_FALSE(fixture.multiplexer.OldestSent());
  fixture.Add(1, 20);
  fixture.multiplexer.TakeWrite(At(1));
  fixture.Add(1, 20);
  fixture.multiplexer.TakeWrite(At(5));
  fixture.Tell(fixture.multiplexer.Expire(At(100)));
  CHECK(fixture.multiplexer.OldestSent() == At(1));
  fixture.Reply(Nil());
  CHECK(fixture.multiplexer.OldestSent() == At(5));
}

TEST_CASE("multiplexer: a reply that nobody asked for is an error") {
  Fixture fixture;
  CHECK_FALSE(fixture.Reply(Nil()));
  fixture.Add(1);
  CHECK_FALSE(fixture.Reply(Nil()));  // It was not sent yet.
  CHECK(fixture.outcome(0).calls == 0);
}

TEST_CASE("multiplexer: what does not fit is refused, and abandoned requests take room") {
  Fixture fixture({.requests_max = 2, .waiting_bytes_max = 1024});
  CHECK(fixture.Add(1, 20));
  CHECK(fixture.Add(1, 40));
  CHECK_FALSE(fixture.Add(1));
  CHECK(fixture.outcome(2).calls == 1);
  CHECK_FALSE(fixture.outcome(2).answer);
  fixture.multiplexer.TakeWrite(kStart);
  fixture.Tell(fixture.multiplexer.Expire(At(20)));
  CHECK_FALSE(fixture.Add(1));
  fixture.Reply(Nil());
  CHECK(fixture.Add(1));
}

TEST_CASE("multiplexer: bytes that wait are bounded, and room comes back") {
  Fixture fixture({.requests_max = 100, .waiting_bytes_max = 60});
  CHECK(fixture.Add(2, 20));
  CHECK_FALSE(fixture.Add(1));
  SECTION("when they were sent") { fixture.multiplexer.TakeWrite(kStart); }
  SECTION("when they expired") { fixture.Tell(fixture.multiplexer.Expire(At(20))); }
  SECTION("when the connection broke") { fixture.Tell(fixture.multiplexer.FailAll()); }
  CHECK(fixture.Add(2));
}

// One dialogue of five requests, broken at each of its steps.
TEST_CASE("multiplexer: however far a dialogue came, its end ends every request once") {
  constexpr int kSteps = 12;
  for (int broken_at = 0; broken_at <= kSteps; ++broken_at) {
    Fixture fixture;
    const auto step = [&](int i) {
      if (i == 0) fixture.Add(1, 50);
      if (i == 1) fixture.Add(3, 20);
      if (i == 2) fixture.multiplexer.TakeWrite(kStart);
      if (i == 3) fixture.Add(1, 50);
      if (i == 4) fixture.Reply(Text("0.0"));
      if (i == 5) fixture.Reply(Text("1.0"));
      if (i == 6) fixture.Tell(fixture.multiplexer.Expire(At(20)));
      if (i == 7) fixture.multiplexer.TakeWrite(At(21));
      if (i == 8) fixture.Reply(Text("1.1"));
      if (i == 9) fixture.Reply(Text("1.2"));
      if (i == 10) fixture.Reply(Text("2.0"));
      if (i == 11) fixture.Add(1, 60);
    };
    for (int i = 0; i < broken_at; ++i) step(i);
    fixture.Tell(fixture.multiplexer.FailAll());
    INFO("broken at step " << broken_at);
    for (const auto& outcome : fixture.outcomes) CHECK(outcome->calls == 1);
    if (broken_at > 4) CHECK(fixture.outcome(0).answer == Answer({Text("0.0")}));
    if (broken_at > 1) CHECK_FALSE(fixture.outcome(1).answer);
    if (broken_at > 10) CHECK(fixture.outcome(2).answer == Answer({Text("2.0")}));
    CHECK(fixture.multiplexer.requests() == 0);
    CHECK_FALSE(fixture.Reply(Nil()));
  }
}

TEST_CASE("multiplexer: in any order of events nobody gets another's reply") {
  std::mt19937_64 random(TestSeed());
  for (int run = 0; run < 500; ++run) {
    Fixture fixture;
    std::vector<std::vector<std::string>> on_the_wire;
    size_t answered = 0;
    int64_t now = 0;
    for (int step = 0; step < 60; ++step) {
      const uint64_t what = random() % 10;
      if (what < 4) fixture.Add(1 + static_cast<int64_t>(random() % 3), now + 20);
      if (what == 4 || what == 5) {
        for (auto& words : Words(fixture.multiplexer.TakeWrite(At(now))))
          on_the_wire.push_back(words);
      }
      if (what >= 6 && what < 9 && answered < on_the_wire.size()) {
        REQUIRE(fixture.Reply(Text(on_the_wire[answered++][1])));
      }
      if (what == 9) fixture.Tell(fixture.multiplexer.Expire(At(now += 5)));
    }
    fixture.Tell(fixture.multiplexer.FailAll());
    for (size_t i = 0; i < fixture.outcomes.size(); ++i) {
      REQUIRE(fixture.outcome(i).calls == 1);
      if (!fixture.outcome(i).answer) continue;
      for (size_t part = 0; part < fixture.outcome(i).answer->size(); ++part) {
        REQUIRE((*fixture.outcome(i).answer)[part] == Text(absl::StrCat(i, ".", part)));
      }
    }
  }
}

}  // namespace
}  // namespace counter::redis::testing
