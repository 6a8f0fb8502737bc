#include "lib/potential/data/atomic_data.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/file/preload.h"
#include "lib/machine/memory.h"
#include "lib/potential/data/atomic_block.h"
#include "lib/potential/data/config_weights.h"
#include "lib/potential/data/pair_cache.h"
#include "lib/structure/label_filter.h"
#include "lib/structure/structure_hash.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

using Block = std::shared_ptr<const AtomicBlock>;

// The place of one structure in its block.
struct Entry {
  const AtomicBlock* block;
  int64_t index;       // in the block
  int64_t first_atom;  // in the block
  int64_t atoms;
  PairView pairs;
  TripletView triplets;
  double weight;
  int64_t number = 0;  // over all that was read

  template <typename T>
  absl::Span<const T> Row(absl::Span<const T> column, int64_t width) const {
    return column.subspan(index * width, width);
  }
  const std::string& config_type() const { return block->config_types[block->config[index]]; }
  absl::Span<const double> Atoms3(absl::Span<const double> column) const {
    return column.subspan(3 * first_atom, 3 * atoms);
  }
};

std::vector<Entry> EntriesOf(const std::vector<Block>& blocks, double triplet_cutoff) {
  std::vector<Entry> entries;
  for (const Block& block : blocks) {
    for (int64_t s = 0; s < block->num_structures(); ++s) {
      const int64_t first = block->atom_offset[s], atoms = block->atom_offset[s + 1] - first;
      Entry entry{block.get(), s, first, atoms, {}, {}, block->weight.empty() ? 1.0 : block->weight[s]};
      if (block->kind == AtomicKind::kNeighbors) {
        entry.pairs = {block->pair_offset.subspan(first, atoms + 1), block->pair_j.data(), block->pair_shift.data(),
                       static_cast<int32_t>(first)};
        if (triplet_cutoff > 0 && block->triplet_cutoff == triplet_cutoff) {
          entry.triplets = {block->triplet_offset.subspan(first, atoms + 1), block->triplet_a.data(),
                            block->triplet_b.data()};
        }
      }
      entry.number = static_cast<int64_t>(entries.size());
      entries.push_back(entry);
    }
  }
  return entries;
}

