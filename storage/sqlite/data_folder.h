// DataFolder: the folder of the embedded store's file, held by one process.
//
// Take() it before the file is opened and keep it as long as the store lives. The lock is on a file
// beside the database, not on the database: tools that only read may still look at that one. The
// kernel drops the lock when the process ends, however it ends.
//
// Threads: any. Ownership: the lock is given up with the object.
#ifndef COUNTER_STORAGE_SQLITE_DATA_FOLDER_H_
#define COUNTER_STORAGE_SQLITE_DATA_FOLDER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace counter::sqlite {

class DataFolder {
 public:
  // Makes the folder of `database_path` if it is not there, durably, and locks it for this process.
  // Refuses with a text that names the folder when another store holds it.
  static absl::StatusOr<std::unique_ptr<DataFolder>> Take(const std::string& database_path);
  ~DataFolder();
  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;

  // Makes the names of the files in the folder durable. Call it after files were made.
  absl::Status Flush() const;

 private:
  DataFolder(std::string folder, int lock_fd) : folder_(std::move(folder)), lock_fd_(lock_fd) {}

  const std::string folder_;
  const int lock_fd_;
};

}  // namespace counter::sqlite

#endif  // COUNTER_STORAGE_SQLITE_DATA_FOLDER_H_
