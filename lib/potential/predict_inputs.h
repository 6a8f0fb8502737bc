// Energies of everything in some files, features or raw structures, from a model file.

#ifndef RUTILE_LIB_POTENTIAL_PREDICT_INPUTS_H_
#define RUTILE_LIB_POTENTIAL_PREDICT_INPUTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/evaluation/energy_errors.h"
#include "lib/potential/potential_file.h"
#include "lib/structure/structure_reader.h"

namespace rutile {

struct PredictOptions {
  StructureReaderOptions reader;
  int num_threads = 1;
  std::optional<std::vector<int64_t>> frames;           // only these, counted from 0 over all inputs
  std::string config_type;                              // glob: only these; empty: all
  std::function<void(int64_t structures)> on_progress;  // so many more are done; may be empty
};

// In the order of the inputs: files of kind atomistic.features/1 or structures ("-" too), mixed as they like.
// INVALID_ARGUMENT: features of another descriptor than the model's, an element it does not know, a frame beyond the
// end, nothing selected.
absl::StatusOr<std::vector<EnergyPrediction>> PredictInputs(const Potential& potential,
                                                            absl::Span<const std::string> inputs,
                                                            const PredictOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_PREDICT_INPUTS_H_
