// The number that decides: which model is best, when nothing improves any more.

#ifndef RUTILE_LIB_TRAIN_OPTIONS_MONITOR_H_
#define RUTILE_LIB_TRAIN_OPTIONS_MONITOR_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/task/task.h"

namespace rutile {

class Monitor {
 public:
  // name: "val_loss", "val_METRIC" of one of the task's metrics, "train_loss"; "" is val_loss, or train_loss without a
  // validation set. INVALID_ARGUMENT listing the choices, without those that need a validation set where there is none.
  static absl::StatusOr<Monitor> Create(const Task& task, absl::string_view name, bool has_validation);

  const std::string& name() const { return name_; }
  // Whether more is better, as of a ranking's hits.
  bool maximize() const { return maximize_; }
  // Whether a validation gives it. Otherwise the end of an epoch does.
  bool of_validation() const { return name_ != "train_loss"; }

  // NaN where a metric is. `metrics` as the task gave them.
  double Value(double train_loss, double validation_loss, const std::vector<Metric>& metrics) const;
  // Neither is NaN.
  bool Better(double value, double than) const { return maximize_ ? value > than : value < than; }

 private:
  std::string name_;
  int metric_ = -1;  // in the task's order; -1: a loss
  bool maximize_ = false;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_OPTIONS_MONITOR_H_
