#include "lib/potential/model/aenet/aenet_text.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/printable_text.h"
#include "lib/base/status_macros.h"
#include "lib/structure/element.h"
#include "lib/structure/parse_number.h"

namespace rutile {
namespace {

// Numbers per line of a list, in columns: some of aenet's readers count columns.
constexpr int kPerLine = 4;

class TextSink : public AenetSink {
 public:
  explicit TextSink(std::string* out) : out_(out) {}
  void AddInteger(int64_t value) override { absl::StrAppend(out_, value, "\n"); }
  void AddIntegers(const std::vector<int64_t>& values) override {
    AddList(values, [this](int64_t value) { absl::StrAppendFormat(out_, " %17d", value); });
  }
  void AddNumber(double value) override { absl::StrAppendFormat(out_, "%.17g\n", value); }
  // Prints 17 digits after the point, so that every double is read back exactly, except that numbers whose exponent
  // needs three digits become 0.
  void AddNumbers(const std::vector<double>& values) override {
    AddList(values,
            [this](double value) { absl::StrAppendFormat(out_, " %24.17E", std::abs(value) < 1e-99 ? 0.0 : value); });
  }
  void AddFlag(bool value) override { absl::StrAppend(out_, value ? "T\n" : "F\n"); }
  void AddText(absl::string_view text, int length) override { absl::StrAppend(out_, text.substr(0, length), "\n"); }
  void AddSymbols(absl::Span<const uint8_t> elements) override {
    for (const uint8_t element : elements) absl::StrAppend(out_, ElementSymbol(element), "\n");
  }
  void AddTriple(double a, double b, double c) override { absl::StrAppendFormat(out_, "%.17g %.17g %.17g\n", a, b, c); }

 private:
  template <typename T, class Append>
  void AddList(const std::vector<T>& values, const Append& append) {
    for (size_t i = 0; i < values.size(); ++i) {
      append(values[i]);
      if (i % kPerLine + 1 == kPerLine || i + 1 == values.size()) out_->push_back('\n');
    }
  }
  std::string* const out_;
};

// Parses a number as Fortran prints it, which leaves out the E of an exponent with three digits: 1.5-101.
std::optional<double> FortranNumber(absl::string_view word) {
  std::optional<double> value = ParseNumber(word);
  const size_t sign = word.find_last_of("+-");
  if (value.has_value() || sign == absl::string_view::npos || sign == 0 || !IsDigit(word[sign - 1])) return value;
  return ParseNumber(absl::StrCat(word.substr(0, sign), "E", word.substr(sign)));
}

class TextSource : public AenetSource {
 public:
  TextSource(absl::string_view text, absl::string_view path) : text_(text), path_(path) {}

