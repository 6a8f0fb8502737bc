#include "lib/neighbor/neighbor_file.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/structure/element.h"
#include "lib/structure/species_map.h"
#include "lib/tensorfile/tensor_reader.h"
#include "nlohmann/json.hpp"

namespace rutile {
namespace {

absl::StatusOr<double> ParseCutoff(const TensorFile& file, const std::string& key) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) {
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": its metadata has no \"", key, "\""));
  }
  double value = 0;
  if (!absl::SimpleAtod(found->second, &value) || !(value > 0 && value <= kLongestCutoff)) {
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": metadata \"", key, "\" is \"", found->second,
                                                   "\", expected Angstrom, above 0 and at most ", kLongestCutoff));
  }
  return value;
}

absl::StatusOr<std::vector<uint8_t>> ParseSpecies(const TensorFile& file) {
  ASSIGN_OR_RETURN(const std::vector<std::string> symbols, ParseStrings(file, "species"));
  std::vector<uint8_t> species;
  for (const std::string& symbol : symbols) {
    const uint8_t element = AtomicNumber(symbol);
    if (element == 0 || std::find(species.begin(), species.end(), element) != species.end()) {
      return absl::InvalidArgumentError(absl::StrCat(file.path, ": metadata \"species\": \"", symbol, "\" is ",
                                                     element == 0 ? "no element" : "there twice"));
    }
    species.push_back(element);
  }
  return species;
}

absl::Status TensorError(const TensorFile& file, absl::string_view name, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(file.path, ": tensor \"", name, "\": ", what));
}

// Checks that offsets rise from 0 to `end`.
absl::Status CheckOffsets(const TensorFile& file, absl::string_view name, absl::Span<const int64_t> offset,
                          int64_t end) {
  bool falls = false;
  for (size_t i = 0; i + 1 < offset.size(); ++i) falls |= offset[i + 1] < offset[i];
  if (!falls && offset.front() == 0 && offset.back() == end) return absl::OkStatus();
  return TensorError(file, name, absl::StrCat("offsets do not rise from 0 to ", end));
}

// Checks that neighbors are atoms of the same structure, without branches in the inner loop, so that it runs at the
// speed of memory.
absl::Status CheckNeighbors(const NeighborFile& file) {
  for (int64_t s = 0; s < file.num_structures(); ++s) {
    const int64_t first = file.atom_offset[s], last = file.atom_offset[s + 1];
    const uint32_t base = static_cast<uint32_t>(first), size = static_cast<uint32_t>(last - first);
    const int64_t begin = file.pair_offset[first], end = file.pair_offset[last];
    const int32_t* const j = file.pair_j.data();
    uint32_t outside = 0;
    for (int64_t p = begin; p < end; ++p) outside |= static_cast<uint32_t>(j[p]) - base >= size ? 1u : 0u;
    if (outside == 0) continue;
    int64_t p = begin;
    while (j[p] >= first && j[p] < last) ++p;
    return TensorError(file.file, "pair_j",
                       absl::StrCat("entry ", p, " is ", j[p], ", but a neighbor in structure ", s,
                                    " is one of its atoms, ", first, " to ", last - 1));
  }
  return absl::OkStatus();
}

absl::Status CheckTriplets(const NeighborFile& file) {
  for (int64_t i = 0; i < file.num_atoms(); ++i) {
    const int64_t begin = file.triplet_offset[i], end = file.triplet_offset[i + 1];
    const int64_t count = file.pair_offset[i + 1] - file.pair_offset[i];
    const uint16_t *const a = file.triplet_a.data(), *const b = file.triplet_b.data();
    const uint16_t limit = static_cast<uint16_t>(std::min<int64_t>(count, std::numeric_limits<uint16_t>::max()));
    uint16_t wrong = 0;
    for (int64_t t = begin; t < end; ++t) {
      wrong |= static_cast<uint16_t>(a[t] >= b[t]) | static_cast<uint16_t>(b[t] >= limit && b[t] >= count);
    }
    if (wrong == 0) continue;
    return TensorError(
        file.file, "triplet_b",
        absl::StrCat("atom ", i, " has ", count, " neighbors, but not all of its triplets are a < b < ", count));
  }
  return absl::OkStatus();
}

