// CallerTable: which callers there are and which methods each may call. What is not allowed is
// denied.
//
//   caller feed  san spiffe://example.org/feed  san feed.internal  calls 500  watches 200
//   caller kiosk users 1000000-1999999
//   caller ops   san ops.internal
//   allow counter.v1.CounterService/* feed
//   allow counter.v1.CounterService/Like kiosk
//   allow counter.v1.CounterService/GetCount anyone
//   allow grpc.reflection.v1.ServerReflection/ServerReflectionInfo ops
//
// A value, made whole from the text of a file. Pure. Threads: any, as any const value.
#ifndef COUNTER_SERVER_CALLERS_CALLER_TABLE_H_
#define COUNTER_SERVER_CALLERS_CALLER_TABLE_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/callers/caller.h"

namespace counter {

class CallerTable {
 public:
  static constexpr int kCallersMax = 1000;
  // In `allow`: everybody, also those who do not say who they are, and every caller of the table.
  static constexpr char kAnyone[] = "anyone";
  static constexpr char kAnyCaller[] = "any-caller";

  // `methods` are the full names that a line may allow ("counter.v1.CounterService/Like"). The
  // error names each line that is wrong.
  static absl::StatusOr<CallerTable> Parse(absl::string_view text,
                                           const std::vector<std::string>& methods);

  // The caller of that name; null if there is none.
  CallerRef Find(absl::string_view name) const;
  // The first caller that has one of these names of a certificate; null if none has.
  CallerRef FindByPeer(const std::vector<std::string>& peer_names) const;

  // All of whom nothing is known, as one: what they have under way is counted together.
  CallerRef anyone() const { return anyone_; }
  // Whether somebody of whom nothing is known may call the method.
  bool AllowsAnyone(absl::string_view method) const;
  // Whether a caller of this table may.
  bool Allows(absl::string_view method, const Caller& caller) const;

  // All callers, in order of their names; not anyone().
  std::vector<CallerRef> callers() const;
  // Lets callers go on counting where those of the table before stopped.
  void AdoptLoad(const CallerTable& before);

 private:
  friend class CallerTableReader;

  CallerTable();

  std::shared_ptr<Caller> anyone_;
  std::map<std::string, std::shared_ptr<Caller>, std::less<>> callers_;
  std::map<std::string, std::string, std::less<>> caller_of_peer_;
  // By method; every method that a pattern means stands here by itself.
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> allowed_;
};

}  // namespace counter

#endif  // COUNTER_SERVER_CALLERS_CALLER_TABLE_H_
