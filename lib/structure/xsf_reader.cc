#include "lib/structure/xsf_reader.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/structure/frame_reader.h"
#include "lib/structure/parse_number.h"
#include "lib/structure/runner_reader.h"

namespace rutile {
namespace {

constexpr absl::string_view kKeywords[] = {"CRYSTAL", "SLAB",    "POLYMER",   "MOLECULE",  "DIM-GROUP", "ATOMS",
                                           "PRIMVEC", "CONVVEC", "PRIMCOORD", "CONVCOORD", "ANIMSTEPS"};

class XsfReader : public FrameReader {
 public:
  XsfReader(LineReader lines, const StructureReaderOptions& options)
      : FrameReader(std::move(lines)), options_(options) {}

 protected:
  absl::StatusOr<bool> ReadFrame(Structure* structure) override {
    comments_ = std::exchange(next_comments_, Comments());
    absl::string_view line;
    while (NextFilledLine(&line)) {
      const char* p = line.data();
      const char* const end = p + line.size();
      const absl::string_view word = NextWord(&p, end);
      if (word[0] == '#') {
        RETURN_IF_ERROR(ReadComment(line));
        continue;
      }
      const absl::string_view rest(p, end - p);
      if (word == "PRIMCOORD" || word == "ATOMS") {
        if (frames_ > 0 && !animated_) {
          return Error("a second ", word,
                       " in a file without ANIMSTEPS, expected one structure; give their number as "
                       "\"ANIMSTEPS n\" in the first line, or a file to each");
        }
        if (animated_ && frames_ == steps_) {
          return Error("a structure behind the ", steps_, " that ANIMSTEPS states; correct the number");
        }
        has_atoms_ = true;
        RETURN_IF_ERROR(word == "ATOMS" ? ReadAtoms(structure) : ReadPrimCoord(structure));
        ++frames_;
        if (!animated_) RETURN_IF_ERROR(ReadTail());
        RETURN_IF_ERROR(CheckCell(*structure, cell_line_));
        RETURN_IF_ERROR(ConvertForces(structure));
        Finish(structure);
        return true;
      }
      RETURN_IF_ERROR(ReadKeyword(word, rest));
    }
    if (!lines().status().ok()) return lines().status();
    if (animated_ && frames_ < steps_) {
      return CutOff("the file ends after ", frames_, " of the ", steps_, " structures that ANIMSTEPS states");
    }
    if (frames_ == 0) return CutOff("the file ends without PRIMCOORD or ATOMS, expected coordinates of atoms");
    return false;
  }

 private:
  struct Comments {
    std::optional<double> total, energy, cohesive;
    std::vector<std::pair<std::string, std::string>> other;
  };

  absl::Status ReadComment(absl::string_view line) {
    line = absl::StripAsciiWhitespace(line);
    while (!line.empty() && line[0] == '#') line.remove_prefix(1);
    const size_t equals = absl::StrContains(line, '=') ? line.find('=') : line.find(':');
    if (equals == absl::string_view::npos) return absl::OkStatus();
    std::string key(line.substr(0, equals));
    absl::RemoveExtraAsciiWhitespace(&key);
    std::replace(key.begin(), key.end(), '\t', ' ');
    const absl::string_view value = absl::StripAsciiWhitespace(line.substr(equals + 1));
    std::optional<double>* energy = nullptr;
    if (absl::EndsWithIgnoreCase(key, "total energy")) energy = &comments_.total;
    if (absl::EqualsIgnoreCase(key, "energy")) energy = &comments_.energy;
    if (absl::EndsWithIgnoreCase(key, "cohesive energy")) energy = &comments_.cohesive;
    if (energy == nullptr) {
      if (line[equals] == '=' && CountWords(key) == 1) comments_.other.emplace_back(key, std::string(value));
      return absl::OkStatus();
    }
    const char* p = value.data();
    const char* const end = p + value.size();
    const absl::string_view number = NextWord(&p, end);
    const absl::string_view unit = NextWord(&p, end);
    const std::optional<double> parsed = ParseNumber(number);
    if (!parsed.has_value()) return Error(key, ": ", WhyNoNumber(number), ", expected an energy in eV");
    if (!unit.empty() && !absl::EqualsIgnoreCase(unit, "eV")) {
      return Error(key, " in ", Quoted(unit), ", expected eV; convert it");
    }
    if (energy->has_value() && has_atoms_ && !animated_) {
      return Error("a second ", key, " after the atoms of a structure, expected one structure in a file: several XSF ",
                   "files in one? Give a file to each, as in list:FILE with their names");
    }
    if (energy->has_value()) return Error("a second ", key, " for one structure, expected one; remove the other");
    *energy = parsed;
    return absl::OkStatus();
  }

