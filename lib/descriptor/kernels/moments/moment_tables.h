// Constants of the moment kernels, and the neighbors that they run over.

#ifndef RUTILE_LIB_DESCRIPTOR_KERNELS_MOMENTS_MOMENT_TABLES_H_
#define RUTILE_LIB_DESCRIPTOR_KERNELS_MOMENTS_MOMENT_TABLES_H_

#include <cstdint>
#include <vector>

#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/descriptor/moment_options.h"
#include "lib/machine/aligned_buffer.h"

namespace rutile {

// The highest degree of harmonics, and the most radial functions and terms of the envelope.
inline constexpr int kMaxMomentL = 4, kMaxMomentRadial = 32, kMaxMomentEnvelope = 16;

// Rows of harmonics are padded to whole vectors of any width.
inline constexpr int kMomentRowUnit = 16;

// T is the type of the arithmetic.
template <typename T>
struct MomentTables {
  // CHECK-fails when the options are not valid.
  explicit MomentTables(const MomentOptions& options);

  int num_species, num_radial, max_l, num_harmonics, num_features;
  int row;  // num_harmonics in whole kMomentRowUnit
  bool is_bessel;
  double cutoff_square, min_square;
  T cutoff, inverse_cutoff;

  // f = (1 - x)^3 sum over k < p of series[k] x^k, all of whose terms are positive: nothing cancels near the cutoff.
  int envelope;
  T series[kMaxMomentEnvelope];
  T envelope_slope;  // df/dr = envelope_slope x^(p - 1) (1 - x)^2
  T bessel_norm;     // sqrt(2 / R)

  // Y_lm is q_lm(y) Re or Im (z + ix)^m; q_lm = up[l][m] y q_{l-1,m} - down[l][m] q_{l-2,m} from q_mm = first[m], and
  // dq_lm/dy = slope[l][m] q_{l,m+1}.
  T first[kMaxMomentL + 1];
  T up[kMaxMomentL + 1][kMaxMomentL + 1], down[kMaxMomentL + 1][kMaxMomentL + 1];
  T slope[kMaxMomentL + 1][kMaxMomentL + 1];
};

// The neighbors of one species of one atom: elements [begin, begin + count), followed by padding to whole vectors,
// which lies beyond the cutoff and adds exactly nothing.
struct MomentBlock {
  int64_t begin;
  int32_t count;
};

// A view of the neighbors of a structure of N atoms with S species.
template <typename T>
struct MomentView {
  int64_t num_elements = 0;
  const MomentBlock* block = nullptr;  // [N, S]
  const T *x = nullptr, *y = nullptr;  // [elements] r_ij as a unit vector
  const T *z = nullptr, *r = nullptr;  // r: its length
  const int32_t* j = nullptr;          // [elements]; N in the padding
};

template <typename T>
struct MomentNeighbors : DescriptorDerivatives<T>::State {
  int lanes = 0;  // of the instruction set that Features ran on
  int64_t num_atoms = 0, num_centers = 0;
  MomentView<T> all;  // views the arrays below, or a MomentSnapshot of the structure
  std::vector<MomentBlock> block;
  AlignedBuffer<T> x, y, z, r;
  AlignedBuffer<int32_t> j;

  // This is scratch memory. Lists of the neighbors of one atom, species by species:
  std::vector<int32_t> found;  // [S]
  AlignedBuffer<T> found_x, found_y, found_z;
  AlignedBuffer<int32_t> found_j;
  // Functions of the neighbors of one species: [N, elements] phi, then phi' dr; [elements, row] Y, then dY.
  AlignedBuffer<T> radial, rows;
  AlignedBuffer<T> vector4;  // [N + 1, 4] directions, or [N + 1, 4, 4] forces
};

// A copy of the neighbors in one piece of memory: 20 bytes an element (36 in fp64).
template <typename T>
class MomentSnapshot : public DescriptorDerivatives<T>::Snapshot {
 public:
  MomentSnapshot(const MomentNeighbors<T>& state, int num_species);

  int64_t bytes() const override { return static_cast<int64_t>(sizeof(*this)) + memory_.size(); }
  int lanes() const { return lanes_; }
  int64_t num_atoms() const { return num_atoms_; }
  const MomentView<T>& view() const { return view_; }

 private:
  const int lanes_;
  const int64_t num_atoms_;
  AlignedBuffer<char> memory_;
  MomentView<T> view_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_KERNELS_MOMENTS_MOMENT_TABLES_H_
