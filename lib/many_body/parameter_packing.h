// Where ManyBodyKernel has the parameters of a species, in the layout that its passes want.

#ifndef RUTILE_LIB_MANY_BODY_PARAMETER_PACKING_H_
#define RUTILE_LIB_MANY_BODY_PARAMETER_PACKING_H_

#include <cstdint>

#include "lib/many_body/moment_passes.h"
#include "lib/network/network_shape.h"

namespace rutile {

// Where the parameters of a layer are among those of a model: those of species s begin at first + s * stride.
struct SpeciesPlaces {
  int64_t first = 0, stride = 0;
};

// Packs parameters with the factors of the formulas, channels padded to whole cache lines, and unpacks gradients. T is
// float or double.
template <typename T>
class ParameterPacking {
 public:
  // The coefficients of one species: C [max_l + 1, N, K] at `radial`, w [P, K], v [K], and C as FeatureSlopesOfBlock
  // wants it at `back`. Gradients are like them, without `back`.
  struct Places {
    int64_t radial = 0, product, linear, gradients_size, back, size;
  };

  // shape: of one layer, with moments.
  explicit ParameterPacking(const NetworkShape& shape);

  const MomentSizes& sizes() const { return sizes_; }
  const Places& places() const { return places_; }
  // The networks, whose inputs are the padded channels.
  const NetworkShape& networks() const { return networks_; }

  // Packs the parameters of a species. coefficients: [places().size] whose padding is 0 and stays so;
  // network_parameters: of all species, in the layout of networks(), likewise.
  void Pack(int species, const T* of_species, T* coefficients, T* network_parameters) const;

  // Adds the gradients of a species to `of_species`. packed: [places().gradients_size], without the factors of the
  // formulas; network_gradients: of all species, in the layout of networks().
  void AddGradients(int species, const T* packed, const T* network_gradients, T* of_species) const;

 private:
  const NetworkShape shape_;
  const MomentSizes sizes_;
  const NetworkShape networks_;
  Places places_;
};

extern template class ParameterPacking<float>;
extern template class ParameterPacking<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_MANY_BODY_PARAMETER_PACKING_H_
