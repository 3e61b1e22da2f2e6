#include "server/http/session.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/http/tls_context.h"

namespace counter::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace beast_http = boost::beast::http;

// Whether the other side has closed or reset the connection; nothing is taken from it.
bool IsGone(int socket) {
  char byte = 0;
  const ssize_t got = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

bool HasData(int socket) {
  char byte = 0;
  return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

std::string TextOfEvent(const std::string& data) { return absl::StrCat("data: ", data, "\n\n"); }

}  // namespace

Session::Session(asio::ip::tcp::socket socket, asio::ssl::context* tls, const Shared& shared)
    : shared_(shared),
      list_(&shared.sessions.busy_),
      place_(list_->insert(list_->end(), this)),
      stream_(std::move(socket), tls),
      // Room for what a pipelining client sends ahead of the body that is being read.
      buffer_(shared.options.header_bytes_max + shared.options.body_bytes_max) {
  shared.sessions.size_.fetch_add(1, std::memory_order_relaxed);
}

Session::~Session() {
  list_->erase(place_);
  shared_.sessions.size_.fetch_sub(1, std::memory_order_relaxed);
  shared_.sessions.TellIfDrained();
}

void Session::MoveTo(std::list<Session*>& list) {
  list.splice(list.end(), *list_, place_);
  list_ = &list;
  shared_.sessions.TellIfDrained();
}

void Session::Close() {
  closed_ = true;
  if (answering_) request_.cancellation.Cancel();
  stream_.close();
}

void Session::Handshake() {
  // As one who has not asked yet: it makes room for others, and no drain waits for it.
  MoveTo(shared_.sessions.idle_);
  stream_.expires_after(absl::ToChronoNanoseconds(shared_.options.request_timeout));
  stream_.Handshake([self = shared_from_this()](Error error) {
    if (error) return;
    self->peer_names_ = PeerNamesOf(self->stream_.tls());
    self->WaitForRequest();
  });
}

void Session::WaitForRequest() {
  if (buffer_.size() > 0) return ReadRequest();
  MoveTo(shared_.sessions.idle_);
  stream_.expires_after(absl::ToChronoNanoseconds(shared_.options.idle_timeout));
  constexpr size_t kFirstReadBytes = 4096;
  stream_.async_read_some(buffer_.prepare(std::min(kFirstReadBytes, buffer_.max_size())),
                          [self = shared_from_this()](Error error, size_t bytes) {
                            if (error) return;
                            self->buffer_.commit(bytes);
                            self->ReadRequest();
                          });
}

void Session::ReadRequest() {
  MoveTo(shared_.sessions.busy_);
  waits_since_ = Clock::System().MonotonicNow();
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(shared_.options.header_bytes_max));
  parser_->body_limit(shared_.options.body_bytes_max);
  // For the whole request, however its bytes are spread.
  stream_.expires_after(absl::ToChronoNanoseconds(shared_.options.request_timeout));
  beast_http::async_read(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](Error error, size_t) { self->OnRequest(error); });
}

void Session::OnRequest(Error error) {
  if (!error) return Answer();
  request_ = Request();
  request_.arrived = Clock::System().MonotonicNow();
  route_ = nullptr;
  is_head_ = false;
  keep_open_ = false;
  if (error == beast_http::error::header_limit || error == beast_http::error::buffer_overflow) {
    return Refuse(431, "The request's header is too large.");
  }
  if (error == beast_http::error::body_limit) {
    request_.path = PathOf(parser_->get());
    return Refuse(413, "The request's body is too large.");
  }
  const bool is_gone = error == beast_http::error::end_of_stream ||
                       error == beast_http::error::partial_message ||
                       error == beast::error::timeout;
  const bool is_bad = error.category() == make_error_code(beast_http::error::bad_method).category();
  if (is_bad && !is_gone) Refuse(400, "This is no HTTP/1.1 request.");
}

void Session::Answer() {
  waits_since_.reset();
  auto& message = parser_->get();
  is_head_ = message.method() == beast_http::verb::head;
  keep_open_ = message.keep_alive();
  request_ = ToRequest(message);
  request_.peer_names = peer_names_;
  route_ = shared_.router.Find(request_);
  if (route_ == nullptr) {
    return shared_.router.AllowedMethods(request_.path).empty()
               ? Refuse(404, "There is nothing at this path.")
               : Refuse(405, "This path has no such method; see the header Allow.");
  }
  if (route_->events != nullptr) return BeginEvents(*route_->events);
  answering_ = true;
  work_.emplace(shared_.context.get_executor());
  RunHandler(shared_from_this(), route_->handler);
  if (answering_) WatchClient();
}

