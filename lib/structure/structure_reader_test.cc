#include "lib/structure/structure_reader.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/structure/read_text.h"
#include "lib/structure/structure.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

constexpr char kFolder[] = "testdata/structure/";

StructureReaderOptions Options() {
  StructureReaderOptions options;
  options.runner_units = RunnerUnits::kAngstromEv;
  return options;
}

// Returns the frames until the end or an error, which goes to `error`.
std::vector<Structure> ReadFile(const std::string& path, std::string* error) {
  std::vector<Structure> frames;
  auto reader = StructureReader::Open(path, Options());
  *error = std::string(reader.status().message());
  if (!reader.ok()) return frames;
  Structure structure;
  while (true) {
    const auto more = (*reader)->Next(&structure);
    *error = std::string(more.status().message());
    if (!more.ok() || !*more) return frames;
    frames.push_back(structure);
  }
}

std::vector<Structure> ReadFile(const std::string& path) {
  std::string error;
  std::vector<Structure> frames = ReadFile(path, &error);
  EXPECT_EQ(error, "");
  return frames;
}

TEST(StructureReaderTest, WarnsOfUnitsThatDoNotCount) {
  std::vector<std::string> warnings;
  StructureReaderOptions options = Options();
  options.on_warning = [&](const std::string& message) { warnings.push_back(message); };
  const std::string crystal = absl::StrCat(kFolder, "crystal.xsf");
  ASSERT_TRUE(StructureReader::Open(crystal, options).ok());
  EXPECT_THAT(warnings, ElementsAre(crystal + ": is not of RuNNer's format, which alone --runner_units is about: " +
                                    "lengths are taken as Angstrom, energies as eV"));
  ASSERT_TRUE(StructureReader::Open(absl::StrCat(kFolder, "input.data"), options).ok());
  options.runner_units = RunnerUnits::kUnknown;
  ASSERT_TRUE(StructureReader::Open(crystal, options).ok());
  EXPECT_EQ(warnings.size(), 1);
}

TEST(StructureReaderTest, Samples) {
  const std::vector<Structure> crystal = ReadFile(absl::StrCat(kFolder, "crystal.xsf"));
  ASSERT_EQ(crystal.size(), 1);
  EXPECT_EQ(crystal[0].name, "testdata/structure/crystal.xsf");
  EXPECT_THAT(crystal[0].force, ElementsAre(0.01, -0.02, 0.03, 0, 0.1, -0.5, -0.01, -0.08, 0.47));
  EXPECT_EQ(crystal[0].info.at("config_type"), "anatase");

  const std::vector<Structure> molecule = ReadFile(absl::StrCat(kFolder, "molecule.xsf"));
  ASSERT_EQ(molecule.size(), 1);
  EXPECT_THAT(molecule[0].element, ElementsAre(8, 1, 1));

  const std::vector<Structure> animation = ReadFile(absl::StrCat(kFolder, "slab_animation.xsf"));
  ASSERT_EQ(animation.size(), 2);
  EXPECT_EQ(animation[1].energy, -3.1);
  EXPECT_THAT(animation[1].pbc, ElementsAre(true, true, false));

  const std::vector<Structure> frames = ReadFile(absl::StrCat(kFolder, "frames.extxyz"));
  ASSERT_EQ(frames.size(), 4);
  EXPECT_EQ(frames[0].name, "testdata/structure/frames.extxyz#0");
  EXPECT_EQ(frames[0].position[3], 1.12345678901234567);
  EXPECT_EQ(frames[0].info.at("note"), "two \"words\"");
  EXPECT_EQ(frames[1].energy, -1.5);
  EXPECT_THAT(frames[1].element, ElementsAre(6));
  EXPECT_THAT(frames[1].force, ElementsAre(1e-3, 0, 0));
  EXPECT_EQ(frames[2].info.at("comment"), "water");
  EXPECT_EQ(frames[3].energy, 4);
  EXPECT_FALSE(frames[3].stress.has_value());
  EXPECT_EQ(frames[3].info.at("_json"), "{\"a\": [1, 2]}");

  const std::vector<Structure> zipped = ReadFile(absl::StrCat(kFolder, "frames.extxyz.gz"));
  ASSERT_EQ(zipped.size(), 4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(zipped[i].name, absl::StrCat("testdata/structure/frames.extxyz.gz#", i));
    EXPECT_EQ(zipped[i].position, frames[i].position);
    EXPECT_EQ(zipped[i].info, frames[i].info);
  }

  EXPECT_EQ(ReadFile(absl::StrCat(kFolder, "crlf_no_last_line_end.extxyz"))[0].info.at("split"), "test");

  const std::vector<Structure> runner = ReadFile(absl::StrCat(kFolder, "input.data"));
  ASSERT_EQ(runner.size(), 2);
  EXPECT_EQ(runner[0].info.at("comment"), "rock salt, strained");
}