  // Handles all keywords but those of coordinates.
  absl::Status ReadKeyword(absl::string_view word, absl::string_view rest) {
    if (word == "CRYSTAL" || word == "SLAB" || word == "POLYMER" || word == "MOLECULE") {
      dimensions_ = word == "CRYSTAL" ? 3 : word == "SLAB" ? 2 : word == "POLYMER" ? 1 : 0;
      return absl::OkStatus();
    }
    if (word == "ANIMSTEPS") {
      const std::optional<int64_t> steps = ParseInteger(rest);
      if (!steps.has_value() || *steps < 1) {
        return Error("ANIMSTEPS ", Quoted(rest), ", expected the number of structures, 1 or more");
      }
      animated_ = true;
      steps_ = *steps;
      return absl::OkStatus();
    }
    absl::string_view line;
    if (word == "DIM-GROUP") {
      if (!NextContent(&line)) return Ended("the file ends behind DIM-GROUP");
      const char* p = line.data();
      const std::optional<int64_t> dimensions = ParseInteger(NextWord(&p, p + line.size()));
      if (!dimensions.has_value() || *dimensions < 0 || *dimensions > 3) {
        return Error("DIM-GROUP ", Quoted(line), ", expected the number of periodic directions, 0 to 3");
      }
      dimensions_ = *dimensions;
      return absl::OkStatus();
    }
    if (word == "PRIMVEC" || word == "CONVVEC") {
      const bool used = word == "PRIMVEC";
      Matrix3 vectors;
      for (int i = 0; i < 3; ++i) {
        if (!NextContent(&line)) {
          return Ended("the file ends after ", i, " of the 3 vectors of ", used ? "PRIMVEC" : "CONVVEC");
        }
        if (i == 0 && used) cell_line_ = lines().line_number();
        const char* p = line.data();
        const char* const end = p + line.size();
        if (!ParseTriple(&p, end, &vectors[3 * i]) || SkipBlanks(p, end) != end) {
          return Error(DiagnoseNumbers(line, 3), ", expected vector ", i + 1, " of ", used ? "PRIMVEC" : "CONVVEC",
                       ": x y z in Angstrom");
        }
      }
      if (used) {
        cell_ = vectors;
        has_cell_ = true;
      }
      return absl::OkStatus();
    }
    if (word == "CONVCOORD") return SkipRows();
    if (absl::StartsWith(word, "BEGIN_")) return SkipBlock(std::string(word));
    if (last_rows_ > 0 && ParseElement(word) != 0) {
      return Error(Quoted(word), " behind the ", last_rows_, " atoms that line ", count_line_,
                   " states, expected a keyword or the end of the file; correct the count of atoms");
    }
    return Error(Quoted(word), ", expected a keyword of XSF such as PRIMVEC, PRIMCOORD or ATOMS");
  }

  // Reads the next line that is neither blank nor a comment.
  bool NextContent(absl::string_view* line) {
    while (NextFilledLine(line)) {
      const char* const begin = SkipBlanks(line->data(), line->data() + line->size());
      if (*begin != '#') return true;
      pending_ = ReadComment(*line);
      if (!pending_.ok()) return false;
    }
    return false;
  }

  // The error to return when NextContent found no line.
  template <typename... Parts>
  absl::Status Ended(const Parts&... parts) const {
    return pending_.ok() ? CutOff(parts...) : pending_;
  }

  static std::string DiagnoseNumbers(absl::string_view line, int expected) {
    if (CountWords(line) != expected) return absl::StrCat(CountWords(line), " columns");
    const char* p = line.data();
    for (int i = 0; i < expected; ++i) {
      const absl::string_view word = NextWord(&p, line.data() + line.size());
      if (!ParseNumber(word).has_value()) return WhyNoNumber(word);
    }
    return Quoted(line);
  }

  absl::StatusOr<int64_t> ReadCount(absl::string_view keyword) {
    absl::string_view line;
    if (!NextContent(&line)) {
      return Ended("the file ends behind ", keyword, ", expected \"N 1\", N the number of atoms");
    }
    count_line_ = lines().line_number();
    const char* p = line.data();
    const char* const end = p + line.size();
    const absl::string_view word = NextWord(&p, end);
    const absl::string_view one = NextWord(&p, end);
    if ((!one.empty() && one != "1") || SkipBlanks(p, end) != end) {
      return Error(Quoted(line), " behind ", keyword, ", expected \"N 1\", N the number of atoms");
    }
    return CheckAtomCount(word);
  }

