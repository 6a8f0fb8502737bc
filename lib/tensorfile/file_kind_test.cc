#include "lib/tensorfile/file_kind.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

TensorFile FileOfKind(const std::string& kind) {
  TensorFile file;
  file.path = "x.safetensors";
  file.metadata["kind"] = kind;
  return file;
}

TEST(FileKindTest, Parse) {
  const auto kind = ParseFileKind("atomistic.features/12");
  ASSERT_TRUE(kind.ok());
  EXPECT_EQ(kind->name, "atomistic.features");
  EXPECT_EQ(kind->version, 12);
  for (const char* const bad : {"", "/", "/1", "potential", "potential/", "potential/0", "potential/-1", "potential/+1",
                                "potential/1x", "potential/ 1", "potential/99999999999"}) {
    EXPECT_EQ(ParseFileKind(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST(FileKindTest, Get) {
  EXPECT_EQ(GetFileKind(FileOfKind("kge/1"))->name, "kge");
  EXPECT_EQ(GetFileKind(FileOfKind("kge")).status().message(),
            "x.safetensors: \"kge\" is not a kind of file, expected a name and a version like atomistic.features/1");
  TensorFile none;
  none.path = "y";
  EXPECT_EQ(GetFileKind(none).status().message(),
            "y: its metadata has no \"kind\", expected a file that a rutile tool made");
}

TEST(FileKindTest, Check) {
  EXPECT_TRUE(CheckFileKind("potential/2", FileOfKind("potential/2")).ok());
  const auto message = [](const TensorFile& file) {
    return std::string(CheckFileKind("atomistic.features/2", file).message());
  };
  EXPECT_EQ(message(FileOfKind("potential/1")),
            "x.safetensors: is a file of kind potential/1, expected atomistic.features/2; make one with featurize");
  EXPECT_EQ(message(FileOfKind("atomistic.features/3")),
            "x.safetensors: is a file of kind atomistic.features/3, newer than this rutile, which reads "
            "atomistic.features/2; use a newer rutile");
  EXPECT_EQ(message(FileOfKind("atomistic.features/1")),
            "x.safetensors: is a file of kind atomistic.features/1, older than what this rutile reads, "
            "atomistic.features/2; make one with featurize");
  EXPECT_EQ(CheckFileKind("potential/1", FileOfKind("checkpoint/1")).message(),
            "x.safetensors: is a file of kind checkpoint/1, expected potential/1; the models of a run are its "
            "best.safetensors and last.safetensors");
  EXPECT_EQ(CheckFileKind("checkpoint/1", FileOfKind("kge/1")).message(),
            "x.safetensors: is a file of kind kge/1, expected checkpoint/1; those of a run are in its folder "
            "checkpoints");
  EXPECT_THAT(message(FileOfKind("nonsense")), ErrorNames({"x.safetensors", "nonsense", "not a kind of file"}));
  TensorFile none;
  none.path = "y";
  EXPECT_EQ(message(none), "y: its metadata has no \"kind\", expected atomistic.features/2; make one with featurize");
  EXPECT_EQ(CheckFileKind("other/1", none).message(), "y: its metadata has no \"kind\", expected other/1");
}

}  // namespace
}  // namespace rutile
