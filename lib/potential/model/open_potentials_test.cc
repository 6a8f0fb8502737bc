#include "lib/potential/model/open_potentials.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/logging.h"
#include "lib/file/file.h"
#include "lib/mace/mace_file.h"
#include "lib/mace/mace_testing.h"
#include "lib/potential/model/aenet/aenet_file.h"
#include "lib/potential/model/mace_potential.h"
#include "lib/potential/model/potential_testing.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

std::string Path(const std::string& name) { return ::testing::TempDir() + "/" + name; }

// Writes the potential in both forms of aenet, and as a model.
void Write(const std::string& directory, const Potential& potential) {
  ASSERT_TRUE(WriteAenetPotentials(Path(directory), potential).ok());
  ASSERT_TRUE(WritePotential(Path(directory + "/best.safetensors"), potential).ok());
}

class OpenPotentialsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Write("a", SmallTiO2Potential(1));
    Write("b", SmallTiO2Potential(2));
  }
};

TEST_F(OpenPotentialsTest, NetworksOfAllSpeciesAreOneModel) {
  // In any order, and in both forms.
  for (const std::vector<std::string>& paths :
       std::vector<std::vector<std::string>>{{Path("a/Ti.nn"), Path("a/O.nn")},
                                             {Path("a/O.nn"), Path("a/Ti.nn")},
                                             {Path("a/O.nn.ascii"), Path("a/Ti.nn.ascii")},
                                             {Path("a/O.nn"), Path("a/Ti.nn.ascii")}}) {
    const auto opened = OpenPotentials(paths);
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_THAT(opened->names, ElementsAre(absl::StrCat(paths[0], ",", paths[1])));
    ASSERT_EQ(opened->potentials.size(), 1u);
    EXPECT_EQ(opened->potentials[0].parameters.ToDoubles(), SmallTiO2Potential(1).parameters.ToDoubles());
    EXPECT_EQ(opened->potentials[0].atomic_energies, SmallTiO2Potential(1).atomic_energies);
  }
}

TEST_F(OpenPotentialsTest, CommitteesMayMixForms) {
  const auto opened = OpenPotentials(
      {Path("a/Ti.nn"), Path("a/O.nn"), Path("b/best.safetensors"), Path("b/O.nn.ascii"), Path("b/Ti.nn.ascii")});
  ASSERT_TRUE(opened.ok()) << opened.status();
  ASSERT_EQ(opened->potentials.size(), 3u);
  EXPECT_EQ(opened->names[1], Path("b/best.safetensors"));
  EXPECT_EQ(opened->potentials[1].parameters.ToDoubles(), opened->potentials[2].parameters.ToDoubles());
}

TEST_F(OpenPotentialsTest, ContentTellsTheForm) {
  const auto bytes = FileContents::Open(Path("a/Ti.nn"));
  ASSERT_TRUE(WriteFileAtomically(Path("titanium.model"), bytes->data()).ok());
  EXPECT_TRUE(OpenPotentials({Path("titanium.model"), Path("a/O.nn")}).ok());
  ASSERT_TRUE(WritePotential(Path("renamed.nn"), SmallTiO2Potential(1)).ok());
  EXPECT_TRUE(OpenPotentials({Path("renamed.nn")}).ok());
}

TEST_F(OpenPotentialsTest, NamesTheSpeciesThatIsMissing) {
  EXPECT_THAT(OpenPotentials({Path("a/Ti.nn")}), ErrorNames(kInvalid, {Path("a/Ti.nn"), "none of O"}));
  EXPECT_THAT(OpenPotentials({Path("a/O.nn"), Path("b/best.safetensors")}),
              ErrorNames(kInvalid, {Path("a/O.nn"), "none of Ti"}));
  EXPECT_THAT(
      OpenPotentials({Path("a/Ti.nn"), Path("a/Ti.nn.ascii"), Path("a/O.nn")}),
      ErrorNames(kInvalid, {Path("a/Ti.nn.ascii"), "second network of Ti", Path("a/Ti.nn"), "before one of O"}));
}

TEST_F(OpenPotentialsTest, ReadPotentialPointsToTheRest) {
  EXPECT_THAT(ReadPotential(Path("a/Ti.nn")),
              ErrorNames(kInvalid, {Path("a/Ti.nn"), "network of aenet", "best.safetensors"}));
}

