#include "server/admin/admin_rpc.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/call_error.h"
#include "server/callers/callers.h"
#include "server/counter_proto.h"
#include "server/rpc_gate.h"

namespace counter {
namespace {

using AsyncService = admin::v1::AdminService::AsyncService;

constexpr char kService[] = "/counter.admin.v1.AdminService/";

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

void AdminRpc::SetFinding(const AuditFinding& finding, admin::v1::Finding& out) const {
  const ItemType type = finding.item.type;
  const std::vector<ItemType>& configured = item_types_.types();
  const bool has_name = std::find(configured.begin(), configured.end(), type) != configured.end();
  out.mutable_item()->set_item_type(has_name ? item_types_.NameOf(type)
                                             : absl::StrCat("#", type.value));
  out.mutable_item()->set_item_id(finding.item.id);
  out.set_stored_count(finding.stored_count);
  out.set_actual_count(finding.actual_count);
  out.set_stored_digest(static_cast<uint64_t>(finding.stored_digest));
  out.set_actual_digest(static_cast<uint64_t>(finding.actual_digest));
}

}  // namespace counter
