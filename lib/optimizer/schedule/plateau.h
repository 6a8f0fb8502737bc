// Lowers the learning rate when the loss stops falling, like torch.optim.lr_scheduler.ReduceLROnPlateau with a relative
// threshold.

#ifndef RUTILE_LIB_OPTIMIZER_SCHEDULE_PLATEAU_H_
#define RUTILE_LIB_OPTIMIZER_SCHEDULE_PLATEAU_H_

#include <cstdint>

#include "absl/status/status.h"
#include "lib/optimizer/schedule/schedule_options.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

class Plateau {
 public:
  // Uses factor, patience, threshold, cooldown, min_learning_rate and maximize of the options.
  Plateau(const ScheduleOptions& options, double learning_rate);

  // Must be called once per validation.
  void Observe(double loss);
  double learning_rate() const { return rate_; }

  // plateau: f64 [4] = learning rate, best loss, bad validations in a row, validations left to cool down.
  NamedTensors State() const;
  absl::Status SetState(const NamedTensors& state);  // INVALID_ARGUMENT: missing, or another shape

 private:
  bool Better(double loss) const;

  const double factor_;
  const int64_t patience_;
  const double threshold_;
  const int64_t cooldown_;
  const double min_learning_rate_;
  const bool maximize_;
  double rate_;
  double best_;
  int64_t bad_ = 0;
  int64_t cooldown_left_ = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_SCHEDULE_PLATEAU_H_
