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

class AtomisticTask::Impl {
 public:
  virtual ~Impl() = default;
  // Fills the task's rows_ with standardized features.
  virtual absl::Status Standardize(const FeatureSource& features) = 0;
  // Computes the error of the energy per atom of each structure, eV; valid until the next call. In training (`keep`)
  // the forward pass stores what the backward pass needs.
  virtual const std::vector<double>& Errors(const Tensor& parameters, const NamedTensors& batch, bool keep) = 0;
  virtual void AccumulateGradients(const Tensor& parameters, const NamedTensors& batch, Tensor* gradient,
                                   TermSums* sums) = 0;
  virtual absl::StatusOr<TunedKernel> Tune(const TuneOptions& options) const = 0;
  virtual const KernelPlan& plan() const = 0;
  // Reserves the memory of the largest batch, too.
  virtual void SetPlan(const KernelPlan& plan) = 0;
  virtual void SetFrozen(const std::vector<bool>& networks) = 0;
};

template <typename T>
class AtomisticTask::ImplOf : public Impl {
 public:
  // `task` must outlive this object, and have its examples and its pool.
  explicit ImplOf(AtomisticTask* task) : task_(*task), kernel_(task->model_.shape(), task->pool_.get()) {}

  absl::Status Standardize(const FeatureSource& features) override {
    const std::vector<int64_t>& ends = task_.species_row_;
    const std::vector<int64_t> shape = {ends.empty() ? 0 : ends.back(), task_.model_.shape().num_features};
    task_.rows_ = Tensor::Zeros(task_.options_.precision, shape);
    return features.dtype() == DType::kF64 ? StandardizeFrom<double>(features) : StandardizeFrom<float>(features);
  }

  const std::vector<double>& Errors(const Tensor& parameters, const NamedTensors& batch, bool keep) override {
    const AtomisticModel& model = task_.model_;
    const ProfileScope scope(Stage::kForward);
    CountAtoms(scope, batch, model.shape(), sizeof(T), &NetworkCost::forward);
    const absl::Span<const double> num_atoms = batch.At("num_atoms").values<double>();
    const absl::Span<const double> target = batch.At("target").values<double>();
    sums_.resize(target.size());
    errors_.resize(target.size());
    AtomRows<T> rows = Rows<T>(task_.rows_, batch);
    if constexpr (std::is_same_v<T, float>) {
      kernel_.SetRounding(keep && task_.options_.mixed_precision && task_.mixed_is_on_);
    }
    if (keep) {
      kernel_.Forward(parameters.values<T>(), rows, absl::MakeSpan(sums_));
    } else {
      rows.transposed = Transposed(rows, batch.At("example").values<int64_t>());
      kernel_.Evaluate(parameters.values<T>(), rows, absl::MakeSpan(sums_));
    }
    for (size_t e = 0; e < target.size(); ++e) {
      errors_[e] = sums_[e] / (model.energy_scaling().scale * num_atoms[e]) + model.energy_scaling().shift - target[e];
    }
    return errors_;
  }

  void AccumulateGradients(const Tensor& parameters, const NamedTensors& batch, Tensor* gradient,
                           TermSums* sums) override {
    const AtomisticModel& model = task_.model_;
    Errors(parameters, batch, /*keep=*/true);
    const ProfileScope scope(Stage::kBackward);
    CountAtoms(scope, batch, model.shape(), sizeof(T), &NetworkCost::backward);
    const absl::Span<const double> num_atoms = batch.At("num_atoms").values<double>();
    const absl::Span<const double> weight = batch.At("weight").values<double>();
    for (size_t e = 0; e < errors_.size(); ++e) {
      const double error = errors_[e];
      sums->sum[0] += weight[e] * task_.energy_loss_.Value(error);
      sums->count[0] += weight[e];
      sums_[e] = weight[e] * task_.energy_loss_.Slope(error) / (model.energy_scaling().scale * num_atoms[e]);
    }
    task_.errors_.Record(batch.At("example").values<int64_t>(), errors_);
    kernel_.Backward(parameters.values<T>(), Rows<T>(task_.rows_, batch), sums_, gradient->mutable_values<T>());
  }

  absl::StatusOr<TunedKernel> Tune(const TuneOptions& options) const override {
    return TuneKernel<T>(task_.model_.shape(), task_.pool_.get(), options);
  }
  const KernelPlan& plan() const override { return kernel_.plan(); }
  void SetPlan(const KernelPlan& plan) override {
    sums_.reserve(task_.largest_.structures);
    errors_.reserve(task_.largest_.structures);
    kernel_.SetPlan(plan);
    if (task_.options_.mixed_precision) kernel_.SetRounding(true);
    kernel_.Reserve(task_.largest_.species_atoms, /*second_order=*/false);
    evaluated_.Clear();  // transposed for the blocks of the old plan
  }
  void SetFrozen(const std::vector<bool>& networks) override { kernel_.SetFrozen(networks); }

