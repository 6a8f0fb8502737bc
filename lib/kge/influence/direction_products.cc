#include "lib/kge/influence/direction_products.h"

#include <algorithm>
#include <vector>

#include "lib/base/logging.h"
#include "lib/kge/layers/workspace.h"
#include "lib/matrix/matrix_view.h"
#include "lib/matrix/row_dot.h"

namespace rutile {
namespace {

template <typename T>
void AddRow(double weight, const T* row, int64_t n, T* to) {
  const T w = static_cast<T>(weight);
  for (int64_t j = 0; j < n; ++j) to[j] += w * row[j];
}

// Returns the sum of metric x y.
template <typename T>
double WeightedDot(const T* metric, const T* x, const T* y, int64_t n) {
  if (metric == nullptr) return static_cast<double>(RowDot(x, y, n));
  double sum = 0;
  for (int64_t j = 0; j < n; ++j) sum += static_cast<double>(metric[j]) * x[j] * y[j];
  return sum;
}

template <typename T>
const T* At(const T* p, int64_t offset) {
  return p == nullptr ? nullptr : p + offset;
}

}  // namespace

template <typename T>
void DirectionProducts<T>::AddEntities(const GradientFactors<T>& factors, absl::Span<const double> weights,
                                       T* direction) {
  const int64_t d = shape_.dim(), n = shape_.num_entities;
  if (plan_.entity >= 0) {
    T* const table = direction + at_.entity;
    for (int64_t e = 0; e < factors.size; ++e) {
      AddRow(weights[e], factors.d_head + e * d, d, table + factors.head[e] * d);
      if (factors.d_tail != nullptr) AddRow(weights[e], factors.d_tail + e * d, d, table + factors.tail[e] * d);
      if (factors.error == nullptr) continue;
      AddRow(weights[e] * factors.error[e], factors.v + factors.key[e] * d, d, table + factors.tail[e] * d);
    }
    if (factors.errors != nullptr) {
      T* const rows = Take<T>(&rows_, factors.size * d);
      std::fill_n(rows, factors.size * d, T(0));
      for (int64_t e = 0; e < factors.size; ++e) AddRow(weights[e], factors.v + factors.key[e] * d, d, rows + e * d);
      const MatrixView<T> errors = {factors.errors, factors.size, n, n};
      products_.Multiply(errors.Transposed(), {rows, factors.size, d, d}, /*add=*/true, table, d);
    }
  }
  if (plan_.entity_bias < 0) return;
  T* const bias = direction + at_.entity_bias;
  for (int64_t e = 0; e < factors.size; ++e) {
    if (factors.errors != nullptr) {
      AddRow(weights[e], factors.errors + e * n, n, bias);
    } else {
      bias[factors.tail[e]] += static_cast<T>(weights[e] * factors.error[e]);
    }
  }
}

template <typename T>
void DirectionProducts<T>::AddGradients(const GradientFactors<T>& factors, absl::Span<const double> weights,
                                        T* direction) {
  CHECK_EQ(static_cast<int64_t>(weights.size()), factors.size);
  const int64_t d = shape_.dim(), of_relation = shape_.relation_dim();
  const int64_t features = shape_.has_features() ? shape_.num_features() : 0;
  AddEntities(factors, weights, direction);
  for (int64_t e = 0; plan_.relation >= 0 && e < factors.size; ++e) {
    AddRow(weights[e], factors.d_relation + e * of_relation, of_relation,
           direction + at_.relation + factors.relation[e] * of_relation);
  }
  for (int64_t e = 0; plan_.fc_bias >= 0 && e < factors.size; ++e) {
    AddRow(weights[e], factors.d_fc + e * d, d, direction + at_.fc_bias);
  }
  for (const SmallColumns::Tensor& tensor : columns_.tensors) {
    const bool counts = std::any_of(plan_.small.begin(), plan_.small.end(), [&](const KgePartPlan::Columns& columns) {
      return columns.begin <= tensor.begin && tensor.end <= columns.end;
    });
    for (int64_t e = 0; counts && e < factors.size; ++e) {
      AddRow(weights[e], factors.small + e * columns_.size + tensor.begin, tensor.end - tensor.begin,
             direction + tensor.offset);
    }
  }
  if (plan_.fc_weight < 0) return;
  T* const slopes = Take<T>(&rows_, factors.keys * d);
  std::fill_n(slopes, factors.keys * d, T(0));
  for (int64_t e = 0; e < factors.size; ++e) {
    AddRow(weights[e], factors.d_fc + e * d, d, slopes + factors.key[e] * d);
  }
  const MatrixView<T> of_keys = {slopes, factors.keys, d, d};
  products_.Multiply(of_keys.Transposed(), {factors.maps, factors.keys, features, features}, /*add=*/true,
                     direction + at_.fc_weight, features);
}

template <typename T>
const T* DirectionProducts<T>::TimesFc(const T* maps, int64_t keys, const T* matrix) {
  const int64_t d = shape_.dim(), features = shape_.num_features();
  T* const result = Take<T>(&results_, keys * d);
  const MatrixView<T> of_fc = {matrix, d, features, features};
  products_.Multiply({maps, keys, features, features}, of_fc.Transposed(), /*add=*/false, result, d);
  return result;
}

template <typename T>
void DirectionProducts<T>::MultiplyEntities(const GradientFactors<T>& factors, const T* direction, int64_t step,
                                            T* of_rows, T* of_bias) {
  const int64_t d = shape_.dim(), n = shape_.num_entities;
  const T *const table = direction + at_.entity, *const bias = At(direction, at_.entity_bias);
  const T* of_scores = nullptr;  // [B, d] sum over entities of their errors and rows
  if (of_rows != nullptr && factors.errors != nullptr) {
    T* const sums = Take<T>(&results_, factors.size * d);
    products_.Multiply({factors.errors, factors.size, n, n}, {table, n, d, d}, /*add=*/false, sums, d);
    of_scores = sums;
  }
  for (int64_t e = 0; e < factors.size; ++e) {
    const int64_t tail = factors.tail[e];
    const T* const v = factors.v + factors.key[e] * d;
    if (of_rows != nullptr) {
      T sum = RowDot(factors.d_head + e * d, table + factors.head[e] * d, d);
      sum += of_scores != nullptr ? RowDot(of_scores + e * d, v, d) : factors.error[e] * RowDot(v, table + tail * d, d);
      if (factors.d_tail != nullptr) sum += RowDot(factors.d_tail + e * d, table + tail * d, d);
      of_rows[e * step] += sum;
    }
    if (of_bias != nullptr) {
      of_bias[e * step] +=
          factors.errors != nullptr ? RowDot(factors.errors + e * n, bias, n) : factors.error[e] * bias[tail];
    }
  }
}

template <typename T>
void DirectionProducts<T>::Multiply(const GradientFactors<T>& factors, const T* direction, int64_t stride, int64_t step,
                                    T* products) {
  const int64_t d = shape_.dim(), of_relation = shape_.relation_dim();
  for (int part = 0; part < plan_.num_parts; ++part) {
    for (int64_t e = 0; e < factors.size; ++e) products[part * stride + e * step] = 0;
  }
  const auto of_part = [&](int part) { return part < 0 ? nullptr : products + part * stride; };
  MultiplyEntities(factors, direction, step, of_part(plan_.entity), of_part(plan_.entity_bias));
  const auto add = [&](int part, const T* rows, int64_t row_stride, int64_t n, const auto& other) {
    for (int64_t e = 0; part >= 0 && e < factors.size; ++e) {
      products[part * stride + e * step] += RowDot(rows + e * row_stride, other(e), n);
    }
  };
  add(plan_.relation, factors.d_relation, of_relation, of_relation,
      [&](int64_t e) { return direction + at_.relation + factors.relation[e] * of_relation; });
  add(plan_.fc_bias, factors.d_fc, d, d, [&](int64_t e) { return direction + at_.fc_bias; });
  for (const KgePartPlan::Columns& columns : plan_.small) {
    for (const SmallColumns::Tensor& tensor : columns_.tensors) {
      if (tensor.begin < columns.begin || tensor.end > columns.end) continue;
      add(columns.part, factors.small + tensor.begin, columns_.size, tensor.end - tensor.begin,
          [&](int64_t e) { return direction + tensor.offset; });
    }
  }
  if (plan_.fc_weight < 0) return;
  const T* const sums = TimesFc(factors.maps, factors.keys, direction + at_.fc_weight);
  add(plan_.fc_weight, factors.d_fc, d, d, [&](int64_t e) { return sums + factors.key[e] * d; });
}

// Computes the square in closed form, for a metric of 1.
template <typename T>
double DirectionProducts<T>::EntitySquare(const GradientFactors<T>& factors, int64_t e) const {
  const int64_t d = shape_.dim(), n = shape_.num_entities;
  const T *const v = factors.v + factors.key[e] * d, *const head = factors.d_head + e * d;
  double of_head = 0, of_all = 0;  // the error at the head, the sum of squares
  if (factors.errors != nullptr) {
    of_head = static_cast<double>(factors.errors[e * n + factors.head[e]]);
    of_all = static_cast<double>(RowDot(factors.errors + e * n, factors.errors + e * n, n));
  } else {
    const double error = static_cast<double>(factors.error[e]);
    of_head = factors.head[e] == factors.tail[e] ? error : 0;
    of_all = error * error;
  }
  return of_all * static_cast<double>(RowDot(v, v, d)) + 2 * of_head * static_cast<double>(RowDot(head, v, d)) +
         static_cast<double>(RowDot(head, head, d));
}

// Computes what d_tail adds to the square: its own, and twice its product with the rest of the tail's row.
template <typename T>
double DirectionProducts<T>::TailSquare(const GradientFactors<T>& factors, const T* metric, int64_t e) const {
  const int64_t d = shape_.dim(), tail = factors.tail[e];
  const T *const own = factors.d_tail + e * d, *const of_tail = At(metric, at_.entity + tail * d);
  const double error = static_cast<double>(factors.errors != nullptr ? factors.errors[e * shape_.num_entities + tail]
                                                                     : factors.error[e]);
  double square =
      WeightedDot(of_tail, own, own, d) + 2 * error * WeightedDot(of_tail, own, factors.v + factors.key[e] * d, d);
  if (factors.head[e] == tail) square += 2 * WeightedDot(of_tail, own, factors.d_head + e * d, d);
  return square;
}

template <typename T>
void DirectionProducts<T>::EntitySquares(const GradientFactors<T>& factors, const T* metric, double* of_rows) {
  const int64_t d = shape_.dim(), n = shape_.num_entities;
  for (int64_t e = 0; factors.d_tail != nullptr && e < factors.size; ++e) of_rows[e] += TailSquare(factors, metric, e);
  if (metric == nullptr) {
    for (int64_t e = 0; e < factors.size; ++e) of_rows[e] += EntitySquare(factors, e);
    return;
  }
  const T* const table = metric + at_.entity;
  const T* of_errors = nullptr;  // [B, d] sum over entities of squared errors and the metric's rows
  if (factors.errors != nullptr) {
    T* const squares = Take<T>(&squares_, factors.size * n);
    for (int64_t i = 0; i < factors.size * n; ++i) squares[i] = factors.errors[i] * factors.errors[i];
    T* const sums = Take<T>(&results_, factors.size * d);
    products_.Multiply({squares, factors.size, n, n}, {table, n, d, d}, /*add=*/false, sums, d);
    of_errors = sums;
  }
  for (int64_t e = 0; e < factors.size; ++e) {
    const T *const v = factors.v + factors.key[e] * d, *const head = factors.d_head + e * d;
    const T* const of_head = table + factors.head[e] * d;
    double square = WeightedDot(of_head, head, head, d);
    if (of_errors != nullptr) {
      const double error = static_cast<double>(factors.errors[e * n + factors.head[e]]);
      square += WeightedDot(of_errors + e * d, v, v, d) + 2 * error * WeightedDot(of_head, head, v, d);
    } else {
      const double error = static_cast<double>(factors.error[e]);
      square += error * error * WeightedDot(table + factors.tail[e] * d, v, v, d);
      if (factors.head[e] == factors.tail[e]) square += 2 * error * WeightedDot(of_head, head, v, d);
    }
    of_rows[e] += square;
  }
}

template <typename T>
double DirectionProducts<T>::BiasSquare(const GradientFactors<T>& factors, const T* metric, int64_t e) const {
  const int64_t n = shape_.num_entities;
  const T* const bias = At(metric, at_.entity_bias);
  if (factors.errors != nullptr) return WeightedDot(bias, factors.errors + e * n, factors.errors + e * n, n);
  const double error = static_cast<double>(factors.error[e]);
  return error * error * (bias == nullptr ? 1 : static_cast<double>(bias[factors.tail[e]]));
}

template <typename T>
void DirectionProducts<T>::Squares(const GradientFactors<T>& factors, const T* metric, int64_t stride,
                                   double* squares) {
  const int64_t d = shape_.dim(), of_relation = shape_.relation_dim();
  const int64_t features = shape_.has_features() ? shape_.num_features() : 0;
  for (int part = 0; part < plan_.num_parts; ++part) std::fill_n(squares + part * stride, factors.size, 0.0);
  if (plan_.entity >= 0) EntitySquares(factors, metric, squares + plan_.entity * stride);
  for (int64_t e = 0; plan_.entity_bias >= 0 && e < factors.size; ++e) {
    squares[plan_.entity_bias * stride + e] += BiasSquare(factors, metric, e);
  }
  const auto add = [&](int part, const T* rows, int64_t row_stride, int64_t n, const auto& offset) {
    for (int64_t e = 0; part >= 0 && e < factors.size; ++e) {
      const T* const row = rows + e * row_stride;
      squares[part * stride + e] += WeightedDot(At(metric, offset(e)), row, row, n);
    }
  };
  add(plan_.relation, factors.d_relation, of_relation, of_relation,
      [&](int64_t e) { return at_.relation + factors.relation[e] * of_relation; });
  add(plan_.fc_bias, factors.d_fc, d, d, [&](int64_t e) { return at_.fc_bias; });
  for (const KgePartPlan::Columns& columns : plan_.small) {
    for (const SmallColumns::Tensor& tensor : columns_.tensors) {
      if (tensor.begin < columns.begin || tensor.end > columns.end) continue;
      add(columns.part, factors.small + tensor.begin, columns_.size, tensor.end - tensor.begin,
          [&](int64_t e) { return tensor.offset; });
    }
  }
  if (plan_.fc_weight < 0) return;
  double* const of_fc = squares + plan_.fc_weight * stride;
  if (metric == nullptr) {
    std::vector<double> of_maps(factors.keys);
    for (int64_t k = 0; k < factors.keys; ++k) {
      if (factors.maps == nullptr) {
        of_maps[k] = static_cast<double>(factors.map_squares[k]);
        continue;
      }
      of_maps[k] = static_cast<double>(RowDot(factors.maps + k * features, factors.maps + k * features, features));
    }
    for (int64_t e = 0; e < factors.size; ++e) {
      const T* const slopes = factors.d_fc + e * d;
      of_fc[e] += static_cast<double>(RowDot(slopes, slopes, d)) * of_maps[factors.key[e]];
    }
    return;
  }
  T* const of_maps = Take<T>(&squares_, factors.keys * features);
  for (int64_t i = 0; i < factors.keys * features; ++i) of_maps[i] = factors.maps[i] * factors.maps[i];
  const T* const sums = TimesFc(of_maps, factors.keys, metric + at_.fc_weight);
  for (int64_t e = 0; e < factors.size; ++e) {
    const T* const slopes = factors.d_fc + e * d;
    of_fc[e] += WeightedDot(sums + factors.key[e] * d, slopes, slopes, d);
  }
}

template class DirectionProducts<float>;
template class DirectionProducts<double>;

}  // namespace rutile
