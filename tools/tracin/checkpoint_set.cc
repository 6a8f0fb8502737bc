#include "tools/tracin/checkpoint_set.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/file/input_files.h"
#include "lib/file/sha256.h"
#include "lib/kge/model/kge_options_text.h"
#include "lib/potential/model/open_potentials.h"
#include "lib/task/precision.h"
#include "lib/tensorfile/file_kind.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/train/files/run_directory.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"
#include "tools/tracin/unrolled_run.h"

namespace rutile {
namespace {

constexpr char kCheckpoint[] = "checkpoint", kKge[] = "kge", kPotential[] = "potential";

absl::StatusOr<std::string> KindOf(const std::string& path) {
  RETURN_IF_ERROR(RefuseOtherPrograms(path));
  ASSIGN_OR_RETURN(const TensorFile file, LookIntoTensorFile(path));
  ASSIGN_OR_RETURN(const FileKind kind, GetFileKind(file));
  if (kind.name == kCheckpoint || kind.name == kKge || kind.name == kPotential) return kind.name;
  return absl::InvalidArgumentError(absl::StrCat(path, ": is of kind ", kind.name, "/", kind.version,
                                                 ", expected checkpoints of a run (checkpoint/1), or models (kge/1, "
                                                 "potential/1) with --learning_rate"));
}

// Settings that change the loss, which is differentiated at all checkpoints, or the meaning of parameters without
// changing their names and shapes.
std::vector<std::pair<std::string, std::string>> SettingsOfRun(const std::map<std::string, std::string>& task) {
  std::vector<std::pair<std::string, std::string>> settings = KgeSettingsOf(task);
  settings.erase(std::remove_if(settings.begin(), settings.end(),
                                [](const auto& s) { return s.first == "group_queries" || s.first == "init"; }),
                 settings.end());
  if (const auto found = task.find("activation"); found != task.end()) settings.push_back(*found);
  return settings;
}

absl::Status SetCheckpoints(const std::vector<std::string>& paths, CheckpointSet* checkpoint_set) {
  std::vector<CheckpointSummary> summaries;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(CheckpointSummary summary, ReadCheckpointSummary(path));
    summaries.push_back(std::move(summary));
  }
  ASSIGN_OR_RETURN(CheckpointSeries series, OrderCheckpoints(std::move(summaries), SettingsOfRun));
  for (const std::string& message : series.messages) PrintMessage(message);
  checkpoint_set->checkpoints = std::move(series.checkpoints);
  for (const CheckpointSummary& checkpoint : checkpoint_set->checkpoints) {
    checkpoint_set->paths.push_back(checkpoint.path);
  }
  checkpoint_set->is_kge = checkpoint_set->checkpoints[0].task.count("kge_model") > 0;
  return absl::OkStatus();
}

// Says which parameters are scored where the models of the run hold others than those that its gradients moved.
void WarnOfAverages(const TracinFlags& flags, const CheckpointSet& checkpoint_set) {
  if (flags.unrolled) return;  // whose quantities are of the average
  for (const CheckpointSummary& checkpoint : checkpoint_set.checkpoints) {
    const auto optimizer = checkpoint.config.find("optimizer");
    const bool is_free = optimizer != checkpoint.config.end() && optimizer->second == "schedule-free-adamw";
    if (!is_free && checkpoint.config.count("ema_decay_type") == 0) continue;
    PrintWarning(absl::StrCat(checkpoint.path, ": its run averaged parameters (",
                              is_free ? "--optimizer=schedule-free-adamw" : "--ema",
                              "), and its models hold the average. Scores are those of the parameters in the "
                              "checkpoint; for the average give best.safetensors",
                              !flags.gauss_newton     ? " with --learning_rate"
                              : checkpoint_set.is_kge ? ""
                                                      : " with the --term_weights that --mode=curvature prints of "
                                                        "this checkpoint"));
    return;
  }
}

// True if checkpoints count by the sum of rates since the one before, which all of them hold. INVALID_ARGUMENT naming a
// checkpoint that does not, where it was asked for.
absl::StatusOr<bool> CountByInterval(const TracinFlags& flags, const CheckpointSet& checkpoint_set) {
  if (checkpoint_set.are_models() || flags.learning_rate.has_value() ||
      flags.checkpoint_rates == CheckpointRates::kCheckpoint) {
    return false;
  }
  for (const CheckpointSummary& checkpoint : checkpoint_set.checkpoints) {
    if (!std::isnan(checkpoint.rate_sum)) continue;
    const std::string what =
        absl::StrCat(checkpoint.path, ": its run began with a version that did not add up the learning rates");
    if (flags.checkpoint_rates == CheckpointRates::kInterval) {
      return absl::InvalidArgumentError(absl::StrCat(what, ": --rates=checkpoint takes the rate of its last step"));
    }
    PrintMessage(absl::StrCat(what, ": each checkpoint counts by the rate of its last step (--rates=checkpoint)"));
    return false;
  }
  return true;
}

// Makes the end of a run that is unrolled the only checkpoint of the set.
absl::Status KeepTheLast(const TracinFlags& flags, CheckpointSet* checkpoint_set) {
  if (checkpoint_set->is_kge) {
    return absl::InvalidArgumentError("--unrolled: is for structures, and these are checkpoints of triples");
  }
  RETURN_IF_ERROR(CheckUnrolled(checkpoint_set->checkpoints, flags.options.memory_limit));
  checkpoint_set->unrolled = checkpoint_set->checkpoints;
  checkpoint_set->checkpoints = {checkpoint_set->unrolled.back()};
  checkpoint_set->paths = {checkpoint_set->paths.back()};
  checkpoint_set->sha256 = {checkpoint_set->sha256.back()};
  checkpoint_set->rates = {1};
  return absl::OkStatus();
}

// Products with the inverse of a curvature are averaged. Others are multiplied by what the flags say.
absl::Status SetRates(const TracinFlags& flags, CheckpointSet* checkpoint_set) {
  if (flags.unrolled) return absl::OkStatus();
  if (flags.gauss_newton) {
    checkpoint_set->rates.assign(checkpoint_set->size(), 1 / static_cast<double>(checkpoint_set->size()));
    return absl::OkStatus();
  }
  if (checkpoint_set->are_models()) {
    RETURN_IF_ERROR(RefuseFlags("with model files, which say nothing of learning rates", {"rates"}));
  }
  ASSIGN_OR_RETURN(const bool by_interval, CountByInterval(flags, *checkpoint_set));
  double before = 0;
  for (size_t p = 0; p < checkpoint_set->size(); ++p) {
    double own = 0;
    if (by_interval) {
      own = checkpoint_set->checkpoints[p].rate_sum - before;
      before = checkpoint_set->checkpoints[p].rate_sum;
    } else if (!checkpoint_set->are_models()) {
      own = checkpoint_set->checkpoints[p].learning_rate;
    }
    const double rate = flags.learning_rate.value_or(own);
    if (!(std::isfinite(rate) && rate > 0)) {
      return absl::InvalidArgumentError(absl::StrCat(checkpoint_set->paths[p],
                                                     checkpoint_set->are_models()
                                                         ? ": a model file has no learning rate"
                                                         : absl::StrCat(": the learning rate in it is ", own),
                                                     ": give --learning_rate"));
    }
    checkpoint_set->rates.push_back(rate);
    // Rates of --parameter_groups count where those of checkpoints do.
    checkpoint_set->has_group_rates |= !checkpoint_set->are_models() && !flags.learning_rate.has_value() &&
                                       checkpoint_set->checkpoints[p].config.count("parameter_groups") > 0;
  }
  return absl::OkStatus();
}

absl::Status CheckDistinct(const CheckpointSet& checkpoint_set) {
  for (size_t p = 0; p < checkpoint_set.size(); ++p) {
    for (size_t q = 0; q < p; ++q) {
      if (checkpoint_set.sha256[p] != checkpoint_set.sha256[q]) continue;
      return absl::InvalidArgumentError(absl::StrCat(checkpoint_set.paths[p], ": ",
                                                     checkpoint_set.paths[p] == checkpoint_set.paths[q]
                                                         ? "is there twice"
                                                         : absl::StrCat("has the content of ", checkpoint_set.paths[q]),
                                                     ": give each checkpoint once"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CheckpointSet> CheckpointsFromArguments(absl::Span<const std::string> arguments,
                                                       const TracinFlags& flags) {
  if (arguments.empty()) {
    return absl::InvalidArgumentError("needs checkpoints of a run (run/checkpoints/*.safetensors); see tracin --help");
  }
  for (const std::string& argument : arguments) {
    int64_t number;  // other programs accept several values of a flag in this way
    if (absl::SimpleAtoi(argument, &number) && !FileExists(argument)) {
      return absl::InvalidArgumentError(absl::StrCat(
          argument, ": expected a checkpoint; numbers of a flag have commas between, as in --test_indices=0,1"));
    }
    const std::string checkpoints = absl::StrCat(argument, "/checkpoints");
    if (!FileExists(checkpoints)) continue;
    return absl::InvalidArgumentError(absl::StrCat(argument, ": is the directory of a run, expected its checkpoints, ",
                                                   checkpoints, "/*.safetensors"));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, ExpandInputs(arguments));
  std::string kind;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const std::string this_kind, KindOf(path));
    if (!kind.empty() && this_kind != kind) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": is of kind ", this_kind, ", ", paths[0], " of kind ",
                                                     kind, ": give files of one kind"));
    }
    kind = this_kind;
  }
  CheckpointSet checkpoint_set;
  if (kind == kCheckpoint) {
    RETURN_IF_ERROR(SetCheckpoints(paths, &checkpoint_set));
    WarnOfAverages(flags, checkpoint_set);
  } else {
    checkpoint_set.paths = paths;
    checkpoint_set.is_kge = kind == kKge;
    if (flags.adam) {
      return absl::InvalidArgumentError(absl::StrCat("--precondition=adam: ", paths[0],
                                                     " is a model file, which has no state of an optimizer: give ",
                                                     "checkpoints"));
    }
  }
  RETURN_IF_ERROR(SetRates(flags, &checkpoint_set));
  for (const std::string& path : checkpoint_set.paths) {
    ASSIGN_OR_RETURN(std::string sha256, Sha256HexOfFile(path));
    checkpoint_set.sha256.push_back(std::move(sha256));
  }
  RETURN_IF_ERROR(CheckDistinct(checkpoint_set));
  if (flags.unrolled) RETURN_IF_ERROR(KeepTheLast(flags, &checkpoint_set));
  return checkpoint_set;
}

std::string RunDirectoryOf(const std::string& checkpoint) {
  const size_t slash = checkpoint.rfind('/');
  if (slash == std::string::npos) return FileExists("../best.safetensors") ? ".." : "";
  const std::string folder = checkpoint.substr(0, slash);
  const size_t above = folder.rfind('/');
  const std::string name = above == std::string::npos ? folder : folder.substr(above + 1);
  if (name != "checkpoints" && name != "recovery") return "";
  if (above == std::string::npos) return ".";
  return above == 0 ? "/" : folder.substr(0, above);
}

std::string ModelPath(const CheckpointSet& checkpoint_set, const TracinFlags& flags) {
  if (!flags.model.empty()) return flags.model;
  if (checkpoint_set.are_models()) return checkpoint_set.paths[0];
  const std::string directory = RunDirectoryOf(checkpoint_set.paths[0]);
  if (directory.empty()) return "";
  const RunDirectory run(directory);
  for (const std::string& path : {run.best(), run.last()}) {
    if (FileExists(path)) return path;
  }
  return "";
}

DType CheckpointPrecision(const TracinFlags& flags, DType own) {
  return flags.precision == Precision::kAuto ? own : DTypeOf(flags.precision);
}

absl::StatusOr<WeightedCheckpoint> ReadWeightedCheckpoint(const CheckpointSet& checkpoint_set, size_t index,
                                                          absl::Span<const ParameterSlice> slices, DType precision,
                                                          bool adam) {
  WeightedCheckpoint result;
  ASSIGN_OR_RETURN(result.parameters, ReadCheckpointParameters(checkpoint_set.paths[index], slices, precision));
  ASSIGN_OR_RETURN(result.preconditioner, PreconditionerOf(checkpoint_set, index, slices, precision, adam));
  return result;
}

absl::StatusOr<Tensor> PreconditionerOf(const CheckpointSet& checkpoint_set, size_t index,
                                        absl::Span<const ParameterSlice> slices, DType precision, bool adam) {
  if (adam) return AdamPreconditioner(checkpoint_set.checkpoints[index], slices, precision);
  if (!checkpoint_set.has_group_rates) return Tensor::Zeros(precision, {0});
  return GroupRates(checkpoint_set.checkpoints[index], slices, precision);
}

Tensor ConvertTensor(const Tensor& from, DType dtype) {
  if (from.dtype() == dtype) return from;
  const std::vector<double> values = from.ToDoubles();
  Tensor to = Tensor::Zeros(dtype, from.shape());
  if (dtype == DType::kF64) {
    std::copy(values.begin(), values.end(), to.mutable_values<double>().begin());
  } else {
    std::transform(values.begin(), values.end(), to.mutable_values<float>().begin(),
                   [](double value) { return static_cast<float>(value); });
  }
  return to;
}

}  // namespace rutile
