// docs/openapi/openapi.json held to the server: every path, method and status that it names is
// exercised, and every answer is what it says.
#include <algorithm>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/fixture.h"
#include "tests/support/http_client.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

namespace json = boost::json;

std::string Text(const json::value& value) { return json::value_to<std::string>(value); }

// The part of JSON Schema that the description uses. A keyword that it does not know fails, so that
// nothing is believed to be checked that is not.
class Schema {
 public:
  explicit Schema(const json::value& document) : document_(document) {}

  // Follows a $ref.
  const json::object& Resolve(const json::value& schema) const {
    const json::object& object = schema.as_object();
    const json::value* reference = object.if_contains("$ref");
    if (reference == nullptr) return object;
    boost::system::error_code error;
    const json::value* found = document_.find_pointer(Text(*reference).substr(1), error);
    if (found == nullptr) throw std::runtime_error("no " + Text(*reference));
    return Resolve(*found);
  }

  // Empty, or what is wrong and where.
  std::string Fault(const json::value& value, const json::value& schema,
                    const std::string& at = "") const {
    const json::object& rules = Resolve(schema);
    for (const auto& [key, rule] : rules) {
      const std::string fault = FaultOf(value, std::string(key), rule, rules, at);
      if (!fault.empty()) return fault;
    }
    return "";
  }

 private:
  static bool IsType(const json::value& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_bool();
    if (type == "integer") return value.is_int64() || value.is_uint64();
    return type == "number" && value.is_number();
  }

  std::string FaultOf(const json::value& value, const std::string& key, const json::value& rule,
                      const json::object& rules, const std::string& at) const {
    static const std::set<std::string> kWords = {"description", "example", "format", "default"};
    const auto fail = [&] {
      return absl::StrCat(at, " breaks ", key, ": ", json::serialize(value));
    };
    if (kWords.contains(key) || key == "maxItems") return "";
    if (key == "type") return IsType(value, Text(rule)) ? "" : fail();
    if (key == "const") return value == rule ? "" : fail();
    if (key == "enum") {
      const json::array& allowed = rule.as_array();
      return std::find(allowed.begin(), allowed.end(), value) != allowed.end() ? "" : fail();
    }
    if (key == "pattern") {
      return std::regex_search(Text(value), std::regex(Text(rule))) ? "" : fail();
    }
    if (key == "minimum")
      return value.to_number<double>() >= rule.to_number<double>() ? "" : fail();
    if (key == "maximum")
      return value.to_number<double>() <= rule.to_number<double>() ? "" : fail();
    if (key == "minItems") return value.as_array().size() >= rule.to_number<size_t>() ? "" : fail();
    if (key == "required") {
      for (const json::value& name : rule.as_array()) {
        if (!value.as_object().contains(name.as_string())) return fail() + " lacks " + Text(name);
      }
      return "";
    }
    if (key == "properties") return FaultOfProperties(value, rule, at);
    if (key == "additionalProperties") return FaultOfOthers(value, rule, rules, at);
    if (key == "items") return FaultOfItems(value, rule, at);
    if (key == "oneOf") {
      int fitting = 0;
      for (const json::value& one : rule.as_array()) fitting += Fault(value, one, at).empty();
      return fitting == 1 ? "" : fail();
    }
    return absl::StrCat("unknown keyword ", key);
  }

  std::string FaultOfProperties(const json::value& value, const json::value& rule,
                                const std::string& at) const {
    for (const auto& [name, schema] : rule.as_object()) {
      const json::value* property = value.as_object().if_contains(name);
      if (property == nullptr) continue;
      const std::string fault = Fault(*property, schema, absl::StrCat(at, "/", std::string(name)));
      if (!fault.empty()) return fault;
    }
    return "";
  }

