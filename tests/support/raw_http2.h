// RawHttp2Call: one gRPC call written byte by byte, for what no well-behaved client would send.
//
// It is no HTTP/2 implementation: one connection, one stream, no flow control. The parts that it is
// made of are here, too, for those who send worse. Thread-safe.
#ifndef COUNTER_TESTS_SUPPORT_RAW_HTTP2_H_
#define COUNTER_TESTS_SUPPORT_RAW_HTTP2_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace counter::testing {

// What every connection begins with: the preface and empty SETTINGS.
std::string Http2Preface();
// A frame with any type, flags and payload.
std::string Http2Frame(uint8_t type, uint8_t flags, uint32_t stream, absl::string_view payload);
// A header as HPACK's simplest form: a literal, not indexed, with a new name, not compressed.
std::string Http2Header(absl::string_view name, absl::string_view value);

struct RawReply {
  // The payloads of all HEADERS frames, still compressed. gRPC's servers write the texts of their
  // own headers and trailers as they are, so that they can be searched for.
  std::string headers;
  std::string data;    // The payloads of all DATA frames.
  bool reset = false;  // The stream or the connection was broken off instead of ended.
};

// POSTs `message` to `path` ("/counter.v1.CounterService/Like") on 127.0.0.1:`port` with `headers`
// after the usual ones, and waits for the end of the stream. An error if it did not come within
// `deadline`.
absl::StatusOr<RawReply> RawHttp2Call(
    int port, absl::string_view path,
    const std::vector<std::pair<std::string, std::string>>& headers, absl::string_view message,
    absl::Duration deadline = absl::Seconds(10));

}  // namespace counter::testing

#endif  // COUNTER_TESTS_SUPPORT_RAW_HTTP2_H_
