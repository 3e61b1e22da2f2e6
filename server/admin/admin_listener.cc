#include "server/admin/admin_listener.h"

#include <utility>

namespace counter {
namespace {

// Calls that wait for each other: more than a few are a mistake.
constexpr int kCallsMax = 16;
// Operators, and a probe.
constexpr int kConnectionsMax = 64;
// Of a call without one: a recount of everything takes its time.
constexpr absl::Duration kDefaultDeadline = absl::Minutes(10);

}  // namespace

AdminListener::AdminListener(Parts parts, Options options)
    : service_(parts.item_types, parts.service, options.service),
      rpc_(service_, std::move(parts.item_types)),
      admission_({.calls_in_flight_max = kCallsMax}, parts.service.clock, parts.refusals),
      gate_(parts.callers, admission_, parts.service.clock, parts.calls, parts.refusals),
      server_(ServerOptions(std::move(options.server), gate_)) {
  rpc_.Register(server_);
  health_.Register(server_);
  health_.Set("", true);
  health_.Set(kServiceName, true);
  if (options.reflection) reflection_.Register(server_);
}

rpc::Server::Options AdminListener::ServerOptions(rpc::Server::Options options,
                                                  rpc::CallGate& gate) {
  options.queues = 1;
  options.connections.connections_max = kConnectionsMax;
  options.waiting_calls = kCallsMax;
  options.default_deadline = kDefaultDeadline;
  options.gate = &gate;
  return options;
}

void AdminListener::Drain(absl::Duration budget) {
  health_.Set("", false);
  health_.Set(kServiceName, false);
  admission_.StopAdmitting();
  server_.Drain(budget);
}

}  // namespace counter
