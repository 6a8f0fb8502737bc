#include "lib/testing/toy_task.h"

#include <ATen/ATen.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"
#include "lib/tensorfile/tensor_writer.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

bool HasSlope(int64_t example) { return example % 3 == 0; }

// A tensor of that shape in the batch, the old one where it fits.
Tensor* Reuse(NamedTensors* batch, const char* name, DType dtype, std::vector<int64_t> shape) {
  Tensor* tensor = batch->FindMutable(name);
  if (tensor == nullptr || tensor->shape() != shape) {
    batch->Set(name, Tensor::Zeros(dtype, std::move(shape)));
    tensor = batch->FindMutable(name);
  }
  return tensor;
}

}  // namespace

ToyTask::ToyTask(const ToyTaskOptions& options) : options_(options) {
  const int64_t n = options.num_examples, f = options.num_features;
  RandomStream stream(7, "toy");
  for (int64_t j = 0; j <= f; ++j) true_parameters_.push_back(stream.Uniform(-1, 1));
  for (int64_t i = 0; i < n; ++i) {
    double y = true_parameters_[f], s = 0;
    for (int64_t j = 0; j < f; ++j) {
      x_.push_back(stream.Normal());
      d_.push_back(stream.Normal());
      y += true_parameters_[j] * x_.back();
      s += true_parameters_[j] * d_.back();
    }
    y_.push_back(i == options.nan_example ? std::numeric_limits<double>::quiet_NaN()
                                          : y + options.noise * stream.Normal());
    s_.push_back(s + options.noise * stream.Normal());
  }
}

absl::Status ToyTask::MakeBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const {
  const auto b = static_cast<int64_t>(examples.size());
  const int64_t f = options_.num_features;
  double* x = Reuse(batch, "x", DType::kF64, {b, f})->mutable_values<double>().data();
  double* d = Reuse(batch, "d", DType::kF64, {b, f})->mutable_values<double>().data();
  double* y = Reuse(batch, "y", DType::kF64, {b})->mutable_values<double>().data();
  double* s = Reuse(batch, "s", DType::kF64, {b})->mutable_values<double>().data();
  double* mask = Reuse(batch, "has_slope", DType::kF64, {b})->mutable_values<double>().data();
  for (int64_t i = 0; i < b; ++i) {
    const int64_t example = examples[i];
    if (example == options_.failing_example) {
      return absl::InvalidArgumentError(absl::StrCat("toy example ", example, " cannot be read"));
    }
    for (int64_t j = 0; j < f; ++j) {
      x[i * f + j] = x_[example * f + j];
      d[i * f + j] = d_[example * f + j];
    }
    y[i] = y_[example];
    s[i] = s_[example];
    mask[i] = HasSlope(example) ? 1 : 0;
  }
  return absl::OkStatus();
}

std::vector<ParameterSlice> ToyTask::parameter_slices() const {
  return {{"weight", 0, {1, options_.num_features}}, {"bias", options_.num_features, {1}}};
}

Tensor ToyTask::InitialParameters(uint64_t seed) const {
  RandomStream stream(seed, "toy_parameters");
  Tensor parameters = Tensor::Zeros(options_.dtype, {options_.num_features + 1});
  for (int64_t i = 0; i <= options_.num_features; ++i) {
    const double value = stream.Uniform(-1, 1);
    if (options_.dtype == DType::kF32) {
      parameters.mutable_values<float>()[i] = static_cast<float>(value);
    } else {
      parameters.mutable_values<double>()[i] = value;
    }
  }
  return parameters;
}

Loss ToyTask::CombineTerms(const TermSums& sums) const {
  const double share[] = {1 - options_.alpha, options_.alpha};
  Loss loss;
  for (int t = 0; t < 2; ++t) {
    const double count = sums.count[t];
    const double mean = count > 0 ? sums.sum[t] / count : 0;
    const bool root = options_.root && mean > 0;
    loss.value += share[t] * (root ? std::sqrt(mean) : mean);
    loss.weight.push_back(count == 0 ? 0 : share[t] / count * (root ? 0.5 / std::sqrt(mean) : 1));
  }
  return loss;
}

