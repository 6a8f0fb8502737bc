// Compares reading neighbors from a file with searching them again, for 500 cells of 24 atoms at the density of TiO2.
// Items are pairs. BM_Checks measures all that ReadNeighbors does: mapping the file and checking everything that code
// indexes by.

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"
#include "lib/neighbor/neighbor_file.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/neighbor/pair_vectors.h"
#include "lib/structure/structure.h"

namespace rutile {
namespace {

constexpr int kStructures = 500;

std::vector<Structure> Structures() {
  std::vector<Structure> structures(kStructures);
  RandomStream random(1, "neighbor_file_benchmark");
  const double edge = std::cbrt(1 / 0.086);
  for (Structure& structure : structures) {
    structure.cell = {2 * edge, 0, 0, 0.1, 3 * edge, 0, -0.2, 0.3, 4 * edge};
    structure.pbc = {true, true, true};
    structure.element.assign(24, 22);
    for (int i = 0; i < 24; ++i) {
      const int site[3] = {i % 2, i / 2 % 3, i / 6};
      for (int k = 0; k < 3; ++k) structure.position.push_back(edge * site[k] + random.Uniform(-0.3, 0.3));
    }
  }
  return structures;
}

std::string WriteFile(const std::vector<Structure>& structures, double cutoff) {
  const std::string path = "/tmp/neighbor_file_benchmark.safetensors";
  NeighborFileOptions options;
  options.cutoff = cutoff;
  absl::StatusOr<NeighborWriter> writer = NeighborWriter::Create(path, options);
  CHECK(writer.ok());
  NeighborSearch search(cutoff);
  NeighborList list;
  for (const Structure& structure : structures) {
    CHECK(search.Compute(structure, &list).ok());
    CHECK(writer->Append(structure, list, nullptr).ok());
  }
  CHECK(writer->Finish({{"config_key", "config_type"}}).ok());
  return path;
}

void BM_SearchAgain(benchmark::State& state) {
  const std::vector<Structure> structures = Structures();
  NeighborSearch search(state.range(0));
  NeighborList list;
  int64_t pairs = 0;
  for (auto _ : state) {
    for (const Structure& structure : structures) {
      CHECK(search.Compute(structure, &list).ok());
      pairs += list.num_pairs();
    }
  }
  state.SetItemsProcessed(pairs);
}

void BM_FromFile(benchmark::State& state) {
  const std::string path = WriteFile(Structures(), state.range(0));
  const absl::StatusOr<NeighborFile> file = ReadNeighbors(path);
  CHECK(file.ok());
  NeighborList list;
  Structure structure;
  int64_t pairs = 0;
  for (auto _ : state) {
    for (int64_t s = 0; s < file->num_structures(); ++s) {
      CopyStructure(*file, file->species, s, &structure);
      ListFromPairs(structure.position, structure.cell, file->pairs(s), state.range(0), &list);
      pairs += list.num_pairs();
    }
  }
  state.SetItemsProcessed(pairs);
  std::remove(path.c_str());
}

void BM_Checks(benchmark::State& state) {
  const std::string path = WriteFile(Structures(), state.range(0));
  int64_t pairs = 0;
  for (auto _ : state) {
    const absl::StatusOr<NeighborFile> file = ReadNeighbors(path);
    CHECK(file.ok());
    pairs += file->num_pairs();
  }
  state.SetItemsProcessed(pairs);
  std::remove(path.c_str());
}

// The argument is a short or a long cutoff, in Angstrom.
BENCHMARK(BM_SearchAgain)->Arg(4)->Arg(8);
BENCHMARK(BM_FromFile)->Arg(4)->Arg(8);
BENCHMARK(BM_Checks)->Arg(4)->Arg(8);

}  // namespace
}  // namespace rutile
