#include "lib/neighbor/structure_file.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/tensorfile/tensor_reader.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Structure Dimer() {
  Structure s;
  s.name = "dimer \xff";  // not UTF-8
  s.element = {22, 8};
  s.position = {0, 0, 0, 0, 0, 1.7};
  s.energy = -12.5;
  return s;
}

std::string HashOf(const std::vector<Structure>& structures) {
  StructureHash hash;
  for (const Structure& s : structures) hash.Add(s.element, s.position, s.cell, s.pbc);
  return hash.HexDigest();
}

TEST(StructureHashTest, ChangesWithGeometryAlone) {
  Structure labels = Dimer();
  labels.energy = 3;
  labels.name = "another";
  labels.force.assign(6, 0.0);
  EXPECT_EQ(HashOf({Dimer()}), HashOf({labels}));

  std::set<std::string> hashes = {HashOf({Dimer()}), HashOf({}), HashOf({Dimer(), Dimer()})};
  Structure element = Dimer();
  element.element[0] = 40;
  hashes.insert(HashOf({element}));
  Structure moved = Dimer();
  moved.position[5] += 1e-15;
  hashes.insert(HashOf({moved}));
  Structure cell = Dimer();
  cell.cell[8] = 5;
  hashes.insert(HashOf({cell}));
  cell.pbc[2] = true;
  hashes.insert(HashOf({cell}));
  EXPECT_EQ(hashes.size(), 7u);
}

TEST(StructureFileTest, OneStructureAfterAnother) {
  const std::string path = ::testing::TempDir() + "/structures.safetensors";
  absl::StatusOr<StructureFileWriter> writer = StructureFileWriter::Create(path, /*weights=*/true);
  ASSERT_TRUE(writer.ok()) << writer.status();
  Structure labeled = Dimer();
  labeled.info["config_type"] = "pair";
  ASSERT_TRUE(writer->Append(Dimer(), {0, 1}, 2.5).ok());
  ASSERT_TRUE(writer->Append(labeled, {0, 1}, 0).ok());
  EXPECT_EQ(writer->num_atoms(), 4);
  ASSERT_TRUE(writer->Finish({{"config_key", "config_type"}}, {{8, -1.5}}).ok());

  StructureFile file;
  file.file = *ReadTensorFile(path);
  ASSERT_TRUE(DecodeStructures({{"S", 2}, {"A", 4}}, {22, 8}, &file).ok());
  EXPECT_THAT(file.names, ElementsAre("dimer \xEF\xBF\xBD", "dimer \xEF\xBF\xBD"));
  EXPECT_THAT(file.config_types, ElementsAre("", "pair"));
  EXPECT_THAT(file.file.tensors.At("weight").values<double>(), ElementsAre(2.5, 0));
  EXPECT_EQ(file.atomic_energies.at(8), -1.5);
  EXPECT_EQ(StructuresSha256(file, {22, 8}), HashOf({Dimer(), Dimer()}));
  // Files of version 0.1 record no hash, so it is computed.
  file.file.metadata.erase("structures_sha256");
  EXPECT_EQ(StructuresSha256(file, {22, 8}), HashOf({Dimer(), Dimer()}));
  EXPECT_NE(StructuresSha256(file, {8, 22}), HashOf({Dimer(), Dimer()}));
}

TEST(StructureFileTest, WhatIsNotAListOfStrings) {
  TensorFile file;
  file.path = "x.safetensors";
  for (const char* text : {"", "{}", "[1]", "[\"a\"", "null"}) {
    file.metadata["names"] = text;
    EXPECT_THAT(ParseStrings(file, "names").status().message(), HasSubstr("x.safetensors: metadata \"names\"")) << text;
  }
}

}  // namespace
}  // namespace rutile
