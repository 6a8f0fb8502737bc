#include "tools/kim/kim_routines.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace rutile_kim {
namespace {

namespace argument = KIM::COMPUTE_ARGUMENT_NAME;

// KIM's functions return true for an error.
constexpr int kGood = 0, kError = 1;

int Neighbors(void* user, int atom, int* count, const int** neighbors) {
  return static_cast<const KIM::ModelComputeArguments*>(user)->GetNeighborList(0, atom, count, neighbors);
}

// What KIM may ask for besides energy and forces, null where it does not, and where the library puts it.
struct ExtraOutputs {
  double *particle_energy = nullptr, *virial = nullptr, *particle_virial = nullptr;
  std::vector<double> center_energy;   // [centers]
  std::array<double, 9> whole_virial;  // [3][3]
  std::vector<double> atom_virial;     // [atoms][3][3]
};

void AskFor(const std::vector<int>& centers, int num_atoms, ExtraOutputs* extra, rutile_outputs* outputs) {
  extra->center_energy.resize(centers.size());
  if (extra->particle_energy != nullptr) outputs->atom_energy = extra->center_energy.data();
  if (extra->virial != nullptr) outputs->virial = extra->whole_virial.data();
  if (extra->particle_virial == nullptr) return;
  extra->atom_virial.resize(9 * static_cast<size_t>(num_atoms));
  outputs->atom_virial = extra->atom_virial.data();
}

// Writes the symmetric part of a matrix in KIM's order of components, xx yy zz yz xz xy.
void WriteSymmetric(const double* matrix, double* to) {
  constexpr int kOrder[6] = {0, 4, 8, 5, 2, 1}, kTransposed[6] = {0, 4, 8, 7, 6, 3};
  for (int k = 0; k < 6; ++k) to[k] = 0.5 * (matrix[kOrder[k]] + matrix[kTransposed[k]]);
}

// Scatters energies of centers to all particles, and virials into KIM's order.
void Write(const std::vector<int>& centers, int num_atoms, const ExtraOutputs& extra) {
  if (extra.particle_energy != nullptr) {
    std::fill_n(extra.particle_energy, num_atoms, 0.0);
    for (size_t c = 0; c < centers.size(); ++c) extra.particle_energy[centers[c]] = extra.center_energy[c];
  }
  if (extra.virial != nullptr) WriteSymmetric(extra.whole_virial.data(), extra.virial);
  for (size_t i = 0; extra.particle_virial != nullptr && i < static_cast<size_t>(num_atoms); ++i) {
    WriteSymmetric(&extra.atom_virial[9 * i], extra.particle_virial + 6 * i);
  }
}

// Ends a process of several, with the message. LAMMPS' pair style kim, told of an error on one process, waits there for
// all others, which wait for this one: the job would never end. mpirun ends the others.
void EndProcessOfSeveral(const std::string& message) {
  for (const char* const variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* const size = std::getenv(variable);
    if (size == nullptr || std::atoi(size) < 2) continue;
    std::fflush(nullptr);
    std::fprintf(stderr, "ERROR: %s\n", message.c_str());
    std::_Exit(1);
  }
}

}  // namespace

std::string Open(const std::vector<std::string>& files, Model* model) {
  std::vector<const char*> paths;
  for (const std::string& file : files) paths.push_back(file.c_str());
  char error[1000];
  if (rutile_open(paths.data(), static_cast<int>(paths.size()), nullptr, &model->model, error, sizeof(error)) !=
      RUTILE_OK) {
    return error;
  }
  rutile_model_info info = {};
  info.struct_size = sizeof(info);
  rutile_get_info(model->model, &info);
  model->cutoff = info.cutoff;
  model->influence_distance = info.influence_distance;
  model->will_not_request_neighbors_of_others = info.num_layers == 1 ? 1 : 0;
  return "";
}

int DestroyArguments(const KIM::ModelCompute*, KIM::ModelComputeArgumentsDestroy* arguments) {
  void* context = nullptr;
  arguments->GetModelBufferPointer(&context);
  rutile_context_destroy(static_cast<rutile_context*>(context));
  return kGood;
}

int CreateArguments(const KIM::ModelCompute* compute, KIM::ModelComputeArgumentsCreate* arguments) {
  for (const KIM::ComputeArgumentName& name :
       {argument::partialEnergy, argument::partialForces, argument::partialParticleEnergy, argument::partialVirial,
        argument::partialParticleVirial}) {
    if (arguments->SetArgumentSupportStatus(name, KIM::SUPPORT_STATUS::optional)) return kError;
  }
  void* model = nullptr;
  compute->GetModelBufferPointer(&model);
  rutile_context* context = nullptr;
  if (rutile_context_create(static_cast<Model*>(model)->model, &context) != RUTILE_OK) {
    arguments->LogEntry(KIM::LOG_VERBOSITY::error, "no memory for a context", __LINE__, __FILE__);
    return kError;
  }
  arguments->SetModelBufferPointer(context);
  return kGood;
}

int Compute(const KIM::ModelCompute* compute, const KIM::ModelComputeArguments* arguments) {
  const int *num_atoms = nullptr, *species = nullptr, *contributing = nullptr;
  const double* positions = nullptr;
  double *energy = nullptr, *forces = nullptr;
  ExtraOutputs extra;
  if (arguments->GetArgumentPointer(argument::numberOfParticles, &num_atoms) ||
      arguments->GetArgumentPointer(argument::particleSpeciesCodes, &species) ||
      arguments->GetArgumentPointer(argument::particleContributing, &contributing) ||
      arguments->GetArgumentPointer(argument::coordinates, &positions) ||
      arguments->GetArgumentPointer(argument::partialEnergy, &energy) ||
      arguments->GetArgumentPointer(argument::partialForces, &forces) ||
      arguments->GetArgumentPointer(argument::partialParticleEnergy, &extra.particle_energy) ||
      arguments->GetArgumentPointer(argument::partialVirial, &extra.virial) ||
      arguments->GetArgumentPointer(argument::partialParticleVirial, &extra.particle_virial)) {
    arguments->LogEntry(KIM::LOG_VERBOSITY::error, "an argument of the computation is missing", __LINE__, __FILE__);
    return kError;
  }
  std::vector<int> centers;
  for (int i = 0; i < *num_atoms; ++i) {
    if (contributing[i] != 0) centers.push_back(i);
  }
  rutile_outputs outputs = {};
  outputs.struct_size = sizeof(outputs);
  outputs.energy = energy;
  outputs.forces = forces;
  AskFor(centers, *num_atoms, &extra, &outputs);
  void* buffer = nullptr;
  arguments->GetModelBufferPointer(&buffer);
  auto* const context = static_cast<rutile_context*>(buffer);
  const int code =
      rutile_compute_list(context, *num_atoms, species, positions, static_cast<int>(centers.size()), centers.data(),
                          Neighbors, const_cast<KIM::ModelComputeArguments*>(arguments), -1, &outputs);
  if (code != RUTILE_OK) {
    void* model = nullptr;
    compute->GetModelBufferPointer(&model);
    const std::string message = static_cast<Model*>(model)->name + ": " + rutile_last_error(context);
    arguments->LogEntry(KIM::LOG_VERBOSITY::error, message, __LINE__, __FILE__);
    EndProcessOfSeveral(message);
    return kError;
  }
  Write(centers, *num_atoms, extra);
  return kGood;
}

int Destroy(KIM::ModelDestroy* destroy) {
  void* model = nullptr;
  destroy->GetModelBufferPointer(&model);
  delete static_cast<Model*>(model);
  return kGood;
}

}  // namespace rutile_kim
