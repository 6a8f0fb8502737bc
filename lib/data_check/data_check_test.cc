#include "lib/data_check/data_check.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/structure/structure_reader.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A TiO2-like structure: number i differs a little from its neighbors. E = -800 eV per atom and some.
Structure Frame(int i) {
  Structure s;
  s.name = absl::StrCat("s#", i);
  s.element = {22, 8, 8};
  s.cell = {4, 0, 0, 0, 4, 0, 0, 0, 5};
  s.pbc = {true, true, true};
  const double shift = 0.7 * std::sin(i);  // along z, where forces are 0 and do no work
  s.position = {0, 0, 0, 2, 0, shift, 0, 2, 2.5 + shift};
  s.energy = -2400 + 0.3 * std::cos(2 * i);
  s.force = {1, 0, 0, -1, 0, 0, 0, 0.1 * i, 0};
  return s;
}

std::vector<Structure> Frames(int count = 12) {
  std::vector<Structure> frames;
  for (int i = 0; i < count; ++i) frames.push_back(Frame(i));
  return frames;
}

std::vector<DataFinding> Check(const std::vector<Structure>& frames, DataCheckOptions options = {}) {
  DataChecker checker(std::move(options));
  for (const Structure& frame : frames) checker.Add(frame);
  return checker.Finish().findings;
}

// The messages of all findings, one a line.
std::string Messages(const std::vector<DataFinding>& findings) {
  return absl::StrJoin(findings, "\n",
                       [](std::string* out, const DataFinding& finding) { out->append(finding.Message()); });
}

TEST(DataCheckTest, NothingIsFoundInPlausibleData) {
  EXPECT_EQ(Messages(Check(Frames())), "");
  EXPECT_EQ(Messages(Check({})), "");
  EXPECT_EQ(Messages(Check({Frame(0)})), "");
}

// Real data, from a plane-wave code, with strained and rattled cells of four polymorphs.
TEST(DataCheckTest, NothingIsFoundInTio2) {
  auto reader = StructureReader::Open("data/tio2-pbe/tio2-pbe.extxyz");
  ASSERT_TRUE(reader.ok()) << reader.status();
  DataChecker checker({});
  Structure structure;
  while ((*reader)->Next(&structure).value()) checker.Add(structure);
  const DataCheckResult result = checker.Finish();
  EXPECT_EQ(result.frames.size(), 403);
  EXPECT_EQ(Messages(result.findings), "");
}

TEST(DataCheckTest, NearAtoms) {
  std::vector<Structure> frames = Frames();
  frames[3].position[3] = 0.6;
  const std::vector<DataFinding> findings = Check(frames);
  ASSERT_EQ(findings.size(), 1) << Messages(findings);
  EXPECT_EQ(findings[0].check, "distance");
  EXPECT_THAT(findings[0].frames, ElementsAre(3));
  EXPECT_THAT(findings[0].Message(), AllOf(HasSubstr("1 of 12 structures"), HasSubstr("Ti and O at"), HasSubstr("s#3"),
                                           HasSubstr("Angstrom")));
}

TEST(DataCheckTest, FractionalCoordinates) {
  std::vector<Structure> frames = Frames();
  for (Structure& s : frames) {
    for (int c = 0; c < 9; ++c) s.position[c] /= 5;
    for (double& x : s.position) x = std::abs(x);
  }
  const std::string text = Messages(Check(frames));
  EXPECT_THAT(text, AllOf(HasSubstr("12 of 12 structures"), HasSubstr("between 0 and 1"), HasSubstr("fractional"),
                          HasSubstr("s#0, s#1, s#2 and 9 more")));
}

TEST(DataCheckTest, LengthsInBohr) {
  std::vector<Structure> frames = Frames();
  for (Structure& s : frames) {
    for (double& x : s.position) x *= 1.8897;
    for (double& x : s.cell) x *= 1.8897;
  }
  EXPECT_THAT(Messages(Check(frames)), AllOf(HasSubstr("(distance)"), HasSubstr("Bohr")));
  for (Structure& s : frames) s.element = {18, 18, 18};
  EXPECT_THAT(Messages(Check(frames)), Not(HasSubstr("Bohr"))) << "argon does not bind";
}

