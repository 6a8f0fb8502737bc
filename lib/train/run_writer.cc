#include "lib/train/run_writer.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"

namespace rutile {

absl::Status RunWriter::WriteBest(const Checkpoint& state) {
  if (best_is_written_) return absl::OkStatus();
  Metadata extra = provenance_;
  extra["epoch"] = absl::StrCat(state.best_epoch);
  if (state.best_step > 0) extra["step"] = absl::StrCat(state.best_step);
  extra["loss"] = absl::StrCat(state.best_loss);
  RETURN_IF_ERROR(task_.WriteModel(directory_.best(), state.best_parameters, extra));
  best_is_written_ = true;
  return absl::OkStatus();
}

absl::Status RunWriter::WriteModels(const Checkpoint& state, const Tensor& parameters, double loss) {
  RETURN_IF_ERROR(WriteBest(state));
  Metadata extra = provenance_;
  extra["epoch"] = absl::StrCat(state.epoch);
  extra["step"] = absl::StrCat(state.step);
  if (!std::isnan(loss)) extra["loss"] = absl::StrCat(loss);
  return task_.WriteModel(directory_.last(), parameters, extra);
}

absl::Status RunWriter::WriteAverage(const Checkpoint& state, const Tensor& parameters, double loss) const {
  Metadata extra = provenance_;
  extra["epoch"] = absl::StrCat(state.epoch);
  extra["step"] = absl::StrCat(state.step);
  if (!std::isnan(loss)) extra["loss"] = absl::StrCat(loss);
  return task_.WriteModel(directory_.average(), parameters, extra);
}

absl::Status RunWriter::WriteCheckpoint(const Checkpoint& state, absl::string_view path) const {
  return SaveCheckpoint(path, state, slices_, provenance_);
}

absl::Status RunWriter::Save(const Checkpoint& state, const Tensor& parameters, double loss) {
  RETURN_IF_ERROR(WriteModels(state, parameters, loss));
  return WriteCheckpoint(state, directory_.checkpoint());
}

}  // namespace rutile
