// Exit statuses of counterctl: 0, kExitDrift, kExitUsage or kExitUsage + gRPC's code (1 to 16), so
// that 67 is INVALID_ARGUMENT and 78 UNAVAILABLE. Constants; any thread.
#ifndef COUNTER_CLIENTS_CLI_EXIT_STATUS_H_
#define COUNTER_CLIENTS_CLI_EXIT_STATUS_H_

namespace counter::cli {

// Of an audit that found counters that differ from their likes, and of a check that found copies of
// a count that diverge.
inline constexpr int kExitDrift = 1;

// Of a command line that is wrong, and the base of the others.
inline constexpr int kExitUsage = 64;

inline constexpr int kGrpcInvalidArgument = 3;
inline constexpr int kGrpcNotFound = 5;
inline constexpr int kGrpcResourceExhausted = 8;
inline constexpr int kGrpcInternal = 13;
inline constexpr int kGrpcUnavailable = 14;

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_EXIT_STATUS_H_
