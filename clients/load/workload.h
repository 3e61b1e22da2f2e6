// Workload: which calls a load makes, and whether their answers can be right.
//
// Use it to feed a LoadGenerator. It is not a test: it does not know what a count should be; an
// answer is wrong if it is of another shape than asked for (too few results, a failed mutation, a
// like where all users are new that is none).
//
// Threads: Next and Judge from any thread, each with a random source of its own.
#ifndef COUNTER_CLIENTS_LOAD_WORKLOAD_H_
#define COUNTER_CLIENTS_LOAD_WORKLOAD_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include <grpcpp/support/byte_buffer.h>

namespace counter::load {

class Workload {
 public:
  // One kind of call. Methods by the names they have in RPC paths, and Empty, which goes to the
  // echo service and is what a call costs without a product.
  enum class Method { kEmpty, kLike, kUnlike, kWriteLikes, kGetCount, kBatchGetCounts, kHasLiked };

  struct Call {
    Method method = Method::kEmpty;
    grpc::ByteBuffer request;
  };

  // What an answer was worth.
  struct Verdict {
    int64_t units = 0;    // Likes, counts or memberships answered.
    int64_t changed = 0;  // Of likes and unlikes: those that changed something.
    bool wrong = false;
  };

  struct Settings {
    // Parts such as "Like=1,GetCount=99": method and weight; a method alone has a weight of 1.
    std::string calls = "Like";
    std::string items = "uniform:1000000";  // A Draw.
    std::string item_type = "post";
    int64_t items_first = 1;  // The id of the item that is drawn as 1; the others follow.
    // A new user's item depends on the user alone (ItemOf), so that what was liked is known later.
    // Requires users "new" and items that are drawn by chance.
    bool item_of_user = false;
    // A Draw; or "item": the user with the number of the item, so that the same pairs come again;
    // or "owner": of the item as `own` says.
    std::string users = "new";
    // Where "new" users begin: beyond all that earlier runs on the same data used.
    int64_t users_first = 1;
    int batch = 100;  // Mutations or items of a batch call.
    double cold_share =
        0;  // Of read items: this share is of ids that nobody ever liked or asked for.
    bool strong = false;  // Reads ask for CONSISTENCY_STRONG.
    // HasLiked asks for the first `batch` of this user's items and their likes were filled before:
    // item (user - 1) * own + k for k from 1 to own. 0: items as drawn.
    int own = 0;
  };

  // An error names the setting, the value and what was expected.
  static absl::StatusOr<std::unique_ptr<Workload>> Make(const Settings& settings);
  virtual ~Workload() = default;

  virtual Call Next(std::mt19937_64& random) = 0;
  virtual Verdict Judge(Method method, const grpc::ByteBuffer& reply) const = 0;

  // Whether it makes calls of this method.
  virtual bool Makes(Method method) const = 0;
  // How many users were drawn so far; those that are new are consecutive.
  virtual int64_t users_drawn() const = 0;
  // The id of the item that this user liked, if any. Requires item_of_user.
  virtual int64_t ItemOf(int64_t user) const = 0;

  // "/counter.v1.CounterService/Like".
  static const std::string& Path(Method method);
  // "Like".
  static const char* Name(Method method);
};

}  // namespace counter::load

#endif  // COUNTER_CLIENTS_LOAD_WORKLOAD_H_
