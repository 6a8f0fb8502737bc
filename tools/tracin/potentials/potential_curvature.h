// What the Gauss-Newton matrices of a potential's checkpoints are made of: structures, damping and probes.

#ifndef RUTILE_TOOLS_TRACIN_POTENTIALS_POTENTIAL_CURVATURE_H_
#define RUTILE_TOOLS_TRACIN_POTENTIALS_POTENTIAL_CURVATURE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/influence/curvature/gauss_newton.h"
#include "lib/potential/model/task_options.h"
#include "lib/task/parameter_slice.h"
#include "tools/tracin/checkpoint_set.h"
#include "tools/tracin/curvature_flags.h"
#include "tools/tracin/tracin_flags.h"

namespace rutile {

class PotentialCurvature {
 public:
  // Reads the flags and prints what is taken for a damping that is unknown. slices: those of the parameters.
  // terms: a loss with the terms of all checkpoints. examples: the structures of `train` that count.
  static absl::StatusOr<PotentialCurvature> Create(const TracinFlags& flags, const CheckpointSet& checkpoint_set,
                                                   const std::vector<ParameterSlice>& slices, const LossOptions& terms,
                                                   const AtomicData& train, std::vector<int64_t> examples);

  // Returns the options of checkpoint or model number `index` of the set, which has this loss.
  GaussNewtonOptions At(size_t index, const LossOptions& loss) const;
  // Adds what decides the matrices to the settings of an influence file.
  void Describe(std::map<std::string, std::string>* settings) const;

 private:
  CurvatureFlags flags_;
  bool own_weights_ = true;  // terms count as in the run
  int64_t num_parameters_ = 0;
  std::vector<std::vector<double>> dampings_;  // [checkpoints, P] of the run, or empty
  GaussNewtonOptions options_;
};

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_POTENTIALS_POTENTIAL_CURVATURE_H_
