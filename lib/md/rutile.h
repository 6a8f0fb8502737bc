/* Runs trained potentials in other programs: the C interface of librutile.so.
 *
 * Example, with error handling left out:
 *
 *   const char* path = "run/best.safetensors";
 *   char error[512];
 *   rutile_model* model;
 *   rutile_context* context;
 *   if (rutile_open(&path, 1, NULL, &model, error, sizeof(error)) != RUTILE_OK) { puts(error); exit(1); }
 *   rutile_context_create(model, &context);
 *   int species[3] = {rutile_species_index(model, "Ti"), rutile_species_index(model, "O"), ...};
 *   double energy, forces[9];
 *   rutile_outputs outputs = {0};
 *   outputs.struct_size = sizeof(outputs);
 *   outputs.energy = &energy;
 *   outputs.forces = forces;
 *   if (rutile_compute_cell(context, 3, species, positions, cell, pbc, &outputs) != RUTILE_OK) {
 *     puts(rutile_last_error(context));
 *   }
 *
 * Units are Angstrom, eV, eV/Angstrom. Arrays of vectors are x, y, z of atom 0, then of atom 1, and so on. Atoms are
 * counted from 0 in arguments and from 1 in messages.
 *
 * No function exits, prints, throws, or keeps a pointer that it was given. A model does not change and may be shared by
 * threads; a context belongs to one thread at a time. There is no global state: any number of models may be open.
 * Results do not depend on what was computed before. */

#ifndef RUTILE_LIB_MD_RUTILE_H_
#define RUTILE_LIB_MD_RUTILE_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when a program that was compiled with an older header would no longer run. */
#define RUTILE_ABI_VERSION 1

/* What most functions return. */
enum {
  RUTILE_OK = 0,
  RUTILE_INVALID_ARGUMENT = 1, /* an argument, or the content of a model file */
  RUTILE_NOT_FOUND = 2,        /* a file */
  RUTILE_OUT_OF_MEMORY = 3,
  RUTILE_FAILED = 4 /* anything else: a file that cannot be read, energies that are not finite, ... */
};

/* Species of atoms that are not the model's. An atom of RUTILE_UNKNOWN_SPECIES is an error, so that what
 * rutile_species_index returns may be passed on unseen; one of RUTILE_NO_SPECIES belongs to another model of a hybrid,
 * and rutile_compute_list leaves it out, as a center and as a neighbor. */
enum { RUTILE_UNKNOWN_SPECIES = -1, RUTILE_NO_SPECIES = -2 };

typedef struct rutile_model rutile_model;
typedef struct rutile_context rutile_context;

/* Structs begin with their size, so that later versions can add members: set struct_size = sizeof(the struct) and the
 * members that are not named to 0. */
typedef struct rutile_options {
  size_t struct_size;
  int precision; /* 32 or 64: bits of the arithmetic; 0: as in the files, 64 if they differ */
  /* File of tracin --mode=curvature for the model, or for a member of the committee, whose standard deviations are then
   * to be had; null: none. */
  const char* curvature;
} rutile_options;

typedef struct rutile_model_info {
  size_t struct_size;
  double cutoff; /* Angstrom; neighbors are needed to this distance */
  int num_species;
  int num_members;        /* of the committee; 1 for a single model */
  int precision;          /* 32 or 64 */
  int has_training_range; /* 0: no file says which features training has seen, so that no atom is marked as outside */
  int num_layers;         /* 1; or 2 if atoms depend on neighbors of neighbors (train's --messages) */
  /* How far from an atom others change the energy of it: the cutoff, or twice that with two layers */
  double influence_distance;
  int num_messages;   /* numbers that an atom sends in rutile_exchange, vectors included; 0 with one layer */
  int has_deviations; /* 1 if the model was opened with its curvature */
} rutile_model_info;

/* Where results go; null means that one is not wanted, and what is not wanted costs nothing. Of a committee, values are
 * means over its members, and spreads standard deviations (divided by the number of members). "Centers" are the atoms
 * whose energies are computed: all for rutile_compute_cell. After an error nothing has been written. */
typedef struct rutile_outputs {
  size_t struct_size;
  int add_forces;        /* not 0: forces are added to what the array holds; 0: they replace it */
  double* energy;        /* eV, sum over centers, atomic energies included */
  double* atom_energy;   /* [centers] eV */
  double* forces;        /* [atoms][3] eV/Angstrom, -dE/dr */
  double* virial;        /* [3][3] eV, sum over pairs of dE/dr_ij (outer) r_ij, symmetric: the stress, positive in
                          * tension, times the volume. LAMMPS calls the negative of it the virial */
  double* energy_spread; /* eV; 0 for a single model. rutile_compute_cell only */
  double* force_spread;  /* [atoms] eV/Angstrom, root mean square length of F_member - F_mean; 0 for a single model.
                          * rutile_compute_cell only */
  double* member_energy; /* [members] eV: what a caller with atoms on several processes sums before it takes a spread */
  double* member_forces; /* [members][atoms][3] eV/Angstrom, in the same way; always replaced */
  /* [centers] 1 if a feature of the atom lies outside the training range of a member, or a neighbor is so near that the
   * descriptor ignores it (min_cutoff, 0.55 Angstrom by default): no repulsion but that of train --zbl acts there */
  unsigned char* outside;
  double* atom_virial; /* [atoms][3][3] eV, rows and sign as in virial: of each pair of a center i and its neighbor j,
                        * half of dE_i/dr_ij (outer) r_ij goes to i and half to j. The sum over atoms is the virial;
                        * an atom's own matrix need not be symmetric, and is no part of a heat flux. With two layers E
                        * is that of all centers, in place of E_i. Always replaced */
  /* Standard deviations by the curvature of the training loss (rutile_options), calibrated on held-out structures: what
   * the training data leave open. rutile_compute_cell only. They are computed in fp64, and take a gradient of all
   * parameters for each number: forces are dear. */
  double* energy_deviation;      /* eV, of the sum over atoms */
  double* atom_energy_deviation; /* [atoms] eV; not with two layers */
  double* force_deviation;       /* [atoms][3] eV/Angstrom */
} rutile_outputs;