template <typename T>
bool SameBits(absl::Span<const T> a, absl::Span<const T> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// ForEachArray calls use(data, bytes) for each of the mapped arrays that a batch with geometry reads: those of a whole
// block, or those of one structure.
template <typename T, typename Use>
void UseBytes(absl::Span<const T> values, const Use& use) {
  use(values.data(), static_cast<int64_t>(values.size() * sizeof(T)));
}

template <typename Use>
void ForEachArray(const AtomicBlock& block, const Use& use) {
  UseBytes(block.position, use);
  UseBytes(block.force, use);
  UseBytes(block.pair_offset, use);
  UseBytes(block.pair_j, use);
  UseBytes(block.pair_shift, use);
  UseBytes(block.triplet_a, use);
  UseBytes(block.triplet_b, use);
}

template <typename Use>
void ForEachArray(const Entry& entry, const Use& use) {
  UseBytes(entry.Atoms3(entry.block->position), use);
  UseBytes(entry.Atoms3(entry.block->force), use);
  UseBytes(entry.pairs.offset, use);
  const int64_t first = entry.pairs.offset.front(), count = entry.pairs.num_pairs();
  UseBytes(absl::MakeConstSpan(entry.pairs.j + first, count), use);
  UseBytes(absl::MakeConstSpan(entry.pairs.shift + 3 * first, 3 * count), use);
  if (entry.triplets.offset.empty()) return;
  const int64_t begin = entry.triplets.offset.front(), size = entry.triplets.offset.back() - begin;
  UseBytes(absl::MakeConstSpan(entry.triplets.a + begin, size), use);
  UseBytes(absl::MakeConstSpan(entry.triplets.b + begin, size), use);
}

// Names what differs between two structures, or returns "". Values are compared bit by bit, because both files hold the
// values that were given.
absl::string_view Difference(const Entry& a, const Entry& b, bool labels) {
  const AtomicBlock &x = *a.block, &y = *b.block;
  if (a.atoms != b.atoms) return "number of atoms";
  if (!SameBits(x.species.subspan(a.first_atom, a.atoms), y.species.subspan(b.first_atom, b.atoms))) return "species";
  if (!SameBits(a.Atoms3(x.position), b.Atoms3(y.position))) return "positions";
  if (!SameBits(a.Row(x.cell, 9), b.Row(y.cell, 9)) || !SameBits(a.Row(x.pbc, 3), b.Row(y.pbc, 3))) return "cell";
  if (!labels) return "";
  const auto differ = [&](const auto& in_x, const auto& in_y, const auto& same) {
    return in_x[a.index] != in_y[b.index] || (in_x[a.index] && !same());
  };
  if (differ(x.has_energy, y.has_energy, [&] { return x.energy[a.index] == y.energy[b.index]; })) return "energy";
  if (differ(x.has_force, y.has_force, [&] { return SameBits(a.Atoms3(x.force), b.Atoms3(y.force)); })) return "forces";
  if (differ(x.has_stress, y.has_stress, [&] { return SameBits(a.Row(x.stress, 9), b.Row(y.stress, 9)); })) {
    return "stress";
  }
  return "";
}

// Gives the structures of `features` the neighbors of `neighbors`. With `labels`, energies, forces and stresses must be
// equal too.
absl::Status Join(const std::vector<Entry>& neighbors, bool labels, std::vector<Entry>* features) {
  constexpr absl::string_view kRemedy = "; make both from the same structures with the same flags";
  if (neighbors.size() != features->size()) {
    return absl::InvalidArgumentError(absl::StrCat("the features are of ", features->size(),
                                                   " structures, the neighbors of ", neighbors.size(), kRemedy));
  }
  for (size_t s = 0; s < neighbors.size(); ++s) {
    Entry& entry = (*features)[s];
    const absl::string_view difference = Difference(entry, neighbors[s], labels);
    if (!difference.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          neighbors[s].block->path, ": its neighbors are of other structures than the features of ", entry.block->path,
          ": structure ", s, ", ", entry.block->names[entry.index], ", differs in its ", difference, kRemedy));
    }
    entry.pairs = neighbors[s].pairs;
    entry.triplets = neighbors[s].triplets;
  }
  return absl::OkStatus();
}

bool Fits(const std::string& text, const std::string& glob) { return fnmatch(glob.c_str(), text.c_str(), 0) == 0; }

absl::Status ApplyConfigWeights(const std::vector<std::pair<std::string, double>>& weights,
                                std::vector<Entry>* entries) {
  std::vector<bool> used(weights.size(), false);
  for (Entry& entry : *entries) {
    const std::string& config_type = entry.config_type();
    for (size_t i = 0; i < weights.size(); ++i) {
      if (!Fits(config_type, weights[i].first)) continue;
      entry.weight *= weights[i].second;
      used[i] = true;
      break;
    }
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    if (used[i]) continue;
    return absl::InvalidArgumentError(absl::StrCat("--config_weights: no structure has a config type that fits ",
                                                   weights[i].first, i > 0 ? " and none of those before it" : ""));
  }
  const bool any = std::any_of(entries->begin(), entries->end(), [](const Entry& entry) { return entry.weight > 0; });
  return any ? absl::OkStatus() : absl::InvalidArgumentError("every structure has weight 0: nothing can be learned");
}

// Returns the energy per atom less the atomic energies (by species), or nothing.
std::optional<double> EnergyPerAtom(const Entry& entry, absl::Span<const double> atomic_energies) {
  const AtomicBlock& block = *entry.block;
  if (!block.has_energy[entry.index]) return std::nullopt;
  double energy = block.energy[entry.index];
  for (const uint8_t s : block.species.subspan(entry.first_atom, entry.atoms)) energy -= atomic_energies[s];
  return energy / static_cast<double>(entry.atoms);
}

