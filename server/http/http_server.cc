#include "server/http/http_server.h"

#include <pthread.h>
#include <signal.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/http/router.h"
#include "server/http/session.h"

namespace counter::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Error = boost::system::error_code;

std::string AddressText(const HttpServer::Options& options) {
  const bool is_ipv6 = options.host.find(':') != std::string::npos;
  return is_ipv6 ? absl::StrCat("[", options.host, "]:", options.port)
                 : absl::StrCat(options.host, ":", options.port);
}

}  // namespace

class HttpServer::Impl {
 public:
  explicit Impl(Options options) : options_(std::move(options)) {}

  void AddRoute(std::string method, std::string path, Handler handler) {
    router_.Add(std::move(method), std::move(path), std::move(handler));
  }

  absl::Status Start() {
    const Error error = Listen();
    if (error) {
      return absl::UnavailableError(
          absl::StrCat("cannot listen on ", AddressText(options_), ": ", error.message()));
    }
    Accept();
    // Signals are for the thread that waits for them.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { context_.run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return absl::OkStatus();
  }

  int port() const { return port_; }

  void Stop() {
    if (!thread_.joinable()) return;
    asio::post(context_, [this] {
      stopping_ = true;
      Error ignored;
      acceptor_.close(ignored);
      retry_.cancel();
      sessions_.CloseAll();
    });
    thread_.join();
  }

 private:
  Error Listen() {
    Error error;
    tcp::resolver resolver(context_);
    const auto found =
        resolver.resolve(options_.host, std::to_string(options_.port),
                         tcp::resolver::passive | tcp::resolver::numeric_service, error);
    if (error) return error;
    const tcp::endpoint endpoint = *found.begin();
    acceptor_.open(endpoint.protocol(), error);
    // Lets a restarted server bind while connections of the former one linger; on Linux two
    // listeners still exclude each other. SO_REUSEPORT, which would let them share, stays off.
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return error;
    port_ = acceptor_.local_endpoint(error).port();
    return error;
  }

  void Accept() {
    acceptor_.async_accept([this](Error error, tcp::socket socket) {
      if (stopping_ || error == asio::error::operation_aborted) return;
      if (!error) {
        Welcome(std::move(socket));
        return Accept();
      }
      // Out of descriptors, most likely: going round at once would only burn the processor.
      retry_.expires_after(std::chrono::milliseconds(100));
      retry_.async_wait([this](Error wait_error) {
        if (!wait_error && !stopping_) Accept();
      });
    });
  }

  void Welcome(tcp::socket socket) {
    const bool is_full = sessions_.size() >= static_cast<size_t>(options_.connections_max);
    if (is_full && !sessions_.CloseLongestIdle()) return;
    std::make_shared<Session>(std::move(socket), options_, router_, sessions_)->Start();
  }

  const Options options_;
  Router router_;
  // Above the context: sessions that are destroyed with its queue leave it.
  Sessions sessions_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  asio::steady_timer retry_{context_};
  int port_ = 0;
  bool stopping_ = false;  // Only the thread's.
  std::thread thread_;
};

HttpServer::HttpServer(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}

HttpServer::~HttpServer() { Stop(); }

void HttpServer::AddRoute(std::string method, std::string path, Handler handler) {
  impl_->AddRoute(std::move(method), std::move(path), std::move(handler));
}

absl::Status HttpServer::Start() { return impl_->Start(); }

int HttpServer::port() const { return impl_->port(); }

void HttpServer::Stop() { impl_->Stop(); }

}  // namespace counter::http