// ASE's get_forces() gives zero for atoms that FixAtoms holds: of some structures of a set, half of the real data.
TEST(DataCheckTest, ForcesThatConstraintsSetToZero) {
  auto reader = StructureReader::Open("data/tio2-pbe/tio2-pbe.extxyz");
  ASSERT_TRUE(reader.ok()) << reader.status();
  DataChecker checker({});
  Structure structure;
  for (int i = 0; (*reader)->Next(&structure).value(); ++i) {
    const size_t fixed = i % 2 == 0 ? 0 : structure.size() / 2;
    std::fill_n(structure.force.begin(), 3 * fixed, 0);
    checker.Add(structure);
  }
  const std::vector<DataFinding> findings = checker.Finish().findings;
  ASSERT_EQ(findings.size(), 1) << Messages(findings);
  EXPECT_EQ(findings[0].check, "zero force");
  EXPECT_GT(findings[0].frames.size(), 180) << "all of 201 but symmetric ones";
  for (const int64_t frame : findings[0].frames) EXPECT_EQ(frame % 2, 1);
  EXPECT_THAT(findings[0].Message(), AllOf(HasSubstr("of 403 structures"), HasSubstr("apply_constraint=False")));
}

TEST(DataCheckTest, FewOrSmallForcesBesideZerosAreNothing) {
  std::vector<Structure> frames = Frames();
  for (Structure& s : frames) s.force = {0, 0, 0, 0.04, 0, 0, -0.04, 0, 0};
  EXPECT_EQ(Messages(Check(frames)), "") << "rounded";
  for (Structure& s : frames) s.force = {0, 0, 0, 0.06, 0, 0, -0.06, 0, 0};
  EXPECT_THAT(Messages(Check(frames)), HasSubstr("(zero force): 11 of 12 structures have forces of exactly 0 on 11 of "
                                                 "their 33 atoms"))
      << "the first is symmetric";
}

TEST(DataCheckTest, AnEnergyFarOffIsNamedWithItsPart) {
  DataChecker checker({});
  std::vector<Structure> frames = Frames();
  *frames[10].energy += 1000;
  for (int i = 0; i < 12; ++i) checker.Add(frames[i], i < 10 ? DataPart::kTrain : DataPart::kValidation);
  const std::vector<DataFinding> findings = checker.Finish().findings;
  ASSERT_EQ(findings.size(), 1) << Messages(findings);
  EXPECT_THAT(findings[0].frames, ElementsAre(10));
  EXPECT_THAT(findings[0].Message(), AllOf(HasSubstr("s#10 (validation)"), HasSubstr("333."), HasSubstr("above"),
                                           HasSubstr("1 of 12"), HasSubstr("--max_energy")));
}

TEST(DataCheckTest, TotalEnergiesInAnotherUnit) {
  std::vector<Structure> frames = Frames();
  // Water, all electrons: -76.4 Hartree.
  for (size_t i = 0; i < frames.size(); ++i) {
    frames[i].element = {8, 1, 1};
    frames[i].position = {0, 0, 0, 0.96, 0, 0, -0.24, 0.93, 0.01 * i};
    frames[i].energy = -76.4 + 0.001 * i;
  }
  EXPECT_THAT(Messages(Check(frames)), AllOf(HasSubstr("Hartree"), HasSubstr("27.2114")));
  for (Structure& s : frames) *s.energy *= 627.509;
  EXPECT_THAT(Messages(Check(frames)), HasSubstr("kcal/mol"));
  for (Structure& s : frames) *s.energy *= 27.2114 / 627.509;
  EXPECT_EQ(Messages(Check(frames)), "");
}

