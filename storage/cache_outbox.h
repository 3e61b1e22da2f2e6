// CacheOutbox: what of the truth a cache has still to be told, kept by the store itself.
//
// Use it to keep a shared cache true over crashes. A store with an outbox writes, in the same
// transaction as a batch of mutations, one row that names the items that changed. The row goes when
// the cache has been told; a row that stays shows that somebody died in between, and any server may
// take it up. The store knows nothing of caches: it only keeps the rows.
//
// - BatchCommitted() is called after the commit, before the results of the batch are given out.
// - Acknowledge() deletes the row in a later transaction, as soon as one leaves; it costs none of
// its
//   own. An acknowledgement that is lost (a crash, a full list) leaves the row: the worst is that
//   the cache is told twice.
// - Without a listener every batch is acknowledged at once.
//
// Threads: BatchCommitted is called on a thread of the store, which it must not block; Acknowledge
// and SetListener may be called from any thread, from inside BatchCommitted too.
#ifndef COUNTER_STORAGE_CACHE_OUTBOX_H_
#define COUNTER_STORAGE_CACHE_OUTBOX_H_

#include <cstdint>
#include <vector>

#include "storage/like.h"

namespace counter {

struct ChangedItem {
  Item item;
  int64_t count = 0;
  int64_t version = 0;
};

// Names a row of the outbox. Numbers rise, but later rows may become visible before earlier ones:
// never compare them to find out what is new.
struct OutboxRow {
  int64_t id = 0;
  int lane = 0;         // Which of the store's writers made it, and will delete it.
  int64_t history = 0;  // Of the store, as that writer counts them: in another one numbers come
                        // again, for other rows.
};

class OutboxListener {
 public:
  virtual ~OutboxListener() = default;
  virtual void BatchCommitted(const OutboxRow& row, const std::vector<ChangedItem>& changed) = 0;
};

class CacheOutbox {
 public:
  virtual ~CacheOutbox() = default;

  // Null: nobody listens. The listener must outlive the store's Stop(), or be taken away before.
  virtual void SetListener(OutboxListener* listener) = 0;

  // The cache has been told.
  virtual void Acknowledge(const OutboxRow& row) = 0;
};

}  // namespace counter

#endif  // COUNTER_STORAGE_CACHE_OUTBOX_H_
