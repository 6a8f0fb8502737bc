// The error of each structure's energy when it was last trained on: what error_weighted sampling needs.

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_EXAMPLE_ERRORS_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_EXAMPLE_ERRORS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/task/sampling_policy.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

class ExampleErrors {
 public:
  explicit ExampleErrors(int64_t num_examples);

  // errors: of the energy per atom, eV, in the order of examples. Nothing happens before error_weighted was asked for.
  void Record(absl::Span<const int64_t> examples, absl::Span<const double> errors);

  // As Task::SamplingWeights. energies: [examples of the data] per atom, less the atomic energies, eV.
  std::vector<double> SamplingWeights(SamplingPolicy policy, absl::Span<const int64_t> examples,
                                      absl::Span<const double> energies);

  // As Task::State and SetState: tensor energy_error f64 [examples], NaN where not seen; empty before error_weighted
  // was asked for.
  NamedTensors State() const;
  absl::Status SetState(const NamedTensors& state);

 private:
  const int64_t num_examples_;
  std::vector<double> errors_;  // empty before they are asked for
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_EXAMPLE_ERRORS_H_
