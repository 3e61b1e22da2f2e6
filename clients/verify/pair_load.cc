#include "clients/verify/pair_load.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/time/clock.h"

namespace counter::verify {
namespace {

using client::Client;
using client::Error;
using client::ErrorKind;

// A pair is left alone after this many calls of unknown outcome.
constexpr int kUnknownMax = 2;
// One in so many calls on a pair is the last one.
constexpr uint64_t kCallsAPair = 25;
// A service that is gone answers at once: do not fill the memory with refusals.
constexpr absl::Duration kPauseAfterFailure = absl::Milliseconds(50);

// Whether it says something of the service at this moment, and not of the call.
bool MayPass(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kRateLimited:
    case ErrorKind::kOverloaded:
    case ErrorKind::kUnavailable:
    case ErrorKind::kDeadlineExceeded:
    case ErrorKind::kCancelled:
    case ErrorKind::kResourceExhausted:
    case ErrorKind::kInternal:
      return true;
    default:
      return false;
  }
}

}  // namespace

class PairLoad::Worker {
 public:
  Worker(PairLoad& load, int number)
      : load_(load),
        options_(load.options_),
        random_(options_.seed * 1'000'003 + static_cast<uint64_t>(number)),
        next_user_(options_.users_first + number * kUsersAWorker),
        start_(SteadyNow()) {
    for (int i = 0; i < options_.pairs_a_worker; ++i) owned_.push_back(NewPair());
  }

  void Run() {
    while (!load_.stop_) {
      absl::SleepFor(options_.pause_max * static_cast<double>(random_() % 1000) / 1000);
      if (Call()) continue;
      ++totals.failed;
      absl::SleepFor(kPauseAfterFailure);
    }
  }

  History history;
  Totals totals;

 private:
  struct Owned {
    Pair pair;
    int unknown = 0;
    bool is_over = false;
  };

  uint64_t Below(uint64_t end) { return random_() % end; }

  Owned NewPair() {
    const Instant age = SteadyNow() - start_;
    const int64_t turn = age / absl::ToInt64Microseconds(options_.items_last_for);
    const auto items = static_cast<uint64_t>(options_.items);
    const auto which = static_cast<int64_t>(Below(4) == 0 ? 0 : Below(items));
    return {{next_user_++, options_.items_first + turn * options_.items + which}};
  }

  Owned& Pick() { return owned_[Below(owned_.size())]; }

  // One call, of a kind by chance, through a client by chance. Whether it went well.
  bool Call() {
    ++totals.calls;
    server_ = static_cast<int>(Below(load_.clients_.size()));
    client_ = load_.clients_[static_cast<size_t>(server_)];
    const uint64_t kind = Below(100);
    bool went_well = false;
    if (kind < 45) {
      went_well = WriteOne();
    } else if (kind < 55) {
      went_well = WriteMany();
    } else if (kind < 75) {
      went_well = ReadCounts();
    } else {
      went_well = ReadPairs();
    }
    if (went_well) ++load_.done_;
    return went_well;
  }

  bool WriteOne() {
    Owned& owned = Pick();
    WriteRecord write = Begin(owned.pair);
    const client::Item item = ItemOf(owned.pair);
    const client::CallOptions call = {.deadline = options_.deadline};
    bool went_well = false;
    if (write.act == Act::kLike) {
      went_well = End(write, client_->Like(owned.pair.user, item, call), owned);
    } else {
      went_well = End(write, client_->Unlike(owned.pair.user, item, call), owned);
    }
    Renew();
    return went_well;
  }

  bool WriteMany() {
    // The first ones of a new order: each pair once.
    std::shuffle(owned_.begin(), owned_.end(), random_);
    const size_t batch =
        1 + Below(std::min<uint64_t>(static_cast<uint64_t>(options_.batch_max), owned_.size()));
    std::vector<WriteRecord> writes;
    std::vector<client::Mutation> mutations;
    for (size_t i = 0; i < batch; ++i) {
      writes.push_back(Begin(owned_[i].pair));
      mutations.push_back(
          {owned_[i].pair.user, ItemOf(owned_[i].pair),
           writes[i].act == Act::kLike ? client::Action::kLike : client::Action::kUnlike});
    }
    const auto reply = client_->WriteLikes(mutations, {.deadline = options_.deadline});
    bool went_well = true;
    for (size_t i = 0; i < batch; ++i) {
      const client::Result<client::Applied> result =
          reply.ok() ? reply->results[i] : client::Result<client::Applied>(reply.error());
      went_well = End(writes[i], result, owned_[i]) && went_well;
    }
    Renew();
    return went_well;
  }

  WriteRecord Begin(const Pair& pair) {
    WriteRecord write;
    write.pair = pair;
    write.act = Below(100) < 60 ? Act::kLike : Act::kUnlike;
    write.server = server_;
    write.begin = SteadyNow();
    return write;
  }

  template <class Reply>
  bool End(WriteRecord write, const client::Result<Reply>& result, Owned& owned) {
    write.end = SteadyNow();
    if (result.ok()) {
      write.outcome = result->changed ? Outcome::kChanged : Outcome::kUnchanged;
      write.count = result->count;
      owned.is_over = Below(kCallsAPair) == 0;
    } else {
      Note(result.error());
      write.grpc_code = result.error().grpc_code;
      write.outcome = result.error().not_applied ? Outcome::kNotApplied : Outcome::kUnknown;
      owned.unknown += write.outcome == Outcome::kUnknown ? 1 : 0;
      // A user whose likes of a window are used up is of no use for as long.
      owned.is_over =
          owned.unknown >= kUnknownMax || result.error().kind == ErrorKind::kRateLimited;
    }
    history.writes.push_back(write);
    return result.ok();
  }