  absl::Status ReadPrimCoord(Structure* structure) {
    if (!has_cell_ && dimensions_.value_or(3) > 0) {
      return Error(
          "PRIMCOORD without PRIMVEC before it, expected the lattice vectors; add them, or use ATOMS for atoms "
          "without a cell");
    }
    ASSIGN_OR_RETURN(const int64_t count, ReadCount("PRIMCOORD"));
    last_rows_ = count;
    SetCell(cell_, dimensions_.value_or(3), structure);
    absl::string_view line;
    int columns = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (!NextContent(&line)) {
        return Ended("the file ends after ", i, " of the ", count, " atoms that line ", count_line_, " states");
      }
      if (i == 0) {
        NoteSymbol(line);
        columns = CountWords(line);
        MakeRoom(0, count, columns == 7, structure);
      } else if (i == structure->size()) {
        MakeRoom(i, count, columns == 7, structure);
      }
      if (!ParseRow(line, columns, i, structure)) return RowError(line, columns, "PRIMCOORD", i, count);
    }
    return absl::OkStatus();
  }

  // Reads rows up to a keyword or the end of the file.
  absl::Status ReadAtoms(Structure* structure) {
    SetCell(Matrix3{}, 0, structure);
    count_line_ = lines().line_number();
    absl::string_view line;
    int columns = 0;
    int64_t count = 0;
    Comments own;
    if (animated_) own = std::exchange(comments_, Comments());
    while (NextContent(&line)) {
      const char* p = line.data();
      const absl::string_view word = NextWord(&p, p + line.size());
      if (word.size() > 3 && IsXsfKeyword(word)) {
        lines().PutBack();
        break;
      }
      if (count == 0) {
        NoteSymbol(line);
        columns = CountWords(line);
      }
      if (count == 0 || count == structure->size()) {
        constexpr int64_t kMaxAtoms = std::numeric_limits<int32_t>::max();
        if (count == kMaxAtoms) return Error("more than ", kMaxAtoms, " atoms; split the structure");
        MakeMoreRoom(count, columns == 7, structure);
      }
      if (!ParseRow(line, columns, count, structure)) return RowError(line, columns, "ATOMS", count, 0);
      ++count;
    }
    if (!pending_.ok()) return pending_;
    if (!lines().status().ok()) return lines().status();
    if (count == 0) return Error("no atoms behind ATOMS, expected rows \"symbol x y z\" or \"symbol x y z fx fy fz\"");
    structure->element.resize(count);
    structure->position.resize(3 * count);
    if (columns == 7) structure->force.resize(3 * count);
    last_rows_ = 0;
    // With several frames, comments read up to the next keyword belong to the next frame.
    if (animated_) next_comments_ = std::exchange(comments_, std::move(own));
    return absl::OkStatus();
  }

  static bool ParseRow(absl::string_view line, int columns, int64_t i, Structure* structure) {
    const char* p = line.data();
    const char* const end = p + line.size();
    const uint8_t element = ParseElement(NextWord(&p, end));
    if (element == 0 || (columns != 4 && columns != 7)) return false;
    structure->element[i] = element;
    if (!ParseTriple(&p, end, &structure->position[3 * i])) return false;
    if (columns == 7 && !ParseTriple(&p, end, &structure->force[3 * i])) return false;
    return SkipBlanks(p, end) == end;
  }

  absl::Status RowError(absl::string_view line, int columns, absl::string_view keyword, int64_t i,
                        int64_t count) const {
    const std::string row =
        absl::StrCat(" in row ", i + 1, count > 0 ? absl::StrCat(" of ", count) : std::string(), " of ", keyword);
    const int found = CountWords(line);
    if ((found != 4 && found != 7) || found != columns) {
      const absl::string_view why = found == 4 || found == 7 ? ", as in the first row" : "";
      return Error(
          found, found == 1 ? " column" : " columns", row, ", expected ",
          found == 4 || found == 7 ? absl::StrCat(columns) : std::string("4 (symbol x y z) or 7 (with fx fy fz)"), why,
          count > 0 ? absl::StrCat("; correct the row, or the count in line ", count_line_)
                    : std::string("; correct the row"));
    }
    const char* p = line.data();
    const char* const end = p + line.size();
    const absl::string_view symbol = NextWord(&p, end);
    if (ParseElement(symbol) == 0) {
      return Error(Quoted(symbol), " is not an element", row,
                   ", expected a symbol such as Ti or an atomic number up to 118");
    }
    for (int c = 1; c < found; ++c) {
      const absl::string_view word = NextWord(&p, end);
      if (!ParseNumber(word).has_value()) {
        return Error("column ", c + 1, ": ", WhyNoNumber(word), row, ", expected a number in ",
                     c < 4 ? "Angstrom" : "eV/Angstrom or Hartree/Angstrom", "; correct the row");
      }
    }
    return Error(Quoted(line), row, ", expected symbol x y z");
  }

