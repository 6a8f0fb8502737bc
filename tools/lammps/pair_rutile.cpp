// Copyright: the authors of rutile. GNU General Public License, version 2; see LICENSE in this directory.

#include "pair_rutile.h"

#include <atom.h>
#include <comm.h>
#include <error.h>
#include <force.h>
#include <memory.h>
#include <neigh_list.h>
#include <neighbor.h>
#include <update.h>
#include <utils.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace LAMMPS_NS {
namespace {

// Returns the neighbor list of an atom, as rutile_neighbors_function. LAMMPS' NeighList is `user`.
int Neighbors(void* user, int atom, int* count, const int** neighbors) {
  const auto* const list = static_cast<const NeighList*>(user);
  *count = list->numneigh[atom];
  *neighbors = list->firstneigh[atom];
  return 0;
}

// The symmetric part of a matrix, in LAMMPS' order xx yy zz xy xz yz and with its sign, which is that of a pressure.
void SubtractSymmetric(const double* matrix, double* to) {
  constexpr int kOrder[6] = {0, 4, 8, 1, 2, 5}, kTransposed[6] = {0, 4, 8, 3, 6, 7};
  for (int k = 0; k < 6; ++k) to[k] -= 0.5 * (matrix[kOrder[k]] + matrix[kTransposed[k]]);
}

}  // namespace

PairRutile::PairRutile(LAMMPS* lmp) : Pair(lmp) {
  single_enable = 0;
  restartinfo = 0;  // files and elements are in the input, and pair_coeff is to be given again
  one_coeff = 1;
  manybody_flag = 1;
  writedata = 0;
  centroidstressflag = CENTROID_NOTAVAIL;  // a heat flux needs another division of the virial
  nextra = 3;                              // atoms outside, energy spread, largest force spread: `compute pair`
  pvector = extra_;
  comm_reverse = 3;  // before a hybrid style asks for it
}

PairRutile::~PairRutile() {
  pvector = nullptr;
  CloseModel();
  if (!allocated || copymode) return;
  memory->destroy(setflag);
  memory->destroy(cutsq);
}

void PairRutile::CloseModel() {
  rutile_context_destroy(context_);
  rutile_close(model_);
  context_ = nullptr;
  model_ = nullptr;
}

void PairRutile::settings(int narg, char** arg) {
  precision_ = 0;
  committee_ = false;
  warn_every_ = 1000;
  stop_above_ = -1;
  // Given again, the style needs its coefficients again, which other options may not fit.
  for (int i = 1; allocated && i <= atom->ntypes; ++i) std::fill_n(&setflag[i][1], atom->ntypes, 0);
  const std::string usage =
      "pair_style rutile [precision fp32|fp64] [committee yes|no] [extrapolation warn N] [extrapolation stop N]";
  int k = 0;
  const auto next = [&](const char* option) -> std::string {
    if (k >= narg) error->all(FLERR, "pair_style rutile: {} needs a value: {}", option, usage);
    return arg[k++];
  };
  while (k < narg) {
    const std::string option = arg[k++];
    if (option == "precision") {
      const std::string value = next("precision");
      if (value != "fp32" && value != "fp64") {
        error->all(FLERR, "pair_style rutile: precision is {}, expected fp32 or fp64", value);
      }
      precision_ = value == "fp32" ? 32 : 64;
    } else if (option == "committee") {
      committee_ = utils::logical(FLERR, next("committee"), false, lmp) == 1;
    } else if (option == "extrapolation") {
      const std::string what = next("extrapolation");
      const bigint number = utils::bnumeric(FLERR, next("extrapolation"), false, lmp);
      if ((what != "warn" && what != "stop") || number < 0) {
        error->all(FLERR, "pair_style rutile: extrapolation {} {}, expected warn STEPS or stop ATOMS, 0 or more", what,
                   number);
      }
      (what == "warn" ? warn_every_ : stop_above_) = number;
    } else {
      error->all(FLERR, "pair_style rutile: unknown option {}: {}", option, usage);
    }
  }
}

