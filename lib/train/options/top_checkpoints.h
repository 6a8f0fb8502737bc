// Decides which checkpoints to keep: those of the k best validations. It does no input or output itself.

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

// Returns "top-epoch-00012-step-000480.safetensors", a name in checkpoints/. Larger numbers take more digits.
std::string TopCheckpointName(int64_t epoch, int64_t step);

// Keeps the list of the k best checkpoints.
class TopCheckpoints {
 public:
  // k: how many to keep; 0: none; -1: all. maximize: true if higher values are better.
  TopCheckpoints(int64_t k, bool maximize);

  // What the caller must do after a validation; "" for nothing. It writes the new file first and removes the other one
  // then, so that there are never fewer than k.
  struct Decision {
    std::string write;   // name of the checkpoint to write now
    std::string remove;  // name of one that is no longer among the k best
  };
  // Decides about the checkpoint of a validation. Of equal losses the earlier one stays; a NaN loss is not kept. A
  // checkpoint of the same epoch and step is replaced, because a resumed run may validate the same parameters again.
  Decision Observe(double loss, int64_t epoch, int64_t step);

  const std::vector<TopCheckpoint>& kept() const { return kept_; }  // best first
  std::vector<std::string> Names() const;                           // of their files, best first

  // loss f64 [n], epoch and step i64 [n], best first.
  NamedTensors State() const;
  // INVALID_ARGUMENT if a tensor is missing or does not fit. If the state holds more than k (the run was resumed with a
  // lower k), only the best k are remembered, and the other files stay.
  absl::Status SetState(const NamedTensors& state);

 private:
  const int64_t k_;
  const bool maximize_;
  std::vector<TopCheckpoint> kept_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_OPTIONS_TOP_CHECKPOINTS_H_
