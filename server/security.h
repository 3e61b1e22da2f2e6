// Security: the certificates of the listeners and the callers that they let in, from the files that
// the settings name, kept up to date while the server runs. The one place from which every listener
// takes both.
//
// Threads: Open(), Start() and Stop() by one thread; the rest any. Ownership: outlives the
// listeners.
#ifndef COUNTER_SERVER_SECURITY_H_
#define COUNTER_SERVER_SECURITY_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/tls_identity.h"
#include "server/callers/callers.h"
#include "server/config/config.h"
#include "server/files/file_watch.h"
#include "server/metrics/metrics.h"
#include "server/tls/tls_files.h"

namespace counter {

class Security {
 public:
  // Reads all files; the error names what cannot be used, and no secret that is in it.
  static absl::StatusOr<std::unique_ptr<Security>> Open(const Config& config);
  Security(const Security&) = delete;
  Security& operator=(const Security&) = delete;

  // For a listener that speaks TLS; null where there is none.
  TlsSource tls() const;

  // Who calls, and whether they may.
  const Callers& callers() const { return *callers_; }

  // From now on files are looked at again, until Stop().
  void Start() { watch_.Start(); }
  void Stop() { watch_.Stop(); }

  // How the files do, for metrics.
  std::vector<MetricReading> Readings() const;

 private:
  Security() = default;
  absl::Status OpenTls(const Config& config);
  absl::Status OpenCallers(const Config& config);

  std::optional<TlsFiles> tls_;
  std::optional<Callers> callers_;
  // Last: it looks at the others.
  FileWatch watch_;
};

}  // namespace counter

#endif  // COUNTER_SERVER_SECURITY_H_
