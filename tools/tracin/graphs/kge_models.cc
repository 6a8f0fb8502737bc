#include "tools/tracin/graphs/kge_models.h"

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/kge/model/kge_import.h"
#include "lib/kge/new_entities/grown_graph.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/tensorfile/tensor_reader.h"
#include "tools/tracin/graphs/kge_question.h"

namespace rutile {

absl::Status CheckNoNewEntities(const TracinFlags& flags, const CheckpointSet& checkpoint_set) {
  if (!checkpoint_set.are_models()) return absl::OkStatus();
  for (const std::string& path : checkpoint_set.paths) {
    ASSIGN_OR_RETURN(const TensorFile look, LookIntoTensorFile(path));
    const int64_t number = NumNewEntities(look.metadata);
    if (number == 0) continue;
    RETURN_IF_ERROR(WarnOrRefuse(
        flags, absl::StrCat(path, ": ",
                            number == 1 ? "the last entity was" : absl::StrCat("the last ", number, " entities were"),
                            " folded in after training (evaluate --new_triples): no step was on ",
                            number == 1 ? "its" : "their",
                            " triples, whose scores do not say what training learned from them")));
  }
  return absl::OkStatus();
}

absl::Status CheckTrainedLossIsKnown(const TracinFlags& flags, const CheckpointSet& checkpoint_set) {
  if (!checkpoint_set.are_models() || !AsksForTrainedLoss(flags)) return absl::OkStatus();
  for (const std::string& path : checkpoint_set.paths) {
    ASSIGN_OR_RETURN(const TensorFile look, LookIntoTensorFile(path));
    RETURN_IF_ERROR(
        CheckLossIsKnown(look.metadata, path, flags.gauss_newton ? "--precondition=gauss-newton" : "--loss=trained"));
  }
  return absl::OkStatus();
}

}  // namespace rutile
