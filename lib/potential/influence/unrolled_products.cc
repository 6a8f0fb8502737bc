#include "lib/potential/influence/unrolled_products.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/interrupt.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/potential/influence/batch_gradient.h"
#include "lib/potential/influence/gradient_example.h"
#include "lib/potential/influence/gradient_rows.h"
#include "lib/potential/model/labels/learned_labels.h"

namespace rutile {
namespace {

// The largest change of a parameter in a central difference, relative to the root mean square of all. Truncation grows
// with its square, and rounding, 1e-16 over it, falls; in fp64 both are near 1e-10 of sums of losses, which are smooth.
constexpr double kDifference = 1e-5;
constexpr int64_t kTile = 256;

double Length(absl::Span<const double> a) { return std::sqrt(std::inner_product(a.begin(), a.end(), a.begin(), 0.0)); }

double Distance(absl::Span<const double> a, absl::Span<const double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

class UnrolledProducts : public GradientProducts {
 public:
  UnrolledProducts(const Potential& end, const AtomicData& train, const AtomicData& test,
                   std::vector<PotentialTest> tests, const TermWeights& weights, UnrolledRun run,
                   const PotentialProductsOptions& options)
      : train_(train),
        test_(test),
        tests_(std::move(tests)),
        run_(std::move(run)),
        options_(options),
        num_parameters_(end.shape.num_parameters()),
        slices_(NetworkSlices(end.descriptor, end.shape)),
        formulas_(end, options.loss, weights, options.angular),
        batches_(end, options.loss, options.angular, options.num_threads) {}

  int64_t num_train() const override { return train_.num_structures(); }
  int64_t num_tests() const override { return static_cast<int64_t>(tests_.size()); }
  const std::vector<ParameterSlice>& slices() const override { return slices_; }

  void SetParts(const std::vector<ProductPart>& parts) override {
    CHECK(parts.size() == 1 && parts[0].slices.size() == slices_.size()) << "a run moves all parameters";
  }

  int64_t tile_size() const override { return kTile; }
  int64_t bytes_per_test() const override {
    const int64_t numbers = ZeroState(run_.steps[0].update, 1).h.empty() ? 5 : 6;
    return static_cast<int64_t>(sizeof(double)) * (numbers * num_parameters_ + num_train());
  }

  absl::Status SetTests(absl::Span<const int64_t> tests) override {
    std::vector<std::vector<double>> gradients(tests.size());
    for (size_t k = 0; k < tests.size(); ++k) RETURN_IF_ERROR(TestGradient(tests[k], &gradients[k]));
    return Sweep(std::move(gradients));
  }

  absl::Status SetWeightedTests(absl::Span<const double> weights) override {
    CHECK_EQ(static_cast<int64_t>(weights.size()), num_tests());
    std::vector<double> sum(num_parameters_, 0.0), gradient;
    for (int64_t j = 0; j < num_tests(); ++j) {
      if (weights[j] == 0) continue;
      RETURN_IF_ERROR(TestGradient(j, &gradient));
      for (int64_t p = 0; p < num_parameters_; ++p) sum[p] += weights[j] * gradient[p];
    }
    return Sweep({sum});
  }

  int64_t num_set_tests() const override { return static_cast<int64_t>(scores_.size()); }
  std::vector<double> TestNorms() override { return norms_; }

  absl::Status Products(absl::Span<const int64_t> train, bool squares, ProductTile* tile) override {
    CHECK(!squares) << "a structure has no length under a run";
    tile->train_square.clear();
    tile->product.clear();
    for (const int64_t s : train) {
      for (const std::vector<double>& scores : scores_) tile->product.push_back(scores[s]);
    }
    return absl::OkStatus();
  }

  std::string Notes() const override { return notes_; }

  absl::Status ReferenceTrainGradient(int64_t, absl::Span<double>) override { return NoReference(); }
  absl::Status ReferenceTestGradient(int64_t, absl::Span<double>) override { return NoReference(); }

 private:
  static absl::Status NoReference() { return absl::UnimplementedError("influence by unrolling has no reference"); }

  absl::Status TestGradient(int64_t test, std::vector<double>* gradient) {
    if (test_rows_ == nullptr) test_rows_ = std::make_unique<GradientRows>(formulas_);
    gradient->resize(num_parameters_);
    const PotentialTest& of = tests_[test];
    return test_rows_->Compute(test_, {of.structure, options_.test.quantity, of.atom, options_.test.component},
                               absl::MakeSpan(*gradient));
  }

  // How far `taken` is from `recorded`, beyond what rounding makes of so many steps, as a share of `moved`.
  double ErrorOf(const std::vector<double>& taken, const std::vector<double>& recorded, double moved,
                 size_t steps) const {
    if (taken.size() != recorded.size()) return std::numeric_limits<double>::infinity();
    const double rounding = run_.rounding * std::sqrt(static_cast<double>(steps)) * Length(recorded);
    const double off = std::max(0.0, Distance(taken, recorded) - rounding);
    return moved > 0 ? off / moved : (off > 0 ? std::numeric_limits<double>::infinity() : 0);
  }

  // FAILED_PRECONDITION unless the steps of states_, taken again from its first, end where those of the run did.
  absl::Status CheckSteps(const UnrolledStep& last, const OptimizerState& recorded) {
    const OptimizerState &before = states_.front(), &taken = states_.back();
    const size_t steps = states_.size() - 1;
    const std::string what =
        steps == 1 ? absl::StrCat(last.name, ": its step, taken again from the checkpoint before, ")
                   : absl::StrCat(last.name, ": its ", steps, " steps, taken again from the checkpoint before, ");
    const auto finite = [](const std::vector<double>& a) { return std::isfinite(Length(a)); };
    if (!finite(taken.parameters) || !finite(taken.m) || !finite(taken.v)) {
      return absl::FailedPreconditionError(absl::StrCat(what, "made numbers that are not finite"));
    }
    const double moved = Distance(recorded.parameters, before.parameters), mean = Length(recorded.m);
    const double error = std::max(
        {ErrorOf(taken.parameters, recorded.parameters, moved, steps),
         mean > 0 ? Distance(taken.m, recorded.m) / mean : 0,
         ErrorOf(
             taken.average, recorded.average,
             before.average.empty() || recorded.average.empty() ? moved : Distance(recorded.average, before.average),
             steps)});
    largest_error_ = std::max(largest_error_, error);
    if (error <= run_.tolerance) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        what, "differ", steps == 1 ? "s" : "", " by ", error, " of ", steps == 1 ? "its" : "their",
        " length, expected at most ", run_.tolerance,
        ": the run had other data, other labels, another start than its seed's (--init_from) or a setting that is not "
        "unrolled",
        steps == 1 ? ""
                   : "; or rounding has grown over the steps: the same train command with a smaller --keep_every_steps "
                     "or --precision=fp64 helps then"));
  }

