// The functions of the neighbors of one atom, as rows for matrix products, and what follows from them: the SIMD part of
// MessageMoments.
//
// n is the number of neighbors, of all species, N that of radial functions, H = (L + 1)^2 that of harmonics. A row has
// `width` numbers: function (n, l m) of a neighbor at n H + l l + l + m, and zeros behind them.

#ifndef RUTILE_LIB_DESCRIPTOR_KERNELS_MOMENTS_MESSAGE_EDGES_H_
#define RUTILE_LIB_DESCRIPTOR_KERNELS_MOMENTS_MESSAGE_EDGES_H_

#include <cstdint>
#include <vector>

#include "lib/descriptor/kernels/moments/moment_tables.h"
#include "lib/machine/aligned_buffer.h"

namespace rutile {

template <typename T>
struct MessageEdges {
  int64_t count = 0;                           // n
  int64_t stride = 0;                          // n in whole vectors
  std::vector<int32_t> j;                      // [n]
  AlignedBuffer<T> x, y, z, r;                 // [stride] r_ij as a unit vector, and its length
  AlignedBuffer<T> phi, phi_slope;             // [N, stride]
  AlignedBuffer<T> harmonics;                  // [stride, tables.row]
  AlignedBuffer<T> slope_x, slope_y, slope_z;  // [stride, tables.row] derivatives of harmonics by r_ij
};

// Returns the width of rows: (N - 1) H + tables.row in whole kMomentRowUnit.
template <typename T>
int64_t MessageRowWidth(const MomentTables<T>& tables);

// Fills *edges for atom i; with `slopes` the derivatives, too.
template <typename T>
void FindMessageEdges(const MomentTables<T>& tables, const MomentView<T>& all, int64_t i, bool slopes,
                      MessageEdges<T>* edges);

// Computes rows [n, width]: phi_n Y_lm.
template <typename T>
void MessageRows(const MomentTables<T>& tables, const MessageEdges<T>& edges, T* rows);

// Computes rows [n, width]: the derivatives of phi_n Y_lm as r_ij changes by change [n, 3].
template <typename T>
void MessageRowChanges(const MomentTables<T>& tables, const MessageEdges<T>& edges, const T* change, T* rows);

// Computes force [n, 3], the derivative by r_ij of sum over functions of q phi_n Y_lm. q: [n, width].
template <typename T>
void MessageForces(const MomentTables<T>& tables, const MessageEdges<T>& edges, const T* q, T* force);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_KERNELS_MOMENTS_MESSAGE_EDGES_H_
