// Measures the influence of structures on structures: all pairs of 1000 at one checkpoint, and the naive loop beside
// it.
//
// Repeated cells of data/tio2-pbe, 21 atoms on average, with forces; networks of two hidden layers of 16 with random
// weights; energies and forces in the loss; neighbors cached; one thread. Descriptors: 0 is rad 4.0/5, ang 3.0/3; 1 is
// rad 8.0/16, ang 6.5/4. Items are pairs. The naive loop is the definition, one backward pass of LibTorch for each
// example (GradientProducts::Reference...Gradient), timed on some of them: naive_s is what 1000 + 1000 take without
// their products, `ratio` how many times as long that is as all of the fast way, both in seconds of the processor. The
// definition's descriptor sums over triplets: with many neighbors (1) that is most of naive_s.

#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/base/random.h"
#include "lib/descriptor/files/featurizer.h"
#include "lib/file/file.h"
#include "lib/network/kernels/row_products.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/data/feature_source.h"
#include "lib/potential/influence/gradient_reference.h"
#include "lib/potential/influence/gradient_rows.h"
#include "lib/potential/influence/potential_products.h"
#include "lib/potential/model/atomistic_model.h"
#include "lib/structure/extxyz/extxyz_writer.h"
#include "lib/structure/structure_reader.h"
// This header comes last; lib/base/logging.h says why.
#include "lib/base/logging.h"