TEST(DataCheckTest, AtomicEnergiesThatDoNotFit) {
  EXPECT_EQ(Messages(Check(Frames(), {{{8, -795}, {22, -790}}})), "");
  EXPECT_THAT(Messages(Check(Frames(), {{{8, -432}, {22, -58}}})),
              AllOf(HasSubstr("(atomic energy)"), HasSubstr("atomic energies must be")));
  EXPECT_EQ(Messages(Check(Frames(), {{{8, -432}}})), "") << "without one of them nothing is known";
  // Isolated atoms in the data.
  std::vector<Structure> frames = Frames();
  for (const uint8_t element : {8, 22}) {
    Structure atom;
    atom.name = "atom";
    atom.element = {element};
    atom.position = {0, 0, 0};
    atom.force = {0, 0, 0};
    atom.energy = -900;
    frames.push_back(atom);
  }
  EXPECT_THAT(Messages(Check(frames)), HasSubstr("isolated atoms"));
  // Of several the lowest counts, as in train; one in a small cell says what it is.
  std::vector<Structure> others(frames.end() - 2, frames.end());
  for (Structure& atom : others) {
    atom.energy = -792;
    atom.cell = {4, 0, 0, 0, 4, 0, 0, 0, 4};
    atom.pbc = {true, true, true};
    atom.info["config_type"] = "IsolatedAtom";
  }
  for (size_t last : {1, 2}) frames[frames.size() - last].energy = -500;
  frames.insert(frames.begin(), others.begin(), others.end());
  EXPECT_EQ(Messages(Check(frames)), "");
}

TEST(DataCheckTest, SizesOfForcesAndStresses) {
  std::vector<Structure> frames = Frames();
  for (double& f : frames[4].force) f *= 1000;
  std::vector<DataFinding> findings = Check(frames);
  ASSERT_EQ(findings.size(), 1) << Messages(findings);
  EXPECT_THAT(findings[0].Message(), AllOf(HasSubstr("(force)"), HasSubstr("s#4"), HasSubstr("--max_forces")));
  for (Structure& s : frames) {
    for (double& f : s.force) f *= 51.4;
  }
  EXPECT_THAT(Messages(Check(frames)), HasSubstr("are forces in eV/Angstrom"));
  frames = Frames();
  for (Structure& s : frames) s.stress = Matrix3{50, 0, 0, 0, 40, 0, 0, 0, 30};
  EXPECT_THAT(Messages(Check(frames)), AllOf(HasSubstr("(stress)"), HasSubstr("kbar"), HasSubstr("tension")));
}

TEST(DataCheckTest, ForcesOfTheWrongSign) {
  // Springs of 5 eV/Angstrom^2 on one atom; the others have forces that do no work worth mentioning.
  std::vector<Structure> frames;
  for (int i = 0; i < 8; ++i) {
    Structure s = Frame(0);
    s.name = absl::StrCat("s#", i);
    const double u = 0.05 * (i - 3.3);
    s.position[2] = u;
    s.energy = -2400 + 2.5 * u * u;
    s.force = {0, 0, 5 * u, 0, 1e-9, 0, 0, 1e-9, 0};
    frames.push_back(s);
  }
  EXPECT_THAT(Messages(Check(frames)), AllOf(HasSubstr("(work)"), HasSubstr("wrong sign"), HasSubstr("-dE/dr")));
  for (Structure& s : frames) s.force[2] *= -1;
  EXPECT_EQ(Messages(Check(frames)), "");
}

TEST(DataCheckTest, LabelsThatSomeStructuresLack) {
  std::vector<Structure> frames = Frames();
  for (int i = 0; i < 5; ++i) frames[i].force.clear();
  frames[1].energy.reset();
  frames[2].stress = Matrix3{};
  EXPECT_THAT(Messages(Check(frames)), AllOf(HasSubstr("5 of 12 structures have no forces: s#0, s#1, s#2 and 2 more"),
                                             HasSubstr("1 of 12 structures have no energy: s#1"),
                                             HasSubstr("11 of 12 structures have no stress")));
  DataCheckOptions options;
  options.energy_coverage = options.force_coverage = options.stress_coverage = false;
  EXPECT_EQ(Messages(Check(frames, options)), "");
}

