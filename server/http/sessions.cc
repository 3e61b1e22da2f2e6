#include "server/http/sessions.h"

#include <utility>

#include "server/http/session.h"

namespace counter::http {

bool Sessions::CloseLongestIdle() {
  if (idle_.empty()) return false;
  idle_.front()->Close();
  return true;
}

void Sessions::Drain(std::function<void()> drained) {
  draining_ = true;
  drained_ = std::move(drained);
  for (Session* session : idle_) session->Close();
  TellIfDrained();
}

void Sessions::TellIfDrained() {
  if (!draining_ || !busy_.empty() || drained_ == nullptr) return;
  std::exchange(drained_, nullptr)();
}

void Sessions::CloseWaitingSince(MonotonicTime begin) {
  for (Session* session : busy_) {
    if (session->waits_since().has_value() && *session->waits_since() < begin) session->Close();
  }
}

void Sessions::CloseAll() {
  for (std::list<Session*>* list : {&busy_, &idle_, &streams_}) {
    for (Session* session : *list) session->Close();
  }
}

}  // namespace counter::http