void PairRutile::OpenModel(const std::vector<std::string>& paths) {
  CloseModel();
  std::vector<const char*> names;
  for (const std::string& path : paths) names.push_back(path.c_str());
  rutile_options options = {};
  options.struct_size = sizeof(options);
  options.precision = precision_;
  char message[1000] = "";
  int code = rutile_open(names.data(), static_cast<int>(names.size()), &options, &model_, message, sizeof(message));
  if (code == RUTILE_OK && rutile_context_create(model_, &context_) != RUTILE_OK) {
    code = RUTILE_OUT_OF_MEMORY;
    std::strcpy(message, "out of memory");
  }
  // A file may be missing on one node alone: all processes stop, with the message of the first that failed.
  int failed = code == RUTILE_OK ? comm->nprocs : comm->me, first = 0;
  MPI_Allreduce(&failed, &first, 1, MPI_INT, MPI_MIN, world);
  if (first < comm->nprocs) {
    MPI_Bcast(message, sizeof(message), MPI_CHAR, first, world);
    error->all(FLERR,
               "pair_style rutile: {}; pair_coeff has * *, files of models, then an element for each of {} types",
               message, atom->ntypes);
  }
  info_ = {};
  info_.struct_size = sizeof(info_);
  rutile_get_info(model_, &info_);
}

void PairRutile::coeff(int narg, char** arg) {
  const int num_types = atom->ntypes, num_files = narg - 2 - num_types;
  if (num_files < 1 || std::strcmp(arg[0], "*") != 0 || std::strcmp(arg[1], "*") != 0) {
    error->all(FLERR,
               "pair_style rutile: expected pair_coeff * * MODEL... and an element, or NULL, for each of {} atom types",
               num_types);
  }
  OpenModel(std::vector<std::string>(arg + 2, arg + 2 + num_files));
  // aenet's networks of several species are one model.
  if ((info_.num_members > 1) != committee_) {
    error->all(FLERR, "pair_style rutile: pair_coeff has {} files, which are {} model{}, but committee is {}; {}",
               num_files, info_.num_members, info_.num_members == 1 ? "" : "s", committee_ ? "yes" : "no",
               committee_ ? "a committee has two or more" : "several are a committee: pair_style rutile committee yes");
  }
  std::string all_species;
  for (int k = 0; k < info_.num_species; ++k) all_species += std::string(k > 0 ? " " : "") + rutile_species(model_, k);
  species_of_type_.assign(num_types + 1, RUTILE_NO_SPECIES);
  for (int type = 1; type <= num_types; ++type) {
    const char* const symbol = arg[1 + num_files + type];
    if (std::strcmp(symbol, "NULL") == 0) continue;
    species_of_type_[type] = rutile_species_index(model_, symbol);
    if (species_of_type_[type] >= 0) continue;
    error->all(FLERR, "pair_style rutile: atom type {} is {}, which {} does not have; expected {}, or NULL", type,
               symbol, arg[2], all_species);
  }
  if (!allocated) {
    memory->create(setflag, num_types + 1, num_types + 1, "pair:setflag");
    memory->create(cutsq, num_types + 1, num_types + 1, "pair:cutsq");
    allocated = 1;
  }
  int count = 0;
  for (int i = 1; i <= num_types; ++i) {
    for (int j = i; j <= num_types; ++j) {
      setflag[i][j] = species_of_type_[i] >= 0 && species_of_type_[j] >= 0;
      count += setflag[i][j];
    }
  }
  if (count == 0)
    error->all(FLERR, "pair_style rutile: all atom types are NULL; expected {} for one at least", all_species);
  member_energy_.assign(info_.num_members, 0.0);
}

// The energy of an atom depends on all of its neighbors, so that a list with pairs left out gives wrong forces.
void PairRutile::RefuseMissingPairs() {
  if (neighbor->nex_type > 0 || neighbor->nex_group > 0 || neighbor->nex_mol > 0) {
    error->all(FLERR,
               "pair_style rutile: neigh_modify exclude takes away neighbors that energies depend on; remove it");
  }
  if (atom->molecular == 0) return;
  for (int k = 1; k <= 3; ++k) {
    if (force->special_lj[k] == 1.0 && force->special_coul[k] == 1.0) continue;
    error->all(FLERR,
               "pair_style rutile: special_bonds takes away neighbors that energies depend on; expected special_bonds "
               "lj/coul 1 1 1");
  }
}

