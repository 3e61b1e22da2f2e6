#include "server/security.h"

#include <string>
#include <utility>

#include <google/protobuf/descriptor.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "server/gateway.h"

namespace counter {
namespace {

// Which files a reading is about.
constexpr char kTlsFiles[] = "tls";
constexpr char kCallersFiles[] = "callers";

// The services whose methods a table of callers may allow; those that are not in this program are
// passed over. Health is not among them: it is open to everybody.
constexpr const char* kServices[] = {"counter.v1.CounterService", "counter.admin.v1.AdminService",
                                     "grpc.reflection.v1.ServerReflection",
                                     "grpc.reflection.v1alpha.ServerReflection"};

std::vector<std::string> MethodsToAllow() {
  std::vector<std::string> methods = {kLivePageMethod};
  for (const char* name : kServices) {
    const google::protobuf::ServiceDescriptor* service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
    for (int i = 0; service != nullptr && i < service->method_count(); ++i) {
      methods.push_back(absl::StrCat(name, "/", service->method(i)->name()));
    }
  }
  return methods;
}

}  // namespace

absl::Status Security::OpenTls(const Config& config) {
  if (!config.has_tls()) return absl::OkStatus();
  tls_.emplace(
      TlsFiles::Paths{config.tls_certificate_file, config.tls_key_file, config.tls_client_ca_file});
  if (absl::Status loaded = tls_->Load(); !loaded.ok()) {
    return absl::Status(loaded.code(), absl::StrCat("TLS cannot be served: ", loaded.message()));
  }
  if (tls_->expires() < absl::Now()) {
    Log(LogLevel::kError, "The certificate of TLS has expired; callers will refuse it.",
        {{"expired", absl::FormatTime(tls_->expires(), absl::UTCTimeZone())}});
  }
  watch_.Add([this] { tls_->Look(); });
  return absl::OkStatus();
}

absl::Status Security::OpenCallers(const Config& config) {
  callers_.emplace(Callers::Options{config.callers_file, config.caller_tokens_file,
                                    !config.tls_client_ca_file.empty(), MethodsToAllow()});
  if (absl::Status loaded = callers_->Load(); !loaded.ok()) {
    return absl::Status(loaded.code(),
                        absl::StrCat("the callers cannot be read: ", loaded.message()));
  }
  if (callers_->has_table()) watch_.Add([this] { callers_->Look(); });
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Security>> Security::Open(const Config& config) {
  auto security = std::unique_ptr<Security>(new Security());
  if (absl::Status opened = security->OpenTls(config); !opened.ok()) return opened;
  if (absl::Status opened = security->OpenCallers(config); !opened.ok()) return opened;
  return security;
}

TlsSource Security::tls() const { return tls_.has_value() ? tls_->Source() : nullptr; }

std::vector<MetricReading> Security::Readings() const {
  constexpr char kRefused[] = "counter_files_refused";
  constexpr char kRefusedHelp[] =
      "1 while files hold something that cannot be used, so that what they held before is.";
  constexpr MetricReading::Kind kGauge = MetricReading::Kind::kGauge;
  std::vector<MetricReading> readings;
  if (tls_.has_value()) {
    AddReading(readings, kGauge, "counter_tls_certificate_expiry_timestamp_seconds",
               "When the certificate that is served expires, in seconds since 1970.",
               absl::ToUnixSeconds(tls_->expires()));
    AddReading(readings, kGauge, kRefused, kRefusedHelp, tls_->stale() ? 1 : 0,
               {{"files", kTlsFiles}});
  }
  if (!callers_->has_table()) return readings;
  AddReading(readings, kGauge, kRefused, kRefusedHelp, callers_->stale() ? 1 : 0,
             {{"files", kCallersFiles}});
  for (const Callers::UnderWay& caller : callers_->AllUnderWay()) {
    AddReading(readings, kGauge, "counter_caller_calls_in_flight",
               "Calls that are being worked on for a caller of the table.", caller.calls,
               {{"caller", caller.name}});
    AddReading(readings, kGauge, "counter_caller_watches",
               "Watches of counts of a caller of the table that stand.", caller.watches,
               {{"caller", caller.name}});
  }
  return readings;
}

}  // namespace counter
