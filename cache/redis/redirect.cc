#include "cache/redis/redirect.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "cache/redis/slot.h"

namespace counter::redis {
namespace {

Redirect Of(Redirect::Kind kind) {
  Redirect redirect;
  redirect.kind = kind;
  return redirect;
}
constexpr size_t kHostBytesMax = 255;  // As a name in DNS.

// Digits only: SimpleAtoi would take spaces and signs.
bool ReadNumber(absl::string_view text, int most, int& number) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && text.size() <= 5 && std::all_of(text.begin(), text.end(), is_digit) &&
         absl::SimpleAtoi(text, &number) && number <= most;
}

// "MOVED 3999 127.0.0.1:6381": the address of IPv6 has no brackets, so its port follows the last
// colon.
Redirect ReadTarget(Redirect::Kind kind, absl::string_view text, const Node& from) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ');
  if (words.size() != 3) return Of(Redirect::Kind::kUnreadable);
  Redirect redirect = Of(kind);
  if (!ReadNumber(words[1], kSlots - 1, redirect.slot)) return Of(Redirect::Kind::kUnreadable);
  const size_t colon = words[2].rfind(':');
  int port = 0;
  if (colon == absl::string_view::npos || !ReadNumber(words[2].substr(colon + 1), 65'535, port) ||
      port == 0) {
    return Of(Redirect::Kind::kUnreadable);
  }
  absl::string_view host = words[2].substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  // "?" stands for a name that was not configured.
  if (host == "?" || host.size() > kHostBytesMax) return Of(Redirect::Kind::kUnreadable);
  redirect.node.host = host.empty() ? from.host : std::string(host);
  redirect.node.port = static_cast<uint16_t>(port);
  return redirect;
}

}  // namespace

Redirect ReadRedirect(const Reply& reply, const Node& from) {
  using Kind = Redirect::Kind;
  if (!reply.is_error()) return {};
  if (reply.is_error("MOVED")) return ReadTarget(Kind::kMoved, reply.text, from);
  if (reply.is_error("ASK")) return ReadTarget(Kind::kAsk, reply.text, from);
  if (reply.is_error("TRYAGAIN")) return Of(Kind::kTryAgain);
  if (reply.is_error("CLUSTERDOWN")) return Of(Kind::kClusterDown);
  return {};
}

}  // namespace counter::redis
