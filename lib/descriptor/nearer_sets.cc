#include "lib/descriptor/nearer_sets.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "lib/base/logging.h"

namespace rutile {
namespace {

// Maps the columns of a part into the whole row. A part has one or two halves (two if there are several species); the
// last `size` columns of each half are used.
struct PartColumns {
  int halves, size;
  int skipped;  // columns before those in each half, which are not used
  int first;    // column in the whole row; the second half follows the first
};

// Returns the columns of each part of the options. The first part contributes all of its columns.
std::vector<PartColumns> ColumnsOf(const ChebyshevOptions& options) {
  CHECK(!options.nearer.empty());
  const int halves = options.species.size() > 1 ? 2 : 1;
  std::vector<PartColumns> columns = {{1, options.Outermost().num_features(), 0, 0}};
  for (const AngularSet& set : options.nearer) {
    const PartColumns& last = columns.back();
    columns.push_back({halves, set.order + 1, 1, last.first + last.halves * last.size});
  }
  return columns;
}

// Copy the columns of a part into whole rows, and back.
template <typename T>
void PutColumns(const PartColumns& columns, int64_t num_atoms, int num_features, const T* part, T* whole) {
  for (int64_t i = 0; i < num_atoms; ++i, whole += num_features) {
    for (int h = 0; h < columns.halves; ++h, part += columns.skipped + columns.size) {
      std::copy_n(part + columns.skipped, columns.size, whole + columns.first + h * columns.size);
    }
  }
}

template <typename T>
void TakeColumns(const PartColumns& columns, int64_t num_atoms, int num_features, const T* whole, T* part) {
  for (int64_t i = 0; i < num_atoms; ++i, whole += num_features) {
    for (int h = 0; h < columns.halves; ++h, part += columns.skipped + columns.size) {
      std::fill_n(part, columns.skipped, T(0));
      std::copy_n(whole + columns.first + h * columns.size, columns.size, part + columns.skipped);
    }
  }
}

// Returns uninitialized room for `count` numbers. `memory` grows and never shrinks, as parts of two sizes take turns.
template <typename T>
absl::Span<T> Rows(int64_t count, std::vector<T>* memory) {
  if (static_cast<int64_t>(memory->size()) < count) memory->resize(count);
  return absl::MakeSpan(memory->data(), count);
}

class DescriptorOfSets : public Descriptor {
 public:
  DescriptorOfSets(const ChebyshevOptions& options, std::vector<std::unique_ptr<const Descriptor>> parts)
      : options_(options), columns_(ColumnsOf(options)), parts_(std::move(parts)) {
    CHECK_EQ(parts_.size(), columns_.size());
  }

  int num_features() const override { return options_.num_features(); }
  double cutoff() const override { return options_.cutoff(); }

  std::unique_ptr<Workspace> MakeWorkspace() const override {
    auto own = std::make_unique<OwnWorkspace>();
    for (const auto& part : parts_) own->parts.push_back(part->MakeWorkspace());
    return own;
  }

  void Compute(absl::Span<const uint8_t> species, const NeighborList& neighbors, Workspace* workspace,
               absl::Span<double> features) const override {
    ComputeParts(species, neighbors, workspace, features, &Own(workspace)->rows64);
  }
  void Compute(absl::Span<const uint8_t> species, const NeighborList& neighbors, Workspace* workspace,
               absl::Span<float> features) const override {
    ComputeParts(species, neighbors, workspace, features, &Own(workspace)->rows32);
  }

 private:
  struct OwnWorkspace : Workspace {
    std::vector<std::unique_ptr<Workspace>> parts;
    std::vector<double> rows64;
    std::vector<float> rows32;
  };

  static OwnWorkspace* Own(Workspace* workspace) {
    auto* const own = dynamic_cast<OwnWorkspace*>(workspace);
    CHECK(own != nullptr) << "the workspace is not one of MakeWorkspace";
    return own;
  }

