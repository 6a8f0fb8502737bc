#include "lib/distributed/communicator.h"

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

absl::Status Compare(size_t rank, const std::vector<std::string>& first, const std::vector<std::string>& other) {
  const size_t common = std::min(first.size(), other.size());
  for (size_t i = 0; i < std::max(first.size(), other.size()); ++i) {
    if (i < common && first[i] == other[i]) continue;
    return absl::FailedPreconditionError(absl::StrCat("rank ", rank, " does not agree with rank 0: it has ",
                                                      i < other.size() ? other[i] : "nothing more", ", rank 0 ",
                                                      i < first.size() ? first[i] : "nothing more",
                                                      "; start all processes with the same program, flags and data"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckAgreement(Communicator& communicator, const std::vector<std::string>& settings) {
  ASSIGN_OR_RETURN(const std::vector<std::string> all, communicator.Gather(absl::StrJoin(settings, "\n")));
  const std::vector<std::string> first = absl::StrSplit(all[0], '\n');
  for (size_t rank = 1; rank < all.size(); ++rank) {
    RETURN_IF_ERROR(Compare(rank, first, absl::StrSplit(all[rank], '\n')));
  }
  return absl::OkStatus();
}

}  // namespace rutile
