#include "tests/storage/postgres_proxy.h"

#include <memory>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

std::string SocketIn(const std::string& directory) {
  return absl::StrCat(directory, "/.s.PGSQL.5432");
}

// How many bytes of `bytes` the first message takes; 0 if it is not whole yet. The first one of a
// connection has no type.
size_t MessageSize(absl::string_view bytes, bool has_type) {
  const size_t head = has_type ? 1 : 0;
  if (bytes.size() < head + 4) return 0;
  size_t length = 0;
  for (size_t i = 0; i < 4; ++i)
    length = (length << 8) | static_cast<unsigned char>(bytes[head + i]);
  return bytes.size() < head + length ? 0 : head + length;
}

}  // namespace

class PostgresProxy::Tap final : public ProxyTap {
 public:
  explicit Tap(PostgresProxy& proxy) : proxy_(proxy), random_(TestSeed() + ++proxy.taps_) {}

  bool FromClient(std::string& bytes) override {
    pending_ += bytes;
    bytes.clear();
    while (const size_t size = MessageSize(pending_, has_started_)) {
      Look(absl::string_view(pending_).substr(0, size));
      bytes += pending_.substr(0, size);
      pending_.erase(0, size);
      has_started_ = true;
    }
    return true;
  }

  bool FromServer(std::string& bytes) override {
    if (swallows_) {
      ++proxy_.swallowed_;
      bytes.clear();
      return false;
    }
    if (const int64_t longest = proxy_.delay_us_; longest > 0) {
      std::uniform_int_distribution<int64_t> some(0, longest);
      absl::SleepFor(absl::Microseconds(proxy_.delays_always_ ? longest : some(random_)));
    }
    return true;
  }

 private:
  void Look(absl::string_view message) {
    if (!has_started_) return;
    if (message[0] == 'B' && (absl::StrContains(message, "counter_like") ||
                              absl::StrContains(message, "counter_unlike"))) {
      commits_ = true;
    }
    if (message[0] != 'S' || !commits_) return;
    // An order, before the sync reaches the server: its answer must not slip through.
    commits_ = false;
    int left = proxy_.to_swallow_;
    while (left > 0 && !proxy_.to_swallow_.compare_exchange_weak(left, left - 1)) {
    }
    if (left > 0) swallows_ = true;
  }

  PostgresProxy& proxy_;
  // Of the client's side.
  std::string pending_;  // Bytes of a message that has not come whole.
  bool has_started_ = false;
  bool commits_ = false;  // The unit at hand runs a statement that writes.
  // Of the server's side.
  std::mt19937_64 random_;
  std::atomic<bool> swallows_ = false;
};

PostgresProxy::PostgresProxy(const PostgresServer& server, const Options& options)
    : proxy_({.listen = {.path = SocketIn(directory_.path())},
              .server = {.path = SocketIn(server.socket_directory())},
              .buffer_bytes = options.buffer_bytes,
              .make_tap = [this] { return std::make_unique<Tap>(*this); }}) {}

std::string PostgresProxy::Url(absl::string_view database) const {
  return absl::StrCat("host=", directory_.path(), " user=postgres dbname=", database);
}

void PostgresProxy::DelayAnswers(absl::Duration longest, bool always) {
  delays_always_ = always;
  delay_us_ = absl::ToInt64Microseconds(longest);
}

}  // namespace counter::testing