absl::Span<const double> ForceOf(const Entry& entry) {
  return entry.block->has_force[entry.index] ? entry.Atoms3(entry.block->force) : absl::Span<const double>();
}

}  // namespace

struct AtomicData::Impl {
  DescriptorOptions descriptor;
  std::map<uint8_t, double> atomic_energies;
  std::vector<std::string> commands;
  LabelKeys label_keys;
  std::string config_key;
  bool from_structures = false;  // and not from files of tensors
  bool has_features = false, has_pairs = false, has_triplets = false;
  PreloadOptions preload;
  bool exceeds_memory = false;  // the neighbor files take more than half of the memory
  std::vector<Block> blocks;    // of features if there are any, else of the inputs; entries point to these
  std::vector<Block> neighbors;
  std::vector<Entry> entries;
  std::string filters;                         // LabelFilter::Describe
  std::vector<Entry> filtered;                 // left out; both lists rise by number
  std::shared_ptr<const PairCache> cache;      // set by CacheNeighbors for pairs in memory
  std::shared_ptr<PairFinder> finder;          // for FindPairs
  std::shared_ptr<const AtomicLabels> labels;  // of WithLabels; null: those of the blocks

  const Entry& at(int64_t s) const { return entries[s]; }

  // Returns the entry of that number, or null.
  static const Entry* FindIn(const std::vector<Entry>& entries, int64_t number) {
    const auto found = std::lower_bound(entries.begin(), entries.end(), number,
                                        [](const Entry& entry, int64_t value) { return entry.number < value; });
    return found == entries.end() || found->number != number ? nullptr : &*found;
  }
  const Entry& AtNumber(int64_t number) const {
    const Entry* const found = FindIn(entries, number);
    const Entry* const entry = found != nullptr ? found : FindIn(filtered, number);
    CHECK(entry != nullptr) << "no structure was read under the number " << number;
    return *entry;
  }

  // Files were read from end to end until now; batches take structures in any order.
  void AdviseFiles() {
    int64_t bytes = 0;
    for (const Block& block : neighbors) ForEachArray(*block, [&](const void*, int64_t size) { bytes += size; });
    exceeds_memory = preload.preload == Preload::kNone && bytes > MemoryLimit() / 2;
    if (!exceeds_memory) return;
    for (const Block& block : neighbors) ForEachArray(*block, AdviseRandomAccess);
  }

  // Loads the geometry alone, so that a cache of neighbors serves any energies and forces.
  void Load(const Entry& entry, Structure* structure) const {
    const AtomicBlock& block = *entry.block;
    const absl::Span<const double> position = entry.Atoms3(block.position);
    structure->name = block.names[entry.index];
    structure->element.clear();
    for (const uint8_t index : block.species.subspan(entry.first_atom, entry.atoms)) {
      structure->element.push_back(descriptor.species()[index]);
    }
    structure->position.assign(position.begin(), position.end());
    std::copy_n(block.cell.begin() + 9 * entry.index, 9, structure->cell.begin());
    std::copy_n(block.pbc.begin() + 3 * entry.index, 3, structure->pbc.begin());
  }
};

