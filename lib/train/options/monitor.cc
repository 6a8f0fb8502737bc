#include "lib/train/options/monitor.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace rutile {

absl::StatusOr<Monitor> Monitor::Create(const Task& task, absl::string_view name, bool has_validation) {
  Monitor monitor;
  monitor.name_ = !name.empty() ? std::string(name) : has_validation ? "val_loss" : "train_loss";
  std::vector<std::string> choices = {"train_loss"};
  if (has_validation) {
    choices.push_back("val_loss");
    const std::vector<double> nothing(task.num_metric_sums());
    for (const Metric& metric : task.Metrics(nothing)) {
      if (monitor.name_ == absl::StrCat("val_", metric.name)) {
        monitor.metric_ = static_cast<int>(choices.size()) - 2;
        monitor.maximize_ = metric.higher_is_better;
      }
      choices.push_back(absl::StrCat("val_", metric.name));
    }
  }
  for (const std::string& choice : choices) {
    if (choice == monitor.name_) return monitor;
  }
  return absl::InvalidArgumentError(absl::StrCat("no \"", monitor.name_, "\" to monitor",
                                                 has_validation ? "" : " without a validation set",
                                                 "; the choices are ", absl::StrJoin(choices, ", ")));
}

double Monitor::Value(double train_loss, double validation_loss, const std::vector<Metric>& metrics) const {
  if (!of_validation()) return train_loss;
  return metric_ < 0 ? validation_loss : metrics[metric_].value;
}

}  // namespace rutile
