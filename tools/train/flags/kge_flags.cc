#include "tools/train/flags/kge_flags.h"

#include <gflags/gflags.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/kge/model/kge_labels.h"
#include "lib/kge/model/kge_options_text.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/task/sampling_policy.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"

DECLARE_string(strategy);
DECLARE_bool(sync_batchnorm);

DEFINE_string(kge_model, "conve",
              "Embedding model of a knowledge graph: conve, distmult or complex. The last two have no image, channels "
              "or kernel, and no dropout but --input_dropout; flags of these are then refused.");
DEFINE_string(
    conve_variant, "dettmers",
    "Form of ConvE: dettmers (the authors'), tiepin or libkge. The variant also sets the defaults of other flags.");
DEFINE_int64(embedding_dim, 0,
             "Number of values in an embedding. With 0, it is the product of --embedding_height and --embedding_width, "
             "or 200 if neither is given. With --kge_model=complex, it must be even.");
DEFINE_int64(embedding_height, 0,
             "Height of an embedding as ConvE's image. With 0, it is --embedding_dim divided by --embedding_width if "
             "both are given, else 20 (dettmers) or 10.");
DEFINE_int64(embedding_width, 0,
             "Width of an embedding as ConvE's image. With 0, it is --embedding_dim divided by --embedding_height if "
             "both are given, else 10 (dettmers) or 20.");
DEFINE_int64(output_channels, 32, "Number of filters of ConvE's convolution.");
DEFINE_int64(kernel_height, 3,
             "Height of ConvE's convolution kernel. It must not exceed the height of the image of both embeddings.");
DEFINE_int64(kernel_width, 3,
             "Width of ConvE's convolution kernel. It must not exceed the width of the image of both embeddings.");
DEFINE_double(input_dropout, 0.2,
              "Dropout rate of both embeddings, at least 0 and below 1. Training scales the other numbers up.");
DEFINE_double(feature_map_dropout, 0.2,
              "Dropout rate of whole channels after ConvE's convolution, at least 0 and below 1.");
DEFINE_double(output_dropout, 0.3, "Dropout rate after ConvE's last layer, at least 0 and below 1.");
DEFINE_string(
    kge_loss, "",
    "Loss over all entities: 1-N, 1-of-N, 1vsAll or KvsAll. With 1-N and KvsAll all known training tails are true, "
    "with the others the triple's own tail alone. The losses 1-N and 1-of-N are binary cross-entropies, 1vsAll and "
    "KvsAll cross-entropies of the softmax. Case and dashes do not matter, and ce means 1vsAll, as in tracin. If "
    "empty, it is 1-N (dettmers, distmult, complex), 1-of-N (tiepin) or KvsAll (libkge).");
DEFINE_double(
    label_smoothing, -1,
    "Strength eps of label smoothing, at least 0 and below 1. With -1, it is 0.1, and 0 for the softmax losses.");
DEFINE_string(
    label_smoothing_form, "",
    "How labels are smoothed: dettmers, standard or pykeen. The label of a false tail becomes 1/N, eps/N or eps/(N - "
    "1), with N entities. If empty, it is standard for tiepin, else dettmers; without smoothing the flag is refused.");

