#include "lib/potential/prediction/predict_inputs.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/interrupt.h"
#include "lib/base/status_macros.h"
#include "lib/descriptor/descriptor_cost.h"
#include "lib/mace/mace_model.h"
#include "lib/machine/parallel_for.h"
#include "lib/machine/read_ahead.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/network/network_cost.h"
#include "lib/potential/data/isolated_atoms.h"
#include "lib/potential/data/prediction_source.h"
#include "lib/potential/data/same_structures.h"
#include "lib/potential/prediction/force_predictor.h"
#include "lib/structure/element.h"
#include "lib/structure/species_map.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// The number of atoms that are handled together: enough to keep threads busy, in a constant amount of memory.
constexpr int64_t kChunkAtoms = 1 << 13;

// Structures that were read, and their predictions. Items keep their memory from one chunk to the next.
struct Chunk {
  std::deque<SourceStructure> items;
  int64_t count = 0;  // number of items in use
  bool last = false;
  std::vector<int64_t> numbers;  // over all inputs, of the items in use
  std::vector<StructurePrediction> predictions;
  std::vector<std::vector<uint8_t>> outside;  // [items in use][atoms], or empty
  std::vector<absl::Status> status;
};

// Reads the inputs in chunks, without the structures that the options leave out.
class ChunkReader {
 public:
  ChunkReader(const DescriptorOptions& descriptor, absl::Span<const std::string> inputs, const PredictOptions& options)
      : descriptor_(descriptor), inputs_(inputs), options_(options) {
    if (options.frames.has_value()) {
      frames_ = *options.frames;
      std::sort(frames_.begin(), frames_.end());
    }
  }

  absl::Status Read(Chunk* chunk) {
    const ProfileScope scope(Stage::kRead);
    chunk->count = 0;
    chunk->numbers.clear();
    for (int64_t atoms = 0; atoms < kChunkAtoms;) {
      if (static_cast<int64_t>(chunk->items.size()) == chunk->count) chunk->items.emplace_back();
      SourceStructure& item = chunk->items[chunk->count];
      ASSIGN_OR_RETURN(const bool more, Next(&item));
      if (!more) {
        chunk->last = true;
        return absl::OkStatus();
      }
      atoms += item.structure.size();
      scope.Add(Counter::kStructures, 1);
      scope.Add(Counter::kAtoms, item.structure.size());
      chunk->numbers.push_back(number_ - 1);
      ++chunk->count;
    }
    return absl::OkStatus();
  }

  // Checks after the last chunk that the options selected structures.
  absl::Status CheckSelection() const {
    if (!frames_.empty() && (frames_.front() < 0 || frames_.back() >= number_)) {
      const int64_t bad = frames_.front() < 0 ? frames_.front() : frames_.back();
      return absl::InvalidArgumentError(
          absl::StrCat("--frames names structure ", bad, ", but the data has ", number_, ", counted from 0"));
    }
    if (chosen_ >= options_.shard) return absl::OkStatus();
    if (chosen_ > 0) {
      return absl::InvalidArgumentError(absl::StrCat("shard ", options_.shard, "/", options_.num_shards, " of ",
                                                     chosen_, " structures has none: make at most ", chosen_));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("none of the ", number_, " structures in the data is chosen by --frames and --config_type"));
  }

 private:
  bool Wants(const std::string& config_type) {
    const int64_t number = number_++;
    if (options_.frames.has_value() && !std::binary_search(frames_.begin(), frames_.end(), number)) return false;
    if (!options_.config_type.empty() && fnmatch(options_.config_type.c_str(), config_type.c_str(), 0) != 0) {
      return false;
    }
    return chosen_++ % options_.num_shards == options_.shard - 1;
  }

  absl::StatusOr<bool> Next(SourceStructure* item) {
    while (true) {
      if (source_ == nullptr) {
        if (next_input_ == inputs_.size()) return false;
        ASSIGN_OR_RETURN(
            source_, PredictionSource::Open(inputs_[next_input_++], descriptor_, options_.reader, options_.config_key));
      }
      ASSIGN_OR_RETURN(const bool more, source_->Next([&](const std::string& c) { return Wants(c); }, item));
      item->owner = source_;
      if (more) return true;
      source_.reset();
    }
  }

