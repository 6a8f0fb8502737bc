#include "lib/potential/training/atomistic_task.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/machine/memory.h"
#include "lib/network/feature_cache.h"
#include "lib/network/kernel_tuner.h"
#include "lib/network/network_cost.h"
#include "lib/network/network_kernel.h"
#include "lib/potential/data/scattered_features.h"
#include "lib/potential/model/labels/learned_labels.h"
#include "lib/potential/model/zbl_options.h"
#include "lib/potential/training/batch_parts.h"
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
void CountAtoms(const ProfileScope& scope, int64_t atoms, const NetworkShape& shape, int64_t number,
                int64_t NetworkCost::*part) {
  if (!scope.is_on()) return;
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
  // Returns the standardized features of a batch, [A, F], for tasks that scale while they read.
  virtual Tensor Standardized(const NamedTensors& batch) = 0;
  // Computes the error of the energy per atom of each structure, eV; valid until the next call.
  virtual const std::vector<double>& Errors(const Tensor& parameters, const NamedTensors& batch) = 0;
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

  Tensor Standardized(const NamedTensors& batch) override {
    const int64_t size = batch.At("num_atoms").num_elements();
    PlacePart(batch, 0, size);
    Tensor x = Tensor::Zeros(task_.options_.precision, {offset_.back(), task_.model_.shape().num_features});
    Fill(batch, 0, size, x.mutable_values<T>().data());
    return x;
  }

  const std::vector<double>& Errors(const Tensor& parameters, const NamedTensors& batch) override {
    Start(batch);
    if constexpr (std::is_same_v<T, float>) kernel_.SetRounding(false);
    int64_t begin = 0;
    for (const int64_t end : ends_) {
      const ProfileScope scope(Stage::kForward);
      const absl::Span<const int64_t> examples = batch.At("example").values<int64_t>().subspan(begin, end - begin);
      const T* const kept = evaluated_.Find(examples);
      AtomRows<T> rows = PartRows(batch, begin, end, /*fill=*/kept == nullptr);
      rows.transposed = kept != nullptr ? kept : Transposed(rows, examples);
      CountAtoms(scope, rows.num_atoms(), task_.model_.shape(), sizeof(T), &NetworkCost::forward);
      kernel_.Evaluate(parameters.values<T>(), rows, PartOfSums(begin, end));
      SetErrors(batch, begin, end);
      begin = end;
    }
    return errors_;
  }

  // A part goes through both passes before the next one begins, so that memory does not grow with the batch.
  void AccumulateGradients(const Tensor& parameters, const NamedTensors& batch, Tensor* gradient,
                           TermSums* sums) override {
    const NetworkShape& shape = task_.model_.shape();
    Start(batch);
    if constexpr (std::is_same_v<T, float>) {
      kernel_.SetRounding(task_.options_.mixed_precision && task_.mixed_is_on_);
    }
    int64_t begin = 0;
    for (const int64_t end : ends_) {
      AtomRows<T> rows;
      {
        const ProfileScope scope(Stage::kForward);
        rows = PartRows(batch, begin, end, /*fill=*/true);
        CountAtoms(scope, rows.num_atoms(), shape, sizeof(T), &NetworkCost::forward);
        kernel_.Forward(parameters.values<T>(), rows, PartOfSums(begin, end));
        SetErrors(batch, begin, end);
      }
      const ProfileScope scope(Stage::kBackward);
      CountAtoms(scope, rows.num_atoms(), shape, sizeof(T), &NetworkCost::backward);
      AddSlopes(batch, begin, end, sums);
      kernel_.Backward(parameters.values<T>(), rows, PartOfSums(begin, end), gradient->mutable_values<T>());
      begin = end;
    }
    task_.errors_.Record(batch.At("example").values<int64_t>(), errors_);
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
    // A part of a batch has at most so many atoms.
    const int64_t most = task_.options_.atoms_together + task_.most_atoms_;
    std::vector<int64_t> atoms = task_.largest_.species_atoms;
    for (int64_t& each : atoms) each = std::min(each, most);
    kernel_.Reserve(atoms, /*second_order=*/false);
    ReserveParts(std::min(most, task_.largest_.atoms));
    evaluated_.Clear();  // transposed for the blocks of the old plan
  }
  void SetFrozen(const std::vector<bool>& networks) override { kernel_.SetFrozen(networks); }

 private:
  // Source: the type of the features that are read.
  template <typename Source>
  absl::Status StandardizeFrom(const FeatureSource& features) {
    const AtomicData& data = task_.data_;
    const int num_species = task_.model_.shape().num_species;
    T* const rows = task_.rows_.template mutable_values<T>().data();
    std::vector<int64_t> all(data.num_structures()), next;
    for (size_t s = 0; s < all.size(); ++s) all[s] = static_cast<int64_t>(s);
    return features.ForEach<Source>(all, [&](int64_t s, absl::Span<const Source> values) {
      const auto first = task_.species_row_.begin() + s * (num_species + 1);
      next.assign(first, first + num_species);
      ScaleFeatures(task_.model_.feature_scaling(), data.species(s), values, next.data(), rows);
    });
  }

  void Start(const NamedTensors& batch) {
    const absl::Span<const double> num_atoms = batch.At("num_atoms").values<double>();
    sums_.resize(num_atoms.size());
    errors_.resize(num_atoms.size());
    CutBatch(num_atoms, task_.options_.atoms_together, &ends_);
  }

  absl::Span<double> PartOfSums(int64_t begin, int64_t end) {
    return absl::MakeSpan(sums_).subspan(begin, end - begin);
  }

  // Replaces sums of networks' outputs by errors, in errors_.
  void SetErrors(const NamedTensors& batch, int64_t begin, int64_t end) {
    const EnergyScaling& scaling = task_.model_.energy_scaling();
    const absl::Span<const double> num_atoms = batch.At("num_atoms").values<double>();
    const absl::Span<const double> target = batch.At("target").values<double>();
    for (int64_t e = begin; e < end; ++e) {
      errors_[e] = sums_[e] / (scaling.scale * num_atoms[e]) + scaling.shift - target[e];
    }
  }

  // Adds the part to the sums of the loss, and sets sums_ to the derivatives by the sums of outputs.
  void AddSlopes(const NamedTensors& batch, int64_t begin, int64_t end, TermSums* sums) {
    const double scale = task_.model_.energy_scaling().scale;
    const absl::Span<const double> num_atoms = batch.At("num_atoms").values<double>();
    const absl::Span<const double> weight = batch.At("weight").values<double>();
    for (int64_t e = begin; e < end; ++e) {
      const double error = errors_[e];
      sums->sum[0] += weight[e] * task_.energy_loss_.Value(error);
      sums->count[0] += weight[e];
      sums_[e] = weight[e] * task_.energy_loss_.Slope(error) / (scale * num_atoms[e]);
    }
  }

  // Returns the atoms of examples [begin, end) of a batch. fill: false if their features are not needed.
  AtomRows<T> PartRows(const NamedTensors& batch, int64_t begin, int64_t end, bool fill) {
    const bool whole = begin == 0 && end == batch.At("num_atoms").num_elements();
    if (whole && !task_.scales_while_reading_) return Rows<T>(task_.rows_, batch);
    PlacePart(batch, begin, end);
    if (!task_.scales_while_reading_) return {task_.rows_.template values<T>(), offset_, structure_, row_};
    const int64_t size = offset_.back() * task_.model_.shape().num_features;
    if (static_cast<int64_t>(x_.size()) < size) x_.resize(size);
    if (fill) Fill(batch, begin, end, x_.data());
    return {absl::MakeConstSpan(x_.data(), size), offset_, structure_};
  }

  // Sets offset_, structure_ and row_ for examples [begin, end) of a batch. The atoms of a species are in the order of
  // examples.
  void PlacePart(const NamedTensors& batch, int64_t begin, int64_t end) {
    const absl::Span<const int64_t> offset = batch.At("species_offset").values<int64_t>();
    const absl::Span<const int32_t> structure = batch.At("structure").values<int32_t>();
    const absl::Span<const int64_t> row = batch.At("row").values<int64_t>();
    offset_.assign(1, 0);
    structure_.clear();
    row_.clear();
    for (size_t i = 0; i + 1 < offset.size(); ++i) {
      const auto of_species = structure.begin() + offset[i], last = structure.begin() + offset[i + 1];
      const auto low = std::lower_bound(of_species, last, static_cast<int32_t>(begin));
      const auto high = std::lower_bound(low, last, static_cast<int32_t>(end));
      for (auto at = low; at != high; ++at) structure_.push_back(*at - static_cast<int32_t>(begin));
      row_.insert(row_.end(), row.begin() + (low - structure.begin()), row.begin() + (high - structure.begin()));
      offset_.push_back(static_cast<int64_t>(row_.size()));
    }
  }

  // Scales the features of the atoms that PlacePart has placed, into x [A, F].
  void Fill(const NamedTensors& batch, int64_t begin, int64_t end, T* x) {
    const absl::Span<const int64_t> examples = batch.At("example").values<int64_t>().subspan(begin, end - begin);
    const int64_t num_species = task_.model_.shape().num_species;
    next_.resize(examples.size() * num_species);
    for (int64_t i = 0; i < num_species; ++i) {
      int64_t at = offset_[i];
      for (size_t e = 0; e < examples.size(); ++e) {
        const int64_t* const row = &task_.species_row_[examples[e] * (num_species + 1) + i];
        next_[e * num_species + i] = at;
        at += row[1] - row[0];
      }
    }
    const bool of_doubles = task_.data_.feature_dtype() == DType::kF64;
    const AtomicData& data = task_.data_;
    const FeatureScaling& scaling = task_.model_.feature_scaling();
    if (task_.reads_scattered_) PrefetchFeatures(data, examples);
    const auto fill = [&](int64_t first, int64_t last, int) {
      for (int64_t e = first; e < last; ++e) {
        const int64_t s = examples[e];
        int64_t* const next = &next_[e * num_species];
        if (of_doubles) {
          ScaleFeatures(scaling, data.species(s), data.features<double>(s), next, x);
        } else {
          ScaleFeatures(scaling, data.species(s), data.features<float>(s), next, x);
        }
      }
    };
    if (task_.pool_ == nullptr) return fill(0, static_cast<int64_t>(examples.size()), 0);
    task_.pool_->For(static_cast<int64_t>(examples.size()), 1, std::ref(fill));
  }

  void ReserveParts(int64_t atoms) {
    ends_.reserve(task_.largest_.structures);
    offset_.reserve(task_.model_.shape().num_species + 1);
    structure_.reserve(atoms);
    row_.reserve(atoms);
    if (!task_.scales_while_reading_) return;
    next_.reserve(task_.largest_.structures * task_.model_.shape().num_species);
    x_.resize(atoms * task_.model_.shape().num_features);
  }

  // Returns the transposed features of an evaluated batch, or null if the cache has no room for them.
  const T* Transposed(const AtomRows<T>& rows, absl::Span<const int64_t> examples) {
    T* const transposed = evaluated_.Add(examples, kernel_.TransposedSize(rows));
    if (transposed != nullptr) kernel_.Transpose(rows, transposed);
    return transposed;
  }

  AtomisticTask& task_;
  NetworkKernel<T> kernel_;
  FeatureCache<T> evaluated_{kKeptBytes};
  std::vector<int64_t> ends_;          // [parts] of the batch
  std::vector<int64_t> offset_, row_;  // of a part, as in AtomRows
  std::vector<int32_t> structure_;
  std::vector<int64_t> next_;   // [examples of a part, species] the next row
  std::vector<T> x_;            // [A, F] of a part, with scales_while_reading_
  std::vector<double> sums_;    // [B] sums of network outputs
  std::vector<double> errors_;  // [B] errors of the energy per atom, eV
};

