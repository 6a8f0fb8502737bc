// The Task of learning embeddings of a knowledge graph, which `train` runs for triples.
//
// There is one term, the loss of an example (kge_options.h); the loss is its mean. An example counts as one, or with
// group_queries as its number of triples; with weights of triples and known-false ones, as query_weights.h says. In
// training, the term includes what the regularizer adds; an evaluation's loss does not, so that it can be compared with
// that of another regularizer. Validation and test queries are ranked, filtered by train, valid and test, with
// realistic ties.
//
// Batch norms make an example's loss depend on its batch, so accumulated gradients of two batches are not those of one
// large batch, as in PyTorch. Running statistics are buffers among the parameters: FinishStep moves them by the
// statistics of each batch that gradients were computed of, in order.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<KgeTask> task,
//                    KgeTask::Create(graph, /*known=*/nullptr, options, /*num_threads=*/8));
//   Tensor parameters = task->InitialParameters(/*seed=*/1);
//   task->StartEpoch(0, /*training=*/true);
//   NamedTensors batch;
//   RETURN_IF_ERROR(task->MakeBatch({0, 1, 2}, &batch));
//   std::vector<Tensor> gradients = {Tensor::Zeros(task->parameter_dtype(), {task->num_parameters()})};
//   TermSums sums(1);
//   RETURN_IF_ERROR(task->AccumulateGradients(parameters, batch, absl::MakeSpan(gradients), &sums));
//
// With kernels of a GPU (KgeDevice) everything is computed there, in training with parameters that stay there
// (lib/task/gradients/resident_gradients.h).

#ifndef RUTILE_LIB_KGE_TRAINING_KGE_TASK_H_
#define RUTILE_LIB_KGE_TRAINING_KGE_TASK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/graph/known_tails.h"
#include "lib/kge/gpu/kge_step.h"
#include "lib/kge/layers/batch_statistics.h"
#include "lib/kge/layers/batch_sum.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/kge/training/conve_kernel.h"
#include "lib/kge/training/device_kge_kernel.h"
#include "lib/kge/training/kge_examples.h"
#include "lib/kge/training/touched_rows.h"
#include "lib/machine/parallel_for.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/ranking/gpu/counting_device.h"
#include "lib/ranking/rank_counts.h"
#include "lib/ranking/scores/score_sweep.h"
#include "lib/task/eager_options.h"
#include "lib/task/exchange.h"
#include "lib/task/gradients/gradient_delivery.h"
#include "lib/task/gradients/gradient_observer.h"
#include "lib/task/gradients/gradient_stream.h"
#include "lib/task/gradients/resident_gradients.h"
#include "lib/task/gradients/row_gradients.h"
#include "lib/task/model_sharding.h"
#include "lib/task/resume_rule.h"
#include "lib/task/task.h"
#include "lib/task/torch/eager_task.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// What trains and ranks on a GPU; both or neither.
struct KgeDevice {
  std::unique_ptr<KgeStep> step;             // of MakeStepShape(shape), in the options' precision
  std::unique_ptr<CountingDevice> counting;  // for ranks
};

using MakeKgeDevice = std::function<absl::StatusOr<KgeDevice>(const KgeStepShape& shape, bool fp64)>;

