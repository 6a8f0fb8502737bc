// A directory for temporary files.

#ifndef RUTILE_TOOLS_PROFILE_SCRATCH_DIRECTORY_H_
#define RUTILE_TOOLS_PROFILE_SCRATCH_DIRECTORY_H_

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/file/file.h"

namespace rutile {

// A new directory in $TMPDIR or /tmp, which is removed with its contents when the object is destroyed.
class ScratchDirectory {
 public:
  static absl::StatusOr<ScratchDirectory> Create() {
    const char* const parent = std::getenv("TMPDIR");
    std::string path = absl::StrCat(parent != nullptr && *parent != '\0' ? parent : "/tmp", "/rutile-profile-XXXXXX");
    if (::mkdtemp(path.data()) == nullptr) return ErrnoStatus(errno, absl::StrCat(path, ": cannot make the directory"));
    return ScratchDirectory(std::move(path));
  }
  ScratchDirectory(ScratchDirectory&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;
  ~ScratchDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string path(absl::string_view name) const { return absl::StrCat(path_, "/", name); }

 private:
  explicit ScratchDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_SCRATCH_DIRECTORY_H_
