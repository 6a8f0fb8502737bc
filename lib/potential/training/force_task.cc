#include "lib/potential/training/force_task.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/network/kernel_tuner.h"
#include "lib/potential/gpu/force_step.h"
#include "lib/potential/model/labels/learned_labels.h"
#include "lib/potential/model/zbl_options.h"
#include "lib/potential/training/force_kernel.h"
#include "lib/potential/training/geometry_cache.h"
#include "lib/structure/cell.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

constexpr double kMilli = 1000;  // meV

absl::Status CheckLabels(const AtomicData& data, const LossOptions& loss, absl::Span<const int64_t> train) {
  int64_t with_force = 0, with_stress = 0;
  for (const int64_t s : train) {
    with_force += !data.force(s).empty();
    if (!data.has_stress(s)) continue;
    ++with_stress;
    if (loss.stress_weight > 0 && CellVolume(data.cell(s)) <= 0) {
      return absl::InvalidArgumentError(absl::StrCat(data.name(s), ": has a stress, but no cell to have it in"));
    }
  }
  if (loss.force_weight > 0 && with_force == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--force_weight=", loss.force_weight, ", but none of the ", train.size(),
                     " training structures has forces; use structures with forces, or --force_weight=0"));
  }
  if (loss.stress_weight > 0 && with_stress == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--stress_weight=", loss.stress_weight, ", but none of the ", train.size(),
        " training structures has a stress and is periodic in three directions; use such structures with a stress or "
        "virial, or --stress_weight=0"));
  }
  return absl::OkStatus();
}

absl::Status CheckManyBodyOptions(const DescriptorOptions& descriptor, const AtomisticTaskOptions& options) {
  if (descriptor.is_chebyshev()) return absl::OkStatus();
  if (options.gpu >= 0) {
    return absl::InvalidArgumentError(
        "--potential=many-body has kernels for processors: leave out --device, or add --compile_mode=none for "
        "LibTorch's");
  }
  if (options.mixed_precision) {
    return absl::InvalidArgumentError("--potential=many-body computes in fp32 or fp64, not in bf16-mixed");
  }
  if (options.angular == AngularMethod::kTriplets) {
    return absl::InvalidArgumentError("--angular=triplets: --potential=many-body has no sums over triplets");
  }
  if (options.compile.preset == CompilePreset::kMaxAutotune) {
    return absl::InvalidArgumentError(
        "--compile_preset=max-autotune times kernels of networks, which are not what --potential=many-body spends its "
        "time on: take reduce-overhead");
  }
  return absl::OkStatus();
}

absl::Status CheckGpuOptions(const AtomisticTaskOptions& options) {
  if (options.gpu < 0) return absl::OkStatus();
  if (options.mixed_precision) {
    return absl::InvalidArgumentError(
        "precision bf16-mixed is not what the kernels for GPUs offer, which are fp32 or fp64: leave it out, or use "
        "--compile_mode=none");
  }
  if (options.angular == AngularMethod::kTriplets) {
    return absl::InvalidArgumentError(
        "--angular=triplets: the kernels for GPUs sum by moments, which gives the same numbers; leave the flag out");
  }
  if (options.compile.preset == CompilePreset::kMaxAutotune) {
    return absl::InvalidArgumentError(
        "--compile_preset=max-autotune times kernels for processors, which a GPU does not use: take reduce-overhead");
  }
  return absl::OkStatus();
}

}  // namespace

class ForceTask::Impl {
 public:
  virtual ~Impl() = default;
  // Moves the work of Run to the GPU of the task's options, and loads all structures to it.
  virtual absl::Status LoadToGpu(const ForceStepMakers& steps) = 0;
  virtual int64_t gpu_bytes() const = 0;
  virtual absl::Status MakeBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const = 0;
  virtual absl::StatusOr<NamedTensors> CompleteBatch(const NamedTensors& batch) const = 0;
  virtual std::vector<double> ExampleCounts(const NamedTensors& batch) const = 0;
  // Does what ForceKernel::Run does, on the processors or on a GPU. INTERNAL if a GPU fails.
  virtual absl::Status Run(const Tensor& parameters, const NamedTensors& batch, absl::Span<Tensor> gradients,
                           TermSums* sums, BatchErrors* errors) = 0;
  virtual absl::Span<const double> energy_errors() const = 0;  // [B] of the last Run
  virtual absl::StatusOr<TunedKernel> Tune(const TuneOptions& options) const = 0;
  virtual const KernelPlan& plan() const = 0;
  virtual void SetPlan(const KernelPlan& plan) = 0;
  virtual void SetFrozen(const std::vector<bool>& networks) = 0;
  virtual void SetRounding(bool on) = 0;
};

