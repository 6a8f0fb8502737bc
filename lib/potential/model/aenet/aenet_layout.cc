#include "lib/potential/model/aenet/aenet_layout.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

constexpr int64_t kMostLayers = 64, kMostNodes = 1 << 16, kMostFeatures = 1 << 16, kMostSpecies = 118;
constexpr int64_t kMostFunction = 4;  // the code of twist

// Where each layer begins in the weights, and in the values of all nodes, each layer with a node for the bias.
struct Indices {
  std::vector<int64_t> weight = {0}, value = {0};  // [layers]
};

Indices IndicesOf(const std::vector<int64_t>& nodes) {
  Indices indices;
  for (size_t l = 0; l + 1 < nodes.size(); ++l) {
    indices.weight.push_back(indices.weight.back() + (nodes[l] + 1) * nodes[l + 1]);
    indices.value.push_back(indices.value.back() + nodes[l] + 1);
  }
  return indices;
}

absl::StatusOr<int64_t> InRange(AenetSource* source, absl::string_view what, int64_t least, int64_t most) {
  ASSIGN_OR_RETURN(const int64_t value, source->Integer(what));
  if (value >= least && value <= most) return value;
  return source->Error(absl::StrCat(what, " is ", value, ", expected ", least, " to ", most));
}

absl::Status ReadNetwork(AenetSource* source, AenetNetwork* network) {
  ASSIGN_OR_RETURN(const int64_t layers, InRange(source, "the number of layers of nodes", 2, kMostLayers));
  RETURN_IF_ERROR(source->Integer("the largest number of nodes").status());
  ASSIGN_OR_RETURN(const int64_t num_weights, source->Integer("the number of weights"));
  RETURN_IF_ERROR(source->Integer("the number of values").status());
  ASSIGN_OR_RETURN(network->nodes, source->Integers(layers, "nodes of the layers"));
  for (const int64_t nodes : network->nodes) {
    if (nodes >= 1 && nodes <= kMostNodes) continue;
    return source->Error(absl::StrCat("a layer has ", nodes, " nodes, expected 1 to ", kMostNodes));
  }
  if (network->nodes.back() != 1) {
    return source->Error(absl::StrCat("the network has ", network->nodes.back(), " outputs, expected one: the energy"));
  }
  ASSIGN_OR_RETURN(network->functions, source->Integers(layers - 1, "activations of the layers"));
  for (const int64_t function : network->functions) {
    if (function >= 0 && function <= kMostFunction) continue;
    return source->Error(absl::StrCat("an activation has the code ", function,
                                      ", expected 0 (linear), 1 (tanh), 2 (sigmoid), 3 (mtanh) or 4 (twist)"));
  }
  const Indices indices = IndicesOf(network->nodes);
  const std::pair<absl::string_view, const std::vector<int64_t>*> lists[] = {
      {"places of the layers' weights", &indices.weight}, {"places of the layers' values", &indices.value}};
  for (const auto& [what, expected] : lists) {
    ASSIGN_OR_RETURN(const std::vector<int64_t> places, source->Integers(layers, what));
    if (places == *expected) continue;
    return source->Error(absl::StrCat(what, " are ", absl::StrJoin(places, ", "), ", expected ",
                                      absl::StrJoin(*expected, ", "), " for layers of ",
                                      absl::StrJoin(network->nodes, ", "), " nodes"));
  }
  if (num_weights != indices.weight.back()) {
    return source->Error(absl::StrCat("the number of weights is ", num_weights, ", expected ", indices.weight.back(),
                                      " for layers of ", absl::StrJoin(network->nodes, ", "), " nodes"));
  }
  ASSIGN_OR_RETURN(network->weights, source->Numbers(num_weights, "weights"));
  return absl::OkStatus();
}

absl::Status ReadSetup(AenetSource* source, AenetNetwork* network) {
  ASSIGN_OR_RETURN(network->description, source->Text("the description"));
  ASSIGN_OR_RETURN(const std::vector<uint8_t> atom, source->Symbols(1, "the central atom"));
  network->atom = atom[0];
  ASSIGN_OR_RETURN(const int64_t environment,
                   InRange(source, "the number of species around the atom", 1, kMostSpecies));
  ASSIGN_OR_RETURN(network->environment, source->Symbols(environment, "species around the atom"));
  ASSIGN_OR_RETURN(const std::vector<double> distance, source->Numbers(1, "the least distance"));
  ASSIGN_OR_RETURN(const std::vector<double> cutoff, source->Numbers(1, "the largest cutoff"));
  network->min_distance = distance[0];
  network->max_cutoff = cutoff[0];
  ASSIGN_OR_RETURN(network->basis, source->Word("the basis"));
  ASSIGN_OR_RETURN(const int64_t features, InRange(source, "the number of features", 1, kMostFeatures));
  if (features != network->nodes[0]) {
    return source->Error(absl::StrCat("the number of features is ", features, ", expected ", network->nodes[0],
                                      ", the inputs of the network"));
  }
  ASSIGN_OR_RETURN(const int64_t parameters, InRange(source, "the number of parameters of a feature", 4, 64));
  RETURN_IF_ERROR(source->Integers(features, "kinds of the features").status());
  ASSIGN_OR_RETURN(network->parameters, source->Numbers(features * parameters, "parameters of the features"));
  network->parameters.resize(kAenetParameters);  // those of the basis come first
  RETURN_IF_ERROR(source->SkipFunctionSpecies(features, environment));
  ASSIGN_OR_RETURN(network->evaluations, source->Integer("the number of evaluations"));
  ASSIGN_OR_RETURN(network->min, source->Numbers(features, "least values of the features"));
  ASSIGN_OR_RETURN(network->max, source->Numbers(features, "largest values of the features"));
  ASSIGN_OR_RETURN(network->mean, source->Numbers(features, "means of the features"));
  ASSIGN_OR_RETURN(network->square, source->Numbers(features, "mean squares of the features"));
  return absl::OkStatus();
}

