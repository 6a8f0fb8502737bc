#include "lib/file/commit_together.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/file/directory.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

thread_local CommitTogether* of_this_thread = nullptr;

}  // namespace

CommitTogether::CommitTogether() {
  CHECK(of_this_thread == nullptr) << "files are committed together already";
  of_this_thread = this;
}

CommitTogether::~CommitTogether() {
  of_this_thread = nullptr;
  for (const File& file : files_) {
    ::unlink(file.temporary.c_str());
    ::close(file.fd);
  }
}

CommitTogether* CommitTogether::OfThisThread() { return of_this_thread; }

void CommitTogether::Take(std::string path, std::string temporary, int fd) {
  files_.push_back({std::move(path), std::move(temporary), fd});
}

absl::Status CommitTogether::Commit() {
  size_t done = 0;
  absl::Status status;
  for (; done < files_.size(); ++done) {
    const File& file = files_[done];
    if (std::rename(file.temporary.c_str(), file.path.c_str()) != 0) {
      status = ErrnoStatus(errno, absl::StrCat("cannot write ", file.path));
      break;
    }
    FlushDirectory(DirectoryOf(file.path));
    ::close(file.fd);
  }
  files_.erase(files_.begin(), files_.begin() + static_cast<int64_t>(done));
  return status;
}

}  // namespace rutile
