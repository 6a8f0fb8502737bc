#include "lib/train/files/checkpoint_series.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/file/directory.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/state_tensor.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/tensorfile/tensor_of_doubles.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/train/files/checkpoint.h"

namespace rutile {
namespace {

constexpr char kParameters[] = "parameters.";

using Json = nlohmann::ordered_json;

std::map<std::string, std::string> TextOf(const Json& json) {
  std::map<std::string, std::string> config;
  if (!json.is_object()) return config;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_object()) config[key] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return config;
}

absl::StatusOr<TensorFile> ReadWhole(absl::string_view path, bool verify) {
  TensorReadOptions options;
  options.verify_checksums = verify;
  absl::StatusOr<TensorFile> file = ReadTensorFile(path, options);
  if (absl::IsInvalidArgument(file.status())) return absl::DataLossError(file.status().message());
  RETURN_IF_ERROR(file.status());
  RETURN_IF_ERROR(CheckSchema(CheckpointSchema(), *file).status());
  return file;
}

absl::Status Error(const CheckpointSummary& checkpoint, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(checkpoint.path, ": ", what));
}

std::string Shape(const std::vector<int64_t>& shape) { return absl::StrCat("[", absl::StrJoin(shape, ", "), "]"); }

bool IsLast(const CheckpointSummary& checkpoint) {
  return checkpoint.path == "last.safetensors" || absl::EndsWith(checkpoint.path, "/last.safetensors");
}

absl::Status CheckSameRun(const CheckpointSummary& first, const CheckpointSummary& other,
                          const SettingsOfTask& settings_of) {
  for (size_t p = 0; p < std::max(first.parameters.size(), other.parameters.size()); ++p) {
    if (p < first.parameters.size() && p < other.parameters.size() && first.parameters[p] == other.parameters[p]) {
      continue;
    }
    const auto name = [p](const CheckpointSummary& c) {
      return p < c.parameters.size() ? absl::StrCat(c.parameters[p].first, " ", Shape(c.parameters[p].second)) : "none";
    };
    return Error(other, absl::StrCat("of another model than ", first.path, ": parameter ", p + 1, " is ", name(other),
                                     ", there it is ", name(first)));
  }
  if (first.dtype != other.dtype) {
    return Error(other, absl::StrCat("its parameters are ", DTypeName(other.dtype), ", those of ", first.path, " ",
                                     DTypeName(first.dtype)));
  }
  const auto settings = settings_of(first.task);
  const std::map<std::string, std::string> there(settings.begin(), settings.end());
  for (const auto& [name, here] : settings_of(other.task)) {
    const auto found = there.find(name);
    if (found == there.end() || found->second == here) continue;
    return Error(other, absl::StrCat("of another run than ", first.path, ": ", name, " is ", here, ", there it is ",
                                     found->second,
                                     ", or the run was resumed with another: what adds up is checkpoints of one run "
                                     "with one setting"));
  }
  if (first.seed != other.seed || first.data != other.data) {
    return Error(other, absl::StrCat("of another run than ", first.path, ": it had another ",
                                     first.seed != other.seed ? "seed" : "split of the data",
                                     "; what adds up is the checkpoints of one run"));
  }
  return absl::OkStatus();
}

// A run may be resumed with another rate, which two runs of a search for the best rate also differ in.
void AddRateMessage(const CheckpointSummary& before, const CheckpointSummary& after,
                    std::vector<std::string>* messages) {
  const auto there = before.config.find("learning_rate"), here = after.config.find("learning_rate");
  if (there == before.config.end() || here == after.config.end()) return;
  if (here->second == there->second) {
    const auto groups_there = before.config.find("parameter_groups"), groups = after.config.find("parameter_groups");
    if (groups_there == before.config.end() || groups == after.config.end()) return;
    if (groups->second == groups_there->second) return;
    messages->push_back(absl::StrCat("warning: ", after.path, ": its parameter_groups are not those of ", before.path,
                                     ": these are of one run only if it was resumed with other rates of groups, which "
                                     "then count for all steps between the two"));
    return;
  }
  messages->push_back(absl::StrCat("warning: ", after.path, ": its learning_rate is ", here->second, ", that of ",
                                   before.path, " ", there->second,
                                   ": these are of one run only if it was resumed with another rate"));
}

