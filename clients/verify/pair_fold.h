// PairFold: what may be true of one pair after the calls on it, in their order.
//
// It holds the set of all states that the answers allow. A call of unknown outcome was applied zero
// or one time, now or at any later moment, so it stays under way for ever and only widens the set.
//
// Pure. For one thread. A value.
#ifndef COUNTER_CLIENTS_VERIFY_PAIR_FOLD_H_
#define COUNTER_CLIENTS_VERIFY_PAIR_FOLD_H_

#include <compare>
#include <cstdint>
#include <set>

#include "clients/verify/history.h"

namespace counter::verify {

// What may be; at least one of them.
struct Possible {
  bool liked = false;
  bool unliked = false;

  friend bool operator==(const Possible&, const Possible&) = default;
};
Possible Either(const Possible& a, const Possible& b);

class PairFold {
 public:
  // A pair that nobody has liked yet.
  PairFold() : states_({State{}}) {}

  // Takes the next call. False if no state allows its answer; then the answer is believed and what
  // follows is judged by it.
  [[nodiscard]] bool Take(Act act, Outcome outcome);

  Possible possible() const;

 private:
  struct State {
    bool liked = false;
    // Calls of unknown outcome that have not been applied yet; kMany is any number.
    uint8_t likes_under_way = 0;
    uint8_t unlikes_under_way = 0;

    friend auto operator<=>(const State&, const State&) = default;
  };
  static constexpr uint8_t kMany = 4;

  // Adds what calls under way may make of the states.
  void Close();

  std::set<State> states_;
};

}  // namespace counter::verify

#endif  // COUNTER_CLIENTS_VERIFY_PAIR_FOLD_H_
