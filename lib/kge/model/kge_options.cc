#include "lib/kge/model/kge_options.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "lib/base/decimal.h"
#include "lib/base/settings.h"
#include "lib/base/status_macros.h"
#include "lib/kge/model/kge_labels.h"

namespace rutile {
namespace {

constexpr Range kRates = AtLeast(0).Below(1);

// Larger numbers cannot be meant. The bound keeps the products of sizes that are computed from them within int64.
constexpr int64_t kLargestSize = int64_t{1} << 20;
constexpr Range kSizes = AtLeast(1).AtMost(kLargestSize);

bool IsConve(const KgeOptions& options) { return options.model == KgeModel::kConvE; }

bool IsProduct(const KgeOptions& options) { return IsProductModel(options.model); }

bool IsDistance(const KgeOptions& options) { return IsDistanceModel(options.model); }

bool IsTucker(const KgeOptions& options) { return options.model == KgeModel::kTucker; }

// True if scores are a product of the relation's row and a vector of head and tail that has no weights of its own.
bool PredictsRelations(const KgeOptions& options) {
  return IsProduct(options) && !IsDistance(options) && !IsTucker(options);
}

// Rows of relations of RESCAL have as many numbers as the square of this: 64 MB in fp32.
constexpr int64_t kLargestRescal = 4096;
// Numbers of TuckER's core tensor: 1 GB in fp32.
constexpr int64_t kLargestCore = int64_t{1} << 28;

bool IsRegularized(const KgeOptions& options) { return options.regularizer != KgeRegularizer::kNone; }

// The most entities that a batch's queries share as false answers: more cost as much as all entities of such graphs.
constexpr int64_t kMostNegatives = int64_t{1} << 20;

// The fewest that are drawn half uniformly, two of them, and half otherwise.
constexpr int64_t kLeastDrawnTwoWays = 4;

bool IsSampled(const KgeOptions& options) { return options.negatives_per_batch > 0 && IsSoftmaxLoss(options.loss); }

// Labels that are not 0 for false answers would need the scores of all entities; so would a mask of all of them.
absl::Status CheckSampling(const KgeOptions& options) {
  if (!IsSampled(options)) return absl::OkStatus();
  // A query whose tail is the only negative would be compared with nothing.
  if (options.negatives_per_batch == 1) {
    return absl::InvalidArgumentError("negatives_per_batch = 1: expected 2 or more, or 0 for all entities");
  }
  if (options.negatives_by != NegativeKind::kUniform && options.negatives_per_batch < kLeastDrawnTwoWays) {
    return absl::InvalidArgumentError(
        absl::StrCat("negatives_per_batch = ", options.negatives_per_batch,
                     " with negatives_by = ", kNegativeKindNames.Name(options.negatives_by),
                     ", which draws half of them uniformly: expected ", kLeastDrawnTwoWays, " or more"));
  }
  if (options.label_smoothing > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "negatives_per_batch = ", options.negatives_per_batch, " with label_smoothing = ", options.label_smoothing,
        ": smoothed labels ask for the scores of all entities; pass --label_smoothing=0, or score all entities"));
  }
  if (options.candidate_dropout > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "negatives_per_batch = ", options.negatives_per_batch, " with candidate_dropout = ", options.candidate_dropout,
        ": that mask is of the table of all entities; leave one of them out (entity_dropout is of heads)"));
  }
  return absl::OkStatus();
}

// Lists the ways to see an embedding as an image: "1 x 200, 2 x 100, ...". It tries all heights, which is quick up to
// kLargestSize.
std::string Factorizations(int64_t dim) {
  std::vector<std::string> found;
  for (int64_t height = 1; height <= dim; ++height) {
    if (dim % height == 0) found.push_back(absl::StrCat(height, " x ", dim / height));
  }
  return absl::StrJoin(found, ", ");
}

