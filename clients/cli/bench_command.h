// RunBench: the command `counterctl bench`: a short load on a server that serves others, too.
//
// It keeps out of the way of real data: its users and items have ids from 2^62 on, its users are
// new in each run, and what they liked is taken back at the end, also if the run was interrupted.
// What stays are the counters of its items, at 0. It repeats no call: what failed is in the result.
//
// Blocks; SIGINT ends the load early, a second one the process. Data goes to `out`, complaints and
// progress to `err`.
#ifndef COUNTER_CLIENTS_CLI_BENCH_COMMAND_H_
#define COUNTER_CLIENTS_CLI_BENCH_COMMAND_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "clients/cli/output.h"
#include "clients/cpp/client.h"
#include "clients/load/load_generator.h"
#include "clients/load/workload.h"

namespace counter::cli {

struct BenchSettings {
  // Users and items from here on are the bench's own.
  static constexpr int64_t kIdsFirst = int64_t{1} << 62;

  // Calls and ids; users, their first id and the first item are set by RunBench.
  load::Workload::Settings workload = {.calls = "GetCount", .items = "zipf:10000"};
  load::LoadGenerator::Options load = {.round_robin = true, .in_flight = 16};
  bool yes = false;   // Calls that write are wanted.
  bool keep = false;  // Do not take the likes back.
};

// `client` is for the same server as settings.load.target. Progress is shown if `terminal`.
int RunBench(const client::Client& client, BenchSettings settings, Format format, bool terminal,
             std::ostream& out, std::ostream& err);

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_BENCH_COMMAND_H_