TEST(DataCheckTest, LabelsOfDifferentNames) {
  std::vector<Structure> frames = Frames();
  for (int i = 0; i < 12; ++i) frames[i].energy_key = i < 4 ? "energy" : "REF_energy";
  EXPECT_THAT(Messages(Check(frames)), AllOf(HasSubstr("energy in 4 structures (s#0)"),
                                             HasSubstr("REF_energy in 8 structures (s#4)"), HasSubstr("--energy_key")));
}

TEST(DataCheckTest, Duplicates) {
  std::vector<Structure> frames = Frames();
  for (int i = 0; i < 3; ++i) frames.push_back(frames[i]);
  frames.back().name = "copy";
  EXPECT_THAT(Messages(Check(frames)), AllOf(HasSubstr("3 of 15 structures repeat others exactly, as s#0 repeats s#0"),
                                             Not(HasSubstr("another set"))));
  *frames.back().energy += 0.1;
  EXPECT_THAT(Messages(Check(frames)),
              HasSubstr("1 of 15 structures repeat others, but with another energy: copy has"));
}

TEST(DataCheckTest, DuplicatesAcrossASplit) {
  DataChecker checker({});
  for (const Structure& s : Frames()) checker.Add(s, DataPart::kTrain);
  checker.Add(Frame(3), DataPart::kTrain);
  checker.Add(Frame(5), DataPart::kTest);
  EXPECT_THAT(Messages(checker.Finish().findings),
              AllOf(HasSubstr("2 of 14 structures repeat others"),
                    HasSubstr("1 of them are in another set than their originals: s#5 (test)"),
                    HasSubstr("--validation_data")));
}

TEST(DataCheckTest, EachCopyIsComparedWithTheOtherSets) {
  // A copy within a set does not hide the one in another set, whatever their order.
  DataChecker checker({});
  checker.Add(Frame(3), DataPart::kTest);
  checker.Add(Frame(3), DataPart::kTrain);
  checker.Add(Frame(3), DataPart::kTrain);
  EXPECT_THAT(Messages(checker.Finish().findings),
              AllOf(HasSubstr("2 of 3 structures repeat others exactly, as s#3 (training) repeats s#3 (test)"),
                    HasSubstr("2 of them are in another set")));
}

TEST(DataCheckTest, OnlyAcrossParts) {
  DataCheckOptions options;
  options.only_across_parts = true;
  std::vector<Structure> frames = Frames();
  frames[2].energy = 1e6;
  frames[4].position[3] = 0.6;
  frames.push_back(frames[1]);
  for (const bool across : {false, true}) {
    DataChecker checker(options);
    for (const Structure& s : frames) checker.Add(s, DataPart::kTrain);
    if (across) checker.Add(Frame(7), DataPart::kValidation);
    const std::string text = Messages(checker.Finish().findings);
    if (!across) {
      EXPECT_EQ(text, "");
      continue;
    }
    EXPECT_THAT(text, StartsWith("data check (duplicate): 1 of 14 structures repeat structures of another set, as s#7 "
                                 "(validation) repeats s#7 (training)"));
    EXPECT_THAT(text, Not(HasSubstr("\n")));
  }
}

// Frames of file `file`, from number `first` on.
std::vector<Structure> FramesOf(const std::string& file, int first, int count) {
  std::vector<Structure> frames;
  for (int i = first; i < first + count; ++i) {
    frames.push_back(Frame(i));
    frames.back().name = absl::StrCat(file, "#", i - first);
  }
  return frames;
}

