#include "tests/integration/full_stack_load.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/error.h"
#include "server/consistency_token.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

// Readers look at no more items than Redis is asked for afterwards.
constexpr int64_t kReadItemsMax = 200;
constexpr size_t kFaultsMax = 5;

}  // namespace

MixedLoad::MixedLoad(const FullStack& stack, const MixedLoadOptions& options)
    : stack_(stack), options_(options), read_(static_cast<size_t>(options.readers)) {
  std::vector<LikeStore*> stores;
  for (int i = 0; i < FullStack::kServers; ++i) {
    stores_.push_back(std::make_unique<ServedStore>(stack.client(i)));
    stores.push_back(stores_.back().get());
  }
  LoadOptions writes;
  writes.users = options.users;
  writes.items = options.items;
  writes.deadline = options.deadline;
  writes.threads = options.single_writers;
  writers_.push_back(std::make_unique<BackgroundLoad>(stores, writes));
  writes.threads = options.batch_writers;
  writes.batch = options.batch;
  writers_.push_back(std::make_unique<BackgroundLoad>(stores, writes));
  for (int i = 0; i < options.readers; ++i)
    readers_.emplace_back([this, i] { read_[static_cast<size_t>(i)] = Read(i); });
}

MixedLoad::~MixedLoad() {
  stop_ = true;
  for (std::thread& reader : readers_) {
    if (reader.joinable()) reader.join();
  }
}

MixedLoadReport MixedLoad::Stop() {
  MixedLoadReport sum;
  for (const auto& writer : writers_) Merge(sum.writes, writer->Stop());
  stop_ = true;
  for (std::thread& reader : readers_) reader.join();
  for (const MixedLoadReport& one : read_) {
    sum.reads += one.reads;
    sum.hits += one.hits;
    sum.slowest_read = std::max(sum.slowest_read, one.slowest_read);
    for (const std::string& fault : one.faults) {
      if (sum.faults.size() < kFaultsMax) sum.faults.push_back(fault);
    }
  }
  return sum;
}

MixedLoadReport MixedLoad::Read(int reader) const {
  MixedLoadReport seen;
  constexpr uint64_t kReaderSeeds = 1000;
  std::mt19937_64 random(TestSeed() + kReaderSeeds + static_cast<uint64_t>(reader));
  const auto pick = [&random](int64_t most) {
    return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(most));
  };
  const auto complain = [&seen](std::string what) {
    if (seen.faults.size() < kFaultsMax) seen.faults.push_back(std::move(what));
  };
  std::map<int64_t, int64_t> versions;  // The newest that came from the cache, by post.
  while (!stop_) {
    const Client& client = stack_.client(static_cast<int>(random() % FullStack::kServers));
    std::vector<client::Item> items;
    for (int i = 0; i < 10; ++i)
      items.push_back(Post(pick(std::min(options_.items, kReadItemsMax))));
    const absl::Time start = absl::Now();
    const auto counts = client.Counts(items);
    const auto liked = client.HasLiked(pick(options_.users), items);
    seen.slowest_read = std::max(seen.slowest_read, absl::Now() - start);
    ++seen.reads;
    if (!counts.ok()) complain(counts.error().ToString());
    if (!liked.ok()) complain(liked.error().ToString());
    if (!counts.ok()) continue;
    for (const client::ItemCount& count : counts->counts) {
      if (count.count < 0 || count.count > options_.users)
        complain(absl::StrCat("post ", count.item.id, " has count ", count.count));
      if (count.source != client::Source::kCache) continue;
      ++seen.hits;
      const auto token = DecodeConsistencyToken(count.consistency_token);
      int64_t& newest = versions[count.item.id];
      const bool goes_back = token.has_value() && token->version < newest;
      if (!token.has_value() || (goes_back && !options_.cached_counts_may_go_back))
        complain(absl::StrCat("cached post ", count.item.id, " went back from version ", newest));
      if (token.has_value()) newest = std::max(newest, token->version);
    }
  }
  return seen;
}

void RequireFlawless(const MixedLoadReport& report, const FullStack& stack) {
  WARN(report.writes.ok << " writes, slowest " << report.writes.slowest << "; " << report.reads
                        << " reads, slowest " << report.slowest_read << ", " << report.hits
                        << " cached counts");
  for (const std::string& fault : report.faults) FAIL_CHECK(fault);
  for (const auto& [reason, count] : report.writes.errors)
    FAIL_CHECK(count << " writes ended with " << ErrorReasonName(reason));
  for (const std::string& contradiction :
       Contradictions(report.writes, stack.postgres(), stack.database()))
    FAIL_CHECK(contradiction);
  CHECK(report.writes.ok > 0);
  CHECK(report.reads > 0);
}

}  // namespace counter::testing
