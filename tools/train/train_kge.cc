#include "tools/train/train_kge.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"
#include "lib/distributed/communicator.h"
#include "lib/file/file.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/graph/known_file.h"
#include "lib/graph/known_tails.h"
#include "lib/graph/triple_sample.h"
#include "lib/graph/triples_file.h"
#include "lib/kge/gpu/kge_step.h"
#include "lib/kge/model/kge_file.h"
#include "lib/kge/model/kge_labels.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/kge/training/kge_examples.h"
#include "lib/kge/training/kge_task.h"
#include "lib/kge/training/scores/distance_scores.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/ranking/gpu/cuda_counting_device.h"
#include "lib/task/eager_options.h"
#include "lib/tensorfile/file_kind.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/batch_limit.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/run_plan.h"
#include "lib/train/step/first_batch_check.h"
#include "tools/common/flags/data_sha256.h"
#include "tools/common/flags/memory_flag.h"
#include "tools/common/flags/thread_flags.h"
#include "tools/common/run/flag_settings.h"
#include "tools/common/run/given_flags.h"
#include "tools/train/config_record.h"
#include "tools/train/data/training_subset.h"
#include "tools/train/first_batch_process.h"
#include "tools/train/flags/kge_flags.h"
#include "tools/train/flags/kge_recipe.h"
#include "tools/train/flags/memory_flags.h"
#include "tools/train/flags/precision_flags.h"
#include "tools/train/flags/preset_flags.h"
#include "tools/train/flags/process_flags.h"
#include "tools/train/init_flags.h"
#include "tools/train/init_kge.h"
#include "tools/train/libtorch.h"
#include "tools/train/report/train_plot.h"
#include "tools/train/run_member.h"
#include "tools/train/trainer_flags/checkpoint_flags.h"
#include "tools/train/trainer_flags/trainer_flags.h"

namespace rutile {
namespace {

constexpr char kChoseComplEx[] =
    "learns ComplEx, as no flag names a model: of those that were compared it is the best or close to it, in the least "
    "time; --kge_model=conve learns what the default was before";
// Of entities, from which a sample of them is worth its noise (docs/training.md, "Sampled softmax").
constexpr int64_t kWorthSampling = 100000;
constexpr char kTriples[] = "kg.triples";
constexpr char kKnown[] = "kg.known";

// Peeks at a file. Standard input is buffered, so that it can be read again from its beginning.
absl::StatusOr<TensorFile> Look(const std::string& path) {
  if (path != "-") return LookIntoTensorFile(path);
  ASSIGN_OR_RETURN(const FileContents contents, FileContents::Open(path));
  UnreadStandardInput(contents);
  TensorReadOptions options;
  options.verify_checksums = false;
  return ParseTensorFile(contents.path(), contents.data(), contents.owner(), options);
}

// Returns the kind, like "kg.triples"; "" for a file that is not ours.
std::string KindOf(const std::string& path) {
  if (path != "-" && !LooksLikeTensorFile(path)) return "";
  const absl::StatusOr<TensorFile> file = Look(path);
  if (!file.ok()) return "";
  const absl::StatusOr<FileKind> kind = GetFileKind(*file);
  return kind.ok() ? kind->name : "";
}

// Sets how many triples the inputs have to learn from, of how many entities; nothing of files that ReadData will
// refuse.
void SetSize(const std::vector<std::string>& inputs, KgeRecipeBasis* basis) {
  for (const std::string& input : inputs) {
    if (KindOf(input) != kTriples) continue;
    const absl::StatusOr<TensorFile> file = Look(input);
    const Tensor* const train = file.ok() ? file->tensors.Find("train") : nullptr;
    if (train == nullptr || train->rank() != 2) return;
    const auto entities = file->metadata.find("num_entities");
    if (entities == file->metadata.end() || !absl::SimpleAtoi(entities->second, &basis->num_entities)) return;
    basis->num_triples = train->dim(0);
    const Tensor* const weights = file->tensors.Find("train_weights");
    if (weights == nullptr || weights->dtype() != DType::kF64) return;
    const absl::Span<const double> each = weights->values<double>();
    basis->num_triples -= std::count(each.begin(), each.end(), 0.0);
    return;
  }
}

struct Data {
  std::shared_ptr<const KnowledgeGraph> graph;
  std::shared_ptr<const KnownTails> known;
};

absl::StatusOr<Data> ReadData(const std::vector<std::string>& inputs) {
  std::string triples, known;
  for (const std::string& input : inputs) {
    const std::string kind = KindOf(input);
    std::string* const path = kind == kTriples ? &triples : kind == kKnown ? &known : nullptr;
    if (path == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(input, ": expected a file of triples, and perhaps its known tails, beside ", inputs[0]));
    }
    if (!path->empty()) {
      return absl::InvalidArgumentError(absl::StrCat(input, ": a second file of kind ", kind, " beside ", *path,
                                                     ": give featurize all triples at once"));
    }
    *path = input;
  }
  if (triples.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(known, ": needs the file of triples that it was made from, too"));
  }
  ASSIGN_OR_RETURN(KnowledgeGraph graph, ReadTriples(triples));
  Data data;
  if (!known.empty()) {
    ASSIGN_OR_RETURN(KnownTails tails, ReadKnownTails(known, graph));
    data.known = std::make_shared<KnownTails>(std::move(tails));
  } else {
    data.known = std::make_shared<KnownTails>(AllKnownTails(graph));
  }
  data.graph = std::make_shared<KnowledgeGraph>(std::move(graph));
  return data;
}

