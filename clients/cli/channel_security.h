// ChannelSecurity: how counterctl secures its connection: files of certificates and of a token.
//
// A token comes from a file or from the environment, never from the command line, which every user
// of the machine can read. It is sent over TLS only. For one thread.
#ifndef COUNTER_CLIENTS_CLI_CHANNEL_SECURITY_H_
#define COUNTER_CLIENTS_CLI_CHANNEL_SECURITY_H_

#include <memory>
#include <string>

namespace grpc {
class ChannelCredentials;
}

namespace counter::cli {

// All may be empty: then the connection is plaintext.
struct ChannelSecurity {
  bool tls = false;  // Set by any of the others, too.
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  std::string token_file;
};

// The environment variable that holds the token itself.
inline constexpr char kTokenVariable[] = "COUNTER_TOKEN";

// Reads the files. The fault, or empty; null credentials are plaintext.
std::string MakeChannelCredentials(const ChannelSecurity& security,
                                   std::shared_ptr<grpc::ChannelCredentials>& credentials);

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_CHANNEL_SECURITY_H_
