#include "lib/optimizer/grad_scaler.h"

#include <cmath>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/tensorfile/state_tensor.h"

namespace rutile {

void GradScaler::Update(bool finite) {
  if (!finite) {
    scale_ *= kBackoff;
    good_steps_ = 0;
    return;
  }
  if (++good_steps_ < kGrowthInterval) return;
  good_steps_ = 0;
  // PyTorch keeps the scale in fp32, so it must not overflow there.
  if (scale_ * kGrowth <= std::numeric_limits<float>::max()) scale_ *= kGrowth;
}

NamedTensors GradScaler::State() const {
  NamedTensors state;
  state.Set("grad_scaler", Tensor::Of<double>({scale_, static_cast<double>(good_steps_)}, {2}));
  return state;
}

absl::Status GradScaler::SetState(const NamedTensors& state) {
  RETURN_IF_ERROR(CheckStateTensor(state, "grad_scaler", Tensor::Zeros(DType::kF64, {2})));
  const auto values = state.At("grad_scaler").values<double>();
  if (!(std::isfinite(values[0]) && values[0] > 0 && values[1] >= 0 && values[1] < kGrowthInterval)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"grad_scaler\" is ", values[0], " after ", values[1], " good steps, which no run can have"));
  }
  scale_ = values[0];
  good_steps_ = static_cast<int64_t>(values[1]);
  return absl::OkStatus();
}

}  // namespace rutile