AtomisticTask::AtomisticTask(const AtomicData& data, const AtomisticTaskOptions& options, AtomisticModel model)
    : PotentialTask(data, options, std::move(model)),
      energy_loss_(options.loss.kind, options.loss.energy_delta),
      number_(NextNumber()) {}

AtomisticTask::~AtomisticTask() = default;

absl::StatusOr<std::unique_ptr<AtomisticTask>> AtomisticTask::Create(const AtomicData& given,
                                                                     const AtomisticTaskOptions& options,
                                                                     absl::Span<const int64_t> train) {
  const ProfileScope scope(Stage::kSetup);
  CHECK(options.loss.force_weight == 0 && options.loss.stress_weight == 0) << "that is ForceTask's";
  RETURN_IF_ERROR(CheckPrecision(options));
  ASSIGN_OR_RETURN(const RepulsionRadii radii, RadiiOf(options.zbl, given.descriptor()));
  ASSIGN_OR_RETURN(const AtomicData data, LearnedLabels(given, radii, options.num_threads));
  // Features are stored standardized, in rows_, if there is room: the source computes them once for the statistics and
  // once for the rows.
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
  if (!task->scales_while_reading_) {
    RETURN_IF_ERROR(task->impl_->Standardize(features));
  } else if (FeaturesExceed(data, MemoryLimit())) {
    AdviseScatteredFeatures(data);
    task->reads_scattered_ = true;
  }
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

Tensor AtomisticTask::StandardizedRows(const NamedTensors& batch) const { return impl_->Standardized(batch); }

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
    most_atoms_ = std::max(most_atoms_, data_.num_atoms(s));
  }
  const int64_t bytes = rows * model_.shape().num_features * ByteSize(options_.precision);
  scales_while_reading_ = data_.has_features() && bytes > options_.standardized_bytes;
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
  const std::vector<double>& errors = impl_->Errors(parameters, batch);
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
