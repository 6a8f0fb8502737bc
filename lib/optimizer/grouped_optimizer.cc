#include "lib/optimizer/grouped_optimizer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/optimizer/lazy_rows.h"
#include "lib/tensorfile/state_tensor.h"

namespace rutile {
namespace {

// Returns the ranges of the `chosen` slices, merging adjacent ones: a contiguous group is one pass of the kernel.
// rows: whether rows of tables count.
std::vector<ParameterRange> RangesOf(absl::Span<const ParameterSlice> slices, const std::vector<bool>& chosen,
                                     bool decay_biases, bool rows) {
  std::vector<size_t> order(slices.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return slices[a].offset < slices[b].offset; });
  std::vector<ParameterRange> ranges;
  for (const size_t s : order) {
    if (!chosen[s] || slices[s].buffer) continue;
    const int64_t size = slices[s].num_elements();
    ParameterRange range = {slices[s].offset, size, decay_biases || !IsBiasOrNorm(slices[s])};
    if (rows && slices[s].table && size > 0) range.row = size / slices[s].shape[0];
    if (!ranges.empty() && ranges.back().begin + ranges.back().size == range.begin &&
        ranges.back().decays == range.decays && ranges.back().row == range.row) {
      ranges.back().size += range.size;
    } else {
      ranges.push_back(range);
    }
  }
  return ranges;
}

bool CountsRows(const OptimizerOptions& options) { return options.kind == OptimizerKind::kRowwiseAdagrad; }

NamedTensors Copied(const NamedTensors& tensors) {
  NamedTensors copies;
  for (const auto& [name, tensor] : tensors) {
    Tensor copy = Tensor::Zeros(tensor.dtype(), tensor.shape());
    if (copy.num_bytes() > 0) std::memcpy(copy.mutable_data(), tensor.data(), copy.num_bytes());
    copies.Set(name, copy);
  }
  return copies;
}

std::string Prefix(size_t group) { return absl::StrCat("group", group, "."); }

}  // namespace

GroupedOptimizer::GroupedOptimizer(const OptimizerOptions& run, const ParameterGroupOptions& options, DType dtype,
                                   absl::Span<const ParameterSlice> slices)
    : alternate_steps_(options.alternate_steps) {
  const absl::StatusOr<std::vector<int>> assigned = AssignGroups(options, slices);
  CHECK(assigned.ok()) << assigned.status();
  for (size_t g = 0; g <= options.groups.size(); ++g) {
    std::vector<bool> own(slices.size());
    for (size_t s = 0; s < slices.size(); ++s) own[s] = (*assigned)[s] == static_cast<int>(g);
    if (std::find(own.begin(), own.end(), true) == own.end()) continue;  // only the default group can be empty
    const OptimizerOptions& optimizer = g < options.groups.size() ? options.groups[g].optimizer : run;
    Group group;
    group.optimizer =
        MakeOptimizer(optimizer, dtype, RangesOf(slices, own, options.decay_biases, CountsRows(optimizer)));
    group.rate_scale = optimizer.learning_rate / run.learning_rate;
    group.others = own;
    group.others.flip();
    groups_.push_back(std::move(group));
  }
}

void GroupedOptimizer::BeginStep(double learning_rate) {
  moving_ = alternate_steps_ > 0 ? absl::MakeConstSpan(groups_).subspan(turn(), 1) : absl::MakeConstSpan(groups_);
  for (const Group& group : moving_) group.optimizer->BeginStep(learning_rate * group.rate_scale);
  ++step_;
}

void GroupedOptimizer::StepPart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) {
  for (const Group& group : moving_) group.optimizer->StepPart(begin, gradient, scale, parameters);
}

int64_t GroupedOptimizer::PartEnd(int64_t position) const {
  // A row is of one group, and the others' ranges have none there.
  int64_t end = position;
  for (const Group& group : moving_) end = std::max(end, group.optimizer->PartEnd(position));
  return end;
}

void GroupedOptimizer::VisitStep(StepVisitor* visitor) const {
  for (const Group& group : moving_) group.optimizer->VisitStep(visitor);
}

// Each group's average replaces its own ranges in the result of the previous group.
const Tensor& GroupedOptimizer::EvaluationParameters(const Tensor& parameters) {
  const Tensor* result = &parameters;
  for (const Group& group : groups_) result = &group.optimizer->EvaluationParameters(*result);
  return *result;
}

