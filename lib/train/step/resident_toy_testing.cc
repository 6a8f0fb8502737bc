#include "lib/train/step/resident_toy_testing.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "lib/base/logging.h"
#include "lib/base/status_macros.h"

namespace rutile {

ResidentToy::ResidentToy(const ToyTaskOptions& options, bool resident)
    : ToyTask(options), num_features_(options.num_features) {
  CHECK(options.dtype == DType::kF64);
  if (resident) device_.emplace(num_features_ + 2);
}

std::vector<ParameterSlice> ResidentToy::parameter_slices() const {
  std::vector<ParameterSlice> slices = ToyTask::parameter_slices();
  ParameterSlice buffer;
  buffer.name = "running_loss", buffer.offset = num_features_ + 1, buffer.shape = {1}, buffer.buffer = true;
  slices.push_back(buffer);
  return slices;
}

Tensor ResidentToy::InitialParameters(uint64_t seed) const {
  std::vector<double> parameters = ToyTask::InitialParameters(seed).ToDoubles();
  parameters.push_back(1);
  return Tensor::Of(parameters);
}

Loss ResidentToy::CombineTerms(const TermSums& sums) const {
  Loss loss;
  loss.value = sums.count[0] > 0 ? sums.sum[0] / sums.count[0] : 0;
  loss.weight = {sums.count[0] > 0 ? 1 / sums.count[0] : 0};
  return loss;
}

std::vector<double> ResidentToy::ExampleCounts(const NamedTensors& batch) const {
  return std::vector<double>(batch.At("y").num_elements(), 1.0);
}

std::vector<double> ResidentToy::Gradient(const Tensor& parameters, const NamedTensors& batch, TermSums* sums) {
  std::vector<Tensor> terms(2);
  for (Tensor& term : terms) term = Tensor::Zeros(DType::kF64, {num_features_ + 1});
  TermSums of_terms(2);
  const absl::Status status =
      ToyTask::AccumulateGradients(parameters.Slice(0, {num_features_ + 1}), batch, absl::MakeSpan(terms), &of_terms);
  CHECK(status.ok()) << status;
  sums->sum[0] += of_terms.sum[0];
  sums->count[0] += of_terms.count[0];
  mean_loss_ += of_terms.sum[0] / of_terms.count[0];
  ++batches_;
  std::vector<double> gradient = terms[0].ToDoubles();
  if (std::exchange(infinite_gradient, false)) gradient[0] = std::numeric_limits<double>::infinity();
  gradient.push_back(0);  // of the buffer
  return gradient;
}

absl::Status ResidentToy::AccumulateGradients(const Tensor& parameters, const NamedTensors& batch,
                                              absl::Span<Tensor> gradients, TermSums* sums) {
  ++on_host;
  const std::vector<double> gradient = Gradient(parameters, batch, sums);
  for (size_t i = 0; i < gradient.size(); ++i) gradients[0].mutable_values<double>()[i] += gradient[i];
  return absl::OkStatus();
}

absl::Status ResidentToy::StreamGradients(const Tensor& parameters, const NamedTensors& batch,
                                          const GradientDelivery& delivery, Tensor* gradient, TermSums* sums) {
  if (delivery.overwrites()) std::fill_n(gradient->mutable_values<double>().begin(), gradient->num_elements(), 0.0);
  return AccumulateGradients(parameters, batch, absl::MakeSpan(gradient, 1), sums);
}

absl::Status ResidentToy::AddOnDevice(const NamedTensors& batch, bool overwrite) {
  if (on_device == fails_after) return absl::InternalError("the GPU fell off the bus");
  ++on_device;
  std::vector<double> parameters(device_->parameters.size());
  device_->backend.Download(parameters.data(), device_->parameters.parameters(), parameters.size() * sizeof(double));
  const std::vector<double> gradient = Gradient(Tensor::Of(parameters), batch, &of_device_);
  double* const to = device_->parameters.gradient();
  for (size_t i = 0; i < gradient.size(); ++i) to[i] = overwrite ? gradient[i] : to[i] + gradient[i];
  return absl::OkStatus();
}

absl::Status ResidentToy::FetchSums(TermSums* sums) {
  sums->Add(std::exchange(of_device_, TermSums(1)));
  return absl::OkStatus();
}

void ResidentToy::FinishStep(Tensor* parameters) {
  if (batches_ == 0) return;
  double& running = parameters->mutable_values<double>()[num_features_ + 1];
  running += 0.25 * (mean_loss_ / static_cast<double>(batches_) - running);
  mean_loss_ = 0, batches_ = 0;
}

absl::Status ResidentToy::Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                                   absl::Span<double> metric_sums) {
  TermSums of_terms(2);
  RETURN_IF_ERROR(ToyTask::Evaluate(parameters.Slice(0, {num_features_ + 1}), batch, &of_terms, metric_sums));
  sums->sum[0] += of_terms.sum[0];
  sums->count[0] += of_terms.count[0];
  return absl::OkStatus();
}

}  // namespace rutile
