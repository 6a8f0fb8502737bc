#include "lib/potential/training/example_errors.h"

#include <algorithm>
#include <cmath>
#include <iterator>
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

ExampleErrors::ExampleErrors(int64_t num_examples) : num_examples_(num_examples) {}

void ExampleErrors::Record(absl::Span<const int64_t> examples, absl::Span<const double> errors) {
  CHECK_EQ(examples.size(), errors.size());
  if (errors_.empty()) return;
  for (size_t i = 0; i < examples.size(); ++i) errors_[examples[i]] = errors[i];
}

std::vector<double> ExampleErrors::SamplingWeights(SamplingPolicy policy, absl::Span<const int64_t> examples,
                                                   absl::Span<const double> energies) {
  if (policy == SamplingPolicy::kEnergyWeighted) return EnergyWeights(Pick(energies, examples));
  if (errors_.empty()) errors_.assign(num_examples_, std::numeric_limits<double>::quiet_NaN());
  // What has no energy has no error to go by, and would count as not seen yet for good.
  std::vector<int64_t> known;
  const auto is_known = [&](int64_t e) { return energies.empty() || !std::isnan(energies[e]); };
  std::copy_if(examples.begin(), examples.end(), std::back_inserter(known), is_known);
  const std::vector<double> of_known = ErrorWeights(Pick(errors_, known));
  std::vector<double> weights;
  size_t next = 0;
  for (const int64_t e : examples) weights.push_back(is_known(e) ? of_known[next++] : 1.0);
  return weights;
}

NamedTensors ExampleErrors::State() const {
  NamedTensors state;
  if (!errors_.empty()) state.Set(kName, Tensor::Of(errors_));
  return state;
}

absl::Status ExampleErrors::SetState(const NamedTensors& state) {
  if (state.empty()) {
    errors_.clear();
    return absl::OkStatus();
  }
  const Tensor* found = state.Find(kName);
  if (found == nullptr || found->dtype() != DType::kF64 || found->num_elements() != num_examples_) {
    return absl::InvalidArgumentError(absl::StrCat("tensor \"", kName,
                                                   "\" is missing or does not have one F64 number for each of ",
                                                   num_examples_, " structures"));
  }
  const absl::Span<const double> values = found->values<double>();
  errors_.assign(values.begin(), values.end());
  return absl::OkStatus();
}

}  // namespace rutile