  template <typename T>
  void ComputeParts(absl::Span<const uint8_t> species, const NeighborList& neighbors, Workspace* workspace,
                    absl::Span<T> features, std::vector<T>* memory) const {
    const int64_t num_atoms = species.size();
    CHECK_EQ(features.size(), num_atoms * num_features());
    for (size_t k = 0; k < parts_.size(); ++k) {
      const absl::Span<T> rows = Rows(num_atoms * parts_[k]->num_features(), memory);
      parts_[k]->Compute(species, neighbors, Own(workspace)->parts[k].get(), rows);
      PutColumns(columns_[k], num_atoms, num_features(), rows.data(), features.data());
    }
  }

  const ChebyshevOptions options_;
  const std::vector<PartColumns> columns_;
  const std::vector<std::unique_ptr<const Descriptor>> parts_;
};

template <typename T>
class DerivativesOfSets : public DescriptorDerivatives<T> {
 public:
  using Part = DescriptorDerivatives<T>;
  using State = typename Part::State;
  using Snapshot = typename Part::Snapshot;

  DerivativesOfSets(const ChebyshevOptions& options, std::vector<std::unique_ptr<const Part>> parts)
      : options_(options), columns_(ColumnsOf(options)), parts_(std::move(parts)) {
    CHECK_EQ(parts_.size(), columns_.size());
  }

  int num_features() const override { return options_.num_features(); }
  double cutoff() const override { return options_.cutoff(); }

  std::unique_ptr<State> MakeState() const override {
    auto own = std::make_unique<OwnState>();
    for (const auto& part : parts_) own->parts.push_back(part->MakeState());
    return own;
  }

  void Features(const StructureGeometry& geometry, State* state, absl::Span<T> features) const override {
    OwnState* const own = Own(state);
    const int64_t num_centers = geometry.pairs.num_atoms();
    CHECK_EQ(features.size(), num_centers * num_features());
    StructureGeometry part = geometry;
    for (size_t k = 0; k < parts_.size(); ++k) {
      if (k == 1) part.triplets = {};
      const absl::Span<T> rows = Rows(num_centers * parts_[k]->num_features(), &own->rows);
      parts_[k]->Features(part, own->parts[k].get(), rows);
      PutColumns(columns_[k], num_centers, num_features(), rows.data(), features.data());
    }
  }

  std::unique_ptr<const Snapshot> TakeSnapshot(const State& state) const override {
    const auto* const own = dynamic_cast<const OwnState*>(&state);
    CHECK(own != nullptr) << "the state is not one of MakeState";
    auto snapshot = std::make_unique<OwnSnapshot>();
    for (size_t k = 0; k < parts_.size(); ++k) {
      snapshot->parts.push_back(parts_[k]->TakeSnapshot(*own->parts[k]));
      if (snapshot->parts.back() == nullptr) return nullptr;
    }
    return snapshot;
  }

  void Restore(const Snapshot& snapshot, State* state) const override {
    const auto* const from = dynamic_cast<const OwnSnapshot*>(&snapshot);
    CHECK(from != nullptr) << "it is not of Keep";
    for (size_t k = 0; k < parts_.size(); ++k) parts_[k]->Restore(*from->parts[k], Own(state)->parts[k].get());
  }

  void Vjp(State* state, absl::Span<const T> slopes, absl::Span<const uint8_t> sampled, absl::Span<T> force,
           double* strain_gradient) const override {
    AddParts(Own(state), slopes, force, strain_gradient,
             [&](const Part& part, State* part_state, absl::Span<const T> rows, absl::Span<T> to, double* strain,
                 bool /*first*/) { part.Vjp(part_state, rows, sampled, to, strain); });
  }

  void VjpByAtom(State* state, absl::Span<const T> slopes, absl::Span<T> force, double* strain_gradient,
                 absl::Span<double> atom_strain_gradient) const override {
    OwnState* const own = Own(state);
    own->atom_strain.resize(atom_strain_gradient.size());
    AddParts(own, slopes, force, strain_gradient,
             [&](const Part& part, State* part_state, absl::Span<const T> rows, absl::Span<T> to, double* strain,
                 bool first) {
               const absl::Span<double> by_atom = first ? atom_strain_gradient : absl::MakeSpan(own->atom_strain);
               part.VjpByAtom(part_state, rows, to, strain, by_atom);
               for (size_t k = 0; !first && k < by_atom.size(); ++k) atom_strain_gradient[k] += by_atom[k];
             });
  }

