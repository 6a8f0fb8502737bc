#include "lib/neighbor/neighbor_file.h"

#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kCutoff = 3.5;

// Three structures: rock salt slightly off its lattice with atoms outside the cell, a molecule, and one atom alone.
std::vector<Structure> Structures() {
  std::vector<Structure> structures(3);
  Structure& salt = structures[0];
  salt.name = "salt#0";
  salt.element = {12, 8};
  salt.position = {0.1, -4.3, 0, 2.1, 2.0, 10.7};
  salt.cell = {0, 2.1, 2.1, 2.1, 0, 2.1, 2.1, 2.1, 0.1};
  salt.pbc = {true, true, true};
  salt.energy = -11.5;
  salt.force = {0, 0, 1, 0, 0, -1};
  salt.stress = Matrix3{1, 0, 0, 0, 2, 0, 0, 0, 3};
  salt.info["config_type"] = "salt";
  Structure& water = structures[1];
  water.name = "water";
  water.element = {8, 1, 1};
  water.position = {0, 0, 0, 0.96, 0, 0, -0.24, 0.93, 0};
  Structure& alone = structures[2];
  alone.name = "alone";
  alone.element = {12};
  alone.position = {1, 2, 3};
  return structures;
}

std::string Temp(const std::string& name) { return ::testing::TempDir() + "/" + name; }

// Writes without flushing to disk, for which thousands of files would wait.
void WriteBytes(const std::string& path, absl::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), bytes.size());
  ASSERT_TRUE(file.good());
}

absl::Status WriteNeighbors(const std::string& path, const NeighborFileOptions& options) {
  absl::StatusOr<NeighborWriter> writer = NeighborWriter::Create(path, options);
  if (!writer.ok()) return writer.status();
  NeighborSearch search(options.cutoff);
  NeighborList list;
  TripletList triplets;
  for (const Structure& structure : Structures()) {
    EXPECT_TRUE(search.Compute(structure, &list).ok());
    EXPECT_TRUE(FindTriplets(list, options.triplet_cutoff, &triplets).ok());
    const absl::Status status = writer->Append(structure, list, options.triplet_cutoff > 0 ? &triplets : nullptr, 0.5);
    if (!status.ok()) return status;
  }
  return writer->Finish({{"config_key", "config_type"}, {"tool", "test"}});
}

NeighborFileOptions Everything() {
  NeighborFileOptions options;
  options.cutoff = kCutoff;
  options.vectors = DType::kF64;
  options.triplet_cutoff = 3;
  options.weights = true;
  options.atomic_energies = {{8, -2.5}};
  return options;
}

