#include "lib/kge/training/kge_task.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/file/sha256.h"
#include "lib/graph/known_file.h"
#include "lib/graph/triple_weights.h"
#include "lib/graph/triples_file.h"
#include "lib/kge/layers/kge_shard.h"
#include "lib/kge/layers/running_statistics.h"
#include "lib/kge/model/kge_file.h"
#include "lib/kge/model/kge_init.h"
#include "lib/kge/model/kge_labels.h"
#include "lib/kge/model/kge_options_text.h"
#include "lib/kge/training/distinct_queries.h"
#include "lib/kge/training/scores/distance_scores.h"
#include "lib/kge/training/scores/query_weights.h"
#include "lib/ranking/device_rank_counter.h"
#include "lib/ranking/scores/score_sweep.h"
#include "lib/task/precision.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

constexpr int64_t kHitsAt[] = {1, 3, 10};
// Numbers that a thread adds at a time.
constexpr int64_t kGrain = 1 << 16;

std::map<std::string, std::string> MakeConfig(const KgeOptions& options, FactorRounding factors,
                                              const KnowledgeGraph& graph) {
  std::map<std::string, std::string> config = DescribeKgeOptions(options);
  config["precision"] = std::string(kPrecisionNames.Name(TrainingPrecision(options.precision, factors)));
  if (factors == FactorRounding::kTwoParts) {
    config["float32_matmul_precision"] = std::string(kMatmulPrecisionNames.Name(factors));
  }
  config["triples_sha256"] = TriplesSha256(graph);
  if (const std::string weights = WeightsSha256(graph); !weights.empty()) config["weights_sha256"] = weights;
  if (options.negatives_per_batch > 0 && options.negatives_by == NegativeKind::kType) {
    const EntityTypes& types = graph.entity_types;
    config["entity_types_sha256"] = Sha256Hex(absl::StrCat(
        absl::StrJoin(types.names, "\n"), "\n", absl::StrJoin(types.begin, " "), "\n", absl::StrJoin(types.type, " ")));
  }
  // Rows of embeddings belong to these names in this order: no override lets a resumed run have others.
  config["names_sha256"] =
      Sha256Hex(absl::StrCat(VocabularySha256(graph), "\n", absl::StrJoin(graph.relation_labels, "\n")));
  return config;
}

absl::Status NoProducts(KgeModel model) {
  return absl::InvalidArgumentError(
      absl::StrCat("kge_model ", kKgeModelNames.Name(model),
                   " has no matrix products whose factors could be rounded: use precision fp32 or fp64, and "
                   "float32_matmul_precision highest"));
}

}  // namespace

KgeTask::KgeTask(std::shared_ptr<const KnowledgeGraph> graph, std::shared_ptr<const KnownTails> known,
                 const KgeOptions& options, int num_threads, FactorRounding factors)
    : graph_(std::move(graph)),
      examples_(graph_, std::move(known), options),
      shape_{options, graph_->num_entities(), graph_->num_query_relations()},
      config_(MakeConfig(options, factors, *graph_)),
      splits_(DescribeSplits(*graph_)),
      pool_(num_threads),
      kernel_(shape_, &pool_, factors),
      rows_(options.negatives_per_batch == 0 ? nullptr : std::make_unique<TouchedRows>(shape_, &pool_, factors)) {}

KgeTask::~KgeTask() = default;