template <typename T>
class ForceTask::ImplOf : public Impl {
 public:
  // `task` must outlive this object, and have all its other members.
  explicit ImplOf(const ForceTask& task)
      : task_(task),
        cache_(MakeCache(task)),
        kernel_(task.model_, task.options_.loss, task.options_.angular, task.pool_.get(), cache_.get()) {}

  absl::Status MakeBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const override {
    if (device_ == nullptr) return task_.maker_->Make<T>(examples, batch);
    task_.maker_->MakeForDevice(examples, batch);
    return absl::OkStatus();
  }

  absl::StatusOr<NamedTensors> CompleteBatch(const NamedTensors& batch) const override {
    return task_.maker_->Complete<T>(batch);
  }

  std::vector<double> ExampleCounts(const NamedTensors& batch) const override {
    const ForceBatch<T> view(batch, task_.data_);
    const double scale = ForceCountScale(task_.options_.loss, view.sampled_share);
    std::vector<double> counts;
    for (int64_t e = 0; e < view.num_structures(); ++e) {
      counts.push_back(view.energy_weight(e));
      if (task_.forces()) counts.push_back(view.weight[e] * 3 * static_cast<double>(view.num_sampled[e]) * scale);
      if (task_.stress()) counts.push_back(view.has_stress[e] ? view.weight[e] * 9 : 0);
    }
    return counts;
  }

  absl::Status LoadToGpu(const ForceStepMakers& steps) override {
    const int gpu = task_.options_.gpu;
    std::string error;
    std::unique_ptr<ForceStep<T>> step = steps.Of<T>()(MakeStepModel(task_.model_, task_.options_.loss), gpu, &error);
    if (step == nullptr) return absl::InvalidArgumentError(absl::StrCat("device cuda:", gpu, ": ", error));
    ASSIGN_OR_RETURN(device_,
                     DeviceForceKernel<T>::Create(task_.data_, task_.model_, task_.options_.loss, std::move(step)));
    return absl::OkStatus();
  }
  int64_t gpu_bytes() const override { return device_ == nullptr ? 0 : device_->bytes(); }

  absl::Status Run(const Tensor& parameters, const NamedTensors& batch, absl::Span<Tensor> gradients, TermSums* sums,
                   BatchErrors* errors) override {
    if (device_ != nullptr) {
      return device_->Run(parameters.values<T>(), DeviceForceBatch(batch), gradients, sums, errors);
    }
    kernel_.Run(parameters.values<T>(), ForceBatch<T>(batch, task_.data_), gradients, sums, errors);
    return absl::OkStatus();
  }
  absl::Span<const double> energy_errors() const override {
    return device_ != nullptr ? device_->energy_errors() : kernel_.energy_errors();
  }

  absl::StatusOr<TunedKernel> Tune(const TuneOptions& options) const override {
    return TuneKernel<T>(task_.model_.shape(), nullptr, options);
  }
  const KernelPlan& plan() const override { return kernel_.plan(); }
  void SetPlan(const KernelPlan& plan) override { kernel_.SetPlan(plan); }
  void SetFrozen(const std::vector<bool>& networks) override {
    kernel_.SetFrozen(networks);
    if (device_ != nullptr) device_->SetFrozen(networks);
  }
  void SetRounding(bool on) override { kernel_.SetRounding(on); }

 private:
  static std::unique_ptr<GeometryCache<T>> MakeCache(const ForceTask& task) {
    const AtomicData& data = task.data_;
    const int64_t bytes = task.options_.geometry_bytes;
    // Pairs that are found anew or read from a disk in each epoch exceed memory, so geometry is not cached then.
    if (bytes <= 0 || task.options_.gpu >= 0 || !data.has_pairs() || data.exceeds_memory()) return nullptr;
    return std::make_unique<GeometryCache<T>>(data.num_structures(), bytes);
  }

