#include "clients/cli/check_command.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "clients/cli/admin_client.h"
#include "clients/cli/exit_status.h"

namespace counter::cli {
namespace {

namespace v1 = counter::admin::v1;

// Between two askings.
constexpr absl::Duration kPause = absl::Milliseconds(200);

// "COPY_LAYER_REDIS" is redis.
std::string Short(std::string name, const char* prefix) {
  name.erase(0, std::string(prefix).size());
  return absl::AsciiStrToLower(name);
}
std::string NameOf(v1::CopyLayer layer) { return Short(v1::CopyLayer_Name(layer), "COPY_LAYER_"); }
std::string NameOf(v1::CopyResult result) {
  return Short(v1::CopyResult_Name(result), "COPY_RESULT_");
}
std::string NameOf(const counter::v1::Item& item) {
  return absl::StrCat(item.item_type(), ":", item.item_id());
}
std::string LayerOf(const v1::CounterCopy& copy) {
  return copy.replica() > 0 ? absl::StrCat(NameOf(copy.layer()), " ", copy.replica())
                            : NameOf(copy.layer());
}
std::string DigestOf(const v1::CounterCopy& copy) {
  return copy.has_digest() ? absl::StrFormat("%016x", copy.digest()) : "";
}

bool Has(const v1::CheckedItem& item, v1::CopyResult result) {
  return std::any_of(item.copies().begin(), item.copies().end(),
                     [&](const v1::CounterCopy& copy) { return copy.result() == result; });
}

bool HasAny(const v1::CheckResponse& response, v1::CopyResult result) {
  return std::any_of(response.items().begin(), response.items().end(),
                     [&](const v1::CheckedItem& item) { return Has(item, result); });
}

std::vector<Row> RowsOf(const v1::CheckResponse& response) {
  std::vector<Row> rows;
  for (const v1::CheckedItem& item : response.items()) {
    for (const v1::CounterCopy& copy : item.copies()) {
      rows.push_back({{"item", NameOf(item.item())},
                      {"layer", LayerOf(copy)},
                      {"result", NameOf(copy.result())},
                      {"version", copy.version()},
                      {"count", copy.count()},
                      {"digest", DigestOf(copy)}});
    }
  }
  return rows;
}

void SayDiverging(const v1::CheckedItem& item, const std::string& when, std::ostream& err) {
  err << "counterctl: " << NameOf(item.item()) << " diverges" << when << ":";
  for (const v1::CounterCopy& copy : item.copies()) {
    err << "\ncounterctl:   " << LayerOf(copy) << " " << NameOf(copy.result()) << ": count "
        << copy.count() << ", version " << copy.version();
    if (copy.has_digest()) err << ", digest " << DigestOf(copy);
  }
  err << '\n';
}

// A line for each layer and age of the samples: "redis after 1 s: 57 equal, 1 behind".
void SaySamples(const v1::CheckResponse& response, std::ostream& err) {
  err << "counterctl: " << response.writes_sampled()
      << " writes were sampled since the server started\n";
  std::map<std::pair<int, int64_t>, std::vector<std::string>> found;
  for (const v1::CheckTally& tally : response.tallies()) {
    found[{tally.layer(), tally.age_milliseconds()}].push_back(
        absl::StrCat(tally.copies(), " ", NameOf(tally.result())));
  }
  for (const auto& [place, results] : found) {
    const auto layer = static_cast<v1::CopyLayer>(place.first);
    err << "counterctl:   " << NameOf(layer) << " after "
        << absl::FormatDuration(absl::Milliseconds(place.second)) << ": "
        << absl::StrJoin(results, ", ") << '\n';
  }
}

}  // namespace

int RunCheck(const AdminSettings& admin, const CheckSettings& settings,
             const std::vector<client::Item>& items, Format format, std::ostream& out,
             std::ostream& err) {
  const AdminClient client(admin.server, admin.credentials, admin.page_deadline, admin.patience);
  v1::CheckRequest request;
  for (const client::Item& item : items) {
    counter::v1::Item& asked = *request.add_items();
    asked.set_item_type(item.type);
    asked.set_item_id(item.id);
  }
  const absl::Time until = absl::Now() + settings.wait;
  while (true) {
    const client::Result<v1::CheckResponse> response =
        client.Call<v1::CheckRequest, v1::CheckResponse>(&AdminClient::Stub::Check, request);
    if (!response.ok()) {
      err << "counterctl: " << response.error().ToString() << '\n';
      return kExitUsage + response.error().grpc_code;
    }
    const bool may_pass =
        HasAny(*response, v1::COPY_RESULT_BEHIND) || HasAny(*response, v1::COPY_RESULT_AHEAD);
    if (may_pass && absl::Now() + kPause < until) {
      absl::SleepFor(kPause);
      continue;
    }
    PrintRows(RowsOf(*response), format, out);
    const bool diverges_now = HasAny(*response, v1::COPY_RESULT_DIVERGED);
    for (const v1::CheckedItem& item : response->items()) {
      if (!Has(item, v1::COPY_RESULT_DIVERGED)) continue;
      SayDiverging(item, "", err);
      break;
    }
    if (!items.empty()) return diverges_now ? kExitDrift : 0;
    SaySamples(*response, err);
    if (response->has_first_diverging()) {
      const absl::Time found = absl::FromUnixSeconds(response->first_diverging_time().seconds());
      SayDiverging(response->first_diverging(),
                   absl::StrCat(", first of the samples, at ",
                                absl::FormatTime(absl::RFC3339_sec, found, absl::UTCTimeZone())),
                   err);
    }
    return diverges_now || response->has_first_diverging() ? kExitDrift : 0;
  }
}

}  // namespace counter::cli
