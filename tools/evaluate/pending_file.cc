#include "tools/evaluate/pending_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

bool IsReplaced(const std::string& path) {
  struct stat info;
  return path != "-" && (::stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode));
}

}  // namespace

PendingFile::PendingFile(std::string path) : path_(std::move(path)), is_pending_(IsReplaced(path_)) {
  written_path_ = is_pending_ ? absl::StrCat(path_, ".tmp.", ::getpid(), ".pending") : path_;
}

PendingFile::PendingFile(PendingFile&& other) noexcept
    : path_(std::move(other.path_)), written_path_(std::move(other.written_path_)), is_pending_(other.is_pending_) {
  other.is_pending_ = false;
}

PendingFile::~PendingFile() {
  if (is_pending_) ::unlink(written_path_.c_str());
}

absl::Status PendingFile::Named(const absl::Status& status) const {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrReplaceAll(status.message(), {{written_path_, path_}}));
}

absl::Status PendingFile::Keep() {
  if (!is_pending_) return absl::OkStatus();
  if (std::rename(written_path_.c_str(), path_.c_str()) != 0) return ErrnoStatus(errno, path_);
  is_pending_ = false;
  return absl::OkStatus();
}

}  // namespace rutile
