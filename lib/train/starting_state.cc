#include "lib/train/starting_state.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/optimizer/parameter_groups.h"
#include "lib/task/framed_model.h"
#include "lib/task/parameter_slice.h"
#include "lib/task/sampling_policy.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_of_doubles.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/options/trainer_settings.h"
#include "lib/train/resume_config.h"

namespace rutile {
namespace {

// True if the checkpoint's sampling weights, where a policy needs them inside an epoch, are valid weights for every
// training example.
bool FitsSampling(const Checkpoint& state, const RunPlan& plan) {
  if (state.batch == 0 || plan.options.sampling_policy == SamplingPolicy::kUniform) return true;
  double sum = 0;
  for (const double weight : state.sampling_weight) {
    if (!(weight >= 0)) return false;
    sum += weight;
  }
  return state.sampling_weight.size() == plan.train.size() && sum > 0 && std::isfinite(sum);
}

class Search {
 public:
  Search(const Task& task, const RunDirectory& directory) : task_(task), directory_(directory) {}

  absl::StatusOr<Checkpoint> Load(const std::string& path) const {
    return LoadCheckpoint(path, task_.parameter_slices(), task_.parameter_dtype());
  }

  // Loads the newest whole checkpoint other than `but` and sets *path. NOT_FOUND if there is none.
  absl::StatusOr<Checkpoint> LoadAnother(const std::string& but, std::string* path) const {
    std::vector<std::string> paths = {directory_.checkpoint(), directory_.previous()};
    for (std::string& numbered : NewestFirst()) paths.push_back(std::move(numbered));
    for (const std::string& candidate : paths) {
      if (candidate == but || !FileExists(candidate)) continue;
      absl::StatusOr<Checkpoint> checkpoint = Load(candidate);
      if (!checkpoint.ok()) continue;
      *path = candidate;
      return checkpoint;
    }
    return absl::NotFoundError("no checkpoint is whole");
  }

 private:
  std::vector<std::string> NewestFirst() const {
    std::vector<std::pair<std::tuple<int64_t, int64_t, int64_t>, std::string>> found;
    for (const std::string& path : directory_.NumberedCheckpoints()) {
      const absl::StatusOr<CheckpointPlace> place = ReadCheckpointPlace(path);
      if (place.ok()) found.push_back({{-place->step, -place->epoch, -place->batch}, path});
    }
    std::sort(found.begin(), found.end());
    std::vector<std::string> paths;
    for (auto& [place, path] : found) paths.push_back(std::move(path));
    return paths;
  }

