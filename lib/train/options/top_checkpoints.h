// Which checkpoints of a run stay: those of the k best validations. Bookkeeping alone; files are the caller's.

#ifndef RUTILE_LIB_TRAIN_OPTIONS_TOP_CHECKPOINTS_H_
#define RUTILE_LIB_TRAIN_OPTIONS_TOP_CHECKPOINTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

struct TopCheckpoint {
  double loss = 0;
  int64_t epoch = 0;
  int64_t step = 0;
};

// "top-epoch-00012-step-000480.safetensors", in checkpoints/. Larger numbers take more digits.
std::string TopCheckpointName(int64_t epoch, int64_t step);

class TopCheckpoints {
 public:
  // k: how many stay; 0: none; -1: all. maximize: a higher value is better.
  TopCheckpoints(int64_t k, bool maximize);

  // What to do after a validation; "" for nothing. The new file is written first, then the other removed, so that there
  // are never fewer than k.
  struct Decision {
    std::string write;   // name of the checkpoint of now
    std::string remove;  // name of one that is no longer among the k best
  };
  // Of equal losses the earlier stays; a loss that is NaN is not kept. The epoch and step of a checkpoint that stays
  // replace it: a resumed run validates the same parameters again.
  Decision Observe(double loss, int64_t epoch, int64_t step);

  const std::vector<TopCheckpoint>& kept() const { return kept_; }  // best first
  std::vector<std::string> Names() const;                           // of their files, likewise

  // loss f64 [n], epoch and step i64 [n], best first.
  NamedTensors State() const;
  // INVALID_ARGUMENT when something is missing or does not fit. More than k (the run goes on with a lower k): only the
  // best k are remembered from here on, and the other files stay.
  absl::Status SetState(const NamedTensors& state);

 private:
  const int64_t k_;
  const bool maximize_;
  std::vector<TopCheckpoint> kept_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_OPTIONS_TOP_CHECKPOINTS_H_
