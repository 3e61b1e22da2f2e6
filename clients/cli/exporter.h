// Exporter: gets the likes of users by ListLikes, page after page, and writes them as lines that an
// import reads.
//
// It holds a page. It may be killed at any time and run again: it goes on where ExportLedger
// recorded, in the middle of a user if need be.
//
// What the server cannot answer now is tried again for as long as `patience`; users that it never
// takes go to the errors file.
//
// Threads: Run blocks. Errors are values.
#ifndef COUNTER_CLIENTS_CLI_EXPORTER_H_
#define COUNTER_CLIENTS_CLI_EXPORTER_H_

#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "clients/cli/export_ledger.h"
#include "clients/cli/import_line.h"
#include "clients/cpp/client.h"

namespace counter::cli {

class Exporter {
 public:
  struct Options {
    ImportFormat format = ImportFormat::kCsv;
    std::vector<std::string> item_types = {};     // None: all.
    int page_likes_max = 1000;                    // Of one ListLikes, which gives 1000 at most.
    absl::Duration patience = absl::Minutes(10);  // With one page.
    absl::Duration record_every = absl::Seconds(1);
  };
  // Called after each page.
  using Progress = std::function<void(const ExportTotals& totals)>;

  // Borrows all but the options; they must outlive it. `users` has one id a line, and stands at its
  // begin.
  Exporter(const client::Client& client, std::istream& users, ExportLedger& ledger, Options options)
      : client_(client), users_(users), ledger_(ledger), options_(std::move(options)) {}

  // The error that ended it early, or nothing: all users were exported or refused.
  std::optional<client::Error> Run(const Progress& progress);

 private:
  // Goes to the line that is not done.
  std::optional<client::Error> Skip();
  std::optional<client::Error> Export(int64_t user, const std::string& line,
                                      const Progress& progress);
  client::Result<client::LikesReply> GetPage(int64_t user, const std::string& token) const;
  std::string Lines(int64_t user, const std::vector<client::LikedItem>& likes) const;
  std::optional<client::Error> RecordNowAndThen();

  const client::Client& client_;
  std::istream& users_;
  ExportLedger& ledger_;
  const Options options_;
  absl::Time recorded_ = absl::InfinitePast();
};

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_EXPORTER_H_
