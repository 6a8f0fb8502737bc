#include "lib/potential/atomistic_task.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/potential/network_init.h"
#include "lib/potential/network_reference.h"
#include "lib/structure/element.h"
#include "lib/tensorfile/tensorfile_torch.h"
// Last: lib/base/logging.h says why.
#include "lib/base/logging.h"

namespace rutile {
namespace {

constexpr int64_t kAnySize = -1;

// batch[name], with that many rows, or at least as many where `more` is allowed. What is there is kept if it fits.
Tensor& BatchTensor(absl::string_view name, DType dtype, int64_t rows, int64_t columns, bool more,
                    NamedTensors* batch) {
  Tensor* found = batch->FindMutable(name);
  if (found != nullptr && found->dtype() == dtype && found->rank() == (columns == kAnySize ? 1 : 2) &&
      (found->dim(0) == rows || (more && found->dim(0) > rows))) {
    return *found;
  }
  // A quarter more than needed: batches of equal count differ in atoms.
  const int64_t size = more ? rows + rows / 4 + 1 : rows;
  std::vector<int64_t> shape = {size};
  if (columns != kAnySize) shape.push_back(columns);
  batch->Set(name, Tensor::Zeros(dtype, std::move(shape)));
  return batch->MutableAt(name);
}

template <typename T>
AtomRows<T> RowsOf(const NamedTensors& batch) {
  return {batch.At("x").values<T>(), batch.At("species_offset").values<int64_t>(),
          batch.At("structure").values<int32_t>()};
}

template <typename T>
T* AddressOf(Tensor* tensor) {
  return tensor->mutable_values<T>().data();
}

}  // namespace

AtomisticTask::AtomisticTask(const AtomisticTaskOptions& options) : options_(options) {
  CHECK(options.precision == DType::kF32 || options.precision == DType::kF64);
}

absl::StatusOr<std::unique_ptr<AtomisticTask>> AtomisticTask::Create(const FeatureData& data,
                                                                     const AtomisticTaskOptions& options,
                                                                     absl::Span<const int64_t> train) {
  if (train.empty()) return absl::InvalidArgumentError("no structure to train on");
  for (const int64_t s : train) {
    CHECK(s >= 0 && s < data.num_structures()) << s;
    if (!data.has_energy(s)) {
      return absl::InvalidArgumentError(
          absl::StrCat(data.name(s), ": has no energy, and cannot be trained on; leave it out"));
    }
  }
  std::unique_ptr<AtomisticTask> task(new AtomisticTask(options));
  task->descriptor_ = data.descriptor();
  task->shape_ = {static_cast<int>(data.descriptor().species.size()), data.num_features(), options.hidden,
                  options.activation};
  RETURN_IF_ERROR(task->shape_.Validate());

  const int num_species = task->shape_.num_species;
  task->row_offset_ = {0};
  for (int64_t s = 0; s < data.num_structures(); ++s) {
    std::vector<int64_t> count(num_species, 0);
    for (const uint8_t species : data.species(s)) ++count[species];
    for (const int64_t c : count) task->row_offset_.push_back(task->row_offset_.back() + c);
    task->energy_.push_back(data.has_energy(s) ? data.energy(s) : std::nan(""));
  }
  RETURN_IF_ERROR(task->SetAtomicEnergies(data, train));
  for (int64_t s = 0; s < data.num_structures(); ++s) {
    double cohesive = task->energy_[s];
    for (const uint8_t species : data.species(s)) cohesive -= task->atomic_energies_[species];
    task->target_.push_back(cohesive / static_cast<double>(data.num_atoms(s)));
  }
  if (options.scale_energies) {
    std::vector<double> targets;
    for (const int64_t s : train) targets.push_back(task->target_[s]);
    task->energy_scaling_ = ScaleEnergies(targets);
  }
  if (options.num_threads > 1) task->pool_ = std::make_unique<ThreadPool>(options.num_threads);
  if (options.precision == DType::kF64) {
    task->StandardiseFeatures<double>(data, train);
    task->kernel64_ = std::make_unique<EnergyKernel<double>>(task->shape_, task->pool_.get());
  } else {
    task->StandardiseFeatures<float>(data, train);
    task->kernel32_ = std::make_unique<EnergyKernel<float>>(task->shape_, task->pool_.get());
  }
  return task;
}

absl::Status AtomisticTask::SetAtomicEnergies(const FeatureData& data, absl::Span<const int64_t> train) {
  const std::map<uint8_t, double>& given =
      options_.atomic_energies.empty() ? data.atomic_energies() : options_.atomic_energies;
  const int num_species = shape_.num_species;
  if (given.empty()) {
    std::vector<double> energies;
    std::vector<int64_t> counts;
    for (const int64_t s : train) {
      energies.push_back(energy_[s]);
      for (int k = 0; k < num_species; ++k) {
        counts.push_back(row_offset_[s * num_species + k + 1] - row_offset_[s * num_species + k]);
      }
    }
    AtomicEnergyFit fit = FitAtomicEnergies(energies, counts, num_species);
    atomic_energies_ = std::move(fit.energy);
    atomic_energy_residual_ = fit.residual;
    atomic_energies_fitted_ = true;
    return absl::OkStatus();
  }
  for (const uint8_t element : descriptor_.species) {
    const auto found = given.find(element);
    if (found == given.end()) {
      return absl::InvalidArgumentError(absl::StrCat("atomic energies are given, but none of ", ElementSymbol(element),
                                                     ": give one for each of the descriptor's elements, or none at all"
                                                     " (then they are fitted)"));
    }
    atomic_energies_.push_back(found->second);
  }
  return absl::OkStatus();
}

template <typename T>
void AtomisticTask::StandardiseFeatures(const FeatureData& data, absl::Span<const int64_t> train) {
  const int num_species = shape_.num_species;
  const int64_t num_features = shape_.num_features;
  FeatureStatistics statistics(options_.feature_scaling, num_species, shape_.num_features);
  const auto for_atoms = [&](int64_t s, const auto& use) {
    const absl::Span<const uint8_t> species = data.species(s);
    for (size_t a = 0; a < species.size(); ++a) {
      if (data.feature_dtype() == DType::kF64) {
        use(species[a], data.features<double>(s).subspan(a * num_features, num_features));
      } else {
        use(species[a], data.features<float>(s).subspan(a * num_features, num_features));
      }
    }
  };
  for (const int64_t s : train) {
    for_atoms(s, [&](uint8_t species, auto features) { statistics.Add(species, features); });
  }
  feature_scaling_ = statistics.Result();

  x_ = Tensor::Zeros(DTypeOf<T>(), {row_offset_.back(), num_features});
  T* const x = AddressOf<T>(&x_);
  std::vector<int64_t> next(num_species);
  for (int64_t s = 0; s < data.num_structures(); ++s) {
    std::copy_n(row_offset_.begin() + s * num_species, num_species, next.begin());
    for_atoms(s, [&](uint8_t species, auto features) {
      const double* const mean = &feature_scaling_.mean[species * num_features];
      const double* const scale = &feature_scaling_.scale[species * num_features];
      T* const row = x + next[species]++ * num_features;
      for (int64_t f = 0; f < num_features; ++f) row[f] = static_cast<T>((features[f] - mean[f]) * scale[f]);
    });
  }
}

double AtomisticTask::ExampleCost(int64_t example) const {
  const int num_species = shape_.num_species;
  return static_cast<double>(row_offset_[(example + 1) * num_species] - row_offset_[example * num_species]);
}

absl::Status AtomisticTask::MakeBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const {
  const int num_species = shape_.num_species;
  const int64_t size = static_cast<int64_t>(examples.size());
  int64_t atoms = 0;
  for (const int64_t s : examples) {
    if (s < 0 || s >= num_examples()) {
      return absl::OutOfRangeError(absl::StrCat("structure ", s, " of ", num_examples()));
    }
    atoms += row_offset_[(s + 1) * num_species] - row_offset_[s * num_species];
  }
  Tensor& x = BatchTensor("x", x_.dtype(), atoms, shape_.num_features, true, batch);
  const int64_t row_bytes = shape_.num_features * ByteSize(x_.dtype());
  char* to = static_cast<char*>(x.mutable_data());
  const char* const from = static_cast<const char*>(x_.data());
  int32_t* structure = AddressOf<int32_t>(&BatchTensor("structure", DType::kI32, atoms, kAnySize, true, batch));
  int64_t* const offset =
      AddressOf<int64_t>(&BatchTensor("species_offset", DType::kI64, num_species + 1, kAnySize, false, batch));
  offset[0] = 0;
  for (int k = 0; k < num_species; ++k) {
    int64_t rows = 0;
    for (int64_t i = 0; i < size; ++i) {
      const int64_t* const range = &row_offset_[examples[i] * num_species + k];
      const int64_t count = range[1] - range[0];
      std::memcpy(to, from + range[0] * row_bytes, count * row_bytes);
      to += count * row_bytes;
      structure = std::fill_n(structure, count, static_cast<int32_t>(i));
      rows += count;
    }
    offset[k + 1] = offset[k] + rows;
  }
  double* const num_atoms = AddressOf<double>(&BatchTensor("num_atoms", DType::kF64, size, kAnySize, false, batch));
  double* const target = AddressOf<double>(&BatchTensor("target", DType::kF64, size, kAnySize, false, batch));
  double* const has_energy = AddressOf<double>(&BatchTensor("has_energy", DType::kF64, size, kAnySize, false, batch));
  for (int64_t i = 0; i < size; ++i) {
    const bool known = !std::isnan(energy_[examples[i]]);
    num_atoms[i] = ExampleCost(examples[i]);
    target[i] = known ? target_[examples[i]] : 0;
    has_energy[i] = known ? 1 : 0;
  }
  return absl::OkStatus();
}

std::vector<ParameterSlice> AtomisticTask::parameter_slices() const {
  std::vector<ParameterSlice> slices;
  for (int s = 0; s < shape_.num_species; ++s) {
    for (int l = 0; l < shape_.num_layers(); ++l) {
      slices.push_back({WeightName(descriptor_, s, l),
                        shape_.weight_offset(s, l),
                        {shape_.layer_outputs(l), shape_.layer_inputs(l)}});
      slices.push_back({BiasName(descriptor_, s, l), shape_.bias_offset(s, l), {shape_.layer_outputs(l)}});
    }
  }
  return slices;
}

Tensor AtomisticTask::InitialParameters(uint64_t seed) const {
  const std::vector<double> values = InitialNetworkParameters(shape_, seed);
  if (options_.precision == DType::kF64) return Tensor::Of(values);
  return Tensor::Of(std::vector<float>(values.begin(), values.end()));
}

Loss AtomisticTask::CombineTerms(const TermSums& sums) const {
  Loss loss;
  loss.weight = {0};
  const double count = sums.count[0];
  if (count == 0) return loss;
  loss.value = sums.sum[0] / count;
  loss.weight[0] = 1 / count;
  if (options_.loss == EnergyLoss::kRmse) {
    loss.value = std::sqrt(loss.value);
    loss.weight[0] = loss.value == 0 ? 0 : 1 / (2 * count * loss.value);
  }
  return loss;
}

at::Tensor AtomisticTask::ExampleLosses(const at::Tensor& parameters, const NamedTensors& batch) const {
  const absl::Span<const int64_t> offset = batch.At("species_offset").values<int64_t>();
  const at::Tensor num_atoms = ToTorch(batch.At("num_atoms"));
  const at::Tensor sums = NetworkSums(shape_, parameters, ToTorch(batch.At("x")).narrow(0, 0, offset.back()), offset,
                                      ToTorch(batch.At("structure")).narrow(0, 0, offset.back()), num_atoms.size(0));
  const at::Tensor predicted = sums / (num_atoms * energy_scaling_.scale) + energy_scaling_.shift;
  const at::Tensor residual = (predicted - ToTorch(batch.At("target"))) * ToTorch(batch.At("has_energy"));
  at::Tensor loss = residual.square();
  if (options_.loss == EnergyLoss::kHuber) {
    const double delta = options_.huber_delta;
    const at::Tensor size = residual.abs();
    loss = at::where(size <= delta, 0.5 * loss, delta * (size - 0.5 * delta));
  }
  return loss.unsqueeze(1);
}

std::vector<double> AtomisticTask::ExampleCounts(const NamedTensors& batch) const {
  return batch.At("has_energy").ToDoubles();
}

double AtomisticTask::Residual(const NamedTensors& batch, int64_t i) const {
  const double num_atoms = batch.At("num_atoms").values<double>()[i];
  const double predicted = sums_[i] / (num_atoms * energy_scaling_.scale) + energy_scaling_.shift;
  return predicted - batch.At("target").values<double>()[i];
}

double AtomisticTask::LossOf(double residual) const {
  if (options_.loss != EnergyLoss::kHuber) return residual * residual;
  const double size = std::abs(residual), delta = options_.huber_delta;
  return size <= delta ? 0.5 * residual * residual : delta * (size - 0.5 * delta);
}

double AtomisticTask::SlopeOf(double residual) const {
  if (options_.loss != EnergyLoss::kHuber) return 2 * residual;
  const double delta = options_.huber_delta;
  return std::abs(residual) <= delta ? residual : std::copysign(delta, residual);
}

template <typename T>
void AtomisticTask::ForwardOf(EnergyKernel<T>* kernel, const Tensor& parameters, const NamedTensors& batch, bool keep) {
  sums_.resize(batch.At("num_atoms").dim(0));
  const absl::Span<double> sums = absl::MakeSpan(sums_);
  if (keep) {
    kernel->Forward(parameters.values<T>(), RowsOf<T>(batch), sums);
  } else {
    kernel->Evaluate(parameters.values<T>(), RowsOf<T>(batch), sums);
  }
}

template <typename T>
void AtomisticTask::BackwardOf(EnergyKernel<T>* kernel, const Tensor& parameters, const NamedTensors& batch,
                               Tensor* gradient) {
  kernel->Backward(parameters.values<T>(), RowsOf<T>(batch), slopes_, gradient->mutable_values<T>());
}

absl::Status AtomisticTask::AccumulateGradients(const Tensor& parameters, const NamedTensors& batch,
                                                absl::Span<Tensor> gradients, TermSums* sums) {
  CHECK_EQ(gradients.size(), 1);
  if (kernel64_) {
    ForwardOf(kernel64_.get(), parameters, batch, true);
  } else {
    ForwardOf(kernel32_.get(), parameters, batch, true);
  }
  const absl::Span<const double> has_energy = batch.At("has_energy").values<double>();
  const absl::Span<const double> num_atoms = batch.At("num_atoms").values<double>();
  slopes_.resize(sums_.size());
  for (size_t i = 0; i < sums_.size(); ++i) {
    slopes_[i] = 0;
    if (has_energy[i] == 0) continue;
    const double residual = Residual(batch, static_cast<int64_t>(i));
    sums->sum[0] += LossOf(residual);
    sums->count[0] += 1;
    slopes_[i] = SlopeOf(residual) / (num_atoms[i] * energy_scaling_.scale);
  }
  if (kernel64_) {
    BackwardOf(kernel64_.get(), parameters, batch, &gradients[0]);
  } else {
    BackwardOf(kernel32_.get(), parameters, batch, &gradients[0]);
  }
  return absl::OkStatus();
}

absl::Status AtomisticTask::Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                                     absl::Span<double> metric_sums) {
  CHECK_EQ(static_cast<int>(metric_sums.size()), num_metric_sums());
  if (kernel64_) {
    ForwardOf(kernel64_.get(), parameters, batch, false);
  } else {
    ForwardOf(kernel32_.get(), parameters, batch, false);
  }
  const absl::Span<const double> has_energy = batch.At("has_energy").values<double>();
  for (size_t i = 0; i < sums_.size(); ++i) {
    if (has_energy[i] == 0) continue;
    const double residual = Residual(batch, static_cast<int64_t>(i));
    sums->sum[0] += LossOf(residual);
    sums->count[0] += 1;
    metric_sums[0] += residual * residual;
    metric_sums[1] += std::abs(residual);
    metric_sums[2] += 1;
  }
  return absl::OkStatus();
}

std::vector<Metric> AtomisticTask::Metrics(absl::Span<const double> metric_sums) const {
  const double count = metric_sums[2];
  return {{"energy_rmse", "meV/atom", 1000 * std::sqrt(metric_sums[0] / count)},
          {"energy_mae", "meV/atom", 1000 * metric_sums[1] / count}};
}

absl::Status AtomisticTask::WriteModel(absl::string_view path, const Tensor& parameters, const Metadata& extra) const {
  Potential potential;
  potential.descriptor = descriptor_;
  potential.shape = shape_;
  potential.feature_scaling = feature_scaling_;
  potential.energy_scaling = energy_scaling_;
  potential.atomic_energies = atomic_energies_;
  potential.parameters = parameters;
  potential.metadata = extra;
  return WritePotential(path, potential);
}

}  // namespace rutile
