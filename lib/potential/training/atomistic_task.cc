#include "lib/potential/training/atomistic_task.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/network/feature_cache.h"
#include "lib/network/kernel_tuner.h"
#include "lib/network/network_cost.h"
#include "lib/network/network_kernel.h"
#include "lib/task/batch_memory.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

constexpr double kMilli = 1000;  // meV
constexpr int64_t kKeptBytes = int64_t{64} << 20;

template <typename T>
AtomRows<T> Rows(const Tensor& features, const NamedTensors& batch) {
  return {features.values<T>(), batch.At("species_offset").values<int64_t>(), batch.At("structure").values<int32_t>(),
          batch.At("row").values<int64_t>()};
}

// Counts operations and bytes of a scope for profiles. number: bytes of one number. part: the part of the networks'
// cost that the scope computes. Each row of features is read once.
void CountAtoms(const ProfileScope& scope, const NamedTensors& batch, const NetworkShape& shape, int64_t number,
                int64_t NetworkCost::*part) {
  if (!scope.is_on()) return;
  const int64_t atoms = batch.At("species_offset").values<int64_t>()[shape.num_species];
  scope.Add(Counter::kAtoms, atoms);
  scope.Add(Counter::kFlop, atoms * (NetworkCost(shape).*part));
  scope.Add(Counter::kBytes, atoms * shape.num_features * number);
}

// Sets row[i] = first + i and structure[i] = s for i < count. Runs have a few atoms, for which loops of variable length
// are slow: four elements are written at a time, past `count` too where there is room, since the next run overwrites
// these.
inline void WriteRun(int64_t first, int32_t s, int64_t count, int64_t room, int64_t* row, int32_t* structure) {
  constexpr int64_t kRun = 4;
  int64_t begin = 0;
  for (; begin < count && begin + kRun <= room; begin += kRun) {
    for (int64_t i = 0; i < kRun; ++i) row[begin + i] = first + begin + i;
    for (int64_t i = 0; i < kRun; ++i) structure[begin + i] = s;
  }
  for (; begin < count; ++begin) {
    row[begin] = first + begin;
    structure[begin] = s;
  }
}

int64_t NextNumber() {
  static std::atomic<int64_t> next{0};
  return next++;
}

}  // namespace

template <typename T>
struct AtomisticTask::Native {
  Native(const NetworkShape& shape, ThreadPool* pool) : kernel(shape, pool) {}
  // Returns the transposed features of an evaluated batch, or null if the cache has no room for them.
  const T* Transposed(const AtomRows<T>& rows, absl::Span<const int64_t> examples) {
    const T* const kept = evaluated.Find(examples);
    if (kept != nullptr) return kept;
    T* const transposed = evaluated.Add(examples, kernel.TransposedSize(rows));
    if (transposed != nullptr) kernel.Transpose(rows, transposed);
    return transposed;
  }

  NetworkKernel<T> kernel;
  FeatureCache<T> evaluated{kKeptBytes};
  std::vector<double> sums;    // [B] sums of network outputs
  std::vector<double> errors;  // [B] errors of the energy per atom, eV
};

AtomisticTask::AtomisticTask(const AtomicData& data, const AtomisticTaskOptions& options, AtomisticModel model)
    : data_(data),
      options_(options),
      model_(std::move(model)),
      energy_loss_(options.loss.kind, options.loss.energy_delta),
      example_errors_(data.num_structures()),
      number_(NextNumber()) {}

AtomisticTask::~AtomisticTask() = default;

absl::StatusOr<std::unique_ptr<AtomisticTask>> AtomisticTask::Create(const AtomicData& data,
                                                                     const AtomisticTaskOptions& options,
                                                                     absl::Span<const int64_t> train) {
  const ProfileScope scope(Stage::kSetup);
  CHECK(options.loss.force_weight == 0 && options.loss.stress_weight == 0) << "that is ForceTask's";
  RETURN_IF_ERROR(CheckPrecision(options));
  // Features are stored standardized, in rows_: the source computes them once for the statistics and once for the rows.
  ASSIGN_OR_RETURN(const FeatureSource features, FeatureSource::Create(data, options.angular, options.precision,
                                                                       /*cached=*/false, options.num_threads));
  ASSIGN_OR_RETURN(AtomisticModel model, AtomisticModel::Create(data, features, options, train));
  std::unique_ptr<AtomisticTask> task(new AtomisticTask(data, options, std::move(model)));
  task->FillExamples();
  RETURN_IF_ERROR(task->Standardize(features));
  if (options.ThreadsOfSteps() > 1) task->pool_ = std::make_unique<ThreadPool>(options.ThreadsOfSteps());
  if (options.precision == DType::kF64) {
    task->native64_ = std::make_unique<Native<double>>(task->model_.shape(), task->pool_.get());
    RETURN_IF_ERROR(task->Prepare(task->native64_.get(), train));
  } else {
    task->native32_ = std::make_unique<Native<float>>(task->model_.shape(), task->pool_.get());
    RETURN_IF_ERROR(task->Prepare(task->native32_.get(), train));
  }
  return task;
}