 private:
  // Source: the type of the features that are read.
  template <typename Source>
  absl::Status StandardizeFrom(const FeatureSource& features) {
    const AtomicData& data = task_.data_;
    const int64_t f = task_.model_.shape().num_features;
    const int num_species = task_.model_.shape().num_species;
    const FeatureScaling& scaling = task_.model_.feature_scaling();
    T* const rows = task_.rows_.template mutable_values<T>().data();
    std::vector<int64_t> all(data.num_structures()), next;
    for (size_t s = 0; s < all.size(); ++s) all[s] = static_cast<int64_t>(s);
    return features.ForEach<Source>(all, [&](int64_t s, absl::Span<const Source> values) {
      const auto first = task_.species_row_.begin() + s * (num_species + 1);
      next.assign(first, first + num_species);
      const Source* from = values.data();
      for (const uint8_t species : data.species(s)) {
        const double* const mean = &scaling.mean[species * f];
        const double* const scale = &scaling.scale[species * f];
        T* const out = rows + next[species]++ * f;
        for (int64_t k = 0; k < f; ++k) out[k] = static_cast<T>((from[k] - mean[k]) * scale[k]);
        from += f;
      }
    });
  }

  // Returns the transposed features of an evaluated batch, or null if the cache has no room for them.
  const T* Transposed(const AtomRows<T>& rows, absl::Span<const int64_t> examples) {
    const T* const kept = evaluated_.Find(examples);
    if (kept != nullptr) return kept;
    T* const transposed = evaluated_.Add(examples, kernel_.TransposedSize(rows));
    if (transposed != nullptr) kernel_.Transpose(rows, transposed);
    return transposed;
  }

  AtomisticTask& task_;
  NetworkKernel<T> kernel_;
  FeatureCache<T> evaluated_{kKeptBytes};
  std::vector<double> sums_;    // [B] sums of network outputs
  std::vector<double> errors_;  // [B] errors of the energy per atom, eV
};

AtomisticTask::AtomisticTask(const AtomicData& data, const AtomisticTaskOptions& options, AtomisticModel model)
    : PotentialTask(data, options, std::move(model)),
      energy_loss_(options.loss.kind, options.loss.energy_delta),
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
  if (options.ThreadsOfSteps() > 1) task->pool_ = std::make_unique<ThreadPool>(options.ThreadsOfSteps());
  if (options.precision == DType::kF64) {
    task->impl_ = std::make_unique<ImplOf<double>>(task.get());
  } else {
    task->impl_ = std::make_unique<ImplOf<float>>(task.get());
  }
  RETURN_IF_ERROR(task->impl_->Standardize(features));
  RETURN_IF_ERROR(task->Prepare(train));
  return task;
}

absl::Status AtomisticTask::Prepare(absl::Span<const int64_t> train) {
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
    ASSIGN_OR_RETURN(const TunedKernel tuned, impl_->Tune(tune));
    plan = tuned.plan;
    compile_message_ = absl::StrCat("max-autotune: ", Describe(tuned));
  }
  SetPlan(plan);
  return absl::OkStatus();
}

const KernelPlan& AtomisticTask::plan() const { return impl_->plan(); }

void AtomisticTask::SetPlan(const KernelPlan& plan) { impl_->SetPlan(plan); }

void AtomisticTask::FreezeNetworks(const std::vector<bool>& networks) { impl_->SetFrozen(networks); }

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

Loss AtomisticTask::CombineTerms(const TermSums& sums) const {
  return CombineLossTerms(options_.loss.kind, absl::MakeConstSpan(&options_.loss.energy_weight, 1), sums);
}

std::vector<double> AtomisticTask::ExampleCounts(const NamedTensors& batch) const {
  const absl::Span<const double> weight = batch.At("weight").values<double>();
  return {weight.begin(), weight.end()};
}

absl::Status AtomisticTask::AccumulateGradients(const Tensor& parameters, const NamedTensors& batch,
                                                absl::Span<Tensor> gradients, TermSums* sums) {
  impl_->AccumulateGradients(parameters, batch, &gradients[0], sums);
  return absl::OkStatus();
}

absl::Status AtomisticTask::Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                                     absl::Span<double> metric_sums) {
  const std::vector<double>& errors = impl_->Errors(parameters, batch, /*keep=*/false);
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
