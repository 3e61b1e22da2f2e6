#include "clients/cli/command.h"

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "clients/cli/commands.h"
#include "clients/cli/completion.h"
#include "clients/cli/contexts.h"
#include "clients/cli/exit_status.h"
#include "clients/cli/output.h"
#include "clients/cpp/client.h"

namespace counter::cli {
namespace {

constexpr char kServer[] = "127.0.0.1:50051";

constexpr char kAbout[] = R"(counterctl: the like counter from the command line.

Examples:
  counterctl like 123 post:456             user 123 likes post 456
  counterctl unlike 123 post:456
  counterctl count post:456 reel:7         how many likes each has
  counterctl has-liked 123 post:456 reel:7
  counterctl watch post:456 reel:7         a line for each new count
  counterctl count -o json --file items.txt
                                           one TYPE:ID a line; - is stdin
  counterctl import likes.csv              user_id,item_type,item_id[,action]; may
                                           be killed, and run again it goes on
  counterctl export 123 --to likes.csv     what a user likes, as import reads it
  counterctl bench --rate 500 --duration 10s
                                           reads at a fixed rate; percentiles
  counterctl bench --mix WriteLikes --yes  writes, too; taken back at the end
  counterctl check post:456                what caches, replicas and the store say;
                                           exit status 1 if two disagree
  counterctl admin audit                   recounts all likes; exit status 1 if a
                                           counter differs from them
  counterctl admin repair                  corrects such counters; callers go on
  counterctl admin erase-user 123 --yes    takes back all likes of a user
  counterctl admin delete-item post:456 --yes
                                           takes back all likes of an item
  counterctl admin import likes.csv        as import, and charges no rate limit
  counterctl verify --yes --duration 1m    likes and unlikes of its own: was every
                                           answer true? exit status 1 if not
  counterctl health --wait 10s             until the server takes calls
  counterctl status                        one look at the server
  counterctl context set prod dns:///counter.example:50051
  counterctl completion bash > /etc/bash_completion.d/counterctl

Answers go to stdout, complaints to stderr. Exit status: 0; 1 for an audit or
check that found something; 64 for a wrong command line; 64 + the gRPC code for a call that failed (67 invalid argument,
68 deadline exceeded, 72 rate limited or overloaded, 78 unavailable).
)";

// The lines of kAbout that show a command.
std::string ExamplesOf(const std::string& command) {
  std::string examples;
  bool shown = false;
  for (const absl::string_view line : absl::StrSplit(kAbout, '\n')) {
    if (absl::StartsWith(line, "  counterctl "))
      shown = absl::StartsWith(line, absl::StrCat("  counterctl ", command, " "));
    else
      shown = shown && absl::StartsWith(line, "   ");  // It goes on.
    if (shown) absl::StrAppend(&examples, line, "\n");
  }
  return examples.empty() ? "" : absl::StrCat("\nExamples:\n", examples);
}

// The help of a command begins with its examples, as that of the program does.
class ExamplesFirst : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override {
    return absl::StrCat(CLI::Formatter::make_description(app), ExamplesOf(app->get_name()));
  }
};

absl::Duration ParseDuration(const std::string& text) {
  absl::Duration duration;
  if (!absl::ParseDuration(text, &duration) || duration < absl::ZeroDuration())
    throw CLI::ValidationError(
        absl::StrCat("expected a duration as 10s or 500ms, got \"", text, "\""));
  return duration;
}

Item ItemOf(const std::string& text) {
  Item item;
  if (!ParseItem(text, item))
    throw CLI::ValidationError(
        absl::StrCat("expected an item as TYPE:ID, for example post:456, got \"", text, "\""));
  return item;
}

void AddUser(CLI::App& app, Settings& settings) {
  app.add_option("USER", settings.user, "The user's id, 1 to 2^63-1.")->required();
}

// Adds the items of the file that was named, if one was.
void ReadItems(Settings& settings) {
  if (settings.items_file.empty()) return;
  std::ifstream file;
  const bool from_stdin = settings.items_file == "-";
  if (!from_stdin) file.open(settings.items_file);
  if (!from_stdin && !file)
    throw CLI::ValidationError(absl::StrCat("cannot read ", settings.items_file));
  std::istream& lines = from_stdin ? std::cin : file;
  for (std::string line; std::getline(lines, line);) {
    const std::string text(absl::StripAsciiWhitespace(line));
    if (!text.empty()) settings.items.push_back(ItemOf(text));
  }
}

