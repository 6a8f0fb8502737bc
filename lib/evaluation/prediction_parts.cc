#include "lib/evaluation/prediction_parts.h"

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/evaluation/predictions_file.h"
#include "lib/tensorfile/part_set.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/tensorfile/tensor_reader.h"

namespace rutile {

absl::StatusOr<MergedPredictions> ReadPredictionParts(absl::Span<const std::string> paths,
                                                      absl::Span<const std::string> model_files, size_t num_models) {
  std::vector<TensorFile> files;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(TensorFile file, ReadTensorFile(path));
    files.push_back(std::move(file));
  }
  ASSIGN_OR_RETURN(const std::vector<size_t> order, OrderParts(files, {"kind", "selection", "members"}));
  const auto members = files[0].metadata.find("members");
  if (members != files[0].metadata.end() && members->second != absl::StrCat(num_models)) {
    return absl::InvalidArgumentError(absl::StrCat(files[0].path, ": predictions of ", members->second, " models, but ",
                                                   num_models, " are given: name all of them"));
  }
  for (const std::string& file : model_files) RETURN_IF_ERROR(CheckMadeFrom(files[0], "model", file));
  std::vector<std::vector<StructurePrediction>> parts;
  size_t size = 0;
  for (const size_t f : order) {
    ASSIGN_OR_RETURN(std::vector<StructurePrediction> part, DecodePredictions(files[f]));
    size += part.size();
    parts.push_back(std::move(part));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t expected = (size + parts.size() - 1 - i) / parts.size();
    if (parts[i].size() == expected) continue;
    return absl::InvalidArgumentError(absl::StrCat(files[order[i]].path, ": has ", parts[i].size(), " structures of ",
                                                   size, " in all parts, expected ", expected));
  }
  MergedPredictions merged;
  for (size_t k = 0; k < size; ++k) merged.predictions.push_back(std::move(parts[k % parts.size()][k / parts.size()]));
  const auto selection = files[0].metadata.find("selection");
  if (selection != files[0].metadata.end()) merged.selection = selection->second;
  return merged;
}

}  // namespace rutile
