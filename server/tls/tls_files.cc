#include "server/tls/tls_files.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/tls/identity_check.h"

namespace counter {
namespace {

std::vector<std::string> PathsOf(const TlsFiles::Paths& paths) {
  std::vector<std::string> all = {paths.certificate, paths.key};
  if (!paths.client_ca.empty()) all.push_back(paths.client_ca);
  return all;
}

}  // namespace

TlsFiles::TlsFiles(const Paths& paths)
    : identity_(
          "certificates", PathsOf(paths),
          [](const std::vector<std::string>& texts) -> absl::StatusOr<Served> {
            TlsIdentity identity = {texts[0], texts[1], texts.size() > 2 ? texts[2] : ""};
            // An empty file must not turn the question for certificates off.
            if (texts.size() > 2 && texts[2].empty()) {
              return absl::InvalidArgumentError("the file of the callers' authorities is empty");
            }
            const absl::StatusOr<absl::Time> expires = CheckIdentity(identity);
            if (!expires.ok()) return expires.status();
            return Served{std::move(identity), *expires};
          }) {}

TlsSource TlsFiles::Source() const {
  return [this] {
    const std::shared_ptr<const Served> served = identity_.current();
    return std::shared_ptr<const TlsIdentity>(served, &served->identity);
  };
}

}  // namespace counter
