// TlsCredentials: TLS for a port of a gRPC server, whose certificate may change while it serves.
//
// gRPC asks for the identity at every handshake (the certificate config fetcher of its core), so
// that a rotated certificate counts from the next connection on; those that are open stay. TLS is
// 1.2 or 1.3. The C++ wrappers of 1.51 know two other ways: plain credentials, which never change,
// and an experimental provider, which reads files itself and serves whatever it finds.
//
// For the engine only. Threads: handshakes of any number at once.
#ifndef COUNTER_SERVER_RPC_TLS_CREDENTIALS_H_
#define COUNTER_SERVER_RPC_TLS_CREDENTIALS_H_

#include <memory>

#include "base/tls_identity.h"

#include <grpcpp/security/server_credentials.h>

namespace counter::rpc::internal {

// Callers must show a certificate if `source` names authorities for them now.
std::shared_ptr<grpc::ServerCredentials> MakeTlsCredentials(TlsSource source);

}  // namespace counter::rpc::internal

#endif  // COUNTER_SERVER_RPC_TLS_CREDENTIALS_H_