TEST(NeighborFileTest, PairsComeBackAsTheyWereFound) {
  ASSERT_TRUE(WriteNeighbors(Temp("all.safetensors"), Everything()).ok());
  const absl::StatusOr<NeighborFile> file = ReadNeighbors(Temp("all.safetensors"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->cutoff, kCutoff);
  EXPECT_EQ(file->triplet_cutoff, 3);
  EXPECT_THAT(file->species, ElementsAre(12, 8, 1));  // in order of appearance
  EXPECT_EQ(file->descriptor, "");
  EXPECT_EQ(file->atomic_energies.at(8), -2.5);
  EXPECT_THAT(file->names, ElementsAre("salt#0", "water", "alone"));
  ASSERT_EQ(file->num_atoms(), 6);
  const absl::Span<const double> vectors = file->file.tensors.At("pair_vector").values<double>();

  NeighborSearch search(kCutoff);
  NeighborList list;
  TripletList triplets;
  const std::vector<Structure> structures = Structures();
  int64_t p = 0;
  for (size_t s = 0; s < structures.size(); ++s) {
    ASSERT_TRUE(search.Compute(structures[s], &list).ok());
    ASSERT_TRUE(FindTriplets(list, 3, &triplets).ok());
    const PairView pairs = file->pairs(s);
    const TripletView three = file->triplets(s);
    ASSERT_EQ(pairs.num_atoms(), structures[s].size());
    ASSERT_EQ(pairs.num_pairs(), list.num_pairs());
    for (int64_t i = 0; i < pairs.num_atoms(); ++i) {
      ASSERT_EQ(pairs.offset[i + 1] - pairs.offset[i], list.offset[i + 1] - list.offset[i]);
      const int64_t count = three.offset[i + 1] - three.offset[i];
      ASSERT_EQ(count, triplets.offset[i + 1] - triplets.offset[i]);
      for (int64_t t = 0; t < count; ++t) {
        EXPECT_EQ(three.a[three.offset[i] + t], triplets.a[triplets.offset[i] + t]);
        EXPECT_EQ(three.b[three.offset[i] + t], triplets.b[triplets.offset[i] + t]);
      }
    }
    ASSERT_EQ(pairs.offset[0], p);
    for (int64_t k = 0; k < list.num_pairs(); ++k, ++p) {
      EXPECT_EQ(pairs.j[p] - pairs.first_atom, list.j[k]);
      for (int d = 0; d < 3; ++d) EXPECT_EQ(pairs.shift[3 * p + d], list.shift[3 * k + d]);
      EXPECT_THAT(vectors.subspan(3 * p, 3), ElementsAre(list.dx[k], list.dy[k], list.dz[k]));
    }
    Structure copy;
    CopyStructure(*file, file->species, s, &copy);
    EXPECT_EQ(copy.name, structures[s].name);
    EXPECT_EQ(copy.element, structures[s].element);
    EXPECT_EQ(copy.position, structures[s].position);
    EXPECT_EQ(copy.cell, structures[s].cell);
    EXPECT_EQ(copy.pbc, structures[s].pbc);
    EXPECT_EQ(copy.energy, structures[s].energy);
    EXPECT_EQ(copy.force, structures[s].force);
    EXPECT_EQ(copy.stress, structures[s].stress);
    EXPECT_EQ(copy.info, structures[s].info);
  }
  EXPECT_EQ(p, file->num_pairs());
}

TEST(NeighborFileTest, TenBytesAPairUnlessMoreIsAskedFor) {
  NeighborFileOptions options;
  options.cutoff = kCutoff;
  ASSERT_TRUE(WriteNeighbors(Temp("small.safetensors"), options).ok());
  const absl::StatusOr<NeighborFile> file = ReadNeighbors(Temp("small.safetensors"));
  ASSERT_TRUE(file.ok()) << file.status();
  for (const char* name : {"pair_vector", "triplet_offset", "triplet_a", "triplet_b", "weight"}) {
    EXPECT_FALSE(file->file.tensors.Has(name)) << name;
  }
  EXPECT_THAT(file->triplets(0).offset, IsEmpty());
  options.vectors = DType::kF32;
  ASSERT_TRUE(WriteNeighbors(Temp("vectors.safetensors"), options).ok());
  const absl::StatusOr<NeighborFile> vectors = ReadNeighbors(Temp("vectors.safetensors"));
  ASSERT_TRUE(vectors.ok()) << vectors.status();
  const absl::Span<const float> r = vectors->file.tensors.At("pair_vector").values<float>();
  EXPECT_FLOAT_EQ(r[3 * vectors->pair_offset[2]], 0.96);  // from the water's oxygen
}

TEST(NeighborFileTest, SpeciesInTheOrderOfTheDescriptor) {
  NeighborFileOptions options = Everything();
  options.species = {1, 8, 12};
  options.descriptor = "{}";
  ASSERT_TRUE(WriteNeighbors(Temp("species.safetensors"), options).ok());
  const absl::StatusOr<NeighborFile> file = ReadNeighbors(Temp("species.safetensors"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->descriptor, "{}");
  EXPECT_THAT(file->species, ElementsAre(1, 8, 12));
  EXPECT_THAT(file->species_index, ElementsAre(2, 1, 1, 0, 0, 2));
  options.species = {8, 12};
  const absl::Status status = WriteNeighbors(Temp("lacking.safetensors"), options);
  EXPECT_THAT(status.message(), HasSubstr("water: atom 2 is H"));
  EXPECT_FALSE(FileExists(Temp("lacking.safetensors")));
}

TEST(NeighborFileTest, SameContentSameBytes) {
  ASSERT_TRUE(WriteNeighbors(Temp("a"), Everything()).ok());
  ASSERT_TRUE(WriteNeighbors(Temp("b"), Everything()).ok());
  EXPECT_EQ(FileContents::Open(Temp("a"))->data(), FileContents::Open(Temp("b"))->data());
}

TEST(NeighborFileTest, CutOffAnywhereIsAnError) {
  ASSERT_TRUE(WriteNeighbors(Temp("whole.safetensors"), Everything()).ok());
  const std::string bytes(FileContents::Open(Temp("whole.safetensors"))->data());
  const std::string path = Temp("cut.safetensors");
  for (size_t size = 0; size < bytes.size(); size += 1 + size / 100) {
    WriteBytes(path, absl::string_view(bytes).substr(0, size));
    EXPECT_EQ(ReadNeighbors(path).status().code(), absl::StatusCode::kInvalidArgument) << size;
  }
}

// With any byte wrong, the file is refused, or can be used without reading beyond its arrays.
TEST(NeighborFileTest, DamagedAnywhereIsSafe) {
  ASSERT_TRUE(WriteNeighbors(Temp("sound.safetensors"), Everything()).ok());
  const std::string bytes(FileContents::Open(Temp("sound.safetensors"))->data());
  int64_t used = 0, sum = 0;
  for (size_t i = 8; i < bytes.size(); i += 3) {
    std::string damaged = bytes;
    damaged[i] ^= static_cast<char>(1 << (i / 3 % 8));
    WriteBytes(Temp("damaged.safetensors"), damaged);
    const absl::StatusOr<NeighborFile> file = ReadNeighbors(Temp("damaged.safetensors"));
    if (!file.ok()) continue;
    ++used;
    for (int64_t s = 0; s < file->num_structures(); ++s) {
      const PairView pairs = file->pairs(s);
      for (int64_t a = 0; a < pairs.num_atoms(); ++a) {
        for (int64_t p = pairs.offset[a]; p < pairs.offset[a + 1]; ++p) {
          sum += pairs.shift[3 * p] + (file->position[3 * pairs.j[p]] > 0);
          ASSERT_LT(pairs.j[p] - pairs.first_atom, pairs.num_atoms());
        }
      }
    }
  }
  EXPECT_GT(used, 0);
  EXPECT_NE(sum, 0);
}

// Each tensor of a forged file is checked.
class BrokenNeighborFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(WriteNeighbors(Temp("intact.safetensors"), Everything()).ok());
    file_ = *ReadTensorFile(Temp("intact.safetensors"));
  }
  template <typename T>
  void Change(const std::string& name, const std::function<void(absl::Span<T>)>& change) {
    const Tensor& old = file_.tensors.At(name);
    Tensor tensor = Tensor::Of<T>(old.values<T>(), old.shape());
    change(tensor.mutable_values<T>());
    file_.tensors.Set(name, std::move(tensor));
  }
  std::string Error() {
    Metadata metadata = file_.metadata;
    EXPECT_TRUE(WriteTensorFile(Temp("broken.safetensors"), metadata, file_.tensors).ok());
    const absl::StatusOr<NeighborFile> read = ReadNeighbors(Temp("broken.safetensors"));
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(read.status().message(), HasSubstr("broken.safetensors: "));
    return std::string(read.status().message());
  }
  TensorFile file_;
};

