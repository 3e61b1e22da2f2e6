// RowReader: the cells of one row of an answer, as the types that a statement promises.
//
// Use it in decoders: read all cells, then ask good() once. An answer of another shape is a binary
// and a database that do not fit together: Misshapen().
//
// For one thread; borrows the table.
#ifndef COUNTER_STORAGE_POSTGRES_ROW_READER_H_
#define COUNTER_STORAGE_POSTGRES_ROW_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "storage/postgres/binary.h"
#include "storage/postgres/table.h"

namespace counter::postgres {

inline absl::Status Misshapen() {
  return MakeError(ErrorReason::kInternal,
                   "the store's answer has not the expected form; see the server's log");
}

// Reads the cells of a row from left to right and remembers whether all were as expected.
class RowReader {
 public:
  RowReader(const Table& table, int row) : table_(table), row_(row) {}

  int64_t Int() { return Take(DecodeInt(Next())).value_or(0); }
  bool Bool() { return Take(DecodeBool(Next())).value_or(false); }
  std::string Text() { return std::string(Next()); }
  std::optional<int64_t> IntOrNull() {
    if (column_ < table_.columns() && table_.IsNull(row_, column_)) {
      ++column_;
      return std::nullopt;
    }
    return Int();
  }
  std::vector<int64_t> Ints() {
    return Take(DecodeIntArray(Next())).value_or(std::vector<int64_t>());
  }
  // A place that the row names: 1 to `places`; returned from 0.
  int Place(int places) {
    const int64_t n = Int();
    if (n >= 1 && n <= places) return static_cast<int>(n) - 1;
    good_ = false;
    return 0;
  }
  bool good() const { return good_; }

 private:
  absl::string_view Next() {
    if (column_ < table_.columns() && !table_.IsNull(row_, column_))
      return table_.Cell(row_, column_++);
    good_ = false;
    return {};
  }
  template <class T>
  std::optional<T> Take(std::optional<T> value) {
    good_ = good_ && value.has_value();
    return value;
  }

  const Table& table_;
  const int row_;
  int column_ = 0;
  bool good_ = true;
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_ROW_READER_H_
