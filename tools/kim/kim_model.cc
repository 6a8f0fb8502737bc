// A portable model of the KIM API: what LAMMPS and other programs load as libkim-api-portable-model.so.
//
// One library serves every potential. KIM asks it for its name before anything else, and finds models as
// NAME/libkim-api-portable-model.so; so the name is that of the directory that the library was loaded from, and the
// potentials are the files model-1.safetensors, model-2.safetensors (a committee) and so on beside it.

#include <dlfcn.h>
#include <sys/stat.h>

#include <KIM_ModelHeaders.hpp>
#include <KIM_SharedLibrarySchema.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "lib/md/rutile.h"

namespace {

using KIM::ModelCompute;
using KIM::ModelComputeArguments;
using KIM::ModelComputeArgumentsCreate;
using KIM::ModelComputeArgumentsDestroy;
using KIM::ModelCreate;
using KIM::ModelDestroy;
namespace argument = KIM::COMPUTE_ARGUMENT_NAME;
namespace routine = KIM::MODEL_ROUTINE_NAME;

// KIM's functions return true for an error.
constexpr int kGood = 0, kError = 1;

// The directory of this library, as the program loaded it.
std::string LibraryDirectory() {
  Dl_info info;
  static const char here = 0;
  if (dladdr(&here, &info) == 0 || info.dli_fname == nullptr) return ".";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string LastPart(const std::string& directory) { return directory.substr(directory.rfind('/') + 1); }

const std::string* const kDirectory = new std::string(LibraryDirectory());
const std::string* const kName = new std::string(LastPart(*kDirectory));

// What KIM keeps pointers to.
struct Model {
  rutile_model* model = nullptr;
  double cutoff = 0;
  int will_not_request_neighbors_of_others = 1;
  ~Model() { rutile_close(model); }
};

std::vector<std::string> ModelFiles() {
  std::vector<std::string> files;
  struct stat unused;
  for (int k = 1;; ++k) {
    const std::string path = *kDirectory + "/model-" + std::to_string(k) + ".safetensors";
    if (stat(path.c_str(), &unused) != 0) return files;
    files.push_back(path);
  }
}

// Opens the potential. Returns a message, empty if all went well.
std::string Open(Model* model) {
  const std::vector<std::string> files = ModelFiles();
  if (files.empty()) return *kDirectory + ": has no model-1.safetensors; make the model again with rutile-kim";
  std::vector<const char*> paths;
  for (const std::string& file : files) paths.push_back(file.c_str());
  char error[1000];
  if (rutile_open(paths.data(), static_cast<int>(paths.size()), nullptr, &model->model, error, sizeof(error)) !=
      RUTILE_OK) {
    return error;
  }
  return "";
}

int DestroyArguments(const ModelCompute*, ModelComputeArgumentsDestroy* arguments) {
  void* context = nullptr;
  arguments->GetModelBufferPointer(&context);
  rutile_context_destroy(static_cast<rutile_context*>(context));
  return kGood;
}

int CreateArguments(const ModelCompute* compute, ModelComputeArgumentsCreate* arguments) {
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

int Neighbors(void* user, int atom, int* count, const int** neighbors) {
  return static_cast<const ModelComputeArguments*>(user)->GetNeighborList(0, atom, count, neighbors);
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
  for (const char* const variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* const size = std::getenv(variable);
    if (size == nullptr || std::atoi(size) < 2) continue;
    std::fflush(nullptr);
    std::fprintf(stderr, "ERROR: %s\n", message.c_str());
    std::_Exit(1);
  }
}

int Compute(const ModelCompute*, const ModelComputeArguments* arguments) {
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
                          Neighbors, const_cast<ModelComputeArguments*>(arguments), -1, &outputs);
  if (code != RUTILE_OK) {
    const std::string message = *kName + ": " + rutile_last_error(context);
    arguments->LogEntry(KIM::LOG_VERBOSITY::error, message, __LINE__, __FILE__);
    EndProcessOfSeveral(message);
    return kError;
  }
  Write(centers, *num_atoms, extra);
  return kGood;
}

int Destroy(ModelDestroy* destroy) {
  void* model = nullptr;
  destroy->GetModelBufferPointer(&model);
  delete static_cast<Model*>(model);
  return kGood;
}

// Declares species and routines. Returns whether KIM refused any.
int Declare(ModelCreate* create, const Model& model) {
  for (int k = 0; rutile_species(model.model, k) != nullptr; ++k) {
    if (create->SetSpeciesCode(KIM::SpeciesName(rutile_species(model.model, k)), k)) return kError;
  }
  const auto set = [&](KIM::ModelRoutineName name, KIM::Function* function) {
    return create->SetRoutinePointer(name, KIM::LANGUAGE_NAME::cpp, /*required=*/1, function);
  };
  return create->SetModelNumbering(KIM::NUMBERING::zeroBased) ||
         create->SetUnits(KIM::LENGTH_UNIT::A, KIM::ENERGY_UNIT::eV, KIM::CHARGE_UNIT::unused,
                          KIM::TEMPERATURE_UNIT::unused, KIM::TIME_UNIT::unused) ||
         set(routine::ComputeArgumentsCreate, reinterpret_cast<KIM::Function*>(CreateArguments)) ||
         set(routine::ComputeArgumentsDestroy, reinterpret_cast<KIM::Function*>(DestroyArguments)) ||
         set(routine::Compute, reinterpret_cast<KIM::Function*>(Compute)) ||
         set(routine::Destroy, reinterpret_cast<KIM::Function*>(Destroy));
}

int Create(ModelCreate* create, KIM::LengthUnit, KIM::EnergyUnit, KIM::ChargeUnit, KIM::TemperatureUnit,
           KIM::TimeUnit) {
  auto* const model = new Model;
  std::string message = Open(model);
  if (message.empty() && Declare(create, *model)) message = "the KIM API refuses the model's species or routines";
  if (!message.empty()) {
    create->LogEntry(KIM::LOG_VERBOSITY::error, message, __LINE__, __FILE__);
    delete model;
    return kError;
  }
  rutile_model_info info = {};
  info.struct_size = sizeof(info);
  rutile_get_info(model->model, &info);
  model->cutoff = info.cutoff;
  create->SetModelBufferPointer(model);
  create->SetInfluenceDistancePointer(&model->cutoff);
  create->SetNeighborListPointers(1, &model->cutoff, &model->will_not_request_neighbors_of_others);
  return kGood;
}

}  // namespace

extern "C" {
int kim_shared_library_schema_version = 2;

// Without parameter and metadata files, as the potential's own file says all.
KIM::SHARED_LIBRARY_SCHEMA::SharedLibrarySchemaV2 kim_shared_library_schema = {KIM::COLLECTION_ITEM_TYPE::portableModel,
                                                                               kName->c_str(),
                                                                               KIM::LANGUAGE_NAME::cpp,
                                                                               reinterpret_cast<KIM::Function*>(Create),
                                                                               nullptr,
                                                                               nullptr,
                                                                               0,
                                                                               nullptr,
                                                                               0,
                                                                               nullptr};
}
