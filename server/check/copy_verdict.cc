#include "server/check/copy_verdict.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace counter {
namespace {

constexpr absl::string_view kLayerNames[kCopyLayers] = {"near",    "local",   "redis",
                                                        "replica", "primary", "recount"};
constexpr absl::string_view kResultNames[kCopyResults] = {
    "equal", "overtaken", "behind", "ahead", "diverged", "absent", "skipped", "unanswered"};

using Standing = Copy::Standing;

const Copy* Find(const std::vector<Copy>& copies, CopyLayer layer) {
  for (const Copy& copy : copies)
    if (copy.layer == layer && copy.standing == Standing::kSays) return &copy;
  return nullptr;
}

bool SaysTheSame(const Copy& copy, const Copy& truth) {
  return copy.count == truth.count &&
         (!copy.digest.has_value() || !truth.digest.has_value() || *copy.digest == *truth.digest);
}

// What the primary and the likes say, and the write that is known.
class Judge {
 public:
  Judge(const std::vector<Copy>& copies, const std::optional<KnownWrite>& write)
      : primary_(Find(copies, CopyLayer::kPrimary)), write_(write) {
    const Copy* recount = Find(copies, CopyLayer::kRecount);
    truth_ = recount != nullptr ? recount : primary_;
  }

  CopyResult ResultOf(const Copy& copy) const {
    switch (copy.standing) {
      case Standing::kAbsent:
        return CopyResult::kAbsent;
      case Standing::kSkipped:
        return CopyResult::kSkipped;
      case Standing::kUnanswered:
        return CopyResult::kUnanswered;
      case Standing::kSays:
        break;
    }
    if (primary_ == nullptr) return CopyResult::kUnanswered;
    if (copy.layer == CopyLayer::kRecount)
      return SaysTheSame(copy, *primary_) ? CopyResult::kEqual : CopyResult::kDiverged;
    if (Contradicts(copy)) return CopyResult::kDiverged;
    if (copy.layer == CopyLayer::kPrimary) return OfPrimary(copy);
    if (copy.version > primary_->version) return CopyResult::kAhead;
    if (copy.version == primary_->version)
      return SaysTheSame(copy, *truth_) ? CopyResult::kEqual : CopyResult::kDiverged;
    return HasWrite(copy) ? CopyResult::kOvertaken : CopyResult::kBehind;
  }

 private:
  CopyResult OfPrimary(const Copy& copy) const {
    if (!SaysTheSame(copy, *truth_)) return CopyResult::kDiverged;
    return !write_.has_value() || HasWrite(copy) ? CopyResult::kEqual : CopyResult::kBehind;
  }
  bool HasWrite(const Copy& copy) const {
    return write_.has_value() && copy.version >= write_->version;
  }
  // The very version that was acknowledged, with another count.
  bool Contradicts(const Copy& copy) const {
    return write_.has_value() && copy.version == write_->version && copy.count != write_->count;
  }

  const Copy* primary_;
  const Copy* truth_;
  const std::optional<KnownWrite>& write_;
};

}  // namespace

absl::string_view CopyLayerName(CopyLayer layer) { return kLayerNames[static_cast<int>(layer)]; }

absl::string_view CopyResultName(CopyResult result) {
  return kResultNames[static_cast<int>(result)];
}

bool CheckedItem::Has(CopyResult result) const {
  return std::find(results.begin(), results.end(), result) != results.end();
}

std::vector<CopyResult> JudgeCopies(const std::vector<Copy>& copies,
                                    const std::optional<KnownWrite>& write) {
  const Judge judge(copies, write);
  std::vector<CopyResult> results;
  results.reserve(copies.size());
  for (const Copy& copy : copies) results.push_back(judge.ResultOf(copy));
  return results;
}

std::string DescribeCopies(const CheckedItem& checked) {
  std::string text;
  for (size_t i = 0; i < checked.copies.size(); ++i) {
    const Copy& copy = checked.copies[i];
    absl::StrAppend(&text, i == 0 ? "" : "; ", CopyLayerName(copy.layer));
    if (copy.layer == CopyLayer::kReplica) absl::StrAppend(&text, " ", copy.replica);
    absl::StrAppend(&text, " ", CopyResultName(checked.results[i]));
    if (copy.standing != Standing::kSays) continue;
    absl::StrAppend(&text, ": count ", copy.count, ", version ", copy.version);
    if (copy.digest.has_value())
      absl::StrAppend(&text, ", digest ",
                      absl::StrFormat("%016x", static_cast<uint64_t>(*copy.digest)));
  }
  return text;
}

}  // namespace counter