void PrintKnownFalse(const KnowledgeGraph& graph, double negative_weight) {
  const auto num_zero = std::count(graph.negative_weights.begin(), graph.negative_weights.end(), 0.0);
  const auto num_weighted = static_cast<int64_t>(graph.negatives.size()) - num_zero;
  if (num_weighted == 0) {
    PrintWarning(absl::StrCat(num_zero, " triples are known to be false, and all have weight 0: none is learned; if ",
                              "0 was a label, run featurize --negatives without --weight_column"));
    return;
  }
  PrintMessage(absl::StrCat(num_weighted, " triples are known to be false",
                            num_zero > 0 ? absl::StrCat(" (", num_zero, " more have weight 0)") : "",
                            negative_weight == 0 ? " and are not learned (--negative_weight=0)" : ""));
}

// learned: the training examples.
void PrintFacts(const KgeTask& task, const KnowledgeGraph& graph, absl::Span<const int64_t> learned) {
  const KgeExamples& examples = task.examples();
  const KgeOptions& options = task.shape().options;
  const int64_t num_false =
      std::count_if(learned.begin(), learned.end(), [&](int64_t i) { return examples.IsFalse(i); });
  const int64_t num_true = static_cast<int64_t>(learned.size()) - num_false;
  const int64_t weightless = examples.num_true() - num_true;
  PrintMessage(absl::StrCat(
      graph.num_entities(), " entities, ", graph.num_relations(), " relations",
      graph.inverse_relations ? " and their inverses" : "", ", ", graph.train.size(), " triples as ", num_true,
      LearnsKeys(options) ? " queries" : " examples",
      weightless > 0 ? absl::StrCat(" (", weightless, " more have weight 0)") : "",
      num_false > 0 ? absl::StrCat(" and ", num_false, " known-false ones") : "", " train, ", graph.valid.size(),
      " validate, ", graph.test.size(), " are kept for the test; ", task.num_parameters(), " parameters; ",
      kKgeModelNames.Name(options.model),
      options.model == KgeModel::kConvE ? absl::StrCat(" (", kConveVariantNames.Name(options.variant), ")") : "",
      ", loss ", kKgeLossNames.Name(options.loss),
      options.negatives_per_batch > 0
          ? absl::StrCat(" sampled with ", options.negatives_per_batch, " negatives",
                         options.negatives_by == NegativeKind::kUniform
                             ? ""
                             : absl::StrCat(", half of them by ", kNegativeKindNames.Name(options.negatives_by)))
          : ""));
  if (!graph.train_weights.empty()) PrintMessage("losses of triples are multiplied by their weights");
  if (!graph.negatives.empty()) PrintKnownFalse(graph, options.negative_weight);
  if (!graph.inverse_relations) {
    PrintMessage(
        "without inverse relations tails alone are learned and ranked; featurize --inverse_relations adds them");
  }
}

