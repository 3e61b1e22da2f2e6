// Client: the like counter from C++.
//
//   counter::Client likes = counter::Client::Connect({.target = "dns:///counter:50051"});
//   auto liked = likes.Like(123, {"post", 456});
//   if (!liked.ok()) return Report(liked.error());
//   std::cout << liked->count << "\n";
//
// Use one Client for a whole program: it owns one channel, which holds the connections. It is a
// thin typed layer over the stub generated from proto/counter/v1/counter.proto, whose comments say
// what every call promises; it holds no cache and no queue.
//
// Calls block the calling thread until the reply or the deadline; those that end with Async call
// back. Every call may be repeated any
// number of times with the effect of one. UNAVAILABLE is repeated by the client itself
// (service_config.h).
//
// Threads: every method but the move operations may be called from any number of threads at once.
// Ownership: arguments are copied; results are values.
// Errors: values (error.h); no exception is thrown. Failing is never fatal: the next call starts
// anew.
#ifndef COUNTER_CLIENTS_CPP_CLIENT_H_
#define COUNTER_CLIENTS_CPP_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "clients/cpp/error.h"

namespace grpc {
class ChannelCredentials;
}

namespace counter::client {

// The version of this client, as the user-agent tells it.
inline constexpr char kVersion[] = "0.1.0";

// Ids are 1 to 2^63-1; types are those that the server is configured with ("post", "reel",
// "comment").
struct Item {
  std::string type;
  int64_t id = 0;

  friend bool operator==(const Item&, const Item&) = default;
};

enum class Action { kLike, kUnlike };

struct Mutation {
  int64_t user_id = 0;
  Item item;
  Action action = Action::kLike;
};

enum class Consistency {
  kCached,  // True at some instant within the last second while all is well. The fastest.
  kStrong,  // Sees every write acknowledged before the read began.
};

// Where an answer came from.
enum class Source { kUnknown, kCache, kReplica, kPrimary };

struct LikeReply {
  bool changed = false;  // LIKED; otherwise ALREADY_LIKED.
  int64_t count = 0;     // Likes of the item, this one included.
  std::string consistency_token;
  std::string request_id;
};

struct UnlikeReply {
  bool changed = false;  // UNLIKED; otherwise NOT_LIKED.
  int64_t count = 0;     // Likes of the item, without this one.
  std::string consistency_token;
  std::string request_id;
};

// What became of one mutation that was not refused.
struct Applied {
  bool changed = false;
  int64_t count = 0;  // Likes of the item after it.
  std::string consistency_token;
};

struct WriteLikesReply {
  std::vector<Result<Applied>> results;  // results[i] is of mutations[i].
  std::string request_id;
};

struct ItemCount {
  Item item;
  int64_t count = 0;  // 0 for an item that nobody ever liked.
  Source source = Source::kUnknown;
  absl::Time as_of;  // An instant at which the store held this count.
  std::string consistency_token;
};

struct CountReply {
  ItemCount count;
  std::string request_id;
};

struct CountsReply {
  std::vector<ItemCount> counts;  // counts[i] is of items[i].
  std::string request_id;
};

// What is new to a watch.
struct CountsUpdate {
  std::vector<ItemCount> counts;  // Each item once at most.
  // Whether these are the counts of all items, but for those of which tokens were given: the first
  // update of a watch, and the first after the store got another history, in which counts may be
  // lower than they were.
  bool snapshot = false;
};

struct HasLikedReply {
  std::vector<bool> liked;  // liked[i] is of items[i].
  Source source = Source::kUnknown;
  absl::Time as_of;
  std::string request_id;
};

// One like of a user.
struct LikedItem {
  Item item;
  absl::Time liked_at;  // To the second.
};

struct LikesReply {
  std::vector<LikedItem> likes;  // Newest first.
  std::string next_page_token;   // Gets the next page; empty if no more follow.
  std::string request_id;
};

// One user who likes an item.
struct Liker {
  int64_t user_id = 0;
  absl::Time liked_at;  // To the second.
};

struct LikersReply {
  std::vector<Liker> likers;    // Newest like first.
  std::string next_page_token;  // Gets the next page; empty if no more follow.
  std::string request_id;
};

// Which part of a list to get.
struct Page {
  int size = 0;                              // 1 to 1000; 0: 100.
  std::string token = {};                    // The next_page_token of the page before.
  std::vector<std::string> item_types = {};  // Of ListLikes: likes of these types. None: of all.
};

// What may be said about any call.
struct CallOptions {
  // From now; all attempts and pauses included. Absent: Options::deadline.
  std::optional<absl::Duration> deadline = std::nullopt;
  // Names the call in the server's logs: 1 to 64 characters of [A-Za-z0-9._-]. Empty: the server
  // makes one.
  std::string request_id = {};
  // The W3C trace context to pass on ("00-<trace>-<span>-01"). Empty: none.
  std::string traceparent = {};
};

// How fresh a read must be.
struct ReadOptions {
  Consistency consistency = Consistency::kCached;
  // Tokens of earlier answers, in any order, each of an item of the call: the answer includes the
  // writes that they name. Count takes at most one.
  std::vector<std::string> consistency_tokens = {};
};

// How to watch.
struct WatchOptions {
  // The newest tokens that the caller has of any of the items: what they name is known already, and
  // is left out.
  std::vector<std::string> consistency_tokens = {};
  // Whether it goes on by itself after a break; never with Options::retries off.
  bool resumes = true;
};

class Watch;  // watch.h

class Client {
 public:
  // Items whose last token a client with read_your_writes keeps; about 200 bytes each.
  static constexpr size_t kTokensMax = 10'000;