namespace rutile {
namespace {

constexpr int64_t kStructures = 1000;

ChebyshevOptions DescriptorOf(int64_t which) {
  ChebyshevOptions options;
  options.species = {22, 8};
  options.rad_order = which == 0 ? 5 : 16;
  options.rad_cutoff = which == 0 ? 4.0 : 8.0;
  options.ang_order = which == 0 ? 3 : 4;
  options.ang_cutoff = which == 0 ? 3.0 : 6.5;
  return options;
}

std::string TempPath(absl::string_view name) {
  const char* directory = std::getenv("TMPDIR");
  return absl::StrCat(directory == nullptr ? "/tmp" : directory, "/", name);
}

// Repeats the cell `count` times along the first lattice vector.
Structure Repeated(const Structure& cell, int count) {
  Structure out = cell;
  for (int k = 1; k < count; ++k) {
    out.element.insert(out.element.end(), cell.element.begin(), cell.element.end());
    out.force.insert(out.force.end(), cell.force.begin(), cell.force.end());
    for (size_t x = 0; x < cell.position.size(); ++x) out.position.push_back(cell.position[x] + k * cell.cell[x % 3]);
  }
  for (int c = 0; c < 3; ++c) out.cell[c] *= count;
  out.energy = *cell.energy * count;
  return out;
}

// Writes the structures and returns the path.
std::string WriteStructures() {
  std::vector<Structure> cells(1);
  const auto reader = *StructureReader::Open("data/tio2-pbe/tio2-pbe.extxyz");
  while (*reader->Next(&cells.back())) cells.emplace_back();
  cells.pop_back();
  std::string text;
  for (int64_t s = 0; s < kStructures; ++s) {
    AppendExtxyz(Repeated(cells[s % cells.size()], 2 + static_cast<int>(s % 4)), &text);
  }
  const std::string path = TempPath("influence_benchmark.extxyz");
  CHECK(WriteFileAtomically(path, text).ok());
  return path;
}

AtomicData DataOf(int64_t which) {
  const std::string path = WriteStructures();
  AtomicDataOptions options;
  options.descriptor = DescriptorOf(which);
  AtomicData data = *AtomicData::Read({path}, options);
  CHECK(data.CacheNeighbors(false, "", int64_t{1} << 32, 1).ok());
  std::remove(path.c_str());
  return data;
}

AtomicData FeaturesOf(int64_t which) {
  const std::string path = WriteStructures(), features = TempPath("influence_benchmark.safetensors");
  FeaturizeOptions options;
  options.descriptor = DescriptorOf(which);
  CHECK(Featurize({path}, features, options, {}).ok());
  const AtomicData data = *AtomicData::Read({features}, {});
  std::remove(path.c_str());
  std::remove(features.c_str());  // it stays mapped
  return data;
}

Potential PotentialOf(const AtomicData& data) {
  std::vector<int64_t> all(data.num_structures());
  std::iota(all.begin(), all.end(), 0);
  AtomisticTaskOptions options;
  options.hidden = {16, 16};
  const FeatureSource features = *FeatureSource::Create(data, options.angular, DType::kF32, false, 1);
  const AtomisticModel model = *AtomisticModel::Create(data, features, options, all);
  return model.WithParameters(model.InitialParameters(1));
}

PotentialProductsOptions Options(DType precision) {
  PotentialProductsOptions options;
  options.loss.energy_weight = 0.9;
  options.loss.force_weight = 0.1;
  options.precision = precision;
  return options;
}

// Returns the processor time of this process, which other work on the machine does not change.
double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Returns the seconds of one backward pass of LibTorch, the mean over some examples.
double NaiveSeconds(GradientProducts* products, int64_t num_parameters) {
  constexpr int kExamples = 40;
  at::set_num_threads(1);
  std::vector<double> gradient(num_parameters);
  CHECK(products->ReferenceTrainGradient(0, absl::MakeSpan(gradient)).ok());
  const double start = CpuSeconds();
  for (int k = 0; k < kExamples; ++k) {
    CHECK(products->ReferenceTrainGradient(k * (kStructures / kExamples), absl::MakeSpan(gradient)).ok());
  }
  return (CpuSeconds() - start) / kExamples;
}

// Measures one checkpoint, everything from the parameters on.
template <typename T>
void BM_AllPairs(benchmark::State& state) {
  const AtomicData data = DataOf(state.range(0));
  const Potential potential = PotentialOf(data);
  WeightedCheckpoint point;
  point.parameters = potential.parameters;
  std::vector<int64_t> all(kStructures);
  std::iota(all.begin(), all.end(), 0);
  double seconds = 0;
  std::unique_ptr<GradientProducts> products;
  ProductTile tile;
  for (auto _ : state) {
    const double start = CpuSeconds();
    products = *MakePotentialProducts(potential, data, data, point, Options(DTypeOf<T>()), ReferenceExampleGradient);
    CHECK(products->SetTests(all).ok());
    for (int64_t first = 0; first < kStructures; first += products->tile_size()) {
      const int64_t count = std::min(products->tile_size(), kStructures - first);
      CHECK(products->Products(absl::MakeConstSpan(all).subspan(first, count), true, &tile).ok());
    }
    seconds += CpuSeconds() - start;
  }
  state.SetItemsProcessed(state.iterations() * kStructures * kStructures);
  const double naive = 2 * kStructures * NaiveSeconds(products.get(), potential.shape.num_parameters());
  state.counters["naive_s"] = naive;
  state.counters["ratio"] = naive * static_cast<double>(state.iterations()) / seconds;
}
BENCHMARK_TEMPLATE(BM_AllPairs, float)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(BM_AllPairs, double)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

// Measures the gradients alone, of energies and forces or of energies by features from a file. Items are atoms.
void BM_Rows(benchmark::State& state) {
  const bool forces = state.range(1) != 0;
  const AtomicData data = forces ? DataOf(state.range(0)) : FeaturesOf(state.range(0));
  const Potential potential = PotentialOf(data);
  const GradientFormulas formulas(potential, Options(DType::kF64).loss, {1, forces ? 1.0 : 0.0, 0},
                                  AngularMethod::kMoments);
  GradientRows rows(formulas);
  std::vector<double> row(potential.shape.num_parameters());
  int64_t atoms = 0;
  for (auto _ : state) {
    for (int64_t s = 0; s < kStructures; ++s) {
      CHECK(rows.Compute(data, {s}, absl::MakeSpan(row)).ok());
      atoms += data.num_atoms(s);
    }
  }
  state.SetItemsProcessed(atoms);
}
BENCHMARK(BM_Rows)->ArgsProduct({{0, 1}, {1, 0}})->Unit(benchmark::kMillisecond);

// Measures the product alone, of 64 rows of 2018 numbers with the rows of the tests. Items are multiplications.
template <typename T>
void BM_RowProducts(benchmark::State& state) {
  constexpr int64_t kRows = 64, kColumns = 2018;
  const int64_t tests = state.range(0);
  RandomStream random(1, "benchmark");
  std::vector<T> a(kRows * kColumns), row(kColumns);
  for (T& each : a) each = static_cast<T>(random.Uniform());
  PackedRows<T> b(tests, kColumns);
  for (int64_t j = 0; j < tests; ++j) {
    for (T& each : row) each = static_cast<T>(random.Uniform());
    b.Set(j, 0, row);
  }
  std::vector<double> sums(kRows * tests);
  for (auto _ : state) {
    AddRowProducts(kRows, a.data(), kColumns, kColumns, b, 0, sums.data());
    benchmark::DoNotOptimize(sums.data());
  }
  state.SetItemsProcessed(state.iterations() * kRows * kColumns * tests);
}
BENCHMARK_TEMPLATE(BM_RowProducts, float)->Arg(1)->Arg(100)->Arg(1000);
BENCHMARK_TEMPLATE(BM_RowProducts, double)->Arg(1000);

}  // namespace
}  // namespace rutile
