#include "lib/potential/training/potential_task.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "lib/base/settings.h"
#include "lib/base/status_macros.h"
#include "lib/potential/model/model_frame.h"
#include "lib/potential/model/potential_file.h"
#include "lib/potential/model/transfer.h"

namespace rutile {
namespace {

template <typename Options>
bool Names(absl::Span<const Setting<Options>> table, absl::string_view option) {
  return std::any_of(table.begin(), table.end(), [option](const Setting<Options>& row) { return row.name == option; });
}

std::vector<int32_t> CostsOf(const AtomicData& data) {
  std::vector<int32_t> costs;
  for (int64_t s = 0; s < data.num_structures(); ++s) costs.push_back(static_cast<int32_t>(data.num_atoms(s)));
  return costs;
}

}  // namespace

PotentialTask::PotentialTask(const AtomicData& data, const AtomisticTaskOptions& options, AtomisticModel model)
    : data_(data), options_(options), model_(std::move(model)), cost_(CostsOf(data)), errors_(data.num_structures()) {}

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

absl::Span<const ResumeRule> PotentialTask::ResumeRules() const {
  // Species are recorded whenever descriptors are made of structures, unlike the rest of the descriptor, which has
  // defaults. Early versions recorded neither.
  constexpr ResumeRule::Meaning kLoss = ResumeRule::kDecidesLoss;
  static constexpr ResumeRule kRules[] = {
      {"species", kLoss, "species"},
      {"rad_order", kLoss, "species"},
      {"rad_cutoff", kLoss, "species"},
      {"ang_order", kLoss, "species"},
      {"ang_cutoff", kLoss, "species"},
      {"min_cutoff", kLoss, "species"},
      {"compile_preset", ResumeRule::kComputesOnly},
  };
  return kRules;
}

ModelFrame PotentialTask::Frame() const { return FrameOf(model_.WithParameters(Tensor())); }

// The loss, what is sampled and how steps are computed leave the model as it is.
bool PotentialTask::FrameDependsOn(absl::string_view option) const {
  return option != "precision" && !Names(LossSettings(), option) && !Names(ForceSamplingSettings(), option) &&
         !Names(CompileSettings(), option);
}

absl::Status PotentialTask::CarryOver(const ModelFrame& then, Tensor* parameters) const {
  ASSIGN_OR_RETURN(Potential from, PotentialOfFrame(then));
  from.parameters = *parameters;
  if (parameters->num_elements() != from.shape.num_parameters()) {
    return absl::InvalidArgumentError("its parameters are not those of its layers");
  }
  ASSIGN_OR_RETURN(*parameters, CarryParametersOver(from, model_.WithParameters(Tensor())));
  return absl::OkStatus();
}

void PotentialTask::SetFrozen(const std::vector<bool>& slices) {
  Task::SetFrozen(slices);
  FreezeNetworks(model_.FrozenNetworks(slices));
}

}  // namespace rutile