/* Returns RUTILE_ABI_VERSION of the library, and its version as "1.2.0". */
int rutile_abi_version(void);
const char* rutile_version(void);

/* Opens one model, or several as a committee, which needs one descriptor: files as train writes
 * them, or networks of aenet (Ti.nn, O.nn), of which one for each species make a model. options: may be null. error:
 * where a message goes, cut to error_size bytes with the final 0; may be null. */
int rutile_open(const char* const* paths, int count, const rutile_options* options, rutile_model** model, char* error,
                size_t error_size);

/* Null is allowed. Contexts of the model stay usable. */
void rutile_close(rutile_model* model);

/* Fills *info; set info->struct_size before. */
int rutile_get_info(const rutile_model* model, rutile_model_info* info);

/* Returns the symbol of a species, such as "Ti", valid while the model is open; null outside 0..num_species - 1. */
const char* rutile_species(const rutile_model* model, int index);

/* Returns the index of a symbol (case matters), or RUTILE_UNKNOWN_SPECIES. */
int rutile_species_index(const rutile_model* model, const char* symbol);

/* A context holds the memory of computations, which grows to that of the largest structure. */
int rutile_context_create(const rutile_model* model, rutile_context** context);
void rutile_context_destroy(rutile_context* context);

/* Returns why the last function that took this context failed, "" if it did not. Valid until the next such call. */
const char* rutile_last_error(const rutile_context* context);

/* Computes for atoms in a cell, whose neighbors the library finds. species, positions: [atoms] and [atoms][3];
 * positions need not lie inside the cell. cell: [3][3], rows are lattice vectors, those of directions that are not
 * periodic may be 0; null without a cell. pbc: [3], not 0 for periodic directions; null if none is. The cell may be
 * thinner than the cutoff. Two atoms nearer than 0.1 Angstrom are an error. */
int rutile_compute_cell(rutile_context* context, int num_atoms, const int* species, const double* positions,
                        const double* cell, const int* pbc, const rutile_outputs* outputs);

/* Sets *count and *neighbors to the neighbors of an atom, which the library reads before it calls again or returns.
 * Returns 0, or anything else to give up. */
typedef int (*rutile_neighbors_function)(void* user, int atom, int* count, const int** neighbors);

/* Computes for the centers among the atoms, with the caller's neighbor lists: a program that divides space over
 * processes passes its own atoms as centers and has images of all others ("ghosts") among the atoms. Forces on ghosts
 * are to be sent to their owners and added there.
 *
 * centers: [num_centers], without repetition; null for atoms 0 to num_centers - 1. neighbors: called once for each
 * center with `user`, in any order of centers. Lists are full (j is in the list of i, and i in that of j), hold every
 * atom within the cutoff once, in any order, and may hold farther ones. mask: entries are combined with it by a bitwise
 * and, for lists that carry flags in their upper bits; -1 for none.
 *
 * With two layers (num_layers) atoms are needed to the influence distance, twice the cutoff, around each center, and
 * `neighbors` is also called for each atom that is no center but within the cutoff of one. Lists of these are as above.
 * A list that lacks a center, as an empty one does, is an error; atoms beyond the cutoff of all centers that are
 * missing cannot be noticed, and give wrong energies. The forces are those of the centers' energies on all atoms, as
 * before. */
int rutile_compute_list(rutile_context* context, int num_atoms, const int* species, const double* positions,
                        int num_centers, const int* centers, rutile_neighbors_function neighbors, void* user, int mask,
                        const rutile_outputs* outputs);

/* How several processes compute a potential of two layers together, at the cost of one layer's ghosts: messages go to
 * them, in the middle of a computation. values: [atoms][width], width is num_messages, a row for each atom in the order
 * of the call, which the functions may change as said and may not keep. They return 0, or anything else to give up. */
typedef struct rutile_exchange {
  size_t struct_size;
  /* Sets the rows of all atoms that are not centers to those of their owners, which are centers there. */
  int (*send_out)(void* user, int width, double* values);
  /* Adds the rows of all atoms that are not centers to those of their owners. Called if forces or virials are asked
   * for. */
  int (*send_home)(void* user, int width, double* values);
  void* user;
} rutile_exchange;

/* Computes as rutile_compute_list does, with neighbors to the cutoff and lists of the centers alone also with two
 * layers. All processes call it, also those without centers, and ask for the same outputs. Forces and virials of a
 * process are then no longer those of its centers' energies, but their sums over processes are those of all. If it
 * fails on a process, that has not called one or both functions, so that others may wait for it: end all. Potentials of
 * one layer do not call them. exchange: null for rutile_compute_list. */
int rutile_compute_list_together(rutile_context* context, int num_atoms, const int* species, const double* positions,
                                 int num_centers, const int* centers, rutile_neighbors_function neighbors, void* user,
                                 int mask, const rutile_exchange* exchange, const rutile_outputs* outputs);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif /* RUTILE_LIB_MD_RUTILE_H_ */
