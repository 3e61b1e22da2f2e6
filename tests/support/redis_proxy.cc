#include "tests/support/redis_proxy.h"

#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

constexpr absl::string_view kLineEnd = "\r\n";

// Takes "*3" or "$12" and the end of its line away from the front. False if that is not whole.
bool TakeNumber(absl::string_view& bytes, int64_t& number) {
  const size_t end = bytes.find(kLineEnd);
  if (end == absl::string_view::npos) return false;
  if (!absl::SimpleAtoi(bytes.substr(1, end - 1), &number)) number = 0;
  bytes.remove_prefix(end + kLineEnd.size());
  return true;
}

}  // namespace

size_t RedisCommandSize(absl::string_view bytes) {
  absl::string_view rest = bytes;
  int64_t parts = 0;
  if (!TakeNumber(rest, parts)) return 0;
  for (int64_t i = 0; i < parts; ++i) {
    int64_t length = 0;
    if (!TakeNumber(rest, length)) return 0;
    const size_t size = static_cast<size_t>(length) + kLineEnd.size();
    if (rest.size() < size) return 0;
    rest.remove_prefix(size);
  }
  return bytes.size() - rest.size();
}

class RedisProxy::Tap final : public ProxyTap {
 public:
  explicit Tap(RedisProxy& proxy) : proxy_(proxy) {}

  bool FromClient(std::string& bytes) override {
    pending_ += bytes;
    bytes.clear();
    while (const size_t size = RedisCommandSize(pending_)) {
      const std::string command = pending_.substr(0, size);
      pending_.erase(0, size);
      bytes += command;
      if (!proxy_.IsLast(command)) continue;
      // An order, before Redis can know of the command: its reply must not slip through.
      is_over_ = true;
      return false;
    }
    return true;
  }
  bool FromServer(std::string& bytes) override {
    if (is_over_) bytes.clear();
    return !is_over_;
  }

 private:
  RedisProxy& proxy_;
  std::string pending_;  // Of a command that has not come whole.
  std::atomic<bool> is_over_ = false;
};

RedisProxy::RedisProxy(const RedisServer& server)
    : random_(static_cast<uint32_t>(TestSeed())),
      proxy_({.server = {server.port()},
              .make_tap = [this] { return std::make_unique<Tap>(*this); }}) {}

std::string RedisProxy::url() const { return absl::StrCat("redis://127.0.0.1:", proxy_.port()); }

void RedisProxy::BreakAfter(const std::string& text, uint32_t one_in) {
  MutexLock lock(mutex_);
  text_ = text;
  one_in_ = one_in;
}

bool RedisProxy::IsLast(absl::string_view command) {
  MutexLock lock(mutex_);
  if (text_.empty() || !absl::StrContains(command, text_) || random_() % one_in_ != 0) return false;
  ++broken_;
  return true;
}

}  // namespace counter::testing