  const DescriptorOptions& descriptor_;
  const absl::Span<const std::string> inputs_;
  const PredictOptions& options_;
  std::vector<int64_t> frames_;
  std::shared_ptr<PredictionSource> source_;
  size_t next_input_ = 0;
  int64_t number_ = 0;  // of the next structure, over all inputs
  int64_t chosen_ = 0;  // number chosen by --frames and --config_type, in all shards
};

// The scratch memory of one thread.
struct Worker {
  explicit Worker(absl::Span<const Potential> models) : predictor(models), search(predictor.cutoff()) {}
  ForcePredictor predictor;
  NeighborSearch search;
  NeighborList neighbors;
  std::vector<uint8_t> species;
  AtomicPrediction prediction;
};

class Pipeline {
 public:
  Pipeline(absl::Span<const Potential> models, const PredictOptions& options)
      : model_(models[0]),
        options_(options),
        species_map_(models[0].descriptor.species(), /*of_model=*/true),
        descriptor_cost_(models[0].descriptor, AngularMethod::kMoments,
                         CommitteePrecision(models) == DType::kF64 ? 8 : 4, models[0].descriptor.cutoff()),
        network_cost_(models[0].shape),
        num_models_(static_cast<int64_t>(models.size())),
        pool_(options.num_threads) {
    for (int t = 0; t < pool_.num_threads(); ++t) workers_.emplace_back(models);
  }

  absl::Status Compute(Chunk* chunk) {
    chunk->predictions.clear();
    chunk->predictions.resize(chunk->count);
    chunk->outside.clear();
    chunk->outside.resize(chunk->count);
    chunk->status.assign(chunk->count, absl::OkStatus());
    pool_.For(chunk->count, 1, [&](int64_t begin, int64_t end, int worker) {
      for (int64_t s = begin; s < end; ++s) {
        chunk->status[s] = Predict(chunk->items[s], worker, chunk->numbers[s], &chunk->predictions[s]);
        if (options_.on_prediction) chunk->outside[s] = workers_[worker].prediction.outside;
      }
    });
    for (const absl::Status& status : chunk->status) RETURN_IF_ERROR(status);
    return absl::OkStatus();
  }

 private:
  absl::Status Predict(const SourceStructure& item, int thread, int64_t number, StructurePrediction* result) {
    RETURN_IF_ERROR(CheckInterrupt());  // with uncertainties, a chunk takes long
    Worker* const worker = &workers_[thread];
    const Structure& structure = item.structure;
    RETURN_IF_ERROR(species_map_.Map(structure, &worker->species));
    AtomicPrediction& p = worker->prediction;
    const bool from_features = !options_.forces && !worker->predictor.needs_geometry() && !options_.on_geometry;
    StructureGeometry geometry;
    if (from_features && !item.features32.empty()) {
      worker->predictor.PredictFromFeatures(item.features32, worker->species, &p);
    } else if (from_features && !item.features64.empty()) {
      worker->predictor.PredictFromFeatures(item.features64, worker->species, &p);
    } else {
      geometry.species = worker->species;
      geometry.position = structure.position;
      geometry.cell = structure.cell;
      if (item.has_pairs) {
        geometry.pairs = item.pairs;
      } else {
        const ProfileScope scope(Stage::kSearch);
        scope.Add(Counter::kAtoms, structure.size());
        RETURN_IF_ERROR(FindNeighbors(structure, worker));
        geometry.pairs = {worker->neighbors.offset, worker->neighbors.j.data(), worker->neighbors.shift.data(), 0};
      }
      const ProfileScope scope(Stage::kPredict);
      if (scope.is_on()) Count(scope, structure.size(), geometry.pairs.num_pairs());
      worker->predictor.Predict(geometry, structure.pbc, options_.forces, &p);
      result->nearest = item.has_pairs ? NearestDistance(geometry) : std::sqrt(worker->neighbors.nearest_squared);
      if (const double near = model_.descriptor.min_cutoff(); result->nearest <= near) {
        MarkAtomsTooNear(geometry, near, absl::MakeSpan(p.outside));
      }
    }
    result->name = structure.name;
    result->config_type = item.config_type;
    result->composition = Composition(worker->species);
    const auto num_pairs = [&]() -> absl::StatusOr<int64_t> {
      if (!geometry.pairs.offset.empty()) return geometry.pairs.num_pairs();
      RETURN_IF_ERROR(FindNeighbors(structure, worker));  // it was predicted from features
      return static_cast<int64_t>(worker->neighbors.j.size());
    };
    ASSIGN_OR_RETURN(result->isolated, IsIsolated(structure.size(), item.config_type, num_pairs));
    result->num_atoms = structure.size();
    result->reference_energy = structure.energy.value_or(std::numeric_limits<double>::quiet_NaN());
    result->predicted_energy = p.energy;
    result->element = structure.element;
    result->atom_energy = p.atom_energy;
    result->predicted_force = p.force;
    if (options_.forces) {
      result->reference_force = structure.force;
      result->reference_stress = structure.stress;
      result->predicted_stress = p.stress;
    }
    if (num_models_ > 1) result->energy_spread = p.energy_spread;
    result->force_spread = p.force_spread;
    if (!p.outside.empty()) result->atoms_outside = std::accumulate(p.outside.begin(), p.outside.end(), int64_t{0});
    return options_.on_geometry ? options_.on_geometry(thread, number, geometry, result) : absl::OkStatus();
  }

