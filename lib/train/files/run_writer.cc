#include "lib/train/files/run_writer.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// True for errors that may be gone at the next save. Others are mistakes, or permanent.
bool IsTemporary(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsUnavailable(status);
}

}  // namespace

RunWriter::RunWriter(const Task& task, RunDirectory directory, Metadata provenance, RunWriterOptions options)
    : task_(task),
      directory_(std::move(directory)),
      provenance_(std::move(provenance)),
      options_(std::move(options)),
      slices_(task.parameter_slices()) {}

RunWriter::~RunWriter() {
  if (result_.valid()) result_.wait();
}

void RunWriter::SetRunEnded() {
  CHECK(!result_.valid()) << "a copy is still being written";
  run_ended_ = true;
  best_is_written_ = false;
}

Metadata RunWriter::ModelMetadata() const {
  Metadata metadata = provenance_;
  metadata["run_ended"] = run_ended_ ? "true" : "false";
  return metadata;
}

absl::Status RunWriter::WriteBestModel(const Checkpoint& state) const {
  const ProfileScope scope(Stage::kCheckpoint);
  Metadata extra = ModelMetadata();
  extra["epoch"] = absl::StrCat(state.best_epoch);
  if (state.best_step > 0) extra["step"] = absl::StrCat(state.best_step);
  extra["loss"] = absl::StrCat(state.best_loss);
  return task_.WriteModel(directory_.best(), state.best_parameters, extra);
}

absl::Status RunWriter::WriteLastModel(const Checkpoint& state, const Tensor& parameters, double loss) const {
  const ProfileScope scope(Stage::kCheckpoint);
  Metadata extra = ModelMetadata();
  extra["epoch"] = absl::StrCat(state.epoch);
  extra["step"] = absl::StrCat(state.step);
  if (!std::isnan(loss)) extra["loss"] = absl::StrCat(loss);
  return task_.WriteModel(directory_.last(), parameters, extra);
}

absl::Status RunWriter::WriteCheckpoint(const Checkpoint& state, const std::vector<std::string>& former) const {
  const ProfileScope scope(Stage::kCheckpoint);
  if (options_.before_checkpoint) RETURN_IF_ERROR(options_.before_checkpoint());
  RETURN_IF_ERROR(MakeDirectories(directory_.path() + "/recovery"));
  // If the process dies between checkpoint and removal, the next one removes these.
  if (!former.empty()) {
    RETURN_IF_ERROR(WriteFileAtomically(directory_.to_remove(), absl::StrJoin(former, "\n") + "\n"));
  }
  RETURN_IF_ERROR(SaveCheckpoint(directory_.next(), state, slices_, provenance_));
  RETURN_IF_ERROR(directory_.Promote());
  for (const std::string& name : former) RETURN_IF_ERROR(directory_.RemoveCheckpoint(name));
  return former.empty() ? absl::OkStatus() : directory_.RemoveToRemove();
}

absl::Status RunWriter::Write(const Job& job) const {
  if (job.best) RETURN_IF_ERROR(WriteBestModel(job.state));
  RETURN_IF_ERROR(WriteLastModel(job.state, job.parameters, job.loss));
  return WriteCheckpoint(job.state, job.former);
}

absl::Status RunWriter::Finished(const Job& job, const absl::Status& status) {
  if (status.ok()) {
    saved_epoch_ = job.state.epoch;
    saved_step_ = job.state.step;
    return status;
  }
  if (job.best) best_is_written_ = false;
  former_.insert(former_.begin(), job.former.begin(), job.former.end());
  return status;
}

absl::Status RunWriter::Wait() {
  if (!result_.valid()) return absl::OkStatus();
  const ProfileScope scope(Stage::kCheckpoint);
  return Tolerate(Finished(job_, result_.get()));
}

