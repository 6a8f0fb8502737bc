#include "lib/optimizer/averages/ema.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/base/settings.h"
#include "lib/base/status_macros.h"
#include "lib/optimizer/averages/ema_kernel.h"
#include "lib/tensorfile/state_tensor.h"

namespace rutile {
absl::Span<const Setting<EmaOptions>> EmaSettings() {
  using O = EmaOptions;
  static constexpr RunPart kEma = RunPart::kEma;
  static constexpr Setting<O> kSettings[] = {
      Setting<O>::Choice<&O::type, &kEmaDecayNames>(
          "ema_decay_type",
          "How the decay rises to --ema_decay: constant, threshold or exp. With constant, it is that value at once; "
          "threshold is min(ema_decay, (1 + t) / (10 + t)) after t updates; exp rises with the share of the run that "
          "is done, which needs a limit in epochs or steps.")
          .ResettingIfItComesOrGoes(kEma),
      Setting<O>(
          "ema_decay", &O::decay,
          "Share of the average that an update keeps. The parameters supply the rest; the first update is a copy.")
          .In(AtLeast(0).Below(1))
          .ResettingIfItComesOrGoes(kEma),
      Setting<O>("ema_start_step", &O::start_step,
                 "Number of optimizer steps before averaging starts. It must not exceed the steps of the run, unless "
                 "with --resume.")
          .In(AtLeast(0))
          .ResettingIfItComesOrGoes(kEma),
      Setting<O>("ema_update_every_n_steps", &O::update_every_n_steps,
                 "Number of optimizer steps from one update of the average to the next.")
          .In(AtLeast(1))
          .ResettingIfItComesOrGoes(kEma),
      Setting<O>("ema_beta", &O::beta,
                 "Speed at which the decay rises with --ema_decay_type=exp. The decay is ema_decay (1 - exp(-ema_beta "
                 "s / S)) after s of S steps.")
          .In(Above(0))
          .Needs("ema_decay_type", [](const O& options) { return options.type == EmaDecay::kExponential; })
          .ResettingIfItComesOrGoes(kEma),
  };
  return kSettings;
}

absl::Status CheckEmaOptions(const EmaOptions& options) { return CheckRanges(EmaSettings(), options); }

double EmaDecayAt(const EmaOptions& options, int64_t updates, int64_t steps_before, int64_t run_steps) {
  switch (options.type) {
    case EmaDecay::kConstant:
      break;
    case EmaDecay::kThreshold: {
      const auto t = static_cast<double>(updates);
      return std::min(options.decay, (1 + t) / (10 + t));
    }
    case EmaDecay::kExponential: {
      const double share = static_cast<double>(steps_before) / static_cast<double>(run_steps);
      return options.decay * (1 - std::exp(-options.beta * share));
    }
  }
  return options.decay;
}

Ema::Ema(const EmaOptions& options, DType dtype, int64_t num_parameters, int64_t run_steps)
    : options_(options), run_steps_(run_steps), average_(Tensor::Zeros(dtype, {num_parameters})) {
  CHECK(dtype == DType::kF32 || dtype == DType::kF64) << DTypeName(dtype);
  CHECK(options.type != EmaDecay::kExponential || run_steps >= 1) << run_steps;
}

std::optional<double> Ema::CountUpdate(int64_t step) {
  // The step of the first update is a function of the options, so that a resumed run updates at the same steps.
  const int64_t since_first = step - std::max<int64_t>(1, options_.start_step);
  if (since_first < 0 || since_first % options_.update_every_n_steps != 0) return std::nullopt;
  const double share = updates_ == 0 ? 1 : 1 - EmaDecayAt(options_, updates_, step - 1, run_steps_);
  ++updates_;
  return share;
}

void Ema::Update(const Tensor& parameters, int64_t step) {
  const std::optional<double> share = CountUpdate(step);
  if (!share) return;
  CHECK(parameters.dtype() == average_.dtype() && parameters.shape() == average_.shape());
  if (updates_ == 1) {
    if (average_.num_bytes() > 0) std::memcpy(average_.mutable_data(), parameters.data(), average_.num_bytes());
  } else if (average_.dtype() == DType::kF32) {
    EmaUpdate(*share, parameters.values<float>(), average_.mutable_values<float>());
  } else {
    EmaUpdate(*share, parameters.values<double>(), average_.mutable_values<double>());
  }
}

NamedTensors Ema::State() const {
  NamedTensors state;
  state.Set("updates", Tensor::Scalar<int64_t>(updates_));
  return state;
}

absl::Status Ema::SetState(const NamedTensors& state, const Tensor* average) {
  RETURN_IF_ERROR(CheckStateTensor(state, "updates", Tensor::Scalar<int64_t>(0)));
  const int64_t updates = state.At("updates").values<int64_t>()[0];
  if (updates < 0 || (updates > 0) != (average != nullptr)) {
    return absl::InvalidArgumentError(
        absl::StrCat(updates, " updates, ", average == nullptr ? "but no average" : "but an average"));
  }
  if (average != nullptr) {
    NamedTensors tensors;
    tensors.Set("average", *average);
    RETURN_IF_ERROR(CheckStateTensor(tensors, "average", average_));
    CopyStateTensor(tensors, "average", &average_);
  }
  updates_ = updates;
  return absl::OkStatus();
}

}  // namespace rutile