// True if a run gave both names to its state after one step.
bool IsSameState(const CheckpointSummary& a, const CheckpointSummary& b) {
  const auto is_of_run = [](const CheckpointSummary& checkpoint) {
    const std::string name = checkpoint.path.substr(checkpoint.path.rfind('/') + 1);
    return IsLast(checkpoint) || absl::StartsWith(name, "epoch-") || absl::StartsWith(name, "step-") ||
           absl::StartsWith(name, "top-");
  };
  return is_of_run(a) && is_of_run(b) && DirectoryOf(a.path) == DirectoryOf(b.path) && a.config == b.config &&
         a.learning_rate == b.learning_rate;
}

template <typename T>
void Convert(const Tensor& from, absl::Span<T> to) {
  if (from.dtype() == DType::kF32) {
    const absl::Span<const float> values = from.values<float>();
    std::copy(values.begin(), values.end(), to.begin());
  } else {
    const absl::Span<const double> values = from.values<double>();
    for (size_t i = 0; i < values.size(); ++i) to[i] = static_cast<T>(values[i]);
  }
}

// Returns a number from the checkpoint's config.
absl::StatusOr<double> NumberOf(const CheckpointSummary& checkpoint, const char* option) {
  const auto found = checkpoint.config.find(option);
  double value = 0;
  if (found != checkpoint.config.end() && absl::SimpleAtod(found->second, &value)) return value;
  return Error(checkpoint, absl::StrCat("its config has no number \"", option, "\""));
}

// Sets `out` from v, which covers the learned parameters alone, as optimizers store it. Buffers have no gradient, and
// get 1.
template <typename T>
void Precondition(absl::Span<const double> v, double correction, double epsilon,
                  absl::Span<const ParameterSlice> slices, absl::Span<T> out) {
  std::fill(out.begin(), out.end(), T{1});
  const double* next = v.data();
  for (const ParameterSlice& slice : slices) {
    if (slice.buffer) continue;
    for (int64_t i = 0; i < slice.num_elements(); ++i) {
      out[slice.offset + i] = static_cast<T>(1 / (std::sqrt(*next++ / correction) + epsilon));
    }
  }
}

}  // namespace

absl::StatusOr<CheckpointSummary> ReadCheckpointSummary(absl::string_view path) {
  ASSIGN_OR_RETURN(const TensorFile file, ReadWhole(path, /*verify=*/false));
  CheckpointSummary summary;
  summary.path = std::string(path);
  summary.seed = file.tensors.At("seed").values<uint64_t>()[0];
  summary.epoch = file.tensors.At("epoch").values<int64_t>()[0];
  summary.step = file.tensors.At("step").values<int64_t>()[0];
  summary.batch = file.tensors.At("batch").values<int64_t>()[0];
  const Tensor* const own = file.tensors.Find("optimizer.step");
  const bool counts = own != nullptr && own->dtype() == DType::kI64 && own->num_elements() == 1;
  summary.optimizer_step = counts ? own->values<int64_t>()[0] : summary.step;
  summary.learning_rate = file.tensors.At("learning_rate").values<double>()[0];
  const Tensor* const rate_sum = file.tensors.Find("rate_sum");
  summary.rate_sum = rate_sum == nullptr ? std::numeric_limits<double>::quiet_NaN() : rate_sum->ToDoubles()[0];
  summary.loss_weight = file.tensors.At("loss_weight").ToDoubles();
  if (const Tensor* const count = file.tensors.Find("loss_count"); count != nullptr) {
    summary.loss_count = count->ToDoubles();
  }
  summary.data = file.tensors.At("data").values<uint64_t>()[0];
  const Json config = Json::parse(file.metadata.at("config"), nullptr, /*allow_exceptions=*/false);
  summary.config = TextOf(config);
  if (config.is_object() && config.contains("task")) summary.task = TextOf(config["task"]);
  const auto data = file.metadata.find("data_sha256");
  if (data != file.metadata.end()) summary.data_sha256 = data->second;
  for (const auto& [name, tensor] : file.tensors) {
    if (!absl::StartsWith(name, kParameters)) continue;
    if (tensor.dtype() != DType::kF32 && tensor.dtype() != DType::kF64) {
      return Error(summary, absl::StrCat("\"", name, "\" is ", DTypeName(tensor.dtype()), ", expected F32 or F64"));
    }
    if (!summary.parameters.empty() && tensor.dtype() != summary.dtype) {
      return Error(summary, absl::StrCat("\"", name, "\" has another type than the parameters before it"));
    }
    summary.dtype = tensor.dtype();
    summary.parameters.emplace_back(std::string(absl::StripPrefix(name, kParameters)), tensor.shape());
  }
  if (summary.parameters.empty()) return Error(summary, "no parameters in it");
  return summary;
}

