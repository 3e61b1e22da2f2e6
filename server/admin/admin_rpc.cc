#include "server/admin/admin_rpc.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/call_error.h"
#include "server/callers/callers.h"
#include "server/check/check_tally.h"
#include "server/counter_proto.h"
#include "server/rpc_gate.h"

namespace counter {
namespace {

using AsyncService = admin::v1::AdminService::AsyncService;

constexpr char kService[] = "/counter.admin.v1.AdminService/";

admin::v1::CopyLayer LayerOf(CopyLayer layer) {
  switch (layer) {
    case CopyLayer::kNear:
      return admin::v1::COPY_LAYER_NEAR;
    case CopyLayer::kLocal:
      return admin::v1::COPY_LAYER_LOCAL;
    case CopyLayer::kRedis:
      return admin::v1::COPY_LAYER_REDIS;
    case CopyLayer::kReplica:
      return admin::v1::COPY_LAYER_REPLICA;
    case CopyLayer::kPrimary:
      return admin::v1::COPY_LAYER_PRIMARY;
    case CopyLayer::kRecount:
      return admin::v1::COPY_LAYER_RECOUNT;
  }
  return admin::v1::COPY_LAYER_UNSPECIFIED;
}

admin::v1::CopyResult ResultOf(CopyResult result) {
  switch (result) {
    case CopyResult::kEqual:
      return admin::v1::COPY_RESULT_EQUAL;
    case CopyResult::kOvertaken:
      return admin::v1::COPY_RESULT_OVERTAKEN;
    case CopyResult::kBehind:
      return admin::v1::COPY_RESULT_BEHIND;
    case CopyResult::kAhead:
      return admin::v1::COPY_RESULT_AHEAD;
    case CopyResult::kDiverged:
      return admin::v1::COPY_RESULT_DIVERGED;
    case CopyResult::kAbsent:
      return admin::v1::COPY_RESULT_ABSENT;
    case CopyResult::kSkipped:
      return admin::v1::COPY_RESULT_SKIPPED;
    case CopyResult::kUnanswered:
      return admin::v1::COPY_RESULT_UNANSWERED;
  }
  return admin::v1::COPY_RESULT_UNSPECIFIED;
}

}  // namespace

void AdminRpc::Register(rpc::Server& server) {
  const auto add = [&](const char* name, auto request_call, auto method) {
    server.AddUnary(async_service_, request_call, absl::StrCat(kService, name),
                    [this, method](rpc::Call& call, const auto& request, auto& response) {
                      return (this->*method)(call, request, response);
                    });
  };
  add("Audit", &AsyncService::RequestAudit, &AdminRpc::Audit);
  add("Repair", &AsyncService::RequestRepair, &AdminRpc::Repair);
  add("Check", &AsyncService::RequestCheck, &AdminRpc::Check);
  add("EraseUser", &AsyncService::RequestEraseUser, &AdminRpc::EraseUser);
  add("DeleteItem", &AsyncService::RequestDeleteItem, &AdminRpc::DeleteItem);
  add("Import", &AsyncService::RequestImport, &AdminRpc::Import);
}

Task<grpc::Status> AdminRpc::Audit(rpc::Call& call, const admin::v1::AuditRequest& request,
                                   admin::v1::AuditResponse& response) {
  Task<absl::StatusOr<AuditAnswer>> audit =
      service_.Audit({request.items_max(), request.page_token()}, call.limits());
  absl::StatusOr<AuditAnswer> answer = co_await std::move(audit);
  if (!answer.ok()) co_return EndWithError(call, answer.status());
  response.set_items_checked(answer->items_checked);
  response.set_findings_total(answer->findings_total);
  response.set_next_page_token(std::move(answer->next_page_token));
  for (const AuditFinding& finding : answer->findings) {
    SetFinding(finding, *response.add_findings());
  }
  co_return grpc::Status::OK;
}

Task<grpc::Status> AdminRpc::Repair(rpc::Call& call, const admin::v1::RepairRequest& request,
                                    admin::v1::RepairResponse& response) {
  Task<absl::StatusOr<RepairAnswer>> repair =
      service_.Repair({request.items_max(), request.page_token()}, call.limits());
  absl::StatusOr<RepairAnswer> answer = co_await std::move(repair);
  if (!answer.ok()) co_return EndWithError(call, answer.status());
  response.set_items_checked(answer->items_checked);
  response.set_next_page_token(std::move(answer->next_page_token));
  for (const RepairedCounter& counter : answer->repaired) {
    admin::v1::RepairedCounter& out = *response.add_repaired();
    SetFinding(counter.found, *out.mutable_finding());
    out.set_count(counter.count);
  }
  co_return grpc::Status::OK;
}

Task<grpc::Status> AdminRpc::Check(rpc::Call& call, const admin::v1::CheckRequest& request,
                                   admin::v1::CheckResponse& response) {
  CopyCheck wanted;
  for (const v1::Item& item : request.items())
    wanted.items.push_back({item.item_type(), item.item_id()});
  Task<absl::StatusOr<CopyCheckAnswer>> check =
      service_.CheckCopies(std::move(wanted), call.limits());
  const absl::StatusOr<CopyCheckAnswer> answer = co_await std::move(check);
  if (!answer.ok()) co_return EndWithError(call, answer.status());
  for (const CheckedItem& item : answer->items) SetChecked(item, *response.add_items());
  SetSampled(service_.checker(), response);
  co_return grpc::Status::OK;
}

Task<grpc::Status> AdminRpc::EraseUser(rpc::Call& call, const admin::v1::EraseUserRequest& request,
                                       admin::v1::EraseUserResponse& response) {
  const absl::Status allowed = CheckUser(CallerOf(call), request.user_id());
  if (!allowed.ok()) co_return EndWithError(call, allowed);
  Task<absl::StatusOr<ErasureAnswer>> erase =
      service_.EraseUser({request.user_id(), request.likes_max()}, call.limits());
  const absl::StatusOr<ErasureAnswer> answer = co_await std::move(erase);
  if (!answer.ok()) co_return EndWithError(call, answer.status());
  response.set_likes_removed(answer->likes_removed);
  response.set_done(answer->done);
  co_return grpc::Status::OK;
}

Task<grpc::Status> AdminRpc::DeleteItem(rpc::Call& call,
                                        const admin::v1::DeleteItemRequest& request,
                                        admin::v1::DeleteItemResponse& response) {
  const absl::Status allowed = CheckAllUsers(CallerOf(call));
  if (!allowed.ok()) co_return EndWithError(call, allowed);
  Deletion deletion = {{request.item().item_type(), request.item().item_id()},
                       request.likes_max(),
                       request.page_token()};
  Task<absl::StatusOr<DeletionAnswer>> erase =
      service_.DeleteItem(std::move(deletion), call.limits());
  absl::StatusOr<DeletionAnswer> answer = co_await std::move(erase);
  if (!answer.ok()) co_return EndWithError(call, answer.status());
  response.set_likes_removed(answer->likes_removed);
  response.set_count(answer->count);
  response.set_next_page_token(std::move(answer->next_page_token));
  co_return grpc::Status::OK;
}

Task<grpc::Status> AdminRpc::Import(rpc::Call& call, const admin::v1::ImportRequest& request,
                                    admin::v1::ImportResponse& response) {
  const absl::Status allowed = CheckAllUsers(CallerOf(call));
  if (!allowed.ok()) co_return EndWithError(call, allowed);
  Task<absl::StatusOr<std::vector<absl::StatusOr<WriteAnswer>>>> import =
      service_.Import(ToMutationRefs(request.mutations()), call.limits());
  absl::StatusOr<std::vector<absl::StatusOr<WriteAnswer>>> answers = co_await std::move(import);
  if (!answers.ok()) co_return EndWithError(call, answers.status());
  AddMutationResults({call.limits(), CallerOf(call), IsRepeat(call)}, request.mutations(),
                     *std::move(answers), *response.mutable_results());
  co_return grpc::Status::OK;
}

void AdminRpc::SetItem(const Item& item, v1::Item& out) const {
  const std::vector<ItemType>& configured = item_types_.types();
  const bool has_name =
      std::find(configured.begin(), configured.end(), item.type) != configured.end();
  out.set_item_type(has_name ? item_types_.NameOf(item.type) : absl::StrCat("#", item.type.value));
  out.set_item_id(item.id);
}

void AdminRpc::SetChecked(const CheckedItem& checked, admin::v1::CheckedItem& out) const {
  SetItem(checked.item, *out.mutable_item());
  for (size_t i = 0; i < checked.copies.size(); ++i) {
    const Copy& copy = checked.copies[i];
    admin::v1::CounterCopy& said = *out.add_copies();
    said.set_layer(LayerOf(copy.layer));
    said.set_replica(copy.replica);
    said.set_result(ResultOf(checked.results[i]));
    said.set_count(copy.count);
    said.set_version(copy.version);
    if (copy.digest.has_value()) said.set_digest(static_cast<uint64_t>(*copy.digest));
  }
}

void AdminRpc::SetSampled(const CopyChecker& checker, admin::v1::CheckResponse& out) const {
  out.set_writes_sampled(checker.writes().stats().taken);
  for (const CopyLayer layer : checker.layers()) {
    for (int age = 0; age < kCheckAges; ++age) {
      for (int r = 0; r < kCopyResults; ++r) {
        const auto result = static_cast<CopyResult>(r);
        const int64_t copies = checker.tally().Get(layer, age, result);
        if (copies == 0) continue;
        admin::v1::CheckTally& tally = *out.add_tallies();
        tally.set_layer(LayerOf(layer));
        tally.set_age_milliseconds(
            absl::ToInt64Milliseconds(CheckAges()[static_cast<size_t>(age)]));
        tally.set_result(ResultOf(result));
        tally.set_copies(copies);
      }
    }
  }
  const std::optional<CopyChecker::Finding> first = checker.FirstDiverging();
  if (!first.has_value()) return;
  SetChecked(first->item, *out.mutable_first_diverging());
  const absl::Time found = first->found;
  out.mutable_first_diverging_time()->set_seconds(absl::ToUnixSeconds(found));
  out.mutable_first_diverging_time()->set_nanos(static_cast<int32_t>(
      absl::ToInt64Nanoseconds(found - absl::FromUnixSeconds(absl::ToUnixSeconds(found)))));
}

void AdminRpc::SetFinding(const AuditFinding& finding, admin::v1::Finding& out) const {
  SetItem(finding.item, *out.mutable_item());
  out.set_stored_count(finding.stored_count);
  out.set_actual_count(finding.actual_count);
  out.set_stored_digest(static_cast<uint64_t>(finding.stored_digest));
  out.set_actual_digest(static_cast<uint64_t>(finding.actual_digest));
}

}  // namespace counter
