#include "server/http/http_server.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <list>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/quiet_thread.h"
#include "server/http/event_stream.h"
#include "server/http/router.h"
#include "server/http/session.h"
#include "server/http/tls_context.h"

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
  explicit Impl(Options options) : options_(std::move(options)), tls_(options_.tls) {}

  void AddRoute(const std::string& method, const std::string& path, Handler handler) {
    router_.Add(method, path, std::move(handler));
  }

  void AddEventStream(const std::string& path, absl::Duration period, int streams_max,
                      std::function<std::string()> event, Refuse refuse) {
    router_.Add("GET", path,
                event_streams_.emplace_back(context_, period, streams_max, std::move(event),
                                            std::move(refuse)));
  }

  std::vector<std::string> RouteNames() const { return router_.Names(); }

  absl::Status Start() {
    const Error error = Listen();
    if (error) {
      return absl::UnavailableError(
          absl::StrCat("cannot listen on ", AddressText(options_), ": ", error.message()));
    }
    Accept();
    thread_ = StartThreadWithoutSignals([this] { context_.run(); });
    return absl::OkStatus();
  }

  int port() const { return port_; }
  int connections() const { return sessions_.size(); }
  int64_t connections_refused() const { return refused_.load(std::memory_order_relaxed); }

  void Drain(absl::Duration budget) {
    if (!thread_.joinable()) return;
    asio::post(context_, [this] {
      StopAccepting();
      sessions_.Drain([this] {
        MutexLock lock(mutex_);
        drained_ = true;
        changed_.NotifyAll();
      });
    });
    constexpr absl::Duration kLookInterval = absl::Milliseconds(100);
    const MonotonicTime begin = Clock::System().MonotonicNow();
    const MonotonicTime end = begin + budget;
    MutexLock lock(mutex_);
    for (MonotonicTime now = begin; !drained_ && now < end; now = Clock::System().MonotonicNow()) {
      if (now >= begin + options_.goodbye_timeout) {
        asio::post(context_, [this, since = now + -options_.goodbye_timeout] {
          sessions_.CloseWaitingSince(since);
        });
      }
      changed_.WaitUntil(mutex_, std::min(end, now + kLookInterval));
    }
  }

  void Stop() {
    if (!thread_.joinable()) return;
    asio::post(context_, [this] {
      StopAccepting();
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

  void StopAccepting() {
    stopping_ = true;
    Error ignored;
    acceptor_.close(ignored);
    retry_.cancel();
    for (EventStream& events : event_streams_) events.Stop();
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
    const bool is_full = sessions_.size() >= options_.connections_max;
    if (is_full && !sessions_.CloseLongestIdle()) {
      refused_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    Error ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    asio::ssl::context* const tls = tls_.is_on() ? tls_.Current() : nullptr;
    if (tls_.is_on() && tls == nullptr) return;  // Never in plaintext instead.
    std::make_shared<Session>(std::move(socket), tls, shared_)->Start();
  }

  const Options options_;
  TlsContext tls_;
  Router router_;
  // Above the context: sessions that are destroyed with its queue leave it.
  Sessions sessions_;
  asio::io_context context_{1};
  const Session::Shared shared_{options_, router_, sessions_, context_};
  // Stay where they are.
  std::list<EventStream> event_streams_;
  tcp::acceptor acceptor_{context_};
  asio::steady_timer retry_{context_};
  int port_ = 0;
  bool stopping_ = false;  // Only the thread's.
  std::atomic<int64_t> refused_{0};
  Mutex mutex_;
  CondVar changed_;
  bool drained_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

HttpServer::HttpServer(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}

// NOLINTNEXTLINE(bugprone-exception-escape): as the header says.
HttpServer::~HttpServer() { Stop(); }

void HttpServer::AddRoute(const std::string& method, const std::string& path, Handler handler) {
  impl_->AddRoute(method, path, std::move(handler));
}

void HttpServer::AddEventStream(const std::string& path, absl::Duration period, int streams_max,
                                std::function<std::string()> event, Refuse refuse) {
  impl_->AddEventStream(path, period, streams_max, std::move(event), std::move(refuse));
}

std::vector<std::string> HttpServer::RouteNames() const { return impl_->RouteNames(); }

absl::Status HttpServer::Start() { return impl_->Start(); }

int HttpServer::port() const { return impl_->port(); }

int HttpServer::connections() const { return impl_->connections(); }

int64_t HttpServer::connections_refused() const { return impl_->connections_refused(); }

void HttpServer::Drain(absl::Duration budget) { impl_->Drain(budget); }

void HttpServer::Stop() { impl_->Stop(); }

}  // namespace counter::http