  // Other pairs in the place of those that are over.
  void Renew() {
    for (Owned& owned : owned_) {
      if (owned.is_over) owned = NewPair();
    }
  }

  bool ReadCounts() {
    std::vector<client::Item> items;
    const size_t batch = 1 + Below(5);
    for (size_t i = 0; i < batch; ++i) items.push_back(ItemOf(Pick().pair));
    const bool strong = Below(4) == 0;
    const Instant begin = SteadyNow();
    const auto reply = client_->Counts(items, Read(strong), {.deadline = options_.deadline});
    const Instant end = SteadyNow();
    if (!reply.ok()) return Note(reply.error());
    for (const client::ItemCount& count : reply->counts)
      history.count_reads.push_back(
          {count.item.id, count.count, FreshnessOf(strong), begin, end, server_});
    return true;
  }

  bool ReadPairs() {
    const Pair pair = Pick().pair;
    const bool strong = Below(4) == 0;
    const Instant begin = SteadyNow();
    const auto reply =
        client_->HasLiked(pair.user, {ItemOf(pair)}, Read(strong), {.deadline = options_.deadline});
    const Instant end = SteadyNow();
    if (!reply.ok()) return Note(reply.error());
    history.pair_reads.push_back({pair, reply->liked[0], FreshnessOf(strong), begin, end, server_});
    return true;
  }

  // Counts a failure; false.
  bool Note(const Error& error) {
    ++totals.errors[client::ErrorKindName(error.kind)];
    if (MayPass(error)) return false;
    if (!totals.fatal.has_value()) totals.fatal = error;
    load_.failed_ = true;
    load_.stop_ = true;
    return false;
  }

  client::Item ItemOf(const Pair& pair) const { return {options_.item_type, pair.item}; }
  static client::ReadOptions Read(bool strong) {
    return {.consistency = strong ? client::Consistency::kStrong : client::Consistency::kCached};
  }
  static Freshness FreshnessOf(bool strong) {
    return strong ? Freshness::kStrong : Freshness::kCached;
  }

  PairLoad& load_;
  const PairLoadOptions& options_;
  std::mt19937_64 random_;
  int64_t next_user_;
  const Instant start_;
  std::vector<Owned> owned_;
  int server_ = 0;                  // Of the call under way.
  const Client* client_ = nullptr;  // Likewise.
};

PairLoad::PairLoad(std::vector<const Client*> clients, PairLoadOptions options)
    : clients_(std::move(clients)), options_(std::move(options)) {
  for (int i = 0; i < options_.workers; ++i) workers_.push_back(std::make_unique<Worker>(*this, i));
  for (const auto& worker : workers_) threads_.emplace_back([&worker] { worker->Run(); });
}

PairLoad::~PairLoad() {
  stop_ = true;
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

History PairLoad::Stop() {
  stop_ = true;
  History all;
  for (size_t i = 0; i < workers_.size(); ++i) {
    threads_[i].join();
    const Totals& totals = workers_[i]->totals;
    totals_.calls += totals.calls;
    totals_.failed += totals.failed;
    for (const auto& [kind, count] : totals.errors) totals_.errors[kind] += count;
    if (!totals_.fatal.has_value()) totals_.fatal = totals.fatal;
    Append(all, std::move(workers_[i]->history));
  }
  return all;
}

namespace {

// Calls until it goes well, or `attempts` times.
template <class Ask>
auto Insist(int attempts, const Ask& ask) -> decltype(ask()) {
  while (true) {
    auto result = ask();
    if (result.ok() || --attempts <= 0 || !MayPass(result.error())) return result;
    absl::SleepFor(result.error().retry_after.value_or(absl::Milliseconds(200)));
  }
}

}  // namespace

client::Result<FinalState> ReadFinalState(const Client& client, const std::string& item_type,
                                          const History& history, int attempts) {
  constexpr size_t kItemsACall = 500;
  const client::ReadOptions strong = {.consistency = client::Consistency::kStrong};
  std::map<int64_t, std::vector<client::Item>> of_user;
  std::set<int64_t> items;
  std::set<Pair> pairs;
  for (const WriteRecord& write : history.writes) {
    if (!pairs.insert(write.pair).second) continue;
    items.insert(write.pair.item);
    of_user[write.pair.user].push_back({item_type, write.pair.item});
  }
  FinalState state;
  for (const auto& asked : of_user) {
    const auto reply =
        Insist(attempts, [&] { return client.HasLiked(asked.first, asked.second, strong); });
    if (!reply.ok()) return reply.error();
    for (size_t i = 0; i < asked.second.size(); ++i) {
      if (reply->liked[i]) state.likes.insert({asked.first, asked.second[i].id});
    }
  }
  std::vector<client::Item> part;
  for (auto item = items.begin(); item != items.end();) {
    part.push_back({item_type, *item});
    if (++item != items.end() && part.size() < kItemsACall) continue;
    const auto reply = Insist(attempts, [&] { return client.Counts(part, strong); });
    if (!reply.ok()) return reply.error();
    for (const client::ItemCount& count : reply->counts) state.counts[count.item.id] = count.count;
    part.clear();
  }
  return state;
}

}  // namespace counter::verify
