// Redirections of a Redis Cluster: each names a slot that there is and a place that can be asked,
// or is refused; and what is read is what would be written.
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cache/redis/node.h"
#include "cache/redis/redirect.h"
#include "cache/redis/reply.h"
#include "cache/redis/slot.h"
#include "tests/fuzz/require.h"

namespace counter::redis {
namespace {

using fuzz::Require;

using Kind = Redirect::Kind;

Reply Error(std::string text) {
  Reply reply;
  reply.kind = Reply::Kind::kError;
  reply.text = std::move(text);
  return reply;
}

bool Begins(absl::string_view text, absl::string_view word) {
  return text == word || absl::StartsWith(text, absl::StrCat(word, " "));
}

void CheckRedirect(const std::string& text) {
  const Node from = {"10.0.0.9", 7000};
  const Redirect redirect = ReadRedirect(Error(text), from);
  switch (redirect.kind) {
    case Kind::kMoved:
    case Kind::kAsk: {
      const absl::string_view word = redirect.kind == Kind::kMoved ? "MOVED" : "ASK";
      Require(Begins(text, word));
      Require(redirect.slot >= 0 && redirect.slot < kSlots);
      Require(!redirect.node.host.empty() && redirect.node.host != "?");
      Require(redirect.node.host.size() <= 255 && redirect.node.port != 0);
      const Redirect again = ReadRedirect(
          Error(absl::StrCat(word, " ", redirect.slot, " ", ToText(redirect.node))), from);
      Require(again.kind == redirect.kind && again.slot == redirect.slot &&
              again.node == redirect.node);
      break;
    }
    case Kind::kUnreadable:
      Require(Begins(text, "MOVED") || Begins(text, "ASK"));
      break;
    case Kind::kTryAgain:
      Require(Begins(text, "TRYAGAIN"));
      break;
    case Kind::kClusterDown:
      Require(Begins(text, "CLUSTERDOWN"));
      break;
    case Kind::kNone:
      Require(!Begins(text, "MOVED") && !Begins(text, "ASK"));
      break;
  }
  // Only an error redirects.
  Reply answer = Error(text);
  answer.kind = Reply::Kind::kText;
  Require(ReadRedirect(answer, from).kind == Kind::kNone);
}

}  // namespace
}  // namespace counter::redis

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  counter::redis::CheckRedirect(std::string(reinterpret_cast<const char*>(bytes), size));
  return 0;
}