TEST_F(BrokenNeighborFileTest, NeighborInAnotherStructure) {
  Change<int32_t>("pair_j", [](absl::Span<int32_t> j) { j[0] = 2; });
  EXPECT_THAT(Error(), HasSubstr("tensor \"pair_j\": entry 0 is 2, but a neighbor in structure 0 is one of its atoms, "
                                 "0 to 1"));
}

TEST_F(BrokenNeighborFileTest, NegativeNeighbor) {
  Change<int32_t>("pair_j", [](absl::Span<int32_t> j) { j.back() = -1; });
  EXPECT_THAT(Error(), HasSubstr("pair_j"));
}

TEST_F(BrokenNeighborFileTest, OffsetsFall) {
  Change<int64_t>("pair_offset", [](absl::Span<int64_t> offset) { offset[1] = offset[2] + 1; });
  EXPECT_THAT(Error(), HasSubstr("tensor \"pair_offset\": offsets do not rise from 0 to "));
}

TEST_F(BrokenNeighborFileTest, OffsetsEndEarly) {
  Change<int64_t>("pair_offset", [](absl::Span<int64_t> offset) { --offset.back(); });
  EXPECT_THAT(Error(), HasSubstr("pair_offset"));
}

TEST_F(BrokenNeighborFileTest, TripletOffsets) {
  Change<int64_t>("triplet_offset", [](absl::Span<int64_t> offset) { offset[0] = -1; });
  EXPECT_THAT(Error(), HasSubstr("triplet_offset"));
}

