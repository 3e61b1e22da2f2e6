#include "clients/cli/admin_command.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/admin_client.h"
#include "clients/cli/exit_status.h"

namespace counter::cli {
namespace {

namespace v1 = counter::admin::v1;

// Rows that are kept to be printed; of more only the number is said.
constexpr size_t kRowsMax = 10'000;

AdminClient ClientOf(const AdminSettings& settings) {
  return AdminClient(settings.server, settings.credentials, settings.page_deadline,
                     settings.patience);
}

std::string NameOf(const counter::v1::Item& item) {
  return absl::StrCat(item.item_type(), ":", item.item_id());
}

std::string Hex(uint64_t digest) { return absl::StrFormat("%016x", digest); }

Row RowOf(const v1::Finding& finding) {
  return {{"item", NameOf(finding.item())},
          {"stored_count", finding.stored_count()},
          {"actual_count", finding.actual_count()},
          {"stored_digest", Hex(finding.stored_digest())},
          {"actual_digest", Hex(finding.actual_digest())}};
}

int Fail(const client::Error& error, const std::string& page_token, const std::string& again,
         std::ostream& err) {
  err << "counterctl: " << error.ToString() << '\n';
  if (page_token.empty()) {
    err << "counterctl: run the same command again to go on\n";
  } else {
    err << "counterctl: to go on: " << again << " --page-token " << page_token << '\n';
  }
  return kExitUsage + error.grpc_code;
}

int Unwanted(const std::string& what, std::ostream& err) {
  err << "counterctl: this takes back all likes of " << what
      << " and cannot be undone; say --yes if that is wanted\n";
  return kExitUsage;
}

counter::v1::Mutation MessageOf(const client::Mutation& mutation) {
  counter::v1::Mutation message;
  message.set_user_id(mutation.user_id);
  message.mutable_item()->set_item_type(mutation.item.type);
  message.mutable_item()->set_item_id(mutation.item.id);
  message.set_action(mutation.action == client::Action::kLike ? counter::v1::ACTION_LIKE
                                                              : counter::v1::ACTION_UNLIKE);
  return message;
}

client::Result<client::Applied> ResultOf(const counter::v1::MutationResult& result) {
  if (result.has_error()) return client::DecodeError(result.error(), "");
  const bool changed = result.outcome() == counter::v1::OUTCOME_LIKED ||
                       result.outcome() == counter::v1::OUTCOME_UNLIKED;
  return client::Applied{changed, result.count(), result.consistency_token()};
}

}  // namespace

int RunAudit(const AdminSettings& settings, Format format, std::ostream& out, std::ostream& err) {
  const AdminClient client = ClientOf(settings);
  v1::AuditRequest request;
  request.set_items_max(settings.items_max);
  request.set_page_token(settings.page_token);
  int64_t items = 0;
  int64_t differ = 0;
  std::vector<Row> rows;
  do {
    const client::Result<v1::AuditResponse> page =
        client.Call<v1::AuditRequest, v1::AuditResponse>(&AdminClient::Stub::Audit, request);
    if (!page.ok()) {
      PrintRows(rows, format, out);
      return Fail(page.error(), request.page_token(), "counterctl admin audit", err);
    }
    if (differ == 0 && page->findings_size() > 0) {
      const v1::Finding& first = page->findings(0);
      err << "counterctl: " << NameOf(first.item()) << " differs: its counter says "
          << first.stored_count() << " likes, digest " << Hex(first.stored_digest()) << "; it has "
          << first.actual_count() << ", digest " << Hex(first.actual_digest()) << '\n';
    }
    items += page->items_checked();
    differ += page->findings_total();
    for (const v1::Finding& finding : page->findings()) {
      if (rows.size() < kRowsMax) rows.push_back(RowOf(finding));
    }
    err << "counterctl: " << items << " items recounted, " << differ << " differ\n";
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  PrintRows(rows, format, out);
  if (static_cast<int64_t>(rows.size()) < differ) {
    err << "counterctl: " << differ - static_cast<int64_t>(rows.size()) << " are not shown\n";
  }
  return differ == 0 ? 0 : kExitDrift;
}

int RunRepair(const AdminSettings& settings, Format format, std::ostream& out, std::ostream& err) {
  const AdminClient client = ClientOf(settings);
  v1::RepairRequest request;
  request.set_items_max(settings.items_max);
  request.set_page_token(settings.page_token);
  int64_t repaired = 0;
  std::vector<Row> rows;
  do {
    const client::Result<v1::RepairResponse> page =
        client.Call<v1::RepairRequest, v1::RepairResponse>(&AdminClient::Stub::Repair, request);
    if (!page.ok()) {
      PrintRows(rows, format, out);
      return Fail(page.error(), request.page_token(), "counterctl admin repair", err);
    }
    for (const v1::RepairedCounter& counter : page->repaired()) {
      ++repaired;
      if (rows.size() == kRowsMax) continue;
      Row row = RowOf(counter.finding());
      row.emplace_back("count_now", counter.count());
      rows.push_back(std::move(row));
    }
    err << "counterctl: " << page->items_checked() << " items recounted, " << repaired
        << " repaired in all\n";
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  PrintRows(rows, format, out);
  return 0;
}

int RunEraseUser(const AdminSettings& settings, int64_t user, Format format, std::ostream& out,
                 std::ostream& err) {
  if (!settings.yes) return Unwanted(absl::StrCat("user ", user), err);
  const AdminClient client = ClientOf(settings);
  v1::EraseUserRequest request;
  request.set_user_id(user);
  int64_t removed = 0;
  bool done = false;
  while (!done) {
    const client::Result<v1::EraseUserResponse> part =
        client.Call<v1::EraseUserRequest, v1::EraseUserResponse>(&AdminClient::Stub::EraseUser,
                                                                 request);
    if (!part.ok()) return Fail(part.error(), "", "", err);
    removed += part->likes_removed();
    done = part->done();
    if (!done) err << "counterctl: " << removed << " likes taken back\n";
  }
  PrintRow({{"user", user}, {"likes_removed", removed}}, format, out);
  return 0;
}

int RunDeleteItem(const AdminSettings& settings, const client::Item& item, Format format,
                  std::ostream& out, std::ostream& err) {
  const std::string name = absl::StrCat(item.type, ":", item.id);
  if (!settings.yes) return Unwanted(name, err);
  const AdminClient client = ClientOf(settings);
  v1::DeleteItemRequest request;
  request.mutable_item()->set_item_type(item.type);
  request.mutable_item()->set_item_id(item.id);
  request.set_page_token(settings.page_token);
  int64_t removed = 0;
  int64_t count = 0;
  do {
    const client::Result<v1::DeleteItemResponse> part =
        client.Call<v1::DeleteItemRequest, v1::DeleteItemResponse>(&AdminClient::Stub::DeleteItem,
                                                                   request);
    if (!part.ok()) {
      return Fail(part.error(), request.page_token(),
                  absl::StrCat("counterctl admin delete-item --yes ", name), err);
    }
    removed += part->likes_removed();
    count = part->count();
    request.set_page_token(part->next_page_token());
    if (!request.page_token().empty()) {
      err << "counterctl: " << removed << " likes taken back, " << count << " left\n";
    }
  } while (!request.page_token().empty());
  PrintRow({{"item", name}, {"likes_removed", removed}, {"count", count}}, format, out);
  if (count > 0) err << "counterctl: " << count << " likes were made meanwhile; they count\n";
  return 0;
}

int RunAdminImport(const AdminSettings& settings, const ImportSettings& import, Format format,
                   bool terminal, std::ostream& out, std::ostream& err) {
  // The importer has a patience of its own, with a batch: here one refusal is enough to come back.
  const AdminClient client(settings.server, settings.credentials, settings.page_deadline,
                           absl::ZeroDuration());
  const Importer::Write write = [&client](const std::vector<client::Mutation>& mutations)
      -> client::Result<client::WriteLikesReply> {
    v1::ImportRequest request;
    for (const client::Mutation& mutation : mutations) {
      *request.add_mutations() = MessageOf(mutation);
    }
    const client::Result<v1::ImportResponse> response =
        client.Call<v1::ImportRequest, v1::ImportResponse>(&AdminClient::Stub::Import, request);
    if (!response.ok()) return response.error();
    client::WriteLikesReply reply;
    for (const counter::v1::MutationResult& result : response->results()) {
      reply.results.push_back(ResultOf(result));
    }
    return reply;
  };
  ImportSettings one_by_one = import;
  one_by_one.options.calls_max = 1;  // The server works on one call at a time.
  one_by_one.options.patience = settings.patience;
  return RunImport(write, one_by_one, format, terminal, out, err);
}

}  // namespace counter::cli
