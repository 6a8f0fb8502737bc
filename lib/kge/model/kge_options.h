// Options that define a knowledge-graph embedding model and its loss, with their names in flags and files.
//
//   KgeOptions options;                  // ConvE of Dettmers et al., 200 dimensions
//   options.model = KgeModel::kComplEx;  // conv options are ignored now
//   options.loss = KgeLoss::kKvsAll;
//   RETURN_IF_ERROR(CheckKgeOptions(options));
//   const KgeShape shape = {options, /*num_entities=*/14541, /*num_relations=*/474};  // kge_shape.h
//   const std::vector<double> parameters = InitialKgeParameters(shape, /*seed=*/1);   // kge_init.h

#ifndef RUTILE_LIB_KGE_MODEL_KGE_OPTIONS_H_
#define RUTILE_LIB_KGE_MODEL_KGE_OPTIONS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/settings.h"
#include "lib/kge/model/loose_names.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Models score a tail as <v(head, relation), e_tail> + b_tail, but for TransE and RotatE, and differ in v. ConvE:
// Dettmers et al., AAAI 2018. DistMult (Yang et al., ICLR 2015): v = e_h * w_r. ComplEx (Trouillon et al., ICML 2016):
// rows are [re | im], v = [re_h re_r - im_h im_r | re_h im_r + im_h re_r]. RESCAL (Nickel, Tresp, Kriegel, ICML 2011):
// w_r is a matrix [d, d], row by row, v = e_h^T w_r. CP (Hitchcock 1927; Lacroix, Usunier, Obozinski, ICML 2018) and
// SimplE (Kazemi & Poole, NeurIPS 2018): rows of entities are [a | b], a the vector as a head and b the one as a tail.
// CP: w_r has d / 2 numbers, v = [0 | a_h w_r]. SimplE: w_r = [r | r of the inverse], v = 1/2 [b_h w_inverse | a_h
// w_r]. TuckER (Balazevic, Allen, Hospedales, EMNLP 2019): w_r has relation_embedding_dim numbers, and all relations
// share a core tensor W, v_j = sum_ki W_jki w_r,k e_h,i; without the paper's batch norms and the dropout of its hidden
// layers.
//
// The score of TransE (Bordes et al., NIPS 2013) and RotatE (Sun et al., ICLR 2019) is the negative distance of v and
// e_tail, by a norm of distance_norm. TransE: v = e_h + w_r. RotatE: rows of entities are [re | im], w_r has d / 2
// angles, and v is e_h with its complex numbers turned by them; the norm is that of the moduli of the differences.
//
// The table of entities thus is one matrix for CP, too: its scores cost as much as those of a ComplEx whose entities
// have as many numbers, and half of its products are with zeros.
enum class KgeModel { kConvE, kDistMult, kComplEx, kRescal, kCp, kSimple, kTransE, kRotatE, kTucker };

// Names are read in any case, with or without dashes: "1n" and "kvsall" are losses.
inline constexpr absl::string_view kKgeModelWords[] = {"conve",  "distmult", "complex", "rescal", "cp",
                                                       "simple", "transe",   "rotate",  "tucker"};
inline constexpr LooseEnumNames<KgeModel> kKgeModelNames("no embedding model", kKgeModelWords);

// The variants of ConvE in use, named after the projects that they come from.
//            stacked along  input             conv bias  norms affine  entity bias
//   dettmers height         bn0 -> dropout    no         yes           yes
//   tiepin   width          dropout -> bn0    yes        yes           no
//   libkge   height         dropout (of e, r) yes        no            yes            (no bn0)
// All variants go on: conv -> bn1 -> relu -> dropout of channels -> fc -> dropout -> bn2 -> relu.
enum class ConveVariant { kDettmers, kTiepin, kLibkge };

inline constexpr absl::string_view kConveVariantWords[] = {"dettmers", "tiepin", "libkge"};
inline constexpr LooseEnumNames<ConveVariant> kConveVariantNames("no variant of ConvE", kConveVariantWords);