template <typename T>
absl::Status AtomisticTask::Prepare(Native<T>* native, absl::Span<const int64_t> train) {
  const CompileOptions& compile = options_.compile;
  RETURN_IF_ERROR(CheckCompileOptions(compile));
  if (compile.preset == CompilePreset::kDefault) return absl::OkStatus();
  const int num_species = model_.shape().num_species;
  std::vector<int32_t> species_count;  // [S, species]
  for (int64_t s = 0; s < num_examples(); ++s) {
    const int64_t* const row = &species_row_[s * (num_species + 1)];
    for (int i = 0; i < num_species; ++i) species_count.push_back(static_cast<int32_t>(row[i + 1] - row[i]));
  }
  largest_ = FindLargestBatch(species_count, num_species, compile);
  native->sums.reserve(largest_.structures);
  native->errors.reserve(largest_.structures);
  KernelPlan plan;
  if (compile.preset == CompilePreset::kMaxAutotune) {
    TuneOptions tune;
    tune.batch_size = compile.batch_size;
    tune.rounding = options_.mixed_precision;
    tune.cache_directory = compile.cache_directory;
    tune.atoms.assign(num_species, 0);
    for (const int64_t s : train.subspan(0, compile.batch_size)) {
      for (int i = 0; i < num_species; ++i) tune.atoms[i] += species_count[s * num_species + i];
    }
    ASSIGN_OR_RETURN(const TunedKernel tuned, TuneKernel<T>(model_.shape(), pool_.get(), tune));
    plan = tuned.plan;
    compile_message_ = absl::StrCat("max-autotune: ", Describe(tuned));
  }
  SetPlan(plan);
  return absl::OkStatus();
}

void AtomisticTask::SetPlan(const KernelPlan& plan) {
  const auto set = [&](auto* native) {
    native->kernel.SetPlan(plan);
    if (options_.mixed_precision) native->kernel.SetRounding(true);
    native->kernel.Reserve(largest_.species_atoms, /*second_order=*/false);
    native->evaluated.Clear();  // transposed for the blocks of the old plan
  };
  if (native64_ != nullptr) set(native64_.get());
  if (native32_ != nullptr) set(native32_.get());
}

NamedTensors AtomisticTask::State() const {
  NamedTensors state = example_errors_.State();
  if (options_.compile.preset == CompilePreset::kMaxAutotune) {
    SetKernelPlanState(native64_ != nullptr ? native64_->kernel.plan() : native32_->kernel.plan(), &state);
  }
  return state;
}

absl::Status AtomisticTask::SetState(const NamedTensors& state) {
  if (options_.compile.preset != CompilePreset::kMaxAutotune || state.empty()) return example_errors_.SetState(state);
  ASSIGN_OR_RETURN(const KernelPlan plan, KernelPlanOfState(state));
  // If the state has nothing but the plan, there are no errors to restore.
  RETURN_IF_ERROR(example_errors_.SetState(state.size() == 1 ? NamedTensors() : state));
  SetPlan(plan);
  return absl::OkStatus();
}

void AtomisticTask::FillExamples() {
  const int64_t num_species = model_.shape().num_species;
  species_row_.assign(data_.num_structures() * (num_species + 1), 0);
  int64_t rows = 0;
  for (int64_t s = 0; s < data_.num_structures(); ++s) {
    examples_.push_back(
        {static_cast<double>(data_.num_atoms(s)), model_.targets()[s], data_.weight(s), data_.has_energy(s)});
    int64_t* const row = &species_row_[s * (num_species + 1)];
    for (const uint8_t index : data_.species(s)) ++row[index + 1];
    row[0] = rows;
    for (int64_t i = 0; i < num_species; ++i) row[i + 1] += row[i];
    rows = row[num_species];
  }
}

