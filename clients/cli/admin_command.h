// RunAudit and the others: the commands `counterctl admin ...`, which speak to AdminService on its
// own listener.
//
// Each goes through all pages, waits where the server tells it to come again, and says on `err` how
// far it is; after a failure, also how to go on. They block. Data goes to `out`, complaints and
// progress to `err`. Threads: one.
#ifndef COUNTER_CLIENTS_CLI_ADMIN_COMMAND_H_
#define COUNTER_CLIENTS_CLI_ADMIN_COMMAND_H_

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>

#include "absl/time/time.h"
#include "clients/cli/import_command.h"
#include "clients/cli/output.h"
#include "clients/cpp/client.h"

namespace counter::cli {

struct AdminSettings {
  std::string server = "127.0.0.1:50052";
  std::shared_ptr<grpc::ChannelCredentials> credentials = nullptr;  // Null: plaintext.
  absl::Duration page_deadline = absl::Minutes(10);                 // Of one call.
  absl::Duration patience = absl::Minutes(10);  // With one call that the server cannot take.
  int items_max = 0;                            // Of a page; 0: the server's default.
  std::string page_token;                       // Where to go on. Empty: from the start.
  bool yes = false;                             // What cannot be undone is wanted.
};

// The counters that differ, with both values. Exit status: 0 if none does, kExitDrift.
int RunAudit(const AdminSettings& settings, Format format, std::ostream& out, std::ostream& err);

// The counters that were corrected. Exit status: 0.
int RunRepair(const AdminSettings& settings, Format format, std::ostream& out, std::ostream& err);

// Takes back all likes of the user, or of the item. Exit status: 0; kExitUsage without `yes`.
int RunEraseUser(const AdminSettings& settings, int64_t user, Format format, std::ostream& out,
                 std::ostream& err);
int RunDeleteItem(const AdminSettings& settings, const client::Item& item, Format format,
                  std::ostream& out, std::ostream& err);

// As RunImport, but nobody's rate limit is charged.
int RunAdminImport(const AdminSettings& settings, const ImportSettings& import, Format format,
                   bool terminal, std::ostream& out, std::ostream& err);

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_ADMIN_COMMAND_H_