TEST_F(BrokenNeighborFileTest, TripletOutsideItsAtom) {
  Change<uint16_t>("triplet_b", [](absl::Span<uint16_t> b) { b[0] = 65535; });
  EXPECT_THAT(Error(), HasSubstr("atom 0 has "));
}

TEST_F(BrokenNeighborFileTest, TripletOfOneNeighbor) {
  Change<uint16_t>("triplet_a", [](absl::Span<uint16_t> a) { a[0] = 1; });
  EXPECT_THAT(Error(), HasSubstr("a < b"));
}

TEST_F(BrokenNeighborFileTest, WeightBelowZero) {
  Change<double>("weight", [](absl::Span<double> weight) { weight[1] = -1; });
  EXPECT_THAT(Error(), HasSubstr("tensor \"weight\" holds -1"));
}

TEST_F(BrokenNeighborFileTest, ForceNotFinite) {
  Change<double>("force", [](absl::Span<double> force) { force[0] = NAN; });
  EXPECT_THAT(Error(), HasSubstr("tensor \"force\" holds NaN or infinity for structure 0"));
}

TEST_F(BrokenNeighborFileTest, Cutoff) {
  for (const char* cutoff : {"0", "-1", "nan", "20.5", "long", ""}) {
    file_.metadata["cutoff"] = cutoff;
    EXPECT_THAT(Error(), HasSubstr("metadata \"cutoff\" is \"")) << cutoff;
  }
}

TEST_F(BrokenNeighborFileTest, TripletCutoff) {
  file_.metadata.erase("triplet_cutoff");
  EXPECT_THAT(Error(), HasSubstr("no \"triplet_cutoff\""));
}

TEST_F(BrokenNeighborFileTest, Species) {
  file_.metadata["species"] = "[\"Mg\",\"O\"]";
  EXPECT_THAT(Error(), HasSubstr("\"species\": 2 is not below"));
  file_.metadata["species"] = "[\"Mg\",\"Mg\",\"H\"]";
  EXPECT_THAT(Error(), HasSubstr("\"Mg\" is there twice"));
  file_.metadata["species"] = "[\"Mg\",\"X\",\"H\"]";
  EXPECT_THAT(Error(), HasSubstr("\"X\" is no element"));
}

TEST_F(BrokenNeighborFileTest, AnotherKind) {
  file_.metadata["kind"] = "atomistic.features/1";
  EXPECT_THAT(Error(),
              HasSubstr("is a file of kind atomistic.features/1, expected atomistic.neighbors/1; make one with "
                        "cache-neighbors"));
}

}  // namespace
}  // namespace rutile
