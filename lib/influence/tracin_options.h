// Options of an influence computation that all domains share.

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

// How the product <g, g'> of a training example's gradient g and a test's g' becomes a checkpoint's contribution to a
// score. Each checkpoint's product is divided by that checkpoint's own norms, and the quotients are added with the
// rates: an average of cosines, not the cosine of an average. (dattri's TracInAttributor does the same with
// normalized_grad; captum's TracInCP does not divide.) Scores of kCosine lie in [-sum of rates, sum of rates]. If a
// norm is 0 the product is 0, and so is the quotient. Norms are over all parts together, so that scores of parts add up
// to the whole.
enum class InfluenceNormalization {
  kNone,       // <g, g'>: TracInCP (Pruthi et al., NeurIPS 2020); with one checkpoint and rate 1: GradDot
  kCosine,     // <g, g'> / (|g| |g'|): GradCos
  kTrainNorm,  // <g, g'> / |g|: an example does not lead because its gradient is long; RelatIF (Barshan et al. 2020)
};

// Which k training examples are listed for a test. A tie always goes to the lower training index.
enum class InfluenceRanking {
  kHighest,   // the k highest scores, descending: proponents
  kLowest,    // the k lowest, ascending: opponents
  kAbsolute,  // the k largest by absolute value, descending by it
  // The k highest and the k lowest, in one list that descends by score: proponents first, the strongest opponent last.
  // Each example is listed at most once, also if there are fewer than 2 k.
  kBoth,
};

// What to compute, how to rank it, and how much memory to use.
struct TracInOptions {
  InfluenceNormalization normalization = InfluenceNormalization::kNone;
  InfluenceRanking ranking = InfluenceRanking::kHighest;
  int64_t top_k = 10;  // number of training examples listed for each test; 0: all

  bool scores = true;       // compute scores of training examples on tests
  bool train_self = false;  // compute the training examples' self-influence, sum of rate |g|^2, never normalized
  bool test_self = false;   // compute the tests' self-influence in the same way
  std::vector<double> test_weight;  // [num_tests()]: one aggregate test, sum of weight[j] g'(j); empty: each test apart

  std::vector<ProductPart> parts;  // parts of the parameters, which part_scores separates; empty: one part "all"
  bool part_scores = false;        // also compute each part's contribution to listed scores and self-influence

  int64_t memory_limit = 0;  // bytes for the checkpoints' data of tests, 0: no limit; more tests take more passes
  // The number of checkpoints in memory at once (GradientProducts::Release); 0: all. If it is less than their number,
  // they take turns for each block of training examples, each preparing the tests anew. A block has as many training
  // examples as have scores that fit in half of memory_limit. The result has the same bits if the products have.
  int64_t checkpoints_at_once = 0;
  int threads = 1;  // threads of this package; the products have their own
};

// Returns INVALID_ARGUMENT naming option, value and range, or two options that exclude each other.
absl::Status CheckTracInOptions(const TracInOptions& options);

// Names in flags and files: "none", "cosine", "train_norm"; "highest", "lowest", "absolute", "both". Parsing returns
// INVALID_ARGUMENT listing the names if there is no such choice.
absl::string_view InfluenceNormalizationName(InfluenceNormalization normalization);
absl::string_view InfluenceRankingName(InfluenceRanking ranking);
absl::StatusOr<InfluenceNormalization> ParseInfluenceNormalization(absl::string_view name);
absl::StatusOr<InfluenceRanking> ParseInfluenceRanking(absl::string_view name);

// Options of drawing some of the training examples without repetition.
struct TrainSampling {
  double rate = 1;  // (0, 1]
  uint64_t seed = 0;
};

// Returns INVALID_ARGUMENT naming the option that is out of range.
absl::Status CheckTrainSampling(const TrainSampling& sampling);

// Draws round(rate n) of the n examples in `train`, at least one, and returns them in their order. strata: empty, or
// the stratum of each entry of `train` (its relation, head or tail), from each of which round(rate n) of its n
// examples, at least one, are drawn. The result depends on the seed, on the strata and on the position in `train`, not
// on the machine. CHECK-fails on strata of another length.
std::vector<int64_t> SampleTraining(absl::Span<const int64_t> train, absl::Span<const int64_t> strata,
                                    const TrainSampling& sampling);

// Returns the i-th of n shards of `train`, 1 <= i <= n: consecutive examples, in sizes that differ by at most one.
absl::Span<const int64_t> TrainShard(absl::Span<const int64_t> train, int i, int n);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_TRACIN_OPTIONS_H_