namespace rutile {
namespace {

const bool for_embeddings = FlagsAreFor(FlagDomain::kEmbeddings, __FILE__);

std::string KgeModelFlag(const KgeOptions& options) {
  return absl::StrCat("--kge_model=", KgeModelName(options.model));
}

template <typename T>
absl::Status ParseFlag(const char* flag, const std::string& text, absl::StatusOr<T> (*parse)(absl::string_view),
                       T* value) {
  const absl::StatusOr<T> parsed = parse(text);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--", flag, "=", text, ": ", parsed.status().message()));
  }
  *value = *parsed;
  return absl::OkStatus();
}

KgeLoss DefaultLoss(const KgeOptions& options) {
  if (options.model != KgeModel::kConvE) return KgeLoss::kOneToN;
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

// Two of dimension, height and width give the third, where nothing is left over.
absl::Status SetImage(KgeOptions* options) {
  for (const auto& [name, value] :
       {std::pair("embedding_dim", FLAGS_embedding_dim), std::pair("embedding_height", FLAGS_embedding_height),
        std::pair("embedding_width", FLAGS_embedding_width)}) {
    if (value < 0 || (value == 0 && FlagGiven(name))) {
      return absl::InvalidArgumentError(absl::StrCat("--", name, "=", value, ": expected at least 1"));
    }
  }
  const int64_t dim = FLAGS_embedding_dim, height = FLAGS_embedding_height, width = FLAGS_embedding_width;
  const bool dettmers = options->variant == ConveVariant::kDettmers;
  options->embedding_height = height > 0 ? height : dim > 0 && width > 0 ? dim / width : dettmers ? 20 : 10;
  options->embedding_width = width > 0 ? width : dim > 0 && height > 0 ? dim / height : dettmers ? 10 : 20;
  options->embedding_dim = dim > 0                   ? dim
                           : height > 0 || width > 0 ? options->embedding_height * options->embedding_width
                                                     : 200;
  return absl::OkStatus();
}

// A flag that was given must say what the model is.
absl::Status CheckAsInitial(const char* flag, absl::string_view initial, absl::string_view given) {
  if (!FlagGiven(flag) || initial == given) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, "=", given, ": the model of --init_from has ", initial, "; leave the flag out"));
}

