// Session: one socket to Redis, plain or TLS, from the name's resolution to its end. The only place
// that knows sockets.
//
// Use it under the loop of a Connection, which makes a new one for each attempt and says when to
// give up. It decides nothing: no time limit, no retry, no meaning of bytes.
//
// Threads: the loop's alone, where every handler runs, later than the call that took it. Ownership:
// shared by the loop and the handlers under way: one of a session that was dropped may still come,
// and must find its buffers. It borrows the io_context and the authorities.
#ifndef COUNTER_CACHE_REDIS_SESSION_H_
#define COUNTER_CACHE_REDIS_SESSION_H_

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <cstddef>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "cache/redis/node.h"

namespace counter::redis {

// Who may vouch for a server: those of the PEM file, of the system if it is empty. Without any
// every handshake fails, which Open then says.
std::unique_ptr<boost::asio::ssl::context> TrustedAuthorities(const std::string& ca_file);

// Runs `work` on the thread that runs `context`, later.
void Post(boost::asio::io_context& context, absl::AnyInvocable<void()> work);

class Session : public std::enable_shared_from_this<Session> {
 public:
  // Null `authorities`: no TLS.
  Session(boost::asio::io_context& context, boost::asio::ssl::context* authorities);

  // Resolves, connects and shakes hands. `opened` gets why it failed, for a log; empty: it stands.
  // Not called if the session is closed before. Once.
  void Open(const Node& node, absl::AnyInvocable<void(absl::string_view)> opened);

  // `read` gets what has come; empty: the connection is gone, or was closed here. The bytes are
  // good until the next Read. Requires that none is under way.
  void Read(absl::AnyInvocable<void(absl::string_view)> read);
  // `written` gets whether all of it went. Requires !is_writing().
  void Write(std::string bytes, absl::AnyInvocable<void(bool)> written);
  bool is_writing() const { return is_writing_; }

  void Close();

 private:
  using Tcp = boost::asio::ip::tcp;
  using TlsStream = boost::asio::ssl::stream<Tcp::socket>;
  using Opened = absl::AnyInvocable<void(absl::string_view)>;
  static constexpr size_t kReadBytes = size_t{64} * 1024;

  Tcp::socket& socket() { return tls_ ? tls_->next_layer() : *plain_; }
  void Connect(const Tcp::resolver::results_type& found, const std::string& host, Opened opened);
  void ShakeHands(const std::string& host, Opened opened);

  Tcp::resolver resolver_;
  std::unique_ptr<Tcp::socket> plain_;  // One of these two.
  std::unique_ptr<TlsStream> tls_;
  std::array<char, kReadBytes> read_bytes_;
  std::string write_bytes_;
  bool is_writing_ = false;
  bool is_closed_ = false;
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_SESSION_H_
