// AdminRpc: counter.admin.v1.AdminService over the rpc engine: messages <-> vocabulary.
//
// Threads: handlers start on the engine's queue threads. Ownership: borrows the service; both must
// outlive the server that it is registered with.
#ifndef COUNTER_SERVER_ADMIN_ADMIN_RPC_H_
#define COUNTER_SERVER_ADMIN_ADMIN_RPC_H_

#include <utility>

#include "base/task.h"
#include "proto/counter/admin/v1/admin.grpc.pb.h"
#include "server/admin/admin_service.h"
#include "server/check/copy_checker.h"
#include "server/check/copy_verdict.h"
#include "server/item_types.h"
#include "server/rpc/server.h"

namespace counter {

class AdminRpc {
 public:
  AdminRpc(AdminService& service, ItemTypes item_types)
      : service_(service), item_types_(std::move(item_types)) {}

  // Adds the methods. Call it once, before server.Start().
  void Register(rpc::Server& server);

 private:
  Task<grpc::Status> Audit(rpc::Call& call, const admin::v1::AuditRequest& request,
                           admin::v1::AuditResponse& response);
  Task<grpc::Status> Repair(rpc::Call& call, const admin::v1::RepairRequest& request,
                            admin::v1::RepairResponse& response);
  Task<grpc::Status> EraseUser(rpc::Call& call, const admin::v1::EraseUserRequest& request,
                               admin::v1::EraseUserResponse& response);
  Task<grpc::Status> DeleteItem(rpc::Call& call, const admin::v1::DeleteItemRequest& request,
                                admin::v1::DeleteItemResponse& response);
  Task<grpc::Status> Import(rpc::Call& call, const admin::v1::ImportRequest& request,
                            admin::v1::ImportResponse& response);
  Task<grpc::Status> Check(rpc::Call& call, const admin::v1::CheckRequest& request,
                           admin::v1::CheckResponse& response);
  void SetItem(const Item& item, v1::Item& out) const;
  void SetChecked(const CheckedItem& checked, admin::v1::CheckedItem& out) const;
  void SetSampled(const CopyChecker& checker, admin::v1::CheckResponse& out) const;
  void SetFinding(const AuditFinding& finding, admin::v1::Finding& out) const;

  AdminService& service_;
  const ItemTypes item_types_;
  admin::v1::AdminService::AsyncService async_service_;
};

}  // namespace counter

#endif  // COUNTER_SERVER_ADMIN_ADMIN_RPC_H_
