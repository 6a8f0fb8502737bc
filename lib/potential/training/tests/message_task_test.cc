// ForceTask on many-body potentials of two layers: gradients, awkward structures, invariance, files and transfers.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/potential/model/potential_file.h"
#include "lib/potential/model/transfer.h"
#include "lib/potential/prediction/force_predictor.h"
#include "lib/potential/training/force_task.h"
#include "lib/testing/error_names.h"
#include "lib/testing/gradient_check.h"

namespace rutile {
namespace {

constexpr char kTio2[] = "data/tio2-pbe/tio2-pbe.extxyz";

AtomicData Read(const std::string& path, std::vector<uint8_t> species, double cutoff = 3.2, int num_radial = 4,
                int max_l = 2, RadialBasis basis = RadialBasis::kBessel) {
  MomentOptions moments;
  moments.species = std::move(species);
  moments.cutoff = cutoff;
  moments.num_radial = num_radial;
  moments.max_l = max_l;
  moments.basis = basis;
  AtomicDataOptions options;
  options.descriptor = moments;
  absl::StatusOr<AtomicData> data = AtomicData::Read({path}, options);
  EXPECT_TRUE(data.ok()) << data.status();
  EXPECT_TRUE(data->CacheNeighbors(false, "", int64_t{1} << 30, 1).ok());
  return *data;
}

AtomisticTaskOptions Options(double force_weight, double stress_weight, DType precision = DType::kF64,
                             int vectors = 0) {
  AtomisticTaskOptions options;
  options.channels = 5;
  options.messages = 3;
  options.vector_messages = vectors;
  options.hidden = {6};
  options.activation = Activation::kSilu;
  options.feature_scaling = FeatureScalingKind::kPerSpecies;
  options.precision = precision;
  options.loss.kind = LossKind::kMse;
  options.loss.energy_weight = 1;
  options.loss.force_weight = force_weight;
  options.loss.stress_weight = stress_weight;
  return options;
}

std::vector<int64_t> Range(int64_t n) {
  std::vector<int64_t> range(n);
  std::iota(range.begin(), range.end(), 0);
  return range;
}

std::unique_ptr<ForceTask> Make(const AtomicData& data, const AtomisticTaskOptions& options, int64_t train) {
  absl::StatusOr<std::unique_ptr<ForceTask>> task = ForceTask::Create(data, options, Range(train));
  EXPECT_TRUE(task.ok()) << task.status();
  return *std::move(task);
}

void ExpectGradients(const AtomicData& data, const AtomisticTaskOptions& options, int64_t train,
                     const std::vector<int64_t>& examples) {
  const std::unique_ptr<ForceTask> task = Make(data, options, train);
  NamedTensors batch;
  ASSERT_TRUE(task->MakeBatch(examples, &batch).ok());
  const absl::Status status = CheckGradients(*task, task->InitialParameters(5), batch);
  EXPECT_TRUE(status.ok()) << status;
}

TEST(MessageTaskTest, GradientsAgreeWithAutogradAndFiniteDifferences) {
  const AtomicData data = Read(kTio2, {22, 8});
  for (const auto& [force, stress] : std::vector<std::pair<double, double>>{{0, 0}, {1, 0}, {0, 10}, {2, 5}}) {
    SCOPED_TRACE(absl::StrFormat("force %g, stress %g", force, stress));
    ExpectGradients(data, Options(force, stress), 60, {3, 20, 41});
  }
  for (const int vectors : {1, 3}) {
    for (const auto& [force, stress] : std::vector<std::pair<double, double>>{{0, 0}, {1, 0}, {0, 10}, {2, 5}}) {
      SCOPED_TRACE(absl::StrFormat("%d vectors, force %g, stress %g", vectors, force, stress));
      ExpectGradients(data, Options(force, stress, DType::kF64, vectors), 60, {3, 20, 41});
    }
  }
  AtomisticTaskOptions coupled = Options(1, 0, DType::kF64, 2);
  coupled.loss.kind = LossKind::kRmse;
  ExpectGradients(data, coupled, 60, {3, 20, 41});
}

TEST(MessageTaskTest, ShapesAndBasesAgree) {
  for (int max_l = 0; max_l <= 4; ++max_l) {
    SCOPED_TRACE(max_l);
    const RadialBasis basis = max_l % 2 == 0 ? RadialBasis::kChebyshev : RadialBasis::kBessel;
    AtomisticTaskOptions options = Options(1, 1);
    options.channels = 16 + max_l;
    options.messages = 1 + 7 * (max_l % 3);
    options.vector_messages = max_l == 0 ? 0 : options.messages - options.messages / 3;
    ExpectGradients(Read(kTio2, {22, 8}, 2.6, 2 + max_l, max_l, basis), options, 60, {1, 30});
  }
}

TEST(MessageTaskTest, SinglePrecisionAgrees) {
  for (const int vectors : {0, 3}) {
    ExpectGradients(Read(kTio2, {22, 8}), Options(1, 1, DType::kF32, vectors), 60, {3, 20, 41});
  }
}

// Other species' need the way through the atoms of a frozen one, so that their gradients must not change a bit.
TEST(MessageTaskTest, FrozenSpeciesHaveNoGradients) {
  const AtomicData data = Read(kTio2, {22, 8});
  for (const int vectors : {0, 3}) {
    const std::unique_ptr<ForceTask> task = Make(data, Options(1, 0, DType::kF64, vectors), 60);
    const Tensor parameters = task->InitialParameters(5);
    NamedTensors batch;
    ASSERT_TRUE(task->MakeBatch({3, 20, 41}, &batch).ok());
    const auto gradients = [&] {
      std::vector<Tensor> terms(2, Tensor::Zeros(DType::kF64, parameters.shape()));
      TermSums sums(2);
      EXPECT_TRUE(task->AccumulateGradients(parameters, batch, absl::MakeSpan(terms), &sums).ok());
      std::vector<std::vector<double>> values;
      for (const Tensor& term : terms) values.push_back(term.ToDoubles());
      return values;
    };
    const std::vector<std::vector<double>> all = gradients();
    std::vector<bool> frozen(task->parameter_slices().size());
    std::fill_n(frozen.begin(), frozen.size() / 2, true);  // all of the first species
    task->SetFrozen(frozen);
    const std::vector<std::vector<double>> some = gradients();
    const int64_t half = parameters.num_elements() / 2;
    for (int term = 0; term < 2; ++term) {
      for (int64_t i = 0; i < 2 * half; ++i) ASSERT_EQ(some[term][i], i < half ? 0 : all[term][i]) << i;
    }
  }
}

// An atom alone, a dimer, three in a line along an axis, two molecules out of reach of each other, a crystal of one
// atom, and a pair beyond the cutoff.
TEST(MessageTaskTest, AwkwardStructuresAgree) {
  const std::string cell = "pbc=\"T T T\" Lattice=\"2.4 0 0 0.3 2.5 0 0 0.2 2.3\" ";
  const std::vector<std::pair<std::string, std::string>> structures = {
      {"", "O 0 0 0 0 0 0\n"},
      {"", "O 0 0 0 0.1 0.2 0\nH 0 0 0.97 0 0.1 0\n"},
      {"", "O 0 0 0 0.3 0 0\nH 0 1.1 0 0 0.4 0\nH 0 -1.1 0 0 0 0.5\n"},
      {"", "H 0 0 0 0 0 1\nH 0.8 0 0 0 0 0\nO 30 1 2 0.1 0 0\nH 30.9 1.2 2 0 0.2 0\n"},
      {cell, "O 0.1 0.2 0.3 0 0 0.1\n"},
      {"", "O 0 0 0 0 0 0\nH 0 0 3.5 0 0 0\n"},
  };
  std::string text;
  for (size_t s = 0; s < structures.size(); ++s) {
    const auto& [header, atoms] = structures[s];
    const auto lines = std::count(atoms.begin(), atoms.end(), '\n');
    text += absl::StrFormat("%d\n%sProperties=species:S:1:pos:R:3:forces:R:3 energy=%g\n%s", lines, header, -1.5 - s,
                            atoms);
  }
  const std::string path = ::testing::TempDir() + "/awkward.extxyz";
  ASSERT_TRUE(WriteFileAtomically(path, text).ok());
  for (const int vectors : {0, 3}) {
    ExpectGradients(Read(path, {8, 1}, 3.0, 5, 3), Options(1, 0, DType::kF64, vectors), 6, Range(6));
  }
}

AtomicPrediction Predict(const Potential& potential, const Structure& structure) {
  std::vector<uint8_t> species;
  for (const uint8_t element : structure.element) species.push_back(element == 8 ? 1 : 0);
  ForcePredictor predictor(absl::MakeConstSpan(&potential, 1));
  NeighborList pairs;
  EXPECT_TRUE(NeighborSearch(predictor.cutoff()).Compute(structure, &pairs).ok());
  StructureGeometry geometry;
  geometry.species = species;
  geometry.position = structure.position;
  geometry.cell = structure.cell;
  geometry.pairs = {pairs.offset, pairs.j.data(), pairs.shift.data()};
  AtomicPrediction prediction;
  predictor.Predict(geometry, structure.pbc, true, &prediction);
  return prediction;
}

// A cluster of two species, and the same turned by a rotation with a reflection, moved, and in another order.
void ExpectInvariance(int vectors) {
  const AtomicData data = Read(kTio2, {22, 8}, 3.5, 5, 3);
  const std::unique_ptr<ForceTask> task = Make(data, Options(1, 0, DType::kF64, vectors), 60);
  const Potential potential = task->model().WithParameters(task->InitialParameters(5));
  constexpr int kAtoms = 9;
  Structure cluster, turned;
  const double q[3][3] = {{0.36, 0.48, -0.8}, {-0.8, 0.6, 0}, {0.48, 0.64, 0.6}};  // orthogonal
  cluster.element.resize(kAtoms);
  cluster.position.resize(3 * kAtoms);
  for (int i = 0; i < kAtoms; ++i) {
    cluster.element[i] = i % 3 == 0 ? 22 : 8;
    for (int a = 0; a < 3; ++a) {
      const int place = a == 0 ? i % 3 : a == 1 ? i / 3 : (i * i) % 2;
      cluster.position[3 * i + a] = 1.7 * place + 0.2 * std::sin(5.0 * i + a);
    }
  }
  turned = cluster;
  for (int i = 0; i < kAtoms; ++i) {
    const int from = (4 * i + 1) % kAtoms;
    turned.element[i] = cluster.element[from];
    for (int a = 0; a < 3; ++a) {
      double sum = 0;
      for (int b = 0; b < 3; ++b) sum += q[a][b] * cluster.position[3 * from + b];
      turned.position[3 * i + a] = (a == 2 ? -1 : 1) * sum + 0.7 * a;
    }
  }
  const AtomicPrediction before = Predict(potential, cluster), after = Predict(potential, turned);
  EXPECT_NEAR(before.energy, after.energy, 1e-12 * std::abs(before.energy));
  double largest = 0;
  for (const double f : before.force) largest = std::max(largest, std::abs(f));
  ASSERT_GT(largest, 0);
  for (int i = 0; i < kAtoms; ++i) {
    const int from = (4 * i + 1) % kAtoms;
    EXPECT_NEAR(after.atom_energy[i], before.atom_energy[from], 1e-12 * std::abs(before.energy));
    for (int a = 0; a < 3; ++a) {
      double sum = 0;
      for (int b = 0; b < 3; ++b) sum += q[a][b] * before.force[3 * from + b];
      EXPECT_NEAR(after.force[3 * i + a], (a == 2 ? -1 : 1) * sum, 1e-12 * largest);
    }
  }
}

TEST(MessageTaskTest, EnergiesAreInvariantAndForcesTurn) {
  ExpectInvariance(0);
  ExpectInvariance(2);
}

// A model that goes through its file predicts the same, and one that goes through other scales, too.
void ExpectSamePredictions(int vectors) {
  const AtomicData data = Read(kTio2, {22, 8});
  const AtomisticTaskOptions options = Options(1, 0, DType::kF64, vectors);
  const std::unique_ptr<ForceTask> task = Make(data, options, 60), other = Make(data, options, 200);
  const Tensor parameters = task->InitialParameters(5);
  const std::string path = ::testing::TempDir() + "/messages.safetensors";
  ASSERT_TRUE(task->WriteModel(path, parameters, {}).ok());
  const absl::StatusOr<Potential> read = ReadPotential(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->parameters.ToDoubles(), parameters.ToDoubles());
  EXPECT_EQ(read->shape.moments, task->model().shape().moments);
  EXPECT_EQ(read->metadata.at("kind"), vectors > 0 ? "potential/3" : "potential/1");
  const Potential target = other->model().WithParameters(other->InitialParameters(6));
  ASSERT_NE(target.feature_scaling.scale, read->feature_scaling.scale);
  const absl::StatusOr<Transfer> transfer = TransferParameters(*read, target);
  ASSERT_TRUE(transfer.ok()) << transfer.status();
  Potential moved = target;
  moved.parameters = transfer->parameters;
  ForcePredictor a(absl::MakeConstSpan(&*read, 1)), b(absl::MakeConstSpan(&moved, 1));
  StructureGeometry geometry;
  geometry.species = data.species(7);
  geometry.position = data.position(7);
  geometry.cell = data.cell(7);
  geometry.pairs = data.pairs(7);
  AtomicPrediction before, after;
  a.Predict(geometry, {true, true, true}, true, &before);
  b.Predict(geometry, {true, true, true}, true, &after);
  EXPECT_NEAR(before.energy, after.energy, 1e-9 * std::abs(before.energy));
  for (size_t c = 0; c < before.force.size(); ++c) EXPECT_NEAR(before.force[c], after.force[c], 1e-9);
}

TEST(MessageTaskTest, FilesAndTransfersKeepPredictions) {
  ExpectSamePredictions(0);
  ExpectSamePredictions(2);
}

TEST(MessageTaskTest, VectorsNeedMessagesAndMomentsThatTurn) {
  const AtomicData data = Read(kTio2, {22, 8}), without = Read(kTio2, {22, 8}, 3.2, 4, 0);
  AtomisticTaskOptions options = Options(1, 0, DType::kF64, 4);
  const auto refused = [&](const AtomicData& of, const std::vector<std::string>& facts) {
    EXPECT_THAT(ForceTask::Create(of, options, Range(60)).status(),
                ErrorNames(absl::StatusCode::kInvalidArgument, facts));
  };
  refused(data, {"--vector_messages=4", "0 to 3", "--messages=3"});
  options.messages = 0;
  refused(data, {"--vector_messages=4", "--messages=0"});
  options.messages = 4;
  refused(without, {"--vector_messages=4", "--max_l=0"});
}

}  // namespace
}  // namespace rutile