  absl::StatusOr<int64_t> Integer(absl::string_view what) override {
    ASSIGN_OR_RETURN(const std::string word, Word(what));
    const std::optional<int64_t> value = ParseInteger(word);
    if (value.has_value()) return *value;
    return Error(absl::StrCat(what, ": found \"", PrintableText(word), "\", expected a whole number"));
  }
  absl::StatusOr<std::vector<int64_t>> Integers(int64_t count, absl::string_view what) override {
    std::vector<int64_t> values;
    for (int64_t k = 0; k < count; ++k) {
      ASSIGN_OR_RETURN(const int64_t value, Integer(what));
      values.push_back(value);
    }
    return values;
  }
  absl::StatusOr<std::vector<double>> Numbers(int64_t count, absl::string_view what) override {
    std::vector<double> values;
    for (int64_t k = 0; k < count; ++k) {
      ASSIGN_OR_RETURN(const std::string word, Word(what));
      const std::optional<double> value = FortranNumber(word);
      if (!value.has_value() || !std::isfinite(*value)) {
        return Error(absl::StrCat(what, ": found \"", PrintableText(word), "\" as number ", k + 1, " of ", count,
                                  ", expected a finite number"));
      }
      values.push_back(*value);
    }
    return values;
  }
  absl::StatusOr<bool> Flag(absl::string_view what) override {
    ASSIGN_OR_RETURN(const std::string word, Word(what));
    const char letter = absl::ascii_toupper(word[word[0] == '.' && word.size() > 1 ? 1 : 0]);
    if (letter == 'T' || letter == 'F') return letter == 'T';
    return Error(absl::StrCat(what, ": found \"", PrintableText(word), "\", expected T or F"));
  }
  // Takes the line after that of the last value.
  absl::StatusOr<std::string> Text(absl::string_view what) override {
    const absl::string_view rest = absl::StripAsciiWhitespace(TakeLine());
    if (!rest.empty()) {
      return Error(absl::StrCat("\"", PrintableText(rest), "\" follows what was expected before ", what));
    }
    if (at_ == text_.size()) return Error(absl::StrCat("the file ends before ", what, ", it is cut off"));
    return std::string(absl::StripAsciiWhitespace(TakeLine()));
  }
  absl::StatusOr<std::string> Word(absl::string_view what) override {
    const absl::string_view word = TakeWord();
    if (word.empty()) return Error(absl::StrCat("the file ends before ", what, ", it is cut off"));
    return std::string(word);
  }
  absl::StatusOr<std::vector<uint8_t>> Symbols(int64_t count, absl::string_view what) override {
    std::vector<uint8_t> elements;
    for (int64_t k = 0; k < count; ++k) {
      ASSIGN_OR_RETURN(const std::string word, Word(what));
      elements.push_back(AtomicNumber(word));
      if (elements.back() == 0) {
        return Error(
            absl::StrCat(what, ": found \"", PrintableText(word), "\", expected the symbol of an element, such as Ti"));
      }
    }
    return elements;
  }
  // nnASCII2bin.x reads two whole numbers for each function, but aenet itself writes as many as there are species. How
  // many these are is told by what follows, which is one whole number and then numbers with a point.
  absl::Status SkipFunctionSpecies(int64_t functions, int64_t environment) override {
    const size_t begin = at_;
    int64_t count = 0;
    while (ParseInteger(TakeWord()).has_value()) ++count;
    at_ = begin;
    for (const int64_t species : {int64_t{kAenetEnvironment}, environment}) {
      if (count == functions * species + 1) {
        return Integers(functions * species, "species of the features").status();
      }
    }
    return Error(absl::StrCat("species of the features and the number of evaluations: found ", count,
                              " whole numbers, expected ", functions * kAenetEnvironment + 1));
  }
  absl::Status End() override {
    const absl::string_view word = TakeWord();
    if (word.empty()) return absl::OkStatus();
    return Error(absl::StrCat("\"", PrintableText(word), "\" follows the last value"));
  }
  absl::Status Error(absl::string_view message) const override {
    const size_t end = std::min(last_, text_.size());
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(end), '\n');
    return absl::InvalidArgumentError(absl::StrCat(path_, ":", line, ": ", message));
  }

 private:
  absl::string_view TakeWord() {
    while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
    last_ = at_;
    while (at_ < text_.size() && !absl::ascii_isspace(text_[at_])) ++at_;
    return text_.substr(last_, at_ - last_);
  }
  absl::string_view TakeLine() {
    last_ = at_;
    const size_t end = std::min(text_.find('\n', at_), text_.size());
    at_ = std::min(end + 1, text_.size());
    return text_.substr(last_, end - last_);
  }

  const absl::string_view text_;
  const std::string path_;
  size_t at_ = 0, last_ = 0;  // the next character; where the value that was taken last begins
};

}  // namespace

std::unique_ptr<AenetSink> MakeAenetTextSink(std::string* out) { return std::make_unique<TextSink>(out); }

std::unique_ptr<AenetSource> MakeAenetTextSource(absl::string_view text, absl::string_view path) {
  return std::make_unique<TextSource>(text, path);
}

bool LooksLikeAenetText(absl::string_view text) {
  for (int k = 0; k < 4; ++k) {
    const size_t end = text.find('\n');
    if (end == absl::string_view::npos || !ParseInteger(absl::StripAsciiWhitespace(text.substr(0, end))).has_value()) {
      return false;
    }
    text.remove_prefix(end + 1);
  }
  return true;
}

}  // namespace rutile
