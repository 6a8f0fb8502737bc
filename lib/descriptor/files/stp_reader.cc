#include "lib/descriptor/files/stp_reader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/file/line_reader.h"
#include "lib/structure/element.h"
#include "lib/structure/parse_number.h"

namespace rutile {
namespace {

constexpr absl::string_view kParameters[] = {"radial_Rc", "radial_N", "angular_Rc", "angular_N"};
constexpr int kMostSpecies = 118;

class StpParser {
 public:
  StpParser(LineReader reader, absl::string_view path) : reader_(std::move(reader)), path_(path) {}

  absl::StatusOr<StpSetup> Parse() {
    while (NextLine()) {
      const std::string keyword = absl::AsciiStrToUpper(words_[0]);
      if (keyword == "DESCR") {
        RETURN_IF_ERROR(SkipDescription());
      } else if (keyword == "ATOM") {
        RETURN_IF_ERROR(ReadAtom());
      } else if (keyword == "ENV") {
        RETURN_IF_ERROR(ReadEnvironment());
      } else if (keyword == "RMIN") {
        RETURN_IF_ERROR(ReadMinimum());
      } else if (keyword == "BASIS") {
        RETURN_IF_ERROR(ReadBasis());
      } else if (keyword == "FUNCTIONS" || keyword == "SYMMFUNC") {
        return Error(absl::StrCat(words_[0], ": expected BASIS type=Chebyshev; rutile has no other fingerprints"));
      } else {
        return Error(absl::StrCat("unknown keyword \"", words_[0], "\", expected DESCR, ATOM, ENV, RMIN or BASIS"));
      }
    }
    RETURN_IF_ERROR(reader_.status());
    return Finish();
  }

 private:
  absl::Status Error(absl::string_view message) const {
    return absl::InvalidArgumentError(absl::StrCat(path_, ":", line_, ": ", message));
  }

  // Reads the words of the next line that has any, without comments; "a=b" is three words. Returns false at the end.
  bool NextLine() {
    absl::string_view line;
    while (reader_.Next(&line)) {
      ++line_;
      line = line.substr(0, line.find_first_of("!#%"));
      const std::string spaced = absl::StrReplaceAll(line, {{"=", " = "}, {"\t", " "}});
      words_ = absl::StrSplit(spaced, ' ', absl::SkipWhitespace());
      if (!words_.empty()) return true;
    }
    return false;
  }

  absl::Status SkipDescription() {
    const int begin = line_;
    absl::string_view line;
    while (reader_.Next(&line)) {
      ++line_;
      const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipWhitespace());
      if (words.size() >= 2 && absl::EqualsIgnoreCase(words[0], "END") && absl::EqualsIgnoreCase(words[1], "DESCR")) {
        return absl::OkStatus();
      }
    }
    RETURN_IF_ERROR(reader_.status());
    line_ = begin;
    return Error("DESCR has no END DESCR");
  }

  absl::StatusOr<uint8_t> Element(const std::string& symbol) const {
    const uint8_t element = AtomicNumber(symbol);
    if (element == 0) return Error(absl::StrCat("\"", symbol, "\" is no element, expected a symbol as in Ti"));
    return element;
  }

  absl::Status Once(absl::string_view keyword, bool again) const {
    return again ? Error(absl::StrCat(keyword, " again: expected it once")) : absl::OkStatus();
  }

  absl::Status ReadAtom() {
    RETURN_IF_ERROR(Once("ATOM", setup_.atom != 0));
    if (words_.size() != 2) return Error("expected ATOM and one symbol, as in ATOM Ti");
    ASSIGN_OR_RETURN(setup_.atom, Element(words_[1]));
    return absl::OkStatus();
  }

