// PairLoad: load on a service whose every answer can be judged afterwards (checker.h).
//
// Workers like and unlike pairs of their own, one call at a time for each, never repeated, by Like,
// Unlike and WriteLikes; they read what they and others wrote, cached and strong, and write down
// every answer. A pair is left alone after some calls, or when too many of its calls ended with an
// unknown outcome, and another one takes its place: so there are always pairs of which everything
// is known, and many that must stay as they are until the end.
//
// Its users and items are ranges that nobody else may use.
//
// Threads: the methods from one thread; it runs threads of its own. Ownership: borrows the clients,
// which must not repeat calls themselves (Client::Options::retries = false).
#ifndef COUNTER_CLIENTS_VERIFY_PAIR_LOAD_H_
#define COUNTER_CLIENTS_VERIFY_PAIR_LOAD_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "clients/cpp/client.h"
#include "clients/verify/history.h"

namespace counter::verify {

struct PairLoadOptions {
  std::string item_type = "post";
  int64_t users_first = 1;
  int64_t items_first = 1;
  int workers = 8;
  int pairs_a_worker = 40;
  // Pairs that are new are of one of so many items, the first of which is liked by a fourth of
  // them; after each `items_last_for` it is other items.
  int items = 12;
  absl::Duration items_last_for = absl::Seconds(5);
  int batch_max = 30;
  absl::Duration deadline = absl::Seconds(3);  // Of each call.
  // Each worker waits up to so long before each call.
  absl::Duration pause_max = absl::Milliseconds(8);
  uint64_t seed = 0;
};

class PairLoad {
 public:
  struct Totals {
    int64_t calls = 0;
    int64_t failed = 0;
    std::map<std::string, int64_t> errors;  // By kind of error.
    // Another error than service that is away or has too much to do: it ends the load.
    std::optional<client::Error> fatal;
  };

  PairLoad(std::vector<const client::Client*> clients, PairLoadOptions options);
  ~PairLoad();
  PairLoad(const PairLoad&) = delete;
  PairLoad& operator=(const PairLoad&) = delete;

  // Ends the load when the calls under way have ended, and hands out what was seen. Once.
  History Stop();
  // Requires that it was stopped.
  const Totals& totals() const { return totals_; }

  // Whether a fatal error has ended the load.
  bool failed() const { return failed_; }
  // Calls that went well so far.
  int64_t done() const { return done_; }

  // How many users a worker may use up: worker i has those from users_first + i * kUsersAWorker.
  static constexpr int64_t kUsersAWorker = int64_t{1} << 32;

 private:
  class Worker;

  const std::vector<const client::Client*> clients_;
  const PairLoadOptions options_;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> failed_ = false;
  std::atomic<int64_t> done_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::thread> threads_;
  Totals totals_;
};

// What the service itself says of every pair and item of the history, read strongly. `attempts` for
// each call. The error that ended it.
client::Result<FinalState> ReadFinalState(const client::Client& client,
                                          const std::string& item_type, const History& history,
                                          int attempts);

}  // namespace counter::verify

#endif  // COUNTER_CLIENTS_VERIFY_PAIR_LOAD_H_