absl::StatusOr<CheckpointSeries> OrderCheckpoints(std::vector<CheckpointSummary> checkpoints,
                                                  const SettingsOfTask& settings_of) {
  if (checkpoints.empty()) return absl::InvalidArgumentError("no checkpoint given");
  std::stable_sort(checkpoints.begin(), checkpoints.end(), [](const CheckpointSummary& a, const CheckpointSummary& b) {
    return std::make_pair(a.step, IsLast(a)) < std::make_pair(b.step, IsLast(b));
  });
  CheckpointSeries series;
  std::vector<CheckpointSummary>& ordered = series.checkpoints;
  std::string left_out;
  int64_t num_left_out = 0;
  for (CheckpointSummary& checkpoint : checkpoints) {
    if (ordered.empty()) {
      ordered.push_back(std::move(checkpoint));
      continue;
    }
    RETURN_IF_ERROR(CheckSameRun(ordered[0], checkpoint, settings_of));
    const CheckpointSummary& before = ordered.back();
    if (checkpoint.step > before.step) {
      AddRateMessage(before, checkpoint, &series.messages);
      ordered.push_back(std::move(checkpoint));
      continue;
    }
    if (checkpoint.path == before.path || !IsSameState(before, checkpoint)) {
      return Error(checkpoint, absl::StrCat("is of step ", checkpoint.step, ", as is ", before.path,
                                            ": give each checkpoint once"));
    }
    if (++num_left_out > 1) continue;
    left_out = absl::StrCat(checkpoint.path, " is left out: ", before.path, " is of the same step, ", before.step);
  }
  if (num_left_out > 1) absl::StrAppend(&left_out, "; ", num_left_out - 1, " more are left out likewise");
  if (num_left_out > 0) series.messages.push_back(std::move(left_out));
  return series;
}

absl::Status CheckSameParameters(const CheckpointSummary& checkpoint, absl::Span<const ParameterSlice> slices) {
  std::map<std::string, std::vector<int64_t>> there(checkpoint.parameters.begin(), checkpoint.parameters.end());
  for (const ParameterSlice& slice : slices) {
    const auto found = there.find(slice.name);
    if (found != there.end() && found->second == slice.shape) continue;
    return Error(checkpoint, absl::StrCat("of another model: ", slice.name, " is ",
                                          found == there.end() ? "not in it" : Shape(found->second), ", expected ",
                                          Shape(slice.shape)));
  }
  if (there.size() == slices.size()) return absl::OkStatus();
  return Error(checkpoint,
               absl::StrCat("of another model: it has ", there.size(), " parameters, expected ", slices.size()));
}

absl::StatusOr<Tensor> ReadCheckpointParameters(absl::string_view path, absl::Span<const ParameterSlice> slices,
                                                DType dtype) {
  ASSIGN_OR_RETURN(const TensorFile file, ReadWhole(path, /*verify=*/true));
  int64_t size = 0;
  for (const ParameterSlice& slice : slices) size = std::max(size, slice.offset + slice.num_elements());
  Tensor flat = Tensor::Zeros(dtype, {size});
  for (const ParameterSlice& slice : slices) {
    const Tensor* const from = file.tensors.Find(absl::StrCat(kParameters, slice.name));
    if (from == nullptr || from->shape() != slice.shape) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": made for another model: ", slice.name, " is ",
                                                     from == nullptr ? "not in it" : Shape(from->shape()),
                                                     ", expected ", Shape(slice.shape)));
    }
    Tensor part = flat.Slice(slice.offset, {slice.num_elements()});
    if (dtype == DType::kF32) {
      Convert(*from, part.mutable_values<float>());
    } else {
      Convert(*from, part.mutable_values<double>());
    }
  }
  return flat;
}

