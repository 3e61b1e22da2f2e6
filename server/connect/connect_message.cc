#include "server/connect/connect_message.h"

#include <google/protobuf/util/json_util.h>
#include <google/rpc/status.pb.h>

#include <boost/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/error.h"
#include "server/rest/error_body.h"
#include "server/rest/request_fields.h"
#include "server/status.h"

namespace counter {
namespace {

namespace json = boost::json;
namespace json_util = google::protobuf::util;

constexpr char kProtoType[] = "application/proto";

// As the protocol maps codes to HTTP. Indexed by code.
struct CodeForm {
  const char* name;
  int http_status;
};
constexpr CodeForm kCodes[] = {{"", 200},
                               {"canceled", 499},
                               {"unknown", 500},
                               {"invalid_argument", 400},
                               {"deadline_exceeded", 504},
                               {"not_found", 404},
                               {"already_exists", 409},
                               {"permission_denied", 403},
                               {"resource_exhausted", 429},
                               {"failed_precondition", 400},
                               {"aborted", 409},
                               {"out_of_range", 400},
                               {"unimplemented", 501},
                               {"internal", 500},
                               {"unavailable", 503},
                               {"data_loss", 500},
                               {"unauthenticated", 401}};
constexpr int kUnknownCode = 2;

std::optional<ConnectCodec> CodecOf(absl::string_view name) {
  if (name == "proto") return ConnectCodec::kProto;
  if (name == "json") return ConnectCodec::kJson;
  return std::nullopt;
}

// Certain to have done nothing, as everything that is refused while it is read.
absl::Status Refused(absl::Status error) {
  MarkNotApplied(error);
  return error;
}

absl::Status CheckEncoding(absl::string_view encoding) {
  if (encoding.empty() || encoding == "identity") return absl::OkStatus();
  return Refused(MakeError(ErrorReason::kUnimplemented,
                           "messages must not be compressed; supported encodings: identity"));
}

absl::Status CheckVersion(absl::string_view version, absl::string_view expected,
                          const std::string& field) {
  if (version == expected) return absl::OkStatus();
  return Refused(MakeInvalidRequest({{field, absl::StrCat("must be ", expected)}}));
}

absl::StatusOr<ConnectMessage> ReadPost(const http::Request& request) {
  const std::string* type = request.Header("content-type");
  absl::string_view name = type == nullptr ? absl::string_view() : *type;
  name = absl::StripAsciiWhitespace(name.substr(0, name.find(';')));
  if (!absl::ConsumePrefix(&name, "application/") || !CodecOf(name).has_value()) {
    return absl::UnknownError("no type of Connect");
  }
  const std::string* version = request.Header("connect-protocol-version");
  absl::Status checked = version == nullptr
                             ? absl::OkStatus()
                             : CheckVersion(*version, "1", "connect-protocol-version");
  const std::string* encoding = request.Header("content-encoding");
  if (checked.ok() && encoding != nullptr) checked = CheckEncoding(*encoding);
  if (!checked.ok()) return checked;
  return ConnectMessage{*CodecOf(name), request.body};
}

absl::StatusOr<ConnectMessage> ReadGet(const http::Request& request) {
  const auto parameters = rest::ParseQuery(request.query);
  const auto get = [&](const char* name) {
    const auto found = parameters.find(name);
    return found == parameters.end() ? std::string() : found->second.back();
  };
  const std::optional<ConnectCodec> codec = CodecOf(get("encoding"));
  if (!codec.has_value()) return absl::UnknownError("no encoding of Connect");
  absl::Status checked = parameters.contains("connect")
                             ? CheckVersion(get("connect"), "v1", "connect")
                             : absl::OkStatus();
  if (checked.ok()) checked = CheckEncoding(get("compression"));
  if (!checked.ok()) return checked;
  ConnectMessage message = {*codec, get("message")};
  if (get("base64") != "1") return message;
  std::string decoded;
  if (!absl::WebSafeBase64Unescape(message.bytes, &decoded) &&
      !absl::Base64Unescape(message.bytes, &decoded)) {
    return Refused(MakeInvalidRequest({{"message", "must be base64 for URLs"}}));
  }
  message.bytes = std::move(decoded);
  return message;
}

json::object DetailOf(const google::protobuf::Any& any) {
  absl::string_view type = any.type_url();
  type.remove_prefix(type.rfind('/') + 1);
  std::string value = absl::Base64Escape(any.value());
  while (absl::EndsWith(value, "=")) value.pop_back();
  json::object detail;
  detail["type"] = json::string_view(type.data(), type.size());
  detail["value"] = value;
  return detail;
}

}  // namespace

absl::StatusOr<ConnectMessage> ReadConnectMessage(const http::Request& request) {
  return request.method == "GET" ? ReadGet(request) : ReadPost(request);
}

absl::Status ParseConnectMessage(const ConnectMessage& message, google::protobuf::Message& into) {
  if (message.codec == ConnectCodec::kProto) {
    if (into.ParseFromString(message.bytes)) return absl::OkStatus();
    return Refused(MakeInvalidRequest({{"message", "must be a message of this method"}}));
  }
  json_util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto parsed = json_util::JsonStringToMessage(message.bytes, &into, options);
  if (parsed.ok()) return absl::OkStatus();
  constexpr size_t kShownBytesMax = 200;
  const std::string why = parsed.message().ToString().substr(0, kShownBytesMax);
  return Refused(
      MakeInvalidRequest({{"message", absl::StrCat("must be this method's message as JSON; ",
                                                   absl::CHexEscape(why))}}));
}

http::Response ConnectResponse(ConnectCodec codec, const google::protobuf::Message& message) {
  http::Response response;
  if (codec == ConnectCodec::kProto) {
    response.content_type = kProtoType;
    response.body = message.SerializeAsString();
    return response;
  }
  response.content_type = rest::kJsonType;
  // Only a message with an Any of an unknown type could fail, and ours have none.
  (void)json_util::MessageToJsonString(message, &response.body, json_util::JsonPrintOptions());
  return response;
}

http::Response ConnectError(const absl::Status& error) {
  const google::rpc::Status status = ToRpcStatus(error);
  const bool exists = status.code() > 0 && status.code() < static_cast<int>(std::size(kCodes));
  const CodeForm& form = kCodes[exists ? status.code() : kUnknownCode];
  json::object body;
  body["code"] = form.name;
  body["message"] = status.message();
  json::array& details = body["details"].emplace_array();
  for (const google::protobuf::Any& any : status.details()) details.push_back(DetailOf(any));
  http::Response response;
  response.status = form.http_status;
  response.content_type = rest::kJsonType;
  response.body = json::serialize(body);
  rest::AddRetryAfter(error, response);
  rest::AddChallenge(error, response);
  if (IsNotApplied(error)) response.headers.emplace_back("Trailer-Outcome", kOutcomeNotApplied);
  return response;
}

http::Response ConnectRefusal(const absl::Status& error) {
  if (error.code() != absl::StatusCode::kUnknown) return ConnectError(error);
  http::Response response;
  response.status = 415;
  response.headers.emplace_back("Accept-Post", "application/json, application/proto");
  return response;
}

http::Response ConnectTooLarge(const std::string& why) {
  http::Response response;
  // The protocol's 429 for this code would tell caches and proxies of a limit of rate.
  response.status = 413;
  response.content_type = rest::kJsonType;
  response.body = json::serialize(json::object{{"code", "resource_exhausted"}, {"message", why}});
  response.headers.emplace_back("Trailer-Outcome", kOutcomeNotApplied);
  return response;
}

}  // namespace counter