// The same of pairs that a hybrid style gives to another style.
void PairRutile::RefuseSkippedPairs() {
  if (list->ijskip == nullptr) return;
  const int num_types = atom->ntypes;
  for (int i = 1; i <= num_types; ++i) {
    for (int j = 1; j <= num_types; ++j) {
      if (species_of_type_[i] < 0 || species_of_type_[j] < 0 || list->ijskip[i][j] == 0) continue;
      error->all(FLERR,
                 "pair_style rutile: the hybrid style gives pairs of types {} and {} to another style, but energies "
                 "depend on them; name one of both types NULL, or use hybrid/overlay",
                 i, j);
    }
  }
}

void PairRutile::init_style() {
  if (std::strcmp(update->unit_style, "metal") != 0) {
    error->all(FLERR, "pair_style rutile: units are {}, expected units metal (eV, Angstrom)", update->unit_style);
  }
  if (force->newton_pair == 0) {
    error->all(FLERR, "pair_style rutile: newton is off, expected newton on: forces on ghosts go to their owners");
  }
  RefuseMissingPairs();
  neighbor->add_request(this, NeighConst::REQ_FULL);
  // LAMMPS sizes its buffers after this, for the style that it knows: that is the hybrid style of which this is a part.
  comm_forward = std::max(comm_forward, info_.num_messages);
  comm_reverse = std::max(3, info_.num_messages);
  if (force->pair == nullptr) return;
  force->pair->comm_forward = std::max(force->pair->comm_forward, comm_forward);
  force->pair->comm_reverse = std::max(force->pair->comm_reverse, comm_reverse);
}

double PairRutile::init_one(int i, int j) {
  if (setflag[i][j] == 0) error->all(FLERR, "All pair coeffs are not set");
  return info_.cutoff;
}

void PairRutile::CallLibrary(bool spread, std::vector<double>* atom_energy, std::vector<double>* atom_virial,
                             double* energy, double* virial) {
  rutile_outputs outputs = {};
  outputs.struct_size = sizeof(outputs);
  outputs.add_forces = 1;
  // Forces are asked for on all processes, also on those without atoms, as these exchange messages with the others.
  double no_forces[1] = {0};
  outputs.forces = num_atoms_ > 0 ? &atom->f[0][0] : no_forces;
  outputs.energy = energy;
  outputs.virial = virial;
  if (!atom_energy->empty()) outputs.atom_energy = atom_energy->data();
  if (!atom_virial->empty()) outputs.atom_virial = atom_virial->data();
  if (!outside_.empty()) outputs.outside = outside_.data();
  if (spread) {
    member_forces_.resize(3 * static_cast<size_t>(num_atoms_) * info_.num_members);
    outputs.member_energy = member_energy_.data();
    outputs.member_forces = member_forces_.data();
  }
  const double* const positions = num_atoms_ > 0 ? &atom->x[0][0] : nullptr;
  rutile_exchange exchange = {};
  exchange.struct_size = sizeof(exchange);
  exchange.send_out = SendOut;
  exchange.send_home = SendHome;
  exchange.user = this;
  if (rutile_compute_list_together(context_, num_atoms_, species_.data(), positions, list->inum, list->ilist, Neighbors,
                                   list, NEIGHMASK, &exchange, &outputs) != RUTILE_OK) {
    error->one(FLERR, "pair_style rutile: step {}: {} (atoms are counted here as this process has them)",
               update->ntimestep, rutile_last_error(context_));
  }
}

int PairRutile::SendOut(void* user, int width, double* values) {
  static_cast<PairRutile*>(user)->PassRows(/*out=*/true, width, values);
  return 0;
}

int PairRutile::SendHome(void* user, int width, double* values) {
  static_cast<PairRutile*>(user)->PassRows(/*out=*/false, width, values);
  return 0;
}

