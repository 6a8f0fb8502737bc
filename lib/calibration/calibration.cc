#include "lib/calibration/calibration.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/calibration/curve_fits.h"

namespace rutile {
namespace {

constexpr char kCurve[] = "calibration.curve", kBegin[] = "calibration.begin", kScore[] = "calibration.score",
               kValue[] = "calibration.value";

// The answers of one kind: their number, weight and effective number.
struct Answers {
  int64_t num = 0;
  double weight = 0, square = 0;

  void Add(double w) {
    ++num;
    weight += w;
    square += w * w;
  }
  double effective() const { return num == 0 ? 0 : weight * (weight / square); }
};

struct Counts {
  Answers of_true, of_false;

  void Add(const ScoredExample& example) { (example.is_true ? of_true : of_false).Add(example.weight); }
  bool has_both() const { return of_true.num > 0 && of_false.num > 0; }
};

Counts Count(absl::Span<const ScoredExample> examples) {
  Counts counts;
  for (const ScoredExample& example : examples) counts.Add(example);
  return counts;
}

// Returns the examples of each question.
std::vector<std::vector<ScoredExample>> ByQuestion(absl::Span<const ScoredExample> examples, int64_t num_questions) {
  std::vector<std::vector<ScoredExample>> by_question(num_questions);
  for (const ScoredExample& example : examples) by_question[example.question].push_back(example);
  return by_question;
}

absl::StatusOr<const Tensor*> Find(const NamedTensors& tensors, const char* name, DType dtype) {
  const Tensor* const tensor = tensors.Find(name);
  if (tensor == nullptr) return absl::InvalidArgumentError(absl::StrCat("tensor \"", name, "\" is missing"));
  if (tensor->dtype() != dtype || tensor->shape().size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor \"", name, "\": expected one dimension of type ", DTypeName(dtype)));
  }
  return tensor;
}

bool Ascends(absl::Span<const double> values) { return std::is_sorted(values.begin(), values.end()); }

}  // namespace

Calibration::Curve Calibration::FitCurve(absl::Span<const ScoredExample> examples, const CalibrationOptions& options) {
  const Counts counts = Count(examples);
  const double num_true = counts.of_true.effective(), num_false = counts.of_false.effective();
  std::vector<double> scores, targets, weights;
  for (const ScoredExample& example : examples) {
    scores.push_back(example.score);
    weights.push_back(example.weight * (example.is_true ? options.base_rate / counts.of_true.weight
                                                        : (1 - options.base_rate) / counts.of_false.weight));
    // Platt's targets are those of a further answer of each kind, so that no finite sample makes certain.
    const bool platt = options.method == CalibrationMethod::kPlatt;
    const double one = platt ? (num_true + 1) / (num_true + 2) : 1, zero = platt ? 1 / (num_false + 2) : 0;
    targets.push_back(example.is_true ? one : zero);
  }
  Curve curve;
  if (options.method == CalibrationMethod::kPlatt) {
    double slope = 0, offset = 0;
    FitLogistic(scores, targets, weights, &slope, &offset);
    return {{slope}, {offset}};
  }
  const Steps steps = FitIsotonic(scores, targets, weights);
  // Nor does isotonic regression: it is as if each kind had a further answer, of the wrong score.
  const double least = options.base_rate / (num_true + 2), most = 1 - (1 - options.base_rate) / (num_false + 2);
  for (size_t i = 0; i < steps.value.size(); ++i) {
    const double value = std::clamp(steps.value[i], least, most);
    curve.score.push_back(steps.first[i]);
    curve.value.push_back(value);
    if (steps.last[i] == steps.first[i]) continue;
    curve.score.push_back(steps.last[i]);
    curve.value.push_back(value);
  }
  return curve;
}