  const Task& task_;
  const RunDirectory& directory_;
};

std::string Place(const Checkpoint& state) { return absl::StrCat("epoch ", state.epoch + 1, ", step ", state.step); }

// Sets start->state and start->path.
absl::Status Find(const Task& task, const TrainerOptions& options, const RunDirectory& directory,
                  StartingState* start) {
  const Search search(task, directory);
  start->path = !options.resume_from.empty()         ? options.resume_from
                : FileExists(directory.checkpoint()) ? directory.checkpoint()
                                                     : directory.previous();
  absl::StatusOr<Checkpoint> state = search.Load(start->path);
  if (absl::IsDataLoss(state.status())) {
    const std::string damaged = start->path;
    const absl::Status status = state.status();
    state = search.LoadAnother(damaged, &start->path);
    if (!state.ok()) {
      return absl::DataLossError(
          absl::StrCat(status.message(), "; there is no other checkpoint that is whole: start a new run"));
    }
    if (options.mode == RunMode::kResume) {
      return absl::DataLossError(absl::StrCat(status.message(), "; ", start->path, " is whole, of ", Place(*state),
                                              ": --resume=", start->path,
                                              " goes on from there, and so does --resume=auto"));
    }
    start->messages.push_back(absl::StrCat("warning: ", status.message(), "; it is kept as ", directory.replaced()));
  }
  RETURN_IF_ERROR(state.status());
  start->state = *std::move(state);
  return absl::OkStatus();
}

ModelFrame FrameOf(const Task& task) { return task.framed() == nullptr ? ModelFrame() : task.framed()->Frame(); }

// Returns the fingerprint of the sets, of which samples of the validation set are no part.
uint64_t FingerprintOf(const Task& task, const RunPlan& plan) {
  return Fingerprint(task.num_examples(), plan.train,
                     plan.whole_validation.empty() ? plan.validation : plan.whole_validation);
}

// True if the checkpoint is of an older version, whose fingerprint had the examples that limit_val_batches or a sample
// of the task left, and they are these.
bool HasFingerprintOf(const Checkpoint& then, const Task& task, const RunPlan& plan,
                      const std::vector<int64_t>& validation) {
  return !plan.whole_validation.empty() && !validation.empty() && SamplesValidation(then.config) &&
         then.data == Fingerprint(task.num_examples(), plan.train, validation);
}

// Returns what differs in the data, or "". same_before: by the fingerprint of an older version they are the same.
std::string DataChange(const Checkpoint& then, const Checkpoint& now, bool same_before) {
  if (then.data != now.data && !same_before) {
    return "the run to resume trained on other examples or another split";
  }
  if (then.data_sha256.empty() || now.data_sha256.empty() || then.data_sha256 == now.data_sha256) return "";
  return "the inputs are not the files that the run to resume had, though they hold as many examples";
}

void Forget(const ResetOnResume& parts, size_t num_terms, Checkpoint* state, std::vector<std::string>* messages) {
  if (parts.epoch) {
    if (state->batch > 0) {
      messages->push_back(
          absl::StrCat("epoch ", state->epoch + 1, " begins again, as its batches or its loss are others"));
    }
    state->batch = 0;
    state->epoch_sums = TermSums(static_cast<int>(num_terms));
    state->sampling_weight.clear();
  }
  if (parts.loss) {
    state->loss_weight.assign(num_terms, 0);
    state->loss_count.clear();
  }
  if (parts.optimizer) messages->push_back("the optimizer begins without memory");
  if (parts.judgment) {
    messages->push_back("what is best is judged anew");
    state->best_loss = std::numeric_limits<double>::infinity();
    state->best_epoch = state->best_step = 0;
    state->validated_step = state->observed_step = -1;
    state->observed_loss = std::numeric_limits<double>::quiet_NaN();
    state->top = NamedTensors();
  }
  if (parts.ema) {
    messages->push_back("the moving average begins anew");
    state->ema = NamedTensors();
    state->ema_parameters = Tensor();
  }
}

// The largest relative difference of scales that is put down to another machine's last digits, which a feature that
// hardly varies magnifies.
constexpr double kSameScale = 0.01;

// True if the frames agree: exactly, or with `nearly` to kSameScale of each number.
bool SameFrame(const ModelFrame& a, const ModelFrame& b, bool nearly) {
  if (a.text != b.text || a.tensors.size() != b.tensors.size()) return false;
  for (const auto& [name, tensor] : a.tensors) {
    const Tensor* const other = b.tensors.Find(name);
    if (other == nullptr || tensor.dtype() != other->dtype() || tensor.shape() != other->shape()) return false;
    const std::vector<double> then = tensor.ToDoubles(), now = other->ToDoubles();
    double largest = 0;
    for (const double value : then) largest = std::max(largest, std::abs(value));
    for (size_t i = 0; i < then.size(); ++i) {
      if (then[i] == now[i]) continue;
      const double size = std::max({std::abs(then[i]), std::abs(now[i]), 1e-6 * largest});
      if (!nearly || !(std::abs(then[i] - now[i]) <= kSameScale * size)) return false;
    }
  }
  return true;
}

// Moves the parameters of group `index` (the last one: all that are in no group) to the point at which a schedule-free
// optimizer with this z and beta1 is judged. z covers the group's learned parameters in the order of their places.
absl::Status MoveToTheModel(absl::Span<const ParameterSlice> slices, const std::vector<int>& assigned, int index,
                            const std::string& name, const Tensor& z, double beta1, std::vector<double>* parameters) {
  std::vector<ParameterSlice> own;
  int64_t size = 0;
  for (size_t s = 0; s < slices.size(); ++s) {
    if (assigned[s] != index || slices[s].buffer) continue;
    own.push_back(slices[s]);
    size += slices[s].num_elements();
  }
  if (z.num_elements() != size || !(beta1 > 0)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the optimizer's tensor ", name, " has ", z.num_elements(), " numbers and beta1 ", beta1,
                     ", expected ", size, " numbers and beta1 above 0: the checkpoint is damaged; take another"));
  }
  std::sort(own.begin(), own.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  const std::vector<double> at = z.ToDoubles();
  size_t j = 0;
  for (const ParameterSlice& slice : own) {
    for (int64_t i = slice.offset; i < slice.offset + slice.num_elements(); ++i, ++j) {
      double& y = (*parameters)[i];
      y += (1 - 1 / beta1) * (at[j] - y);
    }
  }
  return absl::OkStatus();
}

// A schedule-free optimizer trains at one point and is judged at another (lib/optimizer/methods/schedule_free.h), which
// is the model. Where the optimizer begins without memory, both are that point. beta1 and the groups of parameters are
// in the config of the run to resume.
absl::Status StartAtTheModel(const Task& task, Checkpoint* state) {
  const std::vector<ParameterSlice> slices = task.parameter_slices();
  std::vector<GroupOfConfig> groups;
  std::vector<int> assigned;
  std::vector<double> parameters;
  for (const auto& [name, z] : state->optimizer) {
    const bool is_single = name == "z";
    if (!is_single && !absl::EndsWith(name, ".z")) continue;
    if (parameters.empty()) {
      parameters = state->parameters.ToDoubles();
      ASSIGN_OR_RETURN(groups, GroupsOfConfig(state->config));
      ParameterGroupOptions options;
      for (const GroupOfConfig& group : groups) options.groups.push_back({group.glob, {}});
      ASSIGN_OR_RETURN(assigned, AssignGroups(options, slices));
    }
    const std::string prefix = is_single ? "" : name.substr(0, name.size() - 1);  // "group0."
    const Tensor* const step = state->optimizer.Find(absl::StrCat(prefix, "step"));
    // Before its first step, such an optimizer has no point of its own.
    if (step != nullptr && step->num_elements() == 1 && step->ToDoubles()[0] == 0) continue;
    const int num_groups = static_cast<int>(groups.size());
    int index = is_single ? num_groups : 0;
    while (!is_single && index <= num_groups && prefix != absl::StrCat("group", index, ".")) ++index;
    double beta1 = 0;
    if (index < num_groups) {
      const auto found = groups[index].numbers.find("beta1");
      if (found != groups[index].numbers.end()) beta1 = found->second;
    } else {
      ASSIGN_OR_RETURN(beta1, NumberOfConfig(state->config, "beta1"));
    }
    RETURN_IF_ERROR(MoveToTheModel(slices, assigned, index, name, z, beta1, &parameters));
  }
  if (!parameters.empty()) state->parameters = TensorOfDoubles(state->parameters.dtype(), parameters);
  return absl::OkStatus();
}

// Rewrites the parameters where the model's scales are others by now, so that it predicts what it did.
absl::Status CarryOver(const Task& task, absl::Span<const ConfigChange> changes, const ModelFrame& now,
                       StartingState* start) {
  Checkpoint& state = start->state;
  const FramedModel* const framed = task.framed();
  const auto depends = [framed](const ConfigChange& change) {
    return change.name == DataSetting().name || (change.of_task && framed->FrameDependsOn(change.name));
  };
  const auto change = framed == nullptr ? changes.end() : std::find_if(changes.begin(), changes.end(), depends);
  // Without such a change, the frame is the same but for the last digits of another machine, or of a build that chooses
  // other scales.
  const bool is_changed = change != changes.end();
  if (!is_changed && state.frame.empty()) return absl::OkStatus();
  if (SameFrame(state.frame, now, /*nearly=*/!is_changed)) return absl::OkStatus();
  const auto refuse = [&](absl::string_view why, bool can_begin) {
    const std::string other = !is_changed                          ? "the scales of this version of rutile"
                              : change->name == DataSetting().name ? "other data"
                                                                   : absl::StrCat("another ", change->name);
    return absl::FailedPreconditionError(
        absl::StrCat("with ", other, " the model is another, and the run's cannot be carried over: ", why,
                     can_begin ? "; give what the run had, or start a new run with --init_from and its last.safetensors"
                               : "; give what the run had, or start a new run without it, as --init_from needs the "
                                 "same, too"));
  };
  if (state.frame.empty()) {
    return refuse("the checkpoint is of a version that did not record its scales", /*can_begin=*/true);
  }
  if (!start->new_parts.optimizer) RETURN_IF_ERROR(StartAtTheModel(task, &state));
  start->new_parts.optimizer = start->new_parts.average_best = true;
  for (Tensor* parameters : {&state.parameters, &state.best_parameters, &state.ema_parameters}) {
    if (parameters->num_elements() == 0) continue;
    if (const absl::Status status = framed->CarryOver(state.frame, parameters); !status.ok()) {
      return refuse(status.message(), /*can_begin=*/!absl::IsFailedPrecondition(status));
    }
  }
  start->messages.push_back(
      "scales of features and energies are others from here on; the first and last layers are rewritten, and "
      "predictions stay what they were");
  return absl::OkStatus();
}

// The rate that plateau has come down to keeps its share of the learning rate when that changes, and does not fall
// below the lowest rate. A tensor of another shape is left for Plateau::SetState to refuse.
void ScalePlateau(absl::Span<const ConfigChange> changes, double min_learning_rate, NamedTensors* schedule) {
  const auto change = std::find_if(changes.begin(), changes.end(),
                                   [](const ConfigChange& each) { return each.name == "learning_rate"; });
  const Tensor* const plateau = schedule->Find("plateau");
  double then = 0, now = 0;
  if (change == changes.end() || plateau == nullptr || plateau->dtype() != DType::kF64 ||
      plateau->num_elements() != 4 || !absl::SimpleAtod(change->before, &then) ||
      !absl::SimpleAtod(change->after, &now)) {
    return;
  }
  std::vector<double> values = plateau->ToDoubles();
  values[0] = std::max(values[0] * (now / then), min_learning_rate);
  NamedTensors scaled;
  scaled.Set("plateau", Tensor::Of<double>(values, {4}));
  *schedule = std::move(scaled);
}

// One line for flags.txt and checkpoints.
std::string Describe(absl::Span<const ConfigChange> changes) {
  return absl::StrJoin(changes, "; ", [](std::string* out, const ConfigChange& change) {
    absl::StrAppend(out, change.name == DataSetting().name ? kOtherData
                         : change.before.empty()
                             ? change.after
                             : absl::StrCat(change.name, " is ", change.after, ", was ", change.before));
  });
}

// Fits the state to changed options, or returns FAILED_PRECONDITION if an option that must not change has changed.
absl::Status AcceptChanges(const Task& task, const Checkpoint& now, const RunPlan& plan, StartingState* start) {
  const TrainerOptions& options = plan.options;
  Checkpoint& state = start->state;
  RETURN_IF_ERROR(CheckOverrides(state.config, now.config, options.overrides));
  ASSIGN_OR_RETURN(std::vector<ConfigChange> changes, ConfigChanges(state.config, now.config, task.ResumeRules()));
  const bool validated_on_first = plan.first_validation != plan.validation &&  // as versions before the sample did
                                  HasFingerprintOf(state, task, plan, plan.first_validation);
  const bool same_before = validated_on_first || HasFingerprintOf(state, task, plan, plan.validation) ||
                           HasFingerprintOf(state, task, plan, plan.unlimited_validation);
  if (const std::string change = DataChange(state, now, same_before); !change.empty()) {
    changes.push_back({DataSetting().name, "", change});
  }
  if (const absl::Status permitted = CheckChanges(changes, options.overrides); !permitted.ok()) {
    // Nobody is sent to --override with what it cannot do. The trial has tensors of its own, which are replaced whole.
    StartingState trial = *start;
    const absl::Status possible = CarryOver(task, changes, now.frame, &trial);
    if (possible.ok() || permitted.code() != possible.code()) return permitted;
    return absl::FailedPreconditionError(
        absl::StrCat(ForbiddenChanges(changes, options.overrides), "; ", possible.message()));
  }
  if (validated_on_first) {  // which needs no permission, as the data are the same
    changes.push_back({"limit_val_batches", "",
                       "limit_val_batches validates on a random sample from here on, and no more on the first examples "
                       "as an older version did"});
  } else if (!plan.unlimited_validation.empty() &&
             std::any_of(changes.begin(), changes.end(), [](const auto& c) { return c.name == "batch_size"; })) {
    changes.push_back(
        {"limit_val_batches", "",
         "limit_val_batches validates on a sample of another size from here on, as batches have another"});
  }
  for (const ConfigChange& change : changes) {
    start->messages.push_back(
        change.before.empty() ? change.after
                              : absl::StrCat(change.name, " is ", change.after, " from here on, was ", change.before));
  }
  start->new_parts = PartsToReset(changes);
  if (start->new_parts.optimizer) RETURN_IF_ERROR(StartAtTheModel(task, &state));
  RETURN_IF_ERROR(CarryOver(task, changes, now.frame, start));
  if (!changes.empty()) absl::StrAppend(&state.changes, "step ", state.step, ": ", Describe(changes), "\n");
  ScalePlateau(changes, options.schedule.min_learning_rate, &state.schedule);
  state.frame = now.frame;
  Forget(start->new_parts, task.terms().size(), &state, &start->messages);
  state.config = now.config;
  // One run has one fingerprint, by which tracin knows its checkpoints.
  if (!same_before || validated_on_first) state.data = now.data;
  state.seed = now.seed;
  if (!now.data_sha256.empty()) state.data_sha256 = now.data_sha256;
  return absl::OkStatus();
}

}  // namespace

