#include "clients/cli/watch_command.h"

#include <map>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "clients/cli/exit_status.h"
#include "clients/cli/patience.h"
#include "clients/cpp/watch.h"

namespace counter::cli {

int RunWatch(const client::Client& client, const std::vector<client::Item>& items,
             const WatchSettings& settings, Format format, std::ostream& out, std::ostream& err) {
  std::map<std::string, std::string> tokens;  // The newest of each item.
  int64_t shown = 0;
  std::optional<Pauses> pauses(settings.patience);
  while (true) {
    std::vector<std::string> known;
    for (const auto& [item, token] : tokens) known.push_back(token);
    // Its own patience is the operator's, who sees the pauses.
    client::Watch watch =
        client.WatchCounts(items, {.consistency_tokens = known, .resumes = false});
    client::Result<client::CountsUpdate> update = watch.Next();
    for (; update.ok(); update = watch.Next()) {
      pauses.emplace(settings.patience);
      for (const client::ItemCount& count : update->counts) {
        const std::string item = absl::StrCat(count.item.type, ":", count.item.id);
        tokens[item] = count.consistency_token;
        if (format == Format::kJson) {
          PrintRow({{"item", item},
                    {"count", count.count},
                    {"consistency_token", count.consistency_token}},
                   format, out);
        } else {
          out << item << "  " << count.count << '\n';
        }
        if (++shown == settings.counts_max) break;
      }
      out.flush();
      if (settings.counts_max != 0 && shown >= settings.counts_max) return 0;
    }
    const client::Error& ended = update.error();
    if (ended.kind == client::ErrorKind::kOutOfRange && !tokens.empty()) {
      err << "counterctl: the store has another history; its counts follow\n";
      tokens.clear();
      continue;
    }
    if (!MayPass(ended.kind) || !pauses->Wait(ended)) {
      err << "counterctl: " << ended.ToString() << '\n';
      return kExitUsage + ended.grpc_code;
    }
  }
}

}  // namespace counter::cli