  std::string FaultOfOthers(const json::value& value, const json::value& rule,
                            const json::object& rules, const std::string& at) const {
    const json::value* named = rules.if_contains("properties");
    for (const auto& [name, property] : value.as_object()) {
      if (named != nullptr && named->as_object().contains(name)) continue;
      if (rule.is_bool()) {
        if (!rule.get_bool()) return absl::StrCat(at, " has ", std::string(name));
        continue;
      }
      const std::string fault = Fault(property, rule, absl::StrCat(at, "/", std::string(name)));
      if (!fault.empty()) return fault;
    }
    return "";
  }

  std::string FaultOfItems(const json::value& value, const json::value& rule,
                           const std::string& at) const {
    for (const json::value& item : value.as_array()) {
      const std::string fault = Fault(item, rule, at + "/-");
      if (!fault.empty()) return fault;
    }
    return "";
  }

  const json::value& document_;
};

// A description and the part of it that has been exercised.
class Description {
 public:
  explicit Description(const std::string& text) : document_(json::parse(text)) {}

  const json::object& paths() const { return document_.at("paths").as_object(); }

  // Checks an answer against what is said of this operation, and takes note of it.
  void Exercised(const std::string& method, const std::string& path,
                 const HttpClient::Answer& answer) {
    CAPTURE(method, path, answer.status, answer.body.substr(0, 400));
    const Schema schema(document_);
    const json::object& responses = Operation(method, path).at("responses").as_object();
    std::string status = absl::StrCat(answer.status);
    if (!responses.contains(status)) status = "default";
    REQUIRE(responses.contains(status));
    seen_.insert(absl::StrCat(method, " ", path, " ", status));
    const json::object& response = schema.Resolve(responses.at(status));
    const json::value& content = response.at("content");
    REQUIRE(answer.Header("content-type") == "application/json");
    CHECK(schema.Fault(json::parse(answer.body), content.at("application/json").at("schema")) ==
          "");
    if (const json::value* headers = response.if_contains("headers")) {
      for (const auto& [name, header] : headers->as_object()) {
        // What only some causes of a status have is no promise.
        if (name == json::string_view("Retry-After") && answer.status != 429) continue;
        CAPTURE(std::string(name));
        CHECK_FALSE(answer.Header(std::string(name)).empty());
      }
    }
  }

  // "GET /v1/count 200" for everything that is described and was not seen.
  std::set<std::string> Unseen() const {
    std::set<std::string> unseen;
    for (const auto& [path, operations] : paths()) {
      for (const auto& [method, operation] : operations.as_object()) {
        for (const auto& [status, response] : operation.at("responses").as_object()) {
          const std::string name = absl::StrCat(Upper(std::string(method)), " ", std::string(path),
                                                " ", std::string(status));
          if (!seen_.contains(name)) unseen.insert(name);
        }
      }
    }
    return unseen;
  }

  // The example of an operation's body, as it would be sent; empty if it has no body.
  std::string ExampleBody(const std::string& method, const std::string& path) const {
    const json::value* body = Operation(method, path).if_contains("requestBody");
    if (body == nullptr) return "";
    const json::value& json_body = body->at("content").at("application/json");
    CHECK(Schema(document_).Fault(json_body.at("example"), json_body.at("schema")) == "");
    return json::serialize(json_body.at("example"));
  }

  // The path with the examples of its query.
  std::string ExampleTarget(const std::string& method, const std::string& path) const {
    std::string target = path;
    const json::value* parameters = Operation(method, path).if_contains("parameters");
    if (parameters == nullptr) return target;
    for (const json::value& parameter : parameters->as_array()) {
      const json::object& resolved = Schema(document_).Resolve(parameter);
      if (resolved.at("in") != "query") continue;
      const json::value& example = resolved.at("example");
      absl::StrAppend(&target, target == path ? "?" : "&", Text(resolved.at("name")), "=",
                      example.is_string() ? Text(example) : json::serialize(example));
    }
    return target;
  }

  static std::string Upper(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), ::toupper);
    return text;
  }

 private:
  const json::object& Operation(const std::string& method, const std::string& path) const {
    std::string lower = method;
    std::transform(lower.begin(), lower.end(), lower.begin(), ::tolower);
    return paths().at(path).at(lower).as_object();
  }

  const json::value document_;
  std::set<std::string> seen_;
};

