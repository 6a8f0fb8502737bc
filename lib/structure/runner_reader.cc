#include "lib/structure/runner_reader.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/structure/frame_reader.h"
#include "lib/structure/parse_number.h"

namespace rutile {
namespace {

constexpr absl::string_view kAtomRow = "atom x y z symbol charge energy fx fy fz";

class RunnerReader : public FrameReader {
 public:
  RunnerReader(LineReader lines, RunnerUnits units) : FrameReader(std::move(lines)) {
    if (units == RunnerUnits::kBohrHartree) {
      length_ = kBohrInAngstrom;
      energy_ = kHartreeInEv;
    }
  }

 protected:
  absl::StatusOr<bool> ReadFrame(Structure* structure) override {
    absl::string_view line;
    if (!NextContent(&line)) return false;
    if (absl::StripAsciiWhitespace(line) != "begin") {
      return Error(Quoted(line), ", expected \"begin\" or the end of the file");
    }
    begin_line_ = lines().line_number();
    vectors_ = 0;
    charge_.reset();
    comment_.reset();
    structure->energy.reset();
    structure->stress.reset();
    int64_t count = 0;
    while (NextContent(&line)) {
      const char* p = line.data();
      const char* const end = p + line.size();
      const absl::string_view word = NextWord(&p, end);
      if (word == "atom") {
        if (count == 0 || count == structure->size()) {
          constexpr int64_t kMaxAtoms = std::numeric_limits<int32_t>::max();
          if (count == kMaxAtoms) return Error("more than ", kMaxAtoms, " atoms; split the structure");
          MakeMoreRoom(count, /*has_force=*/true, structure);
        }
        if (!ParseAtom(p, end, count, structure)) return AtomError(p, end, count);
        ++count;
      } else if (word == "end") {
        RETURN_IF_ERROR(Finish(count, structure));
        return true;
      } else {
        RETURN_IF_ERROR(ReadOther(word, p, end, structure));
      }
    }
    return CutOff("the file ends within the structure that begins in line ", begin_line_, ", expected \"end\"");
  }

 private:
  // Reads the next line that is neither blank nor a comment that starts with '#'.
  bool NextContent(absl::string_view* line) {
    while (NextFilledLine(line)) {
      if (*SkipBlanks(line->data(), line->data() + line->size()) != '#') return true;
    }
    return false;
  }

  absl::Status ReadOther(absl::string_view word, const char* p, const char* end, Structure* structure) {
    const absl::string_view rest = absl::StripAsciiWhitespace(absl::string_view(p, end - p));
    if (word == "lattice") {
      if (vectors_ == 3) return Error("a fourth \"lattice\" in one structure, expected three or none");
      double* const vector = &cell_[3 * vectors_];
      if (!ParseTriple(&p, end, vector) || SkipBlanks(p, end) != end) {
        return Error("lattice ", Quoted(rest), ", expected three numbers");
      }
      for (int k = 0; k < 3; ++k) vector[k] *= length_;
      ++vectors_;
    } else if (word == "energy") {
      const std::optional<double> energy = ParseNumber(rest);
      if (!energy.has_value()) return Error("energy: ", WhyNoNumber(rest), ", expected one number");
      if (structure->energy.has_value()) return Error("a second \"energy\" in one structure, expected one");
      structure->energy = *energy * energy_;
      if (!std::isfinite(*structure->energy)) {
        return Error("energy: ", Quoted(rest), " is too large, expected one number");
      }
    } else if (word == "charge") {
      if (!ParseNumber(rest).has_value()) return Error("charge: ", WhyNoNumber(rest), ", expected one number");
      charge_.emplace(rest.data(), rest.size());
    } else if (word == "comment") {
      if (!comment_.has_value()) comment_.emplace(rest.data(), rest.size());
    } else if (word == "begin") {
      return Error("\"begin\" in the structure that begins in line ", begin_line_, ", expected \"end\" before it");
    } else {
      return Error(Quoted(word), ", expected one of begin, comment, lattice, atom, energy, charge, end");
    }
    return absl::OkStatus();
  }

  bool ParseAtom(const char* p, const char* end, int64_t i, Structure* structure) const {
    double* const position = &structure->position[3 * i];
    double* const force = &structure->force[3 * i];
    if (!ParseTriple(&p, end, position)) return false;
    const uint8_t element = ParseElement(NextWord(&p, end));
    if (element == 0) return false;
    structure->element[i] = element;
    if (NextWord(&p, end).empty() || NextWord(&p, end).empty()) return false;  // charge, energy
    if (!ParseTriple(&p, end, force) || SkipBlanks(p, end) != end) return false;
    for (int k = 0; k < 3; ++k) {
      position[k] *= length_;
      force[k] *= energy_ / length_;
      if (!std::isfinite(force[k])) return false;
    }
    return true;
  }

  absl::Status AtomError(const char* p, const char* end, int64_t i) const {
    const std::string which = absl::StrCat(" in atom ", i + 1, " of the structure that begins in line ", begin_line_);
    const int columns = CountWords(absl::string_view(p, end - p)) + 1;
    if (columns != 10) return Error(columns, " columns", which, ", expected 10 (", kAtomRow, ")");
    for (int c = 2; c <= 10; ++c) {
      const absl::string_view word = NextWord(&p, end);
      if (c == 5 && ParseElement(word) == 0) {
        return Error(Quoted(word), " is not an element", which, ", expected a symbol such as Ti");
      }
      if (c != 5 && c != 6 && c != 7 && !ParseNumber(word).has_value()) {
        return Error("column ", c, ": ", WhyNoNumber(word), which, ", expected ", kAtomRow);
      }
    }
    return Error("a force too large for a double", which, ", expected ", kAtomRow);
  }

  absl::Status Finish(int64_t count, Structure* structure) {
    if (count == 0) {
      return Error("no atoms in the structure that begins in line ", begin_line_, ", expected ", kAtomRow);
    }
    if (vectors_ != 0 && vectors_ != 3) {
      return Error(vectors_, " lattice vectors in the structure that begins in line ", begin_line_,
                   ", expected three or none");
    }
    structure->element.resize(count);
    structure->position.resize(3 * count);
    structure->force.resize(3 * count);
    structure->cell = vectors_ == 3 ? cell_ : Matrix3{};
    structure->pbc.fill(vectors_ == 3);
    info_.clear();
    if (charge_.has_value()) info_.emplace_back("charge", *charge_);
    if (comment_.has_value()) info_.emplace_back("comment", *comment_);
    SetInfo(info_, &structure->info);
    return CheckCell(*structure, begin_line_);
  }

  double length_ = 1;
  double energy_ = 1;
  int64_t begin_line_ = 0;
  int vectors_ = 0;
  Matrix3 cell_ = {};
  std::optional<std::string> charge_;
  std::optional<std::string> comment_;
  std::vector<std::pair<absl::string_view, absl::string_view>> info_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<StructureReader>> MakeRunnerReader(LineReader lines, RunnerUnits units) {
  if (units == RunnerUnits::kUnknown) {
    return absl::InvalidArgumentError(absl::StrCat(lines.path(),
                                                   ": RuNNer/n2p2 format, which does not say its units; pass "
                                                   "--runner_units=angstrom_ev or --runner_units=bohr_hartree"));
  }
  return std::make_unique<RunnerReader>(std::move(lines), units);
}

}  // namespace rutile