absl::StatusOr<AtomicData> AtomicData::Read(absl::Span<const std::string> inputs, const AtomicDataOptions& options) {
  const ProfileScope scope(Stage::kRead);
  ASSIGN_OR_RETURN(AtomicInputs read, ReadAtomicInputs(inputs, options));
  auto impl = std::make_shared<Impl>();
  impl->descriptor = std::move(read.descriptor);
  impl->blocks = read.blocks.empty() ? read.neighbors : std::move(read.blocks);
  impl->neighbors = std::move(read.neighbors);
  const AtomicBlock& first = *impl->blocks[0];
  impl->config_key = first.config_key;
  impl->label_keys = CommonLabelKeys(impl->blocks, options.reader.on_warning);
  impl->preload = options.preload;
  impl->from_structures = first.kind == AtomicKind::kStructures;
  impl->has_features = first.kind == AtomicKind::kFeatures;
  impl->has_pairs = !impl->neighbors.empty();
  for (const std::vector<Block>* blocks : {&impl->blocks, &impl->neighbors}) {
    for (const Block& block : *blocks) {
      if (impl->atomic_energies.empty()) impl->atomic_energies = block->atomic_energies;
      const auto same = std::find(impl->commands.begin(), impl->commands.end(), block->command);
      if (!block->command.empty() && same == impl->commands.end()) impl->commands.push_back(block->command);
    }
  }
  impl->has_triplets = impl->has_pairs && impl->descriptor.is_chebyshev() &&
                       std::all_of(impl->neighbors.begin(), impl->neighbors.end(), [&](const Block& block) {
                         return block->triplet_cutoff == impl->descriptor.triplet_cutoff();
                       });
  impl->entries = EntriesOf(impl->blocks, impl->descriptor.triplet_cutoff());
  if (impl->has_pairs && impl->has_features) {
    RETURN_IF_ERROR(
        Join(EntriesOf(impl->neighbors, impl->descriptor.triplet_cutoff()), /*labels=*/true, &impl->entries));
  }
  const auto& energies = options.atomic_energies.empty() ? impl->atomic_energies : options.atomic_energies;
  std::vector<double> by_species;
  for (const uint8_t z : impl->descriptor.species()) {
    by_species.push_back(energies.count(z) > 0 ? energies.at(z) : 0.0);
  }
  LabelFilter filter(options.max_energy, options.max_forces, !energies.empty());
  std::vector<Entry> kept;
  for (const Entry& entry : impl->entries) {
    const bool stays = IsIsolatedAtom(entry.atoms, entry.config_type()) ||
                       !filter.LeavesOut(EnergyPerAtom(entry, by_species), ForceOf(entry));
    (stays ? kept : impl->filtered).push_back(entry);
  }
  std::swap(impl->entries, kept);
  impl->filters = filter.Describe();
  if (impl->entries.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("no structure is left: ", impl->filtered.size(), " were read",
                                                   impl->filtered.empty() ? "" : ", all of them left out by ",
                                                   impl->filters));
  }
  RETURN_IF_ERROR(ApplyConfigWeights(options.config_weights, &impl->entries));
  impl->finder = std::make_shared<PairFinder>(impl->descriptor.cutoff());
  impl->AdviseFiles();
  AtomicData data;
  data.impl_ = std::move(impl);
  return data;
}

const DescriptorOptions& AtomicData::descriptor() const { return impl_->descriptor; }
const std::map<uint8_t, double>& AtomicData::atomic_energies() const { return impl_->atomic_energies; }
const std::vector<std::string>& AtomicData::commands() const { return impl_->commands; }
const LabelKeys& AtomicData::label_keys() const { return impl_->label_keys; }
bool AtomicData::from_structures() const { return impl_->from_structures; }
const std::string& AtomicData::config_key() const { return impl_->config_key; }
int64_t AtomicData::num_filtered() const { return static_cast<int64_t>(impl_->filtered.size()); }
const std::string& AtomicData::filters() const { return impl_->filters; }

int64_t AtomicData::num_read() const { return num_structures() + num_filtered(); }
int64_t AtomicData::number(int64_t s) const { return impl_->at(s).number; }

std::optional<int64_t> AtomicData::Find(int64_t number) const {
  const Entry* const found = Impl::FindIn(impl_->entries, number);
  return found == nullptr ? std::nullopt : std::make_optional(found - impl_->entries.data());
}

std::string AtomicData::NameOfNumber(int64_t number) const {
  const Entry& entry = impl_->AtNumber(number);
  return entry.block->names[entry.index];
}

std::string AtomicData::HashOfNumber(int64_t number) const {
  Structure structure;
  impl_->Load(impl_->AtNumber(number), &structure);
  return StructureHash(structure);
}

int64_t AtomicData::num_structures() const { return static_cast<int64_t>(impl_->entries.size()); }
int64_t AtomicData::num_atoms(int64_t s) const { return impl_->at(s).atoms; }

