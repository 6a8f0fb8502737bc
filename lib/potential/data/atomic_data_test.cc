#include "lib/potential/data/atomic_data.h"

#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <thread>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/descriptor/files/feature_file.h"
#include "lib/file/file.h"
#include "lib/neighbor/neighbor_file.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/neighbor/triplets.h"
#include "lib/structure/species_map.h"
#include "lib/structure/structure_reader.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ChebyshevOptions Descriptor() {
  ChebyshevOptions options;
  options.species = {22, 8};
  options.rad_order = 0;
  options.ang_order = 0;
  options.rad_cutoff = 3.5;
  options.ang_cutoff = 2.5;
  return options;  // 4 features
}

std::string Temp(const std::string& name) { return ::testing::TempDir() + "/" + name; }

std::string WriteText(const std::string& name, const std::string& text) {
  EXPECT_TRUE(WriteFileAtomically(Temp(name), text).ok());
  return Temp(name);
}

// A crystal with all labels, a molecule without a stress, and an atom without labels.
constexpr char kFrames[] =
    "2\n"
    "Lattice=\"3 0 0 0 3 0 0 0 3\" pbc=\"T T T\" Properties=species:S:1:pos:R:3:forces:R:3 energy=-10 "
    "stress=\"1 0 0 0 2 0 0 0 3\" config_type=crystal w=2.5 origin=here\n"
    "O 0 0 0 0.5 0 0\n"
    "Ti 1.5 1.5 1.6 -0.5 0 0\n"
    "3\n"
    "pbc=\"F F F\" Properties=species:S:1:pos:R:3:forces:R:3 energy=-3 config_type=molecule w=0\n"
    "O 0 0 0 0 0 7\n"
    "O 1.2 0 0 0 0 -3\n"
    "O 0 1.2 0.1 0 0 -4\n"
    "1\n"
    "pbc=\"F F F\" Properties=species:S:1:pos:R:3\n"
    "Ti 1 2 3\n";

std::string RawFile(const std::string& name = "raw.extxyz") { return WriteText(name, kFrames); }

std::vector<Structure> Structures(const std::string& path) {
  std::vector<Structure> structures;
  auto reader = StructureReader::Open(path);
  EXPECT_TRUE(reader.ok()) << reader.status();
  Structure structure;
  while (*(*reader)->Next(&structure)) structures.push_back(structure);
  return structures;
}

using Edit = std::function<void(std::vector<Structure>*)>;

// Writes features that count up, of the structures after `edit` changed them, and returns the path.
std::string FeaturesFile(
    const std::string& name, const ChebyshevOptions& descriptor = Descriptor(), DType precision = DType::kF32,
    const Edit& edit = [](auto*) {}, bool weights = false, const std::string& config_key = "config_type",
    const std::map<uint8_t, double>& energies = {}) {
  std::vector<Structure> structures = Structures(RawFile("for_" + name));
  edit(&structures);
  FeatureWriter writer = *FeatureWriter::Create(Temp(name), descriptor, precision, energies, weights);
  const SpeciesMap species_map(descriptor.species);
  std::vector<uint8_t> species;
  float next = 0;
  for (const Structure& structure : structures) {
    EXPECT_TRUE(species_map.Map(structure, &species).ok());
    std::vector<float> features(species.size() * descriptor.num_features());
    for (float& x : features) x = next++;
    const std::vector<double> wide(features.begin(), features.end());
    EXPECT_TRUE((precision == DType::kF32 ? writer.Append(structure, species, features, 0.25)
                                          : writer.Append(structure, species, wide, 0.25))
                    .ok());
  }
  Metadata metadata = {{"config_key", config_key}, {"command", "featurize " + name}};
  if (weights) metadata["weight_key"] = "w";
  EXPECT_TRUE(writer.Finish(metadata).ok());
  return Temp(name);
}

std::string NeighborsFile(
    const std::string& name, const NeighborFileOptions& options, const Edit& edit = [](auto*) {}) {
  std::vector<Structure> structures = Structures(RawFile("for_" + name));
  edit(&structures);
  NeighborWriter writer = *NeighborWriter::Create(Temp(name), options);
  NeighborSearch search(options.cutoff);
  NeighborList list;
  TripletList triplets;
  for (const Structure& structure : structures) {
    EXPECT_TRUE(search.Compute(structure, &list).ok());
    EXPECT_TRUE(FindTriplets(list, options.triplet_cutoff, &triplets).ok());
    EXPECT_TRUE(writer.Append(structure, list, options.triplet_cutoff > 0 ? &triplets : nullptr).ok());
  }
  EXPECT_TRUE(writer.Finish({{"config_key", "config_type"}, {"command", "cache-neighbors " + name}}).ok());
  return Temp(name);
}