template <typename Source, typename T>
absl::Status AtomisticTask::StandardizeInto(const FeatureSource& features, T* rows) const {
  const int64_t f = model_.shape().num_features;
  const int num_species = model_.shape().num_species;
  const FeatureScaling& scaling = model_.feature_scaling();
  std::vector<int64_t> all(data_.num_structures()), next;
  for (size_t s = 0; s < all.size(); ++s) all[s] = static_cast<int64_t>(s);
  return features.ForEach<Source>(all, [&](int64_t s, absl::Span<const Source> values) {
    const auto first = species_row_.begin() + s * (num_species + 1);
    next.assign(first, first + num_species);
    const Source* from = values.data();
    for (const uint8_t species : data_.species(s)) {
      const double* const mean = &scaling.mean[species * f];
      const double* const scale = &scaling.scale[species * f];
      T* const out = rows + next[species]++ * f;
      for (int64_t k = 0; k < f; ++k) out[k] = static_cast<T>((from[k] - mean[k]) * scale[k]);
      from += f;
    }
  });
}

absl::Status AtomisticTask::Standardize(const FeatureSource& features) {
  rows_ =
      Tensor::Zeros(options_.precision, {species_row_.empty() ? 0 : species_row_.back(), model_.shape().num_features});
  const bool source64 = features.dtype() == DType::kF64;
  if (options_.precision == DType::kF64) {
    double* const rows = rows_.mutable_values<double>().data();
    return source64 ? StandardizeInto<double>(features, rows) : StandardizeInto<float>(features, rows);
  }
  float* const rows = rows_.mutable_values<float>().data();
  return source64 ? StandardizeInto<double>(features, rows) : StandardizeInto<float>(features, rows);
}

bool AtomisticTask::IsBatchOf(absl::Span<const int64_t> examples, const NamedTensors& batch) const {
  const Tensor* const made_by = batch.Find("made_by");
  return made_by != nullptr && made_by->values<int64_t>()[0] == number_ &&
         batch.At("example").values<int64_t>() == examples;
}

absl::Status AtomisticTask::MakeBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const {
  if (IsBatchOf(examples, *batch)) return absl::OkStatus();
  const int64_t num_species = model_.shape().num_species;
  const auto b = static_cast<int64_t>(examples.size());
  int64_t* const offset = Reuse<int64_t>(batch, "species_offset", {num_species + 1});
  std::fill_n(offset, num_species + 1, 0);
  for (const int64_t s : examples) {
    const int64_t* const row = &species_row_[s * (num_species + 1)];
    for (int64_t i = 0; i < num_species; ++i) offset[i + 1] += row[i + 1] - row[i];
  }
  for (int64_t i = 0; i < num_species; ++i) offset[i + 1] += offset[i];
  const int64_t atoms = offset[num_species];
  int64_t* const atom_row = ReuseRows<int64_t>(batch, "row", {atoms});
  int32_t* const structure = ReuseRows<int32_t>(batch, "structure", {atoms});
  double* const num_atoms = Reuse<double>(batch, "num_atoms", {b});
  double* const target = Reuse<double>(batch, "target", {b});
  double* const weight = Reuse<double>(batch, "weight", {b});
  int64_t* const example = Reuse<int64_t>(batch, "example", {b});
  *Reuse<int64_t>(batch, "made_by", {1}) = number_;
  int64_t next = 0;
  for (int64_t i = 0; i < num_species; ++i) {
    for (int64_t e = 0; e < b; ++e) {
      const int64_t* const row = &species_row_[examples[e] * (num_species + 1) + i];
      const int64_t count = row[1] - row[0];
      WriteRun(row[0], static_cast<int32_t>(e), count, atoms - next, atom_row + next, structure + next);
      next += count;
    }
  }
  for (int64_t e = 0; e < b; ++e) {
    const Example& from = examples_[examples[e]];
    CHECK(from.has_energy) << data_.name(examples[e]) << " has no energy";
    num_atoms[e] = from.num_atoms;
    target[e] = from.target;
    weight[e] = from.weight;
    example[e] = examples[e];
  }
  return absl::OkStatus();
}

void AtomisticTask::ReserveBatch(NamedTensors* batch) const {
  if (options_.compile.preset == CompilePreset::kDefault) return;
  const int64_t num_species = model_.shape().num_species;
  Reuse<int64_t>(batch, "row", {largest_.atoms});
  Reuse<int32_t>(batch, "structure", {largest_.atoms});
  Reuse<int64_t>(batch, "species_offset", {num_species + 1});
  for (const char* name : {"num_atoms", "target", "weight"}) Reuse<double>(batch, name, {largest_.structures});
  Reuse<int64_t>(batch, "example", {largest_.structures});
  *Reuse<int64_t>(batch, "made_by", {1}) = -1;
}