absl::Span<const uint8_t> AtomicData::species(int64_t s) const {
  const Entry& entry = impl_->at(s);
  return entry.block->species.subspan(entry.first_atom, entry.atoms);
}

bool AtomicData::has_energy(int64_t s) const { return impl_->at(s).block->has_energy[impl_->at(s).index]; }
double AtomicData::energy(int64_t s) const {
  return impl_->labels != nullptr ? impl_->labels->energy[s] : impl_->at(s).block->energy[impl_->at(s).index];
}
const std::string& AtomicData::name(int64_t s) const { return impl_->at(s).block->names[impl_->at(s).index]; }
const std::string& AtomicData::path(int64_t s) const { return impl_->at(s).block->path; }
const std::string& AtomicData::config_type(int64_t s) const { return impl_->at(s).config_type(); }
double AtomicData::weight(int64_t s) const { return impl_->at(s).weight; }

bool AtomicData::has_features() const { return impl_->has_features; }

DType AtomicData::feature_dtype() const {
  CHECK(has_features()) << "the data have no features";
  return impl_->blocks[0]->feature.dtype();
}

template <typename T>
absl::Span<const T> AtomicData::features(int64_t s) const {
  const Entry& entry = impl_->at(s);
  const int64_t width = impl_->descriptor.num_features();
  return entry.block->feature.values<T>().subspan(entry.first_atom * width, entry.atoms * width);
}

template absl::Span<const float> AtomicData::features<float>(int64_t) const;
template absl::Span<const double> AtomicData::features<double>(int64_t) const;

absl::Span<const double> AtomicData::position(int64_t s) const {
  return impl_->at(s).Atoms3(impl_->at(s).block->position);
}

Matrix3 AtomicData::cell(int64_t s) const {
  const Entry& entry = impl_->at(s);
  Matrix3 cell;
  std::copy_n(entry.block->cell.begin() + 9 * entry.index, 9, cell.begin());
  return cell;
}

std::array<bool, 3> AtomicData::pbc(int64_t s) const {
  const Entry& entry = impl_->at(s);
  std::array<bool, 3> pbc;
  std::copy_n(entry.block->pbc.begin() + 3 * entry.index, 3, pbc.begin());
  return pbc;
}

absl::Span<const double> AtomicData::force(int64_t s) const {
  return impl_->labels != nullptr ? impl_->labels->force_of(s) : ForceOf(impl_->at(s));
}

bool AtomicData::has_stress(int64_t s) const {
  const std::array<bool, 3> periodic = pbc(s);
  return records_stress(s) && periodic[0] && periodic[1] && periodic[2];
}

bool AtomicData::records_stress(int64_t s) const { return impl_->at(s).block->has_stress[impl_->at(s).index]; }

absl::Span<const double> AtomicData::stress(int64_t s) const {
  if (!has_stress(s)) return {};
  if (impl_->labels != nullptr) return absl::MakeConstSpan(impl_->labels->stress).subspan(9 * s, 9);
  return impl_->at(s).Row(impl_->at(s).block->stress, 9);
}

bool AtomicData::has_pairs() const { return impl_->has_pairs; }

PairView AtomicData::pairs(int64_t s) const {
  DCHECK(has_pairs());
  return impl_->at(s).pairs;
}

bool AtomicData::exceeds_memory() const { return impl_->exceeds_memory; }

void AtomicData::Prefetch(absl::Span<const int64_t> structures) const {
  if (!impl_->exceeds_memory) return;
  for (const int64_t s : structures) ForEachArray(impl_->at(s), rutile::Prefetch);
}

bool AtomicData::has_triplets() const { return impl_->has_triplets; }
TripletView AtomicData::triplets(int64_t s) const { return impl_->at(s).triplets; }

