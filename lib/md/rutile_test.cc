// What callers can do wrong, and what must not grow.

#include "lib/md/rutile.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/version.h"
#include "lib/file/file.h"
#include "lib/md/md_testing.h"
#include "lib/potential/model/aenet/aenet_file.h"
#include "lib/potential/model/golden_potential_testing.h"
#include "lib/potential/model/potential_testing.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Structure Columbite() { return ReadGoldenCase("tio2_columbite_12atoms").structure; }

// Opens paths that cannot be opened, and returns the message.
std::string OpenError(const std::vector<const char*>& paths, int code) {
  rutile_model* model = nullptr;
  char error[1000] = "unset";
  EXPECT_EQ(rutile_open(paths.data(), static_cast<int>(paths.size()), nullptr, &model, error, sizeof(error)), code)
      << error;
  EXPECT_EQ(model, nullptr);
  return error;
}

TEST(RutileTest, SaysWhatAModelIs) {
  EXPECT_EQ(rutile_abi_version(), RUTILE_ABI_VERSION);
  EXPECT_STREQ(rutile_version(), kVersion);
  const TestModel model({SmallTiO2Potential(1), SmallTiO2Potential(2)}, 32);
  rutile_model_info info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(rutile_get_info(model.model(), &info), RUTILE_OK);
  EXPECT_EQ(info.cutoff, 4);
  EXPECT_EQ(info.num_species, 2);
  EXPECT_EQ(info.num_members, 2);
  EXPECT_EQ(info.precision, 32);
  EXPECT_EQ(info.has_training_range, 0);
  EXPECT_STREQ(rutile_species(model.model(), 0), "Ti");
  EXPECT_STREQ(rutile_species(model.model(), 1), "O");
  EXPECT_EQ(rutile_species(model.model(), 2), nullptr);
  EXPECT_EQ(rutile_species(model.model(), -1), nullptr);
  EXPECT_EQ(rutile_species_index(model.model(), "O"), 1);
  EXPECT_EQ(rutile_species_index(model.model(), "o"), RUTILE_UNKNOWN_SPECIES);
  EXPECT_EQ(rutile_species_index(model.model(), nullptr), RUTILE_UNKNOWN_SPECIES);
}

// A program that was compiled with an older header gives a shorter struct, with a newer one a longer.
TEST(RutileTest, StructsMayBeOfOtherVersions) {
  const TestModel model({SmallTiO2Potential(1)});
  rutile_model_info info = {};
  info.struct_size = offsetof(rutile_model_info, num_members);
  info.num_members = 77;
  ASSERT_EQ(rutile_get_info(model.model(), &info), RUTILE_OK);
  EXPECT_EQ(info.num_species, 2);
  EXPECT_EQ(info.num_members, 77) << "written beyond the caller's struct";
  info.struct_size = 0;
  EXPECT_EQ(rutile_get_info(model.model(), &info), RUTILE_INVALID_ARGUMENT);

  struct Longer {
    rutile_outputs outputs;
    double* later = nullptr;
  };
  Longer longer = {};
  longer.outputs.struct_size = sizeof(longer);
  EXPECT_EQ(rutile_compute_cell(model.context(), 0, nullptr, nullptr, nullptr, nullptr, &longer.outputs), RUTILE_OK);
  double wanted;
  longer.later = &wanted;
  EXPECT_EQ(rutile_compute_cell(model.context(), 0, nullptr, nullptr, nullptr, nullptr, &longer.outputs),
            RUTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rutile_last_error(model.context()), AllOf(HasSubstr("rutile_outputs"), HasSubstr("newer")));
  longer.outputs.struct_size = 0;
  EXPECT_EQ(rutile_compute_cell(model.context(), 0, nullptr, nullptr, nullptr, nullptr, &longer.outputs),
            RUTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rutile_last_error(model.context()), HasSubstr("struct_size"));
}

TEST(RutileTest, NetworksOfAenetAreOneModel) {
  const std::string directory = ::testing::TempDir() + "/aenet";
  ASSERT_TRUE(WriteAenetPotentials(directory, SmallTiO2Potential(1)).ok());
  const std::string titanium = directory + "/Ti.nn", oxygen = directory + "/O.nn";
  const char* const paths[] = {oxygen.c_str(), titanium.c_str()};
  rutile_model* model = nullptr;
  ASSERT_EQ(rutile_open(paths, 2, nullptr, &model, nullptr, 0), RUTILE_OK);
  rutile_model_info info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(rutile_get_info(model, &info), RUTILE_OK);
  EXPECT_EQ(info.num_members, 1);
  EXPECT_EQ(info.precision, 64);
  EXPECT_STREQ(rutile_species(model, 0), "Ti");
  rutile_close(model);
  EXPECT_THAT(OpenError({titanium.c_str()}, RUTILE_INVALID_ARGUMENT),
              AllOf(HasSubstr("Ti.nn"), HasSubstr("none of O")));
}

