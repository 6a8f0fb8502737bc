#include "lib/testing/toy_task.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"
#include "lib/task/sampling_policy.h"
#include "lib/tensorfile/tensor_writer.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

// A batch's tensors of each term: [B, F] inputs, [B] values, [B] whether the example has a value.
struct Names {
  const char *inputs, *values, *mask;
};
constexpr Names kNames[] = {{"x", "y", "has_value"}, {"d", "s", "has_slope"}, {"c", "k", "has_strain"}};

// Returns the batch's tensor of that name and shape, the old one if it fits.
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
  const auto add = [&](int t, double value, RandomStream* stream) {
    for (int64_t j = 0; j < f; ++j) {
      x_[t].push_back(stream->Normal());
      value += true_parameters_[j] * x_[t].back();
    }
    y_[t].push_back(value + options.noise * stream->Normal());
  };
  for (int64_t i = 0; i < n; ++i) {
    add(0, true_parameters_[f], &stream);
    add(1, 0, &stream);
    if (i == options.nan_example) y_[0].back() = std::numeric_limits<double>::quiet_NaN();
  }
  RandomStream strain(7, "toy_strain");
  for (int64_t i = 0; i < n && options.strain_every > 0; ++i) add(2, 0, &strain);
}

std::vector<LossTerm> ToyTask::terms() const {
  std::vector<LossTerm> terms = {{"value", "V^2"}, {"slope", "(V/m)^2"}, {"strain", "1"}};
  terms.resize(num_terms());
  return terms;
}

bool ToyTask::Has(int term, int64_t example) const {
  if (term == 0) return true;
  if (term == 2) return example % options_.strain_every == options_.strain_every - 1;
  if (example % 3 != 0) return false;
  if (!training_ || options_.slope_fraction >= 1) return true;
  return RandomStream(7, "toy_slope", epoch_, example).Uniform() < options_.slope_fraction;
}

void ToyTask::StartEpoch(int64_t epoch, bool training) {
  CHECK_EQ(batches_being_made_.load(), 0);
  epochs_.push_back(absl::StrCat(training ? "train " : "validate ", epoch));
  epoch_ = epoch;
  training_ = training;
}

std::vector<double> ToyTask::SamplingWeights(SamplingPolicy policy, absl::Span<const int64_t> examples) {
  if (policy == SamplingPolicy::kErrorWeighted && last_error_.empty()) {
    last_error_.assign(options_.num_examples, std::numeric_limits<double>::quiet_NaN());
  }
  std::vector<double> values;
  for (const int64_t i : examples) {
    values.push_back(policy == SamplingPolicy::kErrorWeighted ? last_error_[i] : y_[0][i]);
  }
  return policy == SamplingPolicy::kErrorWeighted ? ErrorWeights(values) : EnergyWeights(values);
}

NamedTensors ToyTask::State() const {
  NamedTensors state;
  if (!last_error_.empty()) state.Set("last_error", Tensor::Of(last_error_));
  return state;
}

absl::Status ToyTask::SetState(const NamedTensors& state) {
  if (state.empty()) {
    last_error_.clear();
    return absl::OkStatus();
  }
  const Tensor* errors = state.Find("last_error");
  if (errors == nullptr || errors->dtype() != DType::kF64 || errors->num_elements() != options_.num_examples) {
    return absl::InvalidArgumentError("\"last_error\" is not F64 of each example");
  }
  last_error_ = errors->ToDoubles();
  return absl::OkStatus();
}

