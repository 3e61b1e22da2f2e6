// MakeCredentials: TLS, mTLS and tokens for a Client's channel.
//
//   counter::Client likes = counter::Client::Connect(
//       {.target = "dns:///counter:443", .credentials = MakeCredentials({.bearer_token = token})});
//
// It is a shorthand: any gRPC channel credentials will do. Threads: any number at once. The
// contents are copied.
#ifndef COUNTER_CLIENTS_CPP_CREDENTIALS_H_
#define COUNTER_CLIENTS_CPP_CREDENTIALS_H_

#include <memory>
#include <string>

namespace grpc {
class ChannelCredentials;
}

namespace counter::client {

// Contents of PEM files. With a certificate and its key it is mTLS.
struct TlsOptions {
  std::string ca = {};  // Who may sign the server's certificate. Empty: the system's authorities.
  std::string certificate = {};
  std::string key = {};
  std::string bearer_token = {};  // Sent with every call. Empty: none.
};

std::shared_ptr<grpc::ChannelCredentials> MakeCredentials(const TlsOptions& options);

}  // namespace counter::client

#endif  // COUNTER_CLIENTS_CPP_CREDENTIALS_H_
