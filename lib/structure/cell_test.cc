#include "lib/structure/cell.h"

#include <cmath>
#include <limits>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

constexpr double kTolerance = 1e-14;
const Matrix3 kTriclinic = {3.1, 0, 0, 1.4, 2.9, 0, -0.9, 1.1, 3.6};

double Dot(const Matrix3& m, int row, int other) {
  double sum = 0;
  for (int c = 0; c < 3; ++c) sum += m[3 * row + c] * m[3 * other + c];
  return sum;
}

TEST(CellTest, VolumeIsPositiveWhateverTheHandedness) {
  EXPECT_DOUBLE_EQ(CellVolume(kTriclinic), 3.1 * 2.9 * 3.6);
  EXPECT_DOUBLE_EQ(CellVolume({1.4, 2.9, 0, 3.1, 0, 0, -0.9, 1.1, 3.6}), 3.1 * 2.9 * 3.6);
}

TEST(CellTest, InverseTimesCellIsTheIdentity) {
  const Matrix3 inverse = InverseCell(kTriclinic);
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) {
      double sum = 0;
      for (int c = 0; c < 3; ++c) sum += kTriclinic[3 * i + c] * inverse[3 * c + k];
      EXPECT_NEAR(sum, i == k, kTolerance);
    }
  }
}

TEST(CellTest, WidthsAreThoseBetweenPlanes) {
  // fcc: the planes of the primitive cell are {111}, a / sqrt(3) apart.
  const Matrix3 fcc = {0, 1.8, 1.8, 1.8, 0, 1.8, 1.8, 1.8, 0};
  for (double width : PlaneWidths(fcc)) EXPECT_NEAR(width, 3.6 / std::sqrt(3), kTolerance);
  const Vector3 box = PlaneWidths({4, 0, 0, 0, 5, 0, 0, 0, 6});
  EXPECT_DOUBLE_EQ(box[0], 4);
  EXPECT_DOUBLE_EQ(box[1], 5);
  EXPECT_DOUBLE_EQ(box[2], 6);
}

TEST(CellTest, CompletesEveryCombinationOfDirections) {
  for (int bits = 0; bits < 8; ++bits) {
    const std::array<bool, 3> pbc = {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
    SCOPED_TRACE(bits);
    const absl::StatusOr<Matrix3> complete = CompleteCell(kTriclinic, pbc);
    ASSERT_TRUE(complete.ok()) << complete.status();
    for (int k = 0; k < 3; ++k) {
      if (pbc[k]) {
        for (int c = 0; c < 3; ++c) EXPECT_EQ((*complete)[3 * k + c], kTriclinic[3 * k + c]);
        continue;
      }
      EXPECT_NEAR(Dot(*complete, k, k), 1, kTolerance);
      EXPECT_NEAR(Dot(*complete, k, (k + 1) % 3), 0, kTolerance);
      EXPECT_NEAR(Dot(*complete, k, (k + 2) % 3), 0, kTolerance);
    }
  }
}

TEST(CellTest, IgnoresRowsThatAreNotPeriodic) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const absl::StatusOr<Matrix3> slab = CompleteCell({3, 0, 0, 0, 4, 0, nan, 0, 0}, {true, true, false});
  ASSERT_TRUE(slab.ok()) << slab.status();
  EXPECT_EQ(*slab, (Matrix3{3, 0, 0, 0, 4, 0, 0, 0, 1}));
}

TEST(CellTest, RefusesSingularCells) {
  const std::array<bool, 3> all = {true, true, true};
  for (const Matrix3& cell : {Matrix3{}, Matrix3{1, 0, 0, 0, 1, 0, 0, 0, 0}, Matrix3{1, 2, 3, 4, 5, 6, 7, 8, 9},
                              Matrix3{1, 0, 0, 2, 0, 0, 0, 0, 1}}) {
    EXPECT_THAT(CompleteCell(cell, all), ErrorNames(absl::StatusCode::kInvalidArgument, {"singular"}));
  }
  EXPECT_FALSE(CompleteCell({1, 0, 0, 2, 0, 0, 0, 0, 1}, {true, true, false}).ok());
  EXPECT_FALSE(CompleteCell({}, {false, true, false}).ok());
  EXPECT_TRUE(CompleteCell({}, {false, false, false}).ok());
}

TEST(CellTest, RefusesElementsThatAreNotFinite) {
  const double inf = std::numeric_limits<double>::infinity();
  const absl::Status status = CompleteCell({1, 0, 0, 0, inf, 0, 0, 0, 1}, {true, true, true}).status();
  EXPECT_THAT(status, ErrorNames(absl::StatusCode::kInvalidArgument, {"lattice vector 2", "element 2", "inf"}));
}

}  // namespace
}  // namespace rutile
