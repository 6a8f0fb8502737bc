#include "lib/mace/radial_network.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "lib/mace/pair_passes.h"
#include "lib/matrix/dense_products.h"

namespace rutile {

RadialNetwork::RadialNetwork(const MaceModel& model, const MaceLayer& layer, int64_t stride) : model_(model) {
  const int64_t k = model.channels, num_l = model.neighborhood.max_l + 1;
  int64_t rows = model.neighborhood.num_radial;
  for (size_t m = 0; m < layer.radial.size(); ++m) {
    const bool last = m + 1 == layer.radial.size();
    const std::vector<double>& from = layer.radial[m];
    const int64_t columns = static_cast<int64_t>(from.size()) / rows;
    Matrix matrix = {rows, last ? num_l * stride : columns, {}};
    matrix.values = AlignedBuffer<double>::Zeros(matrix.rows * matrix.columns);
    const int64_t part = last ? k : columns, parts = columns / part, step = last ? stride : columns;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t p = 0; p < parts; ++p) {
        std::memcpy(&matrix.values[r * matrix.columns + p * step], &from[r * columns + p * part],
                    part * sizeof(double));
      }
    }
    matrices_.push_back(std::move(matrix));
    rows = columns;
  }
}

void RadialNetwork::Basis(const double* distance, int64_t n, double* value, double* slope) const {
  const MomentOptions& options = model_.neighborhood;
  const int num_radial = options.num_radial, p = options.envelope;
  const double cutoff = options.cutoff;
  for (int64_t e = 0; e < n; ++e) {
    const double r = distance[e], x = r / cutoff;
    // f = 1 - (p+1)(p+2)/2 x^p + p(p+2) x^(p+1) - p(p+1)/2 x^(p+2)
    const double power = std::pow(x, p - 1);
    const double f = 1 - power * x * (0.5 * (p + 1) * (p + 2) - x * (p * (p + 2.0) - x * 0.5 * p * (p + 1)));
    const double df = -0.5 * p * (p + 1) * (p + 2) / cutoff * power * (1 - x) * (1 - x);
    for (int k = 0; k < num_radial; ++k) {
      const double w = model_.frequency[k], sine = std::sin(w * r) / r;
      value[e * num_radial + k] = sine * f;
      if (slope != nullptr) slope[e * num_radial + k] = (w * std::cos(w * r) - sine) / r * f + sine * df;
    }
  }
}

void RadialNetwork::Compute(const double* distance, int64_t n, double* value, double* slope) {
  const int64_t rows = slope != nullptr ? 2 * n : n;
  int64_t width = model_.neighborhood.num_radial;
  double* x = inputs_.Take(rows * width);
  Basis(distance, n, x, slope != nullptr ? x + n * width : nullptr);
  for (size_t m = 0; m < matrices_.size(); ++m) {
    const Matrix& matrix = matrices_[m];
    const MatrixView<double> weights = {matrix.values.data(), matrix.rows, matrix.columns, matrix.columns};
    if (m + 1 == matrices_.size()) {
      MultiplyDense<double>({x, n, width, width}, weights, false, value, matrix.columns);
      if (slope == nullptr) return;
      MultiplyDense<double>({x + n * width, n, width, width}, weights, false, slope, matrix.columns);
      return;
    }
    double* const y = outputs_.Take(rows * matrix.columns);
    MultiplyDense<double>({x, rows, width, width}, weights, false, y, matrix.columns);
    width = matrix.columns;
    SiluInPlace(n * width, y, slope != nullptr ? y + n * width : nullptr);
    std::swap(inputs_, outputs_);
    x = inputs_.data();
  }
}

}  // namespace rutile