// What an example is, and its loss. kOneToN: an example is a key (head, relation) whose known training tails are all
// true; binary cross-entropy with logits, mean over entities. kOneOfN: an example is a triple and only its own tail is
// true, else as kOneToN (TiePin's). kOneVsAll: an example is a triple; softmax cross-entropy (LibKGE's 1vsAll-kl).
// kKvsAll: an example is a key; softmax cross-entropy with labels normalized to a sum of 1 (LibKGE's KvsAll-kl).
enum class KgeLoss { kOneToN, kOneOfN, kOneVsAll, kKvsAll };

inline constexpr absl::string_view kKgeLossWords[] = {"1-N", "1-of-N", "1vsAll", "KvsAll"};
// "ce" (cross-entropy) is another name of 1vsAll.
inline constexpr LooseEnumNames<KgeLoss> kKgeLossNames("no loss of embeddings", kKgeLossWords, "ce",
                                                       KgeLoss::kOneVsAll);

// How labels are smoothed: they are c0 everywhere plus c1 on true tails. dettmers: c0 = 1/N, c1 = 1 - eps. standard: c0
// = eps/N, c1 = 1 - eps. pykeen: c0 = eps/(N-1), c1 = 1 - eps - eps/(N-1). (TiePin's is standard with kOneOfN.)
enum class LabelSmoothing { kDettmers, kStandard, kPykeen };

inline constexpr absl::string_view kLabelSmoothingWords[] = {"dettmers", "standard", "pykeen"};
inline constexpr LooseEnumNames<LabelSmoothing> kLabelSmoothingNames("no label smoothing", kLabelSmoothingWords);

// How a sampled softmax draws its negatives: uniformly, or half of them by how often entities are answers, or by the
// types of answers (lib/kge/training/scores/negative_samples.h).
enum class NegativeKind { kUniform, kFrequency, kType };

inline constexpr absl::string_view kNegativeKindWords[] = {"uniform", "frequency", "type"};
inline constexpr LooseEnumNames<NegativeKind> kNegativeKindNames("no way to draw negatives", kNegativeKindWords);

// What training adds to the loss of a triple (h, r, t): regularization times the sum over its three embeddings of sum_k
// |x_k|^p. n3: p = 3, where ComplEx counts the moduli of its complex numbers (the nuclear 3-norm of Lacroix, Usunier,
// Obozinski, ICML 2018); f2: p = 2, the squared Frobenius norm (same paper); l3: p = 3 over real numbers. n3 and l3 are
// the same for models without complex numbers. With CP, a triple has a_h and b_t, the halves that are in its score.
// dura: of DistMult and ComplEx, products of entities and relations (Zhang, Cai, Wang, NeurIPS 2020;
// lib/kge/training/scores/dura_penalty.h).
enum class KgeRegularizer { kNone, kN3, kF2, kL3, kDura };

inline constexpr absl::string_view kKgeRegularizerWords[] = {"none", "n3", "f2", "l3", "dura"};
inline constexpr LooseEnumNames<KgeRegularizer> kKgeRegularizerNames("no regularizer of embeddings",
                                                                     kKgeRegularizerWords);

// How embeddings of entities and relations are drawn. xavier: normal with deviation sqrt(2 / (rows + columns)) (Glorot
// & Bengio, AISTATS 2010). normal, uniform: with the deviation, or within plus and minus the bound, of `scale`.
enum class EmbeddingInitKind { kXavier, kNormal, kUniform };

struct EmbeddingInit {
  EmbeddingInitKind kind = EmbeddingInitKind::kXavier;
  double scale = 0;  // unused for xavier, else above 0
};

// "xavier", "normal:0.001" or "uniform:0.5". The second returns INVALID_ARGUMENT for any other text.
std::string EmbeddingInitText(const EmbeddingInit& init);
absl::StatusOr<EmbeddingInit> ParseEmbeddingInit(absl::string_view text);

