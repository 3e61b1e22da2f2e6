// Session: one connection of an HttpServer: reads a request, answers it, and again.
//
// Threads: the server's only one. Ownership: its own pending operation keeps it alive; it leaves
// `Sessions` when it ends.
#ifndef COUNTER_SERVER_HTTP_SESSION_H_
#define COUNTER_SERVER_HTTP_SESSION_H_

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <list>
#include <memory>
#include <optional>

#include "server/http/http_server.h"
#include "server/http/router.h"

namespace counter::http {

class Session;

// The connections that are open, longest idle first among the idle ones.
class Sessions {
 public:
  size_t size() const { return busy_.size() + idle_.size(); }

  // Closes the connection that has been idle longest; false if none is idle.
  bool CloseLongestIdle();
  void CloseAll();

 private:
  friend class Session;
  // Not owned: a session takes itself out when it ends.
  std::list<Session*> busy_;
  std::list<Session*> idle_;
};

class Session final : public std::enable_shared_from_this<Session> {
 public:
  // Borrows all but the socket until it ends.
  Session(boost::asio::ip::tcp::socket socket, const HttpServer::Options& options,
          const Router& router, Sessions& sessions);
  ~Session();

  void Start() { WaitForRequest(); }
  // Ends it soon: its pending operation fails.
  void Close();

 private:
  using Error = boost::beast::error_code;

  void WaitForRequest();
  void ReadRequest();
  void OnRequest(Error error);
  void Answer();
  void Refuse(int status, const char* why);
  void Write(const Response& response, bool is_head, bool keep_open);
  void OnWritten(Error error, bool keep_open);
  void MoveTo(std::list<Session*>& list);
  // Says goodbye to a client that may still be sending, so that it can read the refusal.
  void CloseGently();
  void Discard();

  const HttpServer::Options& options_;
  const Router& router_;
  Sessions& sessions_;
  std::list<Session*>* list_;
  std::list<Session*>::iterator place_;

  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  std::optional<boost::beast::http::response<boost::beast::http::string_body>> response_;
};

}  // namespace counter::http

#endif  // COUNTER_SERVER_HTTP_SESSION_H_