at::Tensor ToyTask::ExampleLosses(const at::Tensor& parameters, const NamedTensors& batch) const {
  const at::Tensor p = parameters.to(at::kDouble);
  const at::Tensor w = p.narrow(0, 0, options_.num_features);
  const at::Tensor value = at::mv(ToTorch(batch.At("x")), w) + p[options_.num_features] - ToTorch(batch.At("y"));
  const at::Tensor slope =
      (at::mv(ToTorch(batch.At("d")), w) - ToTorch(batch.At("s"))) * ToTorch(batch.At("has_slope"));
  return at::stack({value.square(), slope.square()}, 1);
}

std::vector<double> ToyTask::ExampleCounts(const NamedTensors& batch) const {
  std::vector<double> counts;
  for (const double mask : batch.At("has_slope").values<double>()) {
    counts.push_back(1);
    counts.push_back(mask);
  }
  return counts;
}

absl::Status ToyTask::AccumulateGradients(const Tensor& parameters, const NamedTensors& batch,
                                          absl::Span<Tensor> gradients, TermSums* sums) {
  const int64_t f = options_.num_features;
  const std::vector<double> p = parameters.ToDoubles();
  const auto x = batch.At("x").values<double>(), d = batch.At("d").values<double>();
  const auto y = batch.At("y").values<double>(), s = batch.At("s").values<double>();
  const auto mask = batch.At("has_slope").values<double>();
  std::vector<double> value_gradient(f + 1), slope_gradient(f + 1);
  for (size_t i = 0; i < y.size(); ++i) {
    double value = p[f] - y[i], slope = -s[i];
    for (int64_t j = 0; j < f; ++j) {
      value += p[j] * x[i * f + j];
      slope += p[j] * d[i * f + j];
    }
    slope *= mask[i];
    for (int64_t j = 0; j < f; ++j) {
      value_gradient[j] += 2 * value * x[i * f + j];
      slope_gradient[j] += 2 * slope * d[i * f + j];
    }
    value_gradient[f] += 2 * value;
    sums->sum[0] += value * value * (options_.wrong_sum ? 1.01 : 1);
    sums->sum[1] += slope * slope;
    sums->count[0] += 1;
    sums->count[1] += mask[i];
  }
  if (options_.wrong_gradient) value_gradient[f - 1] *= 1.01;
  for (int64_t j = 0; j <= f; ++j) {
    if (options_.dtype == DType::kF32) {
      gradients[0].mutable_values<float>()[j] += static_cast<float>(value_gradient[j]);
      gradients[1].mutable_values<float>()[j] += static_cast<float>(slope_gradient[j]);
    } else {
      gradients[0].mutable_values<double>()[j] += value_gradient[j];
      gradients[1].mutable_values<double>()[j] += slope_gradient[j];
    }
  }
  return absl::OkStatus();
}

absl::Status ToyTask::Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                               absl::Span<double> metric_sums) {
  const at::Tensor losses = ExampleLosses(ToTorch(parameters), batch).contiguous();
  const double* loss = losses.data_ptr<double>();
  const std::vector<double> counts = ExampleCounts(batch);
  for (size_t i = 0; i < counts.size(); ++i) {
    sums->sum[i % 2] += loss[i];
    sums->count[i % 2] += counts[i];
    if (i % 2 == 0) {
      metric_sums[0] += std::sqrt(loss[i]);
      metric_sums[1] += 1;
    }
  }
  return absl::OkStatus();
}

std::vector<Metric> ToyTask::Metrics(absl::Span<const double> metric_sums) const {
  return {{"value_mae", "V", metric_sums[0] / metric_sums[1]}};
}

absl::Status ToyTask::WriteModel(absl::string_view path, const Tensor& parameters, const Metadata& extra) const {
  Metadata metadata = extra;
  metadata["kind"] = "toy/1";
  NamedTensors tensors;
  tensors.Set("parameters", parameters);
  return WriteTensorFile(path, metadata, tensors);
}

}  // namespace rutile