// Returns what makes the kernels of the GPU of this number in CUDA; nullptr for -1.
MakeKgeDevice DeviceOf(int gpu) {
  if (gpu < 0) return nullptr;
  return [gpu](const KgeStepShape& shape, bool fp64) -> absl::StatusOr<KgeDevice> {
    KgeDevice device;
    std::string error;
    device.step = MakeCudaKgeStep(shape, fp64, gpu, &error);
    if (device.step != nullptr) device.counting = MakeCudaCountingDevice(gpu, &error);
    if (!error.empty()) return absl::UnavailableError(absl::StrCat("--device=cuda:", gpu, ": ", error));
    return device;
  };
}

// Runs the gradient check in the parameters' own type: rounded factors would hide mistakes, and they move activations
// across the kinks of relu.
absl::Status CheckInFullPrecision(const Data& data, const KgeOptions& model, int num_threads, int gpu,
                                  const TrainerOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<KgeTask> task,
                   KgeTask::Create(data.graph, data.known, model, num_threads, FactorRounding::kNone, DeviceOf(gpu)));
  const absl::Status status = CheckFirstBatch(*task, task->InitialParameters(options.seed),
                                              task->examples().TrainExamples(), options, /*epoch=*/0);
  return absl::IsFailedPrecondition(status) ? absl::InvalidArgumentError(status.message()) : status;
}

// Below this, waking threads takes longer than they save.
constexpr double kFlopsWorthThreads = 2e9;  // of a step

KgeShape ShapeOf(const KgeOptions& model, const KnowledgeGraph& graph) {
  return {model, graph.num_entities(), graph.num_query_relations()};
}

int KgeThreads(const KgeOptions& model, const KnowledgeGraph& graph, int64_t batch_size) {
  if (FlagGiven("threads")) return ThreadsFromFlags();
  const KgeShape shape = ShapeOf(model, graph);
  const int64_t of_query =  // products beside those with entities, for each number of an embedding
      shape.has_features()               ? shape.num_features()
      : model.model == KgeModel::kRescal ? shape.dim()
                                         : 0;
  const int64_t scored = model.negatives_per_batch > 0 ? model.negatives_per_batch : graph.num_entities();
  const double width = static_cast<double>(scored + of_query);
  const double flops = 6.0 * static_cast<double>(batch_size * shape.dim()) * width;  // forward, and twice backward
  return flops < kFlopsWorthThreads ? 1 : ThreadsFromFlags();
}

// Records how several processes share the run, for the user and for a resumed run.
void DescribeProcesses(const KgeOptions& model, bool synchronize, TrainerOptions* options,
                       std::vector<std::string>* messages) {
  if (options->communicator == nullptr || options->shard_model) return;
  if (model.model != KgeModel::kConvE || synchronize) return;
  options->config["sync_batchnorm"] = absl::StrCat("false with ", options->communicator->size(), " processes");
  messages->push_back(
      "each process's batch norms see its share of the batch: the run is not that of one process, but of as many with "
      "smaller batches for the norms (--strategy=tensor_parallel or --sync_batchnorm makes it the same)");
}

// True if epochs have the last batch of the training examples, which may be smaller than the others.
bool TrainsOnLastBatch(int64_t queries, const TrainerOptions& options) {
  const int64_t batches = (queries + options.batch_size - 1) / options.batch_size;
  return LimitBatches(options.overfit_batches, batches) == batches &&
         LimitBatches(options.limit_train_batches, batches) == batches;
}

