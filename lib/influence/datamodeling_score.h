// The linear datamodeling score: how well scores of influence predict what training on less data does.
//
// A model is trained on M random subsets of the training examples, and y[t, m] is what it predicts for test t. The
// scores of influence predict a value for the same subset that is linear in what it keeps,
//
//   yhat[t, m] = - sum over the examples i that subset m keeps of score[t, i],
//
// with a minus because a positive score says that steps on i lowered the quantity of the test. The score of a test is
// Spearman's correlation of yhat and y over the subsets; that of a method is its mean over the tests. 1 predicts every
// order, 0 none. A test for which yhat is the same for all subsets has 0, since that predicts no order.
//
// Sources: A. Ilyas et al., "Datamodels: Predicting Predictions from Training Data", ICML 2022; S. M. Park et al.,
// "TRAK: Attributing Model Behavior at Scale", ICML 2023.

#ifndef RUTILE_LIB_INFLUENCE_DATAMODELING_SCORE_H_
#define RUTILE_LIB_INFLUENCE_DATAMODELING_SCORE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace rutile {

// Returns yhat [T, M]. kept: [M, n], 1 for the examples of a subset; score: [T, n].
std::vector<double> PredictSubsets(absl::Span<const uint8_t> kept, absl::Span<const double> score, int64_t num_tests,
                                   int64_t num_subsets);

// A mean or median over tests with its 95 % confidence interval: the 2.5 and 97.5 percentiles of the same over
// resampled subsets. All tests share the subsets, so that an error from the spread over tests would be too small.
struct ScoreInterval {
  double value = 0, low = 0, high = 0;
};

struct DatamodelingScore {
  std::vector<double> of_test;  // [T]
  ScoreInterval mean, median;
};

struct BootstrapOptions {
  int64_t draws = 1000;  // 0: the interval is the value itself
  uint64_t seed = 0;
};

// yhat, y: [T, M] with T >= 1 and M >= 2. A y that does not vary has a score of 0, too.
DatamodelingScore ScoreDatamodel(absl::Span<const double> yhat, absl::Span<const double> y, int64_t num_tests,
                                 const BootstrapOptions& options);

// Returns how well two trainings on the same subsets agree that differ in their seed alone: the mean over tests and
// pairs of seeds of Spearman's correlation over subsets. y_of_seed: for each of K >= 2 seeds y [T, M].
double SeedAgreement(absl::Span<const std::vector<double>> y_of_seed, int64_t num_tests);

// Returns the correlation of a mean over K seeds with the mean over all possible seeds, sqrt(K rho / (1 + (K - 1)
// rho)), where two seeds agree by rho (Spearman-Brown): a method that knows the expected outcome scores no more. 0 for
// rho <= 0.
double ScoreCeiling(double agreement, int64_t num_seeds);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_DATAMODELING_SCORE_H_