template <typename T>
absl::Span<const T> Values(const NeighborFile& file, absl::string_view name) {
  return file.file.tensors.At(name).values<T>();
}

std::string Decimal(double value) {
  return nlohmann::json(value).dump();
}  // the shortest text that reads back as the same number

// Names of the tensors of pairs and triplets.
std::vector<TensorRule> OwnTensors() {
  return {
      {"pair_offset", {DType::kI64}, {"A+1"}, true, "pairs of atom i are [pair_offset[i], pair_offset[i + 1])"},
      {"pair_j",
       {DType::kI32},
       {"P"},
       true,
       "the neighbor, an atom of the file; those of an atom are ordered by (j, "
       "shift)"},
      {"pair_shift",
       {DType::kI16},
       {"P", "3"},
       true,
       "lattice vectors, relative to positions as given: r_ij = r_j + shift · cell − r_i"},
      {"pair_vector", {DType::kF32, DType::kF64}, {"P", "3"}, false, "r_ij, Å, with `--vectors`"},
      {"triplet_offset",
       {DType::kI64},
       {"A+1"},
       false,
       "triplets of atom i are [triplet_offset[i], triplet_offset[i + 1]), with `--triplets`"},
      {"triplet_a", {DType::kU16}, {"T"}, false, "a neighbor within `triplet_cutoff`, counted from the atom's first"},
      {"triplet_b", {DType::kU16}, {"T"}, false, "another, b > a"},
  };
}

}  // namespace

const Schema& NeighborSchema() {
  static const Schema& schema = *new Schema{
      "atomistic.neighbors/1",
      "Neighbors of every atom, made by `cache-neighbors`. A atoms, S structures, P pairs (i → j and j → i), T "
      "triplets; atoms are concatenated. What a structure lacks is NaN and never read.",
      WithStructureTensors(OwnTensors()),
      WithStructureMetadata({
          {"cutoff", true, "Å: all pairs up to here are listed"},
          {"species", true, "JSON list of the symbols that `species` counts"},
          {"descriptor", false, "JSON, as in the features, when the descriptor's flags were given"},
          {"triplet_cutoff", false, "Å: all triplets up to here are listed, when there are triplets"},
      })};
  return schema;
}

PairView NeighborFile::pairs(int64_t s) const {
  const int64_t first = atom_offset[s];
  return {pair_offset.subspan(first, atom_offset[s + 1] - first + 1), pair_j.data(), pair_shift.data(),
          static_cast<int32_t>(first)};
}

TripletView NeighborFile::triplets(int64_t s) const {
  if (triplet_offset.empty()) return {};
  const int64_t first = atom_offset[s];
  return {triplet_offset.subspan(first, atom_offset[s + 1] - first + 1), triplet_a.data(), triplet_b.data()};
}

absl::StatusOr<NeighborFile> ReadNeighbors(absl::string_view path) {
  ASSIGN_OR_RETURN(TensorFile file, ReadTensorFile(path));
  return DecodeNeighbors(std::move(file));
}

