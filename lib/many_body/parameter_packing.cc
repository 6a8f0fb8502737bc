#include "lib/many_body/parameter_packing.h"

#include <algorithm>
#include <cmath>

#include "lib/base/round_up.h"
#include "lib/machine/aligned_buffer.h"

namespace rutile {
namespace {

template <typename T>
int Padded(int count) {
  return static_cast<int>(RoundUp(count, kBufferAlignment / static_cast<int64_t>(sizeof(T))));
}

template <typename T>
MomentSizes SizesOf(const NetworkShape& shape) {
  const int rows = shape.num_sources() * shape.moments.num_radial;
  return {shape.moments.max_l, rows, Padded<T>(shape.moments.channels), Padded<T>(rows)};
}

// Rows and channels that a transposition takes together: their cache lines on both sides stay in the first level.
constexpr int64_t kTile = 16;

// Calls f(row, channel) for all rows and channels, tile by tile. Along::kRows has rows in the innermost loop.
enum class Along { kRows, kChannels };
template <Along along, typename F>
void ForTiles(int64_t rows, int64_t channels, const F& f) {
  for (int64_t k0 = 0; k0 < channels; k0 += kTile) {
    const int64_t k1 = std::min(k0 + kTile, channels);
    for (int64_t r0 = 0; r0 < rows; r0 += kTile) {
      const int64_t r1 = std::min(r0 + kTile, rows);
      if constexpr (along == Along::kRows) {
        for (int64_t k = k0; k < k1; ++k) {
          for (int64_t r = r0; r < r1; ++r) f(r, k);
        }
      } else {
        for (int64_t r = r0; r < r1; ++r) {
          for (int64_t k = k0; k < k1; ++k) f(r, k);
        }
      }
    }
  }
}

NetworkShape PaddedNetworks(const NetworkShape& shape, int channels) {
  NetworkShape networks = shape.Networks();
  networks.num_features = channels;
  return networks;
}

}  // namespace

template <typename T>
ParameterPacking<T>::ParameterPacking(const NetworkShape& shape)
    : shape_(shape), sizes_(SizesOf<T>(shape)), networks_(PaddedNetworks(shape, sizes_.channels)) {
  const int64_t coefficients = int64_t{sizes_.max_l + 1} * sizes_.channels;
  places_.product = places_.radial + coefficients * sizes_.num_rows;
  places_.linear = places_.product + int64_t{shape.moments.num_products()} * sizes_.channels;
  places_.gradients_size = places_.back = places_.linear + sizes_.channels;
  places_.size = places_.back + coefficients * sizes_.padded_rows;
}

template <typename T>
void ParameterPacking<T>::Pack(int species, const T* of_species, T* out, T* network_parameters) const {
  const int64_t k_count = shape_.moments.channels, num_rows = sizes_.num_rows, num_l = sizes_.max_l + 1;
  const int64_t channels = sizes_.channels, num_products = shape_.moments.num_products();
  const T factor = static_cast<T>(1 / std::sqrt(static_cast<double>(num_rows)));
  for (int64_t l = 0; l < num_l; ++l) {
    const T* const c = of_species + shape_.radial_offset(0) + l * num_rows;  // [k, l, row]
    T* const onward = out + places_.radial + l * num_rows * channels;
    T* const back = out + places_.back + l * channels * sizes_.padded_rows;
    for (int64_t k = 0; k < k_count; ++k) {
      for (int64_t row = 0; row < num_rows; ++row) {
        back[k * sizes_.padded_rows + row] = factor * c[k * num_l * num_rows + row];
      }
    }
    ForTiles<Along::kChannels>(num_rows, k_count, [&](int64_t row, int64_t k) {
      onward[row * channels + k] = back[k * sizes_.padded_rows + row];
    });
  }
  const T* const w = of_species + shape_.product_offset(0);
  const T* const v = of_species + shape_.linear_offset(0);
  const T linear_factor = static_cast<T>(1 / std::sqrt(static_cast<double>(k_count)));
  for (int64_t k = 0; k < k_count; ++k) {
    for (int64_t p = 0; p < num_products; ++p) out[places_.product + p * channels + k] = w[k * num_products + p];
    out[places_.linear + k] = linear_factor * v[k];
  }
  // The first layer's weights of padded channels stay 0; all else is as in the caller's parameters.
  const T* in = of_species + shape_.weight_offset(0, 0);
  T* network = network_parameters + networks_.weight_offset(species, 0);
  for (int o = 0; o < shape_.layer_outputs(0); ++o) std::copy_n(in + o * k_count, k_count, network + o * channels);
  const int64_t rest = shape_.bias_offset(0, 0), end = shape_.parameters_per_species();
  std::copy(of_species + rest, of_species + end, network_parameters + networks_.bias_offset(species, 0));
}

template <typename T>
void ParameterPacking<T>::AddGradients(int species, const T* packed, const T* network_gradients, T* of_species) const {
  const int64_t k_count = shape_.moments.channels, num_rows = sizes_.num_rows, num_l = sizes_.max_l + 1;
  const int64_t channels = sizes_.channels, num_products = shape_.moments.num_products();
  const T factor = static_cast<T>(1 / std::sqrt(static_cast<double>(num_rows)));
  for (int64_t l = 0; l < num_l; ++l) {
    T* const c = of_species + shape_.radial_offset(0) + l * num_rows;  // [k, l, row]
    const T* const in = packed + places_.radial + l * num_rows * channels;
    ForTiles<Along::kRows>(num_rows, k_count, [&](int64_t row, int64_t k) {
      c[k * num_l * num_rows + row] += factor * in[row * channels + k];
    });
  }
  T* const w = of_species + shape_.product_offset(0);
  T* const v = of_species + shape_.linear_offset(0);
  const T linear_factor = static_cast<T>(1 / std::sqrt(static_cast<double>(k_count)));
  for (int64_t k = 0; k < k_count; ++k) {
    for (int64_t p = 0; p < num_products; ++p) w[k * num_products + p] += packed[places_.product + p * channels + k];
    v[k] += linear_factor * packed[places_.linear + k];
  }
  T* out = of_species + shape_.weight_offset(0, 0);
  const T* network = network_gradients + networks_.weight_offset(species, 0);
  for (int o = 0; o < shape_.layer_outputs(0); ++o) {
    for (int64_t k = 0; k < k_count; ++k) out[o * k_count + k] += network[o * channels + k];
  }
  out = of_species + shape_.bias_offset(0, 0);
  network = network_gradients + networks_.bias_offset(species, 0);
  const int64_t rest = shape_.parameters_per_species() - shape_.bias_offset(0, 0);
  for (int64_t i = 0; i < rest; ++i) out[i] += network[i];
}

template class ParameterPacking<float>;
template class ParameterPacking<double>;

}  // namespace rutile
