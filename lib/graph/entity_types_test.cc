#include "lib/graph/entity_types.h"

#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// 0 is a Gene and a Protein, 1 has no type, 2 is a Drug, 3 is a Gene.
EntityTypes FourEntities() {
  EntityTypesBuilder builder;
  builder.Add(3, "Gene");
  builder.Add(0, "Protein");
  builder.Add(2, "Drug");
  builder.Add(0, "Gene");
  builder.Add(3, "Gene");
  return builder.Build(4);
}

TEST(EntityTypesTest, SortsWhatWasAddedInAnyOrder) {
  const EntityTypes types = FourEntities();
  EXPECT_THAT(types.names, ElementsAre("Drug", "Gene", "Protein"));
  EXPECT_THAT(types.Of(0), ElementsAre(1, 2));
  EXPECT_THAT(types.Of(1), IsEmpty());
  EXPECT_THAT(types.Of(2), ElementsAre(0));
  EXPECT_THAT(types.Of(3), ElementsAre(1));
  EXPECT_THAT(types.Counts(), ElementsAre(1, 2, 1));
  EXPECT_EQ(types.Find("Gene"), 1);
  EXPECT_EQ(types.Find("Gen"), Vocabulary::kUnknown);
  EXPECT_EQ(types.Find("Zebra"), Vocabulary::kUnknown);
  EXPECT_TRUE(CheckEntityTypes(types, 4).ok());
}

TEST(EntityTypesTest, NoTypesAreEmpty) {
  const EntityTypes types = EntityTypesBuilder().Build(3);
  EXPECT_TRUE(types.empty());
  EXPECT_TRUE(CheckEntityTypes(types, 3).ok());
  EXPECT_THAT(types.Of(2), IsEmpty());
  EXPECT_EQ(types.Find("Gene"), Vocabulary::kUnknown);
  NamedTensors tensors;
  SetEntityTypes(types, &tensors);
  EXPECT_FALSE(tensors.Has("entity_type_names"));
}

TEST(EntityTypesTest, RenumberingKeepsTheTypesOfEachEntity) {
  const EntityTypes types = RenumberEntityTypes(FourEntities(), {2, -1, -1, 0}, 3);
  EXPECT_THAT(types.names, ElementsAre("Gene", "Protein"));  // no entity is a Drug any more
  EXPECT_THAT(types.Of(0), ElementsAre(0));
  EXPECT_THAT(types.Of(1), IsEmpty());
  EXPECT_THAT(types.Of(2), ElementsAre(0, 1));
  EXPECT_TRUE(CheckEntityTypes(types, 3).ok());
  EXPECT_TRUE(RenumberEntityTypes(FourEntities(), {-1, 0, -1, -1}, 1).empty());
  EXPECT_TRUE(RenumberEntityTypes({}, {1, 0}, 2).empty());
}

TEST(EntityTypesTest, WhatIsRefused) {
  const auto expect = [](const std::string& fact, const std::function<void(EntityTypes*)>& spoil) {
    EntityTypes types = FourEntities();
    spoil(&types);
    EXPECT_THAT(CheckEntityTypes(types, 4), ErrorNames(absl::StatusCode::kInvalidArgument, {fact}));
  };
  expect("have no names", [](auto* types) { types->names.clear(); });
  expect("entity type 0 has an empty name", [](auto* types) { types->names[0] = ""; });
  expect("\"Gene\\n\" holds a line end", [](auto* types) { types->names[1] = "Gene\n"; });
  expect("is not UTF-8", [](auto* types) { types->names[2] = "\xff"; });
  expect("entity type 1, \"Drug\", is not behind \"Drug\"", [](auto* types) { types->names[1] = "Drug"; });
  expect("4 entries of entity_type_begin for 4 entities", [](auto* types) { types->begin.pop_back(); });
  expect("entity_type_begin does not ascend from 0 to 4", [](auto* types) { types->begin[4] = 5; });
  expect("entity_type_begin does not ascend from 0 to 4", [](auto* types) { types->begin[1] = -1; });
  expect("entity 2 has the type 3, which is not one of 0 .. 2", [](auto* types) { types->type[2] = 3; });
  expect("the types of entity 0 do not ascend", [](auto* types) { types->type[1] = 1; });
  expect("no entity has the type \"Drug\"", [](auto* types) { types->type[2] = 1; });
}

TEST(EntityTypesTest, FilesHoldAllOfItOrNothing) {
  const std::string path = ::testing::TempDir() + "/types.safetensors";
  NamedTensors tensors;
  tensors.Set("other", Tensor::Zeros(DType::kF32, {1}));
  ASSERT_TRUE(WriteTensorFile(path, {}, tensors).ok());
  EXPECT_TRUE(EntityTypesFromFile(*ReadTensorFile(path), 4)->empty());
  SetEntityTypes(FourEntities(), &tensors);
  ASSERT_TRUE(WriteTensorFile(path, {}, tensors).ok());
  const TensorFile file = *ReadTensorFile(path);
  EXPECT_EQ(*EntityTypesFromFile(file, 4), FourEntities());
  EXPECT_THAT(EntityTypesFromFile(file, 5).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {path, "5 entries", "5 entities"}));
  NamedTensors part;
  part.Set("entity_type", tensors.At("entity_type"));
  ASSERT_TRUE(WriteTensorFile(path, {}, part).ok());
  EXPECT_THAT(EntityTypesFromFile(*ReadTensorFile(path), 4).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {path, "entity_type_names", "\"entity_type\""}));
}

}  // namespace
}  // namespace rutile
