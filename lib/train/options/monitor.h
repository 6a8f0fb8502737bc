// The monitored value, which decides which model is best and when training no longer improves.

#ifndef RUTILE_LIB_TRAIN_OPTIONS_MONITOR_H_
#define RUTILE_LIB_TRAIN_OPTIONS_MONITOR_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/task/task.h"

namespace rutile {

// Selects the monitored value among losses and metrics.
class Monitor {
 public:
  // name: "train_loss", "val_loss", or "val_METRIC" of one of the task's metrics. "" means val_loss, or train_loss
  // without a validation set. INVALID_ARGUMENT listing the choices available.
  static absl::StatusOr<Monitor> Create(const Task& task, absl::string_view name, bool has_validation);

  const std::string& name() const { return name_; }
  // True if higher is better, as for hits of a ranking.
  bool maximize() const { return maximize_; }
  // True if a validation provides the value; otherwise the end of an epoch does.
  bool of_validation() const { return name_ != "train_loss"; }

  // Returns the monitored value. It is NaN if the metric is NaN. metrics: as returned by the task.
  double Value(double train_loss, double validation_loss, const std::vector<Metric>& metrics) const;
  // True if `value` is better than `than`. Neither may be NaN.
  bool Better(double value, double than) const { return maximize_ ? value > than : value < than; }

 private:
  std::string name_;
  int metric_ = -1;  // in the task's order; -1: a loss
  bool maximize_ = false;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_OPTIONS_MONITOR_H_