NeighborFileOptions Cutoff(double cutoff, double triplet_cutoff = 0) {
  NeighborFileOptions options;
  options.cutoff = cutoff;
  options.triplet_cutoff = triplet_cutoff;
  return options;
}

AtomicDataOptions WithDescriptor() {
  AtomicDataOptions options;
  options.descriptor = Descriptor();
  return options;
}

std::string ErrorOf(const std::vector<std::string>& inputs, const AtomicDataOptions& options = {}) {
  const absl::StatusOr<AtomicData> data = AtomicData::Read(inputs, options);
  EXPECT_TRUE(absl::IsInvalidArgument(data.status())) << data.status();
  return std::string(data.status().message());
}

// Checks everything that kFrames contains, whatever file it was read from.
void ExpectFrames(const AtomicData& data) {
  ASSERT_EQ(data.num_structures(), 3);
  EXPECT_EQ(data.num_atoms(0), 2);
  EXPECT_THAT(data.species(0), ElementsAre(1, 0));  // indices into Ti, O
  EXPECT_TRUE(data.has_energy(1));
  EXPECT_EQ(data.energy(1), -3);
  EXPECT_FALSE(data.has_energy(2));
  EXPECT_TRUE(std::isnan(data.energy(2)));
  EXPECT_THAT(data.position(2), ElementsAre(1, 2, 3));
  EXPECT_THAT(data.force(0), ElementsAre(0.5, 0, 0, -0.5, 0, 0));
  EXPECT_THAT(data.force(2), IsEmpty());
  EXPECT_TRUE(data.has_stress(0));
  EXPECT_EQ(data.stress(0)[8], 3);
  EXPECT_FALSE(data.has_stress(1));
  EXPECT_THAT(data.stress(1), IsEmpty());
  EXPECT_EQ(data.cell(0)[4], 3);
  EXPECT_THAT(data.pbc(0), Each(true));
  EXPECT_THAT(data.pbc(1), Each(false));
  EXPECT_EQ(data.config_type(1), "molecule");
  EXPECT_EQ(data.config_type(2), "");
  EXPECT_THAT(data.name(1), HasSubstr("#1"));
  EXPECT_THAT(*data.Matches("config_type", "mol*"), ElementsAre(false, true, false));
}

void ExpectPairs(const AtomicData& data) {
  ASSERT_TRUE(data.has_pairs());
  std::vector<int64_t> offset;
  std::vector<int32_t> j;
  std::vector<int16_t> shift;
  for (int64_t s = 0; s < data.num_structures(); ++s) {
    ASSERT_TRUE(data.FindPairs(s, &offset, &j, &shift).ok());
    const PairView pairs = data.pairs(s);
    ASSERT_EQ(pairs.num_atoms(), data.num_atoms(s));
    ASSERT_EQ(pairs.num_pairs(), static_cast<int64_t>(j.size()));
    const int64_t first = pairs.offset[0];
    for (size_t i = 0; i < offset.size(); ++i) EXPECT_EQ(pairs.offset[i] - first, offset[i]);
    for (size_t p = 0; p < j.size(); ++p) {
      EXPECT_EQ(pairs.j[first + p] - pairs.first_atom, j[p]);
      for (int d = 0; d < 3; ++d) EXPECT_EQ(pairs.shift[3 * (first + p) + d], shift[3 * p + d]);
    }
  }
}

TEST(AtomicDataTest, Structures) {
  for (const int threads : {1, 2}) {
    AtomicDataOptions options = WithDescriptor();
    options.num_threads = threads;
    const auto data = AtomicData::Read({RawFile()}, options);
    ASSERT_TRUE(data.ok()) << data.status();
    ExpectFrames(*data);
    EXPECT_FALSE(data->has_features());
    EXPECT_FALSE(data->has_pairs());
    EXPECT_THAT(data->commands(), IsEmpty());
    EXPECT_EQ(data->weight(0), 1);
  }
}