  struct Options {
    std::string target = "127.0.0.1:50051";      // host:port, dns:///name:port, unix:path ...
    absl::Duration deadline = absl::Seconds(2);  // Of a call that names none. > 0.
    bool retries = true;                         // false: one attempt a call, also of UNAVAILABLE.
    // Wait, inside the deadline, while no server is ready. false: end with kUnavailable at once; so
    // it is without retries, too.
    bool wait_for_ready = true;
    std::string user_agent = {};  // Put before this client's own: "feed/1.2".
    // Keep the tokens of writes, of the last kTokensMax items, and pass them to reads that come
    // without tokens. A read that begins after a write's reply then includes that write, if no
    // other write of this client on the same item ran at the same time as that one.
    bool read_your_writes = false;
    // How to secure the channel (credentials.h). Null: plain text.
    std::shared_ptr<grpc::ChannelCredentials> credentials = nullptr;
    int receive_bytes_max = 4 << 20;  // A larger reply ends with kResourceExhausted.
  };

  // Never blocks and never fails: connections are made when calls need them, and made again when
  // they break.
  static Client Connect(const Options& options);

  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  // Requires that no call is running, each `done` has returned, and no Watch is left.
  ~Client();

  Result<LikeReply> Like(int64_t user_id, const Item& item, const CallOptions& call = {}) const;
  Result<UnlikeReply> Unlike(int64_t user_id, const Item& item, const CallOptions& call = {}) const;
  // Up to 1000 mutations; each has a result of its own.
  Result<WriteLikesReply> WriteLikes(const std::vector<Mutation>& mutations,
                                     const CallOptions& call = {}) const;
  Result<CountReply> Count(const Item& item, const ReadOptions& read = {},
                           const CallOptions& call = {}) const;
  // Up to 1000 items, which may repeat.
  Result<CountsReply> Counts(const std::vector<Item>& items, const ReadOptions& read = {},
                             const CallOptions& call = {}) const;
  // Which of up to 1000 items, which may repeat, the user likes.
  Result<HasLikedReply> HasLiked(int64_t user_id, const std::vector<Item>& items,
                                 const ReadOptions& read = {}, const CallOptions& call = {}) const;

  // A page of what the user likes.
  Result<LikesReply> ListLikes(int64_t user_id, const Page& page = {},
                               const CallOptions& call = {}) const;
  // A page of who likes the item. kFailedPrecondition where the service has no index of them.
  Result<LikersReply> ListLikers(const Item& item, const Page& page = {},
                                 const CallOptions& call = {}) const;
  // Page after page from `page` on, until the list ends or `each` says false. The error that ended
  // it early, if one did. `each` runs on the calling thread.
  std::optional<Error> AllLikes(int64_t user_id, Page page,
                                const std::function<bool(const LikedItem& like)>& each,
                                const CallOptions& call = {}) const;
  std::optional<Error> AllLikers(const Item& item, Page page,
                                 const std::function<bool(const Liker& liker)>& each,
                                 const CallOptions& call = {}) const;

  // The counts of up to 100 items, and then each change (watch.h). It has the deadline of `call`
  // alone: without one it stands until it is stopped.
  Watch WatchCounts(const std::vector<Item>& items, const WatchOptions& watch = {},
                    const CallOptions& call = {}) const;

  // The same without blocking: `done` gets what the call ends with, exactly once, on another thread
  // and never inside the call that took it. It must not block, and may start other calls.
  template <class Reply>
  using Done = std::function<void(Result<Reply> result)>;

  void LikeAsync(int64_t user_id, const Item& item, Done<LikeReply> done,
                 const CallOptions& call = {}) const;
  void UnlikeAsync(int64_t user_id, const Item& item, Done<UnlikeReply> done,
                   const CallOptions& call = {}) const;
  void WriteLikesAsync(const std::vector<Mutation>& mutations, Done<WriteLikesReply> done,
                       const CallOptions& call = {}) const;
  void CountAsync(const Item& item, const ReadOptions& read, Done<CountReply> done,
                  const CallOptions& call = {}) const;
  void CountsAsync(const std::vector<Item>& items, const ReadOptions& read, Done<CountsReply> done,
                   const CallOptions& call = {}) const;
  void HasLikedAsync(int64_t user_id, const std::vector<Item>& items, const ReadOptions& read,
                     Done<HasLikedReply> done, const CallOptions& call = {}) const;
  void ListLikesAsync(int64_t user_id, const Page& page, Done<LikesReply> done,
                      const CallOptions& call = {}) const;
  void ListLikersAsync(const Item& item, const Page& page, Done<LikersReply> done,
                       const CallOptions& call = {}) const;

 private:
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace counter::client

namespace counter {
using client::Client;
}  // namespace counter

#endif  // COUNTER_CLIENTS_CPP_CLIENT_H_
