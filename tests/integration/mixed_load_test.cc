// 64 callers, one hot item and random items, everything mixed, on one server: every reply is held
// against the contract (design.md section 3, docs/contract.md).
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/consistency_token.h"
#include "tests/integration/fixture.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

using client::Action;
using client::Consistency;
using client::Item;
using client::Mutation;

constexpr int kCallers = 64;
constexpr int64_t kUsersEach = 4;  // Only their caller writes for them.
constexpr int64_t kPosts = 200;    // Post 1 is the hot one.

// What a reply said about an item after a write.
struct Written {
  int64_t post = 0;
  int64_t version = 0;
  int64_t count = 0;
  int delta = 0;  // +1, -1; 0 for a repeat.
};

// One caller: what it knows, and what it saw that the contract forbids.
class Caller {
 public:
  Caller(const Client& client, int number)
      : client_(client),
        random_(TestSeed() + static_cast<uint64_t>(number)),
        first_user_(1 + number * kUsersEach) {}

  void RunUntil(absl::Time end) {
    while (absl::Now() < end) {
      const uint64_t dice = random_() % 10;
      if (dice < 4) WriteOne();
      if (dice >= 4 && dice < 6) WriteMany();
      if (dice == 6) ReadLiked();
      if (dice == 7) ReadOwnWrite();
      if (dice >= 8) ReadCached();
      ++calls_;
    }
  }

  const std::vector<Written>& written() const { return written_; }
  const std::vector<std::string>& complaints() const { return complaints_; }
  int64_t calls() const { return calls_; }
  // The posts that each of its users likes now, by (user, post).
  const std::map<std::pair<int64_t, int64_t>, bool>& liked() const { return liked_; }

 private:
  int64_t RandomUser() { return first_user_ + static_cast<int64_t>(random_() % kUsersEach); }
  int64_t RandomPost() {
    return random_() % 2 == 0 ? 1 : 1 + static_cast<int64_t>(random_() % kPosts);
  }
  Mutation RandomMutation() {
    return {RandomUser(), Post(RandomPost()), random_() % 5 < 3 ? Action::kLike : Action::kUnlike};
  }

  void Complain(std::string what) {
    if (complaints_.size() < 5) complaints_.push_back(std::move(what));
  }

  // The version that a token names; complains if it is not one of the post.
  int64_t VersionOf(const std::string& token, int64_t post) {
    const auto decoded = DecodeConsistencyToken(token);
    if (!decoded.has_value() || decoded->item.id != post) {
      Complain(absl::StrCat("a token that is not of post ", post, ": ", token));
      return 0;
    }
    return decoded->version;
  }

  // Section 3: changed if and only if the pair's state changed; a count that includes the write.
  void Check(const Mutation& mutation, bool changed, int64_t count, const std::string& token) {
    bool& liked = liked_[{mutation.user_id, mutation.item.id}];
    const bool wanted = mutation.action == Action::kLike;
    if (changed != (liked != wanted))
      Complain(absl::StrCat("user ", mutation.user_id, " post ", mutation.item.id, " was ", liked,
                            ", wanted ", wanted, ", changed ", changed));
    if (count < (wanted ? 1 : 0) || count > kCallers * kUsersEach)
      Complain(absl::StrCat("count ", count, " after a write of ", wanted));
    liked = wanted;
    const int64_t version = VersionOf(token, mutation.item.id);
    written_.push_back({mutation.item.id, version, count, !changed ? 0 : wanted ? 1 : -1});
    last_token_[mutation.item.id] = token;
  }

  void WriteOne() {
    const Mutation mutation = RandomMutation();
    if (mutation.action == Action::kLike) {
      const auto reply = client_.Like(mutation.user_id, mutation.item);
      if (!reply.ok()) return Complain(reply.error().ToString());
      Check(mutation, reply->changed, reply->count, reply->consistency_token);
    } else {
      const auto reply = client_.Unlike(mutation.user_id, mutation.item);
      if (!reply.ok()) return Complain(reply.error().ToString());
      Check(mutation, reply->changed, reply->count, reply->consistency_token);
    }
  }

  void WriteMany() {
    std::vector<Mutation> mutations;
    for (size_t n = 1 + random_() % 40; n > 0; --n) mutations.push_back(RandomMutation());
    const auto reply = client_.WriteLikes(mutations);
    if (!reply.ok()) return Complain(reply.error().ToString());
    for (size_t i = 0; i < mutations.size(); ++i) {
      const auto& result = reply->results[i];
      if (!result.ok()) return Complain(result.error().ToString());
      Check(mutations[i], result->changed, result->count, result->consistency_token);
    }
  }

