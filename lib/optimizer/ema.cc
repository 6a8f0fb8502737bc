#include "lib/optimizer/ema.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/optimizer/ema_kernel.h"
#include "lib/optimizer/state_tensor.h"

namespace rutile {
namespace {

constexpr absl::string_view kNames[] = {"constant", "threshold", "exp"};  // in the order of EmaDecay

absl::Status Refuse(absl::string_view option, double value, absl::string_view range) {
  return absl::InvalidArgumentError(absl::StrCat("EMA: ", option, " is ", value, ", expected ", range));
}

}  // namespace

absl::string_view EmaDecayName(EmaDecay type) { return kNames[static_cast<int>(type)]; }

absl::StatusOr<EmaDecay> ParseEmaDecay(absl::string_view name) {
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found != std::end(kNames)) return static_cast<EmaDecay>(found - std::begin(kNames));
  return absl::InvalidArgumentError(
      absl::StrCat("no EMA decay \"", name, "\"; the choices are ", absl::StrJoin(kNames, ", ")));
}

absl::Status CheckEmaOptions(const EmaOptions& options) {
  if (!(options.decay >= 0 && options.decay < 1)) return Refuse("decay", options.decay, "0 <= decay < 1");
  if (!(options.beta > 0 && std::isfinite(options.beta))) return Refuse("beta", options.beta, "a number above 0");
  if (options.start_step < 0) return Refuse("start_step", static_cast<double>(options.start_step), "0 or more");
  if (options.update_every_n_steps < 1) {
    return Refuse("update_every_n_steps", static_cast<double>(options.update_every_n_steps), "1 or more");
  }
  return absl::OkStatus();
}

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

void Ema::Update(const Tensor& parameters, int64_t step) {
  // The step of the first update is a function of the options, so that a resumed run updates at the same steps.
  const int64_t since_first = step - std::max<int64_t>(1, options_.start_step);
  if (since_first < 0 || since_first % options_.update_every_n_steps != 0) return;
  CHECK(parameters.dtype() == average_.dtype() && parameters.shape() == average_.shape());
  if (updates_ == 0) {
    if (average_.num_bytes() > 0) std::memcpy(average_.mutable_data(), parameters.data(), average_.num_bytes());
  } else {
    const double rest = 1 - EmaDecayAt(options_, updates_, step - 1, run_steps_);
    if (average_.dtype() == DType::kF32) {
      EmaUpdate(rest, parameters.values<float>(), average_.mutable_values<float>());
    } else {
      EmaUpdate(rest, parameters.values<double>(), average_.mutable_values<double>());
    }
  }
  ++updates_;
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