CLI::Option* AddItems(CLI::App& app, Settings& settings, const std::string& name) {
  return app.add_option_function<std::vector<std::string>>(
      name,
      [&settings](const std::vector<std::string>& texts) {
        for (const std::string& text : texts) settings.items.push_back(ItemOf(text));
      },
      "TYPE:ID, for example post:456.");
}

// Items in the command line, in a file, or both.
void AddManyItems(CLI::App& app, Settings& settings) {
  AddItems(app, settings, "ITEM");
  app.add_option("--file", settings.items_file, "One TYPE:ID a line; - is standard input.")
      ->type_name("FILE");
  app.callback([&settings] {
    ReadItems(settings);
    if (settings.items.empty()) throw CLI::RequiredError("ITEM or --file");
  });
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

void AddSecurityOptions(CLI::App& app, ChannelSecurity& security) {
  app.add_flag("--tls", security.tls, "Speak TLS; --ca and --certificate say so, too.")
      ->envname("COUNTER_TLS");
  const auto add_file = [&app](const char* name, std::string& file, const char* variable,
                               const char* help) {
    app.add_option(name, file, help)->envname(variable)->type_name("FILE");
  };
  add_file("--ca", security.ca_file, "COUNTER_CA_FILE",
           "Who may sign the server's certificate, in PEM [the system's authorities].");
  add_file("--certificate", security.certificate_file, "COUNTER_CERTIFICATE_FILE",
           "Your certificate, in PEM, where the server wants one.");
  add_file("--key", security.key_file, "COUNTER_KEY_FILE", "Its key.");
  add_file("--token-file", security.token_file, "COUNTER_TOKEN_FILE",
           "Your bearer token, sent over TLS only [COUNTER_TOKEN].");
}

void AddGlobalOptions(CLI::App& app, Settings& settings) {
  app.set_version_flag("--version", absl::StrCat("counterctl ", client::kVersion));
  app.add_option("--server", settings.server,
                 "Where the server listens [the current context, or 127.0.0.1:50051].")
      ->envname("COUNTER_SERVER")
      ->type_name("HOST:PORT");
  app.add_option("--context", settings.context_name, "The context whose server it is.")
      ->type_name("NAME");
  AddSecurityOptions(app, settings.security);
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

// The server of --server, COUNTER_SERVER, --context or the current context, in this order. What is
// wrong, or empty.
std::string ChooseServer(const std::string& context, Settings& settings) {
  if (!settings.server.empty()) return "";
  settings.server = kServer;
  Contexts contexts;
  std::string fault = ReadContexts(ContextsPath(), contexts);
  if (!fault.empty()) return fault;
  const std::string& name = context.empty() ? contexts.current : context;
  const auto found = contexts.servers.find(name);
  if (found != contexts.servers.end())
    settings.server = found->second;
  else if (!name.empty())
    fault = absl::StrCat("no context ", name);
  return fault;
}

void AddImportFiles(CLI::App& app, Settings& settings) {
  ImportSettings& import = settings.import;
  app.add_option("FILE", import.file, "The file; - is standard input.")->required();
  app.add_option("--format", import.format, "csv or json [by the name of the file].")
      ->check(CLI::IsMember({"csv", "json"}).description(""))
      ->type_name("FORMAT");
  app.add_option("--errors", import.errors, "Where refused lines go [FILE.errors].")
      ->type_name("FILE");
}

void AddImportOptions(CLI::App& app, Settings& settings) {
  ImportSettings& import = settings.import;
  AddImportFiles(app, settings);
  app.add_option("--calls", import.options.calls_max, "How many at once [4].")
      ->check(CLI::Range(1, 64).description(""))
      ->type_name("NUMBER");
  AddDuration(app, "--patience", import.options.patience,
              "How long to try what the server cannot take now [10m].");
}

void AddExportOptions(CLI::App& app, Settings& settings) {
  ExportSettings& options = settings.export_;
  app.add_option("USER", options.users, "Ids of users, 1 to 2^63-1.")->check(CLI::PositiveNumber);
  app.add_option("--file", options.users_file, "One user a line; - is standard input.")
      ->type_name("FILE");
  app.add_option("--to", options.to, "Where likes go [standard output].")->type_name("FILE");
  app.add_option("--format", options.format, "csv or json [by the name of the file].")
      ->check(CLI::IsMember({"csv", "json"}).description(""))
      ->type_name("FORMAT");
  app.add_option("--item-types", options.options.item_types,
                 "Only likes of these, with commas between [all].")
      ->delimiter(',')
      ->type_name("TYPES");
  app.add_option("--errors", options.errors, "Where refused users go [TO.errors].")
      ->type_name("FILE");
  AddDuration(app, "--patience", options.options.patience,
              "How long to try what the server cannot answer now [10m].");
  app.callback([&options] {
    if (options.users.empty() == options.users_file.empty())
      throw CLI::RequiredError("either USER or --file");
  });
}

void AddBenchOptions(CLI::App& app, Settings& settings) {
  load::Workload::Settings& workload = settings.bench.workload;
  load::LoadGenerator::Options& load = settings.bench.load;
  app.add_option("--mix", workload.calls,
                 "Like, Unlike, WriteLikes, GetCount, BatchGetCounts or HasLiked; several as "
                 "METHOD=WEIGHT,... [GetCount].")
      ->type_name("METHODS");
  app.add_option("--rate", load.rate,
                 "Calls a second, whatever the server does (open loop) [0: the next call when one "
                 "ends].")
      ->check(CLI::Range(0.0, 1e6).description(""))
      ->type_name("NUMBER");
  app.add_option("--in-flight", load.in_flight, "Without --rate: calls at once [16].")
      ->check(CLI::Range(1, 10'000).description(""))
      ->type_name("NUMBER");
  AddDuration(app, "--duration", load.duration, "What is measured [5s].");
  AddDuration(app, "--connect-max", load.connect_max, "How long to wait for a connection [10s].");
  AddDuration(app, "--warm-up", load.warm_up, "What comes before it [1s].");
  app.add_option("--items", workload.items, "hot, uniform:N or zipf:N [zipf:10000].")
      ->type_name("DRAW");
  app.add_option("--item-type", workload.item_type, "Of the items [post].")->type_name("TYPE");
  app.add_option("--batch", workload.batch, "Mutations or items of a batch call [100].")
      ->check(CLI::Range(1, 1000).description(""))
      ->type_name("NUMBER");
  app.add_option("--connections", load.channels, "Connections [1].")
      ->check(CLI::Range(1, 1000).description(""))
      ->type_name("NUMBER");
  app.add_flag("--yes", settings.bench.yes, "Calls that write are wanted.");
  app.add_flag("--keep", settings.bench.keep, "Do not take the likes back.");
}

void AddVerifyOptions(CLI::App& app, Settings& settings) {
  VerifySettings& verify = settings.verify;
  AddDuration(app, "--duration", verify.duration, "How long to like and unlike [10s].");
  app.add_option("--workers", verify.load.workers, "Calls at once [8].")
      ->check(CLI::Range(1, 64).description(""))
      ->type_name("NUMBER");
  AddDuration(app, "--pause", verify.load.pause_max,
              "The most that each of them waits before a call [8ms].");
  app.add_option("--item-type", verify.load.item_type, "Of the items [post].")->type_name("TYPE");
  AddDuration(app, "--cached-bound", verify.bounds.cached, "How old a cached read may be [5s].");
  app.add_option("--seed", verify.load.seed, "Which calls are made [by chance].")
      ->type_name("NUMBER");
  app.add_flag("--yes", verify.yes, "Writes are wanted.");
  app.add_flag("--keep", verify.keep, "Do not take the likes back.");
}

std::vector<CompletionWord> CommandWords(const CLI::App& app) {
  std::vector<CompletionWord> words;
  for (const CLI::App* command : app.get_subcommands({}))
    words.push_back({command->get_name(), command->get_description()});
  return words;
}

// The long options of the program and of all its commands, each once.
std::vector<CompletionWord> OptionWords(const CLI::App& app) {
  std::map<std::string, std::string> options;
  std::vector<const CLI::App*> apps = {&app};
  for (const CLI::App* command : app.get_subcommands({})) apps.push_back(command);
  for (const CLI::App* one : apps) {
    for (const CLI::Option* option : one->get_options()) {
      for (const std::string& name : option->get_lnames())
        options.emplace("--" + name, option->get_description());
    }
  }
  std::vector<CompletionWord> words;
  for (const auto& [name, help] : options) words.push_back({name, help});
  return words;
}

// The commands of contexts, by the name of each.
void AddContextCommands(CLI::App& context, Settings& settings, Command& command, int& status) {
  context.require_subcommand(1);
  context.fallthrough();
  const auto add = [&](const char* name, const char* help, int (Command::*run)() const) {
    CLI::App* one = context.add_subcommand(name, help);
    one->fallthrough();
    one->final_callback([&command, &status, run] { status = (command.*run)(); });
    return one;
  };
  add("list", "All of them.", &Command::ListContexts);
  CLI::App* set = add("set", "Makes or changes one.", &Command::SetContext);
  CLI::App* use = add("use", "Makes one the current.", &Command::UseContext);
  CLI::App* erase = add("delete", "Forgets one.", &Command::DeleteContext);
  for (CLI::App* one : {set, use, erase})
    one->add_option("NAME", settings.context_name, "Its name.")->required();
  set->add_option("SERVER", settings.context_server, "Where its server listens.")->required();
}

void AddAdminServer(CLI::App& app, AdminSettings& options) {
  app.add_option("--admin-server", options.server,
                 "Where AdminService listens, the server's ADMIN_LISTEN [127.0.0.1:50052].")
      ->envname("COUNTER_ADMIN_SERVER")
      ->type_name("HOST:PORT");
  AddDuration(app, "--patience", options.patience,
              "How long to try what the server cannot take now [10m].");
}

void AddCheckOptions(CLI::App& check, Settings& settings) {
  AddAdminServer(check, settings.admin);
  AddItems(check, settings, "ITEM");
  check.add_option("--file", settings.items_file, "One TYPE:ID a line; - is standard input.")
      ->type_name("FILE");
  AddDuration(check, "--wait", settings.check.wait,
              "How long to ask again while a copy is behind or ahead [2s].");
  check.callback([&settings] { ReadItems(settings); });
}

// The commands of operators, by the name of each.
void AddAdminCommands(CLI::App& admin, Settings& settings, Command& command, int& status) {
  AdminSettings& options = settings.admin;
  admin.require_subcommand(1);
  admin.fallthrough();
  AddAdminServer(admin, options);
  AddDuration(admin, "--page-deadline", options.page_deadline, "Of one page [10m].");
  const auto add = [&](const char* name, const char* help, int (Command::*run)() const) {
    CLI::App* one = admin.add_subcommand(name, help);
    one->fallthrough();
    one->final_callback([&settings, &command, &status, run] {
      const std::string fault =
          MakeChannelCredentials(settings.security, settings.admin.credentials);
      if (!fault.empty()) throw CLI::ValidationError(fault);
      status = (command.*run)();
    });
    return one;
  };
  CLI::App* audit = add("audit", "Which counters differ from their likes.", &Command::AdminAudit);
  CLI::App* repair = add("repair", "Corrects the counters that differ.", &Command::AdminRepair);
  for (CLI::App* one : {audit, repair}) {
    one->add_option("--page-items", options.items_max, "Items of one page [100000].")
        ->check(CLI::Range(1, 1'000'000).description(""))
        ->type_name("NUMBER");
  }
  CLI::App* erase = add("erase-user", "Takes back all likes of a user.", &Command::AdminEraseUser);
  AddUser(*erase, settings);
  CLI::App* remove =
      add("delete-item", "Takes back all likes of an item.", &Command::AdminDeleteItem);
  AddItems(*remove, settings, "ITEM")->required()->expected(1);
  for (CLI::App* one : {erase, remove})
    one->add_flag("--yes", options.yes, "It is wanted: it cannot be undone.");
  for (CLI::App* one : {audit, repair, remove})
    one->add_option("--page-token", options.page_token, "Where to go on.")->type_name("TOKEN");
  CLI::App* import =
      add("import", "Likes and unlikes from a file; charges nobody.", &Command::AdminImport);
  AddImportFiles(*import, settings);
}

int RunOnAdminServer(Settings& settings, const Command& command, std::ostream& err) {
  const std::string fault = MakeChannelCredentials(settings.security, settings.admin.credentials);
  if (fault.empty()) return command.Check();
  err << "counterctl: " << fault << '\n';
  return kExitUsage;
}

}  // namespace

int Run(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  Settings settings;
  Command command(settings, out, err);
  CLI::App app(kAbout, "counterctl");
  app.formatter(std::make_shared<ExamplesFirst>());
  app.require_subcommand(1);
  app.fallthrough();  // Options of all commands may also stand after the command.
  AddGlobalOptions(app, settings);

  CLI::App* like = app.add_subcommand("like", "A user likes an item.");
  AddUser(*like, settings);
  AddItems(*like, settings, "ITEM")->required()->expected(1);
  CLI::App* unlike = app.add_subcommand("unlike", "A user takes a like back.");
  AddUser(*unlike, settings);
  AddItems(*unlike, settings, "ITEM")->required()->expected(1);
  CLI::App* count = app.add_subcommand("count", "How many likes items have.");
  AddManyItems(*count, settings);
  AddStrong(*count, settings);
  CLI::App* has_liked = app.add_subcommand("has-liked", "Which items a user likes.");
  AddUser(*has_liked, settings);
  AddManyItems(*has_liked, settings);
  AddStrong(*has_liked, settings);
  CLI::App* watch = app.add_subcommand("watch", "Counts as they change, until it is ended.");
  AddManyItems(*watch, settings);
  watch->add_option("--lines", settings.watch.counts_max, "End after so many [0: never].")
      ->check(CLI::NonNegativeNumber.description(""))
      ->type_name("NUMBER");
  AddDuration(*watch, "--patience", settings.watch.patience,
              "How long to try a server that cannot be watched now [10m].");
  CLI::App* health = app.add_subcommand("health", "Whether the server takes calls.");
  AddDuration(*health, "--wait", settings.health_wait, "Ask until it does, but not longer.");
  health->add_option("--service", settings.health_service,
                     "counter.v1.CounterService, calls or liveness; readiness if absent.");
  CLI::App* status = app.add_subcommand("status", "One look at the server.");
  CLI::App* import = app.add_subcommand("import", "Likes and unlikes from a file.");
  AddImportOptions(*import, settings);
  CLI::App* export_ = app.add_subcommand("export", "The likes of users, as import reads them.");
  AddExportOptions(*export_, settings);
  CLI::App* bench = app.add_subcommand("bench", "A short load; latencies, rates, failures.");
  AddBenchOptions(*bench, settings);
  AddStrong(*bench, settings);
  CLI::App* verify = app.add_subcommand("verify", "Whether the contract holds, by a judged load.");
  AddVerifyOptions(*verify, settings);
  int context_status = 0;
  CLI::App* context = app.add_subcommand("context", "Names for servers.");
  AddContextCommands(*context, settings, command, context_status);
  CLI::App* check = app.add_subcommand("check", "Whether all layers say the same of counts.");
  AddCheckOptions(*check, settings);
  int admin_status = 0;
  CLI::App* admin = app.add_subcommand("admin", "What operators do: audit, repair, erase, import.");
  AddAdminCommands(*admin, settings, command, admin_status);
  std::string shell;
  CLI::App* completion = app.add_subcommand("completion", "A script for bash, zsh or fish.");
  completion->add_option("SHELL", shell, "bash, zsh or fish.")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    // Help and version are "errors" of code 0.
    return app.exit(wrong, out, err) == 0 ? 0 : kExitUsage;
  }
  if (context->parsed()) return context_status;
  if (admin->parsed()) return admin_status;
  if (completion->parsed()) {
    out << CompletionScript(shell, CommandWords(app), OptionWords(app));
    return 0;
  }
  if (check->parsed()) return RunOnAdminServer(settings, command, err);
  std::string fault = ChooseServer(settings.context_name, settings);
  if (fault.empty()) fault = MakeChannelCredentials(settings.security, settings.credentials);
  if (!fault.empty()) {
    err << "counterctl: " << fault << '\n';
    return kExitUsage;
  }
  if (like->parsed()) return command.Like();
  if (unlike->parsed()) return command.Unlike();
  if (count->parsed()) return command.Count();
  if (has_liked->parsed()) return command.HasLiked();
  if (watch->parsed()) return command.Watch();
  if (status->parsed()) return command.Status();
  if (import->parsed()) return command.Import();
  if (export_->parsed()) return command.Export();
  if (bench->parsed()) return command.Bench();
  if (verify->parsed()) return command.Verify();
  return command.Health();
}

}  // namespace counter::cli