std::vector<Structure> Joined(std::vector<Structure> a, const std::vector<Structure>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(DataCheckTest, MixedUnitsOfEnergiesNameTheFile) {
  std::vector<Structure> hartree = FramesOf("b.xyz", 20, 8);
  for (Structure& s : hartree) s.energy = *s.energy / 27.2114;
  const std::vector<DataFinding> findings = Check(Joined(FramesOf("a.xyz", 0, 12), hartree));
  const auto found = std::find_if(findings.begin(), findings.end(), [](const auto& f) { return f.check == "mixed"; });
  ASSERT_NE(found, findings.end()) << Messages(findings);
  EXPECT_EQ(found->frames.size(), 8u);
  EXPECT_THAT(found->Message(), AllOf(HasSubstr("8 structures (b.xyz#0"), HasSubstr("all of them in b.xyz"),
                                      HasSubstr("Hartree"), HasSubstr("multiply the former by 27.2114")));
}

TEST(DataCheckTest, TwoReferencesInOneFile) {
  std::vector<Structure> frames = Frames(24);
  for (size_t i = 0; i < frames.size(); i += 3) *frames[i].energy += 3 * 2.0;  // 2 eV per atom
  const std::vector<DataFinding> findings = Check(frames);
  ASSERT_EQ(findings.size(), 1u) << Messages(findings);
  EXPECT_EQ(findings[0].check, "mixed");
  EXPECT_EQ(findings[0].frames.size(), 8u);
  EXPECT_THAT(findings[0].Message(),
              AllOf(HasSubstr("s#0, s#3"), HasSubstr("two programs"), Not(HasSubstr("Hartree"))));
}

// What has one composition and is other matter: a dilute phase, few of them, or a range that is filled.
TEST(DataCheckTest, OtherEnergiesAreNotMixed) {
  std::vector<Structure> dilute = Frames(24);
  for (size_t i = 0; i < dilute.size(); i += 3) {
    *dilute[i].energy += 6;
    for (double& x : dilute[i].cell) x *= 1.3;
  }
  EXPECT_EQ(Messages(Check(dilute)), "");
  std::vector<Structure> few = Frames(24);
  for (int i = 0; i < 4; ++i) *few[i].energy += 6;
  EXPECT_EQ(Messages(Check(few)), "");
  std::vector<Structure> filled = Frames(24);
  for (size_t i = 0; i < filled.size(); ++i) *filled[i].energy += 0.4 * static_cast<double>(i);
  EXPECT_EQ(Messages(Check(filled)), "");
}

// Structures along one coordinate x of one atom in a harmonic well, 10 x^2 eV, in files of 12. factor: of the forces.
std::vector<Structure> Well(const std::string& file, double factor) {
  std::vector<Structure> frames;
  for (int i = 0; i < 12; ++i) {
    Structure s = Frame(1);
    s.name = absl::StrCat(file, "#", i);
    const double x = 0.05 + 0.02 * i;
    s.position[0] = x;
    s.energy = -2400 + 10 * x * x;
    s.force = {-20 * x * factor, 0, 0, 20 * x * factor, 0, 0, 0, 0, 0};
    frames.push_back(s);
  }
  return frames;
}

TEST(DataCheckTest, AFileWithForcesInAnotherUnit) {
  EXPECT_EQ(Messages(Check(Joined(Well("a.xyz", 1), Well("b.xyz", 1)))).find("mixed"), std::string::npos);
  std::vector<Structure> frames = Joined(Well("a.xyz", 1), Well("b.xyz", 1));
  frames = Joined(std::move(frames), Well("c.xyz", 1 / 51.4221));
  const std::string messages = Messages(Check(frames));
  EXPECT_THAT(messages, AllOf(HasSubstr("12 structures (c.xyz#0"), HasSubstr("Hartree/Bohr"), HasSubstr("2 others")));
  // Where all files have it, it is told once, of all.
  EXPECT_EQ(Messages(Check(Joined(Well("a.xyz", 0.02), Well("b.xyz", 0.02)))).find("mixed"), std::string::npos);
}

}  // namespace
}  // namespace rutile
