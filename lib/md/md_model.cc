#include "lib/md/md_model.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/potential/model/mace_potential.h"
#include "lib/potential/model/open_potentials.h"
#include "lib/potential/prediction/force_predictor.h"
#include "lib/structure/element.h"

namespace rutile {

absl::StatusOr<std::shared_ptr<const MdModel>> MdModel::Open(absl::Span<const std::string> paths, int precision,
                                                             const std::string& curvature) {
  if (paths.empty()) return absl::InvalidArgumentError("no model file is named, expected at least one");
  if (precision != 0 && precision != 32 && precision != 64) {
    return absl::InvalidArgumentError(
        absl::StrCat("precision is ", precision, ", expected 32, 64, or 0 for that of the model files"));
  }
  auto model = std::make_shared<MdModel>();
  ASSIGN_OR_RETURN(OpenedPotentials opened, OpenPotentials(paths));
  model->potentials_ = std::move(opened.potentials);
  RETURN_IF_ERROR(CheckCommittee(model->potentials_, opened.names));
  if (!curvature.empty()) RETURN_IF_ERROR(model->ReadCurvatureOf(curvature, opened.names));  // of the files' bits
  for (Potential& potential : model->potentials_) {
    if (precision == 32) RETURN_IF_ERROR(RefuseMace(potential, opened.names[0], "precision 32"));
    if (precision != 0) potential = WithPrecision(potential, precision == 32 ? DType::kF32 : DType::kF64);
  }
  for (const uint8_t element : model->potentials_[0].descriptor.species()) {
    model->symbols_.emplace_back(ElementSymbol(element));
  }
  return model;
}

absl::Status MdModel::ReadCurvatureOf(const std::string& path, absl::Span<const std::string> names) {
  ASSIGN_OR_RETURN(Curvature curvature, ReadCurvature(path));
  ASSIGN_OR_RETURN(const size_t member, FindMemberOf(curvature, potentials_, names));
  curvature_ = std::make_unique<Curvature>(std::move(curvature));
  formulas_ =
      std::make_unique<GradientFormulas>(potentials_[member], LossOptions(), TermWeights(), AngularMethod::kMoments);
  return absl::OkStatus();
}

int MdModel::precision() const { return CommitteePrecision(potentials_) == DType::kF32 ? 32 : 64; }

bool MdModel::has_training_range() const {
  return std::any_of(potentials_.begin(), potentials_.end(),
                     [](const Potential& potential) { return !potential.feature_range.min.empty(); });
}

}  // namespace rutile
