#include "server/http/session.h"

#include <boost/asio/buffer.hpp>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace counter::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace beast_http = boost::beast::http;

Request ToRequest(const beast_http::request<beast_http::string_body>& message) {
  const absl::string_view target(message.target().data(), message.target().size());
  const size_t question = target.find('?');
  Request request;
  request.method =
      message.method() == beast_http::verb::head ? "GET" : std::string(message.method_string());
  request.path = std::string(target.substr(0, question));
  if (question != absl::string_view::npos) request.query = std::string(target.substr(question + 1));
  request.body = message.body();
  return request;
}

}  // namespace

bool Sessions::CloseLongestIdle() {
  if (idle_.empty()) return false;
  idle_.front()->Close();
  return true;
}

void Sessions::CloseAll() {
  for (Session* session : busy_) session->Close();
  for (Session* session : idle_) session->Close();
}

Session::Session(asio::ip::tcp::socket socket, const HttpServer::Options& options,
                 const Router& router, Sessions& sessions)
    : options_(options),
      router_(router),
      sessions_(sessions),
      list_(&sessions.busy_),
      place_(list_->insert(list_->end(), this)),
      stream_(std::move(socket)),
      // Room for what a pipelining client sends ahead of the body that is being read.
      buffer_(options.header_bytes_max + options.body_bytes_max) {}

Session::~Session() { list_->erase(place_); }

void Session::MoveTo(std::list<Session*>& list) {
  list.splice(list.end(), *list_, place_);
  list_ = &list;
}

void Session::Close() { stream_.close(); }

void Session::WaitForRequest() {
  if (buffer_.size() > 0) return ReadRequest();
  MoveTo(sessions_.idle_);
  stream_.expires_after(absl::ToChronoNanoseconds(options_.idle_timeout));
  constexpr size_t kFirstReadBytes = 4096;
  stream_.async_read_some(buffer_.prepare(std::min(kFirstReadBytes, buffer_.max_size())),
                          [self = shared_from_this()](Error error, size_t bytes) {
                            if (error) return;
                            self->buffer_.commit(bytes);
                            self->ReadRequest();
                          });
}

void Session::ReadRequest() {
  MoveTo(sessions_.busy_);
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(options_.header_bytes_max));
  parser_->body_limit(options_.body_bytes_max);
  // For the whole request, however its bytes are spread.
  stream_.expires_after(absl::ToChronoNanoseconds(options_.request_timeout));
  beast_http::async_read(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](Error error, size_t) { self->OnRequest(error); });
}

void Session::OnRequest(Error error) {
  if (!error) return Answer();
  if (error == beast_http::error::header_limit || error == beast_http::error::buffer_overflow) {
    return Refuse(431, "The request's header is too large.\n");
  }
  if (error == beast_http::error::body_limit) {
    return Refuse(413, "The request's body is too large.\n");
  }
  const bool is_gone = error == beast_http::error::end_of_stream ||
                       error == beast_http::error::partial_message ||
                       error == beast::error::timeout;
  const bool is_bad = error.category() == make_error_code(beast_http::error::bad_method).category();
  if (is_bad && !is_gone) Refuse(400, "This is no HTTP/1.1 request.\n");
}

void Session::Answer() {
  const auto& message = parser_->get();
  Write(router_.Answer(ToRequest(message)), message.method() == beast_http::verb::head,
        message.keep_alive());
}

void Session::Refuse(int status, const char* why) {
  Write({.status = status, .body = why}, /*is_head=*/false, /*keep_open=*/false);
}

void Session::Write(const Response& response, bool is_head, bool keep_open) {
  response_.emplace();
  response_->version(11);
  response_->result(static_cast<unsigned>(response.status));
  response_->set(beast_http::field::content_type, response.content_type);
  response_->set(beast_http::field::cache_control, "no-store");
  if (response.status == 405) {
    response_->set(beast_http::field::allow,
                   router_.AllowedMethods(ToRequest(parser_->get()).path));
  }
  response_->keep_alive(keep_open);
  response_->content_length(response.body.size());
  if (!is_head) response_->body() = response.body;
  stream_.expires_after(absl::ToChronoNanoseconds(options_.response_timeout));
  beast_http::async_write(stream_, *response_,
                          [self = shared_from_this(), keep_open](Error error, size_t) {
                            self->OnWritten(error, keep_open);
                          });
}

void Session::OnWritten(Error error, bool keep_open) {
  if (error) return;
  if (keep_open) return WaitForRequest();
  CloseGently();
}

void Session::CloseGently() {
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
