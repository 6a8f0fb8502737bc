#include "lib/structure/extxyz/extxyz_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"
#include "lib/structure/cell.h"
#include "lib/structure/extxyz/extxyz_columns.h"
#include "lib/structure/extxyz/extxyz_comment.h"
#include "lib/structure/extxyz/extxyz_keys.h"
#include "lib/structure/frame_reader.h"
#include "lib/structure/key_conflicts.h"
#include "lib/structure/missing_labels.h"
#include "lib/structure/parse_number.h"
#include "lib/structure/unrecorded_names.h"

namespace rutile {
namespace {

constexpr absl::string_view kLatticeKeys[] = {"Lattice", "lattice"};
constexpr absl::string_view kPropertiesKeys[] = {"Properties", "properties"};
constexpr absl::string_view kPbcKeys[] = {"pbc", "PBC"};

// Parses nine numbers, or six (xx yy zz yz xz xy), into `out`; returns how many there were.
absl::StatusOr<int> ParseTensor(absl::string_view text, Matrix3* out) {
  Matrix3& m = *out;
  absl::StatusOr<int> count = ParseNumberList(text, absl::MakeSpan(m));
  if (count.ok() && *count == 6) m = {m[0], m[5], m[4], m[5], m[1], m[3], m[4], m[3], m[2]};
  return count;
}

bool IsTensor(const absl::StatusOr<int>& count) { return count.ok() && (*count == 9 || *count == 6); }

constexpr int64_t kPlainColumns = 4;  // symbol x y z, in frames without Properties

enum Role { kLattice, kProperties, kPbc, kEnergy, kStress, kVirial, kRoles };

class ExtxyzReader : public FrameReader {
 public:
  ExtxyzReader(LineReader lines, const StructureReaderOptions& options)
      : FrameReader(std::move(lines)), options_(options) {
    const auto names = [](const std::string& key, absl::Span<const absl::string_view> defaults,
                          const std::string& recorded = "") {
      if (!key.empty()) return std::vector<std::string>{key};
      std::vector<std::string> names;
      if (!recorded.empty()) names.push_back(recorded);
      for (const absl::string_view name : defaults) {
        if (name != recorded) names.emplace_back(name);
      }
      return names;
    };
    if (!options_.energy_key.empty()) options_.recorded.energy.clear();
    if (!options_.force_key.empty()) options_.recorded.force.clear();
    if (!options_.stress_key.empty() || !options_.virial_key.empty()) {
      options_.recorded.stress.clear();
      options_.recorded.virial.clear();
    }
    names_[kLattice] = names("", kLatticeKeys);
    names_[kProperties] = names("", kPropertiesKeys);
    names_[kPbc] = names("", kPbcKeys);
    names_[kEnergy] = names(options.energy_key, kEnergyKeys, options_.recorded.energy);
    names_[kStress] = names(options.stress_key, kStressKeys, options_.recorded.stress);
    names_[kVirial] = names(options.virial_key, kVirialKeys, options_.recorded.virial);
    role_.fill(-1);
  }

 protected:
  absl::StatusOr<bool> ReadFrame(Structure* structure) override {
    absl::string_view line;
    if (!NextFilledLine(&line)) {
      Warn();
      return false;
    }
    ++num_frames_;
    const int64_t count_line = lines().line_number();
    if (!ParseInteger(line).has_value()) {
      const std::string before =
          last_count_ == 0 ? "" : absl::StrCat(" behind the ", last_count_, " atoms that the frame before states");
      return Error(Quoted(line), ", expected the number of atoms of a frame", before, "; correct the count of atoms");
    }
    ASSIGN_OR_RETURN(const int64_t count, CheckAtomCount(line));
    if (!lines().Next(&line)) return CutOff("the file ends behind the number of atoms, expected a comment line");
    RETURN_IF_ERROR(ReadComment(line, structure));
    MakeRoom(0, count, columns_.has_force(), structure);
    bool compare = columns_.has_other_forces();
    for (int64_t i = 0; i < count; ++i) {
      if (!lines().Next(&line)) {
        return CutOff("the file ends after ", i, " of the ", count, " atoms that line ", count_line, " states");
      }
      if (i == structure->size()) MakeRoom(i, count, columns_.has_force(), structure);
      if (i == 0 && role_[kProperties] < 0) NoteUnnamedColumns(line);
      if (columns_.ParseRow(line, i, structure)) {
        if (compare) compare = !CompareForces(line, &structure->force[3 * i]);
        continue;
      }
      return Error(columns_.Diagnose(line, absl::StrCat("row ", i + 1, " of ", count)),
                   "; correct the row, or the number of atoms in line ", count_line);
    }
    last_count_ = count;
    return true;
  }

