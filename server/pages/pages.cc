#include "server/pages/pages.h"

#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "server/pages/page_files.h"

namespace counter::pages {
namespace {

constexpr char kHtml[] = "text/html; charset=utf-8";
constexpr char kScript[] = "text/javascript; charset=utf-8";
// Swagger UI sets styles from its script; nothing else needs more than this server's own files.
constexpr char kPolicy[] =
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

constexpr char kNoSwaggerUi[] =
    "<!doctype html><title>Counter: REST</title><p>Swagger UI is not installed beside this server. "
    "<code>deploy/run</code> installs it; SWAGGER_UI_DIR names its folder. The description itself "
    "is at <a href=\"/openapi.json\">/openapi.json</a>.</p>\n";

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// Files of a version that does not change while the server runs may be kept for a while.
void AddFile(http::HttpServer& server, const std::string& path, std::string type, std::string text,
             std::string cache_control, int status = 200) {
  http::Response response;
  response.status = status;
  response.content_type = std::move(type);
  response.body = std::move(text);
  response.cache_control = std::move(cache_control);
  response.headers = {{"Content-Security-Policy", kPolicy}, {"X-Content-Type-Options", "nosniff"}};
  server.AddRoute("GET", path,
                  http::Immediately(
                      [response = std::move(response)](const http::Request&) { return response; }));
}

}  // namespace

void AddPages(http::HttpServer& server, const PagesOptions& options) {
  constexpr char kFresh[] = "no-cache";
  constexpr char kKept[] = "max-age=3600";
  AddFile(server, "/", kHtml, kLiveHtml, kFresh);
  AddFile(server, "/live.js", kScript, kLiveScript, kFresh);
  server.AddEventStream("/live", absl::Seconds(1), kLiveStreamsMax, options.live,
                        options.refuse_live);
  AddFile(server, "/openapi.json", "application/json", kOpenApiJson, kFresh);

  std::optional<std::string> script = ReadFile(options.swagger_ui_dir + "/swagger-ui-bundle.js");
  std::optional<std::string> style = ReadFile(options.swagger_ui_dir + "/swagger-ui.css");
  if (!script.has_value() || !style.has_value()) {
    AddFile(server, "/docs", kHtml, kNoSwaggerUi, kFresh, 404);
    return;
  }
  AddFile(server, "/docs", kHtml, kDocsHtml, kFresh);
  AddFile(server, "/docs/docs.js", kScript, kDocsScript, kFresh);
  AddFile(server, "/docs/swagger-ui-bundle.js", kScript, *std::move(script), kKept);
  AddFile(server, "/docs/swagger-ui.css", "text/css; charset=utf-8", *std::move(style), kKept);
}

}  // namespace counter::pages
