#include "tools/tracin/unrolled/unrolled_run.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/random.h"
#include "lib/base/status_macros.h"
#include "lib/many_body/atom_kernel_factory.h"
#include "lib/train/files/checkpoint.h"

namespace rutile {
namespace {

using Config = std::map<std::string, std::string>;

// Settings that decide a step, and are followed, or that decide no step. All others are refused.
const std::set<std::string>& KnownSettings() {
  static const auto& names =
      *new std::set<std::string>{"seed",         "batch_size",    "shuffle",  "optimizer",    "learning_rate",
                                 "beta1",        "beta2",         "epsilon",  "weight_decay", "accumulate_grad_batches",
                                 "momentum",     "dampening",     "nesterov", "warmup_steps", "min_learning_rate",
                                 "warmup_start", "warmup_epochs", "monitor",  "average_best", "limit_val_batches"};
  return names;
}

std::string TextOf(const Config& config, const std::string& name, const char* otherwise) {
  const auto found = config.find(name);
  return found == config.end() ? otherwise : found->second;
}

double NumberOf(const Config& config, const std::string& name, double otherwise) {
  double value = otherwise;
  const auto found = config.find(name);
  return found != config.end() && absl::SimpleAtod(found->second, &value) ? value : otherwise;
}

absl::Status Refuse(const CheckpointSummary& checkpoint, const std::string& setting, const std::string& why) {
  return absl::InvalidArgumentError(
      absl::StrCat("--unrolled: ", checkpoint.path, ": its run had --", setting, ", ", why));
}

absl::Status CheckSettings(const CheckpointSummary& checkpoint) {
  const Config &config = checkpoint.config, &task = checkpoint.task;
  const std::string optimizer = TextOf(config, "optimizer", "?");
  if (optimizer != "adam" && optimizer != "adamw" && optimizer != "sgd") {
    return Refuse(checkpoint, absl::StrCat("optimizer=", optimizer), "and steps of adam, adamw and sgd are unrolled");
  }
  for (const auto& [name, value] : config) {
    if (name == "gradient_clip_val" && NumberOf(config, name, 0) == 0) continue;
    if (KnownSettings().count(name) > 0 || absl::StartsWith(name, "lr_")) continue;
    return Refuse(checkpoint, absl::StrCat(name, "=", value), "which is not unrolled");
  }
  for (const char* name : {"force_fraction", "subset"}) {
    const auto found = task.find(name);
    if (found != task.end()) return Refuse(checkpoint, absl::StrCat(name, "=", found->second), "which is not unrolled");
  }
  const std::string precision = TextOf(task, "precision", "fp32");
  if (precision != "fp32" && precision != "fp64") {
    return Refuse(checkpoint, absl::StrCat("precision=", precision), "whose rounding no derivative follows");
  }
  return absl::OkStatus();
}

absl::Status CheckSame(const CheckpointSummary& first, const CheckpointSummary& other) {
  if (first.config == other.config && first.task == other.task) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--unrolled: ", other.path,
                                                 ": its run went on with other settings than ", first.path,
                                                 " has: give the checkpoints after the change alone"));
}

bool BeginsWithSeed(absl::Span<const CheckpointSummary> checkpoints) { return checkpoints[0].step == 1; }

// Returns the update of optimizer step `step`, from 1, that ended at this checkpoint.
UnrolledUpdate UpdateOf(const CheckpointSummary& checkpoint) {
  const Config& config = checkpoint.config;
  const std::string optimizer = TextOf(config, "optimizer", "?");
  const double rate = checkpoint.learning_rate, decay = NumberOf(config, "weight_decay", 0);
  const auto steps = static_cast<double>(checkpoint.optimizer_step);
  if (optimizer == "sgd") {
    SgdStep sgd;
    sgd.l2 = decay;
    sgd.momentum = NumberOf(config, "momentum", 0);
    sgd.gain = checkpoint.optimizer_step == 1 ? 1 : 1 - NumberOf(config, "dampening", 0);
    sgd.nesterov = TextOf(config, "nesterov", "false") == "true";
    sgd.learning_rate = rate;
    return sgd;
  }
  AdamStep adam;
  adam.keep = optimizer == "adamw" ? 1 - rate * decay : 1;
  adam.l2 = optimizer == "adamw" ? 0 : decay;
  adam.beta1 = NumberOf(config, "beta1", 0.9);
  adam.beta2 = NumberOf(config, "beta2", 0.999);
  adam.epsilon = NumberOf(config, "epsilon", 1e-8);
  adam.step_size = rate / (1 - std::pow(adam.beta1, steps));
  adam.root_correction2 = std::sqrt(1 - std::pow(adam.beta2, steps));
  return adam;
}

// Deals out the batches of a run as its loader does.
class Batches {
 public:
  Batches(const CheckpointSummary& checkpoint, absl::Span<const int64_t> examples)
      : seed_(checkpoint.seed),
        shuffle_(TextOf(checkpoint.config, "shuffle", "true") == "true"),
        size_(static_cast<int64_t>(NumberOf(checkpoint.config, "batch_size", 1))),
        together_(static_cast<int64_t>(NumberOf(checkpoint.config, "accumulate_grad_batches", 1))),
        examples_(examples.begin(), examples.end()) {}