const std::vector<bool>& GroupedOptimizer::frozen() const {
  return alternate_steps_ > 0 ? groups_[turn()].others : Optimizer::frozen();
}

NamedTensors GroupedOptimizer::State() const {
  NamedTensors state;
  for (size_t g = 0; g < groups_.size(); ++g) {
    for (const auto& [name, tensor] : groups_[g].optimizer->State()) state.Set(absl::StrCat(Prefix(g), name), tensor);
  }
  if (alternate_steps_ > 0) state.Set("turns_step", Tensor::Scalar<int64_t>(step_));
  return state;
}

NamedTensors GroupedOptimizer::PartOf(size_t group, const NamedTensors& state) {
  const std::string prefix = Prefix(group);
  NamedTensors part;
  for (const auto& [name, tensor] : state) {
    if (absl::StartsWith(name, prefix)) part.Set(absl::string_view(name).substr(prefix.size()), tensor);
  }
  return part;
}

absl::Status GroupedOptimizer::SetState(const NamedTensors& state) {
  if (alternate_steps_ > 0) {
    RETURN_IF_ERROR(CheckStateTensor(state, "turns_step", Tensor::Scalar<int64_t>(0)));
    if (state.At("turns_step").values<int64_t>()[0] < 0) {
      return absl::InvalidArgumentError("\"turns_step\" is negative");
    }
  }
  std::vector<NamedTensors> before;
  for (size_t g = 0; g < groups_.size(); ++g) {
    before.push_back(Copied(groups_[g].optimizer->State()));
    const absl::Status status = groups_[g].optimizer->SetState(PartOf(g, state));
    if (status.ok()) continue;
    for (size_t changed = 0; changed < g; ++changed) {
      const absl::Status restored = groups_[changed].optimizer->SetState(before[changed]);
      CHECK(restored.ok()) << restored;
    }
    return absl::InvalidArgumentError(absl::StrCat("group", g, ": ", status.message()));
  }
  if (alternate_steps_ > 0) step_ = state.At("turns_step").values<int64_t>()[0];
  return absl::OkStatus();
}

std::vector<ParameterRange> TrainedRanges(const ParameterGroupOptions& options, const Task& task) {
  const std::vector<ParameterSlice> slices = task.parameter_slices();
  const bool buffers = std::any_of(slices.begin(), slices.end(), [](const ParameterSlice& s) { return s.buffer; });
  if (options.decay_biases && !buffers) return {{0, task.num_parameters(), true}};
  return RangesOf(slices, std::vector<bool>(slices.size(), true), options.decay_biases, /*rows=*/false);
}

std::string WhyNotRowsAlone(const OptimizerOptions& run, const ParameterGroupOptions& options) {
  if (options.alternate_steps > 0) return "alternate_steps has parameter groups take turns";
  if (options.lazy_rows) return "";
  const auto moves = [](const OptimizerOptions& optimizer, absl::string_view whose) {
    return absl::StrCat("optimizer ", kOptimizerNames.Name(optimizer.kind), whose,
                        " moves rows without a gradient, too, as it is set (lazy_rows does not)");
  };
  if (!MovesOnlyRowsWithGradients(run)) return moves(run, "");
  for (const ParameterGroup& group : options.groups) {
    if (!MovesOnlyRowsWithGradients(group.optimizer)) return moves(group.optimizer, " of a parameter group");
  }
  return "";
}

std::unique_ptr<Optimizer> MakeTrainingOptimizer(const OptimizerOptions& run, const ParameterGroupOptions& options,
                                                 const Task& task) {
  const DType dtype = task.parameter_dtype();
  const std::vector<ParameterSlice> slices = task.parameter_slices();
  const std::vector<ParameterRange> trained =
      CountsRows(run) ? RangesOf(slices, std::vector<bool>(slices.size(), true), options.decay_biases, /*rows=*/true)
                      : TrainedRanges(options, task);
  std::unique_ptr<Optimizer> optimizer = options.groups.empty()
                                             ? MakeOptimizer(run, dtype, trained)
                                             : std::make_unique<GroupedOptimizer>(run, options, dtype, slices);
  if (!options.lazy_rows) return optimizer;
  return std::make_unique<LazyRows>(std::move(optimizer), slices);
}

}  // namespace rutile
