#include "lib/mace/mace_layer.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "lib/base/logging.h"
#include "lib/base/round_up.h"
#include "lib/mace/pair_passes.h"
#include "lib/many_body/product_passes.h"
#include "lib/matrix/dense_products.h"

namespace rutile {
namespace {

constexpr int64_t kBlockPairs = 96;
constexpr int64_t kAlignedNumbers = 8;  // of 64 bytes

// Returns `count` matrices [rows, columns] with rows and columns padded by zeros.
AlignedBuffer<double> Padded(const std::vector<double>& from, int64_t rows, int64_t columns, int64_t padded_rows,
                             int64_t padded_columns) {
  const int64_t count = static_cast<int64_t>(from.size()) / (rows * columns);
  AlignedBuffer<double> to = AlignedBuffer<double>::Zeros(count * padded_rows * padded_columns);
  for (int64_t c = 0; c < count; ++c) {
    for (int64_t r = 0; r < rows; ++r) {
      std::memcpy(&to[(c * padded_rows + r) * padded_columns], &from[(c * rows + r) * columns],
                  columns * sizeof(double));
    }
  }
  return to;
}

// Returns the weights of products as [S, P, stride], from [S, K, P].
AlignedBuffer<double> ByProduct(const MaceModel& model, const std::vector<double>& from, int64_t stride) {
  const int64_t s = model.num_species(), k = model.channels, p = model.num_products();
  AlignedBuffer<double> to = AlignedBuffer<double>::Zeros(s * p * stride);
  for (int64_t a = 0; a < s; ++a) {
    for (int64_t c = 0; c < k; ++c) {
      for (int64_t q = 0; q < p; ++q) to[(a * p + q) * stride + c] = from[(a * k + c) * p + q];
    }
  }
  return to;
}

}  // namespace

int64_t MaceLayerSums::Stride(const MaceModel& model) { return RoundUp(model.channels, kAlignedNumbers); }

MaceLayerSums::MaceLayerSums(const MaceModel& model, int t)
    : model_(model),
      layer_(model.layers[t]),
      t_(t),
      stride_(Stride(model)),
      harmonics_(model.neighborhood.num_harmonics()),
      fast_harmonics_(model.neighborhood.max_l),
      table_(model.neighborhood.max_l, stride_),
      radial_(model, layer_, stride_),
      mix_(Padded(layer_.mix, model.channels, model.channels, stride_, stride_)),
      product_(ByProduct(model, layer_.product, stride_)),
      linear_(Padded(layer_.linear, model.channels, model.channels, stride_, stride_)) {
  const int64_t k = model.channels;
  if (model.radial_splines > 0) {
    splines_ = std::make_unique<const RadialSplines>(&radial_, (model.neighborhood.max_l + 1) * stride_,
                                                     model.neighborhood.cutoff, model.radial_splines);
  }
  if (!layer_.skip.empty()) {
    skip_ = t == 0 ? Padded(layer_.skip, 1, k, 1, stride_) : Padded(layer_.skip, k, k, stride_, stride_);
  }
  if (!layer_.readout.empty()) {
    readout_ = Padded(layer_.readout, 1, k, 1, stride_);
    return;
  }
  nodes_ = RoundUp(static_cast<int64_t>(layer_.readout_out.size()), kAlignedNumbers);
  readout_hidden_ = Padded(layer_.readout_hidden, k, layer_.readout_out.size(), stride_, nodes_);
}

void MaceLayerSums::Sort(int64_t rows, const uint8_t* species) {
  rows_ = rows;
  first_row_.assign(model_.num_species() + 1, 0);
  for (int64_t i = 0; i < rows; ++i) ++first_row_[species[i] + 1];
  for (size_t s = 1; s < first_row_.size(); ++s) first_row_[s] += first_row_[s - 1];
  std::vector<int64_t> next(first_row_.begin(), first_row_.end() - 1);
  order_.resize(rows);
  row_of_.resize(rows);
  for (int64_t i = 0; i < rows; ++i) {
    row_of_[i] = static_cast<int32_t>(next[species[i]]++);
    order_[row_of_[i]] = static_cast<int32_t>(i);
  }
}

template <typename Body>
void MaceLayerSums::ForSpecies(const Body& body) const {
  for (int s = 0; s < model_.num_species(); ++s) {
    if (first_row_[s + 1] > first_row_[s]) body(first_row_[s], first_row_[s + 1] - first_row_[s], s);
  }
}

template <typename Body>
void MaceLayerSums::ForBlocks(const MacePairs& pairs, const Body& body) const {
  for (int64_t begin = 0; begin < rows_;) {
    int64_t end = begin + 1;
    while (end < rows_ && pairs.offset[end + 1] - pairs.offset[begin] <= kBlockPairs) ++end;
    body(begin, end);
    begin = end;
  }
}

void MaceLayerSums::Mix(bool back, const double* from, double* to) const {
  const int64_t width = harmonics_ * stride_, size = stride_ * stride_;
  const int num_l = model_.neighborhood.max_l + 1;
  const auto mix = [&](int64_t begin, int64_t count, int64_t s) {
    for (int l = 0; l < num_l; ++l) {
      const MatrixView<double> matrix = {mix_.data() + (s * num_l + l) * size, stride_, stride_, stride_};
      for (int m = l * l; m < (l + 1) * (l + 1); ++m) {
        const int64_t at = begin * width + m * stride_;
        MultiplyDense<double>({from + at, count, stride_, width}, back ? matrix.Transposed() : matrix, false, to + at,
                              width);
      }
    }
  };
  if (static_cast<int64_t>(layer_.mix.size()) == int64_t{num_l} * model_.channels * model_.channels) {
    if (rows_ > 0) mix(0, rows_, 0);
  } else {
    ForSpecies(mix);
  }
}

void MaceLayerSums::Readout(double* energy) {
  double* const slope = slope_.Take(rows_ * stride_);
  if (nodes_ == 0) {
    for (int64_t r = 0; r < rows_; ++r) {
      double sum = 0;
      for (int64_t k = 0; k < stride_; ++k) {
        sum += h_[r * stride_ + k] * readout_[k];
        slope[r * stride_ + k] = model_.scale * readout_[k];
      }
      energy[order_[r]] += sum;
    }
    return;
  }
  const MatrixView<double> matrix = {readout_hidden_.data(), stride_, nodes_, nodes_};
  double* const x = hidden_.Take(rows_ * nodes_);
  double* const x_slope = hidden_slope_.Take(rows_ * nodes_);
  MultiplyDense<double>({h_.data(), rows_, stride_, stride_}, matrix, false, x, nodes_);
  const auto nodes = static_cast<int64_t>(layer_.readout_out.size());
  for (int64_t r = 0; r < rows_; ++r) {
    for (int64_t q = 0; q < nodes_; ++q) {
      x_slope[r * nodes_ + q] = q < nodes ? model_.scale * layer_.readout_out[q] : 0;
    }
  }
  SiluInPlace(rows_ * nodes_, x, x_slope);
  for (int64_t r = 0; r < rows_; ++r) {
    double sum = 0;
    for (int64_t q = 0; q < nodes; ++q) sum += x[r * nodes_ + q] * layer_.readout_out[q];
    energy[order_[r]] += sum;
  }
  MultiplyDense<double>({x_slope, rows_, nodes_, nodes_}, matrix.Transposed(), false, slope, stride_);
}

void MaceLayerSums::Radial(const double* distance, int64_t n, double* value, double* slope) {
  if (splines_ != nullptr) return splines_->Compute(distance, n, value, slope);
  radial_.Compute(distance, n, value, slope);
}

void MaceLayerSums::Forward(int64_t rows, const uint8_t* species, const MacePairs& pairs, const double* u,
                            const double* before, double* h, double* energy) {
  Sort(rows, species);
  if (rows == 0) return;
  CHECK_EQ(before == nullptr, t_ == 0);
  const int max_l = model_.neighborhood.max_l;
  const int64_t width = harmonics_ * stride_, functions = (max_l + 1) * stride_;
  double* const a = a_.Take(rows * width);
  std::fill(a, a + rows * width, 0.0);
  ForBlocks(pairs, [&](int64_t begin, int64_t end) {
    const int64_t first = pairs.offset[begin], count = pairs.offset[end] - first;
    if (count == 0) return;
    double* const radial = radial_value_.Take(count * functions);
    Radial(&pairs.distance[first], count, radial, nullptr);
    for (int64_t i = begin; i < end; ++i) {
      double* const of_atom = a + row_of_[i] * width;
      for (int64_t p = pairs.offset[i]; p < pairs.offset[i + 1]; ++p) {
        const double r = pairs.distance[p];
        const double unit[3] = {pairs.vector[3 * p] / r, pairs.vector[3 * p + 1] / r, pairs.vector[3 * p + 2] / r};
        double y[(FastHarmonics::kLargestL + 1) * (FastHarmonics::kLargestL + 1)];
        fast_harmonics_.Compute(unit, y, nullptr);
        AddPair(max_l, stride_, radial + (p - first) * functions, u + pairs.j[p] * stride_, y, of_atom);
      }
    }
  });
  double* const z = z_.Take(rows * width);
  Mix(/*back=*/false, a, z);
  double* const m = m_.Take(rows * stride_);
  ForSpecies([&](int64_t begin, int64_t count, int s) {
    ProductsOfBlock(table_, static_cast<int>(stride_), product_.data() + s * model_.num_products() * stride_,
                    static_cast<int>(count), {z + begin * width, nullptr}, {m + begin * stride_, nullptr});
  });
  double* const of_rows = h_.Take(rows * stride_);
  MultiplyDense<double>({m, rows, stride_, stride_}, {linear_.data(), stride_, stride_, stride_}, false, of_rows,
                        stride_);
  if (skip_.size() > 0 && t_ == 0) {
    ForSpecies([&](int64_t begin, int64_t count, int s) {
      for (int64_t r = begin; r < begin + count; ++r) {
        for (int64_t k = 0; k < stride_; ++k) of_rows[r * stride_ + k] += skip_[s * stride_ + k];
      }
    });
  } else if (skip_.size() > 0) {
    double* const from = before_.Take(rows * stride_);
    for (int64_t r = 0; r < rows; ++r) std::copy_n(before + order_[r] * stride_, stride_, from + r * stride_);
    ForSpecies([&](int64_t begin, int64_t count, int s) {
      MultiplyDense<double>({from + begin * stride_, count, stride_, stride_},
                            {skip_.data() + s * stride_ * stride_, stride_, stride_, stride_}, true,
                            of_rows + begin * stride_, stride_);
    });
  }
  Readout(energy);
  for (int64_t r = 0; r < rows; ++r) std::copy_n(of_rows + r * stride_, stride_, h + order_[r] * stride_);
}

void MaceLayerSums::Backward(int64_t counted, const MacePairs& pairs, const double* u, const double* h_bar,
                             double* before_bar, double* u_bar, MaceForces* forces) {
  if (rows_ == 0) return;
  const int max_l = model_.neighborhood.max_l;
  const int64_t width = harmonics_ * stride_, functions = (max_l + 1) * stride_;
  double* const bar = slope_.data();
  for (int64_t r = 0; r < rows_; ++r) {
    double* const of_row = bar + r * stride_;
    if (order_[r] >= counted) std::fill(of_row, of_row + stride_, 0.0);
    if (h_bar == nullptr) continue;
    for (int64_t k = 0; k < stride_; ++k) of_row[k] += h_bar[order_[r] * stride_ + k];
  }
  if (before_bar != nullptr && skip_.size() > 0) {
    double* const back = before_.Take(rows_ * stride_);
    ForSpecies([&](int64_t begin, int64_t count, int s) {
      const MatrixView<double> matrix = {skip_.data() + s * stride_ * stride_, stride_, stride_, stride_};
      MultiplyDense<double>({bar + begin * stride_, count, stride_, stride_}, matrix.Transposed(), false,
                            back + begin * stride_, stride_);
    });
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t k = 0; k < stride_; ++k) before_bar[order_[r] * stride_ + k] += back[r * stride_ + k];
    }
  }
  const MatrixView<double> linear = {linear_.data(), stride_, stride_, stride_};
  MultiplyDense<double>({bar, rows_, stride_, stride_}, linear.Transposed(), false, m_.data(), stride_);
  // dE/dZ takes the place of A, and dE/dA that of Z.
  ForSpecies([&](int64_t begin, int64_t count, int s) {
    ProductSlopesOfBlock(table_, static_cast<int>(stride_), product_.data() + s * model_.num_products() * stride_,
                         static_cast<int>(count), {z_.data() + begin * width, nullptr},
                         {m_.data() + begin * stride_, nullptr}, {a_.data() + begin * width, nullptr}, nullptr);
  });
  Mix(/*back=*/true, a_.data(), z_.data());
  ForBlocks(pairs, [&](int64_t begin, int64_t end) {
    const int64_t first = pairs.offset[begin], count = pairs.offset[end] - first;
    if (count == 0) return;
    double* const radial = radial_value_.Take(count * functions);
    double* const slope = radial_slope_.Take(count * functions);
    Radial(&pairs.distance[first], count, radial, slope);
    for (int64_t i = begin; i < end; ++i) {
      const double* const a_bar = z_.data() + row_of_[i] * width;
      for (int64_t p = pairs.offset[i]; p < pairs.offset[i + 1]; ++p) {
        constexpr int kMost = (FastHarmonics::kLargestL + 1) * (FastHarmonics::kLargestL + 1);
        const double r = pairs.distance[p];
        const double* const vector = &pairs.vector[3 * p];
        const double unit[3] = {vector[0] / r, vector[1] / r, vector[2] / r};
        const int64_t j = pairs.j[p];
        double y[kMost], gradient[3 * kMost], y_bar[kMost];
        fast_harmonics_.Compute(unit, y, gradient);
        const double along =
            PairSlopes(max_l, stride_, radial + (p - first) * functions, slope + (p - first) * functions,
                       u + j * stride_, y, a_bar, y_bar, u_bar == nullptr ? nullptr : u_bar + j * stride_);
        for (int c = 0; c < 3; ++c) {
          double turn = 0;
          for (int64_t q = 0; q < harmonics_; ++q) turn += y_bar[q] * gradient[3 * q + c];
          const double g = along * unit[c] + turn / r;  // dE/dr_ij
          forces->force[3 * i + c] += g;
          forces->force[3 * j + c] -= g;
          for (int b = 0; b < 3; ++b) {
            forces->strain[3 * c + b] += g * vector[b];
            if (forces->atom_strain == nullptr) continue;
            forces->atom_strain[9 * i + 3 * c + b] += 0.5 * g * vector[b];
            forces->atom_strain[9 * j + 3 * c + b] += 0.5 * g * vector[b];
          }
        }
      }
    }
  });
}

}  // namespace rutile
