// RouteGrpcLog: gRPC's own error lines into our log.
//
// gRPC writes a line for each connection that breaks off in its handshake, so that anybody who can
// connect could fill a disk. They become one event, a few lines a second at most, with the number
// of those that are left out.
#ifndef COUNTER_SERVER_RPC_GRPC_LOG_H_
#define COUNTER_SERVER_RPC_GRPC_LOG_H_

namespace counter::rpc {

// For the whole process, until RestoreGrpcLog(): call the one before any server is made, the other
// before the log's sink goes.
void RouteGrpcLog();
void RestoreGrpcLog();

}  // namespace counter::rpc

#endif  // COUNTER_SERVER_RPC_GRPC_LOG_H_