 private:
  absl::Status ReadComment(absl::string_view line, Structure* structure) {
    RETURN_IF_ERROR(ParsePairs(line));
    RETURN_IF_ERROR(FindRoles());
    const auto& pairs = comment_.pairs();
    if (role_[kProperties] >= 0) {
      const absl::Status status =
          columns_.Set(pairs[role_[kProperties]].second, options_.force_key, options_.recorded.force);
      if (!status.ok()) return Error(status.message());
    } else {
      columns_.SetPlain();
    }
    RETURN_IF_ERROR(ReadCell(structure));
    structure->energy.reset();
    if (role_[kEnergy] >= 0) {
      const auto& [key, value] = pairs[role_[kEnergy]];
      const std::optional<double> energy = ParseNumber(value);
      if (!energy.has_value()) {
        return Error(
            key, ": ", WhyNoNumber(value), ", expected an energy in eV",
            key == options_.recorded.energy ? ", as the model learned from this key; --energy_key names another" : "");
      }
      structure->energy = *energy;
      structure->energy_key.assign(key.data(), key.size());
      unrecorded_.Count(UnrecordedNames::kEnergy, options_.recorded.energy, key);
      CompareEnergies(*energy);
    }
    structure->force_key.assign(columns_.force_name().data(), columns_.force_name().size());
    if (columns_.has_force()) {
      unrecorded_.Count(UnrecordedNames::kForces, options_.recorded.force, columns_.force_name());
    }
    NoteMissingLabels();
    RETURN_IF_ERROR(ReadStress(structure));
    info_.clear();
    for (int i = 0; i < static_cast<int>(pairs.size()); ++i) {
      const bool unused = (i == role_[kStress] && !used_stress_) || (i == role_[kVirial] && !used_virial_);
      if (unused || std::find(role_.begin(), role_.end(), i) == role_.end()) info_.push_back(pairs[i]);
    }
    if (!free_comment_.empty()) info_.emplace_back("comment", free_comment_);
    SetInfo(info_, &structure->info);
    return absl::OkStatus();
  }

  // Parses the comment line into comment_ or, if it has no pairs, into free_comment_.
  absl::Status ParsePairs(absl::string_view line) {
    free_comment_ = absl::string_view();
    if (absl::StrContains(line, '=')) {
      const absl::Status status = comment_.Parse(line);
      if (status.ok()) return status;
      // A comment with Lattice or Properties must be correct; any other is free text.
      for (absl::string_view key : {"Lattice", "lattice", "Properties", "properties"}) {
        if (absl::StrContains(line, key)) return Error(status.message(), "; correct the comment line");
      }
    }
    comment_.Clear();
    const char* const begin = SkipBlanks(line.data(), line.data() + line.size());
    free_comment_ = line.substr(begin - line.data());
    return absl::OkStatus();
  }

