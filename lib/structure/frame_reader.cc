#include "lib/structure/frame_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "lib/base/status_macros.h"
#include "lib/structure/parse_number.h"

namespace rutile {

FrameReader::FrameReader(LineReader lines) : lines_(std::move(lines)) {
  name_ = lines_.path() == "standard input" ? "stdin" : lines_.path();
}

absl::StatusOr<bool> FrameReader::Next(Structure* structure) {
  if (!status_.ok()) return status_;
  structure->energy_key.clear();
  structure->force_key.clear();
  absl::StatusOr<bool> read = ReadFrame(structure);
  if (read.ok() && !*read && !lines_.status().ok()) read = lines_.status();
  if (!read.ok()) {
    status_ = read.status();
    return status_;
  }
  if (!*read) return false;
  structure->name.assign(name_);
  bool numbered = frame_ > 0;
  if (!numbered) {
    absl::string_view line;
    const bool more = NextFilledLine(&line);
    if (more) lines_.PutBack();
    numbered = more || !lines_.status().ok();
  }
  if (numbered) absl::StrAppend(&structure->name, "#", frame_);
  ++frame_;
  return true;
}

bool FrameReader::NextFilledLine(absl::string_view* line) {
  while (lines_.Next(line)) {
    const char* const end = line->data() + line->size();
    if (SkipBlanks(line->data(), end) != end) return true;
  }
  return false;
}

absl::Status FrameReader::ErrorAt(int64_t line_number, absl::string_view message) const {
  return absl::InvalidArgumentError(absl::StrCat(lines_.path(), ":", line_number, ": ", message));
}

absl::StatusOr<int64_t> FrameReader::CheckAtomCount(absl::string_view word) const {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  const std::optional<int64_t> count = ParseInteger(word);
  if (!count.has_value() || *count < 1 || *count > kMax) {
    return Error(Quoted(word), " atoms, expected a whole number from 1 to ", kMax, "; correct the count");
  }
  return *count;
}

void FrameReader::MakeRoom(int64_t row, int64_t count, bool has_force, Structure* structure) const {
  constexpr int64_t kStep = 1 << 16;
  // The shortest row, "H 0 0 0", has 7 characters, so that memory stays within a small multiple of the input's size.
  const int64_t fits = lines_.BytesLeftAtMost() / 7 + row + 1;
  const int64_t room = std::min({count, fits, std::max(kStep, 2 * row)});
  structure->element.resize(room);
  structure->position.resize(3 * room);
  structure->force.resize(has_force ? 3 * room : 0);
}

void FrameReader::MakeMoreRoom(int64_t row, bool has_force, Structure* structure) {
  // Reuses the size of the previous frame, which is often the same.
  const int64_t room = row == 0 ? std::max<int64_t>(structure->size(), 16) : 2 * row;
  structure->element.resize(room);
  structure->position.resize(3 * room);
  structure->force.resize(has_force ? 3 * room : 0);
}

absl::Status FrameReader::CheckCell(const Structure& structure, int64_t line_number) const {
  // The volume of the periodic vectors scaled to length 1, which is 0 for parallel ones of any length.
  constexpr double kSmallest = 1e-6;
  constexpr double kShortest = 1e-3;  // Angstrom; the spacing of atoms is a thousand times that
  double unit[3][3];
  int periodic = 0;
  for (int i = 0; i < 3; ++i) {
    if (!structure.pbc[i]) continue;
    const double* const row = &structure.cell[3 * i];
    const double length = std::hypot(row[0], row[1], row[2]);
    if (!(length > kShortest) || !std::isfinite(length)) {
      return ErrorAt(line_number, absl::StrCat("lattice vector ", i + 1, " is ", length,
                                               " Angstrom long but periodic, expected a cell with a volume; correct "
                                               "the lattice or make the direction not periodic"));
    }
    for (int k = 0; k < 3; ++k) unit[periodic][k] = row[k] / length;
    ++periodic;
  }
  if (periodic < 2) return absl::OkStatus();
  const double* const a = unit[0];
  const double* const b = unit[1];
  const double cross[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  double volume = std::hypot(cross[0], cross[1], cross[2]);
  if (periodic == 3) volume = std::abs(cross[0] * unit[2][0] + cross[1] * unit[2][1] + cross[2] * unit[2][2]);
  if (volume > kSmallest) return absl::OkStatus();
  return ErrorAt(line_number, absl::StrCat("the cell is singular (volume ", volume,
                                           " for vectors scaled to length 1), expected periodic lattice vectors that "
                                           "are independent; correct the lattice"));
}

bool ParseTriple(const char** p, const char* end, double* out) {
  const char* q = *p;
  for (int k = 0; k < 3; ++k) {
    q = ParseDouble(SkipBlanks(q, end), end, &out[k]);
    if (q == nullptr || (q != end && !IsBlank(*q))) return false;
  }
  *p = q;
  return true;
}

std::string Quoted(absl::string_view text) {
  constexpr size_t kLongest = 40;
  std::string quoted = "'";
  for (char c : text.substr(0, kLongest)) {
    if (c >= ' ' && c <= '~') {
      quoted.push_back(c);
    } else {
      absl::StrAppend(&quoted, "\\x", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    }
  }
  return absl::StrCat(quoted, text.size() > kLongest ? "...'" : "'");
}

int CountWords(absl::string_view line) {
  const char* p = line.data();
  const char* const end = p + line.size();
  int count = 0;
  while (!NextWord(&p, end).empty()) ++count;
  return count;
}

std::string WhyNoNumber(absl::string_view word) {
  if (word.empty()) return "nothing where a number should be";
  const absl::string_view bare = word[0] == '-' || word[0] == '+' ? word.substr(1) : word;
  if (absl::StartsWithIgnoreCase(bare, "nan") || absl::StartsWithIgnoreCase(bare, "inf")) {
    return absl::StrCat(Quoted(word), " is not finite");
  }
  double value;
  if (absl::SimpleAtod(word, &value) && std::isinf(value)) return absl::StrCat(Quoted(word), " is too large");
  return absl::StrCat(Quoted(word), " is not a number");
}

void SetInfo(const std::vector<std::pair<absl::string_view, absl::string_view>>& entries,
             std::map<std::string, std::string>* info) {
  bool same_keys = info->size() == entries.size();
  for (size_t i = 0; same_keys && i < entries.size(); ++i) {
    bool found = false;
    for (auto& [key, value] : *info) {
      if (key != entries[i].first) continue;
      value.assign(entries[i].second.data(), entries[i].second.size());
      found = true;
      break;
    }
    same_keys = found;
  }
  // Equal keys among the entries leave an old key over; then the map is also rebuilt.
  for (size_t i = 0; same_keys && i < entries.size(); ++i) {
    for (size_t j = 0; same_keys && j < i; ++j) same_keys = entries[i].first != entries[j].first;
  }
  if (same_keys) return;
  info->clear();
  for (const auto& [key, value] : entries) {
    (*info)[std::string(key.data(), key.size())].assign(value.data(), value.size());
  }
}

}  // namespace rutile
