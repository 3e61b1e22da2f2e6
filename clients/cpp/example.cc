// Everything that README.md shows, as one program; clients/cpp/run_tests runs it.
#include <cstdlib>
#include <fstream>
#include <future>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
// snippet: first
#include "clients/cpp/client.h"
// snippet end
#include "clients/cpp/credentials.h"
// snippet: watch
#include "clients/cpp/watch.h"
// snippet end

namespace {

std::string Contents(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void ReadYourWrites(const char* server) {
  // snippet: mine
  const counter::Client mine =
      counter::Client::Connect({.target = server, .read_your_writes = true});
  const auto liked = mine.Like(7, {"reel", 7});
  if (!liked.ok()) std::cout << liked.error().ToString() << "\n";
  const auto count = mine.Count({"reel", 7});
  if (count.ok()) std::cout << "reel 7: " << count->count.count << "\n";
  // snippet end
}

void WatchPost(const counter::Client& likes) {
  // snippet: watch
  counter::client::Watch watch = likes.WatchCounts({{"post", 456}});
  // The counts of now; then, each time, those that have changed.
  for (auto update = watch.Next(); update.ok(); update = watch.Next()) {
    for (const auto& count : update->counts)
      std::cout << "watched: " << count.item.type << " " << count.item.id << " " << count.count
                << "\n";
    watch.Stop();
  }
  // snippet end
}

void Secure() {
  // snippet: secure
  const auto credentials = counter::client::MakeCredentials({.ca = Contents("ca.pem"),
                                                             .certificate = Contents("client.pem"),
                                                             .key = Contents("client.key"),
                                                             .bearer_token = "secret"});
  const counter::Client secure = counter::Client::Connect(
      {.target = "dns:///counter.example:443", .credentials = credentials});
  // snippet end
}

}  // namespace

int main() {
  // snippet: first
  const char* server = std::getenv("COUNTER_SERVER");
  if (server == nullptr) return 1;
  const counter::Client likes = counter::Client::Connect({.target = server});

  const counter::client::Item post = {"post", 456};
  const auto liked = likes.Like(123, post);
  if (!liked.ok()) {
    std::cout << liked.error().ToString() << "\n";
    return 1;
  }
  std::cout << "likes: " << liked->count << "\n";
  // snippet end

  // snippet: batch
  using counter::client::Action;
  const auto written = likes.WriteLikes({{1, post, Action::kLike},
                                         {123, post, Action::kUnlike},
                                         {0, post, Action::kLike}});  // There is no user 0.
  if (!written.ok()) return 1;
  for (const auto& result : written->results) {
    if (result.ok())
      std::cout << "now " << result->count << "\n";
    else if (result.error().kind == counter::client::ErrorKind::kInvalidArgument)
      std::cout << "refused: InvalidArgument\n";
  }
  // snippet end

  // snippet: reads
  const auto count = likes.Count(post, {.consistency = counter::client::Consistency::kStrong});
  if (count.ok()) std::cout << "post 456: " << count->count.count << "\n";

  const std::vector<counter::client::Item> items = {post, {"reel", 7}};
  const auto counts = likes.Counts(items);
  if (counts.ok()) std::cout << "reel 7: " << counts->counts[1].count << "\n";

  const auto has = likes.HasLiked(1, items);
  for (size_t i = 0; has.ok() && i < items.size(); ++i) {
    if (has->liked[i]) std::cout << "user 1 likes " << items[i].type << " " << items[i].id << "\n";
  }
  // snippet end

  // snippet: lists
  const auto page = likes.ListLikes(1, {.size = 10});
  if (!page.ok()) return 1;
  for (const auto& like : page->likes)
    std::cout << "liked: " << like.item.type << " " << like.item.id << "\n";

  // page->next_page_token gets the next page; AllLikes gets all of them, each when it is needed:
  int number = 0;
  const auto failure =
      likes.AllLikes(1, {.item_types = {"post"}}, [&number](const auto&) { return ++number > 0; });
  if (!failure.has_value()) std::cout << "in all: " << number << "\n";
  // snippet end

  // snippet: errors
  const auto failed = likes.Like(0, {"nothing", 7});
  if (!failed.ok()) {
    const counter::client::Error& error = failed.error();
    if (error.kind == counter::client::ErrorKind::kInvalidArgument) {
      for (const auto& violation : error.violations)
        std::cout << "wrong: " << violation.field << "\n";
    } else if (error.retry_after.has_value()) {
      absl::SleepFor(*error.retry_after);  // Then once more.
    } else {
      std::cout << error.ToString() << "\n";  // With the request id to report it by.
    }
  }
  // snippet end

  // snippet: options
  const auto soon =
      likes.Count(post, {},
                  {.deadline = absl::Milliseconds(500),
                   .request_id = "feed-42",
                   .traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"});
  if (soon.ok()) std::cout << "request: " << soon->request_id << "\n";
  // snippet end

  ReadYourWrites(server);
  Secure();
  WatchPost(likes);

  // snippet: async
  const auto answered = std::make_shared<std::promise<void>>();
  likes.LikeAsync(124, post,
                  [answered](const counter::client::Result<counter::client::LikeReply>& reply) {
                    if (reply.ok()) std::cout << "likes: " << reply->count << "\n";
                    answered->set_value();
                  });
  answered->get_future().wait();  // A client outlives its calls.
  // snippet end
  return 0;
}
