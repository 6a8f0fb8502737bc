#include "lib/mace/mace_testing.h"

#include <cmath>
#include <random>

namespace rutile {

MaceModel RandomMace(const MaceTestShape& shape, uint64_t seed) {
  std::mt19937_64 engine(seed);
  const auto random = [&engine](int64_t count, double size) {
    std::vector<double> values(count);
    for (double& v : values) v = size * (static_cast<double>(engine() >> 11) / 4503599627370496.0 - 1);
    return values;
  };
  MaceModel model;
  model.neighborhood.species = shape.species;
  model.neighborhood.cutoff = shape.cutoff;
  model.neighborhood.num_radial = shape.num_radial;
  model.neighborhood.max_l = shape.max_l;
  model.neighborhood.min_cutoff = 0;
  model.channels = shape.channels;
  const int64_t s = model.num_species(), k = shape.channels, num_l = shape.max_l + 1;
  model.atomic_energies = random(s, 3);
  model.scale = 0.7;
  model.shift = 0.1;
  for (int n = 1; n <= shape.num_radial; ++n) model.frequency.push_back(n * 3.14159265358979323846 / shape.cutoff);
  const double of_channels = 1.7 / std::sqrt(static_cast<double>(k));
  for (int t = 0; t < shape.num_layers; ++t) {
    MaceLayer layer;
    const bool residual = t > 0 || shape.residual_first;
    layer.up = random(t == 0 ? s * k : k * k, t == 0 ? 1 : of_channels);
    layer.radial = {random(shape.num_radial * 5, 1), random(5 * 6, 1.2), random(6 * num_l * k, 1)};
    layer.mix = random((residual ? 1 : s) * num_l * k * k, of_channels);
    layer.product = random(s * k * model.num_products(), 0.7);
    layer.linear = random(k * k, of_channels);
    if (residual) layer.skip = random(t == 0 ? s * k : s * k * k, t == 0 ? 1 : of_channels);
    if (t == 0) {
      layer.readout = random(k, of_channels);
    } else {
      layer.readout_hidden = random(k * 3, of_channels);
      layer.readout_out = random(3, 1);
    }
    model.layers.push_back(layer);
  }
  return model;
}

}  // namespace rutile
