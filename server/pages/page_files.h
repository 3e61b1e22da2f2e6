// The files that the binary carries: pages, their scripts, and the description of REST. Made at
// build time by embed.sh.
#ifndef COUNTER_SERVER_PAGES_PAGE_FILES_H_
#define COUNTER_SERVER_PAGES_PAGE_FILES_H_

namespace counter::pages {

extern const char kOpenApiJson[];
extern const char kDocsHtml[];
extern const char kDocsScript[];
extern const char kLiveHtml[];
extern const char kLiveScript[];

}  // namespace counter::pages

#endif  // COUNTER_SERVER_PAGES_PAGE_FILES_H_
