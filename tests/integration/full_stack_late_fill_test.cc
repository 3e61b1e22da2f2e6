// An old value is not written back into the cache (K25 of what others met): a reader whose answer
// from PostgreSQL is late, and all that readers, writers and evictions can do to each other.
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "tests/integration/full_stack.h"
#include "tests/storage/postgres_proxy.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

using client::Source;

constexpr absl::Duration kDelay = absl::Milliseconds(500);

// A third server over the same PostgreSQL and Redis, whose answers from PostgreSQL come late.
class LateReader {
 public:
  explicit LateReader(const FullStack& stack)
      : proxy_(stack.postgres(), {}),
        server_(stack.StartAnother({{"DATABASE_URL", UrlOf(proxy_.Url(NameOf(stack)))}})),
        client_(ConnectTo(*server_)) {
    REQUIRE(Eventually(absl::Seconds(10) * Slowness(),
                       [&] { return MetricOf(*server_, "counter_redis_connected") == 1; }));
  }

  PostgresProxy& line() { return proxy_; }
  const Client& client() const { return client_; }

 private:
  static std::string NameOf(const FullStack& stack) {
    const std::string name = stack.Sql("SELECT current_database()");
    return std::string(absl::StripTrailingAsciiWhitespace(name));
  }

  PostgresProxy proxy_;
  std::unique_ptr<CounterServer> server_;
  Client client_;
};

// Reads through `late` while PostgreSQL's answer is held back, and runs `write` when PostgreSQL has
// most likely answered already. Returns what was read.
template <class Read, class Write>
auto ReadAcross(LateReader& late, const Read& read, const Write& write) {
  late.line().DelayAnswers(kDelay);
  std::optional<decltype(read())> reply;
  std::thread reader([&] { reply.emplace(read()); });
  absl::SleepFor(kDelay / 5);
  write();
  reader.join();
  late.line().DelayAnswers(absl::ZeroDuration());
  REQUIRE((*reply).ok());
  return **std::move(reply);
}

// Plays `round` of ever new posts until what it is about has happened so many times: on a busy
// machine the reader may come to PostgreSQL only after the write.
void UntilItHappened(const std::function<bool(int64_t post)>& round) {
  const int64_t times = Sized(2, 20);
  int64_t happened = 0;
  for (int64_t post = 1; happened < times; ++post) {
    REQUIRE(post <= 10 * times);
    CAPTURE(post);
    happened += round(post) ? 1 : 0;
  }
}

TEST_CASE("K25: a count that a reader read before a like and fills after it does not show") {
  FullStack stack;
  LateReader late(stack);
  UntilItHappened([&](int64_t post) {
    absl::Time liked_at;
    const client::CountReply old = ReadAcross(
        late, [&] { return late.client().Count(Post(post)); },
        [&] {
          REQUIRE(stack.client(0).Like(1, Post(post)).ok());
          liked_at = absl::Now();
        });
    // Nobody sees the old count, at once and for longer than a cached read may be behind.
    CHECK(stack.CachedCount(post).value_or(1) == 1);
    do {
      for (const Client* client : {&stack.client(0), &stack.client(1), &late.client()}) {
        const auto read = client->Count(Post(post));
        REQUIRE(read.ok());
        REQUIRE(read->count.count == 1);
      }
    } while (absl::Now() < liked_at + absl::Seconds(1));
    CHECK(Eventually(absl::Seconds(1) * Slowness(), [&] {
      return stack.client(1).Count(Post(post)).value().count.source == Source::kCache;
    }));
    return old.count.count == 0;
  });
}

TEST_CASE("K25: a like that a reader read before an unlike and tells Redis after it is refused") {
  FullStack stack;
  LateReader late(stack);
  UntilItHappened([&](int64_t post) {
    REQUIRE(stack.client(0).Like(1, Post(post)).ok());
    const std::string known = "recent_likes:{1}";  // It would answer the reader.
    stack.redis_of(known).Command({"DEL", known});
    const client::HasLikedReply old = ReadAcross(
        late, [&] { return late.client().HasLiked(1, {Post(post)}); },
        [&] { REQUIRE(stack.client(0).Unlike(1, Post(post)).ok()); });
    for (const Client* client : {&stack.client(0), &stack.client(1), &late.client()}) {
      const auto read = client->HasLiked(1, {Post(post)});
      REQUIRE(read.ok());
      CHECK_FALSE(read->liked[0]);
    }
    return bool{old.liked[0]};
  });
}

TEST_CASE("K25: after any interleaving of reads, writes and evictions the cache equals the store") {
  constexpr int64_t kPosts = 100;
  constexpr int kCallers = 9;
  FullStack stack;
  LateReader late(stack);
  late.line().DelayAnswers(absl::Milliseconds(20), /*always=*/false);
  const std::vector<RedisServer*> masters = stack.redis_masters();
  const Client* const clients[] = {&stack.client(0), &stack.client(1), &late.client()};
  const int calls = Sized(3000, 10'000);
  const auto evict = [&](const std::string& key) {
    // Of a cluster, no matter which: only one has the key.
    for (const RedisServer* redis : masters) redis->Command({"DEL", key});
  };
  std::atomic<int> errors = 0;
  RunWorkers(kCallers, [&](int worker) {
    std::mt19937_64 random(TestSeed() + static_cast<uint64_t>(worker));
    for (int call = 0; call < calls / kCallers; ++call) {
      const Client& client = *clients[random() % 3];
      const client::Item post = Post(1 + static_cast<int64_t>(random() % kPosts));
      const uint64_t what = random() % 10;
      bool ok = true;
      if (what < 2)
        ok = client.Like(1 + worker, post).ok();
      else if (what < 4)
        ok = client.Unlike(1 + worker, post).ok();
      else if (what < 9)
        ok = client.Count(post).ok();
      else
        evict(absl::StrCat("counter:post:", post.id));
      if (!ok) ++errors;
    }
  });
  CHECK(errors == 0);
  std::string differences;
  CHECK(stack.CacheComesToEqualStore(differences));
  INFO(differences);
  CHECK(differences.empty());
  CHECK_FALSE(stack.CachedCounts().empty());
}

}  // namespace
}  // namespace counter::testing
