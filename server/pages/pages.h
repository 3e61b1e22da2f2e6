// Pages: what people open in a browser: the live page at /, Swagger UI at /docs, and the
// description of REST at /openapi.json that it shows. Everything comes from this server; no page
// asks any other host.
//
// Threads: the HTTP server's. Ownership: borrows the server's routes nothing; owns the files of
// Swagger UI, which are read once.
#ifndef COUNTER_SERVER_PAGES_PAGES_H_
#define COUNTER_SERVER_PAGES_PAGES_H_

#include <functional>
#include <string>

#include "server/http/http_server.h"

namespace counter::pages {

struct PagesOptions {
  // The folder with swagger-ui-bundle.js and swagger-ui.css of the npm package swagger-ui-dist.
  // What is not there makes /docs say how to get it.
  std::string swagger_ui_dir;
  // The next line of JSON for the live page (LiveStats).
  std::function<std::string()> live;
  // The answer for who may not see it; null: everybody may.
  http::Refuse refuse_live = nullptr;
};

// People who may look at the live page at once.
inline constexpr int kLiveStreamsMax = 32;

// Adds the routes. Call it once, before server.Start().
void AddPages(http::HttpServer& server, const PagesOptions& options);

}  // namespace counter::pages

#endif  // COUNTER_SERVER_PAGES_PAGES_H_
