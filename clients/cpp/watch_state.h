// WatchState: what a watch asks for, what its messages say, and whether it goes on after an error.
//
// Use it under a Watch, which has the stream and waits. Pure: no stream, no clock.
//
// Threads: one at a time. Ownership: values only.
#ifndef COUNTER_CLIENTS_CPP_WATCH_STATE_H_
#define COUNTER_CLIENTS_CPP_WATCH_STATE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "clients/cpp/client.h"
#include "clients/cpp/error.h"

namespace counter::client {

class WatchState {
 public:
  // Tokens that a request may carry.
  static constexpr size_t kTokensMax = 1000;
  // Before it begins again: doubling, while it gives nothing; a fifth more or less at random.
  static constexpr absl::Duration kPauseFirst = absl::Milliseconds(50);
  static constexpr absl::Duration kPauseMax = absl::Seconds(1);

  // `resumes`: whether it goes on after an error at all.
  WatchState(std::vector<std::string> tokens, bool resumes)
      : given_(std::move(tokens)), resumes_(resumes) {}

  // A stream begins: the tokens to ask with.
  std::vector<std::string> Begin();
  // What a message says to the caller. Absent: one that goes on has missed nothing.
  std::optional<CountsUpdate> Take(CountsUpdate message);
  // How long to wait before the next stream. Absent: the watch ends with this error.
  std::optional<absl::Duration> PauseAfter(const Error& error);

 private:
  std::vector<std::string> given_;  // By the caller.
  const bool resumes_;
  // The token of the last count of each item that was told, by type and id.
  std::map<std::pair<std::string, int64_t>, std::string> newest_;
  bool has_stood_ = false;    // It has given something.
  bool begins_anew_ = true;   // What the next stream begins with is all there is.
  bool has_resumed_ = false;  // The stream that is open goes on from where another one ended.
  absl::Duration pause_ = absl::ZeroDuration();
  std::mt19937 random_{std::random_device()()};
};

}  // namespace counter::client

#endif  // COUNTER_CLIENTS_CPP_WATCH_STATE_H_