Checkpoint NewState(const Task& task, const RunPlan& plan) {
  const size_t num_terms = task.terms().size();
  Checkpoint state;
  state.seed = plan.options.seed;
  state.epoch_sums = TermSums(static_cast<int>(num_terms));
  state.loss_weight.assign(num_terms, 0);
  state.config = ResumeConfigJson(plan.options, task.ResumeConfig());
  state.data = FingerprintOf(task, plan);
  state.data_sha256 = plan.options.data_sha256;
  state.frame = FrameOf(task);
  state.parameters = task.InitialParameters(plan.options.seed);
  const Tensor& given = plan.options.initial_parameters;
  if (given.num_elements() > 0) {
    CHECK(given.dtype() == state.parameters.dtype() && given.shape() == state.parameters.shape());
    std::memcpy(state.parameters.mutable_data(), given.data(), given.num_bytes());
  }
  state.best_parameters = Tensor::Zeros(task.parameter_dtype(), {task.num_parameters()});
  if (state.parameters.num_bytes() > 0) {
    std::memcpy(state.best_parameters.mutable_data(), state.parameters.data(), state.parameters.num_bytes());
  }
  CHECK(state.parameters.dtype() == task.parameter_dtype() && state.parameters.num_elements() == task.num_parameters());
  return state;
}

