#include "lib/potential/data/atomic_inputs.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

constexpr char kCrystal[] =
    "2\nLattice=\"3 0 0 0 3 0 0 0 3\" pbc=\"T T T\" Properties=species:S:1:pos:R:3:forces:R:3 energy=-10 "
    "config_type=crystal origin=here\nO 0 0 0 0.5 0 0\nTi 1.5 1.5 1.6 -0.5 0 0\n";
constexpr char kAtom[] = "1\npbc=\"F F F\" Properties=species:S:1:pos:R:3 energy=-1 config_type=atom\nTi 1 2 3\n";

std::string Temp(const std::string& name) { return ::testing::TempDir() + "/" + name; }

std::string Write(const std::string& name, const std::string& text) {
  EXPECT_TRUE(WriteFileAtomically(Temp(name), text).ok());
  return Temp(name);
}

DescriptorOptions Chebyshev() {
  ChebyshevOptions options;
  options.species = {22, 8};
  return options;
}

DescriptorOptions Moments() {
  MomentOptions options;
  options.species = {22, 8};
  return options;
}

TEST(AtomicInputsTest, StructuresWithoutADescriptorAreToldTheirElements) {
  EXPECT_THAT(ReadAtomicInputs({Write("atom.extxyz", kAtom), Write("crystal.extxyz", kCrystal)}, {}).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"atom.extxyz", "--species=O,Ti"}));
  EXPECT_THAT(ReadAtomicInputs({Write("bad.extxyz", "2\n\nTi 0 0 0\n")}, {}).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"bad.extxyz"}));
}

TEST(AtomicInputsTest, StructuresWithForcesMayHaveADescriptorOfTheirOwn) {
  AtomicDataOptions options;
  options.default_descriptor = Chebyshev();
  options.forces_descriptor = Moments();
  const std::string crystal = Write("forces.extxyz", kCrystal), atom = Write("none.extxyz", kAtom);
  EXPECT_EQ(ReadAtomicInputs({crystal}, options)->descriptor, Moments());
  EXPECT_EQ(ReadAtomicInputs({atom}, options)->descriptor, Chebyshev()) << "no forces";
  EXPECT_EQ(ReadAtomicInputs({atom, crystal}, options)->descriptor, Moments()) << "some have forces";
  const std::string still =
      Write("still.extxyz", "1\nProperties=species:S:1:pos:R:3:forces:R:3 energy=-1\nTi 1 2 3 0 0 0\n");
  EXPECT_EQ(ReadAtomicInputs({still, atom}, options)->descriptor, Chebyshev()) << "an atom alone has no force";
}

TEST(AtomicInputsTest, GlobsThatNothingFits) {
  AtomicDataOptions options;
  options.default_descriptor = Chebyshev();
  const std::string files[] = {Write("a.extxyz", kCrystal), Write("b.extxyz", kAtom)};
  const AtomicData data = AtomicData::Read(files, options).value();
  EXPECT_THAT(data.Matches("origin", "*").status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"--config_key=origin", "--validation_data"}));
  EXPECT_THAT(data.Matches("config_type", "none*").status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"none*", "atom, crystal"}));
  options.config_key = "nothing";
  EXPECT_THAT(AtomicData::Read(files, options)->Matches("nothing", "a").status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"none has that key", "--validation_data"}));
  options.config_key = "origin";
  EXPECT_THAT(*AtomicData::Read(files, options)->Matches("origin", "h*"), ElementsAre(true, false));
}

// What gives the atomic energies is not judged by energies from which none are subtracted.
TEST(AtomicInputsTest, FiltersLeaveIsolatedAtoms) {
  AtomicDataOptions options;
  options.default_descriptor = Chebyshev();
  const std::string path =
      Write("references.extxyz",
            "1\nProperties=species:S:1:pos:R:3 energy=-1 config_type=isolatedatom\nTi 0 0 0\n"
            "2\nProperties=species:S:1:pos:R:3 energy=-20\nTi 0 0 0\nTi 0 0 2\n"
            "1\nProperties=species:S:1:pos:R:3 energy=-2 config_type=other\nTi 0 0 0\n"
            "2\nProperties=species:S:1:pos:R:3 energy=-4 config_type=IsolatedAtom\nTi 0 0 0\nTi 0 0 2\n");
  options.max_energy = -5;
  const auto data = AtomicData::Read({path}, options);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->num_structures(), 2);
  EXPECT_EQ(data->number(0), 0);
  EXPECT_EQ(data->number(1), 1);
  EXPECT_EQ(data->num_filtered(), 2);
}

}  // namespace
}  // namespace rutile
