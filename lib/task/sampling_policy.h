// Which examples an epoch draws, and how often: aenet-python's sampling policies.

#ifndef RUTILE_LIB_TASK_SAMPLING_POLICY_H_
#define RUTILE_LIB_TASK_SAMPLING_POLICY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

// kUniform: each example once. The others draw as many examples as there are, with replacement, by weight: low energies
// more often (energy_weighted), or what was predicted badly more often (error_weighted).
enum class SamplingPolicy { kUniform, kEnergyWeighted, kErrorWeighted };

absl::string_view SamplingPolicyName(SamplingPolicy policy);                 // "energy_weighted"
absl::StatusOr<SamplingPolicy> ParseSamplingPolicy(absl::string_view name);  // INVALID_ARGUMENT naming the choices

// 1 / (1 + (e - min) / (max - min)): from 1 for the lowest to 1/2 for the highest; all 1 where all are the same.
// energies: per atom, less the atomic energies, so that compositions compare; any unit. NaN (unknown): the mean of the
// others' weights.
std::vector<double> EnergyWeights(absl::Span<const double> energies);

// |error|, at least 1e-12, scaled to a mean of 1. errors: of the energy per atom when the example was last trained on,
// eV. NaN (not seen yet) counts as an error of 1, so that it is drawn soon.
std::vector<double> ErrorWeights(absl::Span<const double> errors);

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_SAMPLING_POLICY_H_