absl::StatusOr<StartingState> ResumedState(const Task& task, const RunPlan& plan, const RunDirectory& directory) {
  StartingState start;
  RETURN_IF_ERROR(Find(task, plan.options, directory, &start));
  Checkpoint now;
  now.seed = plan.options.seed;
  now.config = ResumeConfigJson(plan.options, task.ResumeConfig());
  now.data = FingerprintOf(task, plan);
  now.data_sha256 = plan.options.data_sha256;
  now.frame = FrameOf(task);
  const absl::Status changes = AcceptChanges(task, now, plan, &start);
  if (!changes.ok()) {
    return absl::Status(changes.code(), absl::StrCat(directory.path(), ": ", changes.message()));
  }
  Checkpoint& state = start.state;
  if (state.epoch_sums.sum.size() != task.terms().size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(start.path, ": its loss has ", state.epoch_sums.sum.size(), " terms, that asked for ",
                     task.terms().size(), ", and the checkpoint does not say which they are: resume with the weights ",
                     "that the run had, or start a new run, with --init_from"));
  }
  if (state.batch > plan.num_batches) {
    return absl::InvalidArgumentError(
        absl::StrCat(start.path, ": batch ", state.batch, " of ", plan.num_batches, "; the file is damaged"));
  }
  if (!FitsSampling(state, plan)) {
    return absl::InvalidArgumentError(absl::StrCat(start.path, ": \"sampling_weight\" is no weight for each of the ",
                                                   plan.train.size(), " training examples; the file is damaged"));
  }
  start.is_to_be_last = start.path != directory.checkpoint();
  const bool is_own = directory.Holds(start.path);
  start.leaves_previous = start.is_to_be_last && is_own && start.path != directory.previous();
  if (!is_own) {  // the rows and numbered checkpoints of that run are in another directory
    state.log_rows = 0;
    state.kept_step = -1;
    state.top = NamedTensors();
  }
  start.messages.insert(start.messages.begin(), absl::StrCat("goes on from ", start.path, ": ", Place(state)));
  return start;
}

}  // namespace rutile
