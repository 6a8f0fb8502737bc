#include "lib/matrix/prepared_products.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "lib/base/logging.h"
#include "lib/matrix/bf16/bf16_machines.h"
#include "lib/matrix/dense_products.h"

namespace rutile {
namespace {

constexpr int kExactParts = 3;
// Largest number of parts with or without rounding, so that the memory from Reserve is sufficient for both.
constexpr int kMostParts = kExactParts;

}  // namespace

template <typename T>
PreparedProducts<T>::PreparedProducts(Bf16Form form) : form_(form) {
  const std::vector<Bf16Form> forms = Bf16Forms();
  CHECK(std::find(forms.begin(), forms.end(), form) != forms.end()) << "this machine has no " << Bf16FormName(form);
}

template <typename T>
void PreparedProducts<T>::SetRounding(bool on) {
  CHECK((std::is_same_v<T, float>) || !on) << "mixed precision is of fp32";
  rounding_ = on;
  if (!on || form_ == Bf16Form::kAmx || rounded_.has_value()) return;
  rounded_.emplace(form_);
  // The object allocates its memory in its first product, which must not be in a training step.
  const float x = 0;
  float out;
  rounded_->Multiply({&x, 1, 1, 1}, {&x, 1, 1, 1}, /*add=*/false, &out, 1);
}

template <typename T>
int PreparedProducts<T>::Parts() const {
  if (!std::is_same_v<T, float> || form_ != Bf16Form::kAmx) return 0;
  return rounding_ ? 1 : kExactParts;
}

template <typename T>
void PreparedProducts<T>::Reserve(int64_t height, int64_t width, PreparedFactor<T>* factor) const {
  if (Parts() == 0) return;
  // Either dimension may be that of the terms, for which tiles need more padding.
  factor->tiles.Take(std::max(Bf16AmxWords(height, width, kMostParts), Bf16AmxWords(width, height, kMostParts)));
}

template <typename T>
void PreparedProducts<T>::Prepare(const MatrixView<T>& matrix, FactorSide side, PreparedFactor<T>* factor) const {
  factor->matrix = matrix;
  factor->parts = Parts();
  if constexpr (std::is_same_v<T, float>) {
    if (factor->parts == 0 || matrix.rows == 0 || matrix.columns == 0) return;
    if (side == FactorSide::kLeft) {
      uint32_t* const tiles = factor->tiles.Take(Bf16AmxWords(matrix.height(), matrix.width(), factor->parts));
      PackBf16AmxLeft(matrix, factor->parts, tiles);
    } else {
      uint32_t* const tiles = factor->tiles.Take(Bf16AmxWords(matrix.width(), matrix.height(), factor->parts));
      PackBf16AmxRight(matrix, factor->parts, tiles);
    }
  }
}

template <typename T>
void PreparedProducts<T>::Multiply(const PreparedFactor<T>& left, const PreparedFactor<T>& right, bool add, T* out,
                                   int64_t stride) {
  const MatrixView<T>&a = left.matrix, &b = right.matrix;
  CHECK_EQ(a.width(), b.height());
  CHECK(left.parts == Parts() && right.parts == Parts()) << "prepared with another rounding";
  if constexpr (std::is_same_v<T, float>) {
    if (left.parts > 0 && a.height() > 0 && b.width() > 0 && a.width() > 0) {
      return MultiplyBf16AmxPacked(
          {left.tiles.data(), right.tiles.data(), a.height(), b.width(), a.width(), add, out, stride, left.parts});
    }
    if (rounding_ && left.parts == 0) return rounded_->Multiply(a, b, add, out, stride);
  }
  // The part of the left factor that is read repeatedly stays in the second-level cache.
  constexpr int64_t kHeight = 2048 / sizeof(T);
  for (int64_t row = 0; row < a.height(); row += kHeight) {
    MultiplyDense(a.Rows(row, std::min(row + kHeight, a.height())), b, add, out + row * stride, stride);
  }
}

template class PreparedProducts<float>;
template class PreparedProducts<double>;

}  // namespace rutile