TEST(AtomicDataTest, ManyFilesOfStructuresInTheirOrder) {
  std::vector<std::string> files;
  for (int i = 0; i < 40; ++i) {
    files.push_back(WriteText("many" + std::to_string(i),
                              "1\nProperties=species:S:1:pos:R:3 energy=" + std::to_string(i) + "\nO 0 0 0\n"));
  }
  AtomicDataOptions options = WithDescriptor();
  options.num_threads = 3;
  const auto data = AtomicData::Read(files, options);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->num_structures(), 40);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(data->energy(i), i);
  WriteText("many7", "1\nProperties=species:S:1:pos:R:3\nU 0 0 0\n");
  EXPECT_THAT(ErrorOf(files, options), AllOf(HasSubstr("many7"), HasSubstr("Ti,O")));
}

TEST(AtomicDataTest, Features) {
  const auto data = AtomicData::Read({FeaturesFile("f1"), FeaturesFile("f2")}, {});
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->num_structures(), 6);
  ASSERT_TRUE(data->has_features());
  EXPECT_EQ(data->feature_dtype(), DType::kF32);
  EXPECT_THAT(data->features<float>(0), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(data->features<float>(5)[0], 20);
  EXPECT_EQ(data->descriptor(), Descriptor());
  EXPECT_THAT(data->commands(), ElementsAre("featurize f1", "featurize f2"));
  EXPECT_THAT(data->force(4), ElementsAreArray(data->force(1)));
  const auto one = AtomicData::Read({FeaturesFile("f64", Descriptor(), DType::kF64)}, WithDescriptor());
  ASSERT_TRUE(one.ok()) << one.status();
  ExpectFrames(*one);
  EXPECT_EQ(one->features<double>(1)[0], 8);
}

TEST(AtomicDataTest, NeighborsWithTheirOwnOrderOfSpecies) {
  // In the file O comes first and has index 0; in the descriptor Ti has index 0.
  const std::string path = NeighborsFile("n", Cutoff(4));
  const auto data = AtomicData::Read({path}, WithDescriptor());
  ASSERT_TRUE(data.ok()) << data.status();
  ExpectFrames(*data);
  ASSERT_TRUE(data->has_pairs());
  EXPECT_FALSE(data->has_triplets());
  EXPECT_EQ(data->pairs(1).num_pairs(), 6);
  EXPECT_EQ(data->pairs(1).first_atom, 2);
  EXPECT_EQ(data->pairs(2).num_pairs(), 0);
  const std::string exact = NeighborsFile("n_exact", Cutoff(3.5, 2.5));
  const auto same = AtomicData::Read({exact}, WithDescriptor());
  ASSERT_TRUE(same.ok()) << same.status();
  ExpectPairs(*same);
  ASSERT_TRUE(same->has_triplets());
  EXPECT_EQ(same->triplets(1).offset.back() - same->triplets(1).offset.front(), 3);
}

TEST(AtomicDataTest, NeighborsThatRecordTheirDescriptor) {
  NeighborFileOptions options = Cutoff(3.5);
  options.species = Descriptor().species;
  options.descriptor = Descriptor().ToJson();
  const std::string path = NeighborsFile("n_desc", options);
  const auto data = AtomicData::Read({path}, {});
  ASSERT_TRUE(data.ok()) << data.status();
  ExpectFrames(*data);
  EXPECT_EQ(data->descriptor(), Descriptor());
  AtomicDataOptions other = WithDescriptor();
  other.descriptor->chebyshev().rad_order = 1;
  EXPECT_THAT(ErrorOf({path}, other), AllOf(HasSubstr("n_desc"), HasSubstr("that of the model is")));
  std::swap(other.descriptor, other.default_descriptor);  // used only if no file recorded one
  EXPECT_EQ(AtomicData::Read({path}, other)->descriptor(), Descriptor());
  EXPECT_EQ(AtomicData::Read({RawFile()}, other)->descriptor().chebyshev().rad_order, 1);
}