  // Finds which pairs hold energy, stress and so on. Most frames of a file have the same keys in the same order; then
  // the roles of the previous frame are reused.
  absl::Status FindRoles() {
    const auto& pairs = comment_.pairs();
    bool same = pairs.size() == keys_.size();
    for (size_t i = 0; same && i < pairs.size(); ++i) same = pairs[i].first == keys_[i];
    if (same) return absl::OkStatus();
    keys_.clear();
    for (const auto& pair : pairs) keys_.emplace_back(pair.first.data(), pair.first.size());
    for (int role = 0; role < kRoles; ++role) {
      role_[role] = -1;
      others_[role].clear();
      for (const std::string& name : names_[role]) {
        const auto found = std::find(keys_.begin(), keys_.end(), name);
        if (found == keys_.end()) continue;
        if (role_[role] >= 0) {
          others_[role].push_back(found - keys_.begin());
          continue;
        }
        if (std::find(found + 1, keys_.end(), name) != keys_.end()) {
          return Error(Quoted(name), " stands twice in the comment line, expected one; remove the other");
        }
        role_[role] = found - keys_.begin();
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadCell(Structure* structure) {
    const auto& pairs = comment_.pairs();
    structure->cell = {};
    structure->pbc = {false, false, false};
    if (role_[kLattice] >= 0) {
      const absl::string_view value = pairs[role_[kLattice]].second;
      const absl::StatusOr<int> count = ParseNumberList(value, absl::MakeSpan(structure->cell));
      if (!count.ok() || *count != 9) {
        return Error("Lattice: ", count.ok() ? absl::StrCat(*count, " numbers") : std::string(count.status().message()),
                     ", expected 9 numbers in Angstrom: ax ay az bx by bz cx cy cz");
      }
      // Writers of nested lists disagree whether rows or columns are the vectors: no guess is made.
      const Matrix3& m = structure->cell;
      if (absl::StartsWith(value, "[[") && (m[1] != m[3] || m[2] != m[6] || m[5] != m[7])) {
        return Error("Lattice is a list of lists, expected nine numbers \"ax ay az bx by bz cx cy cz\"");
      }
      structure->pbc = {true, true, true};
    }
    if (role_[kPbc] >= 0) {
      const absl::string_view value = pairs[role_[kPbc]].second;
      if (!ParseThreeFlags(value, structure->pbc.data())) {
        return Error("pbc is ", Quoted(value), ", expected three of T and F, as in \"T T F\"");
      }
      const bool periodic = structure->pbc[0] || structure->pbc[1] || structure->pbc[2];
      if (periodic && role_[kLattice] < 0) {
        return Error("pbc is ", Quoted(value), " but there is no Lattice; give one, or pbc=\"F F F\"");
      }
    }
    return CheckCell(*structure, lines().line_number());
  }

  // The stress of an isolated molecule has no meaning: without a volume, stress and virial stay in info.
  absl::Status ReadStress(Structure* structure) {
    structure->stress.reset();
    const double volume = CellVolume(structure->cell);
    if (volume == 0) {
      used_stress_ = used_virial_ = false;
      return absl::OkStatus();
    }
    const auto is_named = [&](Role role, const std::string& name) {
      return !name.empty() && role_[role] >= 0 && keys_[role_[role]] == name;
    };
    const bool virial_first =
        (is_named(kVirial, options_.virial_key) && options_.stress_key.empty()) ||
        (is_named(kVirial, options_.recorded.virial) && !is_named(kStress, options_.recorded.stress));
    used_stress_ = role_[kStress] >= 0 && !virial_first;
    used_virial_ = !used_stress_ && role_[kVirial] >= 0;
    if (!used_stress_ && !used_virial_) return absl::OkStatus();
    const Role role = used_stress_ ? kStress : kVirial;
    const auto& [key, value] = comment_.pairs()[role_[role]];
    const LabelNames& recorded = options_.recorded;
    if (key != recorded.stress && key != recorded.virial) {
      if (recorded.stress.empty()) {
        unrecorded_.Count(UnrecordedNames::kVirial, recorded.virial, key);
      } else {
        unrecorded_.Count(UnrecordedNames::kStress, recorded.stress, key);
      }
    }
    Matrix3 m;
    const absl::StatusOr<int> count = ParseTensor(value, &m);
    if (!IsTensor(count)) {
      return Error(key, ": ", count.ok() ? absl::StrCat(*count, " numbers") : std::string(count.status().message()),
                   ", expected 9 numbers (3x3) or 6 (xx yy zz yz xz xy) in ", used_stress_ ? "eV/Angstrom^3" : "eV");
    }
    // Some codes print symmetric tensors with noise.
    constexpr double kAsymmetry = 1e-3;
    double largest = 0;
    for (double x : m) largest = std::max(largest, std::abs(x));
    for (const auto& [a, b] : {std::pair(1, 3), std::pair(2, 6), std::pair(5, 7)}) {
      if (std::abs(m[a] - m[b]) > kAsymmetry * largest) {
        return Error(key, " is not symmetric (", m[a], " and ", m[b], "), expected a symmetric 3x3 tensor");
      }
      m[a] = m[b] = m[a] == m[b] ? m[a] : 0.5 * m[a] + 0.5 * m[b];
    }
    CompareTensors(role, key, m);
    if (used_stress_) CompareWithVirial(key, m, volume);
    if (used_virial_) {
      for (double& x : m) x /= -volume;
    }
    for (double x : m) {
      if (!std::isfinite(x)) {
        return Error(key, " over the volume ", volume, " is not finite; correct it or the Lattice");
      }
    }
    structure->stress = m;
    return absl::OkStatus();
  }

  // ---- Quantities that a frame gives twice.

  // Describes a conflict in the line last read. After the first conflict of a quantity, further ones in the frame are
  // ignored.
  void AddConflict(KeyConflicts::Quantity quantity, absl::string_view used, absl::string_view other,
                   absl::string_view flag, absl::string_view other_key) {
    conflicts_.Describe(quantity, lines().line_number(), used, other,
                        absl::StrCat("--", flag, "=", other_key, " chooses the latter"));
  }

  void CompareEnergies(double energy) {
    const auto& pairs = comment_.pairs();
    const auto& [used_key, used] = pairs[role_[kEnergy]];
    for (const int other : others_[kEnergy]) {
      const auto& [key, value] = pairs[other];
      const std::optional<double> number = ParseNumber(value);
      if (!number.has_value() || SameNumber(energy, *number)) continue;
      if (IsFreeEnergyKey(key) != IsFreeEnergyKey(used_key)) continue;
      if (!conflicts_.Count(KeyConflicts::kEnergy)) return;
      return AddConflict(KeyConflicts::kEnergy, absl::StrCat(used_key, "=", used), absl::StrCat(key, "=", value),
                         "energy_key", key);
    }
  }

  // Returns true if another column of forces differs.
  bool CompareForces(absl::string_view line, const double* force) {
    double other[3];
    const absl::string_view key = columns_.DifferingForce(line, force, other);
    if (key.empty()) return false;
    if (!conflicts_.Count(KeyConflicts::kForces)) return true;
    const auto text = [](const double* f) { return absl::StrCat("(", f[0], " ", f[1], " ", f[2], ")"); };
    AddConflict(KeyConflicts::kForces, absl::StrCat(columns_.force_name(), "=", text(force)),
                absl::StrCat(key, "=", text(other)), "force_key", key);
    return true;
  }

  void CompareTensors(Role role, absl::string_view used_key, const Matrix3& used) {
    const auto quantity = role == kStress ? KeyConflicts::kStress : KeyConflicts::kVirial;
    for (const int other : others_[role]) {
      const auto& [key, value] = comment_.pairs()[other];
      Matrix3 m;
      if (!IsTensor(ParseTensor(value, &m))) continue;
      const int differing = DifferingComponent(used, m);
      if (differing < 0) continue;
      if (!conflicts_.Count(quantity)) return;
      const absl::string_view name = ComponentName(differing);
      return AddConflict(quantity, absl::StrCat(used_key, " has ", name, "=", used[differing]),
                         absl::StrCat(key, " ", name, "=", m[differing]), role == kStress ? "stress_key" : "virial_key",
                         key);
    }
  }

  void CompareWithVirial(absl::string_view used_key, const Matrix3& used, double volume) {
    if (role_[kVirial] < 0 || !options_.stress_key.empty() || !options_.virial_key.empty()) return;
    const auto& [key, value] = comment_.pairs()[role_[kVirial]];
    Matrix3 m;
    if (!IsTensor(ParseTensor(value, &m))) return;
    for (double& x : m) x /= -volume;
    const int differing = DifferingComponent(used, m);
    if (differing < 0 || !conflicts_.Count(KeyConflicts::kStressOrVirial)) return;
    const absl::string_view name = ComponentName(differing);
    AddConflict(KeyConflicts::kStressOrVirial, absl::StrCat(used_key, " has ", name, "=", used[differing]),
                absl::StrCat("-", key, "/volume ", name, "=", m[differing]), "virial_key", key);
  }

  // ---- Labels that a frame lacks, though it has something of a similar name.

  void NoteMissingLabels() {
    if (role_[kEnergy] < 0) {
      std::vector<absl::string_view> candidates;
      for (const auto& [key, value] : comment_.pairs()) {
        if (MissingLabels::IsLikeEnergy(key) && ParseNumber(value).has_value()) candidates.push_back(key);
      }
      missing_.Count(MissingLabels::kEnergy, candidates);
    }
    if (!columns_.has_force()) missing_.Count(MissingLabels::kForces, columns_.ForceCandidates());
  }

  // Counts a frame without Properties whose first row, `line`, has more columns than are read.
  void NoteUnnamedColumns(absl::string_view line) {
    const int64_t columns = CountWords(line);
    if (columns <= kPlainColumns || unnamed_frames_++ > 0) return;
    unnamed_columns_ = columns;
    unnamed_line_ = lines().line_number();
  }

  void WarnOfUnnamedColumns() {
    if (unnamed_frames_ == 0) return;
    const absl::string_view remedy =
        unnamed_columns_ == kPlainColumns + 3
            ? "Properties=species:S:1:pos:R:3:forces:R:3 in the comment lines says that they are forces in eV/Angstrom"
            : "Properties in the comment lines names columns, as species:S:1:pos:R:3:forces:R:3 does";
    options_.on_warning(absl::StrCat(lines().path(), ":", unnamed_line_, ": ", unnamed_columns_,
                                     " columns without Properties, in ", unnamed_frames_, " of ", num_frames_,
                                     " frames; symbol, x, y and z are read and the others are not: ", remedy));
    unnamed_frames_ = 0;
  }

  void Warn() {
    if (!options_.on_warning || !lines().status().ok()) return;
    WarnOfUnnamedColumns();
    for (const std::string& message : conflicts_.Messages(lines().path(), num_frames_)) options_.on_warning(message);
    conflicts_ = KeyConflicts();
    for (const std::string& message :
         missing_.Messages(lines().path(), num_frames_, options_.energy_key, options_.force_key)) {
      options_.on_warning(message);
    }
    missing_ = MissingLabels();
    for (const std::string& message : unrecorded_.Messages(lines().path(), num_frames_)) options_.on_warning(message);
    unrecorded_ = UnrecordedNames();
  }

  StructureReaderOptions options_;
  std::array<std::vector<std::string>, kRoles> names_;
  std::array<int, kRoles> role_;                 // index of the pair in the comment, -1 for none
  std::array<std::vector<int>, kRoles> others_;  // pairs with names of the same role, later in the order
  std::vector<std::string> keys_;                // the keys for which role_ was found
  ExtxyzComment comment_;
  absl::string_view free_comment_;  // text of a comment line without pairs
  bool used_stress_ = false;
  bool used_virial_ = false;
  std::vector<std::pair<absl::string_view, absl::string_view>> info_;
  ExtxyzColumns columns_;
  int64_t last_count_ = 0;
  int64_t num_frames_ = 0;
  KeyConflicts conflicts_;
  MissingLabels missing_;
  UnrecordedNames unrecorded_;
  int64_t unnamed_frames_ = 0;                      // frames without Properties that have more columns than are read
  int64_t unnamed_columns_ = 0, unnamed_line_ = 0;  // of the first
};

}  // namespace

std::unique_ptr<StructureReader> MakeExtxyzReader(LineReader lines, const StructureReaderOptions& options) {
  return std::make_unique<ExtxyzReader>(std::move(lines), options);
}

}  // namespace rutile