  // Returns the examples of the step that ended at this checkpoint: those of all batches that it accumulated. Empty if
  // the checkpoint says what cannot be.
  std::vector<int64_t> OfStep(const CheckpointSummary& after) {
    const auto n = static_cast<int64_t>(examples_.size());
    const int64_t batches = (n + size_ - 1) / size_;
    const int64_t epoch = after.batch == 0 ? after.epoch - 1 : after.epoch;
    const int64_t done = after.batch == 0 ? batches : after.batch;
    if (epoch < 0 || done < 1 || done > batches) return {};
    if (shuffle_ && epoch != epoch_) order_ = RandomPermutation(n, RandomStream(seed_, "shuffle", epoch));
    epoch_ = epoch;
    const int64_t begin = (done - 1) / together_ * together_ * size_;
    std::vector<int64_t> batch;
    for (int64_t k = begin; k < std::min(n, begin + together_ * size_); ++k) {
      batch.push_back(examples_[shuffle_ ? order_[k] : k]);
    }
    return batch;
  }

 private:
  const uint64_t seed_;
  const bool shuffle_;
  const int64_t size_, together_;
  const std::vector<int64_t> examples_;
  int64_t epoch_ = -1;
  std::vector<int64_t> order_;  // of epoch_
};

absl::StatusOr<OptimizerState> ReadState(const CheckpointSummary& checkpoint, const UnrolledUpdate& update,
                                         absl::Span<const ParameterSlice> slices) {
  ASSIGN_OR_RETURN(const Checkpoint state, LoadCheckpoint(checkpoint.path, slices, checkpoint.dtype));
  OptimizerState result = ZeroState(update, state.parameters.num_elements());
  result.parameters = state.parameters.ToDoubles();
  const auto read = [&](const char* name, std::vector<double>* to) -> absl::Status {
    const Tensor* const found = state.optimizer.Find(name);
    if (found == nullptr || found->dtype() != state.parameters.dtype() ||
        found->num_elements() != state.parameters.num_elements()) {
      return absl::InvalidArgumentError(absl::StrCat(checkpoint.path, ": has no optimizer.", name, " of ",
                                                     state.parameters.num_elements(), " numbers of type ",
                                                     DTypeName(state.parameters.dtype())));
    }
    *to = found->ToDoubles();
    return absl::OkStatus();
  };
  if (const auto* sgd = std::get_if<SgdStep>(&update)) {
    if (sgd->momentum != 0) RETURN_IF_ERROR(read("momentum_buffer", &result.m));
    return result;
  }
  RETURN_IF_ERROR(read("exp_avg", &result.m));
  RETURN_IF_ERROR(read("exp_avg_sq", &result.v));
  return result;
}

}  // namespace

absl::Status CheckUnrolled(absl::Span<const CheckpointSummary> checkpoints) {
  if (checkpoints.empty()) {
    return absl::InvalidArgumentError("--unrolled: needs the checkpoints of a run, and these are models");
  }
  RETURN_IF_ERROR(CheckSettings(checkpoints[0]));
  for (size_t c = 1; c < checkpoints.size(); ++c) {
    RETURN_IF_ERROR(CheckSame(checkpoints[0], checkpoints[c]));
    if (checkpoints[c].step == checkpoints[c - 1].step + 1) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--unrolled: ", checkpoints[c].path, ": is of step ", checkpoints[c].step, " and follows step ",
                     checkpoints[c - 1].step,
                     ": a checkpoint of each step is needed; the same train command with "
                     "--keep_every_steps=1 and another --output_dir makes the same run with them"));
  }
  if (checkpoints.size() == 1 && !BeginsWithSeed(checkpoints)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--unrolled: ", checkpoints[0].path, ": is one checkpoint, of step ", checkpoints[0].step,
                     ": give one of each step, from step 1 on; train keeps them with --keep_every_steps=1"));
  }
  return absl::OkStatus();
}

UnrolledRun UnrolledRunOf(std::vector<CheckpointSummary> checkpoints, std::vector<ParameterSlice> slices,
                          const NetworkShape& shape, absl::Span<const int64_t> examples) {
  UnrolledRun run;
  const bool from_seed = BeginsWithSeed(checkpoints);
  Batches batches(checkpoints[0], examples);
  for (size_t c = from_seed ? 0 : 1; c < checkpoints.size(); ++c) {
    run.steps.push_back({batches.OfStep(checkpoints[c]), UpdateOf(checkpoints[c]), checkpoints[c].path});
  }
  if (checkpoints[0].dtype == DType::kF64) {
    run.tolerance = 1e-5;
    run.rounding = 1e-15;
  }
  run.state = [checkpoints = std::move(checkpoints), slices = std::move(slices), shape, from_seed,
               update = run.steps[0].update](int64_t done) -> absl::StatusOr<OptimizerState> {
    if (from_seed && done == 0) {
      std::vector<double> initial = InitialAtomParameters(shape, checkpoints[0].seed);
      OptimizerState state = ZeroState(update, initial.size());
      if (checkpoints[0].dtype == DType::kF32) {
        for (double& each : initial) each = static_cast<float>(each);
      }
      state.parameters = std::move(initial);
      return state;
    }
    return ReadState(checkpoints[from_seed ? done - 1 : done], update, slices);
  };
  return run;
}

std::string UnrolledSteps(absl::Span<const CheckpointSummary> checkpoints) {
  return absl::StrCat(BeginsWithSeed(checkpoints) ? 1 : checkpoints[0].step + 1, "-", checkpoints.back().step);
}

}  // namespace rutile
