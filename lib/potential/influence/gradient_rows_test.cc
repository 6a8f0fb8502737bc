#include "lib/potential/influence/gradient_rows.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/potential/influence/gradient_reference.h"
#include "lib/potential/influence/gradient_testing.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"

namespace rutile {
namespace {

LossOptions Loss(LossKind kind) {
  LossOptions loss;
  loss.kind = kind;
  loss.energy_delta = 0.2;  // some errors are larger
  loss.force_delta = 0.5;
  loss.stress_delta = 0.05;
  return loss;
}

std::vector<double> Row(GradientRows* rows, const Potential& potential, const AtomicData& data,
                        const GradientExample& example) {
  std::vector<double> row(potential.shape.num_parameters(), 7.0);
  const absl::Status status = rows->Compute(data, example, absl::MakeSpan(row));
  EXPECT_TRUE(status.ok()) << status;
  return row;
}

std::vector<double> Reference(const Potential& potential, const LossOptions& loss, const TermWeights& weights,
                              const AtomicData& data, const GradientExample& example) {
  std::vector<double> gradient(potential.shape.num_parameters());
  const absl::Status status =
      ReferenceExampleGradient(potential, loss, weights, data, example, absl::MakeSpan(gradient));
  EXPECT_TRUE(status.ok()) << status;
  return gradient;
}

struct Case {
  std::vector<int> hidden;
  Activation activation;
  LossKind kind;
  TermWeights weights;
};

class GradientRowsTest : public ::testing::TestWithParam<Case> {};

// Compares with the reference to rounding, for all structures of the data.
void ExpectReference(const Potential& potential, LossKind kind, const TermWeights& weights, const AtomicData& data) {
  const LossOptions loss = Loss(kind);
  const GradientFormulas formulas(potential, loss, weights, AngularMethod::kMoments);
  GradientRows rows(formulas);
  for (int64_t s = 0; s < data.num_structures(); ++s) {
    const std::vector<double> expected = Reference(potential, loss, weights, data, {s});
    EXPECT_LT(RelativeDifference(Row(&rows, potential, data, {s}), expected), 1e-11) << "structure " << s;
  }
}

void ExpectReference(const Case& c, const AtomicData& data) {
  ExpectReference(AwkwardPotential(c.hidden, c.activation), c.kind, c.weights, data);
}

TEST_P(GradientRowsTest, LossOfStructures) { ExpectReference(GetParam(), AwkwardStructures()); }
TEST_P(GradientRowsTest, LossOfFeatures) { ExpectReference(GetParam(), AwkwardFeatures(DType::kF64)); }
TEST_P(GradientRowsTest, LossOfSingleFeatures) { ExpectReference(GetParam(), AwkwardFeatures(DType::kF32)); }

INSTANTIATE_TEST_SUITE_P(Cases, GradientRowsTest,
                         ::testing::Values(Case{{5, 4}, Activation::kTanh, LossKind::kRmse, {1, 0, 0}},
                                           Case{{5, 4}, Activation::kTanh, LossKind::kRmse, {0, 1, 0}},
                                           Case{{5, 4}, Activation::kTanh, LossKind::kMse, {0, 0, 1}},
                                           Case{{16, 16}, Activation::kTanh, LossKind::kRmse, {0.3, 0.7, 2}},
                                           Case{{5, 4}, Activation::kSilu, LossKind::kHuber, {0.3, 0.7, 2}},
                                           Case{{3}, Activation::kTwist, LossKind::kHuber, {1, 0.1, 0}},
                                           Case{{}, Activation::kLinear, LossKind::kMse, {1, 1, 1}}));

// Each term alone, two without the energy, and all together.
TEST(GradientRowsTest, ManyBodyPotentialsOfOneAndTwoLayers) {
  const AtomicData data = AwkwardStructures(AwkwardMoments());
  for (const auto& [messages, vectors] : {std::pair{0, 0}, {2, 0}, {2, 1}}) {
    const Potential potential = AwkwardManyBody(messages, vectors);
    for (const TermWeights& weights :
         {TermWeights{1, 0, 0}, TermWeights{0, 1, 0}, TermWeights{0, 0, 1}, TermWeights{0, 0.7, 2}}) {
      ExpectReference(potential, LossKind::kMse, weights, data);
    }
    ExpectReference(potential, LossKind::kHuber, {0.3, 0.7, 2}, data);
  }
}

void ExpectOtherQuantities(const Potential& potential, const std::vector<AtomicData>& sets) {
  const TermWeights weights{1, 1, 1};
  const LossOptions loss = Loss(LossKind::kHuber);  // does not apply to the square of a force's error
  const GradientFormulas formulas(potential, loss, weights, AngularMethod::kMoments);
  for (const AtomicData& data : sets) {
    GradientRows rows(formulas);
    for (int64_t s = 0; s < data.num_structures(); ++s) {
      // Examples of one structure follow each other in all orders, so that shared work is reused.
      std::vector<GradientExample> examples = {{s, PotentialQuantity::kEnergy}};
      for (const int64_t atom : {int64_t{0}, data.num_atoms(s) - 1}) {
        for (int c = 0; c < 3; ++c) examples.push_back({s, PotentialQuantity::kForceComponent, atom, c});
        if (!data.force(s).empty()) examples.push_back({s, PotentialQuantity::kAtomForce, atom});
        examples.push_back({s});
      }
      for (const GradientExample& example : examples) {
        const std::vector<double> expected = Reference(potential, loss, weights, data, example);
        EXPECT_LT(RelativeDifference(Row(&rows, potential, data, example), expected), 1e-11)
            << "structure " << s << " " << PotentialQuantityName(example.quantity) << " atom " << example.atom;
      }
    }
  }
}

TEST(GradientRowsTest, OtherQuantities) {
  ExpectOtherQuantities(AwkwardPotential({5, 4}, Activation::kTanh),
                        {AwkwardStructures(), AwkwardFeatures(DType::kF64)});
  ExpectOtherQuantities(AwkwardManyBody(/*messages=*/2), {AwkwardStructures(AwkwardMoments())});
  ExpectOtherQuantities(AwkwardManyBody(/*messages=*/2, /*vectors=*/1), {AwkwardStructures(AwkwardMoments())});
}

// Cached neighbors and the direct sum over triplets give the same gradients.
TEST(GradientRowsTest, PairsAndMethodDoNotMatter) {
  const Potential potential = AwkwardPotential({5, 4}, Activation::kTanh);
  const LossOptions loss;
  const TermWeights weights{1, 1, 1};
  const AtomicData found = AwkwardStructures();
  AtomicData cached = found;
  ASSERT_TRUE(cached.CacheNeighbors(/*triplets=*/true, "", int64_t{1} << 30, 1).ok());
  const GradientFormulas moments(potential, loss, weights, AngularMethod::kMoments);
  const GradientFormulas triplets(potential, loss, weights, AngularMethod::kTriplets);
  GradientRows a(moments), b(triplets);
  for (int64_t s = 0; s < kNumAwkward; ++s) {
    const std::vector<double> expected = Row(&a, potential, found, {s});
    EXPECT_EQ(Row(&a, potential, cached, {s}), expected);
    EXPECT_LT(RelativeDifference(Row(&b, potential, cached, {s}), expected), 1e-11);
  }
}

// Gradients are zero for structures without labels, with weight 0, or without a label that counts.
TEST(GradientRowsTest, NothingToLearnIsZero) {
  const Potential potential = AwkwardPotential({5}, Activation::kTanh);
  const AtomicData data = AwkwardStructures();
  const std::vector<double> zero(potential.shape.num_parameters(), 0.0);
  const GradientFormulas all(potential, {}, {1, 1, 1}, AngularMethod::kMoments);
  GradientRows rows(all);
  EXPECT_EQ(Row(&rows, potential, data, {5}), zero);
  EXPECT_EQ(Row(&rows, potential, data, {8}), zero);
  const GradientFormulas energy(potential, {}, {1, 0, 0}, AngularMethod::kMoments);
  GradientRows energy_rows(energy);
  EXPECT_EQ(Row(&energy_rows, potential, data, {3}), zero);
}

// Readers of structures drop the stress of a cell that is not periodic in all directions, but a file of tensors can
// contain it.
TEST(GradientRowsTest, StressOfASlabDoesNotCount) {
  const Potential potential = AwkwardPotential({5}, Activation::kTanh);
  AwkwardFeatures(DType::kF64);
  absl::StatusOr<TensorFile> file = ReadTensorFile(::testing::TempDir() + "/awkward_F64.safetensors");
  ASSERT_TRUE(file.ok()) << file.status();
  std::vector<double> cell = file->tensors.At("cell").ToDoubles();
  for (int i = 9 * 2; i < 9 * 2 + 3; ++i) cell[i] = 0;
  file->tensors.Set("cell", Tensor::Of<double>(cell, {kNumAwkward, 3, 3}));
  const absl::Span<const bool> pbc = file->tensors.At("pbc").values<bool>();
  Tensor copy = Tensor::Of(pbc, {kNumAwkward, 3});
  copy.mutable_values<bool>()[3 * 2] = false;
  file->tensors.Set("pbc", copy);
  file->metadata.erase("crc32c.cell");
  file->metadata.erase("crc32c.pbc");
  const std::string path = ::testing::TempDir() + "/flat.safetensors";
  ASSERT_TRUE(WriteTensorFile(path, file->metadata, file->tensors).ok());
  AtomicDataOptions options;
  options.weight_key = "w";
  const absl::StatusOr<AtomicData> data = AtomicData::Read({path}, options);
  ASSERT_TRUE(data.ok()) << data.status();
  const GradientFormulas formulas(potential, {}, {1, 1, 1}, AngularMethod::kMoments);
  const GradientFormulas without(potential, {}, {1, 1, 0}, AngularMethod::kMoments);
  GradientRows rows(formulas), other_rows(without);
  const std::vector<double> row = Row(&rows, potential, *data, {2});
  EXPECT_EQ(row, Row(&other_rows, potential, *data, {2}));
  std::vector<double> reference(row.size());
  ASSERT_TRUE(ReferenceExampleGradient(potential, {}, {1, 1, 1}, *data, {2}, absl::MakeSpan(reference)).ok());
  EXPECT_LT(RelativeDifference(row, reference), 1e-11);
}

}  // namespace
}  // namespace rutile
