// pair_style rutile: potentials that rutile's train wrote, in LAMMPS, by librutile.so.
//
// Copyright: the authors of rutile. This file includes headers of LAMMPS, so that it is under the GNU General Public
// License, version 2 (LICENSE in this directory), and not under the license of the rest of rutile.

#ifndef RUTILE_TOOLS_LAMMPS_PAIR_RUTILE_H_
#define RUTILE_TOOLS_LAMMPS_PAIR_RUTILE_H_

#include <pair.h>

#include <string>
#include <vector>

#include "lib/md/rutile.h"

namespace LAMMPS_NS {

// pair_style rutile [precision fp32|fp64] [committee yes|no] [extrapolation warn N] [extrapolation stop N]
// pair_coeff * * MODEL... ELEMENT...     the last words are an element, or NULL, for each atom type
class PairRutile : public Pair {
 public:
  explicit PairRutile(LAMMPS* lmp);
  ~PairRutile() override;

  void settings(int narg, char** arg) override;
  void coeff(int narg, char** arg) override;
  void init_style() override;
  double init_one(int i, int j) override;
  void compute(int eflag, int vflag) override;

  // Messages of potentials of two layers go to ghosts; what belongs to ghosts goes to their owners: derivatives by
  // messages, and forces of members.
  int pack_forward_comm(int n, int* list, double* buffer, int pbc_flag, int* pbc) override;
  void unpack_forward_comm(int n, int first, double* buffer) override;
  int pack_reverse_comm(int n, int first, double* buffer) override;
  void unpack_reverse_comm(int n, int* list, double* buffer) override;

  // For `fix pair`: "extrapolation", 1 for atoms outside the training range, and "spread" of a committee's forces in
  // eV/Angstrom; with the trigger "spread_flag", as spreads are computed on request.
  void* extract(const char* name, int& dimension) override;
  void* extract_peratom(const char* name, int& columns) override;
  double memory_usage() override;

 private:
  void CloseModel();
  // Opens the files on each process; ends LAMMPS with one message if any cannot.
  void OpenModel(const std::vector<std::string>& paths);
  void RefuseMissingPairs();
  void RefuseSkippedPairs();
  // Computes into arrays of this class and of LAMMPS. Ends LAMMPS if the library cannot compute.
  void CallLibrary(bool spread, std::vector<double>* atom_energy, std::vector<double>* atom_virial, double* energy,
                   double* virial);
  // What rutile_exchange calls, with this object as `user`.
  static int SendOut(void* user, int width, double* values);
  static int SendHome(void* user, int width, double* values);
  // Passes rows of `width` numbers [own atoms and ghosts] to ghosts, or adds those of ghosts to their owners' rows.
  void PassRows(bool out, int width, double* rows);
  void SumSpread();
  void WatchExtrapolation();

  rutile_model* model_ = nullptr;
  rutile_context* context_ = nullptr;
  rutile_model_info info_ = {};
  int precision_ = 0;
  bool committee_ = false;
  bigint warn_every_ = 1000;  // steps; 0: never
  bigint stop_above_ = -1;    // atoms; -1: never

  std::vector<int> species_of_type_;            // [types + 1]
  std::vector<int> species_;                    // [own atoms and ghosts]
  std::vector<unsigned char> outside_;          // [centers]
  std::vector<double> member_energy_;           // [members]
  std::vector<double> member_forces_;           // [members][own atoms and ghosts][3]
  std::vector<double> extrapolation_, spread_;  // [own atoms, nmax]
  int num_atoms_ = 0;                           // own atoms and ghosts of the last step
  double* rows_ = nullptr;                      // [own atoms and ghosts][width_] that are sent
  int width_ = 3;
  int spread_flag_ = 0, extrapolation_flag_ = 0;
  bigint outside_since_warning_ = 0, atoms_since_warning_ = 0;  // summed over steps
  double extra_[3] = {0, 0, 0};
};

}  // namespace LAMMPS_NS

#endif  // RUTILE_TOOLS_LAMMPS_PAIR_RUTILE_H_
