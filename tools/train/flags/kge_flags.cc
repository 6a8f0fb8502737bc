#include "tools/train/flags/kge_flags.h"

#include <gflags/gflags.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "lib/base/logging.h"
#include "lib/base/settings.h"
#include "lib/base/status_macros.h"
#include "lib/kge/model/kge_labels.h"
#include "lib/kge/model/kge_options_text.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/task/sampling_policy.h"
#include "tools/common/flags/setting_flags.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"
#include "tools/train/flags/default_epochs.h"
#include "tools/train/flags/process_flags.h"

DECLARE_bool(sync_batchnorm);

DEFINE_string(
    kge_recipe, "auto",
    "Defaults of other flags on triples: plain, n3 or auto. plain: those that their help states. n3, for "
    "complex, distmult, cp and simple: --kge_loss=1vsAll --group_queries --regularizer=n3 "
    "--regularization=0.05 --input_dropout=0 --init=normal:0.001 --optimizer=adagrad --learning_rate=0.1 "
    "--batch_size=1000 --max_epochs=50. auto is n3 from 12000 training triples on, unless the graph has fewer "
    "than 1000 entities with 25 or more triples for each, or a flag asks for another loss, optimizer or regularizer, "
    "for dropout or for a learning_rate below 0.02; a "
    "run that is resumed keeps its own, and --init_from has plain.");

DEFINE_int64(
    rank_sample, 0,
    "Number of validation triples that are ranked, and of test triples at the end, in both directions among all "
    "entities. They are drawn once, the same in each run and in evaluate --rank_sample. 0: all triples. For "
    "graphs of millions of entities, where each rank takes a comparison with all of them.");