absl::StatusOr<Calibration> Calibration::Fit(absl::Span<const ScoredExample> examples, int64_t num_questions,
                                             const CalibrationOptions& options) {
  CHECK(options.base_rate > 0 && options.base_rate < 1);
  for (const ScoredExample& example : examples) {
    CHECK(example.question >= 0 && example.question < num_questions);
    CHECK_GT(example.weight, 0);
  }
  const Counts all = Count(examples);
  if (!all.has_both()) {
    return absl::InvalidArgumentError(absl::StrCat("there are ", all.of_true.num, " true answers and ",
                                                   all.of_false.num,
                                                   " false ones to fit probabilities to, expected some of each"));
  }
  Calibration calibration;
  calibration.method_ = options.method;
  calibration.base_rate_ = options.base_rate;
  calibration.curves_.push_back(FitCurve(examples, options));
  for (const std::vector<ScoredExample>& of_question : ByQuestion(examples, num_questions)) {
    const Counts counts = Count(of_question);
    // Sums of weights are rounded.
    const double fewest = static_cast<double>(std::max<int64_t>(1, options.min_positives)) * (1 - 1e-9);
    const bool own = counts.of_true.effective() >= fewest && counts.has_both();
    calibration.curve_of_.push_back(own ? static_cast<int32_t>(calibration.curves_.size()) : 0);
    if (own) calibration.curves_.push_back(FitCurve(of_question, options));
  }
  return calibration;
}

void Calibration::AddTensors(NamedTensors* tensors) const {
  std::vector<int64_t> begin = {0};
  std::vector<double> score, value;
  for (const Curve& curve : curves_) {
    score.insert(score.end(), curve.score.begin(), curve.score.end());
    value.insert(value.end(), curve.value.begin(), curve.value.end());
    begin.push_back(static_cast<int64_t>(score.size()));
  }
  tensors->Set(kCurve, Tensor::Of<int32_t>(curve_of_));
  tensors->Set(kBegin, Tensor::Of<int64_t>(begin));
  tensors->Set(kScore, Tensor::Of<double>(score));
  tensors->Set(kValue, Tensor::Of<double>(value));
}

absl::StatusOr<Calibration> Calibration::FromTensors(const NamedTensors& tensors, CalibrationMethod method,
                                                     double base_rate, int64_t num_questions) {
  if (!(base_rate > 0 && base_rate < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the base rate of the probabilities is ", base_rate, ", expected a number between 0 and 1"));
  }
  ASSIGN_OR_RETURN(const Tensor* const curve_of, Find(tensors, kCurve, DType::kI32));
  ASSIGN_OR_RETURN(const Tensor* const begins, Find(tensors, kBegin, DType::kI64));
  ASSIGN_OR_RETURN(const Tensor* const scores, Find(tensors, kScore, DType::kF64));
  ASSIGN_OR_RETURN(const Tensor* const probabilities, Find(tensors, kValue, DType::kF64));
  const absl::Span<const int64_t> begin = begins->values<int64_t>();
  const absl::Span<const double> score = scores->values<double>(), value = probabilities->values<double>();
  const auto wrong = [](const char* name, absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("tensor \"", name, "\": ", what));
  };
  if (curve_of->num_elements() != num_questions) {
    return wrong(kCurve, absl::StrCat("has ", curve_of->num_elements(), " questions, expected ", num_questions));
  }
  if (begin.size() < 2 || begin.front() != 0 || begin.back() != static_cast<int64_t>(score.size()) ||
      std::adjacent_find(begin.begin(), begin.end(), [](int64_t a, int64_t b) { return a >= b; }) != begin.end()) {
    return wrong(kBegin, "expected ascending numbers from 0 to the number of points");
  }
  if (score.size() != value.size()) return wrong(kValue, "expected as many numbers as calibration.score has");
  for (const absl::Span<const double> values : {score, value}) {
    if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); })) {
      return wrong(values.data() == score.data() ? kScore : kValue, "a number is not finite");
    }
  }
  Calibration calibration;
  calibration.method_ = method;
  calibration.base_rate_ = base_rate;
  for (size_t c = 0; c + 1 < begin.size(); ++c) {
    Curve curve = {{score.begin() + begin[c], score.begin() + begin[c + 1]},
                   {value.begin() + begin[c], value.begin() + begin[c + 1]}};
    const bool is_line = curve.score.size() == 1 && curve.score[0] >= 0;
    const bool rises =
        Ascends(curve.score) && Ascends(curve.value) && curve.value.front() > 0 && curve.value.back() < 1;
    if (method == CalibrationMethod::kPlatt ? !is_line : !rises) {
      return wrong(kValue, absl::StrCat("curve ", c, " is none of ", kCalibrationMethodNames.Name(method)));
    }
    calibration.curves_.push_back(std::move(curve));
  }
  for (const int32_t curve : curve_of->values<int32_t>()) {
    if (curve < 0 || curve >= static_cast<int64_t>(calibration.curves_.size())) {
      return wrong(kCurve, absl::StrCat("there is no curve ", curve));
    }
    calibration.curve_of_.push_back(curve);
  }
  return calibration;
}