absl::StatusOr<Tensor> GroupRates(const CheckpointSummary& checkpoint, absl::Span<const ParameterSlice> slices,
                                  DType dtype) {
  Tensor none = Tensor::Zeros(dtype, {0});
  const auto found = checkpoint.config.find("parameter_groups");
  if (found == checkpoint.config.end()) return none;
  if (checkpoint.config.count("alternate_groups") > 0) {
    return Error(checkpoint, "trained with groups of parameters that took turns: there is no one rate of each");
  }
  const auto error = [&](absl::string_view what) {
    return Error(checkpoint, absl::StrCat("its config's parameter_groups: ", what));
  };
  const Json json = Json::parse(found->second, nullptr, /*allow_exceptions=*/false);
  if (!json.is_array()) return error("no list");
  ASSIGN_OR_RETURN(const double run_rate, NumberOf(checkpoint, "learning_rate"));
  std::vector<std::pair<std::string, double>> groups;  // of names, as ParameterGroupOptions has them, and scales
  for (const Json& group : json) {
    if (!group.is_object() || !group.contains("parameters") || !group["parameters"].is_string() ||
        !group.contains("learning_rate") || !group["learning_rate"].is_number()) {
      return error("expected parameters and learning_rate of each");
    }
    const double scale = group["learning_rate"].get<double>() / run_rate;
    if (!(std::isfinite(scale) && scale >= 0)) return error(absl::StrCat("a rate of ", scale, " times the run's"));
    groups.emplace_back(group["parameters"].get<std::string>(), scale);
  }
  int64_t size = 0;
  for (const ParameterSlice& slice : slices) size = std::max(size, slice.offset + slice.num_elements());
  std::vector<double> scales(size, 1.0);
  bool any = false;
  for (const ParameterSlice& slice : slices) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& each) {
      return fnmatch(each.first.c_str(), slice.name.c_str(), 0) == 0;
    });
    if (slice.buffer || group == groups.end()) continue;
    any = any || group->second != 1;
    std::fill_n(scales.begin() + slice.offset, slice.num_elements(), group->second);
  }
  return any ? TensorOfDoubles(dtype, scales) : none;
}

absl::StatusOr<Tensor> AdamPreconditioner(const CheckpointSummary& checkpoint, absl::Span<const ParameterSlice> slices,
                                          DType dtype) {
  const auto optimizer = checkpoint.config.find("optimizer");
  const std::string name = optimizer == checkpoint.config.end() ? "?" : optimizer->second;
  if (name != "adam" && name != "adamw") {
    return Error(checkpoint, absl::StrCat("trained with --optimizer=", name,
                                          ", whose state has no mean of squares as "
                                          "adam's and adamw's"));
  }
  if (checkpoint.config.count("parameter_groups") > 0) {
    return Error(checkpoint,
                 "trained with groups of parameters that have optimizers of their own: there is no one "
                 "adam whose mean of squares could be used");
  }
  ASSIGN_OR_RETURN(const double beta2, NumberOf(checkpoint, "beta2"));
  ASSIGN_OR_RETURN(const double epsilon, NumberOf(checkpoint, "epsilon"));
  ASSIGN_OR_RETURN(const TensorFile file, ReadWhole(checkpoint.path, /*verify=*/true));
  std::vector<ParameterSlice> ordered(slices.begin(), slices.end());
  std::sort(ordered.begin(), ordered.end(),
            [](const ParameterSlice& a, const ParameterSlice& b) { return a.offset < b.offset; });
  int64_t size = 0, learned = 0;
  for (const ParameterSlice& slice : ordered) {
    size = std::max(size, slice.offset + slice.num_elements());
    if (!slice.buffer) learned += slice.num_elements();
  }
  NamedTensors state;
  // AMSGrad divides by the largest mean of squares so far.
  const bool amsgrad = file.tensors.Find("optimizer.max_exp_avg_sq") != nullptr;
  const char* const squares = amsgrad ? "max_exp_avg_sq" : "exp_avg_sq";
  for (const char* key : {squares, "step"}) {
    const Tensor* const found = file.tensors.Find(absl::StrCat("optimizer.", key));
    if (found != nullptr) state.Set(key, *found);
  }
  for (const absl::Status& status : {CheckStateTensor(state, squares, Tensor::Zeros(checkpoint.dtype, {learned})),
                                     CheckStateTensor(state, "step", Tensor::Scalar<int64_t>(0))}) {
    if (!status.ok()) return Error(checkpoint, absl::StrCat("its optimizer's state: ", status.message()));
  }
  const int64_t steps = state.At("step").values<int64_t>()[0];
  if (steps < 1) return Error(checkpoint, "adam has no mean of squares before the first step");
  const std::vector<double> v = state.At(squares).ToDoubles();
  if (std::any_of(v.begin(), v.end(), [](double value) { return !(value >= 0); })) {
    return Error(checkpoint, absl::StrCat("\"optimizer.", squares, "\" has a number that is negative or NaN"));
  }
  const double correction = 1 - std::pow(beta2, static_cast<double>(steps));
  Tensor result = Tensor::Zeros(dtype, {size});
  if (dtype == DType::kF32) {
    Precondition(absl::MakeConstSpan(v), correction, epsilon, ordered, result.mutable_values<float>());
  } else {
    Precondition(absl::MakeConstSpan(v), correction, epsilon, ordered, result.mutable_values<double>());
  }
  return result;
}