// Training and evaluation of one model on one graph, by ConveKernel or on a GPU.
class KgeTask : public Task,
                public GradientStream,
                public ModelSharding,
                public EagerTask,
                public ResidentGradients,
                public RowGradients {
 public:
  // known: the known tails of train, valid and test together; null: they are found here. num_threads: results do not
  // depend on it, except where LibTorch's matrix products do. factors: how the kernel rounds factors of matrix products
  // in training, for fp32 parameters. make_device: makes the kernels of a GPU for the shape, or its error is returned;
  // null: processors train. INVALID_ARGUMENT: errors of CheckKgeOptions; fewer than 2 entities; rounding with fp64 or
  // distances; a model without HasDeviceKernels, weights or known-false triples on a GPU.
  static absl::StatusOr<std::unique_ptr<KgeTask>> Create(std::shared_ptr<const KnowledgeGraph> graph,
                                                         std::shared_ptr<const KnownTails> known,
                                                         const KgeOptions& options, int num_threads,
                                                         FactorRounding factors = FactorRounding::kNone,
                                                         const MakeKgeDevice& make_device = nullptr);
  ~KgeTask() override;

  // From now on ConvE's batch norms use the batches of all processes, as one process with all examples would. All
  // processes must then call AccumulateGradients for each training batch.
  void SynchronizeNorms(BatchSum sum);
  // Kernels of a GPU neither synchronize norms nor shard a model.
  ModelSharding* sharding() override { return device_ == nullptr ? this : nullptr; }
  bool SynchronizesBatches() const override { return synchronizes_batches_; }
  // Shards rows of embeddings, channels and columns of fc (kge_shard.h). CHECK-fails if CanShard is false, and after
  // SynchronizeNorms: processes that see whole batches have nothing to synchronize.
  std::vector<std::vector<GradientRange>> ShardModel(Exchange* exchange) override;
  void UnshardModel() override { kernel_.SetShard(nullptr); }

  // Learns from some of the training triples alone (KgeExamples::LearnFrom, which says what is returned). The loss of a
  // validation query still takes the tails of all training triples for true.
  std::vector<uint8_t> LearnFrom(absl::Span<const uint8_t> kept) { return examples_.LearnFrom(kept); }

  const KgeShape& shape() const { return shape_; }
  const KgeExamples& examples() const { return examples_; }

  int64_t num_examples() const override { return examples_.size(); }
  double ExampleCost(int64_t example) const override { return 1; }
  // Fills the tensors of KgeExamples::FillBatch.
  absl::Status MakeBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const override {
    return MakeNumberedBatch(0, examples, batch);
  }
  // The mask of candidate_dropout depends on the number.
  absl::Status MakeNumberedBatch(int64_t number, absl::Span<const int64_t> examples,
                                 NamedTensors* batch) const override;
  // On a GPU, the batches that Evaluate gets until the next call must come with the same parameters, which are sent
  // there with the first of them.
  void StartEpoch(int64_t epoch, bool training) override {
    epoch_ = training ? epoch : -1;
    evaluated_ = false;
  }

  // Drops the batch statistics that FinishStep would use; the task has no other state.
  absl::Status SetState(const NamedTensors& state) override;
  // Returns the options, and the hash of the triples.
  std::map<std::string, std::string> ResumeConfig() const override { return config_; }
  absl::Span<const ResumeRule> ResumeRules() const override;

  DType parameter_dtype() const override { return shape_.options.precision; }
  std::vector<ParameterSlice> parameter_slices() const override { return shape_.Slices(); }
  Tensor InitialParameters(uint64_t seed) const override;

  std::vector<LossTerm> terms() const override;
  Loss CombineTerms(const TermSums& sums) const override;
  at::Tensor ExampleLosses(const at::Tensor& parameters, const NamedTensors& batch) const override;
  const EagerTask* eager() const override { return this; }
  // Training batches move the running statistics, as those of AccumulateGradients do.
  at::Tensor EagerLosses(const at::Tensor& parameters, const NamedTensors& batch,
                         const EagerOptions& options) const override;
  // Supports all but TorchScript, and for distances all but rounded factors.
  absl::Status CheckEager(const EagerOptions& options) const override;
  std::vector<double> ExampleCounts(const NamedTensors& batch) const override;
  // Computed by ConveKernel with num_threads threads, or on the GPU. One thread at a time may call this and Evaluate.
  absl::Status AccumulateGradients(const Tensor& parameters, const NamedTensors& batch, absl::Span<Tensor> gradients,
                                   TermSums* sums) override;
  GradientStream* stream() override { return device_ == nullptr ? this : nullptr; }
  ResidentGradients* resident() override { return device_ == nullptr ? nullptr : this; }
  // With negatives_per_batch.
  bool has_rows() const override { return rows_ != nullptr; }
  absl::Status ComputeRows(const Tensor& parameters, const NamedTensors& batch, RowGradient* gradient,
                           TermSums* sums) override;
  DeviceParameters* parameters() override { return device_->parameters(); }
  absl::Status AddOnDevice(const NamedTensors& batch, bool overwrite) override;
  absl::Status FetchSums(TermSums* sums) override;
  std::vector<GradientRange> EarlyGradients() const override { return ConveKernel::Early(shape_); }
  absl::Status StreamGradients(const Tensor& parameters, const NamedTensors& batch, const GradientDelivery& delivery,
                               Tensor* gradient, TermSums* sums) override;
  void FinishStep(Tensor* parameters) override;

  int num_metric_sums() const override { return kNumMetricSums; }
  absl::Status Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                        absl::Span<double> metric_sums) override;
  // EvaluateEager stores the scores of a whole batch, [B, entities].
  bool EvaluatesOnDevices() const override { return true; }
  void EvaluateEager(const at::Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                     absl::Span<double> metric_sums) const override;
  // Returns mrr, mr, hits@1, hits@3 and hits@10 of realistic filtered ranks over all ranked queries, without units.
  std::vector<Metric> Metrics(absl::Span<const double> metric_sums) const override;

  ThreadPool* Threads() override { return &pool_; }
  absl::Status WriteModel(absl::string_view path, const Tensor& parameters, const Metadata& extra) const override;

 private:
  // The sums of 1/rank, rank, hits at 1, 3 and 10, and the number of ranks.
  static constexpr int kNumMetricSums = 6;

  KgeTask(std::shared_ptr<const KnowledgeGraph> graph, std::shared_ptr<const KnownTails> known,
          const KgeOptions& options, int num_threads, FactorRounding factors);
  // Sends parameters to the GPU for Evaluate.
  absl::Status SetEvaluated(const Tensor& parameters);
  // Computes on the GPU what Evaluate does.
  absl::Status EvaluateOnDevice(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                                absl::Span<double> metric_sums);
  // The ranks of a batch at the parameters that device_ evaluates.
  template <typename T>
  absl::StatusOr<std::vector<Rank>> RanksOnDevice(const NamedTensors& batch);
  // The table of entities and their biases.
  template <typename T>
  ScoreTable<T> TableOf(const Tensor& parameters) const;
  template <typename T>
  void AddRanks(const Tensor& parameters, const NamedTensors& batch, absl::Span<double> metric_sums);
  double CountOf(const NamedTensors& batch) const;
  static void AddMetrics(absl::Span<const Rank> ranks, absl::Span<double> metric_sums);
  const std::shared_ptr<const KnowledgeGraph> graph_;
  KgeExamples examples_;
  const KgeShape shape_;
  const std::map<std::string, std::string> config_;
  const Metadata splits_;  // DescribeSplits, for model files
  ThreadPool pool_;
  ConveKernel kernel_;
  std::unique_ptr<TouchedRows> rows_;        // null: each batch touches all entities
  std::unique_ptr<DeviceKgeKernel> device_;  // null: processors train
  std::unique_ptr<CountingDevice> counting_;
  bool evaluated_ = false;     // the GPU has the parameters of this evaluation
  double resident_count_ = 0;  // of the batches that AddOnDevice added since FetchSums
  Tensor device_gradient_;     // [P] a batch's, fetched from the GPU
  Tensor hidden_;              // [Q, d] hidden vectors of the ranked queries
  int64_t epoch_ = -1;
  bool synchronizes_batches_ = false;
  // Return the statistics of the batches since FinishStep: those of the eager path may still be on their way from a
  // device. That path, which has only a const task, adds to it too; one thread.
  mutable std::vector<std::function<BatchStatistics()>> seen_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_KGE_TASK_H_
