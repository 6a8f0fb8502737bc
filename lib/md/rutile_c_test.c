/* A program in C, linked to librutile.so alone, runs what the header shows. Its argument is a model of Ti and O. */

#include <math.h>
#include <stdio.h>

#include "lib/md/rutile.h"

#define EXPECT(condition)                                             \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      return 1;                                                       \
    }                                                                 \
  } while (0)

int main(int argc, char** argv) {
  char error[512];
  rutile_model* model = NULL;
  rutile_context* context = NULL;
  const char* path = argv[argc - 1];
  if (rutile_open(&path, 1, NULL, &model, error, sizeof(error)) != RUTILE_OK) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  EXPECT(rutile_abi_version() == RUTILE_ABI_VERSION);
  EXPECT(rutile_context_create(model, &context) == RUTILE_OK);

  const int species[3] = {rutile_species_index(model, "Ti"), rutile_species_index(model, "O"),
                          rutile_species_index(model, "O")};
  double positions[9] = {0, 0, 0, 1.9, 0.1, 0, -0.2, 0, 2.0};
  double energy = 0, energies[2] = {0, 0}, forces[9];
  rutile_outputs outputs = {0};
  outputs.struct_size = sizeof(outputs);
  outputs.energy = &energy;
  outputs.forces = forces;
  EXPECT(rutile_compute_cell(context, 3, species, positions, NULL, NULL, &outputs) == RUTILE_OK);
  EXPECT(rutile_last_error(context)[0] == 0);

  /* Models of train are fp32: a large step, and a coarse bound. */
  const double force = forces[3], step = 0.01;
  for (int side = 0; side < 2; ++side) {
    positions[3] = 1.9 + (side == 0 ? step : -step);
    outputs.energy = &energies[side];
    EXPECT(rutile_compute_cell(context, 3, species, positions, NULL, NULL, &outputs) == RUTILE_OK);
  }
  EXPECT(fabs(force + (energies[0] - energies[1]) / (2 * step)) < 0.02 * (1 + fabs(force)));

  positions[3] = NAN;
  EXPECT(rutile_compute_cell(context, 3, species, positions, NULL, NULL, &outputs) == RUTILE_INVALID_ARGUMENT);
  EXPECT(rutile_last_error(context)[0] != 0);
  rutile_context_destroy(context);
  rutile_close(model);
  return 0;
}