void PairRutile::PassRows(bool out, int width, double* rows) {
  rows_ = rows;
  width_ = width;
  // Numbers of an atom in this call; LAMMPS has sized its buffers for the most.
  const int most_out = comm_forward, most_home = comm_reverse;
  comm_forward = comm_reverse = width;
  if (out) {
    comm->forward_comm(this);
  } else {
    comm->reverse_comm(this);
  }
  comm_forward = most_out;
  comm_reverse = most_home;
}

void PairRutile::compute(int eflag, int vflag) {
  ev_init(eflag, vflag);
  RefuseSkippedPairs();
  const int num_own = atom->nlocal, num_centers = list->inum;
  num_atoms_ = num_own + atom->nghost;
  species_.resize(num_atoms_);
  for (int i = 0; i < num_atoms_; ++i) species_[i] = species_of_type_[atom->type[i]];
  outside_.assign(info_.has_training_range != 0 ? num_centers : 0, 0);
  std::vector<double> atom_energy(eflag_atom ? num_centers : 0), atom_virial(vflag_atom ? 9 * num_atoms_ : 0);
  double energy = 0, whole_virial[9] = {};
  const bool spread = committee_ && (eflag_either || spread_flag_ != 0);
  CallLibrary(spread, &atom_energy, &atom_virial, &energy, vflag_global ? whole_virial : nullptr);

  if (eflag_global) eng_vdwl += energy;
  for (size_t c = 0; c < atom_energy.size(); ++c) eatom[list->ilist[c]] += atom_energy[c];
  if (vflag_global) SubtractSymmetric(whole_virial, virial);
  for (int i = 0; vflag_atom && i < num_atoms_; ++i)
    SubtractSymmetric(&atom_virial[9 * static_cast<size_t>(i)], vatom[i]);
  if (vflag_fdotr) virial_fdotr_compute();

  extrapolation_.assign(atom->nmax, 0.0);
  extra_[0] = 0;
  for (size_t c = 0; c < outside_.size(); ++c) {
    extrapolation_[list->ilist[c]] = outside_[c];
    extra_[0] += outside_[c];
  }
  if (spread) SumSpread();
  WatchExtrapolation();
}

// Sums members over processes, and takes the deviations of the sums. `compute pair` adds up extra_ over processes, so
// that one alone has what is known of the whole.
void PairRutile::SumSpread() {
  const int members = info_.num_members, num_own = atom->nlocal;
  for (int m = 0; m < members; ++m) {
    PassRows(/*out=*/false, 3, member_forces_.data() + 3 * static_cast<size_t>(m) * num_atoms_);
  }
  spread_.assign(atom->nmax, 0.0);
  double largest = 0;
  for (int i = 0; i < num_own; ++i) {
    double square = 0;
    for (int a = 0; a < 3; ++a) {
      double mean = 0;
      const auto value = [&](int m) { return member_forces_[3 * (static_cast<size_t>(m) * num_atoms_ + i) + a]; };
      for (int m = 0; m < members; ++m) mean += value(m) / members;
      for (int m = 0; m < members; ++m) square += (value(m) - mean) * (value(m) - mean);
    }
    spread_[i] = std::sqrt(square / members);
    largest = std::max(largest, spread_[i]);
  }
  std::vector<double> energy(members);
  MPI_Allreduce(member_energy_.data(), energy.data(), members, MPI_DOUBLE, MPI_SUM, world);
  double mean = 0, square = 0, largest_of_all = 0;
  for (const double e : energy) mean += e / members;
  for (const double e : energy) square += (e - mean) * (e - mean);
  MPI_Allreduce(&largest, &largest_of_all, 1, MPI_DOUBLE, MPI_MAX, world);
  extra_[1] = comm->me == 0 ? std::sqrt(square / members) : 0;
  extra_[2] = comm->me == 0 ? largest_of_all : 0;
}