  const ForceTask& task_;
  const std::unique_ptr<GeometryCache<T>> cache_;  // null if geometry is not cached
  ForceKernel<T> kernel_;
  std::unique_ptr<DeviceForceKernel<T>> device_;  // null: the work is done by kernel_
};

ForceTask::ForceTask(const AtomicData& data, const AtomisticTaskOptions& options, FeatureSource features,
                     AtomisticModel model)
    : PotentialTask(data, options, std::move(model)), features_(std::move(features)) {}

absl::StatusOr<std::unique_ptr<ForceTask>> ForceTask::Create(const AtomicData& given,
                                                             const AtomisticTaskOptions& options,
                                                             absl::Span<const int64_t> train,
                                                             const ForceStepMakers& steps) {
  const ProfileScope scope(Stage::kSetup);
  RETURN_IF_ERROR(CheckPrecision(options));
  RETURN_IF_ERROR(CheckManyBodyOptions(given.descriptor(), options));
  RETURN_IF_ERROR(CheckGpuOptions(options));
  RETURN_IF_ERROR(CheckLabels(given, options.loss, train));
  ASSIGN_OR_RETURN(const RepulsionRadii radii, RadiiOf(options.zbl, given.descriptor()));
  ASSIGN_OR_RETURN(const AtomicData data, LearnedLabels(given, radii, options.num_threads));
  ASSIGN_OR_RETURN(FeatureSource features, FeatureSource::Create(data, options.angular, options.precision,
                                                                 options.cached_features, options.num_threads));
  ASSIGN_OR_RETURN(AtomisticModel model, AtomisticModel::Create(data, features, options, train));
  std::unique_ptr<ForceTask> task(new ForceTask(data, options, std::move(features), std::move(model)));
  if (task->forces()) task->sampler_ = std::make_unique<ForceSampler>(data, options.force_sampling, train);
  task->maker_ = std::make_unique<ForceBatchMaker>(task->data_, task->model_, task->features_, task->sampler_.get(),
                                                   task->stress());
  if (options.num_threads > 1) task->pool_ = std::make_unique<ThreadPool>(options.num_threads);
  if (options.precision == DType::kF64) {
    task->impl_ = std::make_unique<ImplOf<double>>(*task);
  } else {
    task->impl_ = std::make_unique<ImplOf<float>>(*task);
  }
  if (options.gpu >= 0) {
    RETURN_IF_ERROR(task->impl_->LoadToGpu(steps));
    task->compile_message_ =
        absl::StrFormat("kernels run on cuda:%d, which keeps %d structures in %.1f MB", options.gpu,
                        data.num_structures(), static_cast<double>(task->impl_->gpu_bytes()) / 1e6);
  }
  task->SetMixedPrecision(true);
  RETURN_IF_ERROR(task->Prepare(train));
  return task;
}

ForceTask::~ForceTask() = default;

absl::Status ForceTask::Prepare(absl::Span<const int64_t> train) {
  const CompileOptions& compile = options_.compile;
  RETURN_IF_ERROR(CheckCompileOptions(compile));
  if (compile.preset == CompilePreset::kDefault) return absl::OkStatus();
  if (compile.preset == CompilePreset::kMaxAutotune) {
    // The networks see the atoms of a few structures at a time, as one thread takes these through all passes
    // (force_kernel.h).
    constexpr int64_t kTogether = 8;
    TuneOptions tune;
    tune.second_order = true;
    tune.batch_size = compile.batch_size;
    tune.rounding = options_.mixed_precision;
    tune.cache_directory = compile.cache_directory;
    tune.atoms.assign(model_.shape().num_species, 0);
    for (const int64_t s : train.subspan(0, std::min(kTogether, compile.batch_size))) {
      for (const uint8_t species : data_.species(s)) ++tune.atoms[species];
    }
    ASSIGN_OR_RETURN(const TunedKernel tuned, impl_->Tune(tune));
    SetPlan(tuned.plan);
    compile_message_ = absl::StrCat("max-autotune: ", Describe(tuned));
  }
  std::vector<int64_t> largest(train.begin(), train.end());
  const auto count = std::min<int64_t>(compile.batch_size, static_cast<int64_t>(largest.size()));
  std::partial_sort(largest.begin(), largest.begin() + count, largest.end(), [this](int64_t a, int64_t b) {
    return data_.num_atoms(a) != data_.num_atoms(b) ? data_.num_atoms(a) > data_.num_atoms(b) : a < b;
  });
  largest.resize(count);
  if (sampler_ != nullptr) sampler_->StartEpoch(0);
  NamedTensors batch;
  RETURN_IF_ERROR(MakeBatch(largest, &batch));
  std::vector<Tensor> gradients;
  for (size_t t = 0; t < terms().size(); ++t) {
    gradients.push_back(Tensor::Zeros(options_.precision, {model_.shape().num_parameters()}));
  }
  TermSums sums(static_cast<int>(gradients.size()));
  return impl_->Run(InitialParameters(0), batch, absl::MakeSpan(gradients), &sums, nullptr);
}

