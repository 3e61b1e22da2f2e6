// Durability: what an acknowledged write must survive.
//
// Use it to ask a store for it. A value.
#ifndef COUNTER_STORAGE_DURABILITY_H_
#define COUNTER_STORAGE_DURABILITY_H_

namespace counter {

enum class Durability {
  kLocal,       // A crash of every process and of the primary's machine.
  kReplicated,  // Also the loss of the primary: the synchronous standby has it.
  kUnsafe,      // Nothing. For throw-away databases that run with fsync off.
};

}  // namespace counter

#endif  // COUNTER_STORAGE_DURABILITY_H_
