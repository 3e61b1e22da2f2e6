#include "clients/verify/history.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace counter::verify {
namespace {

template <class Record>
void AppendAll(std::vector<Record>& into, std::vector<Record> from) {
  if (into.empty()) {
    into = std::move(from);
    return;
  }
  into.insert(into.end(), std::make_move_iterator(from.begin()),
              std::make_move_iterator(from.end()));
}

const char* Said(Act act, Outcome outcome) {
  switch (outcome) {
    case Outcome::kChanged:
      return act == Act::kLike ? "LIKED" : "UNLIKED";
    case Outcome::kUnchanged:
      return act == Act::kLike ? "ALREADY_LIKED" : "NOT_LIKED";
    case Outcome::kNotApplied:
      return "refused, not applied";
    case Outcome::kUnknown:
      break;
  }
  return "unknown";
}

std::string Times(Instant begin, Instant end, Instant start) {
  constexpr double kSecond = 1e6;
  return absl::StrFormat("%.6f-%.6f", static_cast<double>(begin - start) / kSecond,
                         static_cast<double>(end - start) / kSecond);
}

const char* Name(Freshness freshness) {
  return freshness == Freshness::kStrong ? "strong" : "cached";
}

}  // namespace

Instant SteadyNow() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Append(History& into, History from) {
  AppendAll(into.writes, std::move(from.writes));
  AppendAll(into.pair_reads, std::move(from.pair_reads));
  AppendAll(into.count_reads, std::move(from.count_reads));
  AppendAll(into.disturbances, std::move(from.disturbances));
}

std::string LogOf(const History& history, const Pair& pair, Instant start) {
  std::multimap<Instant, std::string> lines;
  for (const WriteRecord& write : history.writes) {
    if (write.pair != pair) continue;
    std::string line = absl::StrCat(
        Times(write.begin, write.end, start), " server ", write.server,
        write.act == Act::kLike ? " Like: " : " Unlike: ", Said(write.act, write.outcome));
    if (write.count >= 0) absl::StrAppend(&line, ", count ", write.count);
    if (write.grpc_code != 0) absl::StrAppend(&line, ", code ", write.grpc_code);
    lines.emplace(write.begin, std::move(line));
  }
  for (const PairReadRecord& read : history.pair_reads) {
    if (read.pair != pair) continue;
    lines.emplace(read.begin, absl::StrCat(Times(read.begin, read.end, start), " server ",
                                           read.server, " HasLiked ", Name(read.freshness), ": ",
                                           read.liked ? "liked" : "not liked"));
  }
  for (const CountReadRecord& read : history.count_reads) {
    // The counts of its item are many, and say little of this pair.
    if (pair.user != 0 || read.item != pair.item) continue;
    lines.emplace(read.begin,
                  absl::StrCat(Times(read.begin, read.end, start), " server ", read.server,
                               " count ", Name(read.freshness), ": ", read.count));
  }
  for (const Disturbance& disturbance : history.disturbances) {
    lines.emplace(disturbance.from, absl::StrCat(Times(disturbance.from, disturbance.to, start),
                                                 " -- ", disturbance.what));
  }
  std::string log;
  for (const auto& [at, line] : lines) absl::StrAppend(&log, line, "\n");
  return log;
}

}  // namespace counter::verify
