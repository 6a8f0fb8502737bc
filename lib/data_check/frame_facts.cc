#include "lib/data_check/frame_facts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "lib/structure/cell.h"
#include "lib/structure/covalent_radii.h"
#include "lib/structure/element.h"
#include "lib/structure/label_filter.h"

namespace rutile {
namespace {

// Half of the largest sum of two radii: pairs at less than half of their radii are all within it.
constexpr double kNear = kLargestCovalentRadius;
// A share that a pair beyond kNear could not undercut by much; above it the wider search decides.
constexpr double kTypical = 1.1;
constexpr double kShortestUnsuspiciousVector = 2.5;  // Angstrom; no crystal of several atoms has a smaller cell

NeighborOptions VectorsOnly() {
  NeighborOptions options;
  options.shifts = false;
  return options;
}

// Hashes whole numbers by FNV-1a, eight bytes at a time.
class Hash {
 public:
  void Add(int64_t value) {
    for (int byte = 0; byte < 8; ++byte) {
      hash_ = (hash_ ^ static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * byte))) * 1099511628211u;
    }
  }
  void AddRounded(absl::Span<const double> values) {
    // Beyond the range of int64_t the value itself is no length, and any number does.
    for (const double value : values) Add(std::abs(value) < 1e12 ? std::llround(value * 1e6) : 0);
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 14695981039346656037u;
};

// Above it, an atom's neighbors are not arranged symmetrically: the share of the vectors to them that does not cancel.
// A displacement of 0.01 Angstrom from a site of high symmetry leaves about 0.002, and coordinates that are rounded to
// 1e-5 Angstrom leave 1e-5.
constexpr double kAsymmetry = 1e-3;

bool HasZeroForce(const Structure& structure, int64_t i) {
  const double* const force = &structure.force[3 * i];
  return force[0] == 0 && force[1] == 0 && force[2] == 0;
}

double LargestMagnitude(absl::Span<const double> values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

bool IsInUnitBox(const Structure& structure) {
  if (structure.size() < 2) return false;
  for (int i = 0; i < 3; ++i) {
    const double* const row = &structure.cell[3 * i];
    if (!structure.pbc[i] || std::hypot(row[0], row[1], row[2]) < kShortestUnsuspiciousVector) return false;
  }
  return std::all_of(structure.position.begin(), structure.position.end(),
                     [](double x) { return x >= -1e-6 && x <= 1 + 1e-6; });
}

}  // namespace

absl::string_view DataPartName(DataPart part) {
  static constexpr absl::string_view kNames[] = {"", "training", "validation", "test"};
  return kNames[static_cast<int>(part)];
}

std::string CompositionText(const FrameFacts& facts) {
  std::string text;
  for (const auto& [element, count] : facts.composition) {
    absl::StrAppend(&text, ElementSymbol(element), count == 1 ? std::string() : absl::StrCat(count));
  }
  return text;
}

FrameExaminer::FrameExaminer() : near_(kNear, VectorsOnly()), far_(kFar, VectorsOnly()) {}

void FrameExaminer::FindNearest(const Structure& structure, FrameFacts* facts) {
  for (NeighborSearch* const search : {&near_, &far_}) {
    facts->nearest = facts->nearest_share = std::numeric_limits<double>::infinity();
    facts->nearest_a = facts->nearest_b = 0;
    if (!search->Compute(structure, &list_).ok()) {
      facts->nearest = facts->nearest_share = 0;
      return;
    }
    for (int64_t i = 0; i < structure.size(); ++i) {
      const double radius = CovalentRadius(structure.element[i]);
      for (int64_t p = list_.offset[i]; p < list_.offset[i + 1]; ++p) {
        const uint8_t other = structure.element[list_.j[p]];
        const double distance = std::hypot(list_.dx[p], list_.dy[p], list_.dz[p]);
        const double share = distance / (radius + CovalentRadius(other));
        facts->nearest = std::min(facts->nearest, distance);
        if (share >= facts->nearest_share) continue;
        facts->nearest_share = share;
        facts->nearest_a = structure.element[i];
        facts->nearest_b = other;
      }
    }
    if (facts->nearest_share < kTypical) return;
  }
}

// A force vanishes by symmetry at a site whose symmetry leaves no direction distinguished. There, any sum of vectors to
// neighbors with weights by distance and element vanishes, too. This one is over Z w r/|r|, w = (1 - |r|/kFar)^2 /
// |r|^4, so that near neighbors, which move a force most, decide, and atoms at kFar enter smoothly.
void FrameExaminer::CountZeroForces(const Structure& structure, FrameFacts* facts) {
  facts->unexplained_zero_forces = 0;
  if (structure.force.empty() || !(*facts->largest_force > 0)) return;
  bool any = false;
  for (int64_t i = 0; i < structure.size() && !any; ++i) any = HasZeroForce(structure, i);
  if (!any || !far_.Compute(structure, &list_).ok()) return;
  for (int64_t i = 0; i < structure.size(); ++i) {
    if (!HasZeroForce(structure, i)) continue;
    double sum[3] = {0, 0, 0}, total = 0;
    for (int64_t p = list_.offset[i]; p < list_.offset[i + 1]; ++p) {
      const double r = std::hypot(list_.dx[p], list_.dy[p], list_.dz[p]);
      const double falling = (1 - r / kFar) / (r * r);
      const double weight = structure.element[list_.j[p]] * falling * falling;
      sum[0] += weight * list_.dx[p] / r;
      sum[1] += weight * list_.dy[p] / r;
      sum[2] += weight * list_.dz[p] / r;
      total += weight;
    }
    facts->unexplained_zero_forces += std::hypot(sum[0], sum[1], sum[2]) > kAsymmetry * total;
  }
}

void ExamineWithoutDistances(const Structure& structure, FrameFacts* facts) {
  facts->name = structure.name;
  facts->atoms = structure.size();
  std::array<int32_t, 119> counts = {};
  Hash hash;
  for (const uint8_t element : structure.element) {
    ++counts[element];
    hash.Add(element);
  }
  facts->composition.clear();
  for (int element = 0; element < static_cast<int>(counts.size()); ++element) {
    if (counts[element] > 0) facts->composition.emplace_back(static_cast<uint8_t>(element), counts[element]);
  }
  hash.AddRounded(structure.position);
  hash.AddRounded(structure.cell);
  for (const bool periodic : structure.pbc) hash.Add(periodic);
  facts->geometry = hash.value();
  const bool is_bulk = std::all_of(structure.pbc.begin(), structure.pbc.end(), [](bool periodic) { return periodic; });
  facts->volume_per_atom =
      is_bulk && facts->atoms > 0 ? std::abs(CellVolume(structure.cell)) / static_cast<double>(facts->atoms) : 0;
  facts->energy = structure.energy;
  facts->largest_force.reset();
  if (!structure.force.empty()) facts->largest_force = LargestMagnitude(structure.force);
  facts->largest_stress.reset();
  if (structure.stress.has_value()) facts->largest_stress = LargestMagnitude(*structure.stress);
  facts->in_unit_box = IsInUnitBox(structure);
  facts->energy_key = structure.energy_key;
  facts->force_key = structure.force_key;
}

void FrameExaminer::Examine(const Structure& structure, FrameFacts* facts) {
  ExamineWithoutDistances(structure, facts);
  FindNearest(structure, facts);
  CountZeroForces(structure, facts);
  const auto config = structure.info.find("config_type");
  facts->is_isolated_atom =
      structure.size() == 1 &&
      (std::isinf(facts->nearest) || (config != structure.info.end() && IsIsolatedAtom(1, config->second)));
}

}  // namespace rutile