absl::Status ReadTrainingSet(AenetSource* source, AenetNetwork* network) {
  ASSIGN_OR_RETURN(network->training_set, source->Text("the training set"));
  ASSIGN_OR_RETURN(network->normalized, source->Flag("whether energies are normalized"));
  ASSIGN_OR_RETURN(const std::vector<double> scale, source->Numbers(1, "the scale of energies"));
  ASSIGN_OR_RETURN(const std::vector<double> shift, source->Numbers(1, "the shift of energies"));
  network->scale = scale[0];
  network->shift = shift[0];
  ASSIGN_OR_RETURN(const int64_t types, InRange(source, "the number of species", 1, kMostSpecies));
  ASSIGN_OR_RETURN(network->types, source->Symbols(types, "species"));
  ASSIGN_OR_RETURN(network->atomic_energies, source->Numbers(types, "atomic energies"));
  ASSIGN_OR_RETURN(network->num_atoms, source->Integer("the number of atoms"));
  ASSIGN_OR_RETURN(network->num_structures, source->Integer("the number of structures"));
  ASSIGN_OR_RETURN(const std::vector<double> energies, source->Numbers(3, "least, largest and mean energy"));
  network->energy_min = energies[0];
  network->energy_max = energies[1];
  network->energy_mean = energies[2];
  return source->End();
}

}  // namespace

void WriteAenet(const AenetNetwork& network, AenetSink* sink) {
  const Indices indices = IndicesOf(network.nodes);
  sink->AddInteger(static_cast<int64_t>(network.nodes.size()));
  sink->AddInteger(*std::max_element(network.nodes.begin(), network.nodes.end()));
  sink->AddInteger(static_cast<int64_t>(network.weights.size()));
  sink->AddInteger(indices.value.back() + network.nodes.back());
  for (const auto* list : {&network.nodes, &network.functions, &indices.weight, &indices.value}) {
    sink->AddIntegers(*list);
  }
  sink->AddNumbers(network.weights);

  const size_t features = network.nodes[0];
  sink->AddText(network.description, kAenetDescription);
  sink->AddSymbols({network.atom});
  sink->AddInteger(static_cast<int64_t>(network.environment.size()));
  sink->AddSymbols(network.environment);
  sink->AddNumber(network.min_distance);
  sink->AddNumber(network.max_cutoff);
  sink->AddText(network.basis, kAenetBasis);
  sink->AddInteger(static_cast<int64_t>(features));
  sink->AddInteger(kAenetParameters);
  sink->AddIntegers(std::vector<int64_t>(features, 0));  // kinds of symmetry functions, not used by Chebyshev
  std::vector<double> parameters = network.parameters;
  parameters.resize(features * kAenetParameters, 0.0);
  sink->AddNumbers(parameters);
  sink->AddIntegers(std::vector<int64_t>(features * kAenetEnvironment, 0));
  sink->AddInteger(network.evaluations);
  for (const auto* list : {&network.min, &network.max, &network.mean, &network.square}) sink->AddNumbers(*list);

  sink->AddText(network.training_set, kAenetPath);
  sink->AddFlag(network.normalized);
  sink->AddNumber(network.scale);
  sink->AddNumber(network.shift);
  sink->AddInteger(static_cast<int64_t>(network.types.size()));
  sink->AddSymbols(network.types);
  sink->AddNumbers(network.atomic_energies);
  sink->AddInteger(network.num_atoms);
  sink->AddInteger(network.num_structures);
  sink->AddTriple(network.energy_min, network.energy_max, network.energy_mean);
}

absl::StatusOr<AenetNetwork> ReadAenet(AenetSource* source) {
  AenetNetwork network;
  RETURN_IF_ERROR(ReadNetwork(source, &network));
  RETURN_IF_ERROR(ReadSetup(source, &network));
  RETURN_IF_ERROR(ReadTrainingSet(source, &network));
  return network;
}

}  // namespace rutile
