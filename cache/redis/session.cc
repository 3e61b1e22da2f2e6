#include "cache/redis/session.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace counter::redis {

namespace asio = boost::asio;
using boost::system::error_code;

std::unique_ptr<asio::ssl::context> TrustedAuthorities(const std::string& ca_file) {
  auto authorities = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_client);
  error_code error;
  if (ca_file.empty())
    authorities->set_default_verify_paths(error);
  else
    authorities->load_verify_file(ca_file, error);
  authorities->set_verify_mode(asio::ssl::verify_peer, error);
  return authorities;
}

void Post(asio::io_context& context, absl::AnyInvocable<void()> work) {
  asio::post(context, std::move(work));
}

Session::Session(asio::io_context& context, asio::ssl::context* authorities) : resolver_(context) {
  if (authorities != nullptr)
    tls_ = std::make_unique<TlsStream>(context, *authorities);
  else
    plain_ = std::make_unique<Tcp::socket>(context);
}

void Session::Open(const Node& node, Opened opened) {
  resolver_.async_resolve(node.host, absl::StrCat(node.port),
                          [self = shared_from_this(), host = node.host, opened = std::move(opened)](
                              error_code error, const Tcp::resolver::results_type& found) mutable {
                            if (self->is_closed_) return;
                            if (error) return opened("its name could not be resolved");
                            self->Connect(found, host, std::move(opened));
                          });
}

void Session::Connect(const Tcp::resolver::results_type& found, const std::string& host,
                      Opened opened) {
  asio::async_connect(socket(), found,
                      [self = shared_from_this(), host, opened = std::move(opened)](
                          error_code error, const Tcp::endpoint&) mutable {
                        if (self->is_closed_) return;
                        if (error) return opened("it refused the connection or was out of reach");
                        self->socket().set_option(Tcp::no_delay(true), error);
                        if (!self->tls_) return opened("");
                        self->ShakeHands(host, std::move(opened));
                      });
}

void Session::ShakeHands(const std::string& host, Opened opened) {
  error_code ignored;
  SSL_set_tlsext_host_name(tls_->native_handle(), host.c_str());
  tls_->set_verify_callback(asio::ssl::host_name_verification(host), ignored);
  tls_->async_handshake(
      asio::ssl::stream_base::client,
      [self = shared_from_this(), opened = std::move(opened)](error_code error) mutable {
        if (self->is_closed_) return;
        opened(error ? "the TLS handshake failed: its certificate or protocol is not trusted" : "");
      });
}

void Session::Read(absl::AnyInvocable<void(absl::string_view)> read) {
  auto handler = [self = shared_from_this(), read = std::move(read)](error_code error,
                                                                     size_t size) mutable {
    read(error ? absl::string_view() : absl::string_view(self->read_bytes_.data(), size));
  };
  if (tls_)
    tls_->async_read_some(asio::buffer(read_bytes_), std::move(handler));
  else
    plain_->async_read_some(asio::buffer(read_bytes_), std::move(handler));
}

void Session::Write(std::string bytes, absl::AnyInvocable<void(bool)> written) {
  write_bytes_ = std::move(bytes);
  is_writing_ = true;
  auto handler = [self = shared_from_this(), written = std::move(written)](error_code error,
                                                                           size_t) mutable {
    self->is_writing_ = false;
    written(!error);
  };
  if (tls_)
    asio::async_write(*tls_, asio::buffer(write_bytes_), std::move(handler));
  else
    asio::async_write(*plain_, asio::buffer(write_bytes_), std::move(handler));
}

void Session::Close() {
  is_closed_ = true;
  error_code ignored;
  resolver_.cancel();
  socket().close(ignored);
}

}  // namespace counter::redis
