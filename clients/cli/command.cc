#include "clients/cli/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "clients/cli/output.h"
#include "clients/cpp/client.h"
#include "clients/cpp/health.h"

namespace counter::cli {
namespace {

using client::Item;

constexpr int kGrpcUnavailable = 14;
constexpr int kGrpcNotFound = 5;
// The most items that the service takes in one call; more are asked for in several.
constexpr size_t kItemsACall = 1000;

constexpr char kAbout[] = R"(counterctl: the like counter from the command line.

Examples:
  counterctl like 123 post:456             user 123 likes post 456
  counterctl unlike 123 post:456
  counterctl count post:456 reel:7         how many likes each has
  counterctl has-liked 123 post:456 reel:7
  counterctl count -o json post:456
  counterctl health --wait 10s             until the server takes calls

Answers go to stdout, complaints to stderr. Exit status: 0; 64 for a wrong
command line; 64 + the gRPC code for a call that failed (67 invalid argument,
68 deadline exceeded, 72 rate limited or overloaded, 78 unavailable).
)";

// What a command line came to.
struct Settings {
  std::string server = "127.0.0.1:50051";
  absl::Duration deadline = absl::Seconds(2);
  std::string request_id;
  Format format = Format::kTable;
  bool strong = false;
  int64_t user = 0;
  std::vector<Item> items;
  std::string health_service;
  absl::Duration health_wait = absl::ZeroDuration();
};

absl::Duration ParseDuration(const std::string& text) {
  absl::Duration duration;
  if (!absl::ParseDuration(text, &duration) || duration < absl::ZeroDuration())
    throw CLI::ValidationError(
        absl::StrCat("expected a duration as 10s or 500ms, got \"", text, "\""));
  return duration;
}

Item ParseItem(const std::string& text) {
  const size_t colon = text.find(':');
  Item item;
  if (colon == std::string::npos || colon == 0 ||
      !absl::SimpleAtoi(text.substr(colon + 1), &item.id))
    throw CLI::ValidationError(
        absl::StrCat("expected an item as TYPE:ID, for example post:456, got \"", text, "\""));
  item.type = text.substr(0, colon);
  return item;
}

// One run: the settings, and where its answer goes.
class Command {
 public:
  Command(const Settings& settings, std::ostream& out, std::ostream& err)
      : settings_(settings), out_(out), err_(err) {}

  int Like() { return Write(&client::Client::Like, "LIKED", "ALREADY_LIKED"); }
  int Unlike() { return Write(&client::Client::Unlike, "UNLIKED", "NOT_LIKED"); }
  int Count();
  int HasLiked();
  int Health();

 private:
  template <class Reply>
  int Write(client::Result<Reply> (client::Client::*write)(int64_t, const Item&,
                                                           const client::CallOptions&) const,
            const char* changed, const char* unchanged);
  // Calls `ask` for each part of the items that fits into a call, until one fails.
  int InParts(const std::function<int(const std::vector<Item>& part)>& ask);
  int Fail(const client::Error& error);

  client::Client Connect() const {
    return client::Client::Connect(
        {.target = settings_.server,
         .deadline = settings_.deadline,
         // Who typed the command wants to hear at once that nobody listens.
         .wait_for_ready = false,
         .user_agent = absl::StrCat("counterctl/", client::kVersion)});
  }
  client::CallOptions Call() const { return {.request_id = settings_.request_id}; }
  client::ReadOptions Read() const {
    return {.consistency =
                settings_.strong ? client::Consistency::kStrong : client::Consistency::kCached};
  }

