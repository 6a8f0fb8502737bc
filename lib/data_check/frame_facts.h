// Summarizes one structure by the few numbers that checks of a data set compare.

#ifndef RUTILE_LIB_DATA_CHECK_FRAME_FACTS_H_
#define RUTILE_LIB_DATA_CHECK_FRAME_FACTS_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/structure/structure.h"

namespace rutile {

// The set that a structure belongs to. kAll: the data is not split.
enum class DataPart : uint8_t { kAll, kTrain, kValidation, kTest };

// Returns "", "training", "validation" or "test".
absl::string_view DataPartName(DataPart part);

struct FrameFacts {
  std::string name;
  DataPart part = DataPart::kAll;
  int64_t atoms = 0;
  std::vector<std::pair<uint8_t, int32_t>> composition;  // atomic number and count, in rising order
  double volume_per_atom = 0;                            // Angstrom^3; 0 unless periodic in three directions
  std::optional<double> energy;                          // eV, total
  std::optional<double> largest_force;                   // eV/Angstrom, the largest |component|
  std::optional<double> largest_stress;                  // eV/Angstrom^3, the largest |component|
  // Number of atoms whose force is exactly (0, 0, 0) though their neighbors are not arranged symmetrically.
  int64_t unexplained_zero_forces = 0;
  // Nearest distance in Angstrom; infinite if no atoms are within FrameExaminer::kFar of each other, and 0 if they are
  // nearer than the neighbor search accepts.
  double nearest = std::numeric_limits<double>::infinity();
  // The smallest distance divided by the sum of the covalent radii of the pair, and that pair.
  double nearest_share = std::numeric_limits<double>::infinity();
  uint8_t nearest_a = 0, nearest_b = 0;  // atomic numbers; 0 without a pair
  // True if all coordinates lie between 0 and 1, though each lattice vector is longer than 2.5 Angstrom.
  bool in_unit_box = false;
  // True for one atom that is isolated by its config type, or has no image within FrameExaminer::kFar.
  bool is_isolated_atom = false;
  // Hash of elements, positions, cell and periodicity, rounded to 1e-6 Angstrom: equal for equal structures.
  uint64_t geometry = 0;
  std::string energy_key, force_key;  // the names under which the file has them; "" if the format has no names

  double energy_per_atom() const { return *energy / static_cast<double>(atoms); }
};

// Returns "Ti2O4" for the composition, elements in the order of their atomic numbers.
std::string CompositionText(const FrameFacts& facts);

// Sets all members of `facts` but those of distances and neighbors, and `part`.
void ExamineWithoutDistances(const Structure& structure, FrameFacts* facts);

// Computes FrameFacts, reusing its scratch memory from structure to structure. Use one object per thread.
class FrameExaminer {
 public:
  static constexpr double kFar = 6.5;  // Angstrom
  FrameExaminer();

  // Sets all members of `facts` except `part`.
  void Examine(const Structure& structure, FrameFacts* facts);

 private:
  void FindNearest(const Structure& structure, FrameFacts* facts);
  void CountZeroForces(const Structure& structure, FrameFacts* facts);

  NeighborSearch near_, far_;
  NeighborList list_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_DATA_CHECK_FRAME_FACTS_H_
