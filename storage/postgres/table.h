// Table: the rows that a statement answered, as PostgreSQL's binary cells.
//
// Use it between the connection, which fills it, and the statements, which know what the cells
// mean. It knows neither the driver nor any type.
//
// A value; for one thread at a time.
#ifndef COUNTER_STORAGE_POSTGRES_TABLE_H_
#define COUNTER_STORAGE_POSTGRES_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace counter::postgres {

class Table {
 public:
  Table() = default;
  explicit Table(int columns) : columns_(columns) {}

  // Cells are added row by row, from left to right.
  void Add(absl::string_view cell) {
    cells_.push_back({bytes_.size(), cell.size(), false});
    bytes_.append(cell.data(), cell.size());
  }
  void AddNull() { cells_.push_back({bytes_.size(), 0, true}); }

  int columns() const { return columns_; }
  int rows() const { return columns_ == 0 ? 0 : static_cast<int>(cells_.size()) / columns_; }

  // Requires that the row and the column exist, here and below.
  bool IsNull(int row, int column) const { return At(row, column).null; }
  // Empty for null.
  absl::string_view Cell(int row, int column) const {
    const Place& place = At(row, column);
    return absl::string_view(bytes_).substr(place.begin, place.size);
  }

 private:
  struct Place {
    size_t begin = 0;
    size_t size = 0;
    bool null = false;
  };
  const Place& At(int row, int column) const {
    return cells_[static_cast<size_t>(row) * static_cast<size_t>(columns_) +
                  static_cast<size_t>(column)];
  }

  int columns_ = 0;
  std::vector<Place> cells_;
  std::string bytes_;
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_TABLE_H_
