#include "lib/potential/model/mace_potential.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/mace/mace_file.h"

namespace rutile {

Potential PotentialOfMace(std::shared_ptr<const MaceModel> model) {
  Potential potential;
  potential.descriptor = model->neighborhood;
  SetInputs(potential.descriptor, model->channels, model->has_messages() ? model->channels : 0,
            /*vector_messages=*/0, &potential.shape);
  potential.shape.hidden.clear();
  potential.atomic_energies = model->atomic_energies;
  potential.parameters = Tensor::Zeros(DType::kF64, {0});
  potential.mace = std::move(model);
  return potential;
}

absl::StatusOr<Potential> MacePotential(const TensorFile& file) {
  ASSIGN_OR_RETURN(std::shared_ptr<const MaceModel> model, DecodeMace(file));
  Potential potential = PotentialOfMace(std::move(model));
  potential.metadata = file.metadata;
  return potential;
}

absl::Status RefuseMace(const Potential& potential, absl::string_view path, absl::string_view what) {
  if (potential.mace == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": ", path,
                   " is a MACE model of mace-torch, which rutile runs and does not train; expected a "
                   "model of train, as run/best.safetensors"));
}

absl::Status MaceInPlaceOfOurs(absl::string_view path) {
  return absl::InvalidArgumentError(absl::StrCat(
      path,
      ": is a MACE model of mace-torch, expected a model of train, as run/best.safetensors; evaluate, the C "
      "library and what is over it run MACE models"));
}

}  // namespace rutile
