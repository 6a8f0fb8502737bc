#include "lib/optimizer/lazy_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/base/logging.h"

namespace rutile {
namespace {

template <typename T>
bool IsZero(const T* row, int64_t width) {
  return std::all_of(row, row + width, [](T x) { return x == 0; });
}

bool IsZero(const Tensor& gradient, int64_t begin, int64_t width) {
  return gradient.dtype() == DType::kF32 ? IsZero(gradient.values<float>().data() + begin, width)
                                         : IsZero(gradient.values<double>().data() + begin, width);
}

}  // namespace

LazyRows::LazyRows(std::unique_ptr<Optimizer> optimizer, absl::Span<const ParameterSlice> slices)
    : optimizer_(std::move(optimizer)) {
  for (const ParameterSlice& slice : slices) {
    const int64_t size = slice.num_elements();
    if (slice.table && size > 0) tables_.push_back({slice.offset, slice.offset + size, size / slice.shape[0]});
  }
  std::sort(tables_.begin(), tables_.end(), [](const Table& a, const Table& b) { return a.begin < b.begin; });
}

int64_t LazyRows::PartEnd(int64_t position) const {
  for (const Table& table : tables_) {
    if (position <= table.begin || position >= table.end) continue;
    return table.begin + (position - table.begin + table.width - 1) / table.width * table.width;
  }
  return position;
}

template <class Body, class Rest>
void LazyRows::ForMoving(int64_t begin, const Tensor& gradient, const Body& body, const Rest& rest) const {
  const int64_t end = begin + gradient.num_elements();
  CHECK(PartEnd(begin) == begin && PartEnd(end) == end) << "a part cuts a row: " << begin << " to " << end;
  int64_t first = begin;  // start of moving rows not yet passed to body
  for (const Table& table : tables_) {
    for (int64_t row = std::max(begin, table.begin); row < std::min(end, table.end); row += table.width) {
      if (!IsZero(gradient, row - begin, table.width)) continue;
      if (first < row) body(first, row - first);
      rest(row, table.width);
      first = row + table.width;
    }
  }
  if (first < end) body(first, end - first);
}

void LazyRows::StepPart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) {
  ForMoving(
      begin, gradient,
      [&](int64_t first, int64_t size) {
        optimizer_->StepPart(first, gradient.Slice(first - begin, {size}), scale, parameters);
      },
      [](int64_t, int64_t) {});
}

double LazyRows::StepPartKeeping(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters,
                                 Tensor* kept) {
  double squares = 0;
  ForMoving(
      begin, gradient,
      [&](int64_t first, int64_t size) {
        Tensor own = kept->Slice(first - begin, {size});
        squares += optimizer_->StepPartKeeping(first, gradient.Slice(first - begin, {size}), scale, parameters, &own);
      },
      [&](int64_t row, int64_t width) {
        Tensor own = kept->Slice(row - begin, {width});
        std::memcpy(own.mutable_data(), parameters->Slice(row, {width}).data(), own.num_bytes());
      });
  return squares;
}

}  // namespace rutile
