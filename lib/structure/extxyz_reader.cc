#include "lib/structure/extxyz_reader.h"

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
#include "lib/structure/extxyz_columns.h"
#include "lib/structure/extxyz_comment.h"
#include "lib/structure/extxyz_keys.h"
#include "lib/structure/frame_reader.h"
#include "lib/structure/parse_number.h"

namespace rutile {
namespace {

constexpr absl::string_view kLatticeKeys[] = {"Lattice", "lattice"};
constexpr absl::string_view kPropertiesKeys[] = {"Properties", "properties"};
constexpr absl::string_view kPbcKeys[] = {"pbc", "PBC"};

enum Role { kLattice, kProperties, kPbc, kEnergy, kStress, kVirial, kRoles };

class ExtxyzReader : public FrameReader {
 public:
  ExtxyzReader(LineReader lines, const StructureReaderOptions& options)
      : FrameReader(std::move(lines)), options_(options) {
    const auto names = [](const std::string& key, absl::Span<const absl::string_view> defaults) {
      if (!key.empty()) return std::vector<std::string>{key};
      return std::vector<std::string>(defaults.begin(), defaults.end());
    };
    names_[kLattice] = names("", kLatticeKeys);
    names_[kProperties] = names("", kPropertiesKeys);
    names_[kPbc] = names("", kPbcKeys);
    names_[kEnergy] = names(options.energy_key, kEnergyKeys);
    names_[kStress] = names(options.stress_key, kStressKeys);
    names_[kVirial] = names(options.virial_key, kVirialKeys);
    role_.fill(-1);
  }

 protected:
  absl::StatusOr<bool> ReadFrame(Structure* structure) override {
    absl::string_view line;
    if (!NextFilledLine(&line)) return false;
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
    for (int64_t i = 0; i < count; ++i) {
      if (!lines().Next(&line)) {
        return CutOff("the file ends after ", i, " of the ", count, " atoms that line ", count_line, " states");
      }
      if (i == structure->size()) MakeRoom(i, count, columns_.has_force(), structure);
      if (columns_.ParseRow(line, i, structure)) continue;
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
      const absl::Status status = columns_.Set(pairs[role_[kProperties]].second, options_.force_key);
      if (!status.ok()) return Error(status.message());
    } else {
      columns_.SetPlain();
    }
    RETURN_IF_ERROR(ReadCell(structure));
    structure->energy.reset();
    if (role_[kEnergy] >= 0) {
      const auto& [key, value] = pairs[role_[kEnergy]];
      const std::optional<double> energy = ParseNumber(value);
      if (!energy.has_value()) return Error(key, ": ", WhyNoNumber(value), ", expected an energy in eV");
      structure->energy = *energy;
    }
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

  // Sets comment_ or free_comment_.
  absl::Status ParsePairs(absl::string_view line) {
    free_comment_ = absl::string_view();
    if (absl::StrContains(line, '=')) {
      const absl::Status status = comment_.Parse(line);
      if (status.ok()) return status;
      // A comment that says how to read the frame must be right; any other is free text.
      for (absl::string_view key : {"Lattice", "lattice", "Properties", "properties"}) {
        if (absl::StrContains(line, key)) return Error(status.message(), "; correct the comment line");
      }
    }
    comment_.Clear();
    const char* const begin = SkipBlanks(line.data(), line.data() + line.size());
    free_comment_ = line.substr(begin - line.data());
    return absl::OkStatus();
  }

  // Frames of a file mostly have the same keys in the same order: the roles of the frame before are kept then.
  absl::Status FindRoles() {
    const auto& pairs = comment_.pairs();
    bool same = pairs.size() == keys_.size();
    for (size_t i = 0; same && i < pairs.size(); ++i) same = pairs[i].first == keys_[i];
    if (same) return absl::OkStatus();
    keys_.clear();
    for (const auto& pair : pairs) keys_.emplace_back(pair.first.data(), pair.first.size());
    for (int role = 0; role < kRoles; ++role) {
      role_[role] = -1;
      for (const std::string& name : names_[role]) {
        const auto found = std::find(keys_.begin(), keys_.end(), name);
        if (found == keys_.end()) continue;
        if (std::find(found + 1, keys_.end(), name) != keys_.end()) {
          return Error(Quoted(name), " stands twice in the comment line, expected one; remove the other");
        }
        role_[role] = found - keys_.begin();
        break;
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

  // Stress of an isolated molecule means nothing: without a volume both stay in info.
  absl::Status ReadStress(Structure* structure) {
    structure->stress.reset();
    const double volume = CellVolume(structure->cell);
    if (volume == 0) {
      used_stress_ = used_virial_ = false;
      return absl::OkStatus();
    }
    used_stress_ = role_[kStress] >= 0;
    used_virial_ = !used_stress_ && role_[kVirial] >= 0;
    if (!used_stress_ && !used_virial_) return absl::OkStatus();
    const auto& [key, value] = comment_.pairs()[role_[used_stress_ ? kStress : kVirial]];
    Matrix3 m;
    const absl::StatusOr<int> count = ParseNumberList(value, absl::MakeSpan(m));
    if (!count.ok() || (*count != 9 && *count != 6)) {
      return Error(key, ": ", count.ok() ? absl::StrCat(*count, " numbers") : std::string(count.status().message()),
                   ", expected 9 numbers (3x3) or 6 (xx yy zz yz xz xy) in ", used_stress_ ? "eV/Angstrom^3" : "eV");
    }
    if (*count == 6) m = {m[0], m[5], m[4], m[5], m[1], m[3], m[4], m[3], m[2]};
    // Some codes print tensors that are symmetric but for noise.
    constexpr double kAsymmetry = 1e-3;
    double largest = 0;
    for (double x : m) largest = std::max(largest, std::abs(x));
    for (const auto& [a, b] : {std::pair(1, 3), std::pair(2, 6), std::pair(5, 7)}) {
      if (std::abs(m[a] - m[b]) > kAsymmetry * largest) {
        return Error(key, " is not symmetric (", m[a], " and ", m[b], "), expected a symmetric 3x3 tensor");
      }
      m[a] = m[b] = m[a] == m[b] ? m[a] : 0.5 * m[a] + 0.5 * m[b];
    }
    if (used_virial_) {
      for (double& x : m) x /= -volume;
    }
    for (double x : m) {
      if (!std::isfinite(x))
        return Error(key, " over the volume ", volume, " is not finite; correct it or the Lattice");
    }
    structure->stress = m;
    return absl::OkStatus();
  }

  StructureReaderOptions options_;
  std::array<std::vector<std::string>, kRoles> names_;
  std::array<int, kRoles> role_;   // which pair of the comment, -1 for none
  std::vector<std::string> keys_;  // that role_ was found for
  ExtxyzComment comment_;
  absl::string_view free_comment_;  // of a comment line without pairs
  bool used_stress_ = false;
  bool used_virial_ = false;
  std::vector<std::pair<absl::string_view, absl::string_view>> info_;
  ExtxyzColumns columns_;
  int64_t last_count_ = 0;
};

}  // namespace

std::unique_ptr<StructureReader> MakeExtxyzReader(LineReader lines, const StructureReaderOptions& options) {
  return std::make_unique<ExtxyzReader>(std::move(lines), options);
}

}  // namespace rutile
