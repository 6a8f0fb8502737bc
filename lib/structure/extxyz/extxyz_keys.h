// The names that extended XYZ files of the field use for energies, forces, stresses and virials.

#ifndef RUTILE_LIB_STRUCTURE_EXTXYZ_EXTXYZ_KEYS_H_
#define RUTILE_LIB_STRUCTURE_EXTXYZ_EXTXYZ_KEYS_H_

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace rutile {

// Keys of energies, tried in this order if the user gives no name. The first that a frame has is used; the others go to
// Structure::info. Names that say "reference" come first: since version 3.23, ASE writes the results of whatever
// calculator is attached as "energy" and "forces", so a file can have a potential's values there beside the DFT values.
inline constexpr absl::string_view kEnergyKeys[] = {
    "REF_energy",  "DFT_energy",       "dft_energy",       "ref_energy",      "REF_Energy",
    "DFT_Energy",  "energy",           "Energy",           "REF_free_energy", "DFT_free_energy",
    "free_energy", "REF_total_energy", "DFT_total_energy", "total_energy"};
// True for free energies (of smeared electrons), which may differ from the energy beside them.
inline bool IsFreeEnergyKey(absl::string_view key) { return absl::StrContains(key, "free_energy"); }
// Names of columns of forces, of type R:3.
inline constexpr absl::string_view kForceKeys[] = {"REF_forces", "DFT_forces", "dft_forces", "ref_forces", "REF_force",
                                                   "DFT_force",  "dft_force",  "ref_force",  "REF_Forces", "DFT_Forces",
                                                   "forces",     "force",      "Forces",     "Force"};
inline constexpr absl::string_view kStressKeys[] = {"REF_stress", "DFT_stress", "dft_stress",
                                                    "ref_stress", "stress",     "Stress"};
inline constexpr absl::string_view kVirialKeys[] = {"REF_virial",  "DFT_virial",  "dft_virial",  "ref_virial",
                                                    "REF_virials", "DFT_virials", "dft_virials", "ref_virials",
                                                    "virial",      "virials",     "Virial"};

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_EXTXYZ_EXTXYZ_KEYS_H_
