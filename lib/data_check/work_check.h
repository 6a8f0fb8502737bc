// Compares differences of energies with the work of forces and stresses between structures that are nearly the same,
// which tells units and signs: in consistent data the two are equal.

#ifndef RUTILE_LIB_DATA_CHECK_WORK_CHECK_H_
#define RUTILE_LIB_DATA_CHECK_WORK_CHECK_H_

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/structure/structure.h"

namespace rutile {

// What energy differences are in units of the work: 1 in consistent data, -1 if the forces have the wrong sign, 27.2 if
// they are in Hartree/Angstrom beside energies in eV.
struct WorkSlope {
  double value = 0;
  int64_t pairs = 0;     // number of pairs of structures behind it
  double agreement = 0;  // share of the work in pairs whose own ratio is within 30 % of `value`
  // True if there are at least 5 pairs, and they agree on 60 % of the work.
  bool is_certain() const { return pairs >= 5 && agreement >= 0.6; }
};

// Streams structures and pairs each with the few before it that have the same atoms in the same order.
//
//   E2 - E1 = -1/2 sum (F1 + F2) . u + 1/2 (V1 s1 + V2 s2) : e   + terms of third order
//
// with the strain e from cell 1 to cell 2 and the displacements u beside it, in the nearest images. Pairs with
// |u| > 0.5 Angstrom or |e| > 0.06 are not compared. Forces are judged by pairs of equal cells alone, so that a wrong
// stress does not matter, and stresses by pairs with strain.
class WorkCheck {
 public:
  // Adds a structure with energy and forces; others are ignored. Keeps copies of at most about 500 000 atoms.
  void Add(const Structure& structure);

  // Return nothing without comparable pairs.
  std::optional<WorkSlope> ForceSlope() const;
  std::optional<WorkSlope> StressSlope() const;  // as if forces were right

 private:
  struct Sample {
    double work, energy;  // eV
  };
  struct Kept {
    Matrix3 cell;
    std::array<bool, 3> pbc;
    std::vector<double> position, force;
    double energy;
    std::optional<Matrix3> stress;
  };

  static std::optional<WorkSlope> Fit(const std::vector<Sample>& samples);
  void Compare(const Kept& a, const Kept& b);

  std::map<std::string, std::deque<Kept>> kept_;  // by elements and periodicity
  int64_t atoms_kept_ = 0;
  std::vector<Sample> force_samples_, stress_samples_;
  std::vector<double> displacement_;
};

// Says what a slope of forces means: "" if it is that of consistent data, else "forces have the wrong sign" and the
// like, or that no known unit explains it. The slope must be certain.
std::string ExplainForceSlope(double slope);
std::string ExplainStressSlope(double slope);

}  // namespace rutile

#endif  // RUTILE_LIB_DATA_CHECK_WORK_CHECK_H_
