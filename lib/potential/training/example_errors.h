// Remembers the error of each structure's energy from when it was last trained on, for error_weighted sampling.

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

  // Records errors of the energy per atom, eV, in the order of examples; NaN where no energy is known. Does nothing
  // until error_weighted sampling was asked for.
  void Record(absl::Span<const int64_t> examples, absl::Span<const double> errors);

  // Implements ExampleSampling::SamplingWeights. energies: [examples of the data] per atom, less the atomic energies,
  // eV; NaN where none is known: such examples get the mean of the others' weights. Or empty: all are known.
  std::vector<double> SamplingWeights(SamplingPolicy policy, absl::Span<const int64_t> examples,
                                      absl::Span<const double> energies);

  // Implement Task::State and SetState with the tensor energy_error f64 [examples], NaN for examples not trained on
  // yet. The state is empty until error_weighted sampling was asked for.
  NamedTensors State() const;
  absl::Status SetState(const NamedTensors& state);

 private:
  const int64_t num_examples_;
  std::vector<double> errors_;  // empty until error_weighted sampling was asked for
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_EXAMPLE_ERRORS_H_
