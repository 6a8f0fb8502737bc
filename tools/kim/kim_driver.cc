// A model driver of the KIM API: opens the parameter files of a model, which are potentials. It is compiled by CMake,
// as rutile-kim --driver lays it out, and kim-api-collections-management installs it.

#include <KIM_ModelDriverHeaders.hpp>
#include <string>
#include <vector>

#include "tools/kim/kim_routines.h"

extern "C" int rutile_driver_create(KIM::ModelDriverCreate* create, KIM::LengthUnit, KIM::EnergyUnit, KIM::ChargeUnit,
                                    KIM::TemperatureUnit, KIM::TimeUnit) {
  int count = 0;
  create->GetNumberOfParameterFiles(&count);
  const std::string* directory = nullptr;
  create->GetParameterFileDirectoryName(&directory);
  std::vector<std::string> files;
  std::string message = count == 0 ? "the model has no parameter files; expected potentials of rutile" : "";
  for (int k = 0; k < count; ++k) {
    const std::string* name = nullptr;
    if (create->GetParameterFileBasename(k, &name)) {
      message = "the KIM API does not name parameter file " + std::to_string(k);
    } else {
      files.push_back(*directory + "/" + *name);
    }
  }
  return rutile_kim::CreateModel(create, "rutile_driver", files, message);
}
