#include "lib/train/files/checkpoint.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/random.h"
#include "lib/base/status_macros.h"
#include "lib/tensorfile/state_tensor.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

constexpr char kFramePrefix[] = "frame.";

int64_t NumParameters(absl::Span<const ParameterSlice> slices) {
  int64_t end = 0;
  for (const ParameterSlice& slice : slices) end = std::max(end, slice.offset + slice.num_elements());
  return end;
}

void AddSlices(absl::string_view prefix, const Tensor& flat, absl::Span<const ParameterSlice> slices,
               NamedTensors* tensors) {
  for (const ParameterSlice& slice : slices) {
    tensors->Set(absl::StrCat(prefix, slice.name), flat.Slice(slice.offset, slice.shape));
  }
}

absl::StatusOr<Tensor> JoinSlices(absl::string_view prefix, const NamedTensors& tensors,
                                  absl::Span<const ParameterSlice> slices, DType dtype) {
  Tensor flat = Tensor::Zeros(dtype, {NumParameters(slices)});
  for (const ParameterSlice& slice : slices) {
    const std::string name = absl::StrCat(prefix, slice.name);
    Tensor part = flat.Slice(slice.offset, slice.shape);
    RETURN_IF_ERROR(CheckStateTensor(tensors, name, part));
    CopyStateTensor(tensors, name, &part);
  }
  return flat;
}

void AddPart(absl::string_view prefix, const NamedTensors& part, NamedTensors* tensors) {
  for (const auto& [name, tensor] : part) tensors->Set(absl::StrCat(prefix, name), tensor);
}

NamedTensors PartOf(absl::string_view prefix, const NamedTensors& tensors) {
  NamedTensors part;
  for (const auto& [name, tensor] : tensors) {
    if (absl::StartsWith(name, prefix)) part.Set(absl::string_view(name).substr(prefix.size()), tensor);
  }
  return part;
}

ModelFrame FrameOf(const TensorFile& file) {
  const auto text = file.metadata.find("frame");
  if (text == file.metadata.end()) return {};
  return {text->second, PartOf(kFramePrefix, file.tensors)};
}

template <typename T>
absl::Status ReadScalar(const NamedTensors& tensors, absl::string_view name, T* value) {
  RETURN_IF_ERROR(CheckStateTensor(tensors, name, Tensor::Scalar<T>(0)));
  *value = tensors.At(name).values<T>()[0];
  return absl::OkStatus();
}

absl::Status ReadVector(const NamedTensors& tensors, absl::string_view name, int64_t size,
                        std::vector<double>* values) {
  RETURN_IF_ERROR(CheckStateTensor(tensors, name, Tensor::Zeros(DType::kF64, {size})));
  *values = tensors.At(name).ToDoubles();
  return absl::OkStatus();
}

