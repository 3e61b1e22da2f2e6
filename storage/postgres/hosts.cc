#include "storage/postgres/hosts.h"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
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
  explicit Search(const tcp::resolver::executor_type& loop) : patience(loop) {}

  boost::asio::steady_timer patience;
  bool ended = false;
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

bool IsSocket(const std::string& name) { return name.empty() || name[0] == '/' || name[0] == '@'; }

bool IsAddress(const std::string& name) {
  boost::system::error_code error;
  boost::asio::ip::make_address(name, error);
  return !error;
}

void Finish(Search& search) {
  if (std::exchange(search.ended, true)) return;
  search.patience.cancel();
  // What `done` keeps alive need not live as long as a look-up that nobody waits for.
  auto done = std::move(search.done);
  if (search.found_names.empty()) {
    done(absl::NotFoundError("the database's host name cannot be resolved"));
    return;
  }
  done(Hosts{absl::StrJoin(search.found_names, ","), absl::StrJoin(search.found_addresses, ","),
             absl::StrJoin(search.found_ports, ",")});
}

void GoOn(tcp::resolver& resolver, const std::shared_ptr<Search>& search) {
  if (search->ended) return;
  for (; search->next < search->names.size(); ++search->next) {
    const std::string& name = search->names[search->next];
    if (IsSocket(name) || IsAddress(name)) {
      search->Add(IsSocket(name) ? "" : name);
      continue;
    }
    const std::string port = search->ports[search->next];
    resolver.async_resolve(name, port.empty() ? "5432" : port,
                           [&resolver, search](const boost::system::error_code& error,
                                               const tcp::resolver::results_type& found) {
                             // Too late: who waited has gone on, and may have taken the resolver
                             // along.
                             if (search->ended) return;
                             if (!error) {
                               for (const auto& entry : found)
                                 search->Add(entry.endpoint().address().to_string());
                             }
                             ++search->next;
                             if (error == boost::asio::error::operation_aborted)
                               search->next = search->names.size();
                             GoOn(resolver, search);
                           });
    return;
  }
  Finish(*search);
}

// Those that would have been looked up after the one that took too long may need no look-up.
void GiveUp(Search& search) {
  for (++search.next; search.next < search.names.size(); ++search.next) {
    const std::string& name = search.names[search.next];
    if (IsSocket(name) || IsAddress(name)) search.Add(IsSocket(name) ? "" : name);
  }
  Finish(search);
}

}  // namespace

void FindHosts(tcp::resolver& resolver, const std::string& names, const std::string& ports,
               absl::Duration patience, absl::AnyInvocable<void(absl::StatusOr<Hosts>)> done) {
  auto search = std::make_shared<Search>(resolver.get_executor());
  search->names = absl::StrSplit(names, ',');
  search->ports = absl::StrSplit(ports, ',');
  search->ports.resize(search->names.size(), search->ports.front());
  search->done = std::move(done);
  search->patience.expires_after(absl::ToChronoNanoseconds(patience));
  search->patience.async_wait([search](const boost::system::error_code& error) {
    if (!error && !search->ended) GiveUp(*search);
  });
  boost::asio::post(resolver.get_executor(), [&resolver, search] { GoOn(resolver, search); });
}

}  // namespace counter::postgres
