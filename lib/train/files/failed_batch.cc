#include "lib/train/files/failed_batch.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/tensorfile/tensor_writer.h"

namespace rutile {

const Schema& FailedBatchSchema() {
  static const auto* schema = new Schema{
      "failed-batch/1",
      "The batch whose loss or gradient was not finite, written when training stops for it. B = examples, T = terms of "
      "the loss. To look at it in Python: find what is not finite in parameters.*, then in batch.*.",
      {
          {"batch.NAME", {}, {}, false, "each tensor of the batch, of any type and shape"},
          {"parameters.NAME", {DType::kF32, DType::kF64}, {}, false, "each parameter of the model before the step"},
          {"example", {DType::kI64}, {"B"}, true, "numbers of the examples, from 0, over all inputs"},
          {"term_sum", {DType::kF64}, {"T"}, true, "sums of the loss terms over the batch"},
          {"term_count", {DType::kF64}, {"T"}, true, "values in these sums"},
          {"loss", {DType::kF64}, {}, true, "of these sums"},
          {"gradient_norm", {DType::kF64}, {}, true, "Euclidean norm of the loss's gradient"},
          {"learning_rate", {DType::kF64}, {}, true, "of the step before"},
          {"epoch", {DType::kI64}, {}, true, "from 1"},
          {"step", {DType::kI64}, {}, true, "from 1: the one that failed"},
          {"seed", {DType::kU64}, {}, true, "of the run"},
      },
      {{"terms", true, "names of the loss terms, comma-separated, with their units"},
       {"message", true, "what training said when it stopped"},
       {"config", true, "JSON: the options that decide the course of the run"}}};
  return *schema;
}

absl::Status WriteFailedBatch(absl::string_view path, const Task& task, const Checkpoint& state,
                              const FailedBatch& failed, const Metadata& provenance) {
  CHECK(failed.batch != nullptr && failed.sums != nullptr);
  NamedTensors tensors;
  ASSIGN_OR_RETURN(const NamedTensors batch, task.CompleteBatch(*failed.batch));
  for (const auto& [name, tensor] : batch) tensors.Set(absl::StrCat("batch.", name), tensor);
  for (const ParameterSlice& slice : task.parameter_slices()) {
    tensors.Set(absl::StrCat("parameters.", slice.name), state.parameters.Slice(slice.offset, slice.shape));
  }
  tensors.Set("example", Tensor::Of(std::vector<int64_t>(failed.examples.begin(), failed.examples.end())));
  tensors.Set("term_sum", Tensor::Of(failed.sums->sum));
  tensors.Set("term_count", Tensor::Of(failed.sums->count));
  tensors.Set("loss", Tensor::Scalar<double>(failed.loss));
  tensors.Set("gradient_norm", Tensor::Scalar<double>(failed.gradient_norm));
  tensors.Set("learning_rate", Tensor::Scalar<double>(state.learning_rate));
  tensors.Set("epoch", Tensor::Scalar<int64_t>(state.epoch + 1));
  tensors.Set("step", Tensor::Scalar<int64_t>(state.step + 1));
  tensors.Set("seed", Tensor::Scalar<uint64_t>(state.seed));
  Metadata metadata = provenance;
  metadata["kind"] = FailedBatchSchema().kind;
  metadata["message"] = std::string(failed.message);
  metadata["config"] = state.config;
  metadata["terms"] = absl::StrJoin(task.terms(), ",", [](std::string* out, const LossTerm& term) {
    absl::StrAppend(out, term.name, term.unit.empty() ? "" : absl::StrCat("[", term.unit, "]"));
  });
  return WriteTensorFile(path, metadata, tensors);
}

}  // namespace rutile