// Stops, or warns once in warn_every_ steps. All processes take the same way, as their sums are the same.
void PairRutile::WatchExtrapolation() {
  if (info_.has_training_range == 0) return;
  outside_since_warning_ += static_cast<bigint>(extra_[0]);
  atoms_since_warning_ += list->inum;
  if (stop_above_ >= 0) {
    bigint own = static_cast<bigint>(extra_[0]), all = 0;
    MPI_Allreduce(&own, &all, 1, MPI_LMP_BIGINT, MPI_SUM, world);
    if (all > stop_above_) {
      error->all(FLERR,
                 "pair_style rutile: step {}: {} atoms are outside the training range, more than {} (extrapolation "
                 "stop)",
                 update->ntimestep, all, stop_above_);
    }
  }
  if (warn_every_ == 0) return;
  if (update->ntimestep % warn_every_ != 0 && update->ntimestep != update->laststep) return;
  bigint own[2] = {outside_since_warning_, atoms_since_warning_}, all[2] = {0, 0};
  MPI_Allreduce(own, all, 2, MPI_LMP_BIGINT, MPI_SUM, world);
  outside_since_warning_ = atoms_since_warning_ = 0;
  if (all[0] == 0 || comm->me != 0) return;
  error->warning(FLERR,
                 "pair_style rutile: step {}: since the last such line, {:.3g} % of atoms were outside the training "
                 "range, where energies and forces are guesses",
                 update->ntimestep, 100.0 * static_cast<double>(all[0]) / static_cast<double>(all[1]));
}

int PairRutile::pack_forward_comm(int n, int* list_of_atoms, double* buffer, int /*pbc_flag*/, int* /*pbc*/) {
  int count = 0;
  for (int k = 0; k < n; ++k) {
    const double* const from = rows_ + static_cast<size_t>(list_of_atoms[k]) * width_;
    for (int a = 0; a < width_; ++a) buffer[count++] = from[a];
  }
  return count;
}

void PairRutile::unpack_forward_comm(int n, int first, double* buffer) {
  std::copy_n(buffer, static_cast<size_t>(n) * width_, rows_ + static_cast<size_t>(first) * width_);
}

int PairRutile::pack_reverse_comm(int n, int first, double* buffer) {
  const size_t count = static_cast<size_t>(n) * width_;
  std::copy_n(rows_ + static_cast<size_t>(first) * width_, count, buffer);
  return static_cast<int>(count);
}

void PairRutile::unpack_reverse_comm(int n, int* list_of_atoms, double* buffer) {
  for (int k = 0; k < n; ++k) {
    double* const to = rows_ + static_cast<size_t>(list_of_atoms[k]) * width_;
    for (int a = 0; a < width_; ++a) to[a] += *buffer++;
  }
}

void* PairRutile::extract(const char* name, int& dimension) {
  dimension = 0;
  if (std::strcmp(name, "spread_flag") == 0 && committee_) return &spread_flag_;
  // Nothing is computed on request, as the library compares features in each step.
  if (std::strcmp(name, "extrapolation_flag") == 0) return &extrapolation_flag_;
  return nullptr;
}

void* PairRutile::extract_peratom(const char* name, int& columns) {
  columns = 0;
  const bool is_spread = std::strcmp(name, "spread") == 0;
  if (is_spread && !committee_) error->all(FLERR, "pair_style rutile: spread is that of a committee (committee yes)");
  if (!is_spread && std::strcmp(name, "extrapolation") != 0) return nullptr;
  if (!is_spread && model_ != nullptr && info_.has_training_range == 0) {
    error->all(FLERR, "pair_style rutile: the model does not say which features training has seen (extrapolation)");
  }
  std::vector<double>& values = is_spread ? spread_ : extrapolation_;
  if (static_cast<int>(values.size()) < atom->nmax) values.resize(atom->nmax, 0.0);
  return values.data();
}

// The library's own memory is not known here.
double PairRutile::memory_usage() {
  return Pair::memory_usage() + static_cast<double>(species_.capacity() * sizeof(int) + outside_.capacity()) +
         static_cast<double>((member_forces_.capacity() + extrapolation_.capacity() + spread_.capacity()) *
                             sizeof(double));
}

}  // namespace LAMMPS_NS