const KernelPlan& ForceTask::plan() const { return impl_->plan(); }

void ForceTask::SetPlan(const KernelPlan& plan) { impl_->SetPlan(plan); }

void ForceTask::FreezeNetworks(const std::vector<bool>& networks) { impl_->SetFrozen(networks); }

absl::Status ForceTask::MakeBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const {
  return impl_->MakeBatch(examples, batch);
}

absl::StatusOr<NamedTensors> ForceTask::CompleteBatch(const NamedTensors& batch) const {
  return impl_->CompleteBatch(batch);
}

std::vector<double> ForceTask::ExampleCounts(const NamedTensors& batch) const { return impl_->ExampleCounts(batch); }

void ForceTask::StartEpoch(int64_t epoch, bool training) {
  if (sampler_ == nullptr) return;
  if (training) {
    sampler_->StartEpoch(epoch);
  } else {
    sampler_->TakeAll();
  }
}

std::vector<LossTerm> ForceTask::terms() const {
  const double size = std::pow(model_.energy_scaling().scale, -2);
  std::vector<LossTerm> terms = {{"energy", "(eV/atom)^2", size}};
  if (forces()) terms.push_back({"force", "(eV/Å)^2", size});
  if (stress()) terms.push_back({"stress", "(eV/Å^3)^2"});
  return terms;
}

std::string ForceTask::loss_unit() const {
  const bool root = options_.loss.kind == LossKind::kRmse;
  if (forces() || stress()) return "";  // the sum has terms of several units
  return root ? "eV/atom" : "(eV/atom)^2";
}

Loss ForceTask::CombineTerms(const TermSums& sums) const {
  absl::InlinedVector<double, 3> weights = {options_.loss.energy_weight};
  if (forces()) weights.push_back(options_.loss.force_weight);
  if (stress()) weights.push_back(options_.loss.stress_weight);
  return CombineLossTerms(options_.loss.kind, weights, sums);
}

absl::Status ForceTask::AccumulateGradients(const Tensor& parameters, const NamedTensors& batch,
                                            absl::Span<Tensor> gradients, TermSums* sums) {
  RETURN_IF_ERROR(impl_->Run(parameters, batch, gradients, sums, nullptr));
  errors_.Record(batch.At("example").values<int64_t>(), impl_->energy_errors());
  return absl::OkStatus();
}

void ForceTask::SetMixedPrecision(bool on) {
  if (options_.mixed_precision) impl_->SetRounding(on);
}

absl::Status ForceTask::Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                                 absl::Span<double> metric_sums) {
  BatchErrors errors;
  RETURN_IF_ERROR(impl_->Run(parameters, batch, {}, sums, &errors));
  double* out = metric_sums.data();
  for (const ErrorSums* part : {&errors.energy, &errors.force, &errors.stress}) {
    *out++ += part->square;
    *out++ += part->absolute;
    *out++ += part->count;
  }
  return absl::OkStatus();
}

std::vector<Metric> ForceTask::Metrics(absl::Span<const double> sums) const {
  std::vector<Metric> metrics = {{"energy_rmse", "meV/atom", kMilli * std::sqrt(sums[0] / sums[2])},
                                 {"energy_mae", "meV/atom", kMilli * sums[1] / sums[2]}};
  if (forces()) {
    metrics.push_back({"force_rmse", "eV/Å", std::sqrt(sums[3] / sums[5])});
    metrics.push_back({"force_mae", "eV/Å", sums[4] / sums[5]});
  }
  if (stress()) metrics.push_back({"stress_rmse", "eV/Å^3", std::sqrt(sums[6] / sums[8])});
  return metrics;
}

}  // namespace rutile
