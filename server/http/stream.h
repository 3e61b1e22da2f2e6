// Stream: the bytes of one connection, in plaintext or over TLS, for Beast and Asio.
//
// Both speak to it as to any stream; its time limit is that of the connection below. Threads: the
// server's only one. Ownership: of the session.
#ifndef COUNTER_SERVER_HTTP_STREAM_H_
#define COUNTER_SERVER_HTTP_STREAM_H_

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <chrono>
#include <optional>
#include <utility>

namespace counter::http {

class Stream {
 public:
  using executor_type = boost::beast::tcp_stream::executor_type;

  // A null context is plaintext.
  Stream(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context* context)
      : connection_(std::move(socket)) {
    if (context != nullptr) tls_.emplace(connection_, *context);
  }

  executor_type get_executor() { return connection_.get_executor(); }
  boost::asio::ip::tcp::socket& socket() { return connection_.socket(); }
  void close() { connection_.close(); }
  void expires_after(std::chrono::nanoseconds time) { connection_.expires_after(time); }

  bool is_tls() const { return tls_.has_value(); }
  // Requires is_tls().
  SSL* tls() { return tls_->native_handle(); }
  template <class Done>
  void Handshake(Done&& done) {
    tls_->async_handshake(boost::asio::ssl::stream_base::server, std::forward<Done>(done));
  }
  template <class Done>
  void SayGoodbye(Done&& done) {
    tls_->async_shutdown(std::forward<Done>(done));
  }

  template <class Buffers, class Done>
  void async_read_some(const Buffers& buffers, Done&& done) {
    if (tls_.has_value()) {
      tls_->async_read_some(buffers, std::forward<Done>(done));
    } else {
      connection_.async_read_some(buffers, std::forward<Done>(done));
    }
  }
  template <class Buffers, class Done>
  void async_write_some(const Buffers& buffers, Done&& done) {
    if (tls_.has_value()) {
      tls_->async_write_some(buffers, std::forward<Done>(done));
    } else {
      connection_.async_write_some(buffers, std::forward<Done>(done));
    }
  }

 private:
  boost::beast::tcp_stream connection_;
  std::optional<boost::asio::ssl::stream<boost::beast::tcp_stream&>> tls_;
};

}  // namespace counter::http

#endif  // COUNTER_SERVER_HTTP_STREAM_H_
