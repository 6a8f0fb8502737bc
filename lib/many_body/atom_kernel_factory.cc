#include "lib/many_body/atom_kernel_factory.h"

#include "absl/strings/string_view.h"
#include "lib/base/random.h"
#include "lib/many_body/layered_kernel.h"
#include "lib/many_body/many_body_kernel.h"
#include "lib/network/network_init.h"
#include "lib/network/network_kernel.h"

namespace rutile {

template <typename T>
std::unique_ptr<AtomKernel<T>> MakeAtomKernel(const NetworkShape& shape, ThreadPool* pool) {
  if (shape.has_messages()) return std::make_unique<LayeredKernel<T>>(shape, pool);
  if (shape.has_moments()) return std::make_unique<ManyBodyKernel<T>>(shape, pool);
  return std::make_unique<NetworkKernel<T>>(shape, pool);
}

template std::unique_ptr<AtomKernel<float>> MakeAtomKernel(const NetworkShape& shape, ThreadPool* pool);
template std::unique_ptr<AtomKernel<double>> MakeAtomKernel(const NetworkShape& shape, ThreadPool* pool);

namespace {

// Returns the parameters of both layers and the message weights between them, which are of the order of 1.
std::vector<double> InitialLayers(const NetworkShape& shape, uint64_t seed) {
  const NetworkShape first = shape.FirstLayer(), second = shape.SecondLayer();
  const std::vector<double> of_first = InitialAtomParameters(first, seed);
  // The second layer draws other numbers than the first.
  const std::vector<double> of_second = InitialAtomParameters(second, RandomStream(seed, "second_layer").Next());
  std::vector<double> parameters;
  parameters.reserve(shape.num_parameters());
  for (int species = 0; species < shape.num_species; ++species) {
    const auto append = [&](const std::vector<double>& layer, int64_t count) {
      parameters.insert(parameters.end(), layer.begin() + species * count, layer.begin() + (species + 1) * count);
    };
    append(of_first, first.parameters_per_species());
    RandomStream stream(seed, "many_body_messages", species), vectors(seed, "many_body_vectors", species);
    while (static_cast<int64_t>(parameters.size()) < shape.vector_offset(species)) {
      parameters.push_back(stream.Normal());
    }
    while (static_cast<int64_t>(parameters.size()) < shape.second_layer_offset(species)) {
      parameters.push_back(vectors.Normal());
    }
    append(of_second, second.parameters_per_species());
  }
  return parameters;
}

}  // namespace

std::vector<double> InitialAtomParameters(const NetworkShape& shape, uint64_t seed) {
  if (shape.has_messages()) return InitialLayers(shape, seed);
  const std::vector<double> networks = InitialNetworkParameters(shape.Networks(), seed);
  if (!shape.has_moments()) return networks;
  const int64_t per_network = shape.Networks().parameters_per_species();
  std::vector<double> parameters;
  parameters.reserve(shape.num_parameters());
  for (int species = 0; species < shape.num_species; ++species) {
    const auto append = [&](absl::string_view group, int64_t end, double deviation) {
      RandomStream stream(seed, group, species);
      while (static_cast<int64_t>(parameters.size()) < end) parameters.push_back(deviation * stream.Normal());
    };
    append("many_body_radial", shape.product_offset(species), 1);
    append("many_body_products", shape.linear_offset(species), 1.0 / shape.moments.num_products());
    append("many_body_linear", shape.weight_offset(species, 0), 1);
    const auto network = networks.begin() + species * per_network;
    parameters.insert(parameters.end(), network, network + per_network);
  }
  return parameters;
}

}  // namespace rutile