double Calibration::Probability(int32_t question, double score) const {
  const Curve& curve = curves_[curve_of_[question]];
  if (std::isnan(score)) return score;
  if (method_ == CalibrationMethod::kPlatt) return Logistic(curve.score[0] * score + curve.value[0]);
  const auto above = std::upper_bound(curve.score.begin(), curve.score.end(), score);
  if (above == curve.score.begin()) return curve.value.front();
  if (above == curve.score.end()) return curve.value.back();
  const size_t i = above - curve.score.begin();
  const double along = (score - curve.score[i - 1]) / (curve.score[i] - curve.score[i - 1]);
  return curve.value[i - 1] + along * (curve.value[i] - curve.value[i - 1]);
}

double Calibration::Probability(int32_t question, double score, double base_rate) const {
  const double p = Probability(question, score);
  if (base_rate == base_rate_) return p;
  // Bayes' rule: odds are those of the scores times those of the base rate.
  const double ratio = base_rate / (1 - base_rate) * (1 - base_rate_) / base_rate_;
  return p * ratio / (p * ratio + (1 - p));
}

CalibrationMeasures MeasureCalibration(const Calibration* calibration, absl::Span<const ScoredExample> examples,
                                       double base_rate) {
  constexpr int kBins = 10;
  int32_t num_questions = 0;
  for (const ScoredExample& example : examples) num_questions = std::max(num_questions, example.question + 1);
  std::vector<Counts> counts(num_questions);
  for (const ScoredExample& example : examples) counts[example.question].Add(example);
  CalibrationMeasures measures;
  std::vector<CalibrationMeasures::Bin> bins(kBins);
  double total = 0;
  for (const ScoredExample& example : examples) {
    const Counts& of = counts[example.question];
    if (!of.has_both()) continue;
    ++(example.is_true ? measures.num_true : measures.num_false);
    const double weight =
        example.weight * (example.is_true ? base_rate : (1 - base_rate) * of.of_true.weight / of.of_false.weight);
    const double p =
        calibration == nullptr ? base_rate : calibration->Probability(example.question, example.score, base_rate);
    const double truth = example.is_true ? 1 : 0;
    total += weight;
    measures.brier += weight * (p - truth) * (p - truth);
    measures.log_loss -= weight * std::log(std::max(1e-16, example.is_true ? p : 1 - p));
    CalibrationMeasures::Bin& bin = bins[std::clamp(static_cast<int>(kBins * p), 0, kBins - 1)];
    bin.predicted += weight * p;
    bin.observed += weight * truth;
    bin.share += weight;
  }
  if (total == 0) return measures;
  measures.brier /= total;
  measures.log_loss /= total;
  for (CalibrationMeasures::Bin& bin : bins) {
    if (bin.share == 0) continue;
    measures.bins.push_back({bin.predicted / bin.share, bin.observed / bin.share, bin.share / total});
  }
  return measures;
}

}  // namespace rutile
