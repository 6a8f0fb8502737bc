#include "tools/train/report/outcome.h"

#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "lib/base/decimal.h"
#include "lib/base/status_macros.h"
#include "lib/train/files/log_format.h"
#include "lib/train/step/data_loader.h"
#include "lib/train/step/evaluate_examples.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

void PrintOutcome(const RunDirectory& directory, const TrainerOptions& options, const TrainResult& result,
                  absl::string_view loss_unit, absl::string_view cost_unit, double cost_per_s, bool plotted) {
  PrintMessage(absl::StrFormat("%s after %d epochs, %d steps, %.2f s (%.0f %s/s in the last epoch)", result.stop_reason,
                               result.epochs, result.steps, absl::ToDoubleSeconds(result.time), cost_per_s, cost_unit));
  std::string others;
  for (const LogFormat format : options.log_formats) {
    absl::StrAppend(&others, ", ", directory.log_stem(), LogFormatSuffix(format));
    if (options.log_every_n_steps > 0) {
      absl::StrAppend(&others, ", ", directory.step_log_stem(), LogFormatSuffix(format));
    }
  }
  if (plotted) absl::StrAppend(&others, ", ", directory.learning_curve());
  if (options.files == RunFiles::kNone) {
    PrintLastMessage("nothing was written");
    return;
  }
  if (result.best_epoch == 0) {  // nothing was trained, or nothing since the loss changed
    PrintLastMessage(
        absl::StrCat("no epoch has been judged, so no best model is written; last -> ", directory.last(), others));
    return;
  }
  const bool metric = absl::StartsWith(options.monitor, "val_") && options.monitor != "val_loss";
  PrintLastMessage(absl::StrFormat(
      "best epoch %d, %s %.6g%s -> %s%s", result.best_epoch, metric ? options.monitor : "loss", result.best_loss,
      metric || loss_unit.empty() ? "" : absl::StrCat(" ", loss_unit), directory.best(), others));
}

absl::Status PrintErrors(Task& task, const Split& split, const Tensor& parameters, absl::string_view example_unit,
                         const CountColumns& count_columns, absl::string_view member, const std::string& device) {
  static bool header = true;
  const std::pair<const char*, const std::vector<int64_t>*> sets[] = {
      {split.validation == split.train ? "train" : "validation", &split.validation}, {"test", &split.test}};
  for (const auto& [name, examples] : sets) {
    if (examples->empty()) continue;
    DataLoaderOptions options;
    options.batch_size = 256;
    options.shuffle = false;
    DataLoader loader(task, *examples, options);
    ASSIGN_OR_RETURN(const EvaluationResult result,
                     EvaluateExamples(task, parameters, &loader, /*epoch=*/0, /*agreement=*/nullptr, device));
    std::vector<std::pair<std::string, int64_t>> counts;
    if (count_columns != nullptr) counts = count_columns(*examples);
    if (header) {
      std::cout << (member.empty() ? "" : "member\t") << "set\t" << example_unit;
      for (const Metric& metric : result.metrics) {
        std::cout << "\t" << metric.name << (metric.unit.empty() ? "" : absl::StrCat("[", metric.unit, "]"));
      }
      for (const auto& [column, count] : counts) std::cout << "\t" << column;
      std::cout << "\n";
      header = false;
    }
    if (!member.empty()) std::cout << member << "\t";
    std::cout << name << "\t" << examples->size();
    for (const Metric& metric : result.metrics) {
      // Stresses of crystals are of the order of 0.01 eV/Å^3, their errors smaller by far.
      std::cout << "\t" << Decimal(metric.value, metric.unit == "eV/Å^3" ? 7 : 4);
    }
    for (const auto& [column, count] : counts) std::cout << "\t" << count;
    std::cout << "\n";
  }
  return absl::OkStatus();
}

}  // namespace rutile