TEST(StructureReaderTest, BadSamples) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"bad_truncated_row.extxyz", ":4: 3 columns in row 2 of 2, expected 4 (species:S:1:pos:R:3)"},
      {"bad_nan.extxyz", ":2: Lattice: 'nan' is not finite, expected 9 numbers in Angstrom"},
      {"bad_count.extxyz", ":3: the file ends after 1 of the 900000000 atoms that line 1 states"},
      {"bad_singular_cell.xsf", ":3: the cell is singular"},
      {"bad_no_primvec.xsf", ":2: PRIMCOORD without PRIMVEC before it"},
      {"bad_element.xsf", ":2: 'Xx' is not an element in row 1 of ATOMS"},
      {"bad_cut_off.data", ":2: the file ends within the structure that begins in line 1"},
      {"bad_tensor_file.safetensors", ": is a tensor file (safetensors), expected structures as XSF"},
      {"bad_cut_off.extxyz.gz", ": the gzip data end too early"},
      {"bad_empty", ": is empty, expected structures as XSF"},
  };
  for (const auto& [file, message] : cases) {
    std::string error;
    ReadFile(absl::StrCat(kFolder, file), &error);
    EXPECT_THAT(error, StartsWith(absl::StrCat(kFolder, file, message)));
  }
}

// Reads one structure from both formats, as other programs wrote it.
TEST(StructureReaderTest, XsfEqualsExtxyz) {
  const std::vector<Structure> all = ReadFile("data/tio2-pbe/tio2-pbe.extxyz");
  ASSERT_EQ(all.size(), 403);
  const std::vector<Structure> xsf = ReadFile("testdata/potential/tio2_pbe_00000.xsf");
  ASSERT_EQ(xsf.size(), 1);
  EXPECT_EQ(xsf[0].element, all[0].element);
  EXPECT_EQ(xsf[0].position, all[0].position);
  EXPECT_EQ(xsf[0].force, all[0].force);
  EXPECT_EQ(xsf[0].cell, all[0].cell);
  EXPECT_EQ(xsf[0].energy, all[0].energy);
  for (const Structure& s : all) {
    EXPECT_TRUE(s.energy.has_value() && s.stress.has_value() && s.force.size() == 3 * s.element.size());
  }
}

TEST(StructureReaderTest, FormatIsToldByContent) {
  EXPECT_EQ(Frame("# a comment\n\n  \n#\nATOMS\nH 0 0 0\n").size(), 1);
  EXPECT_EQ(Frame("#" + std::string(100000, 'x') + "\nATOMS\nH 0 0 0\n").size(), 1);
  EXPECT_EQ(Frame("\r\n\r\n1\r\n\r\nH 0 0 0\r\n").size(), 1);
  EXPECT_EQ(Frame("\xEF\xBB\xBF"
                  "1\n\nH 0 0 0\n")
                .size(),
            1);
  EXPECT_EQ(Frame("# by n2p2\nbegin\r\natom 0 0 0 H 0 0 0 0 0\nend\n", Options()).size(), 1);
}

TEST(StructureReaderTest, WhatIsNoStructureFile) {
  using namespace std::string_literals;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "f: is empty, expected structures as XSF, extended XYZ"},
      {"\n \n# x\n", "f: holds nothing but blanks and comments"},
      {"hello world\n", "f: begins with 'hello'"},
      {"3.5\n", "f: begins with '3.5'"},
      {"\x7f"
       "ELF\x02\0\0\0"s,
       "f: is not text"},
      {"\4\0\0\0\2\0\0\0\4\0\0\0\x0c\0\0\0"s,
       "f: is a binary file of Fortran, as aenet's networks (.nn) and training sets (.train), which is not read"},
      {"\x10\0\0\0\0\0\0\0{\"a\":1}        "s, "f: is a tensor file (safetensors)"},
      {"BZh91AY&SY", "f: is compressed with bzip2, expected text or gzip; decompress it first: \"bzip2 -dc f"},
      {"\xFD"
       "7zXZ\0"s,
       "f: is compressed with xz"},
      {"\x28\xB5\x2F\xFD"
       "abc",
       "f: is compressed with zstd"},
      {"PK\x03\x04", "f: is a zip archive"},
      {"\x89HDF\r\n\x1a\n", "f: is an HDF5 file"},
      {"a.xsf" + std::string(252, '\0') + "ustar", "f: is a tar archive"},
      {"\x1f\x8b", "f: the gzip data end too early"},
  };
  for (const auto& [text, message] : cases) {
    const std::string error = ReadError(text);
    EXPECT_THAT(error, StartsWith(message));
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

TEST(StructureReaderTest, PathErrors) {
  EXPECT_EQ(StructureReader::Open("no/such/file").status().code(), absl::StatusCode::kNotFound);
  const auto folder = StructureReader::Open("testdata/structure");
  EXPECT_THAT(folder, ErrorNames(absl::StatusCode::kInvalidArgument, {"testdata/structure", "directory"}));
}

// Each sample, cut off at each byte, gives an error or fewer frames, and never a crash.
TEST(StructureReaderTest, CutOffAnywhere) {
  for (const char* file : {"crystal.xsf", "slab_animation.xsf", "frames.extxyz", "frames.extxyz.gz", "input.data"}) {
    const auto contents = FileContents::Open(absl::StrCat(kFolder, file));
    ASSERT_TRUE(contents.ok());
    const size_t whole = ReadText(std::string(contents->data()), Options()).frames.size();
    for (size_t size = 0; size < contents->data().size(); ++size) {
      const ReadText read(std::string(contents->data().substr(0, size)), Options());
      EXPECT_LE(read.frames.size(), whole);
    }
  }
}

}  // namespace
}  // namespace rutile