TEST(RutileTest, FilesThatAreNoModels) {
  const std::string good = WriteTestPotential(SmallTiO2Potential(1), "good");
  EXPECT_THAT(OpenError({"no/such.safetensors"}, RUTILE_NOT_FOUND), HasSubstr("no/such.safetensors"));
  EXPECT_THAT(OpenError({}, RUTILE_INVALID_ARGUMENT), HasSubstr("no model file"));
  EXPECT_THAT(OpenError({good.c_str(), nullptr}, RUTILE_INVALID_ARGUMENT), HasSubstr("paths[1]"));

  Potential other = SmallTiO2Potential(2);
  other.descriptor.chebyshev().rad_cutoff = 5;
  const std::string another = WriteTestPotential(other, "another");
  EXPECT_THAT(OpenError({good.c_str(), another.c_str()}, RUTILE_INVALID_ARGUMENT),
              AllOf(HasSubstr("another.safetensors"), HasSubstr("descriptor")));

  // A model cut short, anywhere.
  std::ifstream in(good, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::string cut = ::testing::TempDir() + "/cut.safetensors";
  for (size_t size = 0; size < content.size(); size += 1 + content.size() / 50) {
    std::ofstream(cut, std::ios::binary) << content.substr(0, size);
    EXPECT_THAT(OpenError({cut.c_str()}, RUTILE_INVALID_ARGUMENT), HasSubstr("cut.safetensors")) << size;
  }
  EXPECT_NE(OpenError({::testing::TempDir().c_str()}, RUTILE_INVALID_ARGUMENT), "");

  const char* const path = good.c_str();
  rutile_model* model = nullptr;
  char few[8];
  EXPECT_EQ(rutile_open(&path, 1, nullptr, nullptr, few, sizeof(few)), RUTILE_INVALID_ARGUMENT);
  EXPECT_STREQ(few, "model i") << "the message is cut to the buffer";
  EXPECT_EQ(rutile_open(nullptr, 1, nullptr, &model, nullptr, 0), RUTILE_INVALID_ARGUMENT);
  const rutile_options options = {sizeof(options), 16, nullptr};
  char error[200];
  EXPECT_EQ(rutile_open(&path, 1, &options, &model, error, sizeof(error)), RUTILE_INVALID_ARGUMENT);
  EXPECT_THAT(error, AllOf(HasSubstr("16"), HasSubstr("32, 64")));
}

TEST(RutileTest, WrongStructuresAreErrors) {
  const TestModel model({SmallTiO2Potential(1)});
  const Structure good = Columbite();
  const auto error = [&](const Structure& structure) {
    const TestResult r = ComputeCell(model, structure);
    EXPECT_EQ(r.code, RUTILE_INVALID_ARGUMENT);
    EXPECT_EQ(r.energy, 0) << "written after an error";
    return r.error;
  };
  Structure bad = good;
  bad.position[4] = std::nan("");
  EXPECT_THAT(error(bad), AllOf(HasSubstr("atom 2"), HasSubstr("nan")));
  bad.position[4] = INFINITY;
  EXPECT_THAT(error(bad), HasSubstr("inf"));
  bad = good;
  for (int a = 0; a < 3; ++a) bad.position[3 * 4 + a] = good.position[3 * 9 + a] + 0.01;
  EXPECT_THAT(error(bad), AllOf(HasSubstr("atoms 5 and 10"), HasSubstr("0.1")));
  bad = good;
  bad.element[7] = 79;
  EXPECT_THAT(error(bad), AllOf(HasSubstr("atom 8"), HasSubstr("Ti, O")));
  bad = good;
  bad.cell = {};
  EXPECT_NE(error(bad), "");
  bad.cell = {1e-5, 0, 0, 0, 5, 0, 0, 0, 5};
  EXPECT_THAT(error(bad), HasSubstr("thick"));
  // Along a direction that is not periodic, too: its row would be multiplied by zero.
  bad = good;
  bad.pbc[2] = false;
  bad.cell[8] = std::nan("");
  EXPECT_THAT(error(bad), HasSubstr("cell"));
  EXPECT_EQ(ComputeCell(model, good).code, RUTILE_OK) << "a context stays usable after errors";
  EXPECT_EQ(ComputeCell(model, good, std::vector<int>(12, RUTILE_NO_SPECIES)).code, RUTILE_INVALID_ARGUMENT);
}

TEST(RutileTest, NullIsNeverFollowed) {
  const TestModel model({SmallTiO2Potential(1)});
  rutile_outputs outputs = {};
  outputs.struct_size = sizeof(outputs);
  const int species[1] = {0};
  const double position[3] = {0, 0, 0};
  rutile_context* const context = model.context();
  const auto compute = [&](int n, const int* s, const double* r, const rutile_outputs* o) {
    return rutile_compute_cell(context, n, s, r, nullptr, nullptr, o);
  };
  EXPECT_EQ(compute(1, species, position, &outputs), RUTILE_OK) << rutile_last_error(context);
  EXPECT_EQ(compute(1, nullptr, position, &outputs), RUTILE_INVALID_ARGUMENT);
  EXPECT_EQ(compute(1, species, nullptr, &outputs), RUTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rutile_last_error(context), HasSubstr("positions"));
  EXPECT_EQ(compute(1, species, position, nullptr), RUTILE_INVALID_ARGUMENT);
  EXPECT_EQ(compute(-1, species, position, &outputs), RUTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rutile_last_error(context), HasSubstr("-1"));
  EXPECT_EQ(rutile_compute_list(context, 1, species, position, 1, nullptr, nullptr, nullptr, -1, &outputs),
            RUTILE_INVALID_ARGUMENT);
  EXPECT_EQ(rutile_compute_list(context, 1, species, position, 2, nullptr, nullptr, nullptr, -1, &outputs),
            RUTILE_INVALID_ARGUMENT);
  EXPECT_EQ(rutile_compute_cell(nullptr, 1, species, position, nullptr, nullptr, &outputs), RUTILE_INVALID_ARGUMENT);
  EXPECT_EQ(rutile_context_create(nullptr, nullptr), RUTILE_INVALID_ARGUMENT);
  EXPECT_STRNE(rutile_last_error(nullptr), "");
  EXPECT_EQ(rutile_species(nullptr, 0), nullptr);
  EXPECT_EQ(rutile_get_info(nullptr, nullptr), RUTILE_INVALID_ARGUMENT);
  rutile_close(nullptr);
  rutile_context_destroy(nullptr);
}

TEST(RutileTest, ContextsOutliveTheirModel) {
  const std::string path = WriteTestPotential(SmallTiO2Potential(1), "short-lived");
  const char* const name = path.c_str();
  rutile_model* model = nullptr;
  rutile_context* context = nullptr;
  ASSERT_EQ(rutile_open(&name, 1, nullptr, &model, nullptr, 0), RUTILE_OK);
  ASSERT_EQ(rutile_context_create(model, &context), RUTILE_OK);
  rutile_close(model);
  double energy = 0;
  rutile_outputs outputs = {};
  outputs.struct_size = sizeof(outputs);
  outputs.energy = &energy;
  const int species[1] = {0};
  const double position[3] = {0, 0, 0};
  EXPECT_EQ(rutile_compute_cell(context, 1, species, position, nullptr, nullptr, &outputs), RUTILE_OK);
  EXPECT_NE(energy, 0);
  rutile_context_destroy(context);
}

TEST(RutileTest, ThreadsHaveContextsOfTheirOwn) {
  const TestModel model({SmallTiO2Potential(1)});
  const Structure structure = Columbite();
  const TestResult expected = ComputeCell(model, structure);
  const std::vector<int> species = model.Species(structure);
  std::vector<double> energies(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      rutile_context* context = nullptr;
      if (rutile_context_create(model.model(), &context) != RUTILE_OK) return;
      rutile_outputs outputs = {};
      outputs.struct_size = sizeof(outputs);
      outputs.energy = &energies[t];
      const int pbc[3] = {1, 1, 1};
      for (int repeat = 0; repeat < 10; ++repeat) {
        rutile_compute_cell(context, 12, species.data(), structure.position.data(), structure.cell.data(), pbc,
                            &outputs);
      }
      rutile_context_destroy(context);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(energies, ::testing::Each(expected.energy));
}

int64_t ResidentKilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.compare(0, 6, "VmRSS:") == 0) return std::stoll(line.substr(6));
  }
  return -1;
}

// A leak of one model of 1 kB, or of its map of the file, would be a megabyte or more.
TEST(RutileTest, AThousandOpensDoNotGrow) {
  const std::string path = WriteTestPotential(SmallTiO2Potential(1), "again");
  const Structure structure = Columbite();
  int64_t before = 0;
  for (int k = 0; k < 1100; ++k) {
    if (k == 100) before = ResidentKilobytes();  // what is allocated once has been
    const TestModel model(std::vector<std::string>{path});
    ASSERT_EQ(ComputeCell(model, structure).code, RUTILE_OK);
    OpenError({"no/such.safetensors"}, RUTILE_NOT_FOUND);
  }
  ASSERT_GT(before, 0);
  EXPECT_LT(ResidentKilobytes() - before, 600);
}

}  // namespace
}  // namespace rutile