absl::Status ToyTask::MakeBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const {
  ++batches_being_made_;
  const auto done = absl::MakeCleanup([this] { --batches_being_made_; });
  const auto b = static_cast<int64_t>(examples.size());
  const int64_t f = options_.num_features;
  int64_t* number = Reuse(batch, "example", DType::kI64, {b})->mutable_values<int64_t>().data();
  for (int64_t i = 0; i < b; ++i) {
    if (examples[i] == options_.failing_example) {
      return absl::InvalidArgumentError(absl::StrCat("toy example ", examples[i], " cannot be read"));
    }
    number[i] = examples[i];
  }
  for (int t = 0; t < num_terms(); ++t) {
    double* x = Reuse(batch, kNames[t].inputs, DType::kF64, {b, f})->mutable_values<double>().data();
    double* y = Reuse(batch, kNames[t].values, DType::kF64, {b})->mutable_values<double>().data();
    double* mask = Reuse(batch, kNames[t].mask, DType::kF64, {b})->mutable_values<double>().data();
    for (int64_t i = 0; i < b; ++i) {
      std::copy_n(x_[t].begin() + examples[i] * f, f, x + i * f);
      y[i] = y_[t][examples[i]];
      mask[i] = Has(t, examples[i]) ? 1 : 0;
    }
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
  const double beta = num_terms() == 3 ? options_.beta : 0;
  const double share[] = {1 - options_.alpha - beta, options_.alpha, beta};
  Loss loss;
  for (int t = 0; t < num_terms(); ++t) {
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
  std::vector<at::Tensor> losses;
  for (int t = 0; t < num_terms(); ++t) {
    at::Tensor difference = at::mv(ToTorch(batch.At(kNames[t].inputs)), w) - ToTorch(batch.At(kNames[t].values));
    if (t == 0) difference = difference + p[options_.num_features];
    losses.push_back((difference * ToTorch(batch.At(kNames[t].mask))).square());
  }
  return at::stack(losses, 1);
}

std::vector<double> ToyTask::ExampleCounts(const NamedTensors& batch) const {
  const int64_t b = batch.At("y").num_elements();
  std::vector<double> counts(b * num_terms());
  for (int t = 0; t < num_terms(); ++t) {
    const auto mask = batch.At(kNames[t].mask).values<double>();
    for (int64_t i = 0; i < b; ++i) counts[i * num_terms() + t] = mask[i];
  }
  return counts;
}

absl::Status ToyTask::AccumulateGradients(const Tensor& parameters, const NamedTensors& batch,
                                          absl::Span<Tensor> gradients, TermSums* sums) {
  const int64_t f = options_.num_features;
  const std::vector<double> p = parameters.ToDoubles();
  const auto example = batch.At("example").values<int64_t>();
  for (int t = 0; t < num_terms(); ++t) {
    const auto x = batch.At(kNames[t].inputs).values<double>(), y = batch.At(kNames[t].values).values<double>();
    const auto mask = batch.At(kNames[t].mask).values<double>();
    std::vector<double> gradient(f + 1);
    for (size_t i = 0; i < y.size(); ++i) {
      double difference = (t == 0 ? p[f] : 0) - y[i];
      for (int64_t j = 0; j < f; ++j) difference += p[j] * x[i * f + j];
      difference *= mask[i];
      for (int64_t j = 0; j < f; ++j) gradient[j] += 2 * difference * x[i * f + j];
      if (t == 0) gradient[f] += 2 * difference;
      if (t == 0 && !last_error_.empty()) last_error_[example[i]] = difference;
      sums->sum[t] += difference * difference * (t == 0 && options_.wrong_sum ? 1.01 : 1);
      sums->count[t] += mask[i];
    }
    if (t == 0 && options_.wrong_gradient) gradient[f - 1] *= 1.01;
    if (!frozen().empty()) {
      const double nan = std::numeric_limits<double>::quiet_NaN();
      if (frozen()[0]) std::fill_n(gradient.begin(), f, nan);
      if (frozen()[1]) gradient[f] = nan;
    }
    for (int64_t j = 0; j <= f; ++j) {
      if (options_.dtype == DType::kF32) {
        gradients[t].mutable_values<float>()[j] += static_cast<float>(gradient[j]);
      } else {
        gradients[t].mutable_values<double>()[j] += gradient[j];
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ToyTask::Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                               absl::Span<double> metric_sums) {
  const at::Tensor losses = ExampleLosses(ToTorch(parameters), batch).contiguous();
  const double* loss = losses.data_ptr<double>();
  const std::vector<double> counts = ExampleCounts(batch);
  const auto terms = static_cast<size_t>(num_terms());
  for (size_t i = 0; i < counts.size(); ++i) {
    sums->sum[i % terms] += loss[i];
    sums->count[i % terms] += counts[i];
    if (i % terms == 0) {
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