absl::StatusOr<NeighborFile> DecodeNeighbors(TensorFile tensor_file) {
  NeighborFile result;
  result.file = std::move(tensor_file);
  const TensorFile& file = result.file;
  ASSIGN_OR_RETURN(const auto sizes, CheckSchema(NeighborSchema(), file));
  ASSIGN_OR_RETURN(result.cutoff, ParseCutoff(file, "cutoff"));
  ASSIGN_OR_RETURN(result.species, ParseSpecies(file));
  if (const auto found = file.metadata.find("descriptor"); found != file.metadata.end()) {
    result.descriptor = found->second;
  }
  RETURN_IF_ERROR(DecodeStructures(sizes, result.species, &result));

  result.atom_offset = Values<int64_t>(result, "atom_offset");
  result.species_index = Values<uint8_t>(result, "species");
  result.position = Values<double>(result, "position");
  result.pair_offset = Values<int64_t>(result, "pair_offset");
  result.pair_j = Values<int32_t>(result, "pair_j");
  result.pair_shift = Values<int16_t>(result, "pair_shift");
  if (result.num_atoms() > std::numeric_limits<int32_t>::max()) {
    return TensorError(file, "species", absl::StrCat(result.num_atoms(), " atoms are more than pair_j can count"));
  }
  RETURN_IF_ERROR(CheckOffsets(file, "pair_offset", result.pair_offset, result.num_pairs()));
  RETURN_IF_ERROR(CheckNeighbors(result));

  const bool triplets = file.tensors.Has("triplet_offset");
  for (const char* name : {"triplet_a", "triplet_b"}) {
    if (file.tensors.Has(name) == triplets) continue;
    return TensorError(file, name, "expected together with \"triplet_offset\"");
  }
  if (!triplets) return result;
  ASSIGN_OR_RETURN(result.triplet_cutoff, ParseCutoff(file, "triplet_cutoff"));
  result.triplet_offset = Values<int64_t>(result, "triplet_offset");
  result.triplet_a = Values<uint16_t>(result, "triplet_a");
  result.triplet_b = Values<uint16_t>(result, "triplet_b");
  RETURN_IF_ERROR(CheckOffsets(file, "triplet_offset", result.triplet_offset, result.triplet_a.size()));
  RETURN_IF_ERROR(CheckTriplets(result));
  return result;
}

struct NeighborWriter::State {
  State(StructureFileWriter w, NeighborFileOptions o)
      : writer(std::move(w)), options(std::move(o)), map(options.species), grows(options.species.empty()) {}

  absl::Status Species(const Structure& structure) {
    if (!grows) return map.Map(structure, &species);
    species.resize(structure.element.size());
    for (size_t i = 0; i < species.size(); ++i) {
      uint8_t& place = place_of[structure.element[i]];  // counted from 1; 0 if the element is new
      if (place == 0) {
        options.species.push_back(structure.element[i]);
        place = static_cast<uint8_t>(options.species.size());
      }
      species[i] = place - 1;
    }
    return absl::OkStatus();
  }

  StructureFileWriter writer;
  NeighborFileOptions options;
  const SpeciesMap map;
  const bool grows;  // true if new elements are added to options.species
  std::array<uint8_t, 256> place_of = {};
  int64_t num_pairs = 0, num_triplets = 0;
  // Scratch memory, reused by each Append.
  std::vector<uint8_t> species;
  std::vector<int32_t> j;
  std::vector<int64_t> offset;
  std::vector<float> vectors32;
  std::vector<double> vectors64;
};