absl::StatusOr<Checkpoint> FromFile(const TensorFile& file, absl::Span<const ParameterSlice> slices, DType dtype) {
  const NamedTensors& tensors = file.tensors;
  const int64_t num_terms = tensors.At("term_sum").num_elements();
  Checkpoint checkpoint;
  RETURN_IF_ERROR(ReadScalar(tensors, "seed", &checkpoint.seed));
  RETURN_IF_ERROR(ReadScalar(tensors, "epoch", &checkpoint.epoch));
  RETURN_IF_ERROR(ReadScalar(tensors, "batch", &checkpoint.batch));
  RETURN_IF_ERROR(ReadScalar(tensors, "step", &checkpoint.step));
  RETURN_IF_ERROR(ReadScalar(tensors, "learning_rate", &checkpoint.learning_rate));
  RETURN_IF_ERROR(ReadScalar(tensors, "best_loss", &checkpoint.best_loss));
  RETURN_IF_ERROR(ReadScalar(tensors, "best_epoch", &checkpoint.best_epoch));
  RETURN_IF_ERROR(ReadScalar(tensors, "data", &checkpoint.data));
  RETURN_IF_ERROR(ReadVector(tensors, "term_sum", num_terms, &checkpoint.epoch_sums.sum));
  RETURN_IF_ERROR(ReadVector(tensors, "term_count", num_terms, &checkpoint.epoch_sums.count));
  RETURN_IF_ERROR(ReadVector(tensors, "loss_weight", num_terms, &checkpoint.loss_weight));
  ASSIGN_OR_RETURN(checkpoint.parameters, JoinSlices("parameters.", tensors, slices, dtype));
  ASSIGN_OR_RETURN(checkpoint.best_parameters, JoinSlices("best.", tensors, slices, dtype));
  if (checkpoint.epoch < 0 || checkpoint.batch < 0 || checkpoint.step < 0) {
    return absl::InvalidArgumentError("a negative number of epochs, batches or steps");
  }
  checkpoint.optimizer = PartOf("optimizer.", tensors);
  checkpoint.schedule = PartOf("schedule.", tensors);
  checkpoint.stopping = PartOf("stopping.", tensors);
  checkpoint.task = PartOf("task.", tensors);
  checkpoint.ema = PartOf("ema_state.", tensors);
  checkpoint.average_best = PartOf("average_best.", tensors);
  checkpoint.top = PartOf("top_checkpoints.", tensors);
  if (!PartOf("ema.", tensors).empty()) {
    ASSIGN_OR_RETURN(checkpoint.ema_parameters, JoinSlices("ema.", tensors, slices, dtype));
  }
  // Runs of 0.1.0 did not write these: they monitored and logged the end of each epoch.
  checkpoint.observed_step = checkpoint.batch == 0 ? checkpoint.step : -1;
  checkpoint.log_rows = checkpoint.epoch;
  if (tensors.Has("observed_step")) RETURN_IF_ERROR(ReadScalar(tensors, "observed_step", &checkpoint.observed_step));
  // Older runs had one number for both.
  checkpoint.validated_step = checkpoint.observed_step;
  if (tensors.Has("validated_step")) {
    RETURN_IF_ERROR(ReadScalar(tensors, "validated_step", &checkpoint.validated_step));
  }
  if (tensors.Has("observed_loss")) RETURN_IF_ERROR(ReadScalar(tensors, "observed_loss", &checkpoint.observed_loss));
  checkpoint.rate_sum =
      checkpoint.step == 0 ? 0 : std::numeric_limits<double>::quiet_NaN();  // older runs did not add them up
  if (tensors.Has("rate_sum")) RETURN_IF_ERROR(ReadScalar(tensors, "rate_sum", &checkpoint.rate_sum));
  if (tensors.Has("best_step")) RETURN_IF_ERROR(ReadScalar(tensors, "best_step", &checkpoint.best_step));
  if (tensors.Has("kept_step")) RETURN_IF_ERROR(ReadScalar(tensors, "kept_step", &checkpoint.kept_step));
  if (tensors.Has("log_rows")) RETURN_IF_ERROR(ReadScalar(tensors, "log_rows", &checkpoint.log_rows));
  if (tensors.Has("loss_count")) RETURN_IF_ERROR(ReadVector(tensors, "loss_count", num_terms, &checkpoint.loss_count));
  if (tensors.Has("sampling_weight")) checkpoint.sampling_weight = tensors.At("sampling_weight").ToDoubles();
  checkpoint.config = file.metadata.at("config");
  const auto data = file.metadata.find("data_sha256");
  if (data != file.metadata.end()) checkpoint.data_sha256 = data->second;
  checkpoint.frame = FrameOf(file);
  const auto changes = file.metadata.find("changes");
  if (changes != file.metadata.end()) checkpoint.changes = changes->second;
  return checkpoint;
}

// Treats every file that is no tensor file as damaged: users name other files as checkpoints only by mistake, which the
// message shows as well.
absl::StatusOr<TensorFile> ReadWhole(absl::string_view path) {
  absl::StatusOr<TensorFile> file = ReadTensorFile(path);
  if (absl::IsInvalidArgument(file.status())) return absl::DataLossError(file.status().message());
  return file;
}

void CopyTensor(const Tensor& from, Tensor* to) {
  if (!to->Reuse(from.dtype(), from.shape())) *to = Tensor::Zeros(from.dtype(), from.shape());
  if (from.num_bytes() > 0) std::memcpy(to->mutable_data(), from.data(), from.num_bytes());
}

void CopyTensors(const NamedTensors& from, NamedTensors* to) {
  std::vector<NamedTensors::Item> items;
  for (const auto& [name, tensor] : from) {
    const Tensor* const old = to->Find(name);
    items.emplace_back(name, old != nullptr ? *old : Tensor());
    CopyTensor(tensor, &items.back().second);
  }
  *to = NamedTensors(std::move(items));
}

}  // namespace

void CopyCheckpoint(const Checkpoint& from, Checkpoint* to) {
  Checkpoint copy = from;  // shares the tensors
  for (Tensor Checkpoint::*tensor :
       {&Checkpoint::parameters, &Checkpoint::best_parameters, &Checkpoint::ema_parameters}) {
    copy.*tensor = to->*tensor;
    CopyTensor(from.*tensor, &(copy.*tensor));
  }
  for (NamedTensors Checkpoint::*part :
       {&Checkpoint::optimizer, &Checkpoint::schedule, &Checkpoint::stopping, &Checkpoint::task, &Checkpoint::ema,
        &Checkpoint::average_best, &Checkpoint::top}) {
    copy.*part = to->*part;
    CopyTensors(from.*part, &(copy.*part));
  }
  *to = std::move(copy);
}

