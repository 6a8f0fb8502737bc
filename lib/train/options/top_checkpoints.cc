#include "lib/train/options/top_checkpoints.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/tensorfile/state_tensor.h"

namespace rutile {

std::string TopCheckpointName(int64_t epoch, int64_t step) {
  return absl::StrFormat("top-epoch-%05d-step-%06d.safetensors", epoch, step);
}

TopCheckpoints::TopCheckpoints(int64_t k, bool maximize) : k_(k), maximize_(maximize) { CHECK_GE(k, -1); }

TopCheckpoints::Decision TopCheckpoints::Observe(double loss, int64_t epoch, int64_t step) {
  Decision decision;
  const auto same = std::find_if(kept_.begin(), kept_.end(),
                                 [&](const TopCheckpoint& c) { return c.epoch == epoch && c.step == step; });
  if (same != kept_.end()) {
    kept_.erase(same);
    decision.remove = TopCheckpointName(epoch, step);  // undone if it is written again below
  }
  if (std::isnan(loss) || k_ == 0) return decision;
  // Insert after equal losses: the earlier one ranks higher.
  const auto place = std::upper_bound(kept_.begin(), kept_.end(), loss, [this](double value, const TopCheckpoint& c) {
    return maximize_ ? value > c.loss : value < c.loss;
  });
  if (place - kept_.begin() == k_) return decision;
  kept_.insert(place, {loss, epoch, step});
  decision.write = TopCheckpointName(epoch, step);
  decision.remove.clear();
  if (k_ > 0 && static_cast<int64_t>(kept_.size()) > k_) {
    decision.remove = TopCheckpointName(kept_.back().epoch, kept_.back().step);
    kept_.pop_back();
  }
  return decision;
}

NamedTensors TopCheckpoints::State() const {
  std::vector<double> loss;
  std::vector<int64_t> epoch, step;
  for (const TopCheckpoint& checkpoint : kept_) {
    loss.push_back(checkpoint.loss);
    epoch.push_back(checkpoint.epoch);
    step.push_back(checkpoint.step);
  }
  NamedTensors state;
  state.Set("loss", Tensor::Of(loss));
  state.Set("epoch", Tensor::Of(epoch));
  state.Set("step", Tensor::Of(step));
  return state;
}

absl::Status TopCheckpoints::SetState(const NamedTensors& state) {
  const Tensor* loss = state.Find("loss");
  if (loss == nullptr || loss->rank() != 1) return absl::InvalidArgumentError("no tensor \"loss\" of rank 1");
  const int64_t n = loss->dim(0);
  RETURN_IF_ERROR(CheckStateTensor(state, "loss", Tensor::Zeros(DType::kF64, {n})));
  RETURN_IF_ERROR(CheckStateTensor(state, "epoch", Tensor::Zeros(DType::kI64, {n})));
  RETURN_IF_ERROR(CheckStateTensor(state, "step", Tensor::Zeros(DType::kI64, {n})));
  const auto epoch = state.At("epoch").values<int64_t>();
  const auto step = state.At("step").values<int64_t>();
  kept_.clear();
  for (int64_t i = 0; i < n && (k_ < 0 || i < k_); ++i) kept_.push_back({loss->values<double>()[i], epoch[i], step[i]});
  return absl::OkStatus();
}

std::vector<std::string> TopCheckpoints::Names() const {
  std::vector<std::string> names;
  for (const TopCheckpoint& top : kept_) names.push_back(TopCheckpointName(top.epoch, top.step));
  return names;
}

}  // namespace rutile