  absl::Status ReadEnvironment() {
    RETURN_IF_ERROR(Once("ENV", !setup_.options.species.empty()));
    const std::optional<int64_t> count = words_.size() == 2 ? ParseInteger(words_[1]) : std::nullopt;
    if (!count.has_value() || *count < 1 || *count > kMostSpecies) {
      return Error(absl::StrCat("expected ENV and the number of species, 1 to ", kMostSpecies, ", as in ENV 2"));
    }
    for (int64_t k = 0; k < *count; ++k) {
      if (!NextLine()) return Error(absl::StrCat("ENV lists ", k, " species, expected ", *count));
      if (words_.size() != 1) return Error("expected one species in each line of ENV");
      ASSIGN_OR_RETURN(const uint8_t element, Element(words_[0]));
      setup_.options.species.push_back(element);
    }
    return absl::OkStatus();
  }

  absl::Status ReadMinimum() {
    RETURN_IF_ERROR(Once("RMIN", has_minimum_));
    const std::optional<double> value = words_.size() == 2 ? ParseNumber(words_[1]) : std::nullopt;
    if (!value.has_value()) return Error("expected RMIN and a distance in Angstrom, as in RMIN 0.55d0");
    setup_.options.min_cutoff = *value;
    has_minimum_ = true;
    return absl::OkStatus();
  }

  // Reads "type = Chebyshev" and the four parameters, on the same line or below.
  absl::Status ReadBasis() {
    RETURN_IF_ERROR(Once("BASIS", !parameters_.empty()));
    if (words_.size() < 4 || !absl::EqualsIgnoreCase(words_[1], "type") || words_[2] != "=") {
      return Error("expected BASIS type=Chebyshev");
    }
    if (!absl::EqualsIgnoreCase(words_[3], "Chebyshev")) {
      return Error(absl::StrCat("BASIS type=", words_[3], ": expected Chebyshev; rutile has no other basis"));
    }
    words_.erase(words_.begin(), words_.begin() + 4);
    RETURN_IF_ERROR(AddParameters());
    while (parameters_.size() < std::size(kParameters)) {
      if (!NextLine()) break;
      RETURN_IF_ERROR(AddParameters());
    }
    for (const absl::string_view name : kParameters) {
      if (parameters_.count(std::string(name)) == 0) {
        return Error(
            absl::StrCat("the Chebyshev basis has no ", name,
                         "; expected a line as in radial_Rc = 6.5 radial_N = 20 angular_Rc = 5. angular_N = 6"));
      }
    }
    setup_.options.rad_cutoff = parameters_["radial_Rc"];
    setup_.options.rad_order = static_cast<int>(parameters_["radial_N"]);
    setup_.options.ang_cutoff = parameters_["angular_Rc"];
    setup_.options.ang_order = static_cast<int>(parameters_["angular_N"]);
    if (setup_.options.ang_cutoff > setup_.options.rad_cutoff) {
      return Error(absl::StrCat("angular_Rc = ", setup_.options.ang_cutoff,
                                " is above radial_Rc = ", setup_.options.rad_cutoff,
                                ": the typespins of neighbors beyond radial_Rc are not defined in aenet; lower "
                                "angular_Rc or raise radial_Rc, or give --rad_cutoff and --ang_cutoff instead"));
    }
    return absl::OkStatus();
  }

  absl::Status AddParameters() {
    for (size_t k = 0; k < words_.size(); k += 3) {
      const absl::string_view* name = std::find_if(std::begin(kParameters), std::end(kParameters), [&](auto known) {
        return absl::EqualsIgnoreCase(known, words_[k]);
      });
      if (name == std::end(kParameters)) {
        return Error(absl::StrCat("unknown parameter \"", words_[k], "\" of the Chebyshev basis, expected ",
                                  absl::StrJoin(kParameters, ", ")));
      }
      const std::optional<double> value =
          k + 2 < words_.size() && words_[k + 1] == "=" ? ParseNumber(words_[k + 2]) : std::nullopt;
      if (!value.has_value()) return Error(absl::StrCat("expected ", *name, " = a number"));
      if (absl::EndsWith(*name, "_N") && (*value != static_cast<int>(std::clamp(*value, -1e6, 1e6)))) {
        return Error(absl::StrCat(*name, " = ", words_[k + 2], ": expected a whole number"));
      }
      if (!parameters_.emplace(*name, *value).second) return Error(absl::StrCat(*name, " again: expected it once"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<StpSetup> Finish() const {
    const auto missing = [this](absl::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat(path_, ": no ", what, " in the file; expected an aenet setup"));
    };
    const ChebyshevOptions& options = setup_.options;
    if (setup_.atom == 0) return missing("ATOM");
    if (options.species.empty()) return missing("ENV");
    if (!has_minimum_) return missing("RMIN");
    if (parameters_.empty()) return missing("BASIS");
    if (const absl::Status status = options.Validate(); !status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path_, ": ",
                       absl::StrReplaceAll(status.message(), {{"--species", "ENV"},
                                                              {"--rad_cutoff", "radial_Rc"},
                                                              {"--rad_order", "radial_N"},
                                                              {"--ang_cutoff", "angular_Rc"},
                                                              {"--ang_order", "angular_N"},
                                                              {"--min_cutoff", "RMIN"}})));
    }
    if (std::find(options.species.begin(), options.species.end(), setup_.atom) == options.species.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path_, ": ATOM ", ElementSymbol(setup_.atom), " is not in ENV; list all species there"));
    }
    return setup_;
  }

