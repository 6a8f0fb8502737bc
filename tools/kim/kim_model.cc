// A portable model of the KIM API: what LAMMPS and other programs load as libkim-api-portable-model.so.
//
// One library serves every potential. KIM asks it for its name before anything else, and finds models as
// NAME/libkim-api-portable-model.so; so the name is that of the directory that the library was loaded from, and the
// potentials are the files model-1.safetensors, model-2.safetensors (a committee) and so on beside it.

#include <dlfcn.h>
#include <sys/stat.h>

#include <KIM_ModelHeaders.hpp>
#include <KIM_SharedLibrarySchema.hpp>
#include <string>
#include <vector>

#include "tools/kim/kim_routines.h"

namespace {

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

std::vector<std::string> ModelFiles() {
  std::vector<std::string> files;
  struct stat unused;
  for (int k = 1;; ++k) {
    const std::string path = *kDirectory + "/model-" + std::to_string(k) + ".safetensors";
    if (stat(path.c_str(), &unused) != 0) return files;
    files.push_back(path);
  }
}

int Create(KIM::ModelCreate* create, KIM::LengthUnit, KIM::EnergyUnit, KIM::ChargeUnit, KIM::TemperatureUnit,
           KIM::TimeUnit) {
  const std::vector<std::string> files = ModelFiles();
  const std::string message =
      files.empty() ? *kDirectory + ": has no model-1.safetensors; make the model again with rutile-kim" : "";
  return rutile_kim::CreateModel(create, *kName, files, message);
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