// INVALID_ARGUMENT where a batch of ConvE has one query: its batch norms give 0 for it, whatever the query. queries:
// how many train. warns: say it where the last batch alone has.
absl::Status CheckBatchesOfNorms(const KgeTask& task, int64_t queries, const TrainerOptions& options, bool synchronize,
                                 bool warns) {
  if (!task.shape().is_conve()) return absl::OkStatus();
  if (queries < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(queries, " training query does not train ConvE: its batch norms compare the queries of a batch; ",
                     "give triples of 2 or more, featurize --inverse_relations, or --kge_model=distmult or complex"));
  }
  const bool each_alone = options.communicator != nullptr && !options.shard_model && !synchronize;
  const int64_t processes = each_alone ? options.communicator->size() : 1;
  // As many as leave some process a single query.
  const auto leaves_one = [&](int64_t rest) {
    return rest == 1 || (processes > 1 && rest > 0 && rest < 2 * processes);
  };
  if (warns && TrainsOnLastBatch(queries, options) && options.batch_size >= 2 * processes &&
      options.batch_size < queries && leaves_one(queries % options.batch_size)) {
    int64_t better = options.batch_size + 1;
    while (better < queries && leaves_one(queries % better)) ++better;
    PrintWarning(absl::StrCat("the last batch of an epoch has ", queries % options.batch_size, " of ", queries,
                              " queries, and batch norms of a single query pass nothing on, so that its step teaches "
                              "little: --batch_size=",
                              better, " avoids it"));
  }
  if (processes == 1 || std::min(queries, options.batch_size) >= 2 * processes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--batch_size=", options.batch_size, " of ", queries, " queries in ", processes,
      " processes does not train ConvE: batch norms compare the queries of a process's share of the batch; give ",
      2 * processes, " or more, or --sync_batchnorm"));
}

// INVALID_ARGUMENT where the validation triples have weights, and all that this run validates on weigh 0: the mean of
// their losses would not be a number.
absl::Status CheckWeightsOfValidation(const KgeExamples& examples, const std::vector<double>& weights,
                                      const Split& split, int64_t sample, const TrainerOptions& options) {
  if (weights.empty() || !options.overfit_batches.all()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const RunPlan plan, MakeRunPlan(split, options));
  const std::vector<int64_t>& used = plan.validation;
  if (!std::all_of(used.begin(), used.end(), [&](int64_t i) { return examples.IsWeightless(i); })) {
    return absl::OkStatus();
  }
  const bool limits = used.size() < split.validation.size();
  std::vector<std::string> flags;
  if (sample > 0) flags.push_back(absl::StrCat("--rank_sample=", sample));
  if (limits) flags.push_back("--limit_val_batches");
  return absl::InvalidArgumentError(
      absl::StrCat(absl::StrJoin(flags, " and "), flags.empty() ? "" : ": ", "the weights of all ", used.size(),
                   flags.empty() ? " validation queries" : " validation queries that were drawn",
                   " are 0, and there is no mean of their losses: ",
                   flags.empty() ? "give weights above 0, or triples without a validation set"
                                 : "draw more, or give weights above 0"));
}

}  // namespace

bool HoldsTriples(const std::vector<std::string>& inputs) {
  if (inputs.empty()) return false;
  const std::string kind = KindOf(inputs[0]);
  return kind == kTriples || kind == kKnown;
}