absl::StatusOr<std::unique_ptr<KgeTask>> KgeTask::Create(std::shared_ptr<const KnowledgeGraph> graph,
                                                         std::shared_ptr<const KnownTails> known,
                                                         const KgeOptions& options, int num_threads,
                                                         FactorRounding factors, const MakeKgeDevice& make_device) {
  const ProfileScope scope(Stage::kSetup);
  RETURN_IF_ERROR(CheckKgeOptions(options));
  if (factors != FactorRounding::kNone && options.precision == DType::kF64) {
    return absl::InvalidArgumentError("rounded factors go with fp32 parameters, not with fp64");
  }
  if (factors != FactorRounding::kNone && IsDistanceModel(options.model)) {
    return NoProducts(options.model);
  }
  if (graph->num_entities() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(graph->num_entities(), " entities: expected at least 2, a model compares them"));
  }
  if (make_device != nullptr && !HasDeviceKernels(options.model)) {
    return absl::InvalidArgumentError(
        absl::StrCat("kge_model ", kKgeModelNames.Name(options.model),
                     " has no kernels for GPUs: train it on processors, or with compile_mode none"));
  }
  if (options.relation_prediction > 0 && !graph->negatives.empty() && graph->num_query_relations() < 2) {
    return absl::InvalidArgumentError(
        "relation_prediction with known-false triples of one relation: no other relation could be right instead; leave "
        "one of them out");
  }
  if (make_device != nullptr && HasWeightsOrNegatives(*graph)) {
    return absl::InvalidArgumentError(
        "the triples have weights or known-false ones (featurize --weight_column, --negatives), which kernels for GPUs "
        "do not know: train on processors, or with compile_mode none");
  }
  if (options.negatives_per_batch > graph->num_entities()) {
    return absl::InvalidArgumentError(absl::StrCat("negatives_per_batch = ", options.negatives_per_batch,
                                                   ": the graph has ", graph->num_entities(),
                                                   " entities; pass 0 to score all of them"));
  }
  if (options.negatives_per_batch > 0 && options.negatives_by == NegativeKind::kType && graph->entity_types.empty()) {
    return absl::InvalidArgumentError(
        "negatives_by = type: the triples have no types of entities; give them to featurize (--entity_types, or nodes "
        "with categories), or draw by frequency");
  }
  if (make_device != nullptr && options.negatives_per_batch > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("negatives_per_batch = ", options.negatives_per_batch,
                     ": kernels for GPUs score all entities; train on processors, or with compile_mode none"));
  }
  if (known == nullptr) known = std::make_shared<KnownTails>(AllKnownTails(*graph));
  std::unique_ptr<KgeTask> task(new KgeTask(std::move(graph), std::move(known), options, num_threads, factors));
  if (make_device != nullptr) {
    ASSIGN_OR_RETURN(KgeDevice device,
                     make_device(MakeStepShape(task->shape_, factors), options.precision == DType::kF64));
    task->device_ = std::make_unique<DeviceKgeKernel>(task->shape_, std::move(device.step));
    task->counting_ = std::move(device.counting);
    // What evaluations need on the device is taken now, so that a lack of memory shows before training.
    RETURN_IF_ERROR(task->SetEvaluated(Tensor::Zeros(task->parameter_dtype(), {task->num_parameters()})));
  }
  return task;
}

void KgeTask::SynchronizeNorms(BatchSum sum) {
  synchronizes_batches_ = shape_.is_conve();
  kernel_.SetBatchSum(std::move(sum));
}

std::vector<std::vector<GradientRange>> KgeTask::ShardModel(Exchange* exchange) {
  CHECK(!synchronizes_batches_) << "batch norms are synchronized";
  kernel_.SetShard(exchange);
  return OwnedParameters(shape_, exchange->size());
}

absl::Status KgeTask::MakeNumberedBatch(int64_t number, absl::Span<const int64_t> examples, NamedTensors* batch) const {
  examples_.FillBatch(examples, epoch_, batch, number);
  return absl::OkStatus();
}

absl::Status KgeTask::SetState(const NamedTensors& state) {
  seen_.clear();
  return Task::SetState(state);
}

absl::Span<const ResumeRule> KgeTask::ResumeRules() const {
  static constexpr ResumeRule kRules[] = {
      // Early versions did not record it.
      {"names_sha256", ResumeRule::kDecidesLoss, "names_sha256",
       "the data have other names than those of the run to resume, or in another order, and rows of embeddings would "
       "go to other names; give the same, or start a new run with --init_from, which takes rows by name"},
  };
  return kRules;
}

Tensor KgeTask::InitialParameters(uint64_t seed) const { return InitialKgeTensor(shape_, seed, parameter_dtype()); }

std::vector<LossTerm> KgeTask::terms() const {
  return {{IsSoftmaxLoss(shape_.options.loss) ? "cross_entropy" : "bce", ""}};
}

Loss KgeTask::CombineTerms(const TermSums& sums) const {
  Loss loss;
  loss.value = sums.sum[0] / sums.count[0];
  loss.weight = {1 / sums.count[0]};
  return loss;
}

absl::Status KgeTask::CheckEager(const EagerOptions& options) const {
  if (IsDistanceModel(shape_.options.model) &&
      (IsMixed(options.precision) || options.matmul != FactorRounding::kNone)) {
    return NoProducts(shape_.options.model);
  }
  if (!options.script) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "embedding models have no form in TorchScript: train with compile_mode compile or none");
}

std::vector<double> KgeTask::ExampleCounts(const NamedTensors& batch) const {
  const KgeBatch view = ViewKgeBatch(batch);
  std::vector<double> counts(view.size());
  for (int64_t q = 0; q < view.size(); ++q) counts[q] = QueryCount(shape_.options, view, q);
  return counts;
}

