// Which forces an epoch learns from: a function of seed and epoch alone.

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
  // `train`: indices of the training structures; those without forces are never sampled. All forces of other structures
  // always count.
  ForceSampler(const AtomicData& data, const ForceSamplingOptions& options, absl::Span<const int64_t> train);

  // Draws the sample of that epoch (counted from 0), when it is another than the last one's.
  void StartEpoch(int64_t epoch);
  // All forces count, of training structures, too, until the next StartEpoch: an evaluation.
  void TakeAll();

  // Of structure s: how many of its atoms' forces are learned from, and which ([N], not 0 where they are; empty when
  // all or none are).
  int64_t num_sampled(int64_t s) const { return num_sampled_[s]; }
  absl::Span<const uint8_t> sampled(int64_t s) const;

 private:
  void Draw(int64_t window);

  const ForceSamplingOptions options_;
  std::vector<int64_t> atom_offset_;  // [S + 1]
  std::vector<int64_t> pool_;         // training structures with forces
  int64_t pool_atoms_ = 0;
  int64_t window_ = -1;
  std::vector<int64_t> num_sampled_;  // [S]
  std::vector<uint8_t> mask_;         // [A], by atoms only
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_FORCE_SAMPLER_H_
