#include "lib/potential/training/tests/mixed_labels_testing.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "lib/base/logging.h"
#include "lib/file/file.h"

namespace rutile {

void WriteMixedLabels(const std::string& from, const std::string& to, bool energies) {
  const absl::StatusOr<FileContents> contents = FileContents::Open(from);
  CHECK(contents.ok()) << contents.status();
  std::vector<std::string> lines = absl::StrSplit(contents->data(), '\n');
  int64_t s = 0;
  for (std::string& line : lines) {
    if (!absl::StrContains(line, "Lattice=")) continue;
    // Under other names the labels are of no interest to readers.
    if (!energies || !MixedHasEnergy(s)) line = absl::StrReplaceAll(line, {{" energy=", " was="}});
    if (!MixedHasForces(s)) line = absl::StrReplaceAll(line, {{":forces:", ":was:"}});
    ++s;
  }
  CHECK_GT(s, 0);
  const absl::Status status = WriteFileAtomically(to, absl::StrJoin(lines, "\n"));
  CHECK(status.ok()) << status;
}

}  // namespace rutile
