#include "lib/potential/predict_inputs.h"

#include <fnmatch.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/interrupt.h"
#include "lib/base/status_macros.h"
#include "lib/descriptor/feature_file.h"
#include "lib/descriptor/featurizer.h"
#include "lib/potential/energy_predictor.h"
#include "lib/structure/element.h"
#include "lib/tensorfile/tensor_reader.h"

namespace rutile {
namespace {

// Decides by number and config type, and collects.
class Collector {
 public:
  Collector(const Potential& potential, const PredictOptions& options)
      : potential_(potential), options_(options), predictor_(potential) {
    if (options.frames.has_value()) {
      frames_ = *options.frames;
      std::sort(frames_.begin(), frames_.end());
    }
  }

  // Whether the next structure is wanted; call once for each.
  bool Wants(const std::string& config_type) {
    const int64_t number = number_++;
    if (options_.frames.has_value() && !std::binary_search(frames_.begin(), frames_.end(), number)) return false;
    return options_.config_type.empty() || fnmatch(options_.config_type.c_str(), config_type.c_str(), 0) == 0;
  }

  template <typename T>
  void Add(const std::string& name, const std::string& config_type, double reference, absl::Span<const T> features,
           absl::Span<const uint8_t> species) {
    EnergyPrediction p;
    p.name = name;
    p.config_type = config_type;
    p.num_atoms = static_cast<int64_t>(species.size());
    p.reference = reference;
    p.predicted = predictor_.Predict(features, species);
    std::vector<int64_t> count(potential_.shape.num_species, 0);
    for (const uint8_t s : species) ++count[s];
    for (size_t s = 0; s < count.size(); ++s) {
      if (count[s] == 0) continue;
      absl::StrAppend(&p.composition, ElementSymbol(potential_.descriptor.species[s]));
      if (count[s] > 1) absl::StrAppend(&p.composition, count[s]);
    }
    predictions_.push_back(std::move(p));
    if (options_.on_progress) options_.on_progress(1);
  }

  absl::StatusOr<std::vector<EnergyPrediction>> Finish() && {
    if (!frames_.empty() && (frames_.front() < 0 || frames_.back() >= number_)) {
      const int64_t bad = frames_.front() < 0 ? frames_.front() : frames_.back();
      return absl::InvalidArgumentError(
          absl::StrCat("--frames names structure ", bad, ", but the data has ", number_, ", counted from 0"));
    }
    if (predictions_.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("none of the ", number_, " structures in the data is chosen by --frames and --config_type"));
    }
    return std::move(predictions_);
  }

 private:
  const Potential& potential_;
  const PredictOptions& options_;
  EnergyPredictor predictor_;
  std::vector<int64_t> frames_;
  int64_t number_ = 0;
  std::vector<EnergyPrediction> predictions_;
};

absl::Status PredictFeatures(const Potential& potential, const std::string& path, Collector* collector) {
  ASSIGN_OR_RETURN(const FeatureFile features, ReadFeatures(path));
  if (features.descriptor != potential.descriptor) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": made with the descriptor ", features.descriptor.ToJson(),
                                                   ", but the model has ", potential.descriptor.ToJson(),
                                                   "; give the structures, and evaluate will featurize them"));
  }
  const NamedTensors& tensors = features.file.tensors;
  const absl::Span<const int64_t> offset = tensors.At("atom_offset").values<int64_t>();
  const absl::Span<const uint8_t> species = tensors.At("species").values<uint8_t>();
  const absl::Span<const double> energy = tensors.At("energy").values<double>();
  const absl::Span<const bool> has_energy = tensors.At("has_energy").values<bool>();
  const absl::Span<const int32_t> config = tensors.At("config").values<int32_t>();
  const Tensor& feature = tensors.At("feature");
  const int64_t num_features = potential.shape.num_features;
  for (int64_t s = 0; s < features.num_structures(); ++s) {
    RETURN_IF_ERROR(CheckInterrupt());
    const std::string& config_type = features.config_types[config[s]];
    if (!collector->Wants(config_type)) continue;
    const double reference = has_energy[s] ? energy[s] : std::numeric_limits<double>::quiet_NaN();
    const int64_t begin = offset[s], atoms = offset[s + 1] - offset[s];
    if (feature.dtype() == DType::kF64) {
      collector->Add(features.names[s], config_type, reference,
                     feature.values<double>().subspan(begin * num_features, atoms * num_features),
                     species.subspan(begin, atoms));
    } else {
      collector->Add(features.names[s], config_type, reference,
                     feature.values<float>().subspan(begin * num_features, atoms * num_features),
                     species.subspan(begin, atoms));
    }
  }
  return absl::OkStatus();
}

absl::Status PredictStructures(const Potential& potential, const std::string& path, const PredictOptions& options,
                               Collector* collector) {
  FeaturizeOptions featurize;
  featurize.descriptor = potential.descriptor;
  featurize.precision = potential.parameters.dtype();
  featurize.num_threads = options.num_threads;
  featurize.reader = options.reader;
  return ForEachFeaturized({path}, featurize,
                           [&](const FeaturizedStructure& s) {
                             const auto found = s.structure.info.find("config_type");
                             const std::string config_type = found == s.structure.info.end() ? "" : found->second;
                             if (!collector->Wants(config_type)) return absl::OkStatus();
                             const double reference =
                                 s.structure.energy.value_or(std::numeric_limits<double>::quiet_NaN());
                             if (featurize.precision == DType::kF64) {
                               collector->Add(s.structure.name, config_type, reference, s.features64, s.species);
                             } else {
                               collector->Add(s.structure.name, config_type, reference, s.features32, s.species);
                             }
                             return absl::OkStatus();
                           })
      .status();
}

}  // namespace

absl::StatusOr<std::vector<EnergyPrediction>> PredictInputs(const Potential& potential,
                                                            absl::Span<const std::string> inputs,
                                                            const PredictOptions& options) {
  Collector collector(potential, options);
  for (const std::string& path : inputs) {
    RETURN_IF_ERROR(LooksLikeTensorFile(path) ? PredictFeatures(potential, path, &collector)
                                              : PredictStructures(potential, path, options, &collector));
  }
  return std::move(collector).Finish();
}

}  // namespace rutile