  // Takes the steps from `begin` to `end` again: states_ are those before, between and after them, batch_ is of the
  // last. `recorded`: the run's state after them.
  absl::Status TakeSteps(int64_t begin, int64_t end, const OptimizerState& recorded) {
    states_.clear();
    ASSIGN_OR_RETURN(OptimizerState start, run_.state(begin));
    states_.push_back(std::move(start));
    for (int64_t t = begin; t < end; ++t) {
      RETURN_IF_ERROR(CheckInterrupt());
      const UnrolledStep& step = run_.steps[t];
      const std::vector<double>& at = states_.back().parameters;
      RETURN_IF_ERROR(t + 1 == end ? batches_.Compute(train_, step.examples, at, &batch_)
                                   : batches_.ComputeSums(train_, step.examples, at, &batch_));
      OptimizerState after = states_.back();
      TakeStep(step.update, Clipped(step.clipping, batch_.gradient), &after);
      MoveAverage(step.average_share, &after);
      states_.push_back(std::move(after));
    }
    return CheckSteps(run_.steps[end - 1], recorded);
  }

  // Takes the adjoints back through the step between two of states_, whose batch is batch_, and adds to scores.
  absl::Status GoBack(const UnrolledStep& step, const OptimizerState& before, const OptimizerState& after,
                      std::vector<OptimizerState>* adjoints, std::vector<std::vector<double>>* scores) {
    const std::vector<double> clipped = Clipped(step.clipping, batch_.gradient);
    for (size_t k = 0; k < adjoints->size(); ++k) {
      OptimizerState& adjoint = (*adjoints)[k];
      AverageBack(step.average_share, &adjoint);
      std::vector<double> u = StepBack(step.update, before, after, clipped, &adjoint);
      ClipBack(step.clipping, batch_.gradient, &u);
      const std::vector<double> by_weight = batches_.ByWeights(batch_, u);
      for (size_t b = 0; b < step.examples.size(); ++b) (*scores)[k][step.examples[b]] -= by_weight[b];
      RETURN_IF_ERROR(AddHessianProduct(step, before.parameters, u, &adjoint.parameters));
    }
    return absl::OkStatus();
  }

  // Adds H u to `sum`, H of the loss of batch_, which is that of the step at `parameters`.
  absl::Status AddHessianProduct(const UnrolledStep& step, const std::vector<double>& parameters,
                                 const std::vector<double>& u, std::vector<double>* sum) {
    double largest = 0;
    for (const double each : u) largest = std::max(largest, std::abs(each));
    if (largest == 0) return absl::OkStatus();
    const double size = Length(parameters) / std::sqrt(static_cast<double>(parameters.size()));
    const double h = kDifference * (size > 0 ? size : 1) / largest;
    std::vector<double> moved = parameters;
    for (const double side : {h, -h}) {
      for (size_t p = 0; p < moved.size(); ++p) moved[p] = parameters[p] + side * u[p];
      RETURN_IF_ERROR(batches_.ComputeSums(train_, step.examples, moved, &moved_batch_));
      batches_.AddWithSlopesOf(batch_, moved_batch_, 1 / (2 * side), sum->data());
    }
    // The root of a small sum is too crooked for a difference: how its slope changes is known in closed form.
    batches_.AddChangeOfSlopes(batch_, u, sum->data());
    return absl::OkStatus();
  }

