// The radial functions of a layer as splines, in place of the MLP: for molecular dynamics, most of whose time the MLP
// takes. Between equidistant knots a function is the polynomial of fifth degree with the MLP's value and first two
// derivatives at either knot (quintic Hermite interpolation), so that forces are the exact gradient of a smooth energy.
// With knots h apart, the value of a function is off by at most h^6 / 46080 times its largest sixth derivative.

#ifndef RUTILE_LIB_MACE_RADIAL_SPLINES_H_
#define RUTILE_LIB_MACE_RADIAL_SPLINES_H_

#include <cstdint>

#include "lib/mace/mace_model.h"
#include "lib/mace/radial_network.h"
#include "lib/machine/aligned_buffer.h"

namespace rutile {

// One thread at a time may use an object. Knots take 24 bytes for each function.
class RadialSplines {
 public:
  // network: the MLP of a layer, which must outlive the object. functions: how many numbers the MLP gives for one
  // distance, a multiple of 8. cutoff: Angstrom. num_knots: 2 or more, from kFirstKnot to the cutoff.
  RadialSplines(RadialNetwork* network, int64_t functions, double cutoff, int num_knots);

  // Nearer than this, in Angstrom, the MLP itself is computed: atoms of a simulation do not come there.
  static constexpr double kFirstKnot = 0.25;

  // Computes value [n, functions] at n distances in Angstrom and, unless slope is null, the derivatives by distance,
  // [n, functions]; both are overwritten, as by RadialNetwork::Compute.
  void Compute(const double* distance, int64_t n, double* value, double* slope) const;

 private:
  RadialNetwork* const network_;
  const int64_t functions_, num_knots_;
  const double step_;            // between knots, Angstrom
  AlignedBuffer<double> knots_;  // [knots, 3, functions] value, slope and second derivative
};

// How far the splines of a model are from its MLPs: the largest difference of any radial function of any layer,
// relative to the largest value of all functions of that layer; and of slopes, relative to the largest slope.
struct SplineError {
  double value = 0, slope = 0;
};

// Compares at seven places between any two of `num_knots` knots.
SplineError MeasureSplines(const MaceModel& model, int num_knots);

}  // namespace rutile

#endif  // RUTILE_LIB_MACE_RADIAL_SPLINES_H_
