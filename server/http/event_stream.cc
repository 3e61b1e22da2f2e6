#include "server/http/event_stream.h"

#include <boost/system/error_code.hpp>

#include "server/http/session.h"

namespace counter::http {

bool EventStream::Join(const std::shared_ptr<Session>& session) {
  if (stopped_ || listeners_.size() >= static_cast<size_t>(streams_max_)) return false;
  listeners_.push_back(session);
  if (!waiting_) Wait();
  return true;
}

std::string EventStream::Newest() {
  if (!last_.has_value()) last_ = event_();
  return *last_;
}

void EventStream::Stop() {
  stopped_ = true;
  timer_.cancel();
  for (const std::shared_ptr<Session>& listener : listeners_) listener->Close();
  listeners_.clear();
}

void EventStream::Wait() {
  waiting_ = true;
  timer_.expires_after(absl::ToChronoNanoseconds(period_));
  timer_.async_wait([this](boost::system::error_code error) {
    waiting_ = false;
    if (!error && !stopped_) Tick();
  });
}

void EventStream::Tick() {
  listeners_.remove_if([](const std::shared_ptr<Session>& listener) { return listener->closed(); });
  last_.reset();
  if (listeners_.empty()) return;
  last_ = event_();
  for (const std::shared_ptr<Session>& listener : listeners_) listener->SendEvent(*last_);
  Wait();
}

}  // namespace counter::http