TEST(AtomicDataTest, FeaturesAndNeighborsTogether) {
  const std::string neighbors = NeighborsFile("both_n", Cutoff(3.5));
  for (const std::vector<std::string>& inputs :
       {std::vector<std::string>{FeaturesFile("both_f"), neighbors}, {neighbors, FeaturesFile("both_f")}}) {
    const auto data = AtomicData::Read(inputs, {});
    ASSERT_TRUE(data.ok()) << data.status();
    ExpectFrames(*data);
    ExpectPairs(*data);
    EXPECT_TRUE(data->has_features());
    EXPECT_EQ(data->features<float>(1)[0], 8);
    EXPECT_THAT(data->commands(), SizeIs(2));
  }
}

TEST(AtomicDataTest, RefusesFeaturesAndNeighborsOfOtherStructures) {
  struct Case {
    const char* name;
    Edit edit;
    const char* expected;
  };
  for (const Case& c : std::vector<Case>{
           {"position", [](auto* s) { (*s)[1].position[3] += 1e-9; }, "positions"},
           {"order", [](auto* s) { std::swap((*s)[1], (*s)[2]); }, "number of atoms"},
           {"count", [](auto* s) { s->pop_back(); }, "2"},
           {"element", [](auto* s) { (*s)[1].element[0] = 22; }, "species"},
           {"cell", [](auto* s) { (*s)[0].cell[0] = 3.25; }, "cell"},
           {"energy", [](auto* s) { (*s)[1].energy = -4; }, "energy"},
           {"forces", [](auto* s) { (*s)[1].force.clear(); }, "forces"},
           {"stress", [](auto* s) { (*s)[0].stress.reset(); }, "stress"},
       }) {
    const std::string error =
        ErrorOf({FeaturesFile("same_f"), NeighborsFile(std::string("other_") + c.name, Cutoff(3.5), c.edit)});
    EXPECT_THAT(error, AllOf(HasSubstr(c.expected), HasSubstr("same structures"))) << c.name;
  }
}

TEST(AtomicDataTest, RefusesWhatDoesNotGoTogether) {
  ChebyshevOptions other = Descriptor();
  other.rad_cutoff = 5;
  const std::string f = FeaturesFile("f");
  EXPECT_THAT(ErrorOf({f, FeaturesFile("f_other", other)}), AllOf(HasSubstr("descriptor"), HasSubstr("f_other")));
  EXPECT_THAT(ErrorOf({f, FeaturesFile("f_wide", Descriptor(), DType::kF64)}), HasSubstr("feature type"));
  EXPECT_THAT(ErrorOf({f, FeaturesFile(
                              "f_key", Descriptor(), DType::kF32, [](auto*) {}, false, "origin")}),
              HasSubstr("config_key"));
  EXPECT_THAT(
      ErrorOf({f, FeaturesFile("f_e0", Descriptor(), DType::kF32, [](auto*) {}, false, "config_type", {{8, -1.5}})}),
      AllOf(HasSubstr("atomic_energies"), HasSubstr("O=-1.5"), HasSubstr("not given")));
  EXPECT_THAT(ErrorOf({f, RawFile()}), AllOf(HasSubstr("raw.extxyz"), HasSubstr("alone")));
  EXPECT_THAT(ErrorOf({RawFile(), f}, WithDescriptor()), HasSubstr("alone"));
  EXPECT_THAT(ErrorOf({RawFile()}), HasSubstr("--species"));
  EXPECT_THAT(ErrorOf({NeighborsFile("n_none", Cutoff(4))}), HasSubstr("--species"));
  EXPECT_THAT(ErrorOf({NeighborsFile("n_short", Cutoff(3))}, WithDescriptor()),
              AllOf(HasSubstr("n_short"), HasSubstr("within 3 "), HasSubstr("--cutoff=3.5")));
  ChebyshevOptions wide = Descriptor();
  wide.rad_cutoff = 4.5;
  EXPECT_THAT(ErrorOf({NeighborsFile("n_ang", Cutoff(4)), FeaturesFile("f_ang", wide)}), HasSubstr("--cutoff=4.5"));
  EXPECT_THAT(ErrorOf({}), HasSubstr("no data"));
  EXPECT_TRUE(absl::IsNotFound(AtomicData::Read({"none"}, {}).status()));
}

