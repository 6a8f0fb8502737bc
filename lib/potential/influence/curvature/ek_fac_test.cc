#include "lib/potential/influence/curvature/ek_fac.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/machine/parallel_for.h"
#include "lib/matrix/cholesky.h"
#include "lib/potential/influence/curvature/ek_fac_testing.h"
#include "lib/potential/influence/curvature/gauss_newton.h"
#include "lib/potential/influence/curvature/gauss_newton_testing.h"
#include "lib/potential/influence/gradient_testing.h"
#include "lib/potential/influence/output_rows.h"
#include "lib/potential/model/potential_file.h"
#include "lib/potential/model/task_options.h"

namespace rutile {
namespace {

constexpr Activation kTanh = Activation::kTanh;
const TermWeights kWeights{0.3, 0.7, 2};

LossOptions Loss(LossKind kind = LossKind::kMse) {
  LossOptions loss;
  loss.kind = kind;
  loss.force_weight = loss.stress_weight = 0.5;
  return loss;
}

std::vector<ColumnRange> Whole(const Potential& potential) { return {{0, potential.shape.num_parameters()}}; }

std::vector<KroneckerBlock> BlocksOf(const Potential& potential, const std::vector<ColumnRange>& columns) {
  return KroneckerBlocks(NetworkSlices(potential.descriptor, potential.shape), columns);
}

// Returns the rows [R, C] of which H, the mean over structures, is the sum of squares.
std::vector<double> RowsOf(const GradientFormulas& formulas, const AtomicData& data,
                           const std::vector<ColumnRange>& columns) {
  OutputRows maker(formulas, columns);
  int64_t size = 0;
  for (const ColumnRange& range : columns) size += range.size();
  std::vector<double> rows;
  std::vector<StructureOutput> outputs;
  for (const int64_t s : AllAwkward()) {
    StructureTerms terms;
    EXPECT_TRUE(maker.Predict(data, s, &outputs, &terms).ok());
    std::vector<double> scales;
    for (const StructureOutput& output : outputs) scales.push_back(std::sqrt(output.curvature / kNumAwkward));
    std::vector<double> made(outputs.size() * size);
    if (!outputs.empty()) maker.All(scales, made.data());
    rows.insert(rows.end(), made.begin(), made.end());
  }
  return rows;
}

std::unique_ptr<GaussNewton> Make(const GradientFormulas& formulas, const AtomicData& data,
                                  const std::vector<ColumnRange>& columns, GaussNewtonOptions options,
                                  int threads = 1) {
  ThreadPool pool(threads);
  options.ek_fac = true;
  auto made = GaussNewton::Make(formulas, data, columns, options, &pool);
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? *std::move(made) : nullptr;
}

// Returns n K [C, C].
std::vector<double> Inverse(const GaussNewton& made) {
  const int64_t size = made.size();
  std::vector<double> all(size * size, 0.0);
  for (int64_t c = 0; c < size; ++c) all[c * size + c] = static_cast<double>(made.num_examples());
  made.Solve(size, all.data(), nullptr);
  return all;
}

double SquareOf(const std::vector<double>& a) { return std::inner_product(a.begin(), a.end(), a.begin(), 0.0); }

std::vector<double> Difference(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> difference(a.size());
  for (size_t k = 0; k < a.size(); ++k) difference[k] = a[k] - b[k];
  return difference;
}

void ExpectTheDefinition(const Potential& potential, const std::vector<ColumnRange>& columns, bool by_trace) {
  const AtomicData data = AwkwardStructures(potential.descriptor);
  const GradientFormulas formulas(potential, Loss(), kWeights, AngularMethod::kMoments);
  const std::vector<double> rows = RowsOf(formulas, data, columns);
  GaussNewtonOptions options;
  options.examples = AllAwkward();
  if (!by_trace) options.damping = UnevenDamping(potential.shape.num_parameters());
  const auto made = Make(formulas, data, columns, options);
  ASSERT_NE(made, nullptr);
  const int64_t size = made->size();
  std::vector<double> damping;
  for (const ColumnRange& range : columns) {
    for (int64_t p = range.begin; p < range.end; ++p) {
      damping.push_back(by_trace ? options.trace_damping * SquareOf(rows) / static_cast<double>(size)
                                 : options.damping[p]);
    }
  }
  const std::vector<double> expected =
      DenseEkFac(rows, BlocksOf(potential, columns), damping, -0.5, [](double l) { return 1 / (l + 1); });
  EXPECT_LT(RelativeDifference(Inverse(*made), expected), 1e-12);
  double rest = 0;  // tr(D (H + D)^-1)
  for (int64_t c = 0; c < size; ++c) rest += damping[c] * expected[c * size + c];
  EXPECT_NEAR(made->effective_parameters(), static_cast<double>(size) - rest, 1e-10 * static_cast<double>(size));
}

TEST(EkFacTest, IsTheDefinition) {
  const Potential potential = AwkwardPotential({5, 4}, kTanh);
  for (const bool by_trace : {false, true}) ExpectTheDefinition(potential, Whole(potential), by_trace);
  // Weights without their bias, the bias of another layer, and a layer.
  std::vector<ColumnRange> columns;
  for (const ParameterSlice& slice : NetworkSlices(potential.descriptor, potential.shape)) {
    if (slice.name == "network.Ti.0.weight" || slice.name == "network.Ti.1.bias" ||
        slice.name == "network.O.1.weight" || slice.name == "network.O.1.bias") {
      columns.push_back({slice.offset, slice.offset + slice.num_elements()});
    }
  }
  ASSERT_EQ(columns.size(), 4);
  std::sort(columns.begin(), columns.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  ExpectTheDefinition(potential, columns, /*by_trace=*/false);
}

TEST(EkFacTest, IsTheDefinitionOfManyBodyPotentials) {
  const Potential potential = AwkwardManyBody(/*messages=*/0);
  ExpectTheDefinition(potential, Whole(potential), /*by_trace=*/false);
}

TEST(EkFacTest, BlocksOfSlices) {
  const Potential potential = AwkwardPotential({5, 4}, kTanh);
  std::vector<KroneckerBlock> blocks = BlocksOf(potential, Whole(potential));
  ASSERT_EQ(blocks.size(), 9);  // three layers of three species
  EXPECT_EQ(blocks[0].outputs, 5);
  EXPECT_EQ(blocks[1].name, "network.Ti.1.weight");
  EXPECT_EQ(blocks[1].inputs, 5);
  EXPECT_EQ(blocks[1].width(), 6);
  EXPECT_EQ(blocks[2].size(), 5);
  int64_t size = 0;
  for (const KroneckerBlock& block : blocks) size += block.size();
  EXPECT_EQ(size, potential.shape.num_parameters());
  // Tensors are matrices of their first dimension; vectors are one row.
  blocks = KroneckerBlocks({{"a.radial", 0, {4, 3, 2}}, {"a.linear", 24, {4}}, {"a.0.bias", 28, {2}}}, {{0, 30}});
  ASSERT_EQ(blocks.size(), 3);
  EXPECT_EQ(blocks[0].outputs, 4);
  EXPECT_EQ(blocks[0].inputs, 6);
  EXPECT_EQ(blocks[1].outputs, 1);
  EXPECT_EQ(blocks[2].inputs, 2);
  EXPECT_EQ(blocks[2].bias, -1);
}

// All layers have one output, so that each basis holds the eigenvectors of its block.
TEST(EkFacTest, WithAWholeBasisItIsTheBlocksOfTheMatrix) {
  for (const std::vector<int>& hidden : {std::vector<int>{}, std::vector<int>{1}}) {
    const Potential potential = AwkwardPotential(hidden, kTanh);
    const AtomicData data = AwkwardStructures();
    const GradientFormulas formulas(potential, Loss(), kWeights, AngularMethod::kMoments);
    const int64_t p = potential.shape.num_parameters();
    GaussNewtonOptions options;
    options.examples = AllAwkward();
    options.damping = UnevenDamping(p);
    const auto made = Make(formulas, data, Whole(potential), options);
    ASSERT_NE(made, nullptr);
    std::vector<double> h =
        DenseBlocks(RowsOf(formulas, data, Whole(potential)), BlocksOf(potential, Whole(potential)), p);
    for (int64_t c = 0; c < p; ++c) h[c * p + c] += options.damping[c];
    std::vector<double> expected(p * p, 0.0);
    for (int64_t c = 0; c < p; ++c) expected[c * p + c] = 1;
    ASSERT_TRUE(FactorCholesky(p, h.data()));
    SolveLower(p, h.data(), p, p, expected.data());
    SolveLowerTransposed(p, h.data(), p, p, expected.data());
    EXPECT_LT(RelativeDifference(Inverse(*made), expected), 1e-12);
  }
}

// The corrected eigenvalues are the nearest diagonal in their basis, K-FAC's are another one: with the whole blocks
// they make a right angle.
TEST(EkFacTest, LiesBetweenKFacAndTheBlocks) {
  const Potential potential = AwkwardPotential({5, 4}, kTanh);
  const AtomicData data = AwkwardStructures();
  const GradientFormulas formulas(potential, Loss(), kWeights, AngularMethod::kMoments);
  const std::vector<double> rows = RowsOf(formulas, data, Whole(potential));
  const std::vector<KroneckerBlock> blocks = BlocksOf(potential, Whole(potential));
  const int64_t p = potential.shape.num_parameters();
  const std::vector<double> ones(p, 1.0), exact = DenseBlocks(rows, blocks, p), kfac = DenseKFac(rows, blocks, p),
                                          ek_fac = DenseEkFac(rows, blocks, ones, 0.5, [](double l) { return l; });
  const double error = SquareOf(Difference(exact, ek_fac)), error_of_kfac = SquareOf(Difference(exact, kfac));
  EXPECT_LT(error, error_of_kfac);
  EXPECT_NEAR(SquareOf(ek_fac) + error, SquareOf(exact), 1e-10 * SquareOf(exact));
  EXPECT_NEAR(error + SquareOf(Difference(ek_fac, kfac)), error_of_kfac, 1e-10 * error_of_kfac);
  // It is no better than the blocks, and they are not the whole.
  EXPECT_GT(error, 1e-4 * SquareOf(exact));
}

// What roots of means take off the matrix leaves blocks indefinite or nearly so: gradients are coupled, and blocks not.
TEST(EkFacTest, RootsOfMeansLeaveTheBlocksAlone) {
  const Potential potential = AwkwardPotential({5, 4}, kTanh);
  const AtomicData data = AwkwardStructures();
  const GradientFormulas formulas(potential, Loss(LossKind::kRmse), kWeights, AngularMethod::kMoments);
  GaussNewtonOptions options;
  options.examples = AllAwkward();
  const auto plain = Make(formulas, data, Whole(potential), options);
  options.coupling = LossCoupling::kRoots;
  const auto roots = Make(formulas, data, Whole(potential), options);
  EXPECT_EQ(Inverse(*roots), Inverse(*plain));
  EXPECT_TRUE(roots->is_coupled());
  EXPECT_NE(roots->Describe().find("left out of the matrix"), std::string::npos) << roots->Describe();
  EXPECT_EQ(plain->Describe().find("left out of the matrix"), std::string::npos) << plain->Describe();
}

TEST(EkFacTest, HalvesThreadsProbesAndMemory) {
  const Potential potential = AwkwardPotential({5, 4}, kTanh);
  const AtomicData data = AwkwardStructures();
  const GradientFormulas formulas(potential, Loss(), kWeights, AngularMethod::kMoments);
  GaussNewtonOptions options;
  options.examples = AllAwkward();
  options.probes = 3;
  for (const LossCoupling coupling : {LossCoupling::kMeans, LossCoupling::kRoots}) {
    options.coupling = coupling;
    const auto one = Make(formulas, data, Whole(potential), options);
    const auto two = Make(formulas, data, Whole(potential), options, 2);
    ExpectHalvesAndEqualBits(*one, *two);
    EXPECT_NE(one->Describe().find("by EK-FAC in 9 blocks"), std::string::npos) << one->Describe();
    EXPECT_NE(one->Describe().find(" probes)"), std::string::npos) << one->Describe();
  }
  options.ek_fac = true;
  options.memory_limit = 100;
  ThreadPool pool(1);
  const absl::Status refused = GaussNewton::Make(formulas, data, Whole(potential), options, &pool).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_NE(refused.message().find("EK-FAC"), absl::string_view::npos) << refused;
}

}  // namespace
}  // namespace rutile