// A handler that never waits is back here before it returns; any other goes on on its thread.
Detached Session::RunHandler(std::shared_ptr<Session> self, const Handler& handler) {
  Task<Response> task = handler(self->request_);
  Response response = co_await std::move(task);
  asio::io_context& context = self->shared_.context;
  asio::dispatch(context, [session = std::move(self), answer = std::move(response)]() mutable {
    session->OnAnswered(std::move(answer));
  });
}

void Session::OnAnswered(Response response) {
  answering_ = false;
  work_.reset();
  Error ignored;
  if (std::exchange(watching_, false)) stream_.socket().cancel(ignored);
  Observe(response.status);
  Write(std::move(response), is_head_, keep_open_ && !shared_.sessions.draining());
}

// Learns of a client that goes while it should wait for its answer. Over TLS one that says goodbye
// first looks like one that sends its next request: it is not seen to go.
void Session::WatchClient() {
  watching_ = true;
  stream_.socket().async_wait(asio::ip::tcp::socket::wait_read,
                              [self = shared_from_this()](Error error) {
                                if (error || !self->answering_) return;
                                const int socket = self->stream_.socket().native_handle();
                                if (IsGone(socket)) return self->request_.cancellation.Cancel();
                                // The next request is there already: what comes behind it cannot be
                                // seen.
                                if (!HasData(socket)) self->WatchClient();
                              });
}

void Session::Observe(int status) const {
  if (shared_.options.observer == nullptr) return;
  static const std::string unknown = kUnknownRoute;
  shared_.options.observer(route_ == nullptr ? unknown : route_->name, status,
                           Between(request_.arrived, Clock::System().MonotonicNow()));
}

void Session::Refuse(int status, const std::string& why) {
  Response response = shared_.options.refusal != nullptr
                          ? shared_.options.refusal(request_.path, status, why)
                          : Response{.status = status, .body = absl::StrCat(why, "\n")};
  if (status == 405) {
    response.headers.emplace_back("Allow", shared_.router.AllowedMethods(request_.path));
  }
  Observe(status);
  Write(std::move(response), is_head_, keep_open_ && !shared_.sessions.draining());
}

void Session::Write(Response response, bool is_head, bool keep_open) {
  waits_since_ = Clock::System().MonotonicNow();
  response_.emplace(ToMessage(std::move(response), is_head, keep_open));
  stream_.expires_after(absl::ToChronoNanoseconds(shared_.options.response_timeout));
  beast_http::async_write(stream_, *response_,
                          [self = shared_from_this(), keep_open](Error error, size_t) {
                            self->OnWritten(error, keep_open);
                          });
}

void Session::OnWritten(Error error, bool keep_open) {
  if (error) return;
  if (keep_open && !shared_.sessions.draining()) return WaitForRequest();
  CloseGently();
}

void Session::BeginEvents(EventStream& events) {
  if (std::optional<Response> refusal = events.RefusalOf(request_); refusal.has_value()) {
    Observe(refusal->status);
    return Write(*std::move(refusal), is_head_, keep_open_ && !shared_.sessions.draining());
  }
  if (shared_.sessions.draining() || !events.Join(shared_from_this())) {
    return Refuse(503, "As many clients as allowed listen to these events.");
  }
  Observe(200);
  MoveTo(shared_.sessions.streams_);
  SendRaw(absl::StrCat(
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
      "Connection: close\r\n\r\n",
      TextOfEvent(events.Newest())));
}

void Session::SendEvent(const std::string& data) {
  if (event_.empty()) SendRaw(TextOfEvent(data));
}

void Session::SendRaw(std::string bytes) {
  event_ = std::move(bytes);
  stream_.expires_after(absl::ToChronoNanoseconds(shared_.options.response_timeout));
  asio::async_write(stream_, asio::buffer(event_),
                    [self = shared_from_this()](Error error, size_t) {
                      self->event_.clear();
                      if (error) self->Close();
                    });
}

void Session::CloseGently() {
  MoveTo(shared_.sessions.idle_);
  if (stream_.is_tls()) {
    stream_.expires_after(std::chrono::seconds(1));
    return stream_.SayGoodbye([self = shared_from_this()](Error) {});
  }
  Error ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  stream_.expires_after(std::chrono::seconds(1));
  Discard();
}

void Session::Discard() {
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(std::min<size_t>(4096, buffer_.max_size())),
                          [self = shared_from_this()](Error error, size_t) {
                            if (!error) self->Discard();
                          });
}

}  // namespace counter::http