absl::Status AtomicData::CacheNeighbors(bool triplets, absl::string_view cache_dir, int64_t max_bytes,
                                        int num_threads) {
  const ProfileScope scope(Stage::kSearch);
  if (has_pairs() && (!triplets || has_triplets())) return absl::OkStatus();
  auto impl = std::make_shared<Impl>(*impl_);
  PairCacheOptions options;
  options.cutoff = impl->descriptor.cutoff();
  options.triplet_cutoff = triplets ? impl->descriptor.triplet_cutoff() : 0;
  options.max_bytes = max_bytes;
  options.num_threads = num_threads;
  const LoadStructure load = [&](int64_t s, Structure* structure) { impl->Load(impl->at(s), structure); };
  if (cache_dir.empty()) {
    ASSIGN_OR_RETURN(impl->cache, PairCache::Make(num_structures(), load, options));
    for (int64_t s = 0; s < num_structures(); ++s) {
      impl->entries[s].pairs = impl->cache->pairs(s);
      impl->entries[s].triplets = impl->cache->triplets(s);
    }
  } else {
    ASSIGN_OR_RETURN(const std::string path, PairCacheFile(cache_dir, num_structures(), load, options));
    RETURN_IF_ERROR(CheckPreloadRoom({path}, impl->preload));
    absl::StatusOr<Block> block = ReadBlock(path, impl->descriptor, impl->preload);
    absl::Status status = block.status();
    if (status.ok()) {
      impl->neighbors = {*std::move(block)};
      status = Join(EntriesOf(impl->neighbors, options.triplet_cutoff), /*labels=*/false, &impl->entries);
    }
    if (absl::IsInvalidArgument(status)) {
      return absl::Status(status.code(),
                          absl::StrCat(status.message(), "; this file of --cache_dir is damaged: remove it"));
    }
    RETURN_IF_ERROR(status);
  }
  impl->has_pairs = true;
  impl->has_triplets = triplets;
  impl->AdviseFiles();
  impl_ = std::move(impl);
  return absl::OkStatus();
}

absl::Status AtomicData::FindPairs(int64_t s, std::vector<int64_t>* offset, std::vector<int32_t>* j,
                                   std::vector<int16_t>* shift) const {
  const LoadStructure load = [&](int64_t s, Structure* structure) { impl_->Load(impl_->at(s), structure); };
  return impl_->finder->Find(s, load, [&](const Structure&, NeighborList* list) {
    // The arrays are swapped, not copied, so that both sides reuse memory that has grown.
    std::swap(*offset, list->offset);
    std::swap(*j, list->j);
    std::swap(*shift, list->shift);
    return absl::OkStatus();
  });
}

AtomicData AtomicData::WithLabels(AtomicLabels labels) const {
  CHECK_EQ(static_cast<int64_t>(labels.energy.size()), num_structures());
  auto impl = std::make_shared<Impl>(*impl_);
  impl->labels = std::make_shared<const AtomicLabels>(std::move(labels));
  AtomicData data;
  data.impl_ = std::move(impl);
  return data;
}

AtomicData AtomicData::WithDescriptor(const DescriptorOptions& descriptor) const {
  CHECK(impl_->from_structures && !impl_->has_pairs && descriptor.species() == impl_->descriptor.species());
  auto impl = std::make_shared<Impl>(*impl_);
  impl->descriptor = descriptor;
  impl->finder = std::make_shared<PairFinder>(descriptor.cutoff());
  AtomicData data;
  data.impl_ = std::move(impl);
  return data;
}

absl::StatusOr<std::vector<bool>> AtomicData::Matches(absl::string_view key, absl::string_view pattern) const {
  const std::string& known = impl_->config_key;
  if (key != known) return OtherKey(key, known, impl_->from_structures);
  std::vector<bool> matches(num_structures());
  for (int64_t s = 0; s < num_structures(); ++s) matches[s] = Fits(config_type(s), std::string(pattern));
  if (std::find(matches.begin(), matches.end(), true) == matches.end()) {
    std::set<std::string> values;
    for (int64_t s = 0; s < num_structures(); ++s) values.insert(config_type(s));
    return NothingFits(key, pattern, std::move(values));
  }
  return matches;
}

}  // namespace rutile
