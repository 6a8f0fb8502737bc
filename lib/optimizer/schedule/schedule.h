// Computes the learning rate of each step in closed form: any step can be requested, and resuming needs no state. Only
// reduce-on-plateau remembers what it saw.
//
// The values are those of torch.optim.lr_scheduler in Python (LibTorch's own StepLR is one step off).

#ifndef RUTILE_LIB_OPTIMIZER_SCHEDULE_SCHEDULE_H_
#define RUTILE_LIB_OPTIMIZER_SCHEDULE_SCHEDULE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "lib/optimizer/schedule/plateau.h"
#include "lib/optimizer/schedule/schedule_options.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// The learning-rate schedule of a run, with warm-up and cool-down.
class Schedule {
 public:
  // `options` must have passed the check and ResolveSchedule.
  Schedule(const ScheduleOptions& options, double learning_rate);

  // Returns the learning rate of optimizer step `step` in epoch `epoch`, both from 0.
  double LearningRate(int64_t epoch, int64_t step) const;

  // Must be called once per validation with the monitored value; only the plateau schedule changes.
  void Observe(double loss);

  // plateau: f64 [4] = learning rate, best loss, bad validations in a row, validations left to cool down.
  NamedTensors State() const { return plateau_.State(); }
  absl::Status SetState(const NamedTensors& state) { return plateau_.SetState(state); }  // INVALID_ARGUMENT

 private:
  // Returns the learning rate before the cool-down is applied.
  double Scheduled(int64_t epoch, int64_t step) const;

  const ScheduleOptions options_;
  const double learning_rate_;
  Plateau plateau_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_SCHEDULE_SCHEDULE_H_
