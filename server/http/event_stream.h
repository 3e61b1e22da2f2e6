// EventStream: the listeners of one stream of server-sent events, which all get the same.
//
// Threads: the server's only one. Ownership: it keeps the sessions of its listeners, which have
// nothing pending between two events.
#ifndef COUNTER_SERVER_HTTP_EVENT_STREAM_H_
#define COUNTER_SERVER_HTTP_EVENT_STREAM_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "server/http/http.h"

namespace counter::http {

class Session;

class EventStream {
 public:
  EventStream(boost::asio::io_context& context, absl::Duration period, int streams_max,
              std::function<std::string()> event, Refuse refuse)
      : timer_(context),
        period_(period),
        streams_max_(streams_max),
        event_(std::move(event)),
        refuse_(std::move(refuse)) {}

  // The answer for who may not join; none for who may.
  std::optional<Response> RefusalOf(const Request& request) const {
    return refuse_ == nullptr ? std::nullopt : refuse_(request);
  }

  // False if there are as many as allowed, or it has stopped.
  bool Join(const std::shared_ptr<Session>& session);
  // For who joins now, so that nobody waits a period to see anything: the last event, or the first
  // of those to come if nobody has been listening.
  std::string Newest();
  // Closes all listeners; nobody can join any more.
  void Stop();

 private:
  void Wait();
  void Tick();

  boost::asio::steady_timer timer_;
  const absl::Duration period_;
  const int streams_max_;
  const std::function<std::string()> event_;
  const Refuse refuse_;
  std::list<std::shared_ptr<Session>> listeners_;
  std::optional<std::string> last_;  // Not older than a period.
  bool waiting_ = false;
  bool stopped_ = false;
};

}  // namespace counter::http

#endif  // COUNTER_SERVER_HTTP_EVENT_STREAM_H_
