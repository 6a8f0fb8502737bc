#include "lib/potential/influence/gradient_reference.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <vector>

#include "gtest/gtest.h"
#include "lib/potential/influence/gradient_testing.h"
#include "lib/potential/training/reference/autograd_reference.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

std::vector<double> Reference(const Potential& potential, const LossOptions& loss, const TermWeights& weights,
                              const AtomicData& data, const GradientExample& example) {
  std::vector<double> gradient(potential.shape.num_parameters(), 7.0);
  const absl::Status status =
      ReferenceExampleGradient(potential, loss, weights, data, example, absl::MakeSpan(gradient));
  EXPECT_TRUE(status.ok()) << status;
  return gradient;
}

// A network without hidden layers is linear: dE/dW is the sum of standardized features, and dE/db the number of atoms.
TEST(ReferenceExampleGradientTest, EnergyOfALinearNetwork) {
  const Potential potential = AwkwardPotential({}, Activation::kLinear);
  const AtomicData data = AwkwardFeatures(DType::kF64);
  const int features = potential.shape.num_features;
  const int64_t s = 6;
  std::vector<double> expected(potential.shape.num_parameters(), 0.0);
  for (int64_t i = 0; i < data.num_atoms(s); ++i) {
    const int species = data.species(s)[i];
    for (int f = 0; f < features; ++f) {
      const int k = species * features + f;
      expected[potential.shape.weight_offset(species, 0) + f] +=
          (data.features<double>(s)[i * features + f] - potential.feature_scaling.mean[k]) *
          potential.feature_scaling.scale[k] / potential.energy_scaling.scale;
    }
    expected[potential.shape.bias_offset(species, 0)] += 1 / potential.energy_scaling.scale;
  }
  const std::vector<double> gradient = Reference(potential, {}, {1, 0, 0}, data, {s, PotentialQuantity::kEnergy});
  EXPECT_LT(RelativeDifference(gradient, expected), 1e-13);
}

// Compares with backward through everything, descriptor included, for a loss that is written out here.
TEST(ReferenceExampleGradientTest, EqualsAutogradThroughEverything) {
  const Potential potential = AwkwardPotential({5, 4}, Activation::kTanh);
  const AtomicData data = AwkwardStructures();
  const TermWeights weights{0.3, 0.7, 2};
  for (const int64_t s : {1, 2, 7}) {
    const absl::StatusOr<NamedTensors> batch = ReferenceBatch(potential, data, s, true);
    ASSERT_TRUE(batch.ok()) << batch.status();
    const at::Tensor parameters = ToTorch(potential.parameters).clone().requires_grad_(true);
    const ReferencePrediction predicted =
        PredictByAutograd(potential.descriptor, potential.shape, potential.feature_scaling, potential.energy_scaling,
                          parameters, *batch, /*forces=*/true);
    const int64_t n = data.num_atoms(s);
    double target = data.energy(s);
    for (const uint8_t species : data.species(s)) target -= potential.atomic_energies[species];
    const at::Tensor force = ToTorch(Tensor::Of(data.force(s), {n, 3}));
    const at::Tensor stress = ToTorch(Tensor::Of(data.stress(s), {1, 3, 3}));
    const at::Tensor loss = weights.energy * (predicted.energy_per_atom[0] - target / static_cast<double>(n)).square() +
                            weights.force * (predicted.force - force).square().sum() +
                            weights.stress * (predicted.stress - stress).square().sum();
    const at::Tensor gradient = torch::autograd::grad({data.weight(s) * loss}, {parameters})[0];
    EXPECT_LT(RelativeDifference(Reference(potential, {}, weights, data, {s}),
                                 absl::MakeConstSpan(gradient.data_ptr<double>(), gradient.numel())),
              1e-10)
        << "structure " << s;
  }
}

// Quantities add up: the gradient of a squared error is the sum of the error's slopes times the gradients of the
// predictions.
TEST(ReferenceExampleGradientTest, SquaredErrorFollowsFromComponents) {
  const Potential potential = AwkwardPotential({5}, Activation::kTanh);
  const AtomicData data = AwkwardStructures();
  const int64_t s = 2;
  std::vector<double> of_atoms(potential.shape.num_parameters(), 0.0);
  for (int64_t atom = 0; atom < data.num_atoms(s); ++atom) {
    const std::vector<double> row = Reference(potential, {}, {0, 1, 0}, data, {s, PotentialQuantity::kAtomForce, atom});
    for (size_t p = 0; p < row.size(); ++p) of_atoms[p] += row[p];
  }
  EXPECT_LT(RelativeDifference(Reference(potential, {}, {0, 1, 0}, data, {s}), of_atoms), 1e-12);
}

}  // namespace
}  // namespace rutile