double KgeTask::CountOf(const NamedTensors& batch) const {
  const std::vector<double> counts = ExampleCounts(batch);
  return std::accumulate(counts.begin(), counts.end(), 0.0);
}

absl::Status KgeTask::StreamGradients(const Tensor& parameters, const NamedTensors& batch,
                                      const GradientDelivery& delivery, Tensor* gradient, TermSums* sums) {
  const KgeBatch view = ViewKgeBatch(batch);
  BatchStatistics statistics;
  RETURN_IF_ERROR(kernel_.AccumulateGradients(parameters, view, gradient, &sums->sum[0], &statistics, delivery));
  sums->count[0] += CountOf(batch);
  if (view.training) seen_.push_back([statistics = std::move(statistics)] { return statistics; });
  return absl::OkStatus();
}

absl::Status KgeTask::ComputeRows(const Tensor& parameters, const NamedTensors& batch, RowGradient* gradient,
                                  TermSums* sums) {
  const KgeBatch view = ViewKgeBatch(batch);
  BatchStatistics statistics;
  RETURN_IF_ERROR(rows_->ComputeRows(parameters, view, gradient, &sums->sum[0], &statistics));
  sums->count[0] += CountOf(batch);
  seen_.push_back([statistics = std::move(statistics)] { return statistics; });
  return absl::OkStatus();
}

// Where the optimizer steps on the host, the gradient of the GPU is sent there.
absl::Status KgeTask::AccumulateGradients(const Tensor& parameters, const NamedTensors& batch,
                                          absl::Span<Tensor> gradients, TermSums* sums) {
  if (device_ == nullptr) {
    return StreamGradients(parameters, batch, GradientDelivery::Add(), &gradients[0], sums);
  }
  const KgeBatch view = ViewKgeBatch(batch);
  evaluated_ = false;
  if (!device_gradient_.Reuse(parameter_dtype(), {num_parameters()})) {
    device_gradient_ = Tensor::Zeros(parameter_dtype(), {num_parameters()});
  }
  RETURN_IF_ERROR(device_->Gradient(parameters, view, &device_gradient_));
  resident_count_ += CountOf(batch);
  RETURN_IF_ERROR(FetchSums(sums));
  const auto add = [&](auto to, auto from) {
    pool_.For(static_cast<int64_t>(to.size()), kGrain, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) to[i] += from[i];
    });
  };
  if (parameter_dtype() == DType::kF64) {
    add(gradients[0].mutable_values<double>(), device_gradient_.values<double>());
  } else {
    add(gradients[0].mutable_values<float>(), device_gradient_.values<float>());
  }
  return absl::OkStatus();
}

absl::Status KgeTask::AddOnDevice(const NamedTensors& batch, bool overwrite) {
  const ProfileScope scope(Stage::kStep);
  resident_count_ += CountOf(batch);
  return device_->Add(ViewKgeBatch(batch), overwrite);
}

absl::Status KgeTask::FetchSums(TermSums* sums) {
  std::vector<BatchStatistics> seen;
  RETURN_IF_ERROR(device_->Fetch(&sums->sum[0], &seen));
  sums->count[0] += std::exchange(resident_count_, 0);
  for (BatchStatistics& statistics : seen) {
    seen_.push_back([statistics = std::move(statistics)] { return statistics; });
  }
  return absl::OkStatus();
}

void KgeTask::FinishStep(Tensor* parameters) {
  for (const auto& statistics : seen_) UpdateRunningStatistics(shape_, statistics(), parameters);
  seen_.clear();
}

template <typename T>
void KgeTask::AddRanks(const Tensor& parameters, const NamedTensors& batch, absl::Span<double> metric_sums) {
  const DistinctQueries distinct = FindDistinct(batch);
  const std::vector<int64_t> size = {static_cast<int64_t>(distinct.head.size()), shape_.dim()};
  if (!hidden_.Reuse(parameter_dtype(), size)) hidden_ = Tensor::Zeros(parameter_dtype(), size);
  kernel_.Hidden(parameters, distinct.head, distinct.relation, &hidden_);
  const std::vector<Rank> ranks =
      CountRanks<T>(TableOf<T>(parameters), hidden_.values<T>(), distinct.Queries(), &pool_);
  AddMetrics(ranks, metric_sums);
}

template <typename T>
ScoreTable<T> KgeTask::TableOf(const Tensor& parameters) const {
  const absl::Span<const T> values = parameters.values<T>();
  const KgeShape::Offsets at = shape_.offsets();
  ScoreTable<T> table;
  table.num = shape_.num_entities;
  table.dim = shape_.dim();
  table.form = ScoreFormOf(shape_.options);
  table.entity = values.subspan(at.entity, table.num * table.dim);
  if (at.entity_bias >= 0) table.bias = values.subspan(at.entity_bias, table.num);
  return table;
}