TEST_F(OpenPotentialsTest, RefusesFilesOfOtherProgramsByName) {
  const std::vector<std::vector<std::string>> cases = {
      {"TiO2.train", "training set of aenet", "XSF"},
      {"Ti.fingerprint.stp", "setup of aenet", "--fingerprints"},
      {"weights.022.data", "n2p2"},
      {"input.nn", "settings of n2p2"},
      {"scaling.data", "n2p2"},
      {"fitted.mtp", "MLIP"},
      {"train.cfg", "MLIP", "extended XYZ"},
      {"tio2.model", "MACE"},
      {"deployed.pth", "NequIP"},
      {"cu.yace", "ACE"},
      {"frozen.pb", "DeePMD"},
      {"W.snapcoeff", "SNAP"},
      {"nep.txt", "NEP"},
      {"Ti.10t-10t.nn", "does not begin like a network of aenet"},
  };
  for (const std::vector<std::string>& c : cases) {
    ASSERT_TRUE(WriteFileAtomically(Path(c[0]), "PK\3\4 of another program\n").ok());
    std::vector<std::string> facts = c;
    facts[0] = Path(c[0]);
    facts.push_back("expected a model of train");
    EXPECT_THAT(OpenPotentials({Path(c[0])}), ErrorNames(kInvalid, facts)) << c[0];
  }
  EXPECT_THAT(OpenPotentials({Path("none.nn")}), ErrorNames(absl::StatusCode::kNotFound, {Path("none.nn")}));
}

TEST_F(OpenPotentialsTest, MaceModelsAreOpenedForUseAlone) {
  const std::string path = Path("mace.safetensors");
  const MaceModel model = RandomMace({{8, 1}, 3, 4, 2, 4, 2, false}, 1);
  ASSERT_TRUE(WriteMace(path, model).ok());
  const OpenedPotentials opened = OpenPotentials({path, Path("a/best.safetensors")}).value();
  ASSERT_EQ(opened.potentials.size(), 2);
  ASSERT_NE(opened.potentials[0].mace, nullptr);
  EXPECT_EQ(opened.potentials[1].mace, nullptr);
  EXPECT_THAT(opened.potentials[0].descriptor.species(), ElementsAre(8, 1));
  EXPECT_EQ(opened.potentials[0].descriptor.cutoff(), 3);
  EXPECT_EQ(opened.potentials[0].atomic_energies, model.atomic_energies);
  EXPECT_EQ(opened.potentials[0].shape.moments.messages, 4);
  EXPECT_EQ(opened.potentials[0].metadata.at("kind"), "mace/1");
  // Programs that train, continue or explain need their own models.
  EXPECT_THAT(ReadPotential(path).status(), ErrorNames(kInvalid, {path, "MACE", "mace-torch", "evaluate"}));
  EXPECT_THAT(RefuseMace(opened.potentials[0], path, "--init_from"),
              ErrorNames(kInvalid, {path, "--init_from", "MACE"}));
  EXPECT_TRUE(RefuseMace(opened.potentials[1], "a", "--init_from").ok());
}

// Returns the potential of a file that arrives through a pipe, `name` or, if it is empty, one without a name.
absl::StatusOr<OpenedPotentials> OpenThroughPipe(const std::string& file, const std::string& name) {
  const std::string bytes(FileContents::Open(file)->data());
  int ends[2] = {-1, -1};
  if (name.empty()) {
    CHECK_EQ(::pipe(ends), 0);
  } else {
    CHECK_EQ(::mkfifo(name.c_str(), 0600), 0);
  }
  std::thread writer([&] {
    const int to = name.empty() ? ends[1] : ::open(name.c_str(), O_WRONLY);
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t n = ::write(to, bytes.data() + done, bytes.size() - done);
      CHECK_GT(n, 0);
      done += n;
    }
    ::close(to);
  });
  absl::StatusOr<OpenedPotentials> opened = OpenPotentials({name.empty() ? absl::StrCat("/dev/fd/", ends[0]) : name});
  writer.join();
  if (name.empty()) ::close(ends[0]);
  return opened;
}

TEST_F(OpenPotentialsTest, ThroughPipes) {
  const std::string mace = Path("piped.safetensors");
  ASSERT_TRUE(WriteMace(mace, RandomMace({{8, 1}, 3, 4, 2, 4, 2, false}, 1)).ok());
  for (const std::string& name : {std::string(), Path("mace.pipe")}) {
    const absl::StatusOr<OpenedPotentials> opened = OpenThroughPipe(mace, name);
    ASSERT_TRUE(opened.ok()) << name << opened.status();
    ASSERT_NE(opened->potentials[0].mace, nullptr) << name;
    EXPECT_EQ(opened->potentials[0].metadata.at("kind"), "mace/1");
  }
  const absl::StatusOr<OpenedPotentials> ours = OpenThroughPipe(Path("a/best.safetensors"), Path("ours.pipe"));
  ASSERT_TRUE(ours.ok()) << ours.status();
  EXPECT_EQ(ours->potentials[0].parameters.ToDoubles(), SmallTiO2Potential(1).parameters.ToDoubles());
  // What is no model is refused as what it is.
  ASSERT_TRUE(WriteFileAtomically(Path("words"), "no model of anything\n").ok());
  EXPECT_THAT(OpenThroughPipe(Path("words"), Path("words.pipe")), ErrorNames(kInvalid, {Path("words.pipe")}));
}

}  // namespace
}  // namespace rutile