const Schema& CheckpointSchema() {
  static const auto* schema = new Schema{
      "checkpoint/1",
      "The state of a training run. T = terms of the loss, E = training examples. The optimizer's, the schedule's and "
      "the stopping rule's own "
      "tensors follow under optimizer.*, schedule.* and stopping.*, what the task remembers under task.*, what "
      "averages "
      "and the list of best checkpoints do under ema_state.*, average_best.* and top_checkpoints.*. The scales that "
      "the "
      "training set fixed are under frame.*, as in a model file.",
      {
          {"parameters.NAME", {DType::kF32, DType::kF64}, {}, false, "each parameter of the model, in its shape"},
          {"best.NAME", {DType::kF32, DType::kF64}, {}, false, "the parameters of the lowest loss so far"},
          {"ema.NAME", {DType::kF32, DType::kF64}, {}, false, "their exponential moving average, once it has begun"},
          {"epoch", {DType::kI64}, {}, true, "epochs completed"},
          {"batch", {DType::kI64}, {}, true, "batches done of the next epoch"},
          {"step", {DType::kI64}, {}, true, "optimizer steps done"},
          {"seed", {DType::kU64}, {}, true, "of every random number in training"},
          {"learning_rate", {DType::kF64}, {}, true, "of the last step"},
          {"best_loss", {DType::kF64}, {}, true, "validation loss (training loss without a validation set)"},
          {"best_epoch", {DType::kI64}, {}, true, "from 1; 0 before the first validation"},
          {"term_sum", {DType::kF64}, {"T"}, true, "sums of the loss terms over the batches done"},
          {"term_count", {DType::kF64}, {"T"}, true, "values in these sums"},
          {"loss_weight", {DType::kF64}, {"T"}, true, "d loss / d term sum, over the last epoch"},
          {"data", {DType::kU64}, {}, true, "fingerprint of the split"},
          {"loss_count",
           {DType::kF64},
           {"T"},
           false,
           "values of each term over the last epoch, of which loss_weight is"},
          {"rate_sum", {DType::kF64}, {}, false, "sum of the learning rates of all steps; NaN: unknown"},
          {"best_step", {DType::kI64}, {}, false, "steps done then"},
          {"validated_step", {DType::kI64}, {}, false, "step after which the validation set was last looked at"},
          {"observed_step", {DType::kI64}, {}, false, "step after which the monitored value was last looked at"},
          {"observed_loss", {DType::kF64}, {}, false, "that value; NaN before the first look"},
          {"kept_step", {DType::kI64}, {}, false, "step whose numbered checkpoint was written last; -1: none"},
          {"log_rows", {DType::kI64}, {}, false, "rows of log.tsv that belong to this state"},
          {"sampling_weight",
           {DType::kF64},
           {"E"},
           false,
           "of each training example; inside an epoch that draws by it"},
      },
      {{"config", true, "JSON: the options that decide the course of the run"},
       {"data_sha256", false, "SHA-256 of the SHA-256 of the inputs, in their order; without it nobody knows"},
       {"frame", false, "JSON: what a model file says of the model beside its tensors"},
       {"changes", false, "a line for each time that the run went on with other settings or data"}}};
  return *schema;
}

