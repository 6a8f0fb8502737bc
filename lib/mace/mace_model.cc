#include "lib/mace/mace_model.h"

#include "lib/many_body/product_table.h"

namespace rutile {

int MaceModel::num_products() const {
  return 2 + neighborhood.max_l + static_cast<int>(CubicProducts(neighborhood.max_l).size());
}

int64_t MaceFlop(const MaceModel& model, int64_t atoms, int64_t pairs, bool forces) {
  const int64_t k = model.channels, harmonics = model.neighborhood.num_harmonics();
  int64_t flop = 0;
  for (const MaceLayer& layer : model.layers) {
    int64_t network = 0;
    for (const std::vector<double>& matrix : layer.radial) network += 2 * static_cast<int64_t>(matrix.size());
    if (model.radial_splines > 0) network = 12 * (model.neighborhood.max_l + 1) * k;
    // Forces need the network's values once more, and their slopes; the sums are gone through in both directions.
    flop += pairs * ((forces ? 3 : 1) * network + (forces ? 4 : 1) * 2 * harmonics * k);
    flop += atoms * (forces ? 2 : 1) * (2 * harmonics * k * k + 4 * k * k);
  }
  return flop;
}

}  // namespace rutile
