// Outputs that belong together: each is written under another name, and takes its own when all are whole.

#ifndef RUTILE_TOOLS_EVALUATE_PENDING_FILE_H_
#define RUTILE_TOOLS_EVALUATE_PENDING_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace rutile {

//   std::vector<PendingFile> files;
//   files.emplace_back("model.safetensors");
//   RETURN_IF_ERROR(files.back().Named(WriteKgeModel(files.back().written_path(), model)));
//   ...
//   for (PendingFile& file : files) RETURN_IF_ERROR(file.Keep());
class PendingFile {
 public:
  explicit PendingFile(std::string path);
  PendingFile(PendingFile&& other) noexcept;
  PendingFile& operator=(PendingFile&&) = delete;
  ~PendingFile();  // removes the file unless it was kept

  const std::string& path() const { return path_; }
  // The name to write to, in the same directory. Of standard output and of what is no regular file it is the path.
  const std::string& written_path() const { return written_path_; }

  // Returns the status of writing with the path in the place of the written name.
  absl::Status Named(const absl::Status& status) const;

  // Renames the written file to the path. Fails with the path and the reason.
  absl::Status Keep();

 private:
  std::string path_, written_path_;
  bool is_pending_;
};

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_PENDING_FILE_H_
