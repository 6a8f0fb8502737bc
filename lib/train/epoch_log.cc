#include "lib/train/epoch_log.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::vector<std::string> EpochColumns(const Task& task, bool has_validation) {
  std::vector<std::string> columns = {"epoch", "step", "learning_rate", LogColumn("train_loss", task.loss_unit())};
  for (const LossTerm& term : task.terms()) columns.push_back(LogColumn(absl::StrCat("train_", term.name), term.unit));
  if (has_validation) {
    columns.push_back(LogColumn("val_loss", task.loss_unit()));
    const std::vector<double> nothing(task.num_metric_sums());
    for (const Metric& metric : task.Metrics(nothing)) {
      columns.push_back(LogColumn(absl::StrCat("val_", metric.name), metric.unit));
    }
  }
  columns.push_back(LogColumn("epoch_time", "s"));
  columns.push_back("examples_per_s");
  return columns;
}

std::vector<double> EpochRow(const EpochReport& report, bool has_validation) {
  std::vector<double> row = {static_cast<double>(report.epoch), static_cast<double>(report.step), report.learning_rate,
                             report.train_loss};
  row.insert(row.end(), report.terms.begin(), report.terms.end());
  if (has_validation) {
    row.push_back(report.validation_loss);
    for (const Metric& metric : report.validation) row.push_back(metric.value);
  }
  row.push_back(absl::ToDoubleSeconds(report.time));
  row.push_back(report.examples_per_s);
  return row;
}

absl::StatusOr<TrainLog> OpenEpochLog(const Task& task, bool has_validation, const RunDirectory& directory,
                                      absl::Span<const LogFormat> formats, bool may_be_another, int64_t* rows) {
  const std::vector<std::string> columns = EpochColumns(task, has_validation);
  absl::StatusOr<TrainLog> log = TrainLog::Open(directory.log_stem(), columns, formats, {*rows, /*step=*/0});
  // JSON does not name units: without a table beside it, nothing tells that rows of another loss would follow.
  const bool names_units = std::find(formats.begin(), formats.end(), LogFormat::kTsv) != formats.end();
  if (!may_be_another || (log.ok() && names_units)) return log;
  if (!log.ok() && !absl::IsFailedPrecondition(log.status())) return log;
  RETURN_IF_ERROR(directory.SetLogsAside());
  *rows = 0;
  return TrainLog::Open(directory.log_stem(), columns, formats, {});
}

std::vector<double> TermMeans(const TermSums& sums) {
  std::vector<double> means;
  for (size_t t = 0; t < sums.sum.size(); ++t) {
    means.push_back(sums.count[t] > 0 ? sums.sum[t] / sums.count[t] : kNan);
  }
  return means;
}

bool HasValues(const TermSums& sums) {
  return std::any_of(sums.count.begin(), sums.count.end(), [](double count) { return count > 0; });
}

EpochReport ReportOf(const Task& task, const Checkpoint& state, bool has_validation) {
  EpochReport report;
  report.epoch = state.epoch + (state.batch > 0);
  report.step = state.step;
  report.learning_rate = state.learning_rate;
  report.train_loss = HasValues(state.epoch_sums) ? task.CombineTerms(state.epoch_sums).value : kNan;
  report.terms = TermMeans(state.epoch_sums);
  if (has_validation) report.validation = task.Metrics(std::vector<double>(task.num_metric_sums()));
  for (Metric& metric : report.validation) metric.value = kNan;
  return report;
}

}  // namespace rutile
