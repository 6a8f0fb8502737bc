// Outputs that belong together: each takes its name when all are whole.

#ifndef RUTILE_LIB_FILE_COMMIT_TOGETHER_H_
#define RUTILE_LIB_FILE_COMMIT_TOGETHER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace rutile {

// While an object lives, AtomicFile::Commit of its thread flushes a file and leaves it under its temporary name; Commit
// of this class then names all of them. So whoever writes the files need not know. Files that Commit has not named are
// removed with the object, and what a killed process leaves is found and removed as that of any AtomicFile. What is no
// regular file (a pipe, "-") is written at once.
//
//   CommitTogether together;
//   RETURN_IF_ERROR(WriteKgeModel(model_path, model));
//   RETURN_IF_ERROR(WriteTriples(triples_path, graph, metadata));
//   return together.Commit();
class CommitTogether {
 public:
  CommitTogether();  // CHECK-fails if this thread has one already
  CommitTogether(const CommitTogether&) = delete;
  CommitTogether& operator=(const CommitTogether&) = delete;
  ~CommitTogether();

  // Names the files in the order in which they were written. Fails with the path and the reason at the first that
  // cannot be renamed; those before it have their names.
  absl::Status Commit();

  // For AtomicFile: the object of this thread, or null.
  static CommitTogether* OfThisThread();
  // For AtomicFile: takes over a file that is flushed. fd: open, with the lock that says it is being written.
  void Take(std::string path, std::string temporary, int fd);

 private:
  struct File {
    std::string path, temporary;
    int fd;
  };
  std::vector<File> files_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_FILE_COMMIT_TOGETHER_H_