namespace {

// Adds `base` to the offsets of a list and leaves out the first, which is the last one of the previous list.
absl::Status AppendOffsets(absl::string_view name, const std::vector<int64_t>& list, int64_t base,
                           std::vector<int64_t>* scratch, TensorStreamWriter* writer) {
  scratch->resize(list.size() - 1);
  for (size_t i = 0; i < scratch->size(); ++i) (*scratch)[i] = base + list[i + 1];
  return writer->Append<int64_t>(name, *scratch);
}

// Writes atom numbers plus `base`, a piece at a time, because those of a large structure would leave the cache.
absl::Status AppendAtoms(const std::vector<int32_t>& atoms, int32_t base, std::vector<int32_t>* scratch,
                         TensorStreamWriter* writer) {
  constexpr size_t kAtOnce = 1 << 15;
  for (size_t first = 0; first < atoms.size(); first += kAtOnce) {
    const absl::Span<const int32_t> piece = absl::MakeConstSpan(atoms).subspan(first, kAtOnce);
    scratch->resize(piece.size());
    for (size_t p = 0; p < piece.size(); ++p) (*scratch)[p] = base + piece[p];
    RETURN_IF_ERROR(writer->Append<int32_t>("pair_j", *scratch));
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status AppendVectors(const NeighborList& list, std::vector<T>* scratch, TensorStreamWriter* writer) {
  const int64_t n = list.num_pairs();
  scratch->resize(3 * n);
  for (int64_t p = 0; p < n; ++p) {
    (*scratch)[3 * p] = static_cast<T>(list.dx[p]);
    (*scratch)[3 * p + 1] = static_cast<T>(list.dy[p]);
    (*scratch)[3 * p + 2] = static_cast<T>(list.dz[p]);
  }
  return writer->Append<T>("pair_vector", *scratch);
}

}  // namespace

NeighborWriter::NeighborWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
NeighborWriter::NeighborWriter(NeighborWriter&&) noexcept = default;
NeighborWriter::~NeighborWriter() = default;

absl::StatusOr<NeighborWriter> NeighborWriter::Create(absl::string_view path, const NeighborFileOptions& options) {
  ASSIGN_OR_RETURN(StructureFileWriter writer, StructureFileWriter::Create(path, options.weights));
  TensorStreamWriter& tensors = writer.tensors();
  for (const TensorRule& rule : OwnTensors()) {
    DType dtype = rule.dtypes[0];
    if (rule.name == "pair_vector") {
      if (!options.vectors.has_value()) continue;
      dtype = *options.vectors;
    } else if (!rule.required && options.triplet_cutoff == 0) {
      continue;
    }
    RETURN_IF_ERROR(tensors.Declare(rule.name, dtype, std::vector<int64_t>(rule.shape.size() - 1, 3)));
  }
  RETURN_IF_ERROR(tensors.Append<int64_t>("pair_offset", {0}));
  if (options.triplet_cutoff > 0) RETURN_IF_ERROR(tensors.Append<int64_t>("triplet_offset", {0}));
  return NeighborWriter(std::make_unique<State>(std::move(writer), options));
}

absl::Status NeighborWriter::Append(const Structure& structure, const NeighborList& list, const TripletList* triplets,
                                    double weight) {
  State& state = *state_;
  TensorStreamWriter& tensors = state.writer.tensors();
  const int64_t first = state.writer.num_atoms(), n = list.num_pairs();
  CHECK_EQ(static_cast<int64_t>(list.shift.size()), 3 * n);
  CHECK_EQ(triplets != nullptr, state.options.triplet_cutoff > 0);
  if (first + structure.size() > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat(structure.name, ": more than 2147483647 atoms do not fit into one file; make shards"));
  }
  RETURN_IF_ERROR(state.Species(structure));
  RETURN_IF_ERROR(AppendOffsets("pair_offset", list.offset, state.num_pairs, &state.offset, &tensors));
  RETURN_IF_ERROR(AppendAtoms(list.j, static_cast<int32_t>(first), &state.j, &tensors));
  RETURN_IF_ERROR(tensors.Append<int16_t>("pair_shift", list.shift));
  state.num_pairs += n;
  if (state.options.vectors == DType::kF32) RETURN_IF_ERROR(AppendVectors(list, &state.vectors32, &tensors));
  if (state.options.vectors == DType::kF64) RETURN_IF_ERROR(AppendVectors(list, &state.vectors64, &tensors));
  if (triplets != nullptr) {
    RETURN_IF_ERROR(AppendOffsets("triplet_offset", triplets->offset, state.num_triplets, &state.offset, &tensors));
    RETURN_IF_ERROR(tensors.Append<uint16_t>("triplet_a", triplets->a));
    RETURN_IF_ERROR(tensors.Append<uint16_t>("triplet_b", triplets->b));
    state.num_triplets += triplets->num_triplets();
  }
  return state.writer.Append(structure, state.species, weight);
}

absl::Status NeighborWriter::Finish(const Metadata& provenance) {
  const NeighborFileOptions& options = state_->options;
  Metadata metadata = provenance;
  metadata["kind"] = NeighborSchema().kind;
  metadata["cutoff"] = Decimal(options.cutoff);
  if (options.triplet_cutoff > 0) metadata["triplet_cutoff"] = Decimal(options.triplet_cutoff);
  if (!options.descriptor.empty()) metadata["descriptor"] = options.descriptor;
  std::vector<std::string> symbols;
  for (const uint8_t element : options.species) symbols.emplace_back(ElementSymbol(element));
  metadata["species"] = DumpStrings(symbols);
  return state_->writer.Finish(std::move(metadata), options.atomic_energies);
}

}  // namespace rutile
