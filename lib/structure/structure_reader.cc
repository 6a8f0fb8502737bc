#include "lib/structure/structure_reader.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/file/line_reader.h"
#include "lib/structure/extxyz/extxyz_reader.h"
#include "lib/structure/frame_reader.h"
#include "lib/structure/parse_number.h"
#include "lib/structure/runner_reader.h"
#include "lib/structure/xsf_reader.h"

namespace rutile {
namespace {

constexpr absl::string_view kExpected =
    "expected structures as XSF, extended XYZ (the first line is the number of atoms) or RuNNer/n2p2 input.data "
    "(the first line is \"begin\")";

// True if the file starts like safetensors: eight bytes of length, then JSON.
bool LooksLikeTensorFile(absl::string_view prefix) {
  if (prefix.size() < 10 || prefix[8] != '{') return false;
  for (int i = 5; i < 8; ++i) {
    if (prefix[i] != '\0') return false;  // the header would be larger than a tebibyte
  }
  return true;
}

// True if the file begins with a Fortran record of one 32-bit number, as aenet's networks (.nn) and training sets
// (.train) do: the length of the record, 4, stands before and after the number.
bool LooksLikeAenetFile(absl::string_view prefix) {
  constexpr absl::string_view kFour("\4\0\0\0", 4);
  return prefix.size() >= 12 && prefix.substr(0, 4) == kFour && prefix.substr(8, 4) == kFour;
}

// Finds the first word that is not in a comment of '#', looking at more and more of the file; empty if there is none in
// the first MiB.
absl::string_view FirstWord(LineReader* lines) {
  for (size_t size = size_t{1} << 12; size <= size_t{1} << 20; size *= 16) {
    const absl::string_view prefix = lines->Prefix(size);
    const char* p = prefix.data();
    const char* const end = p + prefix.size();
    while (p != end) {
      const char* line_end = std::find(p, end, '\n');
      const char* begin = SkipBlanks(p, line_end);
      if (begin != line_end && *begin != '\r' && *begin != '#') {
        absl::string_view word = NextWord(&begin, line_end);
        if (absl::EndsWith(word, "\r")) word.remove_suffix(1);
        return word;
      }
      p = line_end == end ? end : line_end + 1;
    }
    if (prefix.size() < size) break;
  }
  return "";
}

}  // namespace

absl::StatusOr<std::unique_ptr<StructureReader>> StructureReader::Open(absl::string_view path,
                                                                       const StructureReaderOptions& options) {
  ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  return OpenStructureReader(std::move(lines), options);
}

absl::StatusOr<std::unique_ptr<StructureReader>> OpenStructureReader(LineReader lines,
                                                                     const StructureReaderOptions& options) {
  const absl::string_view prefix = lines.Prefix(1024);
  RETURN_IF_ERROR(lines.status());
  const auto error = [&](absl::string_view found, absl::string_view remedy) {
    return absl::InvalidArgumentError(absl::StrCat(lines.path(), ": ", found, ", ", kExpected, remedy));
  };
  if (prefix.empty()) return error("is empty", "");
  if (LooksLikeTensorFile(prefix)) {
    std::error_code ignored;
    const bool is_named_pipe = std::filesystem::is_fifo(std::string(lines.path()), ignored);
    return error("is a tensor file (safetensors)",
                 is_named_pipe
                     ? "; a named pipe is taken for structures: give what it holds as standard input (- < PIPE)"
                     : "; give the structures that it was made from");
  }
  if (LooksLikeAenetFile(prefix)) {
    return error("is a binary file of Fortran, as aenet's networks (.nn) and training sets (.train), which is not read",
                 "; give the structures that it was made from");
  }
  if (absl::StrContains(prefix, absl::string_view("\0", 1))) return error("is not text (it has zero bytes)", "");
  const absl::string_view word = FirstWord(&lines);
  RETURN_IF_ERROR(lines.status());
  if (word == "begin") return MakeRunnerReader(std::move(lines), options.runner_units);
  if (options.runner_units != RunnerUnits::kUnknown && options.on_warning && !word.empty()) {
    options.on_warning(absl::StrCat(lines.path(), ": is not of RuNNer's format, which alone --runner_units is about: ",
                                    "lengths are taken as Angstrom, energies as eV"));
  }
  if (IsXsfKeyword(word)) return MakeXsfReader(std::move(lines), options);
  if (ParseInteger(word).has_value()) return MakeExtxyzReader(std::move(lines), options);
  if (word.empty()) return error("holds nothing but blanks and comments", "");
  return error(absl::StrCat("begins with ", Quoted(word)), "");
}

}  // namespace rutile
