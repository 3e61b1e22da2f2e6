#include "clients/verify/pair_fold.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace counter::verify {

Possible Either(const Possible& a, const Possible& b) {
  return {a.liked || b.liked, a.unliked || b.unliked};
}

Possible PairFold::possible() const {
  Possible possible;
  for (const State& state : states_) (state.liked ? possible.liked : possible.unliked) = true;
  return possible;
}

void PairFold::Close() {
  std::vector<State> todo(states_.begin(), states_.end());
  const auto one_less = [](uint8_t n) { return n == kMany ? n : static_cast<uint8_t>(n - 1); };
  const auto add = [&](const State& state) {
    if (states_.insert(state).second) todo.push_back(state);
  };
  while (!todo.empty()) {
    const State state = todo.back();
    todo.pop_back();
    if (state.likes_under_way > 0)
      add({true, one_less(state.likes_under_way), state.unlikes_under_way});
    if (state.unlikes_under_way > 0)
      add({false, state.likes_under_way, one_less(state.unlikes_under_way)});
  }
}

bool PairFold::Take(Act act, Outcome outcome) {
  if (outcome == Outcome::kNotApplied) return true;
  const bool is_like = act == Act::kLike;
  std::set<State> next;
  bool is_allowed = true;
  if (outcome == Outcome::kUnknown) {
    for (State state : states_) {
      uint8_t& under_way = is_like ? state.likes_under_way : state.unlikes_under_way;
      under_way = std::min<uint8_t>(under_way + 1, kMany);
      next.insert(state);
    }
  } else {
    // A like changes what is not liked, an unlike what is.
    const bool liked_before = is_like == (outcome == Outcome::kUnchanged);
    for (State state : states_) {
      if (state.liked != liked_before) continue;
      state.liked = is_like;
      next.insert(state);
    }
    is_allowed = !next.empty();
    if (!is_allowed) {
      for (State state : states_) {
        state.liked = is_like;
        next.insert(state);
      }
    }
  }
  states_ = std::move(next);
  Close();
  return is_allowed;
}

}  // namespace counter::verify
