#include "tests/support/http_client.h"

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

namespace counter::testing {
namespace {

bool HasHeader(const HttpClient::Headers& headers, absl::string_view name) {
  for (const auto& [key, value] : headers) {
    if (absl::EqualsIgnoreCase(key, name)) return true;
  }
  return false;
}

void ParseHead(absl::string_view head, HttpClient::Answer& answer) {
  const std::vector<absl::string_view> lines = absl::StrSplit(head, "\r\n");
  const std::vector<absl::string_view> words = absl::StrSplit(lines[0], ' ');
  if (words.size() < 2 || !absl::SimpleAtoi(words[1], &answer.status)) answer.status = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> field = absl::StrSplit(lines[i], absl::MaxSplits(':', 1));
    if (field.size() != 2) continue;
    answer.headers.emplace_back(absl::AsciiStrToLower(field[0]),
                                std::string(absl::StripAsciiWhitespace(field[1])));
  }
}

}  // namespace

std::string HttpClient::Answer::Header(absl::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (absl::EqualsIgnoreCase(key, name)) return value;
  }
  return "";
}

bool HttpClient::Connect() {
  received_.clear();
  absl::StatusOr<LoopbackConnection> opened =
      LoopbackConnection::Open(port_, absl::Now() + deadline_);
  if (!opened.ok()) return false;
  connection_.emplace(*std::move(opened));
  return true;
}

bool HttpClient::SendRaw(absl::string_view bytes) {
  if (!connection_.has_value() && !Connect()) return false;
  return connection_->Send(bytes).ok();
}

HttpClient::Answer HttpClient::Receive() {
  Answer answer;
  size_t head_end = std::string::npos;
  size_t length = 0;
  while (true) {
    if (head_end == std::string::npos) head_end = received_.find("\r\n\r\n");
    if (head_end != std::string::npos && answer.headers.empty()) {
      ParseHead(absl::string_view(received_).substr(0, head_end), answer);
      if (!absl::SimpleAtoi(answer.Header("content-length"), &length)) length = 0;
    }
    if (head_end != std::string::npos && received_.size() >= head_end + 4 + length) break;
    const absl::StatusOr<std::string> some =
        connection_.has_value() ? connection_->Receive()
                                : absl::StatusOr<std::string>(absl::UnavailableError("closed"));
    if (!some.ok() || some->empty()) {
      connection_.reset();
      return {0, {}, some.ok() ? "closed" : some.status().ToString()};
    }
    received_ += *some;
  }
  answer.body = received_.substr(head_end + 4, length);
  received_.erase(0, head_end + 4 + length);
  if (absl::EqualsIgnoreCase(answer.Header("connection"), "close")) connection_.reset();
  return answer;
}

HttpClient::Answer HttpClient::Call(absl::string_view method, absl::string_view target,
                                    absl::string_view body, const Headers& headers) {
  std::string request = absl::StrCat(method, " ", target, " HTTP/1.1\r\nHost: 127.0.0.1\r\n");
  for (const auto& [name, value] : headers) absl::StrAppend(&request, name, ": ", value, "\r\n");
  if (!body.empty() && !HasHeader(headers, "content-type")) {
    absl::StrAppend(&request, "Content-Type: application/json\r\n");
  }
  if (method != "GET") absl::StrAppend(&request, "Content-Length: ", body.size(), "\r\n");
  absl::StrAppend(&request, "\r\n", body);
  const bool was_open = connection_.has_value();
  // A refusal may come, and the connection end, before all of a large request is sent.
  SendRaw(request);
  Answer answer = connection_.has_value() ? Receive() : Answer{0, {}, "no connection"};
  if (answer.status != 0 || !was_open) return answer;
  if (!Connect()) return {0, {}, "no connection"};
  SendRaw(request);
  return Receive();
}

}  // namespace counter::testing