  // Finds the structure's neighbors; an error names it.
  static absl::Status FindNeighbors(const Structure& structure, Worker* worker) {
    const absl::Status status = worker->search.Compute(structure, &worker->neighbors);
    return status.ok() ? status : absl::Status(status.code(), absl::StrCat(structure.name, ": ", status.message()));
  }

  void Count(const ProfileScope& scope, int64_t atoms, int64_t pairs) const {
    if (model_.mace != nullptr) {
      scope.Add(Counter::kAtoms, atoms);
      scope.Add(Counter::kPairs, pairs);
      scope.Add(Counter::kFlop, num_models_ * MaceFlop(*model_.mace, atoms, pairs, options_.forces));
      return;
    }
    int64_t network = network_cost_.forward, flop = descriptor_cost_.Features(atoms, pairs);
    if (options_.forces) {
      network += network_cost_.input_gradients;
      flop += num_models_ * descriptor_cost_.Vjp(atoms, pairs);
    }
    scope.Add(Counter::kAtoms, atoms);
    scope.Add(Counter::kPairs, pairs);
    scope.Add(Counter::kFlop, flop + num_models_ * atoms * network);
  }

  std::string Composition(absl::Span<const uint8_t> species) const {
    std::vector<int64_t> count(model_.descriptor.species().size(), 0);
    for (const uint8_t s : species) ++count[s];
    std::string composition;
    for (size_t s = 0; s < count.size(); ++s) {
      if (count[s] == 0) continue;
      absl::StrAppend(&composition, ElementSymbol(model_.descriptor.species()[s]));
      if (count[s] > 1) absl::StrAppend(&composition, count[s]);
    }
    return composition;
  }

  const Potential& model_;
  const PredictOptions& options_;
  const SpeciesMap species_map_;
  const DescriptorCost descriptor_cost_;
  const NetworkCost network_cost_;
  const int64_t num_models_;
  ThreadPool pool_;
  std::deque<Worker> workers_;
};

}  // namespace

absl::StatusOr<std::vector<StructurePrediction>> PredictInputs(absl::Span<const Potential> models,
                                                               absl::Span<const std::string> inputs,
                                                               const PredictOptions& options) {
  const bool needs_geometry = std::any_of(models.begin(), models.end(),
                                          [](const Potential& m) { return !m.repulsion.empty() || m.mace != nullptr; });
  ASSIGN_OR_RETURN(const std::vector<std::string> once,
                   InputsOnce(inputs, models[0].descriptor, options.forces || needs_geometry || options.on_geometry));
  ChunkReader reader(models[0].descriptor, once, options);
  Pipeline pipeline(models, options);
  std::vector<StructurePrediction> predictions;
  RETURN_IF_ERROR(ForEachChunk<Chunk>(
      options.num_threads > 1, [&](Chunk* chunk) { return reader.Read(chunk); },
      [&](Chunk* chunk) { return pipeline.Compute(chunk); },
      [&](Chunk* chunk) {
        for (int64_t s = 0; s < chunk->count; ++s) {
          if (options.on_structure) RETURN_IF_ERROR(options.on_structure(chunk->items[s].structure));
          if (options.on_prediction) {
            RETURN_IF_ERROR(options.on_prediction(
                {chunk->items[s].structure, chunk->predictions[s], chunk->outside[s], chunk->numbers[s]}));
          }
          predictions.push_back(std::move(chunk->predictions[s]));
        }
        if (options.on_progress) options.on_progress(chunk->count);
        return absl::OkStatus();
      }));
  RETURN_IF_ERROR(reader.CheckSelection());
  return predictions;
}

}  // namespace rutile