TEST(AtomicDataTest, RefusesElementsThatTheDescriptorDoesNotHave) {
  AtomicDataOptions options = WithDescriptor();
  options.descriptor->chebyshev().species = {8, 1};
  EXPECT_THAT(ErrorOf({RawFile()}, options), AllOf(HasSubstr("Ti"), HasSubstr("raw.extxyz#0")));
  EXPECT_THAT(ErrorOf({NeighborsFile("n_element", Cutoff(4))}, options),
              AllOf(HasSubstr("Ti"), HasSubstr("n_element")));
}

TEST(AtomicDataTest, Filters) {
  AtomicDataOptions options = WithDescriptor();
  options.max_forces = 6;
  auto data = AtomicData::Read({RawFile()}, options);
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(data->num_structures(), 2);  // the molecule is left out; structures without forces stay
  EXPECT_EQ(data->num_filtered(), 1);
  EXPECT_EQ(data->num_atoms(1), 1);
  options.max_forces = std::numeric_limits<double>::infinity();
  options.max_energy = -2;  // -5 and -1 eV per atom
  data = AtomicData::Read({RawFile()}, options);
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(data->num_structures(), 2);
  options.atomic_energies = {{8, 2}};  // -6, -3
  data = AtomicData::Read({RawFile()}, options);
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(data->num_structures(), 3);
  // For files, the recorded atomic energies are used; pairs stay with their structures.
  options = {};
  options.max_energy = -2.5;
  data = AtomicData::Read(
      {FeaturesFile("f_filter", Descriptor(), DType::kF32, [](auto*) {}, false, "config_type", {{8, 2.0}, {22, -8.0}}),
       NeighborsFile("n_filter", Cutoff(3.5))},
      options);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->num_structures(), 2);  // (-10 - 2 + 8) / 2 = -2 is above, -3 is not
  EXPECT_EQ(data->features<float>(0)[0], 8);
  ExpectPairs(*data);

  options.max_energy = -100;
  EXPECT_THAT(ErrorOf({FeaturesFile("f_nothing", Descriptor(), DType::kF32, [](auto* s) { s->pop_back(); })}, options),
              AllOf(HasSubstr("no structure is left"), HasSubstr("2 were read")));
}

TEST(AtomicDataTest, Weights) {
  AtomicDataOptions options = WithDescriptor();
  options.weight_key = "w";
  auto data = AtomicData::Read({RawFile()}, options);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->weight(0), 2.5);
  EXPECT_EQ(data->weight(1), 0);
  EXPECT_EQ(data->weight(2), 1);
  options.weight_key = "none";
  EXPECT_THAT(ErrorOf({RawFile()}, options), HasSubstr("--weight_key=none"));
  EXPECT_THAT(ErrorOf({FeaturesFile("f_unweighted")}, options), HasSubstr("--weight_key=none"));
  options.weight_key = "w";
  data = AtomicData::Read({FeaturesFile(
                              "f_weights", Descriptor(), DType::kF32, [](auto*) {}, true)},
                          options);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->weight(2), 0.25);
}

TEST(AtomicDataTest, WeightsOfConfigTypes) {
  AtomicDataOptions options = WithDescriptor();
  options.weight_key = "w";
  options.config_weights = {{"mol*", 3}, {"[!m]*", 0.5}, {"", 4}};
  const auto data = AtomicData::Read({RawFile()}, options);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->weight(0), 1.25);
  EXPECT_EQ(data->weight(1), 0);
  EXPECT_EQ(data->weight(2), 4);
  options.config_weights = {{"*", 1}, {"crystal", 2}};
  EXPECT_THAT(ErrorOf({RawFile()}, options), AllOf(HasSubstr("--config_weights"), HasSubstr("crystal")));
  options.config_weights = {{"*", 0}};
  EXPECT_THAT(ErrorOf({RawFile()}, options), HasSubstr("weight 0"));
}

TEST(AtomicDataTest, CachesNeighborsInMemory) {
  auto data = AtomicData::Read({RawFile()}, WithDescriptor());
  ASSERT_TRUE(data.ok());
  const AtomicData before = *data;
  ASSERT_TRUE(data->CacheNeighbors(false, "", 1 << 20, 2).ok());
  ExpectPairs(*data);
  EXPECT_FALSE(data->has_triplets());
  EXPECT_FALSE(before.has_pairs());  // a copy is not changed
  ASSERT_TRUE(data->CacheNeighbors(true, "", 1 << 20, 2).ok());
  ExpectPairs(*data);
  ASSERT_TRUE(data->has_triplets());
  EXPECT_EQ(data->triplets(1).b[0], 1);
  EXPECT_TRUE(absl::IsResourceExhausted(AtomicData(before).CacheNeighbors(false, "", 100, 2)));
}

