#include "lib/potential/training/device_force_kernel.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/potential/gpu/descriptor_host_tables.h"
#include "lib/potential/gpu/plain_network_shape.h"
#include "lib/structure/cell.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// The arrays do not overlap. Told so, compilers use vectors.
template <typename T>
void AddTo(const T* __restrict from, int64_t n, T* __restrict to) {
  for (int64_t i = 0; i < n; ++i) to[i] += from[i];
}

}  // namespace

StepModel MakeStepModel(const AtomisticModel& model, const LossOptions& loss) {
  StepModel step;
  step.descriptor = MakeHostDescriptorTables(model.descriptor().chebyshev());
  step.network = PlainShapeOf(model.shape());
  step.mean = model.feature_scaling().mean;
  step.scale = model.feature_scaling().scale;
  step.energy_scale = model.energy_scaling().scale;
  step.energy_shift = model.energy_scaling().shift;
  step.loss = {loss.kind == LossKind::kHuber, loss.energy_delta,     loss.force_delta, loss.stress_delta,
               loss.force_weight > 0,         loss.stress_weight > 0};
  return step;
}

template <typename T>
absl::StatusOr<std::unique_ptr<DeviceForceKernel<T>>> DeviceForceKernel<T>::Create(const AtomicData& data,
                                                                                   const AtomisticModel& model,
                                                                                   const LossOptions& loss,
                                                                                   std::unique_ptr<ForceStep<T>> step) {
  const ProfileScope scope(Stage::kSetup);
  // The pairs of structures that are not in memory are found here, and stay until the step has copied them.
  struct FoundPairs {
    std::vector<int64_t> offset;
    std::vector<int32_t> j;
    std::vector<int16_t> shift;
  };
  const int64_t count = data.num_structures();
  std::vector<FoundPairs> found(data.has_pairs() ? 0 : count);
  std::vector<Matrix3> cells(count);
  std::vector<StepStructure> structures(count);
  std::vector<Counted> counted(count);
  for (int64_t s = 0; s < count; ++s) {
    StepStructure& to = structures[s];
    cells[s] = data.cell(s);
    to.pairs.num_atoms = data.num_atoms(s);
    to.pairs.position = data.position(s).data();
    to.pairs.cell = cells[s].data();
    to.pairs.species = data.species(s).data();
    to.has_energy = data.has_energy(s);
    if (to.has_energy) to.target = model.targets()[s];
    to.weight = data.weight(s);
    if (!data.force(s).empty()) to.force = data.force(s).data();
    if (data.has_stress(s)) to.stress = data.stress(s).data();
    to.volume = CellVolume(cells[s]);
    counted[s] = {to.weight, to.has_energy, loss.stress_weight > 0 && to.stress != nullptr};
    if (data.has_pairs()) {
      const PairView pairs = data.pairs(s);
      to.pairs.offset = pairs.offset.data();
      to.pairs.j = pairs.j;
      to.pairs.shift = pairs.shift;
      to.pairs.first_atom = pairs.first_atom;
    } else {
      FoundPairs& pairs = found[s];
      RETURN_IF_ERROR(data.FindPairs(s, &pairs.offset, &pairs.j, &pairs.shift));
      to.pairs.offset = pairs.offset.data();
      to.pairs.j = pairs.j.data();
      to.pairs.shift = pairs.shift.data();
    }
  }
  if (const std::string error = step->Load(structures); !error.empty()) {
    return absl::ResourceExhaustedError(absl::StrCat("the structures could not be kept on the GPU: ", error));
  }
  return std::unique_ptr<DeviceForceKernel<T>>(
      new DeviceForceKernel<T>(model, loss, std::move(counted), std::move(step)));
}

template <typename T>
StructureSums DeviceForceKernel<T>::SumsOf(const Counted& counted, int64_t num_sampled,
                                           const StepResult& result) const {
  const double weight = counted.weight;
  StructureSums sums;
  sums.energy_error = std::numeric_limits<double>::quiet_NaN();
  if (counted.has_energy) {
    sums.energy_error = result.energy_error;
    sums.energy_count = weight;
    sums.energy_loss = weight * energy_loss_.Value(result.energy_error);
    sums.errors.energy.Add(result.energy_error);
  }
  if (loss_.force_weight > 0 && num_sampled > 0) {
    const double count = 3 * static_cast<double>(num_sampled);
    sums.force_loss = weight * result.force_loss;
    sums.force_count = weight * count;
    sums.errors.force = {result.force_square, result.force_absolute, count};
  }
  if (counted.learns_stress) {
    sums.stress_loss = weight * result.stress_loss;
    sums.stress_count = weight * 9;
    sums.errors.stress = {result.stress_square, result.stress_absolute, 9};
  }
  return sums;
}

template <typename T>
absl::Status DeviceForceKernel<T>::Run(absl::Span<const T> parameters, const DeviceForceBatch& batch,
                                       absl::Span<Tensor> gradients, TermSums* sums, BatchErrors* errors) {
  const ProfileScope scope(Stage::kStep);
  const int64_t b = batch.num_structures();
  learns_forces_.resize(b);
  for (int64_t s = 0; s < b; ++s) learns_forces_[s] = loss_.force_weight > 0 && batch.num_sampled[s] > 0;
  const StepBatch step = {b, batch.example.data(), learns_forces_.data(),
                          reinterpret_cast<const uint8_t*>(batch.force_sampled)};
  results_.resize(b);
  gradients_.resize(gradients.size() * num_parameters_);
  const std::string error =
      step_->Run(parameters.data(), step, gradients.empty() ? nullptr : gradients_.data(), results_.data());
  if (!error.empty()) return absl::InternalError(absl::StrCat("the GPU failed: ", error));

  for (size_t term = 0; term < gradients.size(); ++term) {
    AddTo(gradients_.data() + term * num_parameters_, num_parameters_, gradients[term].mutable_values<T>().data());
  }
  energy_errors_.resize(b);
  const double count_scale = ForceCountScale(loss_, batch.sampled_share);
  for (int64_t s = 0; s < b; ++s) {
    const StructureSums parts = SumsOf(counted_[batch.example[s]], batch.num_sampled[s], results_[s]);
    energy_errors_[s] = parts.energy_error;
    AddStructureSums(loss_, count_scale, parts, sums, errors);
  }
  return absl::OkStatus();
}

template class DeviceForceKernel<float>;
template class DeviceForceKernel<double>;

}  // namespace rutile
