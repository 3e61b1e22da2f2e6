#include "server/admin/admin_service.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/error.h"
#include "server/page_token.h"

namespace counter {
namespace {

absl::Status Refusal(ErrorReason reason, absl::string_view message, absl::Duration retry_after,
                     const QuotaViolation& quota) {
  absl::Status error = MakeError(
      reason,
      absl::StrCat(message, "; try again in ", absl::ToInt64Milliseconds(retry_after), " ms"));
  SetRetryAfter(error, retry_after);
  SetQuotaViolation(error, quota);
  MarkNotApplied(error);
  return error;
}

std::string TokenOf(const Item& item) {
  return EncodePageToken(AllItems(), {0, item.type, item.id});
}

int LikesMaxAt(RequestCheck& check, int likes_max) {
  if (likes_max < 0 || likes_max > AdminService::kLikesMax) {
    check.Add("likes_max",
              absl::StrCat("must be 0 to ", AdminService::kLikesMax, ", got ", likes_max));
  }
  return likes_max == 0 ? AdminService::kLikesMax : likes_max;
}

}  // namespace

class AdminService::Turn {
 public:
  explicit Turn(AdminService& service) : service_(service) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { service_.busy_ = false; }

 private:
  AdminService& service_;
};

AdminService::AdminService(ItemTypes item_types, Parts parts, Options options)
    : item_types_(std::move(item_types)),
      parts_(parts),
      audits_(parts.clock, options.audited_items_per_second),
      writes_(parts.clock, options.likes_per_second) {}

absl::Status AdminService::Begin(const Pacer& pacer) {
  constexpr absl::Duration kBusyPause = absl::Seconds(1);
  if (busy_.exchange(true)) {
    return Refusal(ErrorReason::kOverloaded, "another call of an operator is running", kBusyPause,
                   {"server", "1 call of AdminService"});
  }
  const absl::Duration wait = pacer.Wait();
  if (wait <= absl::ZeroDuration()) return absl::OkStatus();
  busy_ = false;
  // Not a moment too early, or the caller comes twice.
  const absl::Duration retry_after = absl::Ceil(wait, absl::Milliseconds(1));
  return Refusal(ErrorReason::kRateLimited, "what operators may do a second has been done",
                 retry_after, {"server", "work of AdminService a second"});
}

absl::StatusOr<AdminService::CheckedPart> AdminService::Check(const AuditPart& part) {
  std::vector<FieldViolation> violations;
  CheckedPart checked;
  checked.items_max = part.items_max == 0 ? kAuditItemsDefault : part.items_max;
  if (checked.items_max < 0 || checked.items_max > kAuditItemsMax) {
    violations.push_back(
        {"items_max", absl::StrCat("must be 0 to ", kAuditItemsMax, ", got ", part.items_max)});
  }
  if (!part.page_token.empty()) {
    const std::optional<PagePosition> at = DecodePageToken(AllItems(), part.page_token);
    if (at.has_value()) {
      checked.after = Item{at->type, at->id};
    } else {
      violations.push_back({"page_token", "must be the next_page_token of an answer, unchanged"});
    }
  }
  if (!violations.empty()) return MakeInvalidRequest(violations);
  return checked;
}

Task<absl::StatusOr<AuditPage>> AdminService::AuditSome(const CheckedPart& part,
                                                        const CallLimits& limits) {
  Task<absl::StatusOr<AuditPage>> audit = parts_.store.Audit(part.after, part.items_max, limits);
  absl::StatusOr<AuditPage> page = co_await std::move(audit);
  if (page.ok()) {
    audits_.Done(page->items_checked);
    items_audited_ += page->items_checked;
    items_diverging_ += static_cast<int64_t>(page->findings.size());
  }
  co_return page;
}

Task<absl::StatusOr<AuditAnswer>> AdminService::Audit(AuditPart part, CallLimits limits) {
  const absl::StatusOr<CheckedPart> checked = Check(part);
  if (!checked.ok()) co_return checked.status();
  if (absl::Status refused = Begin(audits_); !refused.ok()) co_return refused;
  const Turn turn(*this);
  Task<absl::StatusOr<AuditPage>> audit = AuditSome(*checked, limits);
  absl::StatusOr<AuditPage> page = co_await std::move(audit);
  if (!page.ok()) co_return page.status();
  AuditAnswer answer;
  answer.items_checked = page->items_checked;
  answer.findings_total = static_cast<int64_t>(page->findings.size());
  answer.findings = std::move(page->findings);
  if (answer.findings.size() > kFindingsMax) answer.findings.resize(kFindingsMax);
  if (page->next.has_value()) answer.next_page_token = TokenOf(*page->next);
  co_return answer;
}

Task<absl::StatusOr<RepairAnswer>> AdminService::Repair(AuditPart part, CallLimits limits) {
  const absl::StatusOr<CheckedPart> checked = Check(part);
  if (!checked.ok()) co_return checked.status();
  if (absl::Status refused = Begin(audits_); !refused.ok()) co_return refused;
  const Turn turn(*this);
  Task<absl::StatusOr<AuditPage>> audit = AuditSome(*checked, limits);
  const absl::StatusOr<AuditPage> page = co_await std::move(audit);
  if (!page.ok()) co_return page.status();

  RepairAnswer answer;
  answer.items_checked = page->items_checked;
  std::optional<Item> next = page->next;
  std::vector<Item> items;
  for (const AuditFinding& finding : page->findings) {
    if (items.size() == kFindingsMax) {
      next = items.back();
      break;
    }
    items.push_back(finding.item);
  }
  if (next.has_value()) answer.next_page_token = TokenOf(*next);
  if (items.empty()) co_return answer;

  const absl::Time as_of = parts_.clock.WallNow();
  Task<absl::StatusOr<std::vector<RepairedCounter>>> repair =
      parts_.maintenance.Repair(std::move(items), limits);
  absl::StatusOr<std::vector<RepairedCounter>> repaired = co_await std::move(repair);
  if (!repaired.ok()) co_return repaired.status();
  counters_repaired_ += static_cast<int64_t>(repaired->size());
  Task<> tell = TellCaches(*repaired, as_of);
  co_await std::move(tell);
  answer.repaired = *std::move(repaired);
  co_return answer;
}

Task<absl::StatusOr<CopyCheckAnswer>> AdminService::CheckCopies(CopyCheck check,
                                                                CallLimits limits) {
  RequestCheck request(item_types_);
  if (check.items.size() > kCheckedItemsMax) {
    request.Add("items", absl::StrCat("must have at most ", kCheckedItemsMax, " elements, got ",
                                      check.items.size()));
    check.items.clear();
  }
  std::vector<Item> items;
  for (size_t i = 0; i < check.items.size(); ++i)
    items.push_back(request.ItemAt(absl::StrCat("items[", i, "]"), check.items[i]));
  if (!request.ok()) co_return request.error();
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
  if (items.empty()) items = parts_.checker.writes().LastItems(kSampledItemsMax);
  if (items.empty()) co_return CopyCheckAnswer();
  if (absl::Status refused = Begin(audits_); !refused.ok()) co_return refused;
  const Turn turn(*this);
  const auto asked = static_cast<int64_t>(items.size());
  Task<absl::StatusOr<std::vector<CheckedItem>>> read =
      parts_.checker.Check(std::move(items), std::move(limits));
  absl::StatusOr<std::vector<CheckedItem>> checked = co_await std::move(read);
  audits_.Done(asked * kCheckedAnAudit);
  if (!checked.ok()) co_return checked.status();
  co_return CopyCheckAnswer{*std::move(checked)};
}

Task<> AdminService::TellCaches(const std::vector<RepairedCounter>& repaired, absl::Time as_of) {
  if (repaired.empty()) co_return;
  std::vector<CountPut> puts;
  puts.reserve(repaired.size());
  for (const RepairedCounter& counter : repaired) {
    CountPut& put = puts.emplace_back();
    put.entry = {counter.found.item, counter.count, counter.version, as_of};
  }
  // A cache that did not take it stays behind for its bound at most, as after every write.
  Task<bool> put = parts_.count_cache.Put(std::move(puts));
  (void)co_await std::move(put);
}

// ---- Erasures, deletions, imports --------------------------------------------------------------

Task<absl::StatusOr<ErasureAnswer>> AdminService::EraseUser(Erasure erasure, CallLimits limits) {
  RequestCheck check(item_types_);
  const UserId user = check.User("user_id", erasure.user_id);
  const int likes_max = LikesMaxAt(check, erasure.likes_max);
  if (!check.ok()) co_return check.error();
  if (absl::Status refused = Begin(writes_); !refused.ok()) co_return refused;
  const Turn turn(*this);
  Task<absl::StatusOr<std::vector<Item>>> find =
      parts_.maintenance.SomeLikes(user, likes_max, limits);
  const absl::StatusOr<std::vector<Item>> items = co_await std::move(find);
  if (!items.ok()) co_return items.status();
  std::vector<Mutation> unlikes;
  unlikes.reserve(items->size());
  for (const Item& item : *items) unlikes.push_back({user, item, Action::kUnlike});
  Task<absl::StatusOr<int64_t>> unlike = Unlike(std::move(unlikes), limits);
  const absl::StatusOr<int64_t> removed = co_await std::move(unlike);
  if (!removed.ok()) co_return removed.status();
  co_return ErasureAnswer{*removed, static_cast<int>(items->size()) < likes_max};
}

Task<absl::StatusOr<DeletionAnswer>> AdminService::DeleteItem(Deletion deletion,
                                                              CallLimits limits) {
  RequestCheck check(item_types_);
  const Item item = check.ItemAt("item", deletion.item);
  const int likes_max = LikesMaxAt(check, deletion.likes_max);
  std::optional<LikePosition> after;
  if (!deletion.page_token.empty()) {
    const std::optional<PagePosition> at = DecodePageToken(DeletionOf(item), deletion.page_token);
    if (at.has_value()) {
      after = LikePosition{UserId{at->liked_at}, at->id};
    } else {
      check.Add("page_token", "must be the next_page_token of an answer for this item, unchanged");
    }
  }
  if (!check.ok()) co_return check.error();
  if (absl::Status refused = Begin(writes_); !refused.ok()) co_return refused;
  const Turn turn(*this);
  Task<absl::StatusOr<LikersPart>> find = FindLikers(item, after, likes_max, limits);
  const absl::StatusOr<LikersPart> found = co_await std::move(find);
  if (!found.ok()) co_return found.status();
  std::vector<Mutation> unlikes;
  unlikes.reserve(found->likers.size());
  for (const UserId user : found->likers) unlikes.push_back({user, item, Action::kUnlike});
  Task<absl::StatusOr<int64_t>> unlike = Unlike(std::move(unlikes), limits);
  const absl::StatusOr<int64_t> removed = co_await std::move(unlike);
  if (!removed.ok()) co_return removed.status();

  DeletionAnswer answer;
  answer.likes_removed = *removed;
  if (found->next.has_value()) {
    answer.next_page_token = EncodePageToken(
        DeletionOf(item), {found->next->user.value, item.type, found->next->item_id});
  }
  std::vector<ItemRead> reads = {ItemRead{item, 0}};
  Task<absl::StatusOr<CountsRead>> read =
      parts_.store.Counts(std::move(reads), Consistency::kStrong, limits);
  const absl::StatusOr<CountsRead> counts = co_await std::move(read);
  if (!counts.ok()) co_return counts.status();
  answer.count = counts->counts[0].count;
  co_return answer;
}

Task<absl::StatusOr<AdminService::LikersPart>> AdminService::FindLikers(
    const Item& item, std::optional<LikePosition> after, int likes_max, const CallLimits& limits) {
  // By the index, where there is one: the first likers are always others, since these go.
  Task<absl::StatusOr<LikersPage>> list =
      parts_.store.ListLikers({item, std::nullopt, likes_max}, limits);
  const absl::StatusOr<LikersPage> page = co_await std::move(list);
  LikersPart part;
  if (page.ok()) {
    for (const ListedLiker& liker : page->likers) part.likers.push_back(liker.user);
    if (page->more) part.next = LikePosition{};
    co_return part;
  }
  if (ReasonOf(page.status()) != ErrorReason::kLikersNotIndexed) co_return page.status();
  Task<absl::StatusOr<LikerScan>> look =
      parts_.maintenance.ScanLikers(item, after, kScanMax, likes_max, limits);
  absl::StatusOr<LikerScan> scan = co_await std::move(look);
  if (!scan.ok()) co_return scan.status();
  writes_.Done(scan->likes_scanned / kScannedAWrite);
  part.likers = std::move(scan->likers);
  part.next = scan->next;
  co_return part;
}

Task<absl::StatusOr<int64_t>> AdminService::Unlike(std::vector<Mutation> unlikes,
                                                   const CallLimits& limits) {
  const auto asked = static_cast<int64_t>(unlikes.size());
  Task<std::vector<absl::StatusOr<Applied>>> write =
      parts_.service.WriteUncharged(std::move(unlikes), limits);
  const std::vector<absl::StatusOr<Applied>> results = co_await std::move(write);
  writes_.Done(asked);
  int64_t removed = 0;
  absl::Status error;
  for (const absl::StatusOr<Applied>& result : results) {
    if (result.ok()) {
      removed += result->changed ? 1 : 0;
    } else if (error.ok()) {
      error = result.status();
    }
  }
  likes_written_ += removed;
  if (error.ok()) co_return removed;
  // Of the others of this call nothing is known from the error of one.
  UnmarkNotApplied(error);
  co_return error;
}

Task<absl::StatusOr<std::vector<absl::StatusOr<WriteAnswer>>>> AdminService::Import(
    std::vector<MutationRef> mutations, CallLimits limits) {
  if (absl::Status refused = Begin(writes_); !refused.ok()) co_return refused;
  const Turn turn(*this);
  const auto asked = static_cast<int64_t>(mutations.size());
  Task<absl::StatusOr<std::vector<absl::StatusOr<WriteAnswer>>>> import =
      parts_.service.ImportLikes(std::move(mutations), std::move(limits));
  absl::StatusOr<std::vector<absl::StatusOr<WriteAnswer>>> answers = co_await std::move(import);
  if (!answers.ok()) co_return answers;
  writes_.Done(asked);
  for (const absl::StatusOr<WriteAnswer>& answer : *answers) {
    if (answer.ok() && answer->changed) ++likes_written_;
  }
  co_return answers;
}

AdminService::Stats AdminService::stats() const {
  return {items_audited_, items_diverging_, counters_repaired_, likes_written_};
}

}  // namespace counter
