#include "server/rpc/tls_credentials.h"

#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

namespace counter::rpc::internal {
namespace {

class TlsCredentials final : public grpc::ServerCredentials {
 public:
  explicit TlsCredentials(TlsSource source) : source_(std::move(source)) {
    // What is asked of callers is fixed for the life of the port, unlike who may sign it.
    const bool asks_callers = !source_()->client_ca.empty();
    credentials_ = grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(
            asks_callers ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                         : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
            &TlsCredentials::Fetch, this));
  }
  ~TlsCredentials() override { grpc_server_credentials_release(credentials_); }
  TlsCredentials(const TlsCredentials&) = delete;
  TlsCredentials& operator=(const TlsCredentials&) = delete;

  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>& /*processor*/) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  static grpc_ssl_certificate_config_reload_status Fetch(
      void* self, grpc_ssl_server_certificate_config** config) {
    return static_cast<TlsCredentials*>(self)->Refresh(config);
  }

  grpc_ssl_certificate_config_reload_status Refresh(grpc_ssl_server_certificate_config** config) {
    std::shared_ptr<const TlsIdentity> identity = source_();
    MutexLock lock(mutex_);
    if (identity == served_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const grpc_ssl_pem_key_cert_pair pair = {identity->key.c_str(), identity->certificate.c_str()};
    // gRPC 1.51 ends the process if a fetched config names no authorities, also where nobody is
    // asked for a certificate. Any will do then: they are not used.
    const std::string& authorities =
        identity->client_ca.empty() ? identity->certificate : identity->client_ca;
    *config = grpc_ssl_server_certificate_config_create(authorities.c_str(), &pair, 1);
    served_ = std::move(identity);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const TlsSource source_;
  grpc_server_credentials* credentials_ = nullptr;
  Mutex mutex_;
  // What gRPC was given last.
  std::shared_ptr<const TlsIdentity> served_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> MakeTlsCredentials(TlsSource source) {
  return std::make_shared<TlsCredentials>(std::move(source));
}

}  // namespace counter::rpc::internal
