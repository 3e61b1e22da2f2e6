// Session: one connection of an HttpServer: reads a request, has it answered, and again.
//
// Threads: the server's only one; an answer that comes on another is posted there. Ownership: its
// own pending operation, or the handler that works for it, keeps it alive; it leaves `Sessions`
// when it ends.
#ifndef COUNTER_SERVER_HTTP_SESSION_H_
#define COUNTER_SERVER_HTTP_SESSION_H_

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/task.h"
#include "server/http/event_stream.h"
#include "server/http/http_server.h"
#include "server/http/message.h"
#include "server/http/router.h"
#include "server/http/sessions.h"
#include "server/http/stream.h"

namespace counter::http {

class Session final : public std::enable_shared_from_this<Session> {
 public:
  // What all sessions of a server share; borrowed until they end.
  struct Shared {
    const HttpServer::Options& options;
    const Router& router;
    Sessions& sessions;
    boost::asio::io_context& context;
  };

  // A null context is plaintext; the connection borrows nothing of it.
  Session(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context* tls,
          const Shared& shared);
  ~Session();

  void Start() { stream_.is_tls() ? Handshake() : WaitForRequest(); }
  // Ends it soon: its pending operation fails, its request is cancelled.
  void Close();
  // Sends an event to a session that takes them; one that has not taken the former misses this.
  void SendEvent(const std::string& data);
  bool closed() const { return closed_; }
  // Since when it waits for its client to send the rest of a request or to take an answer; nothing
  // while a handler is at work.
  std::optional<MonotonicTime> waits_since() const { return waits_since_; }

 private:
  using Error = boost::beast::error_code;

  void Handshake();
  void WaitForRequest();
  void ReadRequest();
  void OnRequest(Error error);
  void Answer();
  static Detached RunHandler(std::shared_ptr<Session> self, const Handler& handler);
  void OnAnswered(Response response);
  void WatchClient();
  void Refuse(int status, const std::string& why);
  void Observe(int status) const;
  void Write(Response response, bool is_head, bool keep_open);
  void OnWritten(Error error, bool keep_open);
  void BeginEvents(EventStream& events);
  void SendRaw(std::string bytes);
  void MoveTo(std::list<Session*>& list);
  // Says goodbye to a client that may still be sending, so that it can read the refusal.
  void CloseGently();
  void Discard();

  const Shared shared_;
  std::list<Session*>* list_;
  std::list<Session*>::iterator place_;

  Stream stream_;
  std::vector<std::string> peer_names_;  // Of the client's certificate.
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  std::optional<ResponseMessage> response_;

  // Of the request that is being answered.
  Request request_;
  const Route* route_ = nullptr;
  bool is_head_ = false;
  bool keep_open_ = false;
  bool answering_ = false;
  std::optional<MonotonicTime> waits_since_;
  bool watching_ = false;
  // Keeps the server's thread until the handler is back.
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work_;

  std::string event_;  // On its way; empty: none is.
  bool closed_ = false;
};

}  // namespace counter::http

#endif  // COUNTER_SERVER_HTTP_SESSION_H_
