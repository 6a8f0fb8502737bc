// The radial functions of a layer: the MLP of a distance, with derivatives by the distance, for blocks of pairs.

#ifndef RUTILE_LIB_MACE_RADIAL_NETWORK_H_
#define RUTILE_LIB_MACE_RADIAL_NETWORK_H_

#include <cstdint>
#include <vector>

#include "lib/mace/mace_model.h"
#include "lib/machine/aligned_buffer.h"

namespace rutile {

// One thread at a time may use an object.
class RadialNetwork {
 public:
  // stride: channels in memory, K padded with zeros. model must outlive the object.
  RadialNetwork(const MaceModel& model, const MaceLayer& layer, int64_t stride);

  // Computes R [n, L + 1, stride] at n distances in Angstrom and, unless slope is null, dR/dr; both are overwritten.
  // A row has the same bits whatever other rows are computed.
  void Compute(const double* distance, int64_t n, double* value, double* slope);

 private:
  struct Matrix {
    int64_t rows, columns;
    AlignedBuffer<double> values;
  };

  // Computes phi and, unless slope is null, its derivative: [n, N].
  void Basis(const double* distance, int64_t n, double* value, double* slope) const;

  const MaceModel& model_;
  std::vector<Matrix> matrices_;
  AlignedBuffer<double> inputs_, outputs_;  // values of a block and, below them, slopes
};

}  // namespace rutile

#endif  // RUTILE_LIB_MACE_RADIAL_NETWORK_H_