struct Operation {
  std::string method;
  std::string path;
};

std::vector<Operation> OperationsOf(const Description& description) {
  std::vector<Operation> operations;
  for (const auto& [path, methods] : description.paths()) {
    for (const auto& [method, operation] : methods.as_object()) {
      operations.push_back({Description::Upper(std::string(method)), std::string(path)});
    }
  }
  return operations;
}

// Answers of a server that is full, of one that shuts down.
void ExerciseShutdown(CounterServer& server, Description& description,
                      const std::vector<Operation>& operations) {
  // Each request is begun before the server is told to stop, and ended after.
  std::vector<std::unique_ptr<HttpClient>> clients;
  std::vector<std::string> bodies;
  for (const Operation& operation : operations) {
    bodies.push_back(description.ExampleBody(operation.method, operation.path));
    clients.push_back(std::make_unique<HttpClient>(server.http_port()));
    std::string head = absl::StrCat(operation.method, " ",
                                    description.ExampleTarget(operation.method, operation.path),
                                    " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n");
    if (!bodies.back().empty())
      absl::StrAppend(&head, "Content-Length: ", bodies.back().size(), "\r\n");
    REQUIRE(clients.back()->SendRaw(head));
  }
  HttpClient idle(server.http_port());
  REQUIRE(idle.Get("/health").status == 200);
  server.Terminate();
  // Who is idle is closed when the server has begun to drain.
  REQUIRE(idle.Receive().body == "closed");
  for (size_t i = 0; i < operations.size(); ++i) {
    REQUIRE(clients[i]->SendRaw(absl::StrCat("\r\n", bodies[i])));
    description.Exercised(operations[i].method, operations[i].path, clients[i]->Receive());
  }
}

TEST_CASE("what OpenAPI says of REST is what the server does, and all of it was tried") {
  auto server = StartServer({{"RATE_LIMIT_REQUESTS", "2"}, {"LIKERS_INDEX", "true"}});
  HttpClient client(server->http_port());
  Description description(client.Get("/openapi.json").body);
  const std::vector<Operation> operations = OperationsOf(description);
  REQUIRE(operations.size() >= 12);

  for (const Operation& operation : operations) {
    const std::string& method = operation.method;
    const std::string& path = operation.path;
    const std::string target = description.ExampleTarget(method, path);
    const std::string body = description.ExampleBody(method, path);
    const auto call = [&](const std::string& to, const std::string& with,
                          const HttpClient::Headers& headers = {}) {
      description.Exercised(method, path, client.Call(method, to, with, headers));
    };
    call(target, body);
    if (path == "/health") continue;
    call(target, body, {{"X-Timeout-Ms", "0"}, {"Content-Type", "application/json"}});
    call(path, body.empty() ? "" : "{\"item_type\": \"nothing\"}");
    call(target, body, {{"A", std::string(9000, 'x')}});
    if (body.empty()) continue;
    call(target, body, {{"Content-Type", "text/plain"}});
    call(target, std::string(300'000, ' '));
  }
  const HttpClient::Answer written = client.Post("/v1/write_likes", R"({"mutations": [
      {"user_id": 6, "item_id": 1, "action": "like"}, {"user_id": 6, "item_id": 0, "action": "no"},
      {"user_id": 6, "item_id": 2, "action": "like"}, {"user_id": 6, "item_id": 3, "action": "like"},
      {"user_id": 6, "item_id": 1, "action": "unlike"}]})");
  CHECK(written.status == 200);
  description.Exercised("POST", "/v1/write_likes", written);
  HttpClient::Answer limited;
  for (int id = 1; id <= 3; ++id) {
    limited = client.Post("/v1/like", absl::StrCat("{\"user_id\": 5, \"item_id\": ", id, "}"));
  }
  CHECK(limited.status == 429);
  description.Exercised("POST", "/v1/like", limited);
  ExerciseShutdown(*server, description, operations);
  CHECK(description.Unseen() == std::set<std::string>{});
}

}  // namespace
}  // namespace counter::testing