absl::Status CheckImage(const KgeOptions& options) {
  if (options.embedding_height > options.embedding_dim || options.embedding_width > options.embedding_dim ||
      options.embedding_height * options.embedding_width != options.embedding_dim) {
    return absl::InvalidArgumentError(
        absl::StrCat("embedding_dim = ", options.embedding_dim,
                     " is not embedding_height x embedding_width = ", options.embedding_height, " x ",
                     options.embedding_width, "; what fits: ", Factorizations(options.embedding_dim)));
  }
  const bool wide = options.variant == ConveVariant::kTiepin;
  const int64_t height = options.embedding_height * (wide ? 1 : 2), width = options.embedding_width * (wide ? 2 : 1);
  if (options.kernel_height > height || options.kernel_width > width) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel_height x kernel_width = ", options.kernel_height, " x ", options.kernel_width,
                     " is larger than the image of both embeddings, ", height, " x ", width, " (stacked along ",
                     wide ? "width" : "height", ", conve_variant ", kConveVariantNames.Name(options.variant), ")"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string EmbeddingInitText(const EmbeddingInit& init) {
  if (init.kind == EmbeddingInitKind::kXavier) return "xavier";
  return absl::StrCat(init.kind == EmbeddingInitKind::kNormal ? "normal:" : "uniform:", ExactDecimal(init.scale));
}

absl::StatusOr<EmbeddingInit> ParseEmbeddingInit(absl::string_view text) {
  if (text == "xavier") return EmbeddingInit();
  EmbeddingInit init;
  absl::string_view number = text;
  if (absl::ConsumePrefix(&number, "normal:")) {
    init.kind = EmbeddingInitKind::kNormal;
  } else if (absl::ConsumePrefix(&number, "uniform:")) {
    init.kind = EmbeddingInitKind::kUniform;
  }
  if (init.kind != EmbeddingInitKind::kXavier && absl::SimpleAtod(number, &init.scale) && init.scale > 0 &&
      std::isfinite(init.scale)) {
    return init;
  }
  return absl::InvalidArgumentError(absl::StrCat("no distribution of embeddings: \"", text,
                                                 "\", expected xavier, normal:DEVIATION or uniform:BOUND, with a ",
                                                 "number above 0, as in normal:0.001"));
}

absl::Span<const Setting<KgeOptions>> KgeSettings() {
  using O = KgeOptions;
  static constexpr char kModel[] = "kge_model";
  static constexpr Setting<O> kSettings[] = {
      Setting<O>::Choice<&O::model, &kKgeModelNames>(kModel,
                                                     "Embedding model of a knowledge graph: conve, distmult, complex, "
                                                     "rescal, cp, simple (SimplE), transe, rotate, tucker or auto. "
                                                     "All but conve have no image, channels or kernel, and dropout of "
                                                     "embeddings alone; flags of these are then refused. auto is the "
                                                     "model of --init_from or of the run that is resumed, conve if one "
                                                     "of its flags is given or with --preset=aenet, else complex.")
          .Automatic("auto"),
      Setting<O>::Choice<&O::variant, &kConveVariantNames>("conve_variant",
                                                           "Form of ConvE: dettmers (the authors'), tiepin or libkge. "
                                                           "The variant also sets the defaults of other flags.")
          .Needs(kModel, IsConve),
      Setting<O>("embedding_dim", &O::embedding_dim,
                 "Number of values in an embedding. With 0, it is the product of --embedding_height and "
                 "--embedding_width, or 200 if neither is given (rescal: 64, and relations have the square of it). It "
                 "must be even for complex, rotate, cp and simple, whose entities have two vectors of half of it.")
          .In(kSizes)
          .Automatic("0"),
      Setting<O>("relation_embedding_dim", &O::relation_embedding_dim,
                 "Number of values in the embedding of a relation of tucker, whose core tensor has this times the "
                 "square of --embedding_dim. With 0, it is 30.")
          .In(kSizes)
          .Automatic("0")
          .Needs(kModel, IsTucker),
      Setting<O>("embedding_height", &O::embedding_height,
                 "Height of an embedding as ConvE's image. With 0, it is --embedding_dim divided by --embedding_width "
                 "if both are given, else 20 (dettmers) or 10.")
          .In(kSizes)
          .Automatic("0")
          .Needs(kModel, IsConve),
      Setting<O>("embedding_width", &O::embedding_width,
                 "Width of an embedding as ConvE's image. With 0, it is --embedding_dim divided by --embedding_height "
                 "if both are given, else 10 (dettmers) or 20.")
          .In(kSizes)
          .Automatic("0")
          .Needs(kModel, IsConve),
      Setting<O>(
          "distance_norm", &O::distance_norm,
          "Norm of the distances that are scores of transe and rotate: 1, the sum of absolute values (rotate: of "
          "moduli), or 2, the root of the sum of squares.")
          .In(AtLeast(1).AtMost(2))
          .Needs(kModel, IsDistance),
      Setting<O>("output_channels", &O::output_channels, "Number of filters of ConvE's convolution.")
          .In(kSizes)
          .Needs(kModel, IsConve),
      Setting<O>("kernel_height", &O::kernel_height,
                 "Height of ConvE's convolution kernel. It must not exceed the height of the image of both embeddings.")
          .In(kSizes)
          .Needs(kModel, IsConve),
      Setting<O>("kernel_width", &O::kernel_width,
                 "Width of ConvE's convolution kernel. It must not exceed the width of the image of both embeddings.")
          .In(kSizes)
          .Needs(kModel, IsConve),
      Setting<O>("input_dropout", &O::input_dropout,
                 "Dropout rate of both embeddings, at least 0 and below 1. Training scales the other numbers up. With "
                 "-1, it is 0.2 for conve and 0.4 for the other models, but 0 for transe and rotate, and with "
                 "--entity_dropout or --relation_dropout.")
          .In(kRates)
          .Automatic("-1"),
      Setting<O>("entity_dropout", &O::entity_dropout,
                 "Dropout rate of the head's embedding for all models but conve, at least 0 and below 1. It stands "
                 "in place of --input_dropout, which has one rate for head and relation.")
          .In(kRates)
          .Needs(kModel, IsProduct)
          .RecordedIf([](const O& options) { return IsProduct(options) && options.entity_dropout > 0; }),
      Setting<O>("relation_dropout", &O::relation_dropout,
                 "Dropout rate of the relation's embedding for all models but conve, likewise in place of "
                 "--input_dropout.")
          .In(kRates)
          .Needs(kModel, IsProduct)
          .RecordedIf([](const O& options) { return IsProduct(options) && options.relation_dropout > 0; }),
      Setting<O>("candidate_dropout", &O::candidate_dropout,
                 "Dropout rate of the table of entities that queries are scored with, at least 0 and below 1, for any "
                 "model. All queries of a batch share a mask. LibKGE's entity dropout is this and --entity_dropout.")
          .In(kRates)
          .RecordedIf([](const O& options) { return options.candidate_dropout > 0; }),
      Setting<O>("feature_map_dropout", &O::feature_map_dropout,
                 "Dropout rate of whole channels after ConvE's convolution, at least 0 and below 1.")
          .In(kRates)
          .Needs(kModel, IsConve),
      Setting<O>("output_dropout", &O::output_dropout, "Dropout rate after ConvE's last layer, at least 0 and below 1.")
          .In(kRates)
          .Needs(kModel, IsConve),
      Setting<O>::Choice<&O::loss, &kKgeLossNames>(
          "kge_loss",
          "Loss over all entities: 1-N, 1-of-N, 1vsAll or KvsAll. With 1-N and KvsAll all known training tails are "
          "true, with the others the triple's own tail alone. The losses 1-N and 1-of-N are binary cross-entropies, "
          "1vsAll and KvsAll cross-entropies of the softmax. Case and dashes do not matter, and ce means 1vsAll, as in "
          "tracin. If empty, it is 1-N (dettmers), 1-of-N (tiepin), KvsAll (libkge) or 1vsAll (all models but "
          "conve).")
          .Automatic(""),
      Setting<O>("label_smoothing", &O::label_smoothing,
                 "Strength eps of label smoothing, at least 0 and below 1. With -1, it is 0.1, and 0 for the softmax "
                 "losses.")
          .In(kRates)
          .Automatic("-1"),
      Setting<O>::Choice<&O::smoothing_form, &kLabelSmoothingNames>(
          "label_smoothing_form",
          "How labels are smoothed: dettmers, standard or pykeen. The label of a false tail becomes 1/N, eps/N or "
          "eps/(N - 1), with N entities. If empty, it is standard for tiepin, else dettmers; without smoothing the "
          "flag is refused.")
          .Automatic("")
          .Needs("label_smoothing", [](const O& options) { return options.label_smoothing > 0; }),
      Setting<O>(
          "group_queries", &O::group_queries,
          "With 1vsAll, score a head and relation once for all its training tails. An epoch has the same "
          "gradient from fewer queries (FB15k-237: 3.6 times fewer), and so fewer steps of --batch_size. A batch "
          "then counts heads with relations, and the tails of one share a dropout mask.")
          .Needs("kge_loss", [](const O& options) { return options.loss == KgeLoss::kOneVsAll; })
          .RecordedIf([](const O& options) { return options.group_queries && options.loss == KgeLoss::kOneVsAll; }),
      Setting<O>("negatives_per_batch", &O::negatives_per_batch,
                 "With 1vsAll and KvsAll, the false answers that the queries of a batch share: so many entities, drawn "
                 "anew for each batch, stand for all in the sum of the softmax (sampled softmax). For graphs of "
                 "100,000 entities and more; 0: all entities. With --optimizer=rowwise-adagrad, adagrad or sgd a step "
                 "then touches only the rows of its batch.")
          .In(AtLeast(0).AtMost(kMostNegatives))
          .Needs("kge_loss", [](const O& options) { return IsSoftmaxLoss(options.loss); })
          .RecordedIf(IsSampled),
      Setting<O>::Choice<&O::negatives_by, &kNegativeKindNames>(
          "negatives_by",
          "How --negatives_per_batch draws: uniform, or half of them uniformly and half by frequency (as often as "
          "entities are answers of training triples) or by type (entities of the types that answers have, where "
          "featurize was given types). Each counts as its probability asks, so that the loss stays that of all "
          "entities on average.")
          .Needs("negatives_per_batch", IsSampled)
          .RecordedIf(
              [](const O& options) { return IsSampled(options) && options.negatives_by != NegativeKind::kUniform; }),
      Setting<O>::Choice<&O::regularizer, &kKgeRegularizerNames>(
          "regularizer",
          "What the training loss of each triple adds for its head, relation and tail, so that frequent ones count as "
          "often as they occur: none, n3 (sum of |x|^3, moduli for complex), f2 (of x^2), l3 (of |x|^3 over real "
          "numbers) or, for distmult and complex alone, dura (squares of head and tail, and of their products with the "
          "relation). Queries with several tails count these with equal shares. Validation losses are without it.")
          .RecordedIf(IsRegularized),
      Setting<O>("regularization", &O::regularization,
                 "Weight of the regularizer, relative to the loss of a triple. Published runs of complex with n3 and "
                 "1vsAll have 0.05 (FB15k-237) and 0.1 (WN18RR).")
          .In(Above(0))
          .Needs("regularizer", IsRegularized),
      Setting<O>("relation_prediction", &O::relation_prediction,
                 "Weight of a second loss for all models but conve, tucker, transe and rotate, the cross-entropy of a "
                 "triple's relation in "
                 "the softmax over all relations, given head and tail; 0: none. Published runs have 4 "
                 "(FB15k-237) and 0.05 (WN18RR). Validation losses are without it.")
          .In(AtLeast(0))
          .Needs(kModel, PredictsRelations)
          .RecordedIf([](const O& options) { return PredictsRelations(options) && options.relation_prediction > 0; }),
      Setting<O>(
          "negative_weight", &O::negative_weight,
          "What the loss of a known-false triple (featurize --negatives) is multiplied by, beside its weight; 0: "
          "they are not learned. With 1 it counts as much as a true triple in a softmax, and as one entity of "
          "the sum over all in a binary cross-entropy.")
          .In(AtLeast(0))
          .RecordedIf([](const O& options) { return options.negative_weight != 1; }),
      Setting<O>::Text(
          "init", [](const O& options) { return SettingValue(EmbeddingInitText(options.init)); },
          [](absl::string_view text, O* options) -> absl::Status {
            const absl::StatusOr<EmbeddingInit> init = ParseEmbeddingInit(text);
            if (init.ok()) options->init = *init;
            return init.status();
          },
          "How embeddings of entities and relations are drawn: xavier (normal with deviation sqrt(2 / (rows + "
          "columns)) of the table), normal:DEVIATION or uniform:BOUND. With --init_from, it draws those of new names.")
          .RecordedIf([](const O& options) { return options.init.kind != EmbeddingInitKind::kXavier; }),
  };
  return kSettings;
}

absl::Status CheckKgeOptions(const KgeOptions& options) {
  for (const Setting<KgeOptions>& row : KgeSettings()) {
    if (row.HasEffect(options)) RETURN_IF_ERROR(CheckRange(row, row.Get(options)));
  }
  if (options.precision != DType::kF32 && options.precision != DType::kF64) {
    return absl::InvalidArgumentError(
        absl::StrCat("precision = ", DTypeName(options.precision), ": expected F32 or F64"));
  }
  if (options.regularizer == KgeRegularizer::kDura && options.model != KgeModel::kDistMult &&
      options.model != KgeModel::kComplEx) {
    return absl::InvalidArgumentError(
        absl::StrCat("regularizer = dura: it multiplies entities by relations as distmult and complex do, and ",
                     kKgeModelNames.Name(options.model), " does not; expected none, n3, f2 or l3"));
  }
  RETURN_IF_ERROR(CheckSampling(options));
  if (IsConve(options)) return CheckImage(options);
  if (options.model == KgeModel::kRotatE && IsRegularized(options)) {
    return absl::InvalidArgumentError(absl::StrCat("regularizer = ", kKgeRegularizerNames.Name(options.regularizer),
                                                   ": relations of rotate are angles, whose size has no meaning; "
                                                   "expected none"));
  }
  if (options.input_dropout > 0 && (options.entity_dropout > 0 || options.relation_dropout > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("input_dropout = ", options.input_dropout,
                     " has one rate for heads and relations, and entity_dropout = ", options.entity_dropout,
                     " and relation_dropout = ", options.relation_dropout, " a rate for each: give one or the other"));
  }
  if (options.model == KgeModel::kRescal && options.embedding_dim > kLargestRescal) {
    return absl::InvalidArgumentError(absl::StrCat("embedding_dim = ", options.embedding_dim,
                                                   ": a relation of rescal has the square of it, expected at most ",
                                                   kLargestRescal));
  }
  const int64_t square = options.embedding_dim * options.embedding_dim;  // at most 2^40
  if (IsTucker(options) && options.relation_embedding_dim > kLargestCore / square) {
    return absl::InvalidArgumentError(absl::StrCat(
        "relation_embedding_dim = ", options.relation_embedding_dim, ", embedding_dim = ", options.embedding_dim,
        ": the core tensor of tucker has the former times the square of the latter, ", "expected at most ",
        kLargestCore, " numbers"));
  }
  const bool complex = options.model == KgeModel::kComplEx;
  const bool rotate = options.model == KgeModel::kRotatE;
  const bool halves = complex || rotate || options.model == KgeModel::kCp || options.model == KgeModel::kSimple;
  if (halves && options.embedding_dim % 2 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "embedding_dim = ", options.embedding_dim, ": ", kKgeModelNames.Name(options.model), " needs an even number, ",
        complex || rotate ? "real parts and imaginary parts" : "the vector as a head and the one as a tail"));
  }
  return absl::OkStatus();
}

}  // namespace rutile