  const Settings& settings_;
  std::ostream& out_;
  std::ostream& err_;
};

std::string Text(const Item& item) { return absl::StrCat(item.type, ":", item.id); }

std::string Text(client::Source source) {
  switch (source) {
    case client::Source::kCache:
      return "CACHE";
    case client::Source::kReplica:
      return "REPLICA";
    case client::Source::kPrimary:
      return "PRIMARY";
    case client::Source::kUnknown:
      break;
  }
  return "UNKNOWN";
}

std::string Text(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

int Command::Fail(const client::Error& error) {
  err_ << "counterctl: " << error.ToString() << '\n';
  return kExitUsage + error.grpc_code;
}

template <class Reply>
int Command::Write(client::Result<Reply> (client::Client::*write)(int64_t, const Item&,
                                                                  const client::CallOptions&) const,
                   const char* changed, const char* unchanged) {
  const Item& item = settings_.items.front();
  const client::Client client = Connect();
  const client::Result<Reply> reply = (client.*write)(settings_.user, item, Call());
  if (!reply.ok()) return Fail(reply.error());
  PrintRow({{"item", Text(item)},
            {"status", std::string(reply->changed ? changed : unchanged)},
            {"count", reply->count},
            {"consistency_token", reply->consistency_token}},
           settings_.format, out_);
  return 0;
}

int Command::InParts(const std::function<int(const std::vector<Item>& part)>& ask) {
  const std::vector<Item>& items = settings_.items;
  for (size_t begin = 0; begin < items.size(); begin += kItemsACall) {
    const size_t end = std::min(items.size(), begin + kItemsACall);
    const int failed = ask({items.begin() + static_cast<std::ptrdiff_t>(begin),
                            items.begin() + static_cast<std::ptrdiff_t>(end)});
    if (failed != 0) return failed;
  }
  return 0;
}

int Command::Count() {
  const client::Client client = Connect();
  std::vector<Row> rows;
  const int failed = InParts([&](const std::vector<Item>& part) {
    const client::Result<client::CountsReply> reply = client.Counts(part, Read(), Call());
    if (!reply.ok()) return Fail(reply.error());
    for (const client::ItemCount& count : reply->counts)
      rows.push_back({{"item", Text(count.item)},
                      {"count", count.count},
                      {"source", Text(count.source)},
                      {"as_of", Text(count.as_of)},
                      {"consistency_token", count.consistency_token}});
    return 0;
  });
  if (failed != 0) return failed;
  PrintRows(rows, settings_.format, out_);
  return 0;
}

int Command::HasLiked() {
  const client::Client client = Connect();
  std::vector<Row> rows;
  const int failed = InParts([&](const std::vector<Item>& part) {
    const client::Result<client::HasLikedReply> reply =
        client.HasLiked(settings_.user, part, Read(), Call());
    if (!reply.ok()) return Fail(reply.error());
    for (size_t i = 0; i < part.size(); ++i)
      rows.push_back({{"item", Text(part[i])}, {"liked", static_cast<bool>(reply->liked[i])}});
    return 0;
  });
  if (failed != 0) return failed;
  PrintRows(rows, settings_.format, out_);
  return 0;
}

int Command::Health() {
  const client::HealthProbe probe(settings_.server);
  const client::Result<client::Health> health =
      settings_.health_wait > absl::ZeroDuration()
          ? probe.WaitUntilServing(settings_.health_service, settings_.health_wait)
          : probe.Check(settings_.health_service, settings_.deadline);
  if (!health.ok()) return Fail(health.error());
  const auto answer = [this](const char* status, int code) {
    PrintRow({{"status", std::string(status)}}, settings_.format, out_);
    return code;
  };
  switch (*health) {
    case client::Health::kServing:
      return answer("SERVING", 0);
    case client::Health::kNotServing:
      return answer("NOT_SERVING", kExitUsage + kGrpcUnavailable);
    case client::Health::kServiceUnknown:
      break;
  }
  return answer("SERVICE_UNKNOWN", kExitUsage + kGrpcNotFound);
}

void AddUser(CLI::App& app, Settings& settings) {
  app.add_option("USER", settings.user, "The user's id, 1 to 2^63-1.")->required();
}

CLI::Option* AddItems(CLI::App& app, Settings& settings, const std::string& name) {
  return app
      .add_option_function<std::vector<std::string>>(
          name,
          [&settings](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) settings.items.push_back(ParseItem(text));
          },
          "TYPE:ID, for example post:456.")
      ->required();
}

void AddStrong(CLI::App& app, Settings& settings) {
  app.add_flag("--strong", settings.strong,
               "Read from the primary store: sees every write acknowledged before.");
}

void AddDuration(CLI::App& app, const std::string& name, absl::Duration& duration,
                 const std::string& help) {
  app.add_option_function<std::string>(
         name, [&duration](const std::string& text) { duration = ParseDuration(text); }, help)
      ->type_name("DURATION");
}

void AddGlobalOptions(CLI::App& app, Settings& settings) {
  app.set_version_flag("--version", absl::StrCat("counterctl ", client::kVersion));
  app.add_option("--server", settings.server, "Where the server listens.")
      ->envname("COUNTER_SERVER")
      ->capture_default_str()
      ->type_name("HOST:PORT");
  AddDuration(app, "--deadline", settings.deadline, "Of each call, retries included [2s].");
  app.add_option("--request-id", settings.request_id,
                 "Names the calls in the server's logs: 1 to 64 characters of [A-Za-z0-9._-].")
      ->type_name("TEXT");
  app.add_option("-o,--output", settings.format, "table or json [table].")
      ->transform(CLI::CheckedTransformer(std::vector<std::pair<std::string, Format>>{
                                              {"table", Format::kTable}, {"json", Format::kJson}})
                      .description(""))
      ->type_name("FORMAT");
}

}  // namespace

int Run(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  Settings settings;
  Command command(settings, out, err);
  CLI::App app(kAbout, "counterctl");
  app.require_subcommand(1);
  app.fallthrough();  // Options of all commands may also stand after the command.
  AddGlobalOptions(app, settings);

  CLI::App* like = app.add_subcommand("like", "A user likes an item.");
  AddUser(*like, settings);
  AddItems(*like, settings, "ITEM")->expected(1);
  CLI::App* unlike = app.add_subcommand("unlike", "A user takes a like back.");
  AddUser(*unlike, settings);
  AddItems(*unlike, settings, "ITEM")->expected(1);
  CLI::App* count = app.add_subcommand("count", "How many likes items have.");
  AddItems(*count, settings, "ITEM");
  AddStrong(*count, settings);
  CLI::App* has_liked = app.add_subcommand("has-liked", "Which items a user likes.");
  AddUser(*has_liked, settings);
  AddItems(*has_liked, settings, "ITEM");
  AddStrong(*has_liked, settings);
  CLI::App* health = app.add_subcommand("health", "Whether the server takes calls.");
  AddDuration(*health, "--wait", settings.health_wait, "Ask until it does, but not longer.");
  health->add_option("--service", settings.health_service,
                     "counter.v1.CounterService or liveness; the whole server if absent.");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    // Help and version are "errors" of code 0.
    return app.exit(wrong, out, err) == 0 ? 0 : kExitUsage;
  }
  if (like->parsed()) return command.Like();
  if (unlike->parsed()) return command.Unlike();
  if (count->parsed()) return command.Count();
  if (has_liked->parsed()) return command.HasLiked();
  return command.Health();
}

}  // namespace counter::cli
