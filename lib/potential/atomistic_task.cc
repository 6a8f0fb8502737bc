#include "lib/potential/atomistic_task.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/potential/energy_kernel.h"
#include "lib/potential/network_init.h"
#include "lib/potential/potential_file.h"
#include "lib/structure/element.h"

namespace rutile {
namespace {

constexpr double kMilli = 1000;  // meV

// The batch's tensor of that name and shape: the memory of the last batch where that fits.
template <typename T>
T* Reuse(NamedTensors* batch, absl::string_view name, std::vector<int64_t> shape) {
  Tensor* found = batch->FindMutable(name);
  if (found == nullptr || found->dtype() != DTypeOf<T>() || found->shape() != shape) {
    batch->Set(name, Tensor::Zeros(DTypeOf<T>(), std::move(shape)));
    found = batch->FindMutable(name);
  }
  return found->mutable_values<T>().data();
}

// The same for tensors with a row for each atom, of which there are as many or more: batches of one size differ in
// atoms, and clearing new memory for each would take as long as half of the kernel.
template <typename T>
T* ReuseRows(NamedTensors* batch, absl::string_view name, std::vector<int64_t> shape) {
  const Tensor* found = batch->Find(name);
  if (found != nullptr && found->rank() == static_cast<int>(shape.size()) && found->dim(0) >= shape[0]) {
    shape[0] = found->dim(0);
  } else {
    shape[0] += shape[0] / 4;
  }
  return Reuse<T>(batch, name, std::move(shape));
}

template <typename T>
AtomRows<T> Rows(const NamedTensors& batch) {
  return {batch.At("x").values<T>(), batch.At("species_offset").values<int64_t>(),
          batch.At("structure").values<int32_t>()};
}

}  // namespace

template <typename T>
struct AtomisticTask::Native {
  Native(const NetworkShape& shape, ThreadPool* pool) : kernel(shape, pool) {}
  EnergyKernel<T> kernel;
  std::vector<double> sums;    // [B] sums of network outputs
  std::vector<double> errors;  // [B] of the energy per atom, eV
};

AtomisticTask::AtomisticTask(const FeatureData& data, const AtomisticTaskOptions& options)
    : data_(data), options_(options) {}

AtomisticTask::~AtomisticTask() = default;

absl::StatusOr<std::unique_ptr<AtomisticTask>> AtomisticTask::Create(const FeatureData& data,
                                                                     const AtomisticTaskOptions& options,
                                                                     absl::Span<const int64_t> train) {
  if (train.empty()) return absl::InvalidArgumentError("no structure to train on");
  for (const int64_t s : train) CHECK(data.has_energy(s)) << data.name(s);
  std::unique_ptr<AtomisticTask> task(new AtomisticTask(data, options));
  task->shape_.num_species = static_cast<int>(data.descriptor().species.size());
  task->shape_.num_features = data.num_features();
  task->shape_.hidden = options.hidden;
  task->shape_.activation = options.activation;
  RETURN_IF_ERROR(task->shape_.Validate());
  RETURN_IF_ERROR(task->ChooseAtomicEnergies(train));
  task->ChooseScales(train);
  task->Standardise();
  if (options.num_threads > 1) task->pool_ = std::make_unique<ThreadPool>(options.num_threads);
  if (options.precision == DType::kF64) {
    task->native64_ = std::make_unique<Native<double>>(task->shape_, task->pool_.get());
  } else {
    task->native32_ = std::make_unique<Native<float>>(task->shape_, task->pool_.get());
  }
  return task;
}

absl::Status AtomisticTask::ChooseAtomicEnergies(absl::Span<const int64_t> train) {
  const std::vector<uint8_t>& species = data_.descriptor().species;
  const int64_t num_species = shape_.num_species;
  row_offset_.assign(1, 0);
  species_count_.assign(data_.num_structures() * num_species, 0);
  for (int64_t s = 0; s < data_.num_structures(); ++s) {
    row_offset_.push_back(row_offset_.back() + data_.num_atoms(s));
    for (const uint8_t index : data_.species(s)) ++species_count_[s * num_species + index];
  }
  const std::map<uint8_t, double>& given =
      options_.atomic_energies.empty() ? data_.atomic_energies() : options_.atomic_energies;
  if (given.empty()) {
    std::vector<double> energies;
    std::vector<int64_t> counts;
    for (const int64_t s : train) {
      energies.push_back(data_.energy(s));
      for (int64_t i = 0; i < num_species; ++i) counts.push_back(species_count_[s * num_species + i]);
    }
    atomic_energies_ = FitAtomicEnergies(energies, counts, shape_.num_species).energy;
    atomic_energies_fitted_ = true;
  }
  for (const uint8_t element : species) {
    if (atomic_energies_fitted_) break;
    const auto found = given.find(element);
    if (found == given.end()) {
      return absl::InvalidArgumentError(absl::StrCat("--atomic_energies has none for ", ElementSymbol(element),
                                                     "; give one for each species, or none and they are fitted"));
    }
    atomic_energies_.push_back(found->second);
  }
  target_.clear();
  for (int64_t s = 0; s < data_.num_structures(); ++s) {
    double energy = data_.energy(s);
    for (int64_t i = 0; i < num_species; ++i) energy -= species_count_[s * num_species + i] * atomic_energies_[i];
    target_.push_back(energy / static_cast<double>(data_.num_atoms(s)));
  }
  return absl::OkStatus();
}

template <typename Source>
void AtomisticTask::AddStatistics(absl::Span<const int64_t> train, FeatureStatistics* statistics) const {
  const int f = shape_.num_features;
  for (const int64_t s : train) {
    const absl::Span<const uint8_t> species = data_.species(s);
    const absl::Span<const Source> features = data_.features<Source>(s);
    for (size_t atom = 0; atom < species.size(); ++atom) statistics->Add(species[atom], features.subspan(atom * f, f));
  }
}

void AtomisticTask::ChooseScales(absl::Span<const int64_t> train) {
  FeatureStatistics statistics(options_.feature_scaling, shape_.num_species, shape_.num_features);
  if (data_.feature_dtype() == DType::kF64) {
    AddStatistics<double>(train, &statistics);
  } else {
    AddStatistics<float>(train, &statistics);
  }
  feature_scaling_ = statistics.Result();
  if (!options_.scale_energies) return;
  std::vector<double> targets;
  for (const int64_t s : train) targets.push_back(target_[s]);
  energy_scaling_ = ScaleEnergies(targets);
}

template <typename Source, typename T>
void AtomisticTask::StandardiseInto(T* rows) const {
  const int64_t f = shape_.num_features;
  std::vector<int64_t> next(shape_.num_species);
  for (int64_t s = 0; s < data_.num_structures(); ++s) {
    int64_t row = row_offset_[s];
    for (int i = 0; i < shape_.num_species; ++i) {
      next[i] = row;
      row += species_count_[s * shape_.num_species + i];
    }
    const absl::Span<const uint8_t> species = data_.species(s);
    const Source* features = data_.features<Source>(s).data();
    for (size_t atom = 0; atom < species.size(); ++atom, features += f) {
      const double* const mean = &feature_scaling_.mean[species[atom] * f];
      const double* const scale = &feature_scaling_.scale[species[atom] * f];
      T* const out = rows + next[species[atom]]++ * f;
      for (int64_t k = 0; k < f; ++k) out[k] = static_cast<T>((features[k] - mean[k]) * scale[k]);
    }
  }
}

void AtomisticTask::Standardise() {
  rows_ = Tensor::Zeros(options_.precision, {row_offset_.back(), shape_.num_features});
  const bool source64 = data_.feature_dtype() == DType::kF64;
  if (options_.precision == DType::kF64) {
    double* const rows = rows_.mutable_values<double>().data();
    source64 ? StandardiseInto<double>(rows) : StandardiseInto<float>(rows);
  } else {
    float* const rows = rows_.mutable_values<float>().data();
    source64 ? StandardiseInto<double>(rows) : StandardiseInto<float>(rows);
  }
}

template <typename T>
void AtomisticTask::FillBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const {
  const int64_t f = shape_.num_features, num_species = shape_.num_species;
  const auto b = static_cast<int64_t>(examples.size());
  int64_t* const offset = Reuse<int64_t>(batch, "species_offset", {num_species + 1});
  std::fill_n(offset, num_species + 1, 0);
  for (const int64_t s : examples) {
    for (int64_t i = 0; i < num_species; ++i) offset[i + 1] += species_count_[s * num_species + i];
  }
  for (int64_t i = 0; i < num_species; ++i) offset[i + 1] += offset[i];
  const int64_t atoms = offset[num_species];
  T* x = ReuseRows<T>(batch, "x", {atoms, f});
  int32_t* structure = ReuseRows<int32_t>(batch, "structure", {atoms});
  double* const num_atoms = Reuse<double>(batch, "num_atoms", {b});
  double* const target = Reuse<double>(batch, "target", {b});
  const T* const rows = rows_.values<T>().data();
  for (int64_t i = 0; i < num_species; ++i) {
    for (int64_t e = 0; e < b; ++e) {
      const int32_t* const count = &species_count_[examples[e] * num_species];
      int64_t row = row_offset_[examples[e]];
      for (int64_t k = 0; k < i; ++k) row += count[k];
      std::memcpy(x, rows + row * f, count[i] * f * sizeof(T));
      std::fill_n(structure, count[i], static_cast<int32_t>(e));
      x += count[i] * f;
      structure += count[i];
    }
  }
  for (int64_t e = 0; e < b; ++e) {
    num_atoms[e] = static_cast<double>(data_.num_atoms(examples[e]));
    target[e] = target_[examples[e]];
  }
}

absl::Status AtomisticTask::MakeBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const {
  for (const int64_t s : examples) CHECK(data_.has_energy(s)) << data_.name(s) << " has no energy";
  if (options_.precision == DType::kF64) {
    FillBatch<double>(examples, batch);
  } else {
    FillBatch<float>(examples, batch);
  }
  return absl::OkStatus();
}

std::vector<ParameterSlice> AtomisticTask::parameter_slices() const {
  std::vector<ParameterSlice> slices;
  for (int species = 0; species < shape_.num_species; ++species) {
    for (int layer = 0; layer < shape_.num_layers(); ++layer) {
      const int64_t in = shape_.layer_inputs(layer), out = shape_.layer_outputs(layer);
      slices.push_back(
          {WeightName(data_.descriptor(), species, layer), shape_.weight_offset(species, layer), {out, in}});
      slices.push_back({BiasName(data_.descriptor(), species, layer), shape_.bias_offset(species, layer), {out}});
    }
  }
  return slices;
}

Tensor AtomisticTask::InitialParameters(uint64_t seed) const {
  const std::vector<double> values = InitialNetworkParameters(shape_, seed);
  if (options_.precision == DType::kF64) return Tensor::Of(values);
  return Tensor::Of(std::vector<float>(values.begin(), values.end()));
}

double AtomisticTask::ErrorLoss(double error) const {
  const double delta = options_.huber_delta;
  if (options_.loss != EnergyLoss::kHuber) return error * error;
  return std::abs(error) <= delta ? 0.5 * error * error : delta * (std::abs(error) - 0.5 * delta);
}

double AtomisticTask::ErrorSlope(double error) const {
  if (options_.loss != EnergyLoss::kHuber) return 2 * error;
  return std::clamp(error, -options_.huber_delta, options_.huber_delta);
}

Loss AtomisticTask::CombineTerms(const TermSums& sums) const {
  Loss loss;
  const double mean = sums.count[0] > 0 ? sums.sum[0] / sums.count[0] : 0;
  loss.value = mean;
  loss.weight = {sums.count[0] > 0 ? 1 / sums.count[0] : 0};
  if (options_.loss == EnergyLoss::kRmse) {
    loss.value = std::sqrt(mean);
    loss.weight[0] *= loss.value > 0 ? 0.5 / loss.value : 0;  // no slope where there is no error
  }
  return loss;
}

std::vector<double> AtomisticTask::ExampleCounts(const NamedTensors& batch) const {
  return std::vector<double>(batch.At("target").num_elements(), 1.0);
}

template <typename T>
void AtomisticTask::Errors(Native<T>* native, const Tensor& parameters, const NamedTensors& batch, bool keep) const {
  const absl::Span<const double> num_atoms = batch.At("num_atoms").values<double>();
  const absl::Span<const double> target = batch.At("target").values<double>();
  native->sums.resize(target.size());
  native->errors.resize(target.size());
  if (keep) {
    native->kernel.Forward(parameters.values<T>(), Rows<T>(batch), absl::MakeSpan(native->sums));
  } else {
    native->kernel.Evaluate(parameters.values<T>(), Rows<T>(batch), absl::MakeSpan(native->sums));
  }
  for (size_t e = 0; e < target.size(); ++e) {
    native->errors[e] = native->sums[e] / (energy_scaling_.scale * num_atoms[e]) + energy_scaling_.shift - target[e];
  }
}

template <typename T>
void AtomisticTask::AccumulateNative(Native<T>* native, const Tensor& parameters, const NamedTensors& batch,
                                     Tensor* gradient, TermSums* sums) const {
  Errors(native, parameters, batch, /*keep=*/true);
  const absl::Span<const double> num_atoms = batch.At("num_atoms").values<double>();
  for (size_t e = 0; e < native->errors.size(); ++e) {
    sums->sum[0] += ErrorLoss(native->errors[e]);
    native->sums[e] = ErrorSlope(native->errors[e]) / (energy_scaling_.scale * num_atoms[e]);
  }
  sums->count[0] += static_cast<double>(native->errors.size());
  native->kernel.Backward(parameters.values<T>(), Rows<T>(batch), native->sums, gradient->mutable_values<T>());
}

absl::Status AtomisticTask::AccumulateGradients(const Tensor& parameters, const NamedTensors& batch,
                                                absl::Span<Tensor> gradients, TermSums* sums) {
  if (native64_ != nullptr) {
    AccumulateNative(native64_.get(), parameters, batch, &gradients[0], sums);
  } else {
    AccumulateNative(native32_.get(), parameters, batch, &gradients[0], sums);
  }
  return absl::OkStatus();
}

absl::Status AtomisticTask::Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                                     absl::Span<double> metric_sums) {
  if (native64_ != nullptr) {
    Errors(native64_.get(), parameters, batch, /*keep=*/false);
  } else {
    Errors(native32_.get(), parameters, batch, /*keep=*/false);
  }
  const std::vector<double>& errors = native64_ != nullptr ? native64_->errors : native32_->errors;
  for (const double error : errors) {
    sums->sum[0] += ErrorLoss(error);
    metric_sums[0] += error * error;
    metric_sums[1] += std::abs(error);
  }
  sums->count[0] += static_cast<double>(errors.size());
  metric_sums[2] += static_cast<double>(errors.size());
  return absl::OkStatus();
}

std::vector<Metric> AtomisticTask::Metrics(absl::Span<const double> metric_sums) const {
  const double n = metric_sums[2];
  return {{"energy_rmse", "meV/atom", kMilli * std::sqrt(metric_sums[0] / n)},
          {"energy_mae", "meV/atom", kMilli * metric_sums[1] / n}};
}

absl::Status AtomisticTask::WriteModel(absl::string_view path, const Tensor& parameters, const Metadata& extra) const {
  Potential potential;
  potential.descriptor = data_.descriptor();
  potential.shape = shape_;
  potential.feature_scaling = feature_scaling_;
  potential.energy_scaling = energy_scaling_;
  potential.atomic_energies = atomic_energies_;
  potential.parameters = parameters;
  potential.metadata = extra;
  return WritePotential(path, potential);
}

}  // namespace rutile