TEST(AtomicDataTest, AnotherDescriptorOfTheSameStructures) {
  AtomicDataOptions options = WithDescriptor();
  options.descriptor->chebyshev().rad_cutoff = options.descriptor->chebyshev().ang_cutoff = 0.9;
  const AtomicData data = AtomicData::Read({RawFile()}, options).value();
  AtomicData other = data.WithDescriptor(*WithDescriptor().descriptor);
  EXPECT_EQ(data.descriptor(), *options.descriptor);
  ASSERT_TRUE(other.CacheNeighbors(false, "", 1 << 20, 1).ok());
  ExpectPairs(other);
}

std::vector<std::string> FilesIn(const std::string& directory) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) files.push_back(entry.path());
  return files;
}

TEST(AtomicDataTest, CachesNeighborsInFiles) {
  const std::string directory = Temp("cache/of/neighbors");
  std::filesystem::remove_all(directory);
  for (const bool again : {false, true}) {
    auto data = AtomicData::Read({RawFile()}, WithDescriptor());
    ASSERT_TRUE(data.ok());
    ASSERT_TRUE(data->CacheNeighbors(false, directory, /*max_bytes=*/1, again ? 1 : 3).ok());
    ExpectFrames(*data);
    ExpectPairs(*data);
    EXPECT_THAT(FilesIn(directory), SizeIs(1));
  }
  // Triplets, or other structures, get a file of their own.
  auto data = AtomicData::Read({FeaturesFile("f_cache")}, WithDescriptor());
  ASSERT_TRUE(data->CacheNeighbors(true, directory, 1, 2).ok());
  ExpectPairs(*data);
  EXPECT_TRUE(data->has_triplets());
  EXPECT_TRUE(data->has_features());
  EXPECT_THAT(FilesIn(directory), SizeIs(2));
  AtomicDataOptions options = WithDescriptor();
  options.max_forces = 1;
  data = AtomicData::Read({RawFile()}, options);
  ASSERT_TRUE(data->CacheNeighbors(false, directory, 1, 2).ok());
  ExpectPairs(*data);
  EXPECT_THAT(FilesIn(directory), SizeIs(3));
}

TEST(AtomicDataTest, RefusesADamagedCache) {
  const std::string directory = Temp("damaged");
  std::filesystem::remove_all(directory);
  auto data = AtomicData::Read({RawFile()}, WithDescriptor());
  ASSERT_TRUE(data->CacheNeighbors(false, directory, 1, 1).ok());
  const std::string cached = FilesIn(directory)[0];
  std::filesystem::copy_file(NeighborsFile("moved", Cutoff(3.5), [](auto* s) { (*s)[1].position[0] = 0.1; }), cached,
                             std::filesystem::copy_options::overwrite_existing);
  data = AtomicData::Read({RawFile()}, WithDescriptor());
  EXPECT_THAT(data->CacheNeighbors(false, directory, 1, 1).message(),
              AllOf(HasSubstr("positions"), HasSubstr("remove")));
  std::filesystem::resize_file(cached, 1000);
  EXPECT_THAT(data->CacheNeighbors(false, directory, 1, 1).message(), AllOf(HasSubstr(cached), HasSubstr("remove")));
}

// The first bytes of a stream tell its kind; it is then read as that kind.
TEST(AtomicDataTest, Streams) {
  for (const std::string& path : {RawFile(), FeaturesFile("f_stream"), NeighborsFile("n_stream", Cutoff(3.5))}) {
    const std::string pipe = Temp("pipe");
    std::filesystem::remove(pipe);
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::thread writer([&] {
      std::ofstream out(pipe, std::ios::binary);
      out << std::ifstream(path, std::ios::binary).rdbuf();
    });
    const auto data = AtomicData::Read({pipe}, WithDescriptor());
    writer.join();
    ASSERT_TRUE(data.ok()) << data.status();
    EXPECT_EQ(data->num_structures(), 3);
    EXPECT_THAT(data->force(1), ElementsAre(0, 0, 7, 0, 0, -3, 0, 0, -4));
  }
}

}  // namespace
}  // namespace rutile
