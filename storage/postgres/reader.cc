#include "storage/postgres/reader.h"

#include <utility>

#include "absl/time/clock.h"

namespace counter::postgres {
namespace {

MonotonicTime Now() { return Clock::System().MonotonicNow(); }

// A read has no effect: whatever became of the statement, it may be asked again.
bool MayPass(const UnitReply& reply) {
  if (reply.fate != UnitFate::kRolledBack) return true;
  switch (Classify(reply.error)) {
    case ErrorClass::kTransient:
    case ErrorClass::kTimeout:
    case ErrorClass::kConnectionUseless:
      return true;
    case ErrorClass::kRejected:
    case ErrorClass::kOutOfResources:
    case ErrorClass::kMisfit:
      return false;
  }
  return false;
}

}  // namespace

Reader::Reader(boost::asio::io_context& loop, const Options& options, Link::Options link)
    : reads_max_(options.reads_max),
      counts_(options.counts),
      pairs_(options.pairs),
      link_(loop, std::move(link), *this) {}

bool Reader::PushCounts(std::vector<Item> items, const CallLimits& limits,
                        CountsBatcher::Done& done) {
  if (reads() >= reads_max_) return false;
  stats_.keys_asked += static_cast<int64_t>(items.size());
  return counts_.Push(std::move(items), limits, done);
}

bool Reader::PushPairs(std::vector<Pair> pairs, const CallLimits& limits,
                       PairsBatcher::Done& done) {
  if (reads() >= reads_max_) return false;
  stats_.keys_asked += static_cast<int64_t>(pairs.size());
  return pairs_.Push(std::move(pairs), limits, done);
}

void Reader::Pump() {
  if (!link_.ready()) return;
  if (!counts_.in_batch() && (link_.pipelined() || !pairs_.in_batch())) SendCounts();
  if (!pairs_.in_batch() && (link_.pipelined() || !counts_.in_batch())) SendPairs();
}

void Reader::SendCounts() {
  const std::vector<Item> items = counts_.TakeBatch(Now());
  if (items.empty()) return;
  ++stats_.statements;
  const int count = static_cast<int>(items.size());
  stats_.keys_read += count;
  // The snapshot is taken later than this.
  const absl::Time as_of = absl::Now();
  link_.Send({ReadCounts(items)}, [this, count, as_of](const UnitReply& reply) {
    if (reply.fate != UnitFate::kCommitted) {
      Failed(counts_, reply);
    } else {
      const auto answers = DecodeCounts(reply.tables[0], count);
      if (answers.ok()) {
        counts_.Complete(*answers, as_of);
      } else {
        counts_.Fail(answers.status(), false);
      }
    }
    Pump();
  });
}

void Reader::SendPairs() {
  const std::vector<Pair> pairs = pairs_.TakeBatch(Now());
  if (pairs.empty()) return;
  ++stats_.statements;
  const int count = static_cast<int>(pairs.size());
  stats_.keys_read += count;
  const absl::Time as_of = absl::Now();
  link_.Send({ReadPairs(pairs)}, [this, count, as_of](const UnitReply& reply) {
    if (reply.fate != UnitFate::kCommitted) {
      Failed(pairs_, reply);
    } else {
      const auto answers = DecodePairs(reply.tables[0], count);
      if (answers.ok()) {
        pairs_.Complete(*answers, as_of);
      } else {
        pairs_.Fail(answers.status(), false);
      }
    }
    Pump();
  });
}

template <class Batcher>
void Reader::Failed(Batcher& batcher, const UnitReply& reply) {
  const bool again = MayPass(reply);
  if (again) stats_.retries.Count(Classify(reply.error));
  batcher.Fail(ToStatus(reply.error), again);
}

void Reader::DropUnwanted() {
  counts_.DropUnwanted(Now());
  pairs_.DropUnwanted(Now());
}

void Reader::FailAll(const absl::Status& error) {
  counts_.FailAll(error);
  pairs_.FailAll(error);
}

void Reader::LinkReady(Link&) { Pump(); }
void Reader::LinkDown(Link&) {}

}  // namespace counter::postgres