absl::StatusOr<std::vector<double>> AtomisticTask::SamplingWeights(SamplingPolicy policy,
                                                                   absl::Span<const int64_t> examples) {
  return example_errors_.SamplingWeights(policy, examples, model_.targets());
}

Loss AtomisticTask::CombineTerms(const TermSums& sums) const {
  return CombineLossTerms(options_.loss.kind, absl::MakeConstSpan(&options_.loss.energy_weight, 1), sums);
}

std::vector<double> AtomisticTask::ExampleCounts(const NamedTensors& batch) const {
  const absl::Span<const double> weight = batch.At("weight").values<double>();
  return {weight.begin(), weight.end()};
}

template <typename T>
void AtomisticTask::Errors(Native<T>* native, const Tensor& parameters, const NamedTensors& batch, bool keep) const {
  const ProfileScope scope(Stage::kForward);
  CountAtoms(scope, batch, model_.shape(), sizeof(T), &NetworkCost::forward);
  const absl::Span<const double> num_atoms = batch.At("num_atoms").values<double>();
  const absl::Span<const double> target = batch.At("target").values<double>();
  native->sums.resize(target.size());
  native->errors.resize(target.size());
  AtomRows<T> rows = Rows<T>(rows_, batch);
  if constexpr (std::is_same_v<T, float>) {
    native->kernel.SetRounding(keep && options_.mixed_precision && mixed_is_on_);
  }
  if (keep) {
    native->kernel.Forward(parameters.values<T>(), rows, absl::MakeSpan(native->sums));
  } else {
    rows.transposed = native->Transposed(rows, batch.At("example").values<int64_t>());
    native->kernel.Evaluate(parameters.values<T>(), rows, absl::MakeSpan(native->sums));
  }
  for (size_t e = 0; e < target.size(); ++e) {
    native->errors[e] =
        native->sums[e] / (model_.energy_scaling().scale * num_atoms[e]) + model_.energy_scaling().shift - target[e];
  }
}

template <typename T>
void AtomisticTask::AccumulateNative(Native<T>* native, const Tensor& parameters, const NamedTensors& batch,
                                     Tensor* gradient, TermSums* sums) {
  Errors(native, parameters, batch, /*keep=*/true);
  const ProfileScope scope(Stage::kBackward);
  CountAtoms(scope, batch, model_.shape(), sizeof(T), &NetworkCost::backward);
  const absl::Span<const double> num_atoms = batch.At("num_atoms").values<double>();
  const absl::Span<const double> weight = batch.At("weight").values<double>();
  for (size_t e = 0; e < native->errors.size(); ++e) {
    const double error = native->errors[e];
    sums->sum[0] += weight[e] * energy_loss_.Value(error);
    sums->count[0] += weight[e];
    native->sums[e] = weight[e] * energy_loss_.Slope(error) / (model_.energy_scaling().scale * num_atoms[e]);
  }
  example_errors_.Record(batch.At("example").values<int64_t>(), native->errors);
  native->kernel.Backward(parameters.values<T>(), Rows<T>(rows_, batch), native->sums, gradient->mutable_values<T>());
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

void AtomisticTask::SetFrozen(const std::vector<bool>& slices) {
  Task::SetFrozen(slices);
  const std::vector<bool> networks = model_.FrozenNetworks(slices);
  if (native64_ != nullptr) {
    native64_->kernel.SetFrozen(networks);
  } else {
    native32_->kernel.SetFrozen(networks);
  }
}

absl::Status AtomisticTask::Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                                     absl::Span<double> metric_sums) {
  if (native64_ != nullptr) {
    Errors(native64_.get(), parameters, batch, /*keep=*/false);
  } else {
    Errors(native32_.get(), parameters, batch, /*keep=*/false);
  }
  const std::vector<double>& errors = native64_ != nullptr ? native64_->errors : native32_->errors;
  const absl::Span<const double> weight = batch.At("weight").values<double>();
  for (size_t e = 0; e < errors.size(); ++e) {
    sums->sum[0] += weight[e] * energy_loss_.Value(errors[e]);
    sums->count[0] += weight[e];
    metric_sums[0] += errors[e] * errors[e];
    metric_sums[1] += std::abs(errors[e]);
  }
  metric_sums[2] += static_cast<double>(errors.size());
  return absl::OkStatus();
}

std::vector<Metric> AtomisticTask::Metrics(absl::Span<const double> metric_sums) const {
  const double n = metric_sums[2];
  return {{"energy_rmse", "meV/atom", kMilli * std::sqrt(metric_sums[0] / n)},
          {"energy_mae", "meV/atom", kMilli * metric_sums[1] / n}};
}

}  // namespace rutile