namespace rutile {
namespace {

const bool for_embeddings = FlagsAreFor(FlagDomain::kEmbeddings, __FILE__);

const SettingFlags<KgeOptions>& Flags() {
  static const auto* flags = new SettingFlags<KgeOptions>(KgeSettings(), __FILE__);
  return *flags;
}

const bool registered = Flags().Register();

std::string KgeModelFlag(const KgeOptions& options) {
  return absl::StrCat("--kge_model=", kKgeModelNames.Name(options.model));
}

bool IsTiepin(const KgeOptions& options) {
  return options.model == KgeModel::kConvE && options.variant == ConveVariant::kTiepin;
}

KgeLoss DefaultLoss(const KgeOptions& options, Preset preset) {
  if (options.model != KgeModel::kConvE) return preset == Preset::kAenet ? KgeLoss::kOneToN : KgeLoss::kOneVsAll;
  switch (options.variant) {
    case ConveVariant::kDettmers:
      return KgeLoss::kOneToN;
    case ConveVariant::kTiepin:
      return KgeLoss::kOneOfN;
    case ConveVariant::kLibkge:
      return KgeLoss::kKvsAll;
  }
  return KgeLoss::kOneToN;
}

bool IsSize(const SettingValue& value) { return std::holds_alternative<int64_t>(value); }

// Two of dimension, height and width give the third, where nothing is left over. Those that are 0 are to be found.
absl::Status SetImage(KgeOptions* options) {
  for (const Setting<KgeOptions>& row : KgeSettings()) {
    const SettingValue value = row.Get(*options);
    if (IsSize(value) && value != SettingValue(int64_t{0})) RETURN_IF_ERROR(CheckRange(row, value));
  }
  const int64_t dim = options->embedding_dim, height = options->embedding_height, width = options->embedding_width;
  const bool dettmers = options->variant == ConveVariant::kDettmers;
  options->embedding_height = height > 0 ? height : dim > 0 && width > 0 ? dim / width : dettmers ? 20 : 10;
  options->embedding_width = width > 0 ? width : dim > 0 && height > 0 ? dim / height : dettmers ? 10 : 20;
  options->embedding_dim = dim > 0                               ? dim
                           : height > 0 || width > 0             ? options->embedding_height * options->embedding_width
                           : options->model == KgeModel::kRescal ? 64
                                                                 : 200;
  return absl::OkStatus();
}

// Sets what the row says to the initial model's value. A flag that was given must say the same.
absl::Status TakeFromInitial(const Setting<KgeOptions>& row, const KgeOptions& initial, KgeOptions* options) {
  const std::string there = SettingText(row.Get(initial)), here = SettingText(row.Get(*options));
  const bool open = row.automatic != nullptr && SettingFlagText(row) == row.automatic;
  if (FlagGiven(row.name) && !open && there != here) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", row.name, "=", here, ": the model of --init_from has ", there, "; leave the flag out"));
  }
  return row.Set(there, options);
}

// What decides the shape of the parameters, or what they mean: the norm that they were learned for.
absl::Status TakeShape(const KgeOptions& initial, KgeOptions* options) {
  for (const char* name : {"embedding_dim", "relation_embedding_dim", "embedding_height", "embedding_width",
                           "distance_norm", "output_channels", "kernel_height", "kernel_width"}) {
    RETURN_IF_ERROR(TakeFromInitial(*FindSetting(KgeSettings(), name), initial, options));
  }
  return absl::OkStatus();
}

constexpr char kKgeModel[] = "kge_model";
// ComplEx was at its best on validation after 146 to 197 epochs of UMLS, Kinship, Nations and data/elements
// (docs/recipes-kge.md).
constexpr int64_t kEpochs = 200;
// With N3. Validation still grew there, by 0.002 of MRR in ten epochs of FB15k-237, and by 0.005 in five of WN18RR
// (likewise); small graphs are at their best before, which the best checkpoint keeps.
constexpr int64_t kN3Epochs = 50;

bool KgeModelIsOpen() {
  const Setting<KgeOptions>& row = *FindSetting(KgeSettings(), kKgeModel);
  return SettingFlagText(row) == row.automatic;
}

// True if a flag is given that means nothing to other models.
bool ConveFlagsGiven() {
  KgeOptions conve, other;
  conve.model = KgeModel::kConvE;
  other.model = KgeModel::kComplEx;
  for (const Setting<KgeOptions>& row : KgeSettings()) {
    const Need* const need = row.Unmet(other);
    if (need != nullptr && absl::string_view(need->names) == kKgeModel && row.HasEffect(conve) && FlagGiven(row.name)) {
      return true;
    }
  }
  return FLAGS_sync_batchnorm;
}

KgeModel ChooseModel(Preset preset, const std::optional<CheckpointSummary>& resumed) {
  if (resumed.has_value()) {
    const auto recorded = resumed->task.find(kKgeModel);
    if (recorded != resumed->task.end()) {
      const absl::StatusOr<KgeModel> model = kKgeModelNames.Parse(recorded->second);
      if (model.ok()) return *model;
    }
  }
  return preset == Preset::kAenet || ConveFlagsGiven() ? KgeModel::kConvE : KgeModel::kComplEx;
}

// The model and its variant, on which the defaults of all other options depend.
absl::StatusOr<KgeOptions> KindFromFlags(const KgeOptions* initial, Preset preset,
                                         const std::optional<CheckpointSummary>& resumed) {
  KgeOptions kind;
  kind.model = ChooseModel(preset, resumed);
  for (const char* name : {kKgeModel, "conve_variant"}) {
    RETURN_IF_ERROR(Flags().CopyTo(name, &kind));
    if (initial != nullptr) RETURN_IF_ERROR(TakeFromInitial(*FindSetting(KgeSettings(), name), *initial, &kind));
  }
  return kind;
}

// Names the model that was chosen, where a flag does not go with it.
absl::Status WithChosenModel(const absl::Status& status, const KgeOptions& kind, const KgeOptions* initial,
                             bool is_resumed) {
  if (status.ok() || !KgeModelIsOpen()) return status;
  const absl::string_view name = kKgeModelNames.Name(kind.model);
  std::string message = absl::StrReplaceAll(
      status.message(), {{absl::StrCat("--", kKgeModel, "=auto"), absl::StrCat("--", kKgeModel, "=", name)}});
  if (initial == nullptr && !is_resumed && kind.model != KgeModel::kConvE) {
    absl::StrAppend(&message, " (no flag names a model, and ", name, " was chosen: --kge_model names another)");
  }
  return absl::InvalidArgumentError(message);
}

// The options of a model of this kind.
absl::StatusOr<KgeOptions> OptionsOfKind(const KgeOptions& kind, const KgeOptions* initial, Preset preset) {
  KgeOptions options = kind;
  options.loss = DefaultLoss(kind, preset);
  if (kind.model != KgeModel::kConvE) {
    if (preset == Preset::kDefault) options.input_dropout = 0.4;
    // A distance from a vector without some of its numbers is not one from the vector, on average or otherwise.
    if (IsDistanceModel(kind.model)) options.input_dropout = 0;
    if (FlagGiven("entity_dropout") || FlagGiven("relation_dropout")) options.input_dropout = 0;
  }
  RETURN_IF_ERROR(Flags().CopyTo("kge_loss", &options));
  options.label_smoothing = IsSoftmaxLoss(options.loss) ? 0 : 0.1;
  options.smoothing_form = IsTiepin(kind) ? LabelSmoothing::kStandard : LabelSmoothing::kDettmers;
  options.embedding_dim = options.embedding_height = options.embedding_width = 0;
  RETURN_IF_ERROR(Flags().CopyTo(&options));
  options.model = kind.model;
  options.variant = kind.variant;
  RETURN_IF_ERROR(SetImage(&options));
  if (initial != nullptr) RETURN_IF_ERROR(TakeShape(*initial, &options));
  RETURN_IF_ERROR(Flags().RefuseUnused(options));
  RETURN_IF_ERROR(CheckKgeOptions(options));
  return options;
}

}  // namespace

