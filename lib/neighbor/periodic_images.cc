#include "lib/neighbor/periodic_images.h"

#include <algorithm>
#include <cmath>

namespace rutile {
namespace {

// Extent in cells up to which atoms are not wrapped: those that span little more than one cell are better left in
// place.
constexpr double kLargestSpanAsGiven = 1.1;

// Limits of the table's size: rows that are cheap to make for a small structure, and rows per atom of a large one.
constexpr double kTableRows = 4096;
constexpr double kTableRowsPerAtom = 8;

// Bound of the rounding error of float coordinates. Half an ulp of float is u = 6e-8. With atoms up to X from the
// middle and a radius R, an image within reach is off by up to u (4 X + 2 R) along an axis, a difference of two atoms
// by u (5 X + 3 R), a distance by sqrt(3) times that and 2 u R, and the distance from a box by sqrt(3) u (8 X + 4 R):
// all below 1e-6 (X + R). The same holds for double.
constexpr double kFloatRoom = 1.5e-6;
constexpr double kDoubleRoom = 1e-14;

struct Extent {
  std::array<double, 3> low = {0, 0, 0}, high = {0, 0, 0};
  void Add(int k, double v) {
    low[k] = std::min(low[k], v);
    high[k] = std::max(high[k], v);
  }
};

double RowSum(const Matrix3& m, int k) { return std::abs(m[3 * k]) + std::abs(m[3 * k + 1]) + std::abs(m[3 * k + 2]); }

// Sets images->wrap; returns the extent of the wrapped fractional coordinates, and that of the wraps.
void Wrap(const Structure& structure, const SearchInput& input, bool wrap_all, PeriodicImages* images,
          std::array<double, 3>* span, std::array<int32_t, 3>* wrap_span) {
  const int64_t n = images->num_atoms;
  GrowTo(3 * n, &images->wrap);
  for (int k = 0; k < 3; ++k) {
    const double as_given = input.highest[k] - input.lowest[k];
    (*span)[k] = as_given;
    (*wrap_span)[k] = 0;
    int32_t* wrap = images->wrap.data() + k;
    if (!structure.pbc[k] || (!wrap_all && as_given <= kLargestSpanAsGiven)) {
      for (int64_t i = 0; i < n; ++i) wrap[3 * i] = 0;
      continue;
    }
    // Wraps are relative to the cell of the lowest atom, so that they are small wherever the structure as a whole lies.
    const double origin = std::floor(input.lowest[k]);
    for (int64_t i = 0; i < n; ++i) {
      const int32_t cells = static_cast<int32_t>(input.fractional[3 * i + k] - origin);
      wrap[3 * i] = -cells;
      (*wrap_span)[k] = std::max((*wrap_span)[k], cells);
    }
    (*span)[k] = 1;
  }
}

// Computes wrapped float coordinates about the middle of the atoms; returns the largest of them and the largest double
// on the way.
void SetCoordinates(const Structure& structure, const SearchInput& input, PeriodicImages* images, double* largest,
                    double* largest_before) {
  const int64_t n = images->num_atoms;
  GrowTo(n + kPadding, &images->x);
  GrowTo(n + kPadding, &images->y);
  GrowTo(n + kPadding, &images->z);
  GrowTo(4 * n, &images->position);
  const auto wrapped = [&](int64_t i) {
    const double* r = &structure.position[3 * i];
    const int32_t* w = &images->wrap[3 * i];
    if ((w[0] | w[1] | w[2]) == 0) return Vector3{r[0], r[1], r[2]};
    const Vector3 s = ShiftVector(input.cell, w[0], w[1], w[2]);
    return Vector3{r[0] + s[0], r[1] + s[1], r[2] + s[2]};
  };
  const Vector3 first = wrapped(0);
  Extent extent;
  *largest_before = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Vector3 r = wrapped(i);
    double* position = &images->position[4 * i];
    for (int k = 0; k < 3; ++k) {
      position[k] = structure.position[3 * i + k];
      *largest_before = std::max(*largest_before, std::abs(position[k]));
      extent.Add(k, r[k] - first[k]);
    }
    position[3] = 0;
  }
  Vector3 middle;
  *largest = 0;
  for (int k = 0; k < 3; ++k) {
    middle[k] = first[k] + (extent.low[k] + extent.high[k]) / 2;
    *largest = std::max(*largest, (extent.high[k] - extent.low[k]) / 2);
  }
  for (int64_t i = 0; i < n; ++i) {
    const Vector3 r = wrapped(i);
    images->x[i] = static_cast<float>(r[0] - middle[0]);
    images->y[i] = static_cast<float>(r[1] - middle[1]);
    images->z[i] = static_cast<float>(r[2] - middle[2]);
  }
}

void SetImages(const SearchInput& input, PeriodicImages* images) {
  const std::array<int32_t, 3>& most = images->most;
  const size_t total = images->num_images;
  GrowTo(total + kPadding, &images->ix);
  GrowTo(total + kPadding, &images->iy);
  GrowTo(total + kPadding, &images->iz);
  GrowTo(3 * total, &images->image);
  size_t t = 0;
  for (int32_t a = -most[0]; a <= most[0]; ++a) {
    for (int32_t b = -most[1]; b <= most[1]; ++b) {
      for (int32_t c = -most[2]; c <= most[2]; ++c, ++t) {
        const Vector3 v = ShiftVector(input.cell, a, b, c);
        images->ix[t] = static_cast<float>(v[0]);
        images->iy[t] = static_cast<float>(v[1]);
        images->iz[t] = static_cast<float>(v[2]);
        images->image[3 * t] = a;
        images->image[3 * t + 1] = b;
        images->image[3 * t + 2] = c;
      }
    }
  }
  std::fill_n(images->ix.begin() + total, kPadding, kFarAway);
  std::fill_n(images->iy.begin() + total, kPadding, kFarAway);
  std::fill_n(images->iz.begin() + total, kPadding, kFarAway);
}

void SetTable(const SearchInput& input, const std::array<int32_t, 3>& wrap_span, PeriodicImages* images) {
  const int64_t n = images->num_atoms;
  std::array<int32_t, 3> most;  // largest shift along each lattice vector
  double rows = 1;
  for (int k = 0; k < 3; ++k) {
    most[k] = images->most[k] + wrap_span[k];
    rows *= 2.0 * most[k] + 1;
  }
  images->has_table = rows <= std::max({kTableRows, kTableRowsPerAtom * n, 1.0 * images->num_images});
  GrowTo(images->num_images + kPadding, &images->image_row);
  GrowTo(n + kPadding, &images->wrap_row);
  if (!images->has_table) return;

  GrowTo(4 * static_cast<size_t>(rows), &images->table_vector);
  GrowTo(4 * static_cast<size_t>(rows), &images->table_shift);
  double* vector = images->table_vector.data();
  int16_t* shift = images->table_shift.data();
  for (int32_t a = -most[0]; a <= most[0]; ++a) {
    for (int32_t b = -most[1]; b <= most[1]; ++b) {
      for (int32_t c = -most[2]; c <= most[2]; ++c, vector += 4, shift += 4) {
        const Vector3 v = ShiftVector(input.cell, a, b, c);
        vector[0] = v[0];
        vector[1] = v[1];
        vector[2] = v[2];
        vector[3] = 0;
        shift[0] = static_cast<int16_t>(a);
        shift[1] = static_cast<int16_t>(b);
        shift[2] = static_cast<int16_t>(c);
        shift[3] = 0;
      }
    }
  }
  const int32_t stride_b = 2 * most[2] + 1, stride_a = stride_b * (2 * most[1] + 1);
  const auto row = [=](const int32_t* s) { return s[0] * stride_a + s[1] * stride_b + s[2]; };
  const int32_t middle = row(most.data());
  for (int32_t t = 0; t < images->num_images; ++t) images->image_row[t] = middle + row(&images->image[3 * t]);
  for (int64_t i = 0; i < n; ++i) images->wrap_row[i] = row(&images->wrap[3 * i]);
}

}  // namespace

void MakePeriodicImages(const Structure& structure, const SearchInput& input, double reach, bool wrap_all,
                        PeriodicImages* images) {
  images->num_atoms = structure.size();
  if (images->num_atoms == 0) return;
  std::array<double, 3> span;
  std::array<int32_t, 3> wrap_span;
  Wrap(structure, input, wrap_all, images, &span, &wrap_span);
  double largest, largest_before;
  SetCoordinates(structure, input, images, &largest, &largest_before);

  images->num_images = 1;
  for (int k = 0; k < 3; ++k) {
    images->most[k] = structure.pbc[k] ? static_cast<int32_t>(span[k] + reach / input.width[k] + 1e-3) : 0;
    images->num_images *= 2 * images->most[k] + 1;
    largest_before += wrap_span[k] * RowSum(input.cell, k);
  }
  images->home = images->num_images / 2;
  images->room = kFloatRoom * (largest + reach) + kDoubleRoom * largest_before;
  images->reach = static_cast<float>(reach + images->room);
  SetImages(input, images);
  SetTable(input, wrap_span, images);
}

}  // namespace rutile