absl::StatusOr<std::vector<double>> RunDamping(const CheckpointSummary& checkpoint,
                                               absl::Span<const ParameterSlice> slices) {
  if (!(checkpoint.rate_sum > 0)) {
    return Error(checkpoint,
                 checkpoint.rate_sum == 0
                     ? "is from before the first step, so that there is no damping of its run"
                     : "its run began with a version that did not add up the learning rates, from which the damping "
                       "follows");
  }
  const auto optimizer = checkpoint.config.find("optimizer");
  const std::string name = optimizer == checkpoint.config.end() ? "?" : optimizer->second;
  if (name != "adam" && name != "adamw" && name != "sgd") {
    return Error(checkpoint, absl::StrCat("trained with --optimizer=", name,
                                          ": the damping of a run is known for adam, adamw and sgd alone"));
  }
  if (const auto lazy = checkpoint.config.find("lazy_rows");
      lazy != checkpoint.config.end() && lazy->second == "true") {
    return Error(checkpoint, "trained with --lazy_rows: the damping of a run is known where each step moves all rows");
  }
  if (checkpoint.config.count("parameter_groups") > 0) {
    return Error(checkpoint, "trained with groups of parameters: the damping of a run is known without them alone");
  }
  int64_t size = 0;
  for (const ParameterSlice& slice : slices) size = std::max(size, slice.offset + slice.num_elements());
  std::vector<double> metric(size, 1.0);
  if (name == "sgd") {
    ASSIGN_OR_RETURN(const double momentum, NumberOf(checkpoint, "momentum"));
    ASSIGN_OR_RETURN(const double dampening, NumberOf(checkpoint, "dampening"));
    std::fill(metric.begin(), metric.end(), (1 - momentum) / (1 - dampening));
  } else {
    ASSIGN_OR_RETURN(const Tensor preconditioner, AdamPreconditioner(checkpoint, slices, DType::kF64));
    const absl::Span<const double> values = preconditioner.values<double>();
    for (int64_t p = 0; p < size; ++p) metric[p] = 1 / values[p];
  }
  ASSIGN_OR_RETURN(const double decay, NumberOf(checkpoint, "weight_decay"));
  const auto biases = checkpoint.config.find("weight_decay_biases");
  if (decay != 0 && biases != checkpoint.config.end() && biases->second == "false") {
    return Error(checkpoint, "trained with --weight_decay of weights alone: its damping is known with one for all");
  }
  std::vector<double> damping(size, 0.0);
  for (const ParameterSlice& slice : slices) {
    if (slice.buffer) continue;
    for (int64_t p = slice.offset; p < slice.offset + slice.num_elements(); ++p) {
      damping[p] = metric[p] / checkpoint.rate_sum + (name == "adamw" ? decay * metric[p] : decay);
    }
  }
  return damping;
}

}  // namespace rutile
