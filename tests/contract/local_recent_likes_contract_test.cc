// LocalRecentLikes under the contract suite of RecentLikes.
#include "base/clock.h"
#include "cache/local/local_recent_likes.h"
#include "tests/contract/recent_likes_contract.h"

namespace counter::testing {
namespace {

class LocalUnderTest final : public RecentLikesUnderTest {
 public:
  explicit LocalUnderTest(const RecentLikesSettings& settings)
      : likes_(clock_, Options(settings)) {}

  RecentLikes& likes() override { return likes_; }
  absl::Time Now() override { return clock_.WallNow(); }
  void Elapse(absl::Duration duration) override { clock_.Advance(duration); }
  void Evict(UserId user) override { likes_.Forget(user); }

 private:
  static LocalRecentLikesOptions Options(const RecentLikesSettings& settings) {
    LocalRecentLikesOptions options;
    options.ttl = settings.ttl;
    options.bounds.fresh_for = settings.fresh_for;
    options.bounds.trace_life = settings.trace_life;
    return options;
  }

  ManualClock clock_;
  LocalRecentLikes likes_;
};

}  // namespace

std::unique_ptr<RecentLikesUnderTest> MakeRecentLikesUnderTest(
    const RecentLikesSettings& settings) {
  return std::make_unique<LocalUnderTest>(settings);
}

}  // namespace counter::testing
