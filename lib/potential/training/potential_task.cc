#include "lib/potential/training/potential_task.h"

#include <utility>

#include "lib/base/status_macros.h"

namespace rutile {

PotentialTask::PotentialTask(const AtomicData& data, const AtomisticTaskOptions& options, AtomisticModel model)
    : data_(data), options_(options), model_(std::move(model)), errors_(data.num_structures()) {}

NamedTensors PotentialTask::State() const {
  NamedTensors state = errors_.State();
  if (options_.compile.preset == CompilePreset::kMaxAutotune) SetKernelPlanState(plan(), &state);
  return state;
}

absl::Status PotentialTask::SetState(const NamedTensors& state) {
  if (options_.compile.preset != CompilePreset::kMaxAutotune || state.empty()) return errors_.SetState(state);
  ASSIGN_OR_RETURN(const KernelPlan plan, KernelPlanOfState(state));
  // If the state has nothing but the plan, there are no errors to restore.
  RETURN_IF_ERROR(errors_.SetState(state.size() == 1 ? NamedTensors() : state));
  SetPlan(plan);
  return absl::OkStatus();
}

void PotentialTask::SetFrozen(const std::vector<bool>& slices) {
  Task::SetFrozen(slices);
  FreezeNetworks(model_.FrozenNetworks(slices));
}

}  // namespace rutile