  void Jvp(State* state, absl::Span<const T> direction, absl::Span<const uint8_t> sampled, const double* strain,
           absl::Span<T> tangents) const override {
    OwnState* const own = Own(state);
    const auto num_centers = static_cast<int64_t>(tangents.size() / num_features());
    CHECK_EQ(tangents.size(), num_centers * num_features());
    for (size_t k = 0; k < parts_.size(); ++k) {
      const absl::Span<T> rows = Rows(num_centers * parts_[k]->num_features(), &own->rows);
      parts_[k]->Jvp(own->parts[k].get(), direction, sampled, strain, rows);
      PutColumns(columns_[k], num_centers, num_features(), rows.data(), tangents.data());
    }
  }

 private:
  struct OwnState : State {
    std::vector<std::unique_ptr<State>> parts;
    std::vector<T> rows, force;
    std::vector<double> atom_strain;
  };
  struct OwnSnapshot : Snapshot {
    int64_t bytes() const override {
      auto sum = static_cast<int64_t>(sizeof(*this) + parts.size() * sizeof(parts[0]));
      for (const auto& part : parts) sum += part->bytes();
      return sum;
    }
    std::vector<std::unique_ptr<const Snapshot>> parts;
  };

  static OwnState* Own(State* state) {
    auto* const own = dynamic_cast<OwnState*>(state);
    CHECK(own != nullptr) << "the state is not one of MakeState";
    return own;
  }

  // Calls product(part, state, slopes, force, strain_gradient, first) for each part, and adds up forces and strain
  // gradients. strain_gradient: [9] or null.
  template <typename Product>
  void AddParts(OwnState* own, absl::Span<const T> slopes, absl::Span<T> force, double* strain_gradient,
                const Product& product) const {
    const auto num_centers = static_cast<int64_t>(slopes.size() / num_features());
    CHECK_EQ(slopes.size(), num_centers * num_features());
    own->force.resize(force.size());
    double strain[9];
    for (size_t k = 0; k < parts_.size(); ++k) {
      const absl::Span<T> rows = Rows(num_centers * parts_[k]->num_features(), &own->rows);
      TakeColumns(columns_[k], num_centers, num_features(), slopes.data(), rows.data());
      const absl::Span<T> to = k == 0 ? force : absl::MakeSpan(own->force);
      double* const to_strain = k == 0 || strain_gradient == nullptr ? strain_gradient : strain;
      product(*parts_[k], own->parts[k].get(), rows, to, to_strain, k == 0);
      if (k == 0) continue;
      for (size_t a = 0; a < force.size(); ++a) force[a] += to[a];
      for (int a = 0; strain_gradient != nullptr && a < 9; ++a) strain_gradient[a] += strain[a];
    }
  }

  const ChebyshevOptions options_;
  const std::vector<PartColumns> columns_;
  const std::vector<std::unique_ptr<const Part>> parts_;
};

}  // namespace

std::unique_ptr<const Descriptor> MakeDescriptorOfSets(const ChebyshevOptions& options,
                                                       std::vector<std::unique_ptr<const Descriptor>> parts) {
  return std::make_unique<DescriptorOfSets>(options, std::move(parts));
}

template <typename T>
std::unique_ptr<const DescriptorDerivatives<T>> MakeDerivativesOfSets(
    const ChebyshevOptions& options, std::vector<std::unique_ptr<const DescriptorDerivatives<T>>> parts) {
  return std::make_unique<DerivativesOfSets<T>>(options, std::move(parts));
}

template std::unique_ptr<const DescriptorDerivatives<float>> MakeDerivativesOfSets(
    const ChebyshevOptions&, std::vector<std::unique_ptr<const DescriptorDerivatives<float>>>);
template std::unique_ptr<const DescriptorDerivatives<double>> MakeDerivativesOfSets(
    const ChebyshevOptions&, std::vector<std::unique_ptr<const DescriptorDerivatives<double>>>);

}  // namespace rutile