absl::Status TrainKge(const ToolRun& run, const std::vector<std::string>& inputs) {
  RETURN_IF_ERROR(RefusePotentialFlags());
  ASSIGN_OR_RETURN(const std::optional<CheckpointSummary> resumed, CheckpointToResume());
  ASSIGN_OR_RETURN(const Preset preset, PresetFromFlags(resumed));
  TrainerOptions resuming;
  RETURN_IF_ERROR(SetResumingFromFlags(&resuming));
  ASSIGN_OR_RETURN(const std::optional<InitialKge> initial, InitialKgeFromFlags(resuming));
  const KgeOptions* const initial_options = initial.has_value() ? &initial->options() : nullptr;
  ASSIGN_OR_RETURN(const KgeModel kind, KgeModelFromFlags(initial_options, preset, resumed));
  KgeRecipeBasis basis;
  basis.model = kind;
  basis.preset = preset;
  basis.initial = initial_options;
  SetSize(inputs, &basis);
  ASSIGN_OR_RETURN(const KgeRecipeChoice chosen, SetKgeRecipeFromFlags(basis, resumed));
  ASSIGN_OR_RETURN(TrainerOptions options, TrainerOptionsFromFlags());
  RETURN_IF_ERROR(CheckPlotFlags(options));
  ASSIGN_OR_RETURN(const std::string mapped, MapMemoryFromFlag());
  ASSIGN_OR_RETURN(KgeOptions model, KgeOptionsFromFlags(initial_options, preset, resumed));
  std::vector<std::string> messages;
  if (ChoseKgeModel(model, initial.has_value(), resumed)) messages.emplace_back(kChoseComplEx);
  if (!chosen.message.empty()) messages.push_back(chosen.message);
  if (!mapped.empty()) messages.push_back(mapped);
  ASSIGN_OR_RETURN(const int gpu, KernelGpuFromFlags(options, /*rounds=*/true));
  ASSIGN_OR_RETURN(const FactorRounding factors,
                   gpu >= 0 ? GpuRoundingFromFlags(options) : KernelRoundingFromFlags(options));
  RETURN_IF_ERROR(SetEagerFromFlags(factors, /*kernels_on_gpu=*/gpu >= 0, &options, &messages));
  if (gpu >= 0) messages.push_back(absl::StrCat("training and validation run on cuda:", gpu));
  ASSIGN_OR_RETURN(model.precision, PrecisionFromFlags(/*data64=*/false, factors, options));
  ASSIGN_OR_RETURN(const std::vector<std::string> memory, MemoryMessagesFromFlags(ModelKind::kEmbeddings, options));
  messages.insert(messages.end(), memory.begin(), memory.end());
  ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> communicator, CommunicatorFromFlags(run));
  options.communicator = communicator.get();
  if (OnlyChecksFirstBatch()) options.files = RunFiles::kNone;
  ASSIGN_OR_RETURN(const std::vector<Member> members, MembersFromFlags(options));
  ASSIGN_OR_RETURN(const std::optional<TrainingSubset> subset, SubsetFromFlags(&options));
  ASSIGN_OR_RETURN(const Data data, ReadData(inputs));
  std::vector<uint8_t> kept;
  if (subset.has_value()) {
    ASSIGN_OR_RETURN(kept, KeptTriples(*subset, *data.graph));
  }
  if (data.graph->negatives.empty() && model.negative_weight != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--negative_weight=", model.negative_weight, ": ", inputs[0],
                     " has no known-false triples (featurize --negatives): leave it out, or give 1"));
  }
  RETURN_IF_ERROR(SetKgeTrainerDefaults(model, chosen.recipe, !data.graph->valid.empty(), &options));
  SetKgeEpochs(model, preset, chosen.recipe, resumed, &options);
  ASSIGN_OR_RETURN(options.shard_model, ShardsFromFlags(ShapeOf(model, *data.graph), options, gpu >= 0));
  ASSIGN_OR_RETURN(const bool synchronize, SyncNormsFromFlags(model, options, gpu >= 0));
  DescribeProcesses(model, synchronize, &options, &messages);
  ASSIGN_OR_RETURN(const int64_t sample, RankSampleFromFlag(&options));
  for (const auto& [name, triples] :
       {std::make_pair("validation", &data.graph->valid), std::make_pair("test", &data.graph->test)}) {
    const std::string note = sample > 0 ? SampleNote(static_cast<int64_t>(triples->size()), sample) : "";
    if (!note.empty()) messages.push_back(absl::StrCat(name, ": ", note));
  }
  const std::vector<double>& valid_weights = data.graph->valid_weights;
  if (!valid_weights.empty() &&
      std::all_of(valid_weights.begin(), valid_weights.end(), [](double w) { return w == 0; })) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the weights of all ", valid_weights.size(),
        " validation triples are 0, and there is no mean of their losses: give weights above 0, or triples "
        "without a validation set"));
  }
  if (gpu < 0 && IsSoftmaxLoss(model.loss) && model.negatives_per_batch == 0 &&
      data.graph->num_entities() >= kWorthSampling) {
    messages.push_back(absl::StrCat("each query is compared with all ", data.graph->num_entities(),
                                    " entities: --negatives_per_batch=1024 compares it with a sample, for epochs "
                                    "that are many times shorter"));
  }
  if (data.graph->valid.empty()) {
    PrintWarning("there are no validation triples: the lowest training loss chooses the best model");
  }
  ASSIGN_OR_RETURN(Metadata metadata, OutputMetadata(run, KgeSchema().kind, inputs));
  RETURN_IF_ERROR(DescribeInitialModel(&metadata));
  options.data_sha256 = DataSha256(metadata, inputs);
  RecordPreset(preset, &options);
  RecordKgeRecipe(chosen.recipe, &options);
  if (members.size() > 1 && options.mode == RunMode::kResume) options.mode = RunMode::kResumeOrNew;
  const int num_threads = KgeThreads(model, *data.graph, options.batch_size);
  SetLibTorchThreads(num_threads);
  FlagSettings settings;
  ResolveTrainer(options, model.precision, num_threads, &settings);
  if (factors == FactorRounding::kBf16) {
    settings.Resolve("precision", kPrecisionNames.Name(Precision::kBf16Mixed), "run");
  }
  if (gpu >= 0) settings.Resolve("device", absl::StrCat("cuda:", gpu), "run");
  ResolveKgeFlags(model, chosen.recipe, options, &settings);
  const bool alone = options.communicator == nullptr;
  const Strategy strategy = alone                 ? Strategy::kSingle
                            : options.shard_model ? Strategy::kTensorParallel
                                                  : Strategy::kDdp;
  settings.Resolve("strategy", kStrategyNames.Name(strategy), "run");
  for (const std::string& message : messages) PrintMessage(message);
  options.check_cost = QueriesToCheck(ShapeOf(model, *data.graph), options.check_cost);
  // The check needs full precision and one process, because the reference sees one process's batch norms alone.
  if ((factors != FactorRounding::kNone || synchronize) && options.check_gradient && !FirstBatchOfProcess()) {
    const absl::Status checked = CheckInFullPrecision(data, model, num_threads, gpu, options);
    if (OnlyChecksFirstBatch()) EndWithFirstBatch(checked);
    RETURN_IF_ERROR(checked);
    options.check_gradient = false;
  }
  for (const Member& member : members) {
    ASSIGN_OR_RETURN(const bool is_late, IsTooLate(member, options));
    if (is_late) continue;  // and so are those after it
    RecordRun(run, settings, members.size() > 1 ? member.directory : "", &options);
    model.seed = options.seed;
    ASSIGN_OR_RETURN(const std::unique_ptr<KgeTask> task,
                     KgeTask::Create(data.graph, data.known, model, num_threads, factors, DeviceOf(gpu)));
    if (subset.has_value()) {
      options.left_out = task->LearnFrom(kept);
      subset->Describe(options.seed, &metadata);
    }
    const Split split = {task->examples().TrainExamples(), task->examples().ValidExamples(sample),
                         task->examples().TestExamples(sample),
                         sample > 0 ? task->examples().ValidExamples() : std::vector<int64_t>()};
    RETURN_IF_ERROR(CheckBatchesOfNorms(*task, static_cast<int64_t>(split.train.size()), options, synchronize,
                                        /*warns=*/&member == &members[0]));
    if (&member == &members[0]) PrintFacts(*task, *data.graph, split.train);
    if (synchronize) {
      task->SynchronizeNorms([&](absl::Span<double> values) { return communicator->Sum(values); });
    }
    if (initial.has_value()) RETURN_IF_ERROR(SetInitialKge(*initial, *task, *data.graph, &options));
    if (!options.overfit_batches.all() && &member == &members[0]) {
      ASSIGN_OR_RETURN(const Split used, UsedSplit(split, options));
      PrintMessage(absl::StrCat("of these the first ", used.train.size(), " alone train, and validate"));
    }
    RETURN_IF_ERROR(CheckWeightsOfValidation(task->examples(), data.graph->valid_weights, split, sample, options));
    ASSIGN_OR_RETURN(const TrainResult result,
                     RunTask(member, {task.get(), "queries", "queries", nullptr}, split, options, metadata));
    RETURN_IF_ERROR(WriteFinished(member, options, result));
    ++options.seed;
  }
  return absl::OkStatus();
}

}  // namespace rutile
