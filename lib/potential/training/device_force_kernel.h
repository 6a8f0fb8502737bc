// Does on a GPU what ForceKernel does on processors: a step of force training, for ForceTask.

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_DEVICE_FORCE_KERNEL_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_DEVICE_FORCE_KERNEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/gpu/force_step.h"
#include "lib/potential/model/atomistic_model.h"
#include "lib/potential/model/task_options.h"
#include "lib/potential/training/force_batch.h"
#include "lib/potential/training/force_kernel.h"
#include "lib/task/loss_terms.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Returns what a ForceStep needs to know of a model.
StepModel MakeStepModel(const AtomisticModel& model, const LossOptions& loss);

// What makes a task's steps, as MakeCudaForceStep does: on GPUs, unless a test or a benchmark puts others in their
// place.
struct ForceStepMakers {
  template <typename T>
  using Maker = std::function<std::unique_ptr<ForceStep<T>>(const StepModel& model, int device, std::string* error)>;
  Maker<float> f32 = MakeCudaForceStep<float>;
  Maker<double> f64 = MakeCudaForceStep<double>;

  template <typename T>
  const Maker<T>& Of() const {
    if constexpr (std::is_same_v<T, float>) {
      return f32;
    } else {
      return f64;
    }
  }
};

// T is float or double, the type of parameters and arithmetic. One thread at a time may use an object.
template <typename T>
class DeviceForceKernel {
 public:
  // Loads all structures of the data to the step's device. data, and loss options, must outlive the kernel.
  // INVALID_ARGUMENT: the descriptor has more angular sets than the kernels of GPUs take. RESOURCE_EXHAUSTED: the
  // structures do not fit. Errors of AtomicData::FindPairs.
  static absl::StatusOr<std::unique_ptr<DeviceForceKernel<T>>> Create(const AtomicData& data,
                                                                      const AtomisticModel& model,
                                                                      const LossOptions& loss,
                                                                      std::unique_ptr<ForceStep<T>> step);

  // Freezes networks; see NetworkKernel::SetFrozen. Zeros are added to their gradients.
  void SetFrozen(const std::vector<bool>& species) { step_->SetFrozen(species); }

  // Does what ForceKernel::Run does. INTERNAL if the device fails.
  absl::Status Run(absl::Span<const T> parameters, const DeviceForceBatch& batch, absl::Span<Tensor> gradients,
                   TermSums* sums, BatchErrors* errors);

  // Returns [B] errors of the energy per atom in the last batch, eV; NaN where no energy is known.
  absl::Span<const double> energy_errors() const { return energy_errors_; }
  // Returns how many bytes the structures take on the device.
  int64_t bytes() const { return step_->bytes(); }

 private:
  // What the host must know of a structure to read a step's results, together as it is read in random order.
  struct Counted {
    double weight;
    bool has_energy;
    bool learns_stress;
  };

  DeviceForceKernel(const AtomisticModel& model, const LossOptions& loss, std::vector<Counted> counted,
                    std::unique_ptr<ForceStep<T>> step)
      : loss_(loss),
        energy_loss_(loss.kind, loss.energy_delta),
        num_parameters_(model.shape().num_parameters()),
        counted_(std::move(counted)),
        step_(std::move(step)) {}

  // Returns the contribution of a structure, num_sampled of whose forces are learned.
  StructureSums SumsOf(const Counted& counted, int64_t num_sampled, const StepResult& result) const;

  const LossOptions loss_;
  const ErrorLoss energy_loss_;
  const int64_t num_parameters_;
  const std::vector<Counted> counted_;  // of each structure of the data
  const std::unique_ptr<ForceStep<T>> step_;
  std::vector<T> gradients_;  // [terms, num_parameters]
  std::vector<StepResult> results_;
  std::vector<double> energy_errors_;
  std::vector<uint8_t> learns_forces_;  // [B]
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_DEVICE_FORCE_KERNEL_H_