absl::Status SaveCheckpoint(absl::string_view path, const Checkpoint& checkpoint,
                            absl::Span<const ParameterSlice> slices, const Metadata& provenance) {
  const auto vector = [](const std::vector<double>& values) { return Tensor::Of(values); };
  NamedTensors tensors;
  AddSlices("parameters.", checkpoint.parameters, slices, &tensors);
  AddSlices("best.", checkpoint.best_parameters, slices, &tensors);
  AddPart("optimizer.", checkpoint.optimizer, &tensors);
  AddPart("schedule.", checkpoint.schedule, &tensors);
  AddPart("stopping.", checkpoint.stopping, &tensors);
  AddPart("task.", checkpoint.task, &tensors);
  AddPart("ema_state.", checkpoint.ema, &tensors);
  AddPart("average_best.", checkpoint.average_best, &tensors);
  AddPart("top_checkpoints.", checkpoint.top, &tensors);
  if (checkpoint.ema_parameters.num_elements() > 0) AddSlices("ema.", checkpoint.ema_parameters, slices, &tensors);
  if (!checkpoint.sampling_weight.empty()) tensors.Set("sampling_weight", vector(checkpoint.sampling_weight));
  tensors.Set("epoch", Tensor::Scalar<int64_t>(checkpoint.epoch));
  tensors.Set("batch", Tensor::Scalar<int64_t>(checkpoint.batch));
  tensors.Set("step", Tensor::Scalar<int64_t>(checkpoint.step));
  tensors.Set("seed", Tensor::Scalar<uint64_t>(checkpoint.seed));
  tensors.Set("learning_rate", Tensor::Scalar<double>(checkpoint.learning_rate));
  tensors.Set("rate_sum", Tensor::Scalar<double>(checkpoint.rate_sum));
  tensors.Set("best_loss", Tensor::Scalar<double>(checkpoint.best_loss));
  tensors.Set("best_epoch", Tensor::Scalar<int64_t>(checkpoint.best_epoch));
  tensors.Set("term_sum", vector(checkpoint.epoch_sums.sum));
  tensors.Set("term_count", vector(checkpoint.epoch_sums.count));
  tensors.Set("loss_weight", vector(checkpoint.loss_weight));
  if (!checkpoint.loss_count.empty()) tensors.Set("loss_count", vector(checkpoint.loss_count));
  tensors.Set("data", Tensor::Scalar<uint64_t>(checkpoint.data));
  tensors.Set("best_step", Tensor::Scalar<int64_t>(checkpoint.best_step));
  tensors.Set("validated_step", Tensor::Scalar<int64_t>(checkpoint.validated_step));
  tensors.Set("observed_step", Tensor::Scalar<int64_t>(checkpoint.observed_step));
  tensors.Set("observed_loss", Tensor::Scalar<double>(checkpoint.observed_loss));
  tensors.Set("kept_step", Tensor::Scalar<int64_t>(checkpoint.kept_step));
  tensors.Set("log_rows", Tensor::Scalar<int64_t>(checkpoint.log_rows));
  Metadata metadata = provenance;
  metadata["kind"] = CheckpointSchema().kind;
  metadata["config"] = checkpoint.config;
  if (!checkpoint.data_sha256.empty()) metadata["data_sha256"] = checkpoint.data_sha256;
  AddPart(kFramePrefix, checkpoint.frame.tensors, &tensors);
  if (!checkpoint.frame.empty()) metadata["frame"] = checkpoint.frame.text;
  if (!checkpoint.changes.empty()) metadata["changes"] = checkpoint.changes;
  return WriteTensorFile(path, metadata, tensors);
}

absl::StatusOr<Checkpoint> LoadCheckpoint(absl::string_view path, absl::Span<const ParameterSlice> slices,
                                          DType dtype) {
  const ProfileScope scope(Stage::kCheckpoint);
  ASSIGN_OR_RETURN(const TensorFile file, ReadWhole(path));
  RETURN_IF_ERROR(CheckSchema(CheckpointSchema(), file).status());
  absl::StatusOr<Checkpoint> checkpoint = FromFile(file, slices, dtype);
  if (checkpoint.ok()) return checkpoint;
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": ", checkpoint.status().message(),
      "; it was made for another model: resume with the options that it had, or start a new run, with init_from where "
      "the layers are the same"));
}

bool WentOnWithOtherData(absl::string_view changes) {
  for (const absl::string_view line : absl::StrSplit(changes, '\n', absl::SkipEmpty())) {
    const size_t text = line.find(": ");  // after "step 12"
    if (text == absl::string_view::npos) continue;
    for (const absl::string_view change : absl::StrSplit(line.substr(text + 2), "; ")) {
      if (change == kOtherData) return true;
    }
  }
  return false;
}

absl::StatusOr<std::string> ReadCheckpointChanges(absl::string_view path) {
  ASSIGN_OR_RETURN(const TensorFile file, ReadWhole(path));
  RETURN_IF_ERROR(CheckSchema(CheckpointSchema(), file).status());
  const auto changes = file.metadata.find("changes");
  return changes == file.metadata.end() ? "" : changes->second;
}

absl::StatusOr<ModelFrame> ReadCheckpointFrame(absl::string_view path) {
  ASSIGN_OR_RETURN(const TensorFile file, ReadWhole(path));
  RETURN_IF_ERROR(CheckSchema(CheckpointSchema(), file).status());
  return FrameOf(file);
}

absl::StatusOr<CheckpointPlace> ReadCheckpointPlace(absl::string_view path) {
  ASSIGN_OR_RETURN(const TensorFile file, ReadWhole(path));
  RETURN_IF_ERROR(CheckSchema(CheckpointSchema(), file).status());
  CheckpointPlace place;
  RETURN_IF_ERROR(ReadScalar(file.tensors, "epoch", &place.epoch));
  RETURN_IF_ERROR(ReadScalar(file.tensors, "batch", &place.batch));
  RETURN_IF_ERROR(ReadScalar(file.tensors, "step", &place.step));
  return place;
}

uint64_t Fingerprint(int64_t num_examples, absl::Span<const int64_t> train, absl::Span<const int64_t> validation) {
  uint64_t value = RandomStream(num_examples, "fingerprint", train.size(), validation.size()).Next();
  for (const absl::Span<const int64_t> part : {train, validation}) {
    for (const int64_t example : part) {
      value = (value ^ static_cast<uint64_t>(example)) * 0x9e3779b97f4a7c15 + (value >> 29);
    }
  }
  return value;
}

}  // namespace rutile