bool RunWriter::busy() const {
  return result_.valid() && result_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

absl::Status RunWriter::Tolerate(const absl::Status& status) {
  if (!IsTemporary(status)) return status;
  if (++failures_ > 1 || !options_.on_message) return absl::OkStatus();
  options_.on_message(absl::StrCat("warning: ", status.message(), "; training goes on, ", Standing(),
                                   ", and the next save tries again"));
  return absl::OkStatus();
}

std::string RunWriter::Standing() const {
  if (saved_step_ < 0) {
    return FileExists(directory_.checkpoint()) ? "the last checkpoint is whole" : "there is no checkpoint yet";
  }
  return absl::StrCat("the checkpoint of epoch ", saved_epoch_ + 1, ", step ", saved_step_, " is whole");
}

void RunWriter::ReportFailures() const {
  if (failures_ == 0 || !options_.on_message) return;
  options_.on_message(absl::StrCat("warning: ", failures_, failures_ == 1 ? " time" : " times",
                                   " a file could not be written while training; now all are whole"));
}

absl::Status RunWriter::NotWritten(const absl::Status& status, absl::string_view what) const {
  if (!IsTemporary(status)) return status;
  return absl::Status(status.code(), absl::StrCat(what, ", but ", status.message(), "; ", Standing(),
                                                  ": make room and resume the run"));
}

absl::Status RunWriter::WriteBest(const Checkpoint& state) {
  RETURN_IF_ERROR(Wait());
  if (best_is_written_ || state.best_epoch == 0) return absl::OkStatus();
  RETURN_IF_ERROR(WriteBestModel(state));
  best_is_written_ = true;
  return absl::OkStatus();
}

absl::Status RunWriter::WriteModels(const Checkpoint& state, const Tensor& parameters, double loss) {
  RETURN_IF_ERROR(WriteBest(state));
  return WriteLastModel(state, parameters, loss);
}

absl::Status RunWriter::WriteAverage(const Checkpoint& state, const Tensor& parameters, double loss) {
  RETURN_IF_ERROR(Wait());
  const ProfileScope scope(Stage::kCheckpoint);
  Metadata extra = ModelMetadata();
  extra["epoch"] = absl::StrCat(state.epoch);
  extra["step"] = absl::StrCat(state.step);
  if (!std::isnan(loss)) extra["loss"] = absl::StrCat(loss);
  return task_.WriteModel(directory_.average(), parameters, extra);
}

absl::Status RunWriter::WriteLastCheckpoint(const Checkpoint& state) {
  RETURN_IF_ERROR(Wait());
  RETURN_IF_ERROR(WriteCheckpoint(state, former_));
  former_.clear();
  saved_epoch_ = state.epoch;
  saved_step_ = state.step;
  return absl::OkStatus();
}

absl::Status RunWriter::ReplaceLastCheckpoint(const Checkpoint& state) {
  const ProfileScope scope(Stage::kCheckpoint);
  RETURN_IF_ERROR(MakeDirectories(directory_.path() + "/recovery"));
  RETURN_IF_ERROR(SaveCheckpoint(directory_.next(), state, slices_, provenance_));
  RETURN_IF_ERROR(directory_.Replace());
  return directory_.SetLaterAside(state.step);
}

absl::Status RunWriter::SaveNow(const Checkpoint& state, const Tensor& parameters, double loss) {
  RETURN_IF_ERROR(WriteModels(state, parameters, loss));
  return WriteLastCheckpoint(state);
}

absl::Status RunWriter::Save(const Checkpoint& state, const Tensor& parameters, double loss) {
  RETURN_IF_ERROR(Wait());
  job_.best = !best_is_written_;
  job_.loss = loss;
  job_.former = std::exchange(former_, {});
  best_is_written_ = true;
  if (!options_.beside_training) {
    job_.state = state;
    job_.parameters = parameters;
    return Tolerate(Finished(job_, Write(job_)));
  }
  const ProfileScope scope(Stage::kCheckpoint);
  CopyCheckpoint(state, &job_.state);
  // `parameters` usually are among the tensors just copied.
  if (parameters.data() == state.parameters.data()) {
    job_.parameters = job_.state.parameters;
  } else if (parameters.data() == state.ema_parameters.data()) {
    job_.parameters = job_.state.ema_parameters;
  } else {
    job_.parameters = Tensor::Zeros(parameters.dtype(), parameters.shape());
    std::memcpy(job_.parameters.mutable_data(), parameters.data(), parameters.num_bytes());
  }
  result_ = std::async(std::launch::async, [this] {
    SetProfileThreadName("writer");
    return Write(job_);
  });
  return absl::OkStatus();
}

absl::Status RunWriter::Keep(const Checkpoint& state, absl::string_view path) {
  RETURN_IF_ERROR(Wait());
  const ProfileScope scope(Stage::kCheckpoint);
  return Tolerate(SaveCheckpoint(path, state, slices_, provenance_));
}

}  // namespace rutile
