#include "lib/potential/influence/curvature/uncertainty.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "lib/matrix/cholesky.h"
#include "lib/potential/data/geometry.h"
#include "lib/potential/influence/curvature/gauss_newton.h"
#include "lib/potential/influence/curvature/leave_one_out.h"
#include "lib/potential/influence/curvature/make_curvature.h"
#include "lib/potential/influence/gradient_reference.h"
#include "lib/potential/influence/gradient_testing.h"
#include "lib/potential/prediction/force_predictor.h"

namespace rutile {
namespace {

PotentialProductsOptions Options(double force_weight) {
  PotentialProductsOptions options;
  options.loss.kind = LossKind::kMse;
  options.loss.force_weight = force_weight;
  options.precision = DType::kF64;
  options.gauss_newton.emplace();
  options.gauss_newton->examples = AllAwkward();
  return options;
}

WeightedCheckpoint PointOf(const Potential& potential, std::vector<double> weights) {
  WeightedCheckpoint point;
  point.parameters = potential.parameters;
  point.loss_weight = std::move(weights);
  point.preconditioner = Tensor::Zeros(DType::kF64, {0});
  return point;
}

StructureUncertainty Predict(const Potential& potential, const Curvature& curvature, const AtomicData& data, int64_t s,
                             const UncertaintyOptions& options) {
  const GradientFormulas formulas(potential, LossOptions(), TermWeights(), AngularMethod::kMoments);
  UncertaintyPredictor predictor(formulas, curvature);
  PairMemory memory;
  const auto geometry = GeometryOf(data, s, &memory);
  EXPECT_TRUE(geometry.ok()) << geometry.status();
  StructureUncertainty found;
  predictor.Predict(*geometry, options, &found);
  return found;
}

AtomicPrediction PredictionOf(const Potential& potential, const AtomicData& data, int64_t s) {
  PairMemory memory;
  const auto geometry = GeometryOf(data, s, &memory);
  EXPECT_TRUE(geometry.ok()) << geometry.status();
  AtomicPrediction prediction;
  ForcePredictor(absl::MakeConstSpan(&potential, 1)).Predict(*geometry, data.pbc(s), /*forces=*/true, &prediction);
  return prediction;
}

// Returns d prediction / d parameters, where they are linear in the parameters: exact but for rounding.
template <typename F>
std::vector<std::vector<double>> Columns(const Potential& potential, const F& predict) {
  std::vector<std::vector<double>> columns;
  const std::vector<double> start = potential.parameters.ToDoubles(), base = predict(potential);
  for (size_t p = 0; p < start.size(); ++p) {
    std::vector<double> moved = start;
    moved[p] += 1;
    Potential at = potential;
    at.parameters = Tensor::Of(moved);
    columns.push_back(predict(at));
    for (size_t k = 0; k < base.size(); ++k) columns.back()[k] -= base[k];
  }
  return columns;
}

// A linear model of energies measured with variance sigma^2, and a prior of precision Lambda: the posterior of its
// parameters has the covariance (X^T X / sigma^2 + Lambda)^-1.
TEST(UncertaintyTest, OfALinearModelIsBayesianRegression) {
  const AtomicData data = AwkwardStructures();
  const Potential potential = AwkwardPotential({}, Activation::kLinear);
  const int64_t p = potential.shape.num_parameters();
  const double weight = 0.3, damping = 2e-3;
  PotentialProductsOptions options = Options(0);
  options.gauss_newton->damping.assign(p, damping);
  const auto made = MakeCurvature(potential, data, data, {}, PointOf(potential, {weight}), {{0, p}}, options);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->curvature.energy_curvature, 2 * weight);
  const double sigma = made->noise_scale / std::sqrt(2 * weight);  // eV/atom
  std::vector<double> precision(p * p, 0.0);
  double squares = 0;
  int64_t energies = 0;
  std::vector<std::vector<std::vector<double>>> columns(kNumAwkward);  // of all predictions: energy, forces
  for (int64_t s = 0; s < kNumAwkward; ++s) {
    columns[s] = Columns(potential, [&](const Potential& at) {
      const AtomicPrediction found = PredictionOf(at, data, s);
      std::vector<double> all = {found.energy};
      all.insert(all.end(), found.force.begin(), found.force.end());
      return all;
    });
    if (!data.has_energy(s) || data.weight(s) == 0) continue;
    const auto atoms = static_cast<double>(data.num_atoms(s));
    for (int64_t a = 0; a < p; ++a) {
      for (int64_t b = 0; b < p; ++b) {
        precision[a * p + b] += data.weight(s) * columns[s][a][0] * columns[s][b][0] / (atoms * atoms * sigma * sigma);
      }
    }
    const double error = (PredictionOf(potential, data, s).energy - data.energy(s)) / atoms;
    squares += data.weight(s) * error * error;
    ++energies;
  }
  // sigma^2 is the mean square of the errors for each energy that is not spent on a parameter.
  double decided = 0;
  {
    ThreadPool pool(1);
    const GradientFormulas formulas(potential, options.loss, {weight, 0, 0}, AngularMethod::kMoments);
    const auto matrix = GaussNewton::Make(formulas, data, {{0, p}}, *options.gauss_newton, &pool);
    ASSERT_TRUE(matrix.ok());
    decided = (*matrix)->effective_parameters();
  }
  EXPECT_NEAR(sigma * sigma, squares / (static_cast<double>(energies) - decided), 1e-9 * sigma * sigma);
  for (int64_t a = 0; a < p; ++a) precision[a * p + a] += kNumAwkward * damping / (2 * weight * sigma * sigma);
  ASSERT_TRUE(FactorCholesky(p, precision.data()));
  const auto deviation = [&](int64_t s, int64_t k) {
    std::vector<double> g(p);
    for (int64_t a = 0; a < p; ++a) g[a] = columns[s][a][k];
    SolveLower(p, precision.data(), p, 1, g.data());
    return std::sqrt(std::inner_product(g.begin(), g.end(), g.begin(), 0.0));
  };
  for (int64_t s = 0; s < kNumAwkward; ++s) {
    const StructureUncertainty found = Predict(potential, made->curvature, data, s, {true, true, 1});
    EXPECT_NEAR(found.energy, deviation(s, 0), 1e-10 * found.energy) << s;
    ASSERT_EQ(static_cast<int64_t>(found.force.size()), 3 * data.num_atoms(s));
    double largest = 0;
    for (const double each : found.force) largest = std::max(largest, each);
    for (size_t c = 0; c < found.force.size(); ++c) {
      EXPECT_NEAR(found.force[c], deviation(s, 1 + c), 1e-10 * largest + 1e-13) << s << " " << c;
    }
    const double row =
        std::inner_product(found.energy_row.begin(), found.energy_row.end(), found.energy_row.begin(), 0.0);
    EXPECT_NEAR(found.energy, made->curvature.energy_scale * std::sqrt(row), 1e-14 * found.energy);
  }
}

// Of a training structure, the variance of the energy is its leverage.
TEST(UncertaintyTest, IsTheLeverageOfTrainingStructures) {
  const AtomicData data = AwkwardStructures();
  const Potential potential = AwkwardPotential({5, 4}, Activation::kTanh);
  const std::vector<ColumnRange> columns = {{0, potential.shape.num_parameters()}};
  const PotentialProductsOptions options = Options(0);
  const WeightedCheckpoint point = PointOf(potential, {0.3});
  const auto made = MakeCurvature(potential, data, data, {}, point, columns, options);
  const auto left_out = ComputeLeaveOneOut(potential, data, point, columns, options);
  ASSERT_TRUE(made.ok() && left_out.ok()) << made.status();
  for (const LeftOut& each : left_out->structures) {
    const int64_t s = each.structure;
    if (!data.has_energy(s)) continue;
    const double per_atom = Predict(potential, made->curvature, data, s, {}).energy /
                            static_cast<double>(data.num_atoms(s)) / made->noise_scale;
    EXPECT_NEAR(each.leverage, data.weight(s) * made->curvature.energy_curvature * per_atom * per_atom, 1e-12) << s;
  }
}

// Networks, with forces in the loss and some parameters left out: g^T K g with g by autograd.
TEST(UncertaintyTest, OfNetworksIsTheDefinition) {
  const AtomicData data = AwkwardStructures();
  const Potential potential = AwkwardPotential({5, 4}, Activation::kTanh);
  const int64_t p = potential.shape.num_parameters();
  const std::vector<ColumnRange> columns = {{3, 40}, {45, p - 2}};
  const PotentialProductsOptions options = Options(0.5);
  const auto made = MakeCurvature(potential, data, data, {}, PointOf(potential, {0.3, 0.7}), columns, options);
  ASSERT_TRUE(made.ok()) << made.status();
  ThreadPool pool(1);
  const TermWeights weights = {0.3, 0.7, 0};
  const GradientFormulas formulas(potential, options.loss, weights, AngularMethod::kMoments);
  const auto matrix = GaussNewton::Make(formulas, data, columns, *options.gauss_newton, &pool);
  ASSERT_TRUE(matrix.ok());
  const auto deviation = [&](const GradientExample& example) {
    std::vector<double> gradient(p), row;
    EXPECT_TRUE(
        ReferenceExampleGradient(potential, options.loss, weights, data, example, absl::MakeSpan(gradient)).ok());
    for (const ColumnRange& range : columns) {
      row.insert(row.end(), gradient.begin() + range.begin, gradient.begin() + range.end);
    }
    std::vector<double> solved = row;
    (*matrix)->Solve(1, solved.data(), nullptr);
    return made->noise_scale * std::sqrt(std::inner_product(row.begin(), row.end(), solved.begin(), 0.0));
  };
  for (const int64_t s : {2, 3, 6}) {
    const StructureUncertainty found = Predict(potential, made->curvature, data, s, {false, true, 1});
    EXPECT_TRUE(found.atom_energy.empty());
    EXPECT_NEAR(found.energy, deviation({s, PotentialQuantity::kEnergy}), 1e-8 * found.energy);
    for (int64_t c = 0; c < 3 * data.num_atoms(s); c += s == 6 ? 7 : 1) {
      EXPECT_NEAR(found.force[c], deviation({s, PotentialQuantity::kForceComponent, c / 3, static_cast<int>(c % 3)}),
                  1e-8 * found.force[c] + 1e-12)
          << s << " " << c;
    }
    const StructureUncertainty some = Predict(potential, made->curvature, data, s, {false, true, 4});
    for (size_t c = 0; c < some.force.size(); ++c) {
      if (c % 4 != 0) {
        EXPECT_TRUE(std::isnan(some.force[c]));
      } else {
        EXPECT_NEAR(some.force[c], found.force[c], 1e-12 * found.force[c]);
      }
    }
  }
}

// Gradients of atoms' energies are differences, and add up to those of the structure.
void ExpectAtomsAddUp(const AtomicData& data, const Potential& potential) {
  const int64_t p = potential.shape.num_parameters(), s = 2, n = data.num_atoms(s);
  const GradientFormulas formulas(potential, LossOptions(), TermWeights(), AngularMethod::kMoments);
  GradientRows rows(formulas);
  PairMemory memory;
  const auto geometry = GeometryOf(data, s, &memory);
  ASSERT_TRUE(geometry.ok());
  for (const bool forces : {false, true}) {
    rows.PredictGeometry(*geometry, forces);
    std::vector<double> whole(p), sum(p, 0.0), row(p);
    OutputSlopes slopes;
    slopes.terms.energy = true;
    slopes.energy = 1;
    for (int64_t i = 0; i < n; ++i) {
      rows.AtomGradient(i, absl::MakeSpan(row));
      for (int64_t k = 0; k < p; ++k) sum[k] += row[k];
      for (int64_t k = i; k < p; k += 17) {
        const double h = 1e-4;
        double difference = 0;
        for (const double sign : {1.0, -1.0}) {
          std::vector<double> moved = potential.parameters.ToDoubles();
          moved[k] += sign * h;
          Potential at = potential;
          at.parameters = Tensor::Of(moved);
          difference += sign * PredictionOf(at, data, s).atom_energy[i] / (2 * h);
        }
        EXPECT_NEAR(row[k], difference, 1e-6) << i << " " << k;
      }
    }
    rows.Gradient(slopes, absl::MakeSpan(whole));  // after the atoms, which must not disturb it
    EXPECT_LT(RelativeDifference(sum, whole), 1e-12);
  }
}

TEST(UncertaintyTest, AtomsAddUp) {
  const AtomicData data = AwkwardStructures();
  const Potential potential = AwkwardPotential({5, 4}, Activation::kTanh);
  const int64_t p = potential.shape.num_parameters();
  ExpectAtomsAddUp(data, potential);
  ExpectAtomsAddUp(AwkwardStructures(AwkwardMoments()), AwkwardManyBody(/*messages=*/0));
  const auto made = MakeCurvature(potential, data, data, {}, PointOf(potential, {1}), {{0, p}}, Options(0));
  ASSERT_TRUE(made.ok());
  const StructureUncertainty alone = Predict(potential, made->curvature, data, 0, {true, false, 1});
  ASSERT_EQ(alone.atom_energy.size(), 1u);
  EXPECT_NEAR(alone.atom_energy[0], alone.energy, 1e-12 * alone.energy);
  EXPECT_EQ(Predict(potential, made->curvature, data, 6, {true, false, 1}).atom_energy.size(), 33u);
}

TEST(UncertaintyTest, CalibratedErrorsHaveTheVarianceThatIsPredicted) {
  const AtomicData data = AwkwardStructures();
  const Potential potential = AwkwardPotential({5, 4}, Activation::kTanh);
  const std::vector<ColumnRange> columns = {{0, potential.shape.num_parameters()}};
  PotentialProductsOptions options = Options(0.5);
  options.gauss_newton->examples = {1, 2, 4, 6, 9};
  const std::vector<int64_t> held_out = {3, 5, 7, 8};
  const WeightedCheckpoint point = PointOf(potential, {0.3, 0.7});
  const auto one = MakeCurvature(potential, data, data, held_out, point, columns, options);
  ASSERT_TRUE(one.ok()) << one.status();
  const CalibrationData& found = one->calibration;
  EXPECT_EQ(found.energy.error.size(), 2u) << "structures 7 and 8 have an energy";
  EXPECT_EQ(found.force.error.size() + found.num_fixed, 3u * (3 + 3 + 2)) << "structure 5 has no forces";
  EXPECT_NEAR(ScaleOf(found.energy), 1, 1e-12);
  EXPECT_NEAR(ScaleOf(found.force), 1, 1e-12);
  EXPECT_NE(one->curvature.energy_scale, one->noise_scale);
  EXPECT_NEAR(Predict(potential, one->curvature, data, 7, {}).energy / 3, found.energy.deviation[0],
              1e-12 * found.energy.deviation[0]);
  const double error = (PredictionOf(potential, data, 7).energy - data.energy(7)) / 3;
  EXPECT_NEAR(found.energy.error[0], error, 1e-10);
  options.num_threads = 2;
  const auto two = MakeCurvature(potential, data, data, held_out, point, columns, options);
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(one->curvature.inverse->Factor(), two->curvature.inverse->Factor());
  EXPECT_EQ(one->curvature.inverse->Rows().rows, two->curvature.inverse->Rows().rows);
  EXPECT_EQ(one->curvature.energy_scale, two->curvature.energy_scale);
  EXPECT_EQ(one->curvature.force_scale, two->curvature.force_scale);
}

TEST(UncertaintyTest, ScaleIsTheRootOfTheMeanSquareOfRatios) {
  EXPECT_DOUBLE_EQ(ScaleOf({{3, -8}, {1, 2}}), std::sqrt((9.0 + 16) / 2));
  EXPECT_TRUE(std::isnan(ScaleOf({})));
}

}  // namespace
}  // namespace rutile
