#include "lib/potential/model/golden_potential_testing.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/structure/element.h"
#include "nlohmann/json.hpp"

namespace rutile {
namespace {

using Json = nlohmann::json;

constexpr char kFolder[] = "testdata/potential/";

Json ReadJson(absl::string_view name) {
  const std::string path = absl::StrCat(kFolder, name, ".json");
  std::ifstream file(path);
  CHECK(file.good()) << path << ": cannot be read; is //testdata:potential in the test's data?";
  return Json::parse(file);
}

uint8_t Element(const std::string& symbol) {
  const uint8_t number = AtomicNumber(symbol);
  CHECK_NE(int{number}, 0) << symbol;
  return number;
}

template <typename T>
std::vector<T> Flatten(const Json& rows) {
  std::vector<T> out;
  for (const Json& row : rows) {
    for (const Json& value : row) out.push_back(value.get<T>());
  }
  return out;
}

ChebyshevOptions ReadOptions(const Json& json) {
  ChebyshevOptions options;
  for (const Json& symbol : json.at("species_order")) options.species.push_back(Element(symbol));
  options.rad_order = json.at("rad_order");
  options.rad_cutoff = json.at("rad_cutoff");
  options.ang_order = json.at("ang_order");
  options.ang_cutoff = json.at("ang_cutoff");
  options.min_cutoff = json.at("min_cutoff");
  return options;
}

GoldenNetworks ReadNetworks(const Json& json, const Json& species_order) {
  GoldenNetworks networks;
  for (const Json& symbol : species_order) {
    // Some cases have no network for a species without atoms. Any values do, as they are never used.
    const std::string name = symbol;
    const Json& layers = json.contains(name) ? json.at(name) : json.front();
    networks.hidden.clear();
    for (size_t l = 0; l < layers.size(); ++l) {
      const std::vector<double> weight = Flatten<double>(layers[l].at("W"));
      const std::vector<double> bias = layers[l].at("b");
      networks.parameters.insert(networks.parameters.end(), weight.begin(), weight.end());
      networks.parameters.insert(networks.parameters.end(), bias.begin(), bias.end());
      if (l + 1 < layers.size()) networks.hidden.push_back(bias.size());
    }
  }
  return networks;
}

// Reads aenet's XSF of a periodic structure with total energy and forces, in the form that the files here have.
Structure ReadXsf(const std::string& name) {
  const std::string path = absl::StrCat(kFolder, name);
  std::ifstream file(path);
  CHECK(file.good()) << path;
  Structure structure;
  structure.name = path;
  structure.pbc = {true, true, true};
  std::string word;
  double energy;
  while (file >> word && word != "=") continue;
  file >> energy;
  structure.energy = energy;
  while (file >> word && word != "PRIMVEC") continue;
  for (double& value : structure.cell) file >> value;
  while (file >> word && word != "PRIMCOORD") continue;
  int64_t size, one;
  file >> size >> one;
  for (int64_t i = 0; i < size; ++i) {
    std::array<double, 6> row;
    file >> word;
    for (double& value : row) file >> value;
    structure.element.push_back(Element(word));
    structure.position.insert(structure.position.end(), row.begin(), row.begin() + 3);
    structure.force.insert(structure.force.end(), row.begin() + 3, row.end());
  }
  CHECK(!file.fail()) << path;
  return structure;
}

}  // namespace

std::vector<uint8_t> SpeciesIndices(const Structure& structure, const std::vector<uint8_t>& species) {
  std::vector<uint8_t> out;
  for (const uint8_t element : structure.element) {
    const auto found = std::find(species.begin(), species.end(), element);
    CHECK(found != species.end()) << structure.name << ": no species with atomic number " << int{element};
    out.push_back(found - species.begin());
  }
  return out;
}

std::vector<std::string> GoldenCaseNames() {
  std::vector<std::string> names;
  for (const Json& entry : ReadJson("index")) names.push_back(entry.at("name"));
  return names;
}

GoldenCase ReadGoldenCase(absl::string_view name) {
  const Json json = ReadJson(name);
  GoldenCase out;
  out.name = json.at("name");
  out.structure.name = out.name;
  for (const Json& symbol : json.at("species")) out.structure.element.push_back(Element(symbol));
  out.structure.position = Flatten<double>(json.at("positions"));
  if (!json.at("cell").is_null()) {
    const std::vector<double> cell = Flatten<double>(json.at("cell"));
    std::copy(cell.begin(), cell.end(), out.structure.cell.begin());
  }
  if (!json.at("pbc").is_null()) out.structure.pbc = json.at("pbc").get<std::array<bool, 3>>();
  out.descriptor = ReadOptions(json.at("descriptor"));
  out.species = SpeciesIndices(out.structure, out.descriptor.species);
  out.num_pairs = json.at("n_edges");
  out.features = Flatten<double>(json.at("features_exact"));
  if (json.contains("dG_dR")) {
    for (const Json& atom : json.at("dG_dR")) {
      for (const Json& feature : atom) {
        const std::vector<double> row = Flatten<double>(feature);
        out.jacobian.insert(out.jacobian.end(), row.begin(), row.end());
      }
    }
  }
  out.networks = ReadNetworks(json.at("network"), json.at("descriptor").at("species_order"));
  CHECK_EQ(json.at("activation").get<std::string>(), "tanh");
  out.feature_mean = json.at("feature_mean").get<std::vector<double>>();
  out.feature_deviation = json.at("feature_std").get<std::vector<double>>();
  out.energy_scaling = json.at("E_scaling");
  out.energy_shift = json.at("E_shift");
  out.atomic_output = json.at("atomic_energies_normalised").get<std::vector<double>>();
  out.energy = json.at("energy_exact");
  out.force = Flatten<double>(json.at("forces_exact"));
  return out;
}

GoldenTraining ReadGoldenTraining() {
  const Json json = ReadJson("training_trace");
  const Json& species_order = json.at("descriptor").at("species_order");
  GoldenTraining out;
  for (const Json& file : json.at("files")) out.structures.push_back(ReadXsf(file));
  out.descriptor = ReadOptions(json.at("descriptor"));
  for (const Json& symbol : species_order) {
    out.atomic_energies.push_back(json.at("atomic_energies").at(symbol.get<std::string>()));
  }
  const Json& optimizer = json.at("optimizer");
  CHECK_EQ(optimizer.at("name").get<std::string>(), "Adam");
  out.learning_rate = optimizer.at("lr");
  out.beta1 = optimizer.at("beta1");
  out.beta2 = optimizer.at("beta2");
  out.epsilon = optimizer.at("eps");
  out.weight_decay = optimizer.at("weight_decay");
  out.feature_mean = json.at("feature_mean").get<std::vector<double>>();
  out.feature_deviation = json.at("feature_std").get<std::vector<double>>();
  out.energy_scaling = json.at("E_scaling");
  out.energy_shift = json.at("E_shift");
  out.initial_networks = ReadNetworks(json.at("network_initial"), species_order);
  for (const Json& run : json.at("runs")) {
    GoldenTraining::Run& r = out.runs.emplace_back();
    r.force_weight = run.at("force_weight");
    r.final_networks = ReadNetworks(run.at("network_final"), species_order);
    for (const Json& step : run.at("trace")) {
      GoldenTraining::Step& s = r.steps.emplace_back();
      s.epoch = step.at("epoch");
      s.batch = step.at("batch").get<std::vector<int64_t>>();
      s.energy_rmse = step.at("energy_rmse_per_atom");
      s.force_rmse = step.at("force_rmse");
      s.loss = step.at("loss");
      s.gradient_norm = step.at("grad_norm");
    }
  }
  return out;
}

}  // namespace rutile
