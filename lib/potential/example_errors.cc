#include "lib/potential/example_errors.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"

namespace rutile {
namespace {

constexpr char kName[] = "energy_error";

std::vector<double> Pick(absl::Span<const double> values, absl::Span<const int64_t> examples) {
  std::vector<double> picked;
  picked.reserve(examples.size());
  for (const int64_t e : examples) picked.push_back(values[e]);
  return picked;
}

}  // namespace

ExampleErrors::ExampleErrors(int64_t num_examples) : errors_(num_examples, std::numeric_limits<double>::quiet_NaN()) {}

void ExampleErrors::Record(absl::Span<const int64_t> examples, absl::Span<const double> errors) {
  CHECK_EQ(examples.size(), errors.size());
  for (size_t i = 0; i < examples.size(); ++i) errors_[examples[i]] = errors[i];
}

std::vector<double> ExampleErrors::SamplingWeights(SamplingPolicy policy, absl::Span<const int64_t> examples,
                                                   absl::Span<const double> energies) const {
  return policy == SamplingPolicy::kEnergyWeighted ? EnergyWeights(Pick(energies, examples))
                                                   : ErrorWeights(Pick(errors_, examples));
}

NamedTensors ExampleErrors::State() const {
  NamedTensors state;
  state.Set(kName, Tensor::Of(errors_));
  return state;
}

absl::Status ExampleErrors::SetState(const NamedTensors& state) {
  const Tensor* found = state.Find(kName);
  if (found == nullptr || found->dtype() != DType::kF64 ||
      found->num_elements() != static_cast<int64_t>(errors_.size())) {
    return absl::InvalidArgumentError(absl::StrCat("tensor \"", kName,
                                                   "\" is missing or does not have one F64 number for each of ",
                                                   errors_.size(), " structures"));
  }
  const absl::Span<const double> values = found->values<double>();
  errors_.assign(values.begin(), values.end());
  return absl::OkStatus();
}

}  // namespace rutile
