// Command: what counterctl's commands do, once the command line has been read. Internal to the
// room.
//
// Each method is one command; it blocks and returns the exit status of the process.
// Threads: one. Ownership: borrows the settings and the streams.
#ifndef COUNTER_CLIENTS_CLI_COMMANDS_H_
#define COUNTER_CLIENTS_CLI_COMMANDS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "clients/cli/admin_command.h"
#include "clients/cli/bench_command.h"
#include "clients/cli/channel_security.h"
#include "clients/cli/check_command.h"
#include "clients/cli/contexts.h"
#include "clients/cli/export_command.h"
#include "clients/cli/import_command.h"
#include "clients/cli/output.h"
#include "clients/cli/verify_command.h"
#include "clients/cli/watch_command.h"
#include "clients/cpp/client.h"

namespace counter::cli {

using client::Item;

// What a command line came to.
struct Settings {
  std::string server;
  ChannelSecurity security;
  std::shared_ptr<grpc::ChannelCredentials> credentials;  // Null: plaintext.
  absl::Duration deadline = absl::Seconds(2);
  std::string request_id;
  Format format = Format::kTable;
  bool strong = false;
  int64_t user = 0;
  std::vector<Item> items;
  std::string health_service;
  absl::Duration health_wait = absl::ZeroDuration();
  ImportSettings import;
  BenchSettings bench;
  ExportSettings export_;
  AdminSettings admin;
  CheckSettings check;
  WatchSettings watch;
  VerifySettings verify;
  std::string items_file;  // "-": standard input. Empty: the items are in the command line.
  std::string context_name;
  std::string context_server;
};

// TYPE:ID; false if it is not.
bool ParseItem(const std::string& text, Item& item);

// One run: the settings, and where its answer goes.
class Command {
 public:
  Command(const Settings& settings, std::ostream& out, std::ostream& err)
      : settings_(settings), out_(out), err_(err) {}

  int Like();
  int Unlike();
  int Count();
  int HasLiked();
  int Watch() const;
  int Health() const;
  int Status() const;
  int Import() const;
  int Bench() const;
  int Export() const;
  int Check() const;
  int AdminAudit() const;
  int AdminRepair() const;
  int AdminEraseUser() const;
  int AdminDeleteItem() const;
  int AdminImport() const;
  int Verify() const;
  int ListContexts() const;
  int SetContext() const;
  int UseContext() const;
  int DeleteContext() const;

 private:
  template <class Reply>
  int Write(client::Result<Reply> (client::Client::*write)(int64_t, const Item&,
                                                           const client::CallOptions&) const,
            const char* changed, const char* unchanged);
  // Calls `ask` for each part of the items that fits into a call, until one fails.
  int InParts(const std::function<int(const std::vector<Item>& part)>& ask);
  int Fail(const client::Error& error) const;

  // Reads the contexts, lets `change` change them, which says what is wrong, and writes them.
  int ChangeContexts(const std::function<std::string(Contexts& contexts)>& change) const;
  int Complain(const std::string& message) const;

  // Whether somebody watches what is written to `err`.
  bool OnTerminal() const;
  // Who typed a command wants to hear at once that nobody listens; an import waits.
  client::Client Connect(bool wait_for_ready = false) const;
  client::CallOptions Call() const { return {.request_id = settings_.request_id}; }
  client::ReadOptions Read() const {
    return {.consistency =
                settings_.strong ? client::Consistency::kStrong : client::Consistency::kCached};
  }

  const Settings& settings_;
  std::ostream& out_;
  std::ostream& err_;
};

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_COMMANDS_H_
