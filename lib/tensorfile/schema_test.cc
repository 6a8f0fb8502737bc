#include "lib/tensorfile/schema.h"

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using Symbols = std::map<std::string, int64_t>;

Schema TestSchema() {
  Schema schema;
  schema.kind = "atomistic.features/1";
  schema.doc = "Descriptors of every atom.";
  schema.tensors = {
      {"atom_offset", {DType::kI64}, {"S+1"}, true, "atoms of each structure"},
      {"feature", {DType::kF32, DType::kF64}, {"A", "F"}, true, "dimensionless"},
      {"position", {DType::kF64}, {"A", "3"}, false, "Angstrom, x|y|z"},
      {"energy", {DType::kF64}, {"S"}, false, "eV"},
      {"seed", {DType::kI64}, {}, false, "a number"},
  };
  schema.metadata = {{"species", true, "symbols"}, {"comment", false, "anything"}};
  return schema;
}

TensorFile TestFile() {
  TensorFile file;
  file.path = "f.safetensors";
  file.metadata = {{"kind", "atomistic.features/1"}, {"species", "Ti,O"}};
  file.tensors.Set("atom_offset", Tensor::Zeros(DType::kI64, {3}));
  file.tensors.Set("feature", Tensor::Zeros(DType::kF32, {10, 4}));
  file.tensors.Set("position", Tensor::Zeros(DType::kF64, {10, 3}));
  file.tensors.Set("energy", Tensor::Zeros(DType::kF64, {2}));
  file.tensors.Set("seed", Tensor::Scalar(int64_t{1}));
  file.tensors.Set("unknown", Tensor::Zeros(DType::kBool, {7}));
  return file;
}

TEST(CheckSchemaTest, GivesTheValueOfEachSymbol) {
  const auto symbols = CheckSchema(TestSchema(), TestFile());
  ASSERT_TRUE(symbols.ok()) << symbols.status();
  EXPECT_EQ(*symbols, (Symbols{{"A", 10}, {"F", 4}, {"S", 2}}));
}

TEST(CheckSchemaTest, OptionalTensorsMayBeAbsentAndAnyListedTypeWillDo) {
  TensorFile file = TestFile();
  file.tensors = NamedTensors();
  file.tensors.Set("feature", Tensor::Zeros(DType::kF64, {0, 4}));
  file.tensors.Set("atom_offset", Tensor::Zeros(DType::kI64, {1}));
  const auto symbols = CheckSchema(TestSchema(), file);
  ASSERT_TRUE(symbols.ok()) << symbols.status();
  EXPECT_EQ(*symbols, (Symbols{{"A", 0}, {"F", 4}, {"S", 0}}));
}

TEST(CheckSchemaTest, Errors) {
  const auto message = [](const TensorFile& file) {
    const auto symbols = CheckSchema(TestSchema(), file);
    EXPECT_EQ(symbols.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(symbols.status().message());
  };
  const auto with = [](const std::string& name, const Tensor& tensor) {
    TensorFile file = TestFile();
    file.tensors.Set(name, tensor);
    return file;
  };
  EXPECT_EQ(message(with("feature", Tensor::Zeros(DType::kI32, {10, 4}))),
            "f.safetensors: tensor \"feature\" is I32 [10,4], expected F32 or F64 [A,F] (another type)");
  EXPECT_EQ(message(with("feature", Tensor::Zeros(DType::kF32, {40}))),
            "f.safetensors: tensor \"feature\" is F32 [40], expected F32 or F64 [A,F] (another number of dimensions)");
  EXPECT_EQ(message(with("position", Tensor::Zeros(DType::kF64, {9, 3}))),
            "f.safetensors: tensor \"position\" is F64 [9,3], expected F64 [A,3] where A = 10 as in \"feature\"");
  EXPECT_EQ(message(with("position", Tensor::Zeros(DType::kF64, {10, 2}))),
            "f.safetensors: tensor \"position\" is F64 [10,2], expected F64 [A,3] (2 is not 3)");
  EXPECT_EQ(message(with("energy", Tensor::Zeros(DType::kF64, {3}))),
            "f.safetensors: tensor \"energy\" is F64 [3], expected F64 [S] where S = 2 as in \"atom_offset\"");
  EXPECT_EQ(message(with("atom_offset", Tensor::Zeros(DType::kI64, {0}))),
            "f.safetensors: tensor \"atom_offset\" is I64 [0], expected I64 [S+1] (0 is too small for S+1)");
  TensorFile file = TestFile();
  file.metadata.erase("species");
  EXPECT_EQ(message(file), "f.safetensors: its metadata has no \"species\", which atomistic.features/1 needs: symbols");
  file = TestFile();
  file.tensors = NamedTensors();
  EXPECT_EQ(message(file), "f.safetensors: has no tensor \"atom_offset\", expected I64 [S+1]: atoms of each structure");
  file.metadata["kind"] = "potential/1";
  EXPECT_EQ(message(file),
            "f.safetensors: is a file of kind potential/1, expected atomistic.features/1; make one with featurize");
  file.metadata["kind"] = "atomistic.features/2";
  EXPECT_THAT(message(file), ErrorNames({"f.safetensors", "atomistic.features/2", "newer rutile"}));
}

TEST(CheckSchemaDeathTest, ADimensionThatIsNone) {
  Schema schema = TestSchema();
  schema.tensors[0].shape = {"S+x"};
  EXPECT_DEATH(CheckSchema(schema, TestFile()).IgnoreError(), "is no dimension");
}

TEST(SchemaToMarkdownTest, Tables) {
  EXPECT_EQ(SchemaToMarkdown(TestSchema()), R"(## `atomistic.features/1`

Descriptors of every atom.

| tensor | type | shape | content |
|---|---|---|---|
| `atom_offset` | I64 | [S+1] | atoms of each structure |
| `feature` | F32, F64 | [A, F] | dimensionless |
| `position` | F64 | [A, 3] | Optional. Angstrom, x\|y\|z |
| `energy` | F64 | [S] | Optional. eV |
| `seed` | I64 | [] | Optional. a number |

| metadata | content |
|---|---|
| `species` | symbols |
| `comment` | Optional. anything |
)");
  Schema empty;
  empty.kind = "x/1";
  empty.doc = "Nothing.";
  EXPECT_EQ(SchemaToMarkdown(empty), "## `x/1`\n\nNothing.\n");
}

}  // namespace
}  // namespace rutile
