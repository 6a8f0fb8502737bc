#include "lib/evaluation/predictions_file.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "lib/tensorfile/tensor_reader.h"

namespace rutile {
namespace {

TEST(PredictionsFileTest, FollowsItsSchema) {
  const std::string path = ::testing::TempDir() + "/predictions.safetensors";
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ASSERT_TRUE(WritePredictions(path, {{"a#0", "rutile", "Ti2O4", 6, -51.5, -51.25}, {"\xff", "", "O2", 2, nan, -9.0}},
                               {{"tool", "evaluate"}})
                  .ok());
  const absl::StatusOr<TensorFile> file = ReadTensorFile(path);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(CheckSchema(PredictionsSchema(), *file).ok());
  EXPECT_EQ(file->tensors.At("predicted_energy").values<double>()[0], -51.25);
  EXPECT_TRUE(std::isnan(file->tensors.At("reference_energy").values<double>()[1]));
  EXPECT_EQ(file->tensors.At("num_atoms").values<int64_t>()[1], 2);
  EXPECT_EQ(file->metadata.at("compositions"), "[\"Ti2O4\",\"O2\"]");
}

}  // namespace
}  // namespace rutile