// A model and its loss; the defaults are ConvE as in Dettmers et al. The other models ignore what is ConvE's.
struct KgeOptions {
  KgeModel model = KgeModel::kConvE;
  ConveVariant variant = ConveVariant::kDettmers;
  int64_t embedding_dim = 200;
  int64_t embedding_height = 20;  // height of one embedding seen as an image, before stacking
  int64_t embedding_width = 10;
  int64_t output_channels = 32;
  int64_t kernel_height = 3;
  int64_t kernel_width = 3;
  int64_t relation_embedding_dim = 30;  // tucker: numbers of a relation's embedding
  int64_t distance_norm = 1;            // transe, rotate: 1 sums absolute values, 2 is the root of the sum of squares
  double input_dropout = 0.2;           // drops elements of the image; all but ConvE: of e_h and w_r
  double entity_dropout = 0;            // all but ConvE, without input_dropout: drops elements of e_h
  double relation_dropout = 0;          // likewise of w_r
  // Drops elements of the table of entities with which queries are scored: one mask for a batch (LibKGE's, whose
  // entity dropout drops heads and candidates).
  double candidate_dropout = 0;
  double feature_map_dropout = 0.2;  // drops whole channels
  double output_dropout = 0.3;       // drops elements after fc
  KgeLoss loss = KgeLoss::kOneToN;
  LabelSmoothing smoothing_form = LabelSmoothing::kDettmers;
  double label_smoothing = 0.1;  // eps; 0: labels are not smoothed (dettmers: c0 = 0, too)
  // With 1vsAll: an example is a key with all its training tails, whose triples' losses are added up: the same gradient
  // of an epoch, with a query scored once and not once for each of its tails.
  bool group_queries = false;
  // Softmax losses: false answers that the queries of a batch share, drawn anew for each batch
  // (lib/kge/training/scores/sampled_scores.h). 0: all entities.
  int64_t negatives_per_batch = 0;
  NegativeKind negatives_by = NegativeKind::kUniform;
  KgeRegularizer regularizer = KgeRegularizer::kNone;
  double regularization = 0.05;  // weight of the regularizer
  // All but ConvE, TuckER and distances: weight of the loss of a triple's relation among all relations, given head and
  // tail (Chen et al., AKBC 2021; lib/kge/training/scores/relation_prediction.h). 0: none.
  double relation_prediction = 0;
  // What the loss of a known-false triple is multiplied by beside its weight. 0: they are not learned.
  double negative_weight = 1;
  EmbeddingInit init;
  DType precision = DType::kF32;
  uint64_t seed = 0;  // seed of dropout masks
};

constexpr double kBatchNormEpsilon = 1e-5;
constexpr double kBatchNormMomentum = 0.1;

// One row for each option but precision and seed: its flag, range, which models have it, its name in configs and model
// files. A row that decides about others comes before them.
absl::Span<const Setting<KgeOptions>> KgeSettings();

// False for ConvE alone: v is a product of e_h and w_r (and TuckER's core), without norms or activations.
inline bool IsProductModel(KgeModel model) { return model != KgeModel::kConvE; }

// True if scores are negative distances of v and the tail's row, and not their product.
inline bool IsDistanceModel(KgeModel model) { return model == KgeModel::kTransE || model == KgeModel::kRotatE; }

// True for the models that lib/kge/gpu has kernels of.
inline bool HasDeviceKernels(KgeModel model) {
  return model == KgeModel::kConvE || model == KgeModel::kDistMult || model == KgeModel::kComplEx;
}

// False if training multiplies rows of tails and does not only score them (dura, relation_prediction), or scores some
// rows (negatives_per_batch): processes that divide the table of entities (lib/kge/layers/kge_shard.h) do not have
// them.
inline bool CanShard(const KgeOptions& options) {
  return options.regularizer != KgeRegularizer::kDura && options.relation_prediction == 0 &&
         options.negatives_per_batch == 0;
}

// Returns INVALID_ARGUMENT naming option, value and what would fit (embedding_dim = height x width; a kernel that fits
// into the image).
absl::Status CheckKgeOptions(const KgeOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_MODEL_KGE_OPTIONS_H_
