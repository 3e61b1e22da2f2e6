#include "server/http/message.h"

#include <boost/beast/http/field.hpp>
#include <boost/beast/http/verb.hpp>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/clock.h"

namespace counter::http {
namespace {

namespace beast_http = boost::beast::http;

template <class Text>
std::string ToString(const Text& text) {
  return std::string(text.data(), text.size());
}

absl::string_view TargetOf(const RequestMessage& message) {
  return {message.target().data(), message.target().size()};
}

}  // namespace

std::string PathOf(const RequestMessage& message) {
  const absl::string_view target = TargetOf(message);
  return std::string(target.substr(0, target.find('?')));
}

Request ToRequest(RequestMessage& message) {
  const absl::string_view target = TargetOf(message);
  const size_t question = target.find('?');
  Request request;
  request.method =
      message.method() == beast_http::verb::head ? "GET" : ToString(message.method_string());
  request.path = PathOf(message);
  if (question != absl::string_view::npos) request.query = std::string(target.substr(question + 1));
  for (const auto& field : message) {
    request.headers.emplace_back(ToString(field.name_string()), ToString(field.value()));
  }
  request.body = std::move(message.body());
  request.arrived = Clock::System().MonotonicNow();
  request.cancellation = Cancellation::Make();
  return request;
}

ResponseMessage ToMessage(Response response, bool is_head, bool keep_open) {
  ResponseMessage message;
  message.version(11);
  message.result(static_cast<unsigned>(response.status));
  message.set(beast_http::field::content_type, response.content_type);
  message.set(beast_http::field::cache_control, response.cache_control);
  for (const auto& [name, value] : response.headers) message.insert(name, value);
  message.keep_alive(keep_open);
  message.content_length(response.body.size());
  if (!is_head) message.body() = std::move(response.body);
  return message;
}

}  // namespace counter::http