absl::StatusOr<KgeOptions> KgeOptionsFromFlags(const KgeOptions* initial, Preset preset,
                                               const std::optional<CheckpointSummary>& resumed) {
  ASSIGN_OR_RETURN(const KgeOptions kind, KindFromFlags(initial, preset, resumed));
  absl::StatusOr<KgeOptions> options = OptionsOfKind(kind, initial, preset);
  RETURN_IF_ERROR(WithChosenModel(options.status(), kind, initial, resumed.has_value()));
  return options;
}

absl::StatusOr<KgeModel> KgeModelFromFlags(const KgeOptions* initial, Preset preset,
                                           const std::optional<CheckpointSummary>& resumed) {
  ASSIGN_OR_RETURN(const KgeOptions kind, KindFromFlags(initial, preset, resumed));
  return kind.model;
}

bool ChoseKgeModel(const KgeOptions& model, bool has_initial, const std::optional<CheckpointSummary>& resumed) {
  return KgeModelIsOpen() && !has_initial && !resumed.has_value() && model.model != KgeModel::kConvE;
}

void SetKgeEpochs(const KgeOptions& model, Preset preset, KgeRecipe recipe,
                  const std::optional<CheckpointSummary>& resumed, TrainerOptions* options) {
  if (model.model == KgeModel::kConvE || preset == Preset::kAenet) return;
  SetDefaultEpochs(recipe == KgeRecipe::kN3 ? kN3Epochs : kEpochs, resumed, options);
}

int64_t EmbeddingHeightFromFlags() {
  KgeOptions options;
  options.embedding_height = 0;
  const absl::Status status = Flags().CopyTo("embedding_height", &options);
  CHECK(status.ok()) << status;  // gflags has parsed the number
  return options.embedding_height;
}

absl::StatusOr<bool> ShardsFromFlags(const KgeShape& shape, const TrainerOptions& options, bool on_gpu) {
  if (options.communicator == nullptr) return false;
  if (on_gpu) {
    if (ChosenStrategy() != Strategy::kTensorParallel) return false;
    return absl::InvalidArgumentError(
        "--strategy=tensor_parallel: kernels of GPUs train whole models; use ddp, or --device=cpu");
  }
  if (ChosenStrategy() == Strategy::kTensorParallel) {
    if (!CanShard(shape.options)) {
      return absl::InvalidArgumentError(
          "--strategy=tensor_parallel: processes that divide the table of entities do not have the tails that "
          "--regularizer=dura and --relation_prediction multiply, nor the entities of --negatives_per_batch; use ddp");
    }
    RETURN_IF_ERROR(RefuseFlags("with --strategy=tensor_parallel, where norms see the whole batch by themselves",
                                {"sync_batchnorm"}));
    return true;
  }
  if (ChosenStrategy() == Strategy::kDdp || FLAGS_sync_batchnorm || !CanShard(shape.options)) return false;
  if (!CheckShardModel(options).ok()) return false;
  // Rows of heads and relations and their gradients, what fc gives and the slopes of v.
  const int64_t exchanged = options.batch_size * (4 * shape.dim() + 2 * shape.relation_dim());
  return exchanged < shape.offsets().size;
}

absl::StatusOr<bool> SyncNormsFromFlags(const KgeOptions& model, const TrainerOptions& options, bool on_gpu) {
  if (!FLAGS_sync_batchnorm || options.communicator == nullptr || options.shard_model) return false;
  if (on_gpu) {
    RETURN_IF_ERROR(
        RefuseFlags("with kernels of GPUs, whose norms see the batch of their own process", {"sync_batchnorm"}));
  }
  if (model.model != KgeModel::kConvE) {
    RETURN_IF_ERROR(
        RefuseFlags(absl::StrCat("with ", KgeModelFlag(model), ", which has no batch norms"), {"sync_batchnorm"}));
  }
  if (options.compile_mode != CompileMode::kCompile) {
    RETURN_IF_ERROR(RefuseFlags("with --compile_mode=none, whose norms are LibTorch's own", {"sync_batchnorm"}));
  }
  return true;
}

