// Importer: reads a file of likes and writes them by calls of many, several at once.
//
// Use it for files of any size: it holds a few batches. It may be killed at any time and run again:
// it goes on where ImportLedger recorded. The order of the lines of one pair (user, item) is kept:
// a batch with an unlike runs alone.
//
// What the server cannot take now (rate limits, overload, an outage) is tried again for as long as
// `patience`; what it will never take goes to the errors file.
//
// Threads: Run blocks and starts `calls_max` threads of its own. Errors are values.
#ifndef COUNTER_CLIENTS_CLI_IMPORTER_H_
#define COUNTER_CLIENTS_CLI_IMPORTER_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <istream>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "clients/cli/import_ledger.h"
#include "clients/cli/import_line.h"
#include "clients/cpp/client.h"

namespace counter::cli {

class Importer {
 public:
  struct Options {
    ImportFormat format = ImportFormat::kCsv;
    int batch_lines_max = 1000;                   // Of one WriteLikes, which takes 1000 at most.
    int calls_max = 4;                            // At once.
    absl::Duration patience = absl::Minutes(10);  // With one batch.
    absl::Duration record_every = absl::Seconds(1);
  };
  // Called about five times a second with the bytes and the totals so far.
  using Progress = std::function<void(int64_t offset, const ImportTotals& totals)>;

  // One call: WriteLikes, or what does the same. Called from several threads at once.
  using Write = std::function<client::Result<client::WriteLikesReply>(
      const std::vector<client::Mutation>& mutations)>;
  // WriteLikes of the client, which is borrowed.
  static Write WriteLikesOf(const client::Client& client);

  // Borrows input and ledger; they must outlive it. `input` stands at ledger.offset().
  Importer(Write write, std::istream& input, ImportLedger& ledger, Options options);

  // The error that ended it early, or nothing: all lines were taken or refused.
  std::optional<client::Error> Run(const Progress& progress);

 private:
  struct Line {
    client::Mutation mutation;
    std::string text;
    int64_t number = 0;
  };
  struct Batch {
    int64_t number = 0;
    bool alone = false;  // Has an unlike.
    std::vector<Line> lines;
    ImportBatchEnd end;
  };

  void Work();
  // The next batch, when it may run; nothing at the end.
  std::optional<Batch> Next();
  Batch Read();
  // Until all lines are taken or refused; the error if patience ended.
  std::optional<client::Error> Apply(Batch& batch) const;

  const Write write_;
  std::istream& input_;
  ImportLedger& ledger_;
  const Options options_;

  std::mutex mutex_;  // Guards all below, the input and the ledger.
  std::condition_variable changed_;
  int64_t batches_ = 0;
  int64_t line_number_ = 0;
  int64_t offset_ = 0;
  int running_ = 0;
  bool alone_ = false;  // The batch that runs has to be alone.
  int workers_ = 0;
  std::optional<Batch> waiting_;  // Read, but may not run yet.
  std::optional<client::Error> error_;
};

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_IMPORTER_H_
