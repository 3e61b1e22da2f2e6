#include "server/rpc/grpc_log.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/log.h"

#include <grpc/support/log.h>

namespace counter::rpc {
namespace {

// The file's name without its folders, which are those of the machine that built gRPC.
absl::string_view BaseName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

void WriteGrpcLine(gpr_log_func_args* line) {
  const bool is_error = line->severity == GPR_LOG_SEVERITY_ERROR;
  static LogThrottle throttle(absl::Seconds(1));
  throttle.Log(
      is_error ? LogLevel::kWarning : LogLevel::kInfo, "gRPC has something to say.",
      {{"says", line->message}, {"at", absl::StrCat(BaseName(line->file), ":", line->line)}});
}

}  // namespace

void RouteGrpcLog() { gpr_set_log_function(WriteGrpcLine); }
void RestoreGrpcLog() { gpr_set_log_function(nullptr); }

}  // namespace counter::rpc