absl::Status SetKgeTrainerDefaults(const KgeOptions& model, KgeRecipe recipe, bool has_validation,
                                   TrainerOptions* options) {
  const bool tiepin = IsTiepin(model);
  if (!FlagGiven("batch_size") && recipe != KgeRecipe::kN3) options->batch_size = tiepin ? 256 : 128;
  const OptimizerKind optimizer = options->optimizer.kind;
  const bool adam = optimizer == OptimizerKind::kAdam || optimizer == OptimizerKind::kAdamW;
  if (!FlagGiven("learning_rate") && adam && !tiepin) options->optimizer.learning_rate = 0.003;
  if (options->monitor.empty() && has_validation) options->monitor = "val_mrr";
  if (options->sampling_policy != SamplingPolicy::kUniform) {
    return absl::InvalidArgumentError(
        absl::StrCat("--sampling_policy=", kSamplingPolicyNames.Name(options->sampling_policy),
                     " is not for triples, which have neither energies nor errors of "
                     "them: leave it out"));
  }
  if (options->compile_mode == CompileMode::kScript) {
    return absl::InvalidArgumentError(
        "--compile_mode=script: embeddings have no form in TorchScript; use compile or none");
  }
  if (model.model != KgeModel::kConvE) return absl::OkStatus();
  const std::string name = absl::StrCat("--optimizer=", kOptimizerNames.Name(optimizer));
  if (optimizer == OptimizerKind::kLbfgs) {
    return absl::InvalidArgumentError(
        absl::StrCat(name,
                     " does not train ConvE: the running statistics of its batch norms belong to steps, not to line "
                     "searches; use adam"));
  }
  if (optimizer == OptimizerKind::kScheduleFreeAdamW) {
    return absl::InvalidArgumentError(absl::StrCat(
        name,
        " does not train ConvE: it validates and saves other parameters than gradients are taken at, and the "
        "running statistics of batch norms are of the latter; use adamw"));
  }
  if (options->batch_size == 1) {
    return absl::InvalidArgumentError(
        "--batch_size=1 does not train ConvE: its batch norms compare the queries of a batch; use 2 or more");
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> RankSampleFromFlag(TrainerOptions* options) {
  if (FLAGS_rank_sample < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--rank_sample=", FLAGS_rank_sample, ": expected a number of triples, or 0 for all"));
  }
  if (FLAGS_rank_sample > 0) options->config["rank_sample"] = absl::StrCat(FLAGS_rank_sample);
  return FLAGS_rank_sample;
}

void ResolveKgeFlags(const KgeOptions& model, KgeRecipe recipe, const TrainerOptions& options, FlagSettings* settings) {
  settings->Resolve("kge_recipe", kKgeRecipeNames.Name(recipe), "run");
  for (const auto& [name, value] : DescribeKgeOptions(model)) settings->Resolve(name, value, "run");
  settings->Resolve("batch_size", absl::StrCat(options.batch_size), "run");
  settings->Resolve("monitor", options.monitor, "run");
}

absl::Status RefuseKgeFlags() {
  if (ChosenStrategy() == Strategy::kTensorParallel) {
    return absl::InvalidArgumentError(
        "--strategy=tensor_parallel divides models of embeddings, for triples: on structures use ddp, which deals them "
        "out");
  }
  const absl::string_view why = "on structures, features and neighbors: it is for triples";
  RETURN_IF_ERROR(RefuseFlagsFor(FlagDomain::kEmbeddings, why));
  return RefuseFlags(why, {"lazy_rows", "sync_batchnorm"});
}

absl::Status RefusePotentialFlags() {
  RETURN_IF_ERROR(RefuseFlags("on triples: all queries cost the same", {"bucket_by_size", "bucket_window"}));
  RETURN_IF_ERROR(RefuseFlags("on triples, which featurize splits (--split=0.8,0.1,0.1)",
                              {"validation_fraction", "test_fraction", "split_seed"}));
  return RefuseFlagsFor(FlagDomain::kPotentials, "on triples: it is for potentials");
}

}  // namespace rutile
