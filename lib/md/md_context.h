// Computes energies and forces step after step, with neighbors that are found here or by the caller: what a
// rutile_context of the C interface holds. rutile.h says what arguments mean.

#ifndef RUTILE_LIB_MD_MD_CONTEXT_H_
#define RUTILE_LIB_MD_MD_CONTEXT_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/md/md_model.h"
#include "lib/md/rutile.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/potential/influence/curvature/uncertainty.h"
#include "lib/potential/prediction/force_predictor.h"
#include "lib/structure/structure.h"

namespace rutile {

// Returns the neighbors of an atom, as entries of the caller's list, valid until the next call.
using NeighborsOf = std::function<absl::StatusOr<absl::Span<const int>>(int atom)>;

// One thread at a time may use an object; memory grows to that of the largest structure and is reused. Whatever the
// caller can get wrong is INVALID_ARGUMENT, and results that are not finite are INTERNAL; atoms are counted from 1 in
// messages. After an error no output has been written.
class MdContext {
 public:
  explicit MdContext(std::shared_ptr<const MdModel> model);

  const MdModel& model() const { return *model_; }

  // cell, pbc: as in rutile.h, not null.
  absl::Status ComputeCell(absl::Span<const int> species, const double* positions, const Matrix3& cell,
                           const std::array<bool, 3>& pbc, const rutile_outputs& outputs);

  // exchange: null, or how messages of a potential of two layers come from other processes; it has rows for the atoms
  // of the caller, in their order. Potentials of one layer ignore it.
  absl::Status ComputeList(absl::Span<const int> species, const double* positions, absl::Span<const int> centers,
                           const NeighborsOf& neighbors, int mask, MessageExchange* exchange,
                           const rutile_outputs& outputs);

 private:
  class PlacedExchange;

  // Puts centers first, then the other atoms that the model knows, into order_, place_ and structure_.
  absl::Status OrderAtoms(absl::Span<const int> species, const double* positions, absl::Span<const int> centers);
  // Appends the pairs of the atoms order_[begin] to order_[end - 1] to pairs_.
  absl::Status CollectPairs(int64_t begin, int64_t end, const NeighborsOf& neighbors, int mask);
  // Checks that of two atoms with lists either is in the other's.
  absl::Status CheckFull() const;
  // Moves the neighbors of centers behind these, and collects their pairs. Their lists must have the centers.
  absl::Status CollectSenders(const NeighborsOf& neighbors, int mask);
  // Appends the pairs of the center order_[row].
  absl::Status AppendPairs(int64_t row, absl::Span<const int> entries, int mask);
  // Returns the error that names a neighbor of the center which is too near.
  absl::Status TooNear(int64_t row) const;
  // Checks that no neighbor of the center is listed twice.
  absl::Status CheckTwice(int64_t row);
  // Predicts from structure_ and pairs_, checks, and writes results of order_[k] to place order_[k] of atoms. shift:
  // lattice shifts of the pairs.
  absl::Status Predict(int64_t num_centers, const int16_t* shift, MessageExchange* exchange,
                       const rutile_outputs& outputs);
  // Computes the deviations that are asked for, if any.
  absl::Status PredictDeviations(const StructureGeometry& geometry, const rutile_outputs& outputs);
  absl::Status CheckFinite() const;
  void Write(int64_t num_centers, const Matrix3& virial, const rutile_outputs& outputs) const;

  const std::shared_ptr<const MdModel> model_;
  ForcePredictor predictor_;
  std::unique_ptr<UncertaintyPredictor> deviations_;  // null until it is asked for
  StructureUncertainty deviation_;
  NeighborSearch search_;
  // The atoms that take part, N of them. Elements are species indices here, as only their number is looked at.
  Structure structure_;
  NeighborList pairs_;
  std::vector<int16_t> no_shift_;  // zeros, three for each pair
  std::vector<int32_t> last_row_;  // [N] the last center that had the atom as a neighbor, or -1
  std::vector<int32_t> order_;     // [N] numbers that the caller gave the atoms
  std::vector<int32_t> place_;     // [caller's atoms] index into order_, or -1
  std::vector<int32_t> row_of_;    // [centers] index into order_ of the caller's center, or -1 if it was left out
  int64_t num_callers_atoms_ = 0;
  AtomicPrediction prediction_;
  std::vector<double> atom_virial_;            // [N, 9], empty if not asked for
  mutable std::vector<double> member_forces_;  // [3N]
};

}  // namespace rutile

#endif  // RUTILE_LIB_MD_MD_CONTEXT_H_
