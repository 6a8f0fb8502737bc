// The learning rate of each step, in closed form: nothing accumulates, so any step can be asked for, and resuming needs
// no state. Reduce-on-plateau alone remembers what it saw.
//
// The values are those of torch.optim.lr_scheduler in Python (LibTorch's own StepLR is one step off).

#ifndef RUTILE_LIB_OPTIMIZER_SCHEDULE_H_
#define RUTILE_LIB_OPTIMIZER_SCHEDULE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "lib/optimizer/plateau.h"
#include "lib/optimizer/schedule_options.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

class Schedule {
 public:
  // options have passed the check and ResolveSchedule.
  Schedule(const ScheduleOptions& options, double learning_rate);

  // Of the optimizer step `step` in epoch `epoch`, both from 0.
  double LearningRate(int64_t epoch, int64_t step) const;

  // Called once per validation with the monitored loss; changes plateau alone.
  void Observe(double loss);

  // plateau: f64 [4] = learning rate, best loss, bad validations in a row, validations left to cool down.
  NamedTensors State() const { return plateau_.State(); }
  absl::Status SetState(const NamedTensors& state) { return plateau_.SetState(state); }  // INVALID_ARGUMENT

 private:
  // Before the cool-down.
  double Scheduled(int64_t epoch, int64_t step) const;

  const ScheduleOptions options_;
  const double learning_rate_;
  Plateau plateau_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_SCHEDULE_H_