  void ReadLiked() {
    const int64_t user = RandomUser();
    std::vector<Item> items;
    for (int i = 0; i < 10; ++i) items.push_back(Post(RandomPost()));
    const auto reply = client_.HasLiked(user, items, {.consistency = Consistency::kStrong});
    if (!reply.ok()) return Complain(reply.error().ToString());
    for (size_t i = 0; i < items.size(); ++i) {
      if (reply->liked[i] != liked_[{user, items[i].id}])
        Complain(absl::StrCat("HasLiked of user ", user, " post ", items[i].id, " says ",
                              static_cast<bool>(reply->liked[i])));
    }
  }

  // At least: an answer with a token is never older than the write that it is from.
  void ReadOwnWrite() {
    if (last_token_.empty()) return;
    auto it = last_token_.lower_bound(RandomPost());
    if (it == last_token_.end()) it = last_token_.begin();
    const auto reply = client_.Count(Post(it->first), {.consistency_tokens = {it->second}});
    if (!reply.ok()) return Complain(reply.error().ToString());
    if (VersionOf(reply->count.consistency_token, it->first) < VersionOf(it->second, it->first))
      Complain(absl::StrCat("a read of post ", it->first, " is older than its token"));
  }

  // Cached values never go backwards in version.
  void ReadCached() {
    const int64_t post = RandomPost();
    const auto reply = client_.Count(Post(post));
    if (!reply.ok()) return Complain(reply.error().ToString());
    if (reply->count.count < 0) Complain(absl::StrCat("count ", reply->count.count));
    if (reply->count.source != client::Source::kCache) return;
    const int64_t version = VersionOf(reply->count.consistency_token, post);
    int64_t& seen = cached_version_[post];
    if (version < seen)
      Complain(absl::StrCat("cached post ", post, " went from version ", seen, " to ", version));
    seen = std::max(seen, version);
  }

  const Client& client_;
  std::mt19937_64 random_;
  const int64_t first_user_;
  int64_t calls_ = 0;
  std::map<std::pair<int64_t, int64_t>, bool> liked_;
  std::map<int64_t, std::string> last_token_;
  std::map<int64_t, int64_t> cached_version_;
  std::vector<Written> written_;
  std::vector<std::string> complaints_;
};

// Fails the case unless the writes of one post, in the order of their versions, are one history:
// at each version every reply says the same count, and it is the former one plus what changed.
void RequireOneHistory(std::vector<Written> writes) {
  std::sort(writes.begin(), writes.end(),
            [](const Written& a, const Written& b) { return a.version < b.version; });
  int64_t count = 0;
  for (size_t begin = 0; begin < writes.size();) {
    const int64_t version = writes[begin].version;
    size_t end = begin;
    for (; end < writes.size() && writes[end].version == version; ++end) count += writes[end].delta;
    for (size_t i = begin; i < end; ++i) {
      CAPTURE(writes[i].post, version, writes[i].delta);
      REQUIRE(writes[i].count == count);
    }
    begin = end;
  }
}

TEST_CASE("64 callers: every reply obeys the contract, and counts and digests equal the rows") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  std::vector<Caller> callers;
  for (int i = 0; i < kCallers; ++i) callers.emplace_back(client, i);
  const absl::Time end = absl::Now() + absl::Seconds(Sized(4, 30));
  RunWorkers(kCallers, [&](int i) { callers[static_cast<size_t>(i)].RunUntil(end); });

  std::map<int64_t, int64_t> counts;
  std::map<int64_t, std::vector<Written>> history;
  int64_t calls = 0;
  for (const Caller& caller : callers) {
    for (const std::string& complaint : caller.complaints()) FAIL_CHECK(complaint);
    for (const auto& [pair, liked] : caller.liked()) counts[pair.second] += liked ? 1 : 0;
    for (const Written& written : caller.written()) history[written.post].push_back(written);
    calls += caller.calls();
  }
  WARN(calls << " calls");
  CHECK(calls > kCallers);
  for (const auto& [post, count] : counts) {
    CAPTURE(post);
    REQUIRE(StrongCount(client, Post(post)) == count);
  }
  for (const auto& [post, writes] : history) RequireOneHistory(writes);
  StopServer(*server);
  RequireSoundStore(*server);
}

}  // namespace
}  // namespace counter::testing
