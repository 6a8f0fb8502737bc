// What a portable model and a model driver of the KIM API share: a potential, and the routines that KIM calls for it.

#ifndef RUTILE_TOOLS_KIM_KIM_ROUTINES_H_
#define RUTILE_TOOLS_KIM_KIM_ROUTINES_H_

#include <KIM_ModelHeaders.hpp>
#include <string>
#include <vector>

#include "lib/md/rutile.h"

namespace rutile_kim {

// A potential, with what KIM keeps pointers to. It is the buffer of a KIM model.
struct Model {
  std::string name;  // for messages
  rutile_model* model = nullptr;
  double cutoff = 0, influence_distance = 0;
  // With two layers energies depend on neighbors of neighbors, so that KIM must have lists of ghosts, too.
  int will_not_request_neighbors_of_others = 1;
  ~Model() { rutile_close(model); }
};

// Opens one potential, or several as a committee. Returns a message, empty if all went well.
std::string Open(const std::vector<std::string>& files, Model* model);

int CreateArguments(const KIM::ModelCompute* compute, KIM::ModelComputeArgumentsCreate* arguments);
int DestroyArguments(const KIM::ModelCompute* compute, KIM::ModelComputeArgumentsDestroy* arguments);
int Compute(const KIM::ModelCompute* compute, const KIM::ModelComputeArguments* arguments);
int Destroy(KIM::ModelDestroy* destroy);

// Declares species, units, routines, cutoff and buffer of an open model. create: KIM's object for a model, or for one
// of a driver. Returns whether KIM refused any.
template <class Create>
bool Declare(Create* create, Model* model) {
  for (int k = 0; rutile_species(model->model, k) != nullptr; ++k) {
    if (create->SetSpeciesCode(KIM::SpeciesName(rutile_species(model->model, k)), k)) return true;
  }
  const auto set = [&](KIM::ModelRoutineName name, KIM::Function* function) {
    return create->SetRoutinePointer(name, KIM::LANGUAGE_NAME::cpp, /*required=*/1, function);
  };
  namespace routine = KIM::MODEL_ROUTINE_NAME;
  if (create->SetModelNumbering(KIM::NUMBERING::zeroBased) ||
      create->SetUnits(KIM::LENGTH_UNIT::A, KIM::ENERGY_UNIT::eV, KIM::CHARGE_UNIT::unused,
                       KIM::TEMPERATURE_UNIT::unused, KIM::TIME_UNIT::unused) ||
      set(routine::ComputeArgumentsCreate, reinterpret_cast<KIM::Function*>(CreateArguments)) ||
      set(routine::ComputeArgumentsDestroy, reinterpret_cast<KIM::Function*>(DestroyArguments)) ||
      set(routine::Compute, reinterpret_cast<KIM::Function*>(Compute)) ||
      set(routine::Destroy, reinterpret_cast<KIM::Function*>(Destroy))) {
    return true;
  }
  create->SetModelBufferPointer(model);
  create->SetInfluenceDistancePointer(&model->influence_distance);
  create->SetNeighborListPointers(1, &model->cutoff, &model->will_not_request_neighbors_of_others);
  return false;
}

// Makes KIM's model of files. message: why there is none, or empty.
template <class Create>
int CreateModel(Create* create, const std::string& name, const std::vector<std::string>& files, std::string message) {
  auto* const model = new Model;
  model->name = name;
  if (message.empty()) message = Open(files, model);
  if (message.empty() && Declare(create, model)) message = "the KIM API refuses the model's species or routines";
  if (message.empty()) return 0;
  create->LogEntry(KIM::LOG_VERBOSITY::error, message, __LINE__, __FILE__);
  delete model;
  return 1;
}

}  // namespace rutile_kim

#endif  // RUTILE_TOOLS_KIM_KIM_ROUTINES_H_
