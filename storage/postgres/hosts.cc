#include "storage/postgres/hosts.h"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace counter::postgres {
namespace {

using boost::asio::ip::tcp;

struct Search {
  std::vector<std::string> names;
  std::vector<std::string> ports;  // As many.
  size_t next = 0;
  std::vector<std::string> found_names;
  std::vector<std::string> found_addresses;
  std::vector<std::string> found_ports;
  absl::AnyInvocable<void(absl::StatusOr<Hosts>)> done;

  void Add(std::string address) {
    found_names.push_back(names[next]);
    found_addresses.push_back(std::move(address));
    found_ports.push_back(ports[next]);
  }
};

bool NeedsResolving(const std::string& name) {
  return !name.empty() && name[0] != '/' && name[0] != '@';
}

void Finish(Search& search) {
  if (search.found_names.empty()) {
    search.done(absl::NotFoundError("the database's host name cannot be resolved"));
    return;
  }
  search.done(Hosts{absl::StrJoin(search.found_names, ","),
                    absl::StrJoin(search.found_addresses, ","),
                    absl::StrJoin(search.found_ports, ",")});
}

void GoOn(tcp::resolver& resolver, std::unique_ptr<Search> search) {
  for (; search->next < search->names.size(); ++search->next) {
    const std::string& name = search->names[search->next];
    if (!NeedsResolving(name)) {
      search->Add("");
      continue;
    }
    const std::string port = search->ports[search->next];
    const std::string host = name;
    resolver.async_resolve(
        host, port.empty() ? "5432" : port,
        [&resolver, search = std::move(search)](const boost::system::error_code& error,
                                                const tcp::resolver::results_type& found) mutable {
          if (!error) {
            for (const auto& entry : found) search->Add(entry.endpoint().address().to_string());
          }
          ++search->next;
          if (error == boost::asio::error::operation_aborted) search->next = search->names.size();
          GoOn(resolver, std::move(search));
        });
    return;
  }
  Finish(*search);
}

}  // namespace

void FindHosts(tcp::resolver& resolver, const std::string& names, const std::string& ports,
               absl::AnyInvocable<void(absl::StatusOr<Hosts>)> done) {
  auto search = std::make_unique<Search>();
  search->names = absl::StrSplit(names, ',');
  search->ports = absl::StrSplit(ports, ',');
  search->ports.resize(search->names.size(), search->ports.front());
  search->done = std::move(done);
  boost::asio::post(resolver.get_executor(), [&resolver, search = std::move(search)]() mutable {
    GoOn(resolver, std::move(search));
  });
}

}  // namespace counter::postgres
