#include "clients/cpp/credentials.h"

#include <grpcpp/security/credentials.h>

namespace counter::client {

std::shared_ptr<grpc::ChannelCredentials> MakeCredentials(const TlsOptions& options) {
  grpc::SslCredentialsOptions ssl;
  ssl.pem_root_certs = options.ca;
  ssl.pem_private_key = options.key;
  ssl.pem_cert_chain = options.certificate;
  const std::shared_ptr<grpc::ChannelCredentials> secure = grpc::SslCredentials(ssl);
  if (options.bearer_token.empty()) return secure;
  return grpc::CompositeChannelCredentials(secure,
                                           grpc::AccessTokenCredentials(options.bearer_token));
}

}  // namespace counter::client