template <typename T>
absl::StatusOr<std::vector<Rank>> KgeTask::RanksOnDevice(const NamedTensors& batch) {
  const DistinctQueries distinct = FindDistinct(batch);
  const std::vector<int64_t> size = {static_cast<int64_t>(distinct.head.size()), shape_.dim()};
  if (!hidden_.Reuse(parameter_dtype(), size)) hidden_ = Tensor::Zeros(parameter_dtype(), size);
  RETURN_IF_ERROR(device_->Hidden(distinct.head, distinct.relation, &hidden_));
  return CountRanksOn<T>(counting_.get(), shape_.num_entities, hidden_.values<T>(), distinct.Queries());
}

absl::Status KgeTask::SetEvaluated(const Tensor& parameters) {
  RETURN_IF_ERROR(device_->SetEvaluated(parameters));
  if (parameter_dtype() == DType::kF64) {
    SetEntities(TableOf<double>(parameters), /*first=*/0, counting_.get());
  } else {
    SetEntities(TableOf<float>(parameters), /*first=*/0, counting_.get());
  }
  const std::string error = counting_->f64()->error();  // both types share the device
  return error.empty() ? absl::OkStatus() : absl::ResourceExhaustedError(absl::StrCat("the GPU failed: ", error));
}

absl::Status KgeTask::EvaluateOnDevice(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                                       absl::Span<double> metric_sums) {
  const bool fp64 = parameter_dtype() == DType::kF64;
  if (!evaluated_) RETURN_IF_ERROR(SetEvaluated(parameters));
  evaluated_ = true;
  RETURN_IF_ERROR(device_->Evaluate(ViewKgeBatch(batch)));
  absl::StatusOr<std::vector<Rank>> ranks = fp64 ? RanksOnDevice<double>(batch) : RanksOnDevice<float>(batch);
  RETURN_IF_ERROR(ranks.status());
  AddMetrics(*ranks, metric_sums);
  std::vector<BatchStatistics> none;
  return device_->Fetch(&sums->sum[0], &none);
}

void KgeTask::AddMetrics(absl::Span<const Rank> ranks, absl::Span<double> metric_sums) {
  for (const Rank& rank : ranks) {
    const double realistic = rank.realistic();
    metric_sums[0] += 1 / realistic;
    metric_sums[1] += realistic;
    for (int k = 0; k < 3; ++k) metric_sums[2 + k] += realistic <= static_cast<double>(kHitsAt[k]) ? 1 : 0;
    metric_sums[5] += 1;
  }
}

std::vector<Metric> KgeTask::Metrics(absl::Span<const double> metric_sums) const {
  const double n = metric_sums[5];
  std::vector<Metric> metrics = {{"mrr", "", metric_sums[0] / n, /*higher_is_better=*/true},
                                 {"mr", "", metric_sums[1] / n}};
  for (int k = 0; k < 3; ++k) {
    metrics.push_back({absl::StrCat("hits@", kHitsAt[k]), "", metric_sums[2 + k] / n, /*higher_is_better=*/true});
  }
  return metrics;
}

absl::Status KgeTask::Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                               absl::Span<double> metric_sums) {
  CHECK(IsEvaluation(batch)) << "a batch of a training epoch";
  if (device_ != nullptr) {
    sums->count[0] += CountOf(batch);
    return EvaluateOnDevice(parameters, batch, sums, metric_sums);
  }
  RETURN_IF_ERROR(kernel_.AccumulateGradients(parameters, ViewKgeBatch(batch), nullptr, &sums->sum[0], nullptr));
  sums->count[0] += CountOf(batch);
  if (parameter_dtype() == DType::kF64) {
    AddRanks<double>(parameters, batch, metric_sums);
  } else {
    AddRanks<float>(parameters, batch, metric_sums);
  }
  return absl::OkStatus();
}

absl::Status KgeTask::WriteModel(absl::string_view path, const Tensor& parameters, const Metadata& extra) const {
  TrainedKge model;
  model.shape = shape_;
  model.names.entities = graph_->entities;
  model.names.relations = graph_->relations;
  model.names.entity_labels = graph_->entity_labels;
  model.names.relation_labels = graph_->relation_labels;
  model.names.entity_types = graph_->entity_types;
  model.names.inverse_relations = graph_->inverse_relations;
  model.parameters = parameters;
  model.metadata = extra;
  model.metadata.insert(splits_.begin(), splits_.end());
  return WriteKgeModel(path, model);
}

}  // namespace rutile