  // Notes whether the first row of a frame names its element by number.
  void NoteSymbol(absl::string_view row) {
    const char* p = row.data();
    has_numbers_ = ParseInteger(NextWord(&p, p + row.size())).has_value();
  }

  absl::Status ConvertForces(Structure* structure) {
    if (structure->force.empty() || options_.xsf_forces == XsfForces::kEv) return absl::OkStatus();
    if (options_.xsf_forces == XsfForces::kAuto) {
      if (!has_numbers_) return absl::OkStatus();
      if (!has_warned_ && options_.on_warning) {
        options_.on_warning(absl::StrCat(
            lines().path(),
            ": elements are atomic numbers, as XCrySDen and ASE write them: forces are taken as Hartree/Angstrom, the "
            "unit of the XSF format, and not as aenet's eV/Angstrom; --xsf_forces=Hartree or eV says which they are"));
      }
      has_warned_ = true;
    }
    for (double& f : structure->force) {
      f *= kHartreeInEv;
      if (!std::isfinite(f)) return Error("a force is not finite in eV/Angstrom, expected numbers in Hartree/Angstrom");
    }
    return absl::OkStatus();
  }

  static void SetCell(const Matrix3& cell, int dimensions, Structure* structure) {
    structure->cell = cell;
    for (int i = 0; i < 3; ++i) structure->pbc[i] = i < dimensions;
    structure->stress.reset();
  }

  absl::Status SkipRows() {
    ASSIGN_OR_RETURN(const int64_t count, ReadCount("CONVCOORD"));
    absl::string_view line;
    for (int64_t i = 0; i < count; ++i) {
      if (!NextContent(&line)) return Ended("the file ends after ", i, " of the ", count, " rows of CONVCOORD");
    }
    return absl::OkStatus();
  }

  absl::Status SkipBlock(const std::string& begin) {
    const std::string wanted = absl::StrCat("END_", begin.substr(6));
    absl::string_view line;
    while (lines().Next(&line)) {
      const char* p = line.data();
      if (NextWord(&p, p + line.size()) == wanted) return absl::OkStatus();
    }
    return CutOff("the file ends within a block, expected ", wanted);
  }

  // Reads the rest of a file of one structure: comments, and blocks that are skipped.
  absl::Status ReadTail() {
    absl::string_view line;
    while (NextFilledLine(&line)) {
      const char* p = line.data();
      const char* const end = p + line.size();
      const absl::string_view word = NextWord(&p, end);
      if (word[0] == '#') {
        RETURN_IF_ERROR(ReadComment(line));
      } else if (word == "PRIMCOORD" || word == "ATOMS") {
        lines().PutBack();
        return absl::OkStatus();
      } else {
        RETURN_IF_ERROR(ReadKeyword(word, absl::string_view(p, end - p)));
      }
    }
    return lines().status();
  }

  void Finish(Structure* structure) {
    structure->energy = comments_.total;
    for (const std::optional<double>& other : {comments_.energy, comments_.cohesive}) {
      if (!structure->energy.has_value()) structure->energy = other;
    }
    info_.clear();
    for (const auto& [key, value] : comments_.other) info_.emplace_back(key, value);
    if (!comments_.total.has_value() && !comments_.energy.has_value() && comments_.cohesive.has_value()) {
      info_.emplace_back("energy_kind", "cohesive");
    }
    SetInfo(info_, &structure->info);
  }

  const StructureReaderOptions options_;
  bool has_numbers_ = false;  // the frame being read names elements by number
  bool has_warned_ = false;
  Matrix3 cell_ = {};
  bool has_cell_ = false;
  int64_t cell_line_ = 0;
  std::optional<int> dimensions_;
  bool animated_ = false;
  bool has_atoms_ = false;  // those of a structure have begun
  int64_t steps_ = 0;
  int64_t frames_ = 0;
  int64_t last_rows_ = 0;   // number of rows in the previous frame; 0 if it stated no count
  int64_t count_line_ = 0;  // line that last stated a number of atoms
  absl::Status pending_;    // the error of a comment among rows
  Comments comments_;       // comments of the frame being read
  Comments next_comments_;
  std::vector<std::pair<absl::string_view, absl::string_view>> info_;
};

}  // namespace

bool IsXsfKeyword(absl::string_view word) {
  return absl::StartsWith(word, "BEGIN_") ||
         std::find(std::begin(kKeywords), std::end(kKeywords), word) != std::end(kKeywords);
}

std::unique_ptr<StructureReader> MakeXsfReader(LineReader lines, const StructureReaderOptions& options) {
  return std::make_unique<XsfReader>(std::move(lines), options);
}

}  // namespace rutile
