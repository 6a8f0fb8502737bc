// Sampling policies of aenet-python: which examples an epoch draws, and how often.

#ifndef RUTILE_LIB_TASK_SAMPLING_POLICY_H_
#define RUTILE_LIB_TASK_SAMPLING_POLICY_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/enum_names.h"

namespace rutile {

// kUniform draws each example once. The others draw as many examples as there are, with replacement, by weight:
// kEnergyWeighted prefers low energies, kErrorWeighted prefers examples that were predicted badly.
enum class SamplingPolicy { kUniform, kEnergyWeighted, kErrorWeighted };

inline constexpr absl::string_view kSamplingPolicyWords[] = {"uniform", "energy_weighted", "error_weighted"};
inline constexpr EnumNames<SamplingPolicy> kSamplingPolicyNames("no sampling policy is called", kSamplingPolicyWords);

// Returns weights 1 / (1 + (e - min) / (max - min)): from 1 for the lowest energy to 1/2 for the highest, and all 1 if
// all are equal. energies: per atom, less the atomic energies, so that compositions compare; in any unit. NaN (unknown)
// gets the mean of the others' weights.
std::vector<double> EnergyWeights(absl::Span<const double> energies);

// Returns weights |error|, at least 1e-12, scaled to a mean of 1. errors: of the energy per atom when the example was
// last trained on, eV. NaN (not seen yet) counts as an error of 1, so that the example is drawn soon.
std::vector<double> ErrorWeights(absl::Span<const double> errors);

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_SAMPLING_POLICY_H_
