#include "lib/network/kernels/network_gemm.h"

#include <algorithm>
#include <utility>

#include "lib/base/logging.h"

namespace rutile {
namespace {

// The number of elements between rows: an odd number of cache lines, so that rows do not map to the same cache sets.
template <typename T>
int64_t StrideOf(int width) {
  constexpr int64_t kLine = 64 / sizeof(T);
  return ((width + kLine - 1) / kLine | 1) * kLine;
}

}  // namespace

template <typename T>
NetworkGemm<T>::NetworkGemm(const NetworkShape& shape, int block_atoms, int num_workers)
    : shape_(shape),
      num_hidden_(static_cast<int>(shape.hidden.size())),
      block_atoms_(block_atoms),
      onward_(shape.num_species * num_hidden_),
      back_(shape.num_species * num_hidden_) {
  CHECK_GE(block_atoms, 1);
  int64_t size = 0;
  const auto take = [&](int64_t stride) {
    size += block_atoms_ * stride;
    return size - block_atoms_ * stride;
  };
  for (int l = 0; l <= num_hidden_; ++l) stride_.push_back(StrideOf<T>(shape.layer_inputs(l)));
  const auto take_all = [&](bool kept) {
    std::vector<int64_t> at;
    for (int l = 0; l < num_hidden_; ++l) at.push_back(kept ? take(stride_[l + 1]) : -1);
    return at;
  };
  const bool keeps_slopes = KeepsSlopes(shape.activation);
  take(stride_[0]);
  values_at_ = take_all(true);
  energies_at_ = size;
  size += StrideOf<T>(block_atoms);
  slopes_at_ = take_all(keeps_slopes);
  first_order_size_ = size;
  deltas_at_ = take_all(true);
  curvatures_at_ = take_all(keeps_slopes);
  second_order_size_ = size;
  for (int w = 0; w < num_workers; ++w) workers_.push_back(std::make_unique<Worker>());
}

template <typename T>
void NetworkGemm<T>::SetRounding(bool on) {
  for (const auto& worker : workers_) worker->products.SetRounding(on);
}

// The first order needs d of two layers; the second needs tangents and mu of all hidden layers, and one product.
template <typename T>
int64_t NetworkGemm<T>::ScratchSize(bool second_order) const {
  int64_t widest = 0, all = 0;
  for (int l = 1; l <= num_hidden_; ++l) {
    widest = std::max(widest, stride_[l]);
    all += stride_[l];
  }
  return block_atoms_ * (second_order ? 2 * all + widest : 2 * widest);
}

template <typename T>
T* NetworkGemm<T>::Scratch(bool second_order, int worker) {
  const int64_t words = ScratchSize(second_order) * static_cast<int64_t>(sizeof(T) / sizeof(uint32_t));
  return reinterpret_cast<T*>(workers_[worker]->scratch.Take(words));
}

template <typename T>
void NetworkGemm<T>::Reserve(bool second_order) {
  for (int w = 0; w < static_cast<int>(workers_.size()); ++w) {
    Scratch(second_order, w);
    for (int l = 0; l <= num_hidden_; ++l) {
      for (PreparedFactor<T>* factor : {&workers_[w]->left, &workers_[w]->right}) {
        workers_[w]->products.Reserve(block_atoms_, shape_.layer_inputs(l), factor);
      }
    }
  }
  for (int i = 0; i < num_weights(); ++i) {
    for (PreparedFactor<T>* factor : {&onward_[i], &back_[i]}) {
      workers_[0]->products.Reserve(shape_.layer_outputs(LayerOf(i)), shape_.layer_inputs(LayerOf(i)), factor);
    }
  }
}

template <typename T>
void NetworkGemm<T>::PrepareWeights(int weights, bool back, const T* parameters, int worker) {
  const int l = LayerOf(weights), inputs = shape_.layer_inputs(l);
  const MatrixView<T> w = {parameters + shape_.weight_offset(SpeciesOf(weights), l), shape_.layer_outputs(l), inputs,
                           inputs};
  workers_[worker]->products.Prepare(back ? w : w.Transposed(), FactorSide::kRight,
                                     back ? &back_[weights] : &onward_[weights]);
}

template <typename T>
void NetworkGemm<T>::MoveWeights(const T* parameters) {
  for (int i = 0; i < num_weights(); ++i) {
    onward_[i].matrix.data = back_[i].matrix.data = parameters + shape_.weight_offset(SpeciesOf(i), LayerOf(i));
  }
}

template <typename T>
GemmEpilogue<T> NetworkGemm<T>::Hidden(int l, int n, const T* tile) const {
  T* const at = const_cast<T*>(tile);  // GemmEpilogue is mutable; passes that only read leave the tile as it is
  return {shape_.activation,  n,
          shape_.hidden[l],   stride_[l + 1],
          at + values_at_[l], slopes_at_[l] < 0 ? nullptr : at + slopes_at_[l],
          at + deltas_at_[l], curvatures_at_[l] < 0 ? nullptr : at + curvatures_at_[l]};
}

template <typename T>
void NetworkGemm<T>::Onward(int species, int l, const MatrixView<T>& in, T* out, int worker) {
  Worker* const w = workers_[worker].get();
  w->products.Prepare(in, FactorSide::kLeft, &w->left);
  w->products.Multiply(w->left, onward_[species * num_hidden_ + l], /*add=*/false, out, stride_[l + 1]);
}

template <typename T>
void NetworkGemm<T>::Back(int species, int l, const MatrixView<T>& d_out, T* out, int64_t stride, int worker) {
  Worker* const w = workers_[worker].get();
  w->products.Prepare(d_out, FactorSide::kLeft, &w->left);
  w->products.Multiply(w->left, back_[species * num_hidden_ + l], /*add=*/false, out, stride);
}

template <typename T>
void NetworkGemm<T>::AddOuter(int l, const MatrixView<T>& d_out, const MatrixView<T>& in, T* gradients, int worker) {
  Worker* const w = workers_[worker].get();
  w->products.Prepare(d_out.Transposed(), FactorSide::kLeft, &w->left);
  w->products.Prepare(in, FactorSide::kRight, &w->right);
  w->products.Multiply(w->left, w->right, /*add=*/true, gradients + shape_.weight_offset(0, l), shape_.layer_inputs(l));
}

template <typename T>
void NetworkGemm<T>::Transpose(const T* x, const int64_t* row, int n, T* transposed) const {
  const int64_t f = shape_.num_features;
  for (int64_t a = 0; a < n; ++a) std::copy_n(x + (row == nullptr ? a : row[a]) * f, f, transposed + a * stride_[0]);
}

template <typename T>
void NetworkGemm<T>::Activate(int species, const T* parameters, const T* transposed, int n, bool second_order, T* tile,
                              int worker) {
  const T* in = transposed;
  for (int l = 0; l < num_hidden_; ++l) {
    GemmEpilogue<T> layer = Hidden(l, n, tile);
    if (!second_order) layer.curvatures = nullptr;
    Onward(species, l, Matrix(in, l, n), layer.values, worker);
    ActivateLayer(layer, parameters + shape_.bias_offset(0, l));
    in = layer.values;
  }
  RowDots(in, n, shape_.layer_inputs(num_hidden_), stride_[num_hidden_], WeightsOf(parameters, num_hidden_),
          parameters[shape_.bias_offset(0, num_hidden_)], tile + energies_at_);
}

template <typename T>
void NetworkGemm<T>::Forward(int species, const T* parameters, const T* transposed, int n, T* tile, int worker) {
  Activate(species, parameters, transposed, n, /*second_order=*/false, tile, worker);
}

template <typename T>
void NetworkGemm<T>::Backward(int species, const T* parameters, const T* transposed, int n, const T* tile, T* gradients,
                              T* x_gradients, int worker) {
  const T* const scales = tile + energies_at_;
  const T* const last_weights = WeightsOf(parameters, num_hidden_);
  const int last_inputs = shape_.layer_inputs(num_hidden_);
  const auto inputs_of = [&](int l) { return l == 0 ? transposed : tile + values_at_[l - 1]; };
  if (gradients != nullptr) {
    AddColumnSums(inputs_of(num_hidden_), n, last_inputs, stride_[num_hidden_], scales,
                  gradients + shape_.weight_offset(0, num_hidden_));
    T* const bias = gradients + shape_.bias_offset(0, num_hidden_);
    for (int a = 0; a < n; ++a) *bias += scales[a];
  }
  if (num_hidden_ == 0) {
    for (int a = 0; x_gradients != nullptr && a < n; ++a) {
      for (int i = 0; i < last_inputs; ++i) x_gradients[a * last_inputs + i] = scales[a] * last_weights[i];
    }
    return;
  }
  T* d = Scratch(/*second_order=*/false, worker);
  T* d_before = d + block_atoms_ * *std::max_element(stride_.begin() + 1, stride_.end());
  for (int l = num_hidden_ - 1; l >= 0; --l) {
    GemmEpilogue<T> layer = Hidden(l, n, tile);
    layer.deltas = d;
    layer.curvatures = nullptr;
    l == num_hidden_ - 1 ? OutputSlopesToDeltas(layer, scales, last_weights) : SlopesToDeltas(layer);
    const MatrixView<T> d_out = Matrix(d, l + 1, n);
    if (gradients != nullptr) {
      AddColumnSums(static_cast<const T*>(d), n, layer.width, layer.stride, static_cast<const T*>(nullptr),
                    gradients + shape_.bias_offset(0, l));
      AddOuter(l, d_out, Matrix(inputs_of(l), l, n), gradients, worker);
    }
    if (l > 0) {
      Back(species, l, d_out, d_before, stride_[l], worker);
    } else if (x_gradients != nullptr) {
      Back(species, l, d_out, x_gradients, shape_.num_features, worker);
    }
    std::swap(d, d_before);
  }
}

template <typename T>
void NetworkGemm<T>::ForwardWithInputGradients(int species, const T* parameters, const T* x, int n, T* tile,
                                               T* x_gradients, int worker) {
  const int64_t f = shape_.num_features;
  Transpose(x, nullptr, n, tile);
  Activate(species, parameters, tile, n, /*second_order=*/true, tile, worker);
  const T* const last_weights = WeightsOf(parameters, num_hidden_);
  if (num_hidden_ == 0) {
    for (int a = 0; a < n; ++a) std::copy_n(last_weights, f, x_gradients + a * f);
    return;
  }
  OutputSlopesToDeltas(Hidden(num_hidden_ - 1, n, tile), static_cast<const T*>(nullptr), last_weights);
  for (int l = num_hidden_ - 1; l > 0; --l) {
    const GemmEpilogue<T> before = Hidden(l - 1, n, tile);
    Back(species, l, Matrix(tile + deltas_at_[l], l + 1, n), before.deltas, before.stride, worker);
    SlopesToDeltas(before);
  }
  Back(species, 0, Matrix(tile + deltas_at_[0], 1, n), x_gradients, f, worker);
}

template <typename T>
void NetworkGemm<T>::AddGradients(int species, const T* parameters, int n, const T* slopes, const T* tangents,
                                  const T* tile, T* gradients, T* x_second, int worker) {
  // The scratch holds the tangents of hidden layers, then their mu, then a product.
  T* const scratch = Scratch(/*second_order=*/true, worker);
  const int64_t mu_at = deltas_at_.empty() ? 0 : values_at_.back() + block_atoms_ * stride_.back() - values_at_[0];
  const auto tangent = [&](int l) { return scratch + values_at_[l] - values_at_[0]; };  // offset of hidden layer l
  const auto mu = [&](int l) { return tangent(l) + mu_at; };
  T* const product = scratch + 2 * mu_at;
  const auto tangents_into = [&](int l) {
    if (l > 0) return Matrix(tangent(l - 1), l, n);
    return MatrixView<T>{tangents, n, shape_.num_features, shape_.num_features};
  };
  if (tangents != nullptr) {
    for (int l = 0; l < num_hidden_; ++l) {
      Onward(species, l, tangents_into(l), tangent(l), worker);
      TangentsOfLayer(Hidden(l, n, tile), tangent(l), mu(l));
    }
    for (int l = num_hidden_ - 1; l > 0; --l) {
      Back(species, l, Matrix(mu(l), l + 1, n), product, stride_[l], worker);
      AddReversed(Hidden(l - 1, n, tile), static_cast<const T*>(product), mu(l - 1));
    }
  }
  const T* const none = nullptr;
  T* const last_weights = gradients + shape_.weight_offset(0, num_hidden_);
  if (tangents != nullptr) {
    const MatrixView<T> last = tangents_into(num_hidden_);
    if (num_hidden_ > 0) {
      AddColumnSums(last.data, n, last.columns, last.stride, none, last_weights);
    } else {  // n features per row, not padded as in a tile
      for (int64_t a = 0; a < n; ++a) {
        for (int64_t i = 0; i < last.columns; ++i) last_weights[i] += last.data[a * last.stride + i];
      }
    }
  }
  if (slopes != nullptr) {
    AddColumnSums(num_hidden_ == 0 ? tile : tile + values_at_.back(), n, shape_.layer_inputs(num_hidden_),
                  stride_.back(), slopes, last_weights);
    for (int a = 0; a < n; ++a) gradients[shape_.bias_offset(0, num_hidden_)] += slopes[a];
  }
  for (int l = 0; l < num_hidden_; ++l) {
    const GemmEpilogue<T> layer = Hidden(l, n, tile);
    if (slopes != nullptr) ScaledDeltas(layer, slopes, tangents != nullptr, mu(l));
    AddColumnSums(static_cast<const T*>(mu(l)), n, layer.width, layer.stride, none,
                  gradients + shape_.bias_offset(0, l));
    AddOuter(l, Matrix(mu(l), l + 1, n), l == 0 ? Matrix(tile, 0, n) : Matrix(tile + values_at_[l - 1], l, n),
             gradients, worker);
    if (tangents != nullptr) {
      AddOuter(l, Matrix(layer.deltas, l + 1, n), tangents_into(l), gradients, worker);
    }
  }
  if (x_second == nullptr) return;
  if (num_hidden_ > 0) return Back(species, 0, Matrix(mu(0), 1, n), x_second, shape_.num_features, worker);
  const T* const weights = WeightsOf(parameters, 0);
  for (int64_t a = 0; a < n; ++a) {
    for (int64_t i = 0; i < shape_.num_features; ++i) {
      x_second[a * shape_.num_features + i] = slopes == nullptr ? T(0) : slopes[a] * weights[i];
    }
  }
}

template class NetworkGemm<float>;
template class NetworkGemm<double>;

}  // namespace rutile