absl::Status TakeSizes(const KgeOptions& initial, KgeOptions* options) {
  for (const auto& [flag, size] :
       {std::pair("embedding_dim", &KgeOptions::embedding_dim),
        std::pair("embedding_height", &KgeOptions::embedding_height),
        std::pair("embedding_width", &KgeOptions::embedding_width),
        std::pair("output_channels", &KgeOptions::output_channels),
        std::pair("kernel_height", &KgeOptions::kernel_height), std::pair("kernel_width", &KgeOptions::kernel_width)}) {
    RETURN_IF_ERROR(CheckAsInitial(flag, absl::StrCat(initial.*size), absl::StrCat((*options).*size)));
    (*options).*size = initial.*size;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<KgeOptions> KgeOptionsFromFlags(const KgeOptions* initial) {
  KgeOptions options;
  RETURN_IF_ERROR(ParseFlag("kge_model", FLAGS_kge_model, ParseKgeModel, &options.model));
  RETURN_IF_ERROR(ParseFlag("conve_variant", FLAGS_conve_variant, ParseConveVariant, &options.variant));
  if (initial != nullptr) {
    RETURN_IF_ERROR(CheckAsInitial("kge_model", KgeModelName(initial->model), KgeModelName(options.model)));
    RETURN_IF_ERROR(
        CheckAsInitial("conve_variant", ConveVariantName(initial->variant), ConveVariantName(options.variant)));
    options.model = initial->model;
    options.variant = initial->variant;
  }
  if (options.model != KgeModel::kConvE) {
    RETURN_IF_ERROR(RefuseFlags(absl::StrCat("with ", KgeModelFlag(options)),
                                {"conve_variant", "embedding_height", "embedding_width", "output_channels",
                                 "kernel_height", "kernel_width", "feature_map_dropout", "output_dropout"}));
  }
  RETURN_IF_ERROR(SetImage(&options));
  options.output_channels = FLAGS_output_channels;
  options.kernel_height = FLAGS_kernel_height;
  options.kernel_width = FLAGS_kernel_width;
  if (initial != nullptr) RETURN_IF_ERROR(TakeSizes(*initial, &options));
  options.input_dropout = FLAGS_input_dropout;
  options.feature_map_dropout = FLAGS_feature_map_dropout;
  options.output_dropout = FLAGS_output_dropout;
  options.loss = DefaultLoss(options);
  if (!FLAGS_kge_loss.empty()) {
    RETURN_IF_ERROR(ParseFlag("kge_loss", FLAGS_kge_loss, ParseKgeLoss, &options.loss));
  }
  options.label_smoothing = FLAGS_label_smoothing;
  if (!FlagGiven("label_smoothing")) options.label_smoothing = IsSoftmaxLoss(options.loss) ? 0 : 0.1;
  const bool tiepin = options.model == KgeModel::kConvE && options.variant == ConveVariant::kTiepin;
  options.smoothing_form = tiepin ? LabelSmoothing::kStandard : LabelSmoothing::kDettmers;
  if (!FLAGS_label_smoothing_form.empty()) {
    RETURN_IF_ERROR(
        ParseFlag("label_smoothing_form", FLAGS_label_smoothing_form, ParseLabelSmoothing, &options.smoothing_form));
  }
  if (options.label_smoothing == 0)
    RETURN_IF_ERROR(RefuseFlags("where --label_smoothing is 0", {"label_smoothing_form"}));
  RETURN_IF_ERROR(CheckKgeOptions(options));
  return options;
}

absl::StatusOr<bool> ShardsFromFlags(const KgeShape& shape, const TrainerOptions& options) {
  if (options.communicator == nullptr) return false;
  if (FLAGS_strategy == "tensor_parallel") {
    RETURN_IF_ERROR(RefuseFlags("with --strategy=tensor_parallel, where norms see the whole batch by themselves",
                                {"sync_batchnorm"}));
    return true;
  }
  if (FLAGS_strategy == "ddp" || FLAGS_sync_batchnorm || !CheckShardModel(options).ok()) return false;
  // Rows of heads and relations and their gradients, what fc gives and the slopes of v.
  const int64_t exchanged = 6 * options.batch_size * shape.dim();
  return exchanged < shape.offsets().size;
}

absl::StatusOr<bool> SyncNormsFromFlags(const KgeOptions& model, const TrainerOptions& options) {
  if (!FLAGS_sync_batchnorm || options.communicator == nullptr || options.shard_model) return false;
  if (model.model != KgeModel::kConvE) {
    RETURN_IF_ERROR(
        RefuseFlags(absl::StrCat("with ", KgeModelFlag(model), ", which has no batch norms"), {"sync_batchnorm"}));
  }
  if (options.compile_mode != CompileMode::kCompile) {
    RETURN_IF_ERROR(RefuseFlags("with --compile_mode=none, whose norms are LibTorch's own", {"sync_batchnorm"}));
  }
  return true;
}

absl::Status SetKgeTrainerDefaults(const KgeOptions& model, bool has_validation, TrainerOptions* options) {
  const bool tiepin = model.model == KgeModel::kConvE && model.variant == ConveVariant::kTiepin;
  if (!FlagGiven("batch_size")) options->batch_size = tiepin ? 256 : 128;
  const OptimizerKind optimizer = options->optimizer.kind;
  const bool adam = optimizer == OptimizerKind::kAdam || optimizer == OptimizerKind::kAdamW;
  if (!FlagGiven("learning_rate") && adam && !tiepin) options->optimizer.learning_rate = 0.003;
  if (options->monitor.empty() && has_validation) options->monitor = "val_mrr";
  RETURN_IF_ERROR(RefuseFlags("on triples: all queries cost the same", {"bucket_by_size", "bucket_window"}));
  if (options->sampling_policy != SamplingPolicy::kUniform) {
    return absl::InvalidArgumentError(absl::StrCat("--sampling_policy=", SamplingPolicyName(options->sampling_policy),
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

void ResolveKgeFlags(const KgeOptions& model, const TrainerOptions& options, FlagSettings* settings) {
  for (const auto& [name, value] : DescribeKgeOptions(model)) settings->Resolve(name, value, "run");
  settings->Resolve("batch_size", absl::StrCat(options.batch_size), "run");
  settings->Resolve("monitor", options.monitor, "run");
}

absl::Status RefuseKgeFlags() {
  if (FLAGS_strategy == "tensor_parallel") {
    return absl::InvalidArgumentError(
        "--strategy=tensor_parallel divides models of embeddings, for triples: on structures use ddp, which deals them "
        "out");
  }
  const absl::string_view why = "on structures, features and neighbors: it is for triples";
  RETURN_IF_ERROR(RefuseFlagsFor(FlagDomain::kEmbeddings, why));
  return RefuseFlags(why, {"lazy_rows", "sync_batchnorm"});
}

absl::Status RefusePotentialFlags() {
  RETURN_IF_ERROR(RefuseFlags("on triples, which featurize splits (--split=0.8,0.1,0.1)",
                              {"validation_fraction", "test_fraction", "split_seed"}));
  return RefuseFlagsFor(FlagDomain::kPotentials, "on triples: it is for potentials");
}

}  // namespace rutile
