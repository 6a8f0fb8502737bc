// What is asked of an influence computation, whatever the domain.

#ifndef RUTILE_LIB_INFLUENCE_TRACIN_OPTIONS_H_
#define RUTILE_LIB_INFLUENCE_TRACIN_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/task/gradient_products.h"

namespace rutile {

// How the product <g, g'> of a training example's gradient g and a test's g' becomes what a checkpoint adds to a score.
// Each checkpoint's product is divided by that checkpoint's own norms, and the quotients are added with the rates: an
// average of cosines, not the cosine of an average. (dattri's TracInAttributor does the same with normalized_grad;
// captum's TracInCP divides by nothing.) Scores of kCosine lie in [-sum of rates, sum of rates]. Where a norm is 0 the
// product is 0, and so is the quotient. Norms are over all parts together, so that scores of parts add up to the whole.
enum class InfluenceNormalization {
  kNone,       // <g, g'>: TracInCP (Pruthi et al., NeurIPS 2020); with one checkpoint and rate 1: GradDot
  kCosine,     // <g, g'> / (|g| |g'|): GradCos
  kTrainNorm,  // <g, g'> / |g|: an example does not lead because its gradient is long; RelatIF (Barshan et al. 2020)
};

// Which k training examples are listed for a test. A tie goes to the lower training index, always.
enum class InfluenceRanking {
  kHighest,   // the k highest scores, descending: proponents
  kLowest,    // the k lowest, ascending: opponents
  kAbsolute,  // the k largest by absolute value, descending by it
  // The k highest and the k lowest, in one list that descends by score: proponents first, the strongest opponent last.
  // Each example is listed at most once, where there are fewer than 2 k as well.
  kBoth,
};

struct TracInOptions {
  InfluenceNormalization normalization = InfluenceNormalization::kNone;
  InfluenceRanking ranking = InfluenceRanking::kHighest;
  int64_t top_k = 10;  // training examples listed for each test, all of them where there are fewer; 0: all

  bool scores = true;               // of training examples on tests
  bool train_self = false;          // self-influence of the training examples: sum of rate |g|^2, never normalized
  bool test_self = false;           // self-influence of the tests, likewise
  std::vector<double> test_weight;  // [num_tests()]: one aggregate test, sum of weight[j] g'(j); empty: each test apart

  std::vector<ProductPart> parts;  // what counts, and what is told apart by part_scores; empty: one part "all"
  bool part_scores = false;        // also the parts' contributions to each listed score and to each self-influence

  int64_t memory_limit = 0;  // bytes for what the checkpoints hold of tests, more tests taking further passes; 0: none
  // Checkpoints in memory at once (GradientProducts::Release), 0: all. Fewer than there are take turns: for each block
  // of the training examples, as many as scores of them fit in half of memory_limit, each holds the tests anew. The
  // result is the same to the bit, where products are.
  int64_t checkpoints_at_once = 0;
  int threads = 1;  // of the driver; the products have their own
};

// INVALID_ARGUMENT naming option, value and range, or two options that exclude each other.
absl::Status CheckTracInOptions(const TracInOptions& options);

// "none", "cosine", "train_norm"; "highest", "lowest", "absolute", "both": as in flags and files.
absl::string_view InfluenceNormalizationName(InfluenceNormalization normalization);
absl::string_view InfluenceRankingName(InfluenceRanking ranking);
absl::StatusOr<InfluenceNormalization> ParseInfluenceNormalization(absl::string_view name);
absl::StatusOr<InfluenceRanking> ParseInfluenceRanking(absl::string_view name);

// A part of the training examples, drawn without repetition.
struct TrainSampling {
  double rate = 1;  // (0, 1]
  uint64_t seed = 0;
};

// INVALID_ARGUMENT naming the option.
absl::Status CheckTrainSampling(const TrainSampling& sampling);

// Of `train`, in its order: round(rate n) of them, at least one. strata: empty, or for each entry of `train` the number
// of its stratum (its relation, head or tail), each of which gives round(rate n) of its n, at least one. Depends on the
// seed, on the strata and on the place in `train`, not on the machine. CHECK-fails on strata of another length.
std::vector<int64_t> SampleTraining(absl::Span<const int64_t> train, absl::Span<const int64_t> strata,
                                    const TrainSampling& sampling);

// The i-th of n shards of `train`, 1 <= i <= n: consecutive, of sizes that differ by at most one.
absl::Span<const int64_t> TrainShard(absl::Span<const int64_t> train, int i, int n);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_TRACIN_OPTIONS_H_