  LineReader reader_;
  std::string path_;
  int line_ = 0;
  std::vector<std::string> words_;
  StpSetup setup_;
  bool has_minimum_ = false;
  std::map<std::string, double> parameters_;
};

std::string Symbols(const std::vector<uint8_t>& species) {
  return absl::StrJoin(species, " ",
                       [](std::string* out, uint8_t element) { absl::StrAppend(out, ElementSymbol(element)); });
}

// Returns what differs between two setups, or "".
std::string Difference(const ChebyshevOptions& a, const ChebyshevOptions& b) {
  const auto unequal = [](absl::string_view name, double x, double y) {
    return absl::StrCat(name, " is ", x, " and ", y);
  };
  if (a.species != b.species) return absl::StrCat("ENV is ", Symbols(a.species), " and ", Symbols(b.species));
  if (a.min_cutoff != b.min_cutoff) return unequal("RMIN", a.min_cutoff, b.min_cutoff);
  if (a.rad_cutoff != b.rad_cutoff) return unequal("radial_Rc", a.rad_cutoff, b.rad_cutoff);
  if (a.rad_order != b.rad_order) return unequal("radial_N", a.rad_order, b.rad_order);
  if (a.ang_cutoff != b.ang_cutoff) return unequal("angular_Rc", a.ang_cutoff, b.ang_cutoff);
  if (a.ang_order != b.ang_order) return unequal("angular_N", a.ang_order, b.ang_order);
  return "";
}

}  // namespace

absl::StatusOr<StpSetup> ParseStp(absl::string_view text, absl::string_view path) {
  return StpParser(LineReader::FromBytes(path, std::string(text)), path).Parse();
}

absl::StatusOr<ChebyshevOptions> ReadStpFiles(const std::vector<std::string>& paths) {
  if (paths.empty()) return absl::InvalidArgumentError("no .stp file: give one for each species");
  std::vector<StpSetup> setups;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path));
    ASSIGN_OR_RETURN(const StpSetup setup, StpParser(std::move(reader), path).Parse());
    for (size_t k = 0; k < setups.size(); ++k) {
      if (setups[k].atom == setup.atom) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ": ATOM ", ElementSymbol(setup.atom), " has its setup in ", paths[k], " already"));
      }
    }
    if (!setups.empty()) {
      const std::string difference = Difference(setups[0].options, setup.options);
      if (!difference.empty()) {
        return absl::InvalidArgumentError(absl::StrCat(paths[0], " and ", path, " differ: ", difference,
                                                       "; rutile has one descriptor for all atoms: make them equal"));
      }
    }
    setups.push_back(setup);
  }
  for (const uint8_t element : setups[0].options.species) {
    if (std::none_of(setups.begin(), setups.end(), [&](const StpSetup& setup) { return setup.atom == element; })) {
      return absl::InvalidArgumentError(absl::StrCat(paths[0], ": ENV has ", ElementSymbol(element),
                                                     ", but no file has ATOM ", ElementSymbol(element),
                                                     "; give one for each species"));
    }
  }
  return setups[0].options;
}

}  // namespace rutile