  absl::Status Sweep(std::vector<std::vector<double>> gradients) {
    scores_.clear();
    norms_.clear();
    notes_.clear();
    largest_error_ = 0;
    const size_t h = gradients.size();
    std::vector<std::vector<double>> scores(h, std::vector<double>(num_train(), 0.0));
    std::vector<double> norms(h);
    std::vector<OptimizerState> adjoints(h);
    const auto steps = static_cast<int64_t>(run_.steps.size());
    for (size_t k = 0; k < h; ++k) {
      norms[k] = std::inner_product(gradients[k].begin(), gradients[k].end(), gradients[k].begin(), 0.0);
      adjoints[k] = ZeroState(run_.steps.back().update, num_parameters_);
      // A quantity of the average depends on the parameters of each step, by the average's shares.
      (run_.of_average ? adjoints[k].average : adjoints[k].parameters) = std::move(gradients[k]);
    }
    OptimizerState recorded;
    if (h > 0) {
      ASSIGN_OR_RETURN(recorded, run_.state(steps));
    }
    for (size_t c = run_.known.size() - 1; c > 0 && h > 0; --c) {
      const int64_t begin = run_.known[c - 1], end = run_.known[c];
      RETURN_IF_ERROR(TakeSteps(begin, end, recorded));
      for (int64_t t = end - 1; t >= begin; --t) {
        RETURN_IF_ERROR(CheckInterrupt());
        const UnrolledStep& step = run_.steps[t];
        const OptimizerState &before = states_[t - begin], &after = states_[t - begin + 1];
        if (t + 1 < end) RETURN_IF_ERROR(batches_.Compute(train_, step.examples, before.parameters, &batch_));
        RETURN_IF_ERROR(GoBack(step, before, after, &adjoints, &scores));
      }
      recorded = std::move(states_.front());
    }
    states_.clear();
    for (const std::vector<double>& each : scores) {
      if (std::all_of(each.begin(), each.end(), [](double score) { return std::isfinite(score); })) continue;
      return absl::OutOfRangeError(
          "a score is not finite: the run is so rough that derivatives by its early steps grow without bound; give the "
          "last checkpoints alone, from which unrolling then begins");
    }
    if (h > 0) {
      notes_ = absl::StrCat(steps, " steps unrolled; taken again, they differ from the run's by at most ",
                            largest_error_, " of their length",
                            run_.of_average ? "; quantities are of the moving average of the parameters" : "");
    }
    scores_ = std::move(scores);
    norms_ = std::move(norms);
    return absl::OkStatus();
  }

  const AtomicData train_, test_;
  const std::vector<PotentialTest> tests_;
  const UnrolledRun run_;
  const PotentialProductsOptions options_;
  const int64_t num_parameters_;
  const std::vector<ParameterSlice> slices_;
  const GradientFormulas formulas_;  // at the end of the run
  std::unique_ptr<GradientRows> test_rows_;
  BatchGradients batches_;
  BatchGradient batch_, moved_batch_;
  std::vector<OptimizerState> states_;       // from one known state to the next
  std::vector<std::vector<double>> scores_;  // [tests] of [num_train()]
  std::vector<double> norms_;                // [tests]
  std::string notes_;
  double largest_error_ = 0;  // of a step that was taken again
};

}  // namespace

absl::StatusOr<std::unique_ptr<GradientProducts>> MakeUnrolledProducts(const Potential& potential,
                                                                       const AtomicData& given_train,
                                                                       const AtomicData& given_test,
                                                                       const WeightedCheckpoint& point, UnrolledRun run,
                                                                       const PotentialProductsOptions& options) {
  RETURN_IF_ERROR(CheckPotentialProducts(potential, point, options));
  CHECK(!options.gauss_newton.has_value() && options.projection.kind == ProjectionKind::kNone);
  CHECK(!run.steps.empty() && run.known.size() > 1 && run.known.front() == 0);
  CHECK_EQ(run.known.back(), static_cast<int64_t>(run.steps.size()));
  for (const AtomicData* data : {&given_train, &given_test}) {
    if (data->descriptor() == potential.descriptor) continue;
    return absl::InvalidArgumentError(absl::StrCat(data == &given_train ? "the training" : "the test",
                                                   " data has the descriptor ", data->descriptor().ToJson(),
                                                   ", but the model has ", potential.descriptor.ToJson()));
  }
  ASSIGN_OR_RETURN(const AtomicData train, LearnedLabels(given_train, potential.repulsion, options.num_threads));
  ASSIGN_OR_RETURN(const AtomicData test, LearnedLabels(given_test, potential.repulsion, options.num_threads));
  ASSIGN_OR_RETURN(std::vector<PotentialTest> tests, PotentialTests(test, options.test));
  ASSIGN_OR_RETURN(const TermWeights weights, TermWeightsOf(options.loss, point.loss_weight));
  Potential end = potential;
  end.parameters = point.parameters;
  return std::unique_ptr<GradientProducts>(
      std::make_unique<UnrolledProducts>(end, train, test, std::move(tests), weights, std::move(run), options));
}

}  // namespace rutile
