// Beast's messages of HTTP <-> the plain ones of http.h. Pure functions; any thread.
#ifndef COUNTER_SERVER_HTTP_MESSAGE_H_
#define COUNTER_SERVER_HTTP_MESSAGE_H_

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <string>

#include "server/http/http.h"

namespace counter::http {

using RequestMessage = boost::beast::http::request<boost::beast::http::string_body>;
using ResponseMessage = boost::beast::http::response<boost::beast::http::string_body>;

// The path of the target, before any '?'.
std::string PathOf(const RequestMessage& message);

// Takes the body. It has arrived now, and has a cancellation of its own.
Request ToRequest(RequestMessage& message);

// A HEAD gets the length of the body, and not the body.
ResponseMessage ToMessage(Response response, bool is_head, bool keep_open);

}  // namespace counter::http

#endif  // COUNTER_SERVER_HTTP_MESSAGE_H_
