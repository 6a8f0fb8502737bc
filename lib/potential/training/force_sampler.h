// Chooses which forces an epoch learns from, as a function of seed and epoch alone.

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_FORCE_SAMPLER_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_FORCE_SAMPLER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/model/task_options.h"

namespace rutile {

class ForceSampler {
 public:
  // `train`: indices of the training structures; those without forces are never sampled. Forces of structures outside
  // `train` all count.
  ForceSampler(const AtomicData& data, const ForceSamplingOptions& options, absl::Span<const int64_t> train);

  // Draws the sample of that epoch (counted from 0), if it differs from that of the last one.
  void StartEpoch(int64_t epoch);
  // Makes all forces count, those of training structures too, until the next StartEpoch. For evaluations.
  void TakeAll();

  // num_sampled returns how many of the atoms' forces of structure s are learned; sampled returns which: [N], nonzero
  // for these atoms; empty when all or none are.
  int64_t num_sampled(int64_t s) const { return num_sampled_[s]; }
  // True if `sampled` may ever name a part of a structure's atoms.
  bool takes_parts() const { return options_.fraction < 1 && options_.unit == ForceSampleUnit::kAtom; }
  absl::Span<const uint8_t> sampled(int64_t s) const;
  // The share of the training set's atoms with forces whose forces are learned; 1 if there are none.
  double share() const { return share_; }

 private:
  void Draw(int64_t window);
  // Samples these atoms of those of pool_, counted through.
  void TakeAtoms(absl::Span<const int64_t> wanted);

  const ForceSamplingOptions options_;
  std::vector<int64_t> atom_offset_;  // [S + 1]
  std::vector<int64_t> pool_;         // indices of training structures with forces
  int64_t pool_atoms_ = 0;
  int64_t window_ = -1;
  double share_ = 1;
  std::vector<int64_t> num_sampled_;  // [S]
  std::vector<uint8_t> mask_;         // [A], only when sampling by atoms
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_FORCE_SAMPLER_H_
