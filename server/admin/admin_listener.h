// AdminListener: everything that is served on ADMIN_LISTEN: AdminService, health, reflection. A
// second instance of the rpc engine, so that operators and callers never wait for each other's
// connections or limits.
//
// Who may call is in the table of callers, as for every listener; without TLS and a table it serves
// this machine alone: the settings refuse any other address.
//
// Threads: Start and Drain one at a time; stats from any. Ownership: borrows the parts; they must
// outlive Drain().
#ifndef COUNTER_SERVER_ADMIN_ADMIN_LISTENER_H_
#define COUNTER_SERVER_ADMIN_ADMIN_LISTENER_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "server/admin/admin_rpc.h"
#include "server/admin/admin_service.h"
#include "server/admission.h"
#include "server/callers/callers.h"
#include "server/item_types.h"
#include "server/rpc/health.h"
#include "server/rpc/reflection.h"
#include "server/rpc/server.h"
#include "server/rpc_gate.h"

namespace counter {

class AdminListener {
 public:
  // The name that health answers for, beside "".
  static constexpr char kServiceName[] = "counter.admin.v1.AdminService";

  struct Parts {
    AdminService::Parts service;
    ItemTypes item_types;
    const Callers& callers;
    RpcObserver& calls;
    AdmissionObserver& refusals;
  };
  struct Options {
    AdminService::Options service;
    // Where and how it listens, as every listener's; the gate and the limits of calls are this
    // class's.
    rpc::Server::Options server;
    bool reflection = true;
  };

  AdminListener(Parts parts, Options options);

  absl::Status Start() { return server_.Start(); }
  int port() const { return server_.port(); }
  // Ends what is running within the budget, and takes nothing new.
  void Drain(absl::Duration budget);

  AdminService::Stats stats() const { return service_.stats(); }

 private:
  static rpc::Server::Options ServerOptions(rpc::Server::Options options, rpc::CallGate& gate);

  AdminService service_;
  AdminRpc rpc_;
  Admission admission_;
  RpcGate gate_;
  rpc::HealthService health_;
  rpc::ReflectionService reflection_;
  rpc::Server server_;
};

}  // namespace counter

#endif  // COUNTER_SERVER_ADMIN_ADMIN_LISTENER_H_
