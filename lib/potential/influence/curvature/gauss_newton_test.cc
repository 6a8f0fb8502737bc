#include "lib/potential/influence/curvature/gauss_newton.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "lib/machine/parallel_for.h"
#include "lib/potential/influence/curvature/gauss_newton_testing.h"
#include "lib/potential/influence/gradient_reference.h"
#include "lib/potential/influence/gradient_testing.h"
#include "lib/potential/model/task_options.h"

namespace rutile {
namespace {

constexpr Activation kTanh = Activation::kTanh, kLinear = Activation::kLinear;

LossOptions Loss(LossKind kind) {
  LossOptions loss;
  loss.kind = kind;
  loss.energy_delta = 0.2;  // some errors are larger
  loss.force_delta = 0.5;
  loss.stress_delta = 0.05;
  loss.force_weight = loss.stress_weight = 0.5;
  return loss;
}

std::vector<double> Reference(const Potential& potential, const LossOptions& loss, const TermWeights& weights,
                              const AtomicData& data, const GradientExample& example) {
  std::vector<double> gradient(potential.shape.num_parameters());
  const absl::Status status =
      ReferenceExampleGradient(potential, loss, weights, data, example, absl::MakeSpan(gradient));
  EXPECT_TRUE(status.ok()) << status;
  return gradient;
}

// Adds c j j^T.
void AddSquare(double c, const std::vector<double>& j, std::vector<double>* h) {
  const size_t p = j.size();
  for (size_t a = 0; a < p; ++a) {
    for (size_t b = 0; b < p; ++b) (*h)[a * p + b] += c * j[a] * j[b];
  }
}

// Returns J^T C J / n of energies and forces, J by one pass of autograd for each output.
std::vector<double> ReferenceMatrix(const Potential& potential, const LossOptions& loss, const TermWeights& weights,
                                    const AtomicData& data, const std::vector<int64_t>& examples) {
  const int64_t p = potential.shape.num_parameters();
  const auto num_examples = static_cast<double>(examples.size());
  std::vector<double> h(p * p, 0.0);
  const GradientFormulas formulas(potential, loss, weights, AngularMethod::kMoments);
  OutputRows rows(formulas, {{0, p}});
  std::vector<StructureOutput> outputs;
  for (const int64_t s : examples) {
    StructureTerms terms;
    EXPECT_TRUE(rows.Predict(data, s, &outputs, &terms).ok());
    const auto n = static_cast<double>(data.num_atoms(s));
    int64_t component = 0;
    for (const StructureOutput& output : outputs) {
      if (output.term == 0) {
        std::vector<double> j = Reference(potential, loss, weights, data, {s, PotentialQuantity::kEnergy});
        for (double& each : j) each /= n;
        AddSquare(output.curvature / num_examples, j, &h);
      } else {
        const GradientExample example = {s, PotentialQuantity::kForceComponent, component / 3,
                                         static_cast<int>(component % 3)};
        AddSquare(output.curvature / num_examples, Reference(potential, loss, weights, data, example), &h);
        ++component;
      }
    }
  }
  return h;
}

// Returns the largest difference of (H + D) n K v from v.
double ErrorOfSolution(const GaussNewton& made, const std::vector<double>& h, const std::vector<double>& damping) {
  const int64_t p = made.size();
  std::vector<double> v(p);
  for (int64_t k = 0; k < p; ++k) v[k] = std::sin(1.0 + static_cast<double>(k));
  std::vector<double> solved = v;
  made.Solve(1, solved.data(), nullptr);
  double worst = 0;
  for (int64_t a = 0; a < p; ++a) {
    double sum = damping[a] * solved[a];
    for (int64_t b = 0; b < p; ++b) sum += h[a * p + b] * solved[b];
    worst = std::max(worst, std::abs(static_cast<double>(made.num_examples()) * sum - v[a]));
  }
  return worst;
}

std::unique_ptr<GaussNewton> Make(const GradientFormulas& formulas, const AtomicData& data,
                                  const GaussNewtonOptions& options, int threads = 1) {
  ThreadPool pool(threads);
  auto made =
      GaussNewton::Make(formulas, data, {{0, static_cast<int64_t>(formulas.parameters.size())}}, options, &pool);
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? *std::move(made) : nullptr;
}

// by_rows: there are fewer rows than parameters, so that the matrix is never formed.
void ExpectTheSquareOfAutogradsJacobian(const Potential& potential, LossKind kind, const TermWeights& weights,
                                        const std::vector<int64_t>& examples, bool by_rows) {
  const AtomicData data = AwkwardStructures(potential.descriptor);
  const int64_t p = potential.shape.num_parameters();
  const LossOptions loss = Loss(kind);
  const GradientFormulas formulas(potential, loss, weights, AngularMethod::kMoments);
  GaussNewtonOptions options;
  options.examples = examples;
  options.damping = UnevenDamping(p);
  const auto made = Make(formulas, data, options);
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->Describe().find("by its rows") != std::string::npos, by_rows) << made->Describe();
  const std::vector<double> h = ReferenceMatrix(potential, loss, weights, data, examples);
  EXPECT_LT(ErrorOfSolution(*made, h, options.damping), 1e-9);
  double rest = 0;  // tr((H + D)^-1 D) by the definition
  for (int64_t k = 0; k < p; ++k) {
    std::vector<double> unit(p, 0.0);
    unit[k] = options.damping[k];
    made->Solve(1, unit.data(), nullptr);
    rest += static_cast<double>(examples.size()) * unit[k];
  }
  EXPECT_NEAR(made->effective_parameters(), static_cast<double>(p) - rest, 1e-8 * p);
}

TEST(GaussNewtonTest, IsTheSquareOfAutogradsJacobian) {
  const Potential potential = AwkwardPotential({5, 4}, kTanh), small = AwkwardPotential({1}, kTanh);
  ExpectTheSquareOfAutogradsJacobian(potential, LossKind::kMse, {1, 0, 0}, AllAwkward(), /*by_rows=*/true);
  // All energies are beyond the bend of Huber's loss, so that they need forces beside them.
  for (const LossKind kind : {LossKind::kMse, LossKind::kHuber}) {
    ExpectTheSquareOfAutogradsJacobian(potential, kind, {0.3, 0.7, 0}, AllAwkward(), /*by_rows=*/true);
    ExpectTheSquareOfAutogradsJacobian(small, kind, {0.3, 0.7, 0}, AllAwkward(), /*by_rows=*/false);
  }
}

TEST(GaussNewtonTest, IsTheSquareOfAutogradsJacobianOfTwoLayers) {
  const std::vector<int64_t> small = {0, 1, 2, 3, 5, 7};  // autograd takes long for the largest structure
  ExpectTheSquareOfAutogradsJacobian(AwkwardManyBody(/*messages=*/2, /*vectors=*/1), LossKind::kMse, {0.3, 0.7, 0},
                                     small, /*by_rows=*/true);
}

TEST(GaussNewtonTest, HalvesAndThreadsAndColumns) {
  const AtomicData data = AwkwardStructures();
  const Potential potential = AwkwardPotential({5, 4}, kTanh);
  const int64_t p = potential.shape.num_parameters();
  const GradientFormulas formulas(potential, Loss(LossKind::kMse), {0.3, 0.7, 2}, AngularMethod::kMoments);
  GaussNewtonOptions options;
  options.examples = AllAwkward();
  const auto one = Make(formulas, data, options), two = Make(formulas, data, options, 2);
  ExpectHalvesAndEqualBits(*one, *two);
  ThreadPool pool(1);
  const auto part = GaussNewton::Make(formulas, data, {{2, 5}, {p - 3, p}}, options, &pool);
  ASSERT_TRUE(part.ok());
  EXPECT_EQ((*part)->size(), 6);
  options.memory_limit = 100;
  EXPECT_TRUE(absl::IsResourceExhausted(GaussNewton::Make(formulas, data, {{0, p}}, options, &pool).status()));
}

// A linear model's loss is a quadratic function, so that its gradients tell the whole matrix, with stresses.
TEST(GaussNewtonTest, OfALinearModelIsTheHessian) {
  const AtomicData data = AwkwardStructures();
  const LossOptions loss = Loss(LossKind::kMse);
  const TermWeights weights{0.3, 0.7, 2};
  Potential potential = AwkwardPotential({}, kLinear);
  const int64_t p = potential.shape.num_parameters();
  const GradientFormulas formulas(potential, loss, weights, AngularMethod::kMoments);
  GaussNewtonOptions options;
  options.examples = AllAwkward();
  options.damping = UnevenDamping(p);
  const auto made = Make(formulas, data, options);
  const auto gradient = [&](const Potential& at) {
    std::vector<double> sum(p, 0.0);
    for (const int64_t s : AllAwkward()) {
      const std::vector<double> one = Reference(at, loss, weights, data, {s});
      for (int64_t k = 0; k < p; ++k) sum[k] += one[k] / kNumAwkward;
    }
    return sum;
  };
  const std::vector<double> base = gradient(potential), parameters = potential.parameters.ToDoubles();
  std::vector<double> h(p * p);
  for (int64_t b = 0; b < p; ++b) {
    std::vector<double> moved = parameters;
    moved[b] += 1;
    potential.parameters = Tensor::Of(moved);
    const std::vector<double> there = gradient(potential);
    for (int64_t a = 0; a < p; ++a) h[a * p + b] = there[a] - base[a];
  }
  EXPECT_LT(ErrorOfSolution(*made, h, options.damping), 1e-7);
}

TEST(GaussNewtonTest, ProbesTendToAllRows) {
  const AtomicData data = AwkwardStructures();
  const Potential potential = AwkwardPotential({5, 4}, kTanh);
  const int64_t p = potential.shape.num_parameters();
  const GradientFormulas formulas(potential, Loss(LossKind::kMse), {0.3, 0.7, 2}, AngularMethod::kMoments);
  GaussNewtonOptions options;
  options.examples = AllAwkward();
  options.damping = UnevenDamping(p);
  const auto exact = Make(formulas, data, options);
  std::vector<double> v(p, 1.0);
  std::vector<double> expected = v;
  exact->Solve(1, expected.data(), nullptr);
  double last = 1e30;
  for (const int probes : {2, 32, 512}) {
    options.probes = probes;
    options.seed = 3;
    // Structures have up to 3 * 20 outputs; with more probes than outputs rows are exact, so the sum is of halves.
    const auto made = Make(formulas, data, options);
    std::vector<double> found = v;
    made->Solve(1, found.data(), nullptr);
    const double error = RelativeDifference(found, expected);
    EXPECT_LT(error, last) << probes;
    last = probes == 512 ? error : std::max(error, 1e-12);
  }
  EXPECT_LT(last, 1e-9) << "no structure has as many outputs";
  const auto at = [&](uint64_t seed) {
    options.probes = 2;
    options.seed = seed;
    const auto made = Make(formulas, data, options);
    std::vector<double> found = v;
    made->Solve(1, found.data(), nullptr);
    return found;
  };
  EXPECT_EQ(at(1), at(1));
  EXPECT_NE(at(1), at(2));
}

// The gradient of a loss of means, or of their roots, by the weight of a structure, against a difference quotient.
void ExpectCoupling(LossCoupling coupling) {
  const bool has_roots = coupling == LossCoupling::kRoots;
  const AtomicData data = AwkwardStructures();
  const Potential potential = AwkwardPotential({5, 4}, kTanh);
  const int64_t p = potential.shape.num_parameters();
  const LossOptions loss = Loss(has_roots ? LossKind::kRmse : LossKind::kMse);
  const double share[3] = {0.3, 0.5, 0.2};
  // Sums, counts and gradients of each structure's terms.
  std::vector<StructureTerms> terms(kNumAwkward);
  std::vector<std::vector<double>> gradients[3];
  std::vector<StructureOutput> outputs;
  for (int t = 0; t < 3; ++t) {
    const TermWeights only{t == 0 ? 1.0 : 0.0, t == 1 ? 1.0 : 0.0, t == 2 ? 1.0 : 0.0};
    const GradientFormulas formulas(potential, loss, only, AngularMethod::kMoments);
    OutputRows rows(formulas, {{0, p}});
    for (const int64_t s : AllAwkward()) {
      StructureTerms one;
      ASSERT_TRUE(rows.Predict(data, s, &outputs, &one).ok());
      terms[s].sum[t] = one.sum[t];
      terms[s].count[t] = one.count[t];
      gradients[t].push_back(Reference(potential, loss, only, data, {s}));
    }
  }
  // Returns the gradient of the loss with the structure's weight times `factor`.
  const auto gradient = [&](int64_t structure, double factor) {
    std::vector<double> sum(p, 0.0);
    for (int t = 0; t < 3; ++t) {
      double squares = 0, count = 0;
      for (const int64_t s : AllAwkward()) {
        squares += terms[s].sum[t] * (s == structure ? factor : 1);
        count += terms[s].count[t] * (s == structure ? factor : 1);
      }
      for (const int64_t s : AllAwkward()) {
        const double slope =
            share[t] / (has_roots ? 2 * std::sqrt(squares * count) : count) * (s == structure ? factor : 1);
        for (int64_t k = 0; k < p; ++k) sum[k] += slope * gradients[t][s][k];
      }
    }
    return sum;
  };
  double weights[3];
  for (int t = 0; t < 3; ++t) {
    double squares = 0, count = 0;
    for (const StructureTerms& each : terms) squares += each.sum[t], count += each.count[t];
    weights[t] = kNumAwkward * share[t] / (has_roots ? 2 * std::sqrt(squares * count) : count);
  }
  const GradientFormulas formulas(potential, loss, {weights[0], weights[1], weights[2]}, AngularMethod::kMoments);
  GaussNewtonOptions options;
  options.examples = AllAwkward();
  options.damping = UnevenDamping(p);
  options.coupling = coupling;
  const auto made = Make(formulas, data, options);
  ASSERT_TRUE(made->is_coupled());
  OutputRows rows(formulas, {{0, p}});
  for (const int64_t s : AllAwkward()) {
    StructureTerms one;
    ASSERT_TRUE(rows.Predict(data, s, &outputs, &one).ok());
    std::vector<double> slopes, found(p);
    for (const StructureOutput& output : outputs) slopes.push_back(output.slope);
    if (outputs.empty()) continue;
    rows.Combination(slopes, found.data());
    made->Couple(one, found.data());
    const double h = 1e-4;
    const std::vector<double> above = gradient(s, 1 + h), below = gradient(s, 1 - h);
    std::vector<double> expected(p);
    for (int64_t k = 0; k < p; ++k) expected[k] = kNumAwkward * (above[k] - below[k]) / (2 * h);
    EXPECT_LT(RelativeDifference(found, expected), 1e-6) << s;
  }
}

TEST(GaussNewtonTest, MeansCoupleStructures) { ExpectCoupling(LossCoupling::kMeans); }
TEST(GaussNewtonTest, RootsOfMeansCoupleStructures) { ExpectCoupling(LossCoupling::kRoots); }

}  // namespace
}  // namespace rutile
