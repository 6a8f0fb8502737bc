// Probabilities that mean what they say: of the answers that are given 0.8, about 80 % are true.
//
// A score becomes a probability by a curve for each question (a relation, and the side that is asked for), fitted to
// true and false answers: Platt's, the logistic function of a straight line (Platt, Advances in Large Margin
// Classifiers, 1999, with Lin, Lin, Weng, Machine Learning 68, 267 (2007)), or isotonic regression (Zadrozny, Elkan,
// KDD 2002). False answers are drawn, so that a share of true ones, the base rate, is a statement of the user and not
// of the data (Tabacof, Costabello, ICLR 2020).
//
// Answers weigh what their triples do. Only ratios of weights matter: what depends on a number of answers, as how far
// from certain a probability stays, depends on their effective number (sum of w)^2 / sum of w^2 (Kish, Survey Sampling,
// 1965), which is the number itself for equal weights.

#ifndef RUTILE_LIB_CALIBRATION_CALIBRATION_H_
#define RUTILE_LIB_CALIBRATION_CALIBRATION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/enum_names.h"
#include "lib/calibration/scored_examples.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

enum class CalibrationMethod { kPlatt, kIsotonic };
inline constexpr absl::string_view kCalibrationMethodWords[] = {"platt", "isotonic"};
inline constexpr EnumNames<CalibrationMethod> kCalibrationMethodNames("probabilities cannot be fitted by",
                                                                      kCalibrationMethodWords);

struct CalibrationOptions {
  CalibrationMethod method = CalibrationMethod::kPlatt;
  double base_rate = 0.5;  // share of true answers, above 0 and below 1
  // A question with fewer true answers than this, by their effective number, has the curve of all questions together.
  int64_t min_positives = 20;
};

class Calibration {
 public:
  // Fits curves for the questions 0 .. num_questions - 1 to finite scores. INVALID_ARGUMENT: no true answer, or no
  // false one.
  static absl::StatusOr<Calibration> Fit(absl::Span<const ScoredExample> examples, int64_t num_questions,
                                         const CalibrationOptions& options);
  // Reads what AddTensors wrote. INVALID_ARGUMENT naming the tensor and the rule that it breaks.
  static absl::StatusOr<Calibration> FromTensors(const NamedTensors& tensors, CalibrationMethod method,
                                                 double base_rate, int64_t num_questions);
  // Adds calibration.curve [questions], the number of each question's curve, and the points of the curves:
  // calibration.begin [curves + 1], calibration.score and calibration.value [points].
  void AddTensors(NamedTensors* tensors) const;

  // Returns the probability that an answer with this score is true, given the base rate of the fit, or another one
  // above 0 and below 1. question: from 0, below num_questions().
  double Probability(int32_t question, double score) const;
  double Probability(int32_t question, double score, double base_rate) const;

  CalibrationMethod method() const { return method_; }
  double base_rate() const { return base_rate_; }
  int64_t num_questions() const { return static_cast<int64_t>(curve_of_.size()); }
  // Number of questions with a curve of their own.
  int64_t num_own() const { return static_cast<int64_t>(curves_.size()) - 1; }

 private:
  // Platt: one point, (slope, offset). Isotonic: scores, ascending, with their probabilities, between which it is
  // linear.
  struct Curve {
    std::vector<double> score, value;
  };

  static Curve FitCurve(absl::Span<const ScoredExample> examples, const CalibrationOptions& options);

  CalibrationMethod method_ = CalibrationMethod::kPlatt;
  double base_rate_ = 0.5;
  std::vector<Curve> curves_;      // that of all questions together, then those of single ones
  std::vector<int32_t> curve_of_;  // [questions]
};

// How good probabilities are: errors over all answers, and what they say against what is true, in groups.
struct CalibrationMeasures {
  // Mean squared difference of probability and truth (Brier 1950), and mean negative log-likelihood. In each question,
  // true answers weigh the base rate, and questions weigh their true answers. A probability counts as at
  // least 1e-16 away from certainty.
  double brier = 0, log_loss = 0;
  int64_t num_true = 0, num_false = 0;
  struct Bin {
    double predicted = 0, observed = 0;  // means of the probabilities and of the truth
    double share = 0;                    // of the weight of all answers
  };
  std::vector<Bin> bins;  // of a tenth each; without empty ones
};

// Measures probabilities on answers. calibration: null for the base rate as the probability of every answer. Questions
// that have no false answers do not count; where none count, all is 0.
CalibrationMeasures MeasureCalibration(const Calibration* calibration, absl::Span<const ScoredExample> examples,
                                       double base_rate);

}  // namespace rutile

#endif  // RUTILE_LIB_CALIBRATION_CALIBRATION_H_
