#include "lib/potential/model/aenet/aenet_binary.h"

#include <cmath>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "lib/base/printable_text.h"
#include "lib/base/status_macros.h"
#include "lib/structure/element.h"

namespace rutile {
namespace {

constexpr int64_t kMarker = 4, kInteger = 4, kNumber = 8, kFlag = 4;  // bytes

// Bytes are put together and taken apart one by one, so that they do not depend on the machine.
void AppendLittleEndian(uint64_t value, int64_t bytes, std::string* out) {
  for (int64_t k = 0; k < bytes; ++k) out->push_back(static_cast<char>(value >> (8 * k) & 0xFF));
}

uint64_t LittleEndian(absl::string_view bytes) {
  uint64_t value = 0;
  for (size_t k = bytes.size(); k-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[k]);
  return value;
}

int64_t IntegerOf(absl::string_view bytes) { return static_cast<int32_t>(static_cast<uint32_t>(LittleEndian(bytes))); }

class BinarySink : public AenetSink {
 public:
  explicit BinarySink(std::string* out) : out_(out) {}
  void AddInteger(int64_t value) override { AddIntegers({value}); }
  void AddIntegers(const std::vector<int64_t>& values) override {
    std::string bytes;
    for (const int64_t value : values) AppendLittleEndian(static_cast<uint64_t>(value), kInteger, &bytes);
    AddRecord(bytes);
  }
  void AddNumber(double value) override { AddNumbers({value}); }
  void AddNumbers(const std::vector<double>& values) override {
    std::string bytes;
    for (const double value : values) {
      uint64_t bits;
      std::memcpy(&bits, &value, sizeof(bits));
      AppendLittleEndian(bits, kNumber, &bytes);
    }
    AddRecord(bytes);
  }
  void AddFlag(bool value) override { AddInteger(value ? 1 : 0); }
  void AddText(absl::string_view text, int length) override {
    std::string padded(text.substr(0, length));
    padded.resize(length, ' ');
    AddRecord(padded);
  }
  void AddSymbols(absl::Span<const uint8_t> elements) override {
    std::string bytes;
    for (const uint8_t element : elements) {
      bytes.append(ElementSymbol(element).data(), ElementSymbol(element).size());
      bytes.append(kAenetSymbol - ElementSymbol(element).size(), ' ');
    }
    AddRecord(bytes);
  }
  void AddTriple(double a, double b, double c) override { AddNumbers({a, b, c}); }

 private:
  void AddRecord(absl::string_view bytes) {
    AppendLittleEndian(bytes.size(), kMarker, out_);
    absl::StrAppend(out_, bytes);
    AppendLittleEndian(bytes.size(), kMarker, out_);
  }
  std::string* const out_;
};

class BinarySource : public AenetSource {
 public:
  BinarySource(absl::string_view bytes, absl::string_view path) : rest_(bytes), path_(path) {}

  absl::StatusOr<int64_t> Integer(absl::string_view what) override {
    ASSIGN_OR_RETURN(const std::vector<int64_t> values, Integers(1, what));
    return values[0];
  }
  absl::StatusOr<std::vector<int64_t>> Integers(int64_t count, absl::string_view what) override {
    ASSIGN_OR_RETURN(const absl::string_view bytes, Record(count * kInteger, what));
    std::vector<int64_t> values;
    for (int64_t k = 0; k < count; ++k) values.push_back(IntegerOf(bytes.substr(k * kInteger, kInteger)));
    return values;
  }
  absl::StatusOr<std::vector<double>> Numbers(int64_t count, absl::string_view what) override {
    ASSIGN_OR_RETURN(const absl::string_view bytes, Record(count * kNumber, what));
    std::vector<double> values;
    for (int64_t k = 0; k < count; ++k) {
      const uint64_t bits = LittleEndian(bytes.substr(k * kNumber, kNumber));
      double value;
      std::memcpy(&value, &bits, sizeof(value));
      if (!std::isfinite(value)) return Error(absl::StrCat(what, ": number ", k + 1, " is NaN or infinite"));
      values.push_back(value);
    }
    return values;
  }
  absl::StatusOr<bool> Flag(absl::string_view what) override {
    ASSIGN_OR_RETURN(const absl::string_view bytes, Record(kFlag, what));
    return LittleEndian(bytes) != 0;
  }
  absl::StatusOr<std::string> Text(absl::string_view what) override {
    ASSIGN_OR_RETURN(const absl::string_view bytes, Record(-1, what));
    return std::string(absl::StripAsciiWhitespace(bytes));
  }
  absl::StatusOr<std::string> Word(absl::string_view what) override { return Text(what); }
  absl::StatusOr<std::vector<uint8_t>> Symbols(int64_t count, absl::string_view what) override {
    ASSIGN_OR_RETURN(const absl::string_view bytes, Record(-1, what));
    const int64_t size = static_cast<int64_t>(bytes.size());
    if (size == 0 || size % count != 0) {
      return Error(absl::StrCat(what, ": found ", size, " bytes, expected ", count * kAenetSymbol));
    }
    std::vector<uint8_t> elements;
    for (int64_t k = 0; k < count; ++k) {
      const absl::string_view symbol = absl::StripAsciiWhitespace(bytes.substr(k * (size / count), size / count));
      elements.push_back(AtomicNumber(symbol));
      if (elements.back() == 0) {
        return Error(absl::StrCat(what, ": found \"", PrintableText(symbol),
                                  "\", expected the symbol of an element, such as Ti"));
      }
    }
    return elements;
  }
  absl::Status SkipFunctionSpecies(int64_t functions, int64_t) override {
    return Record(functions * kAenetEnvironment * kInteger, "species of the features").status();
  }
  absl::Status End() override {
    if (rest_.empty()) return absl::OkStatus();
    return Error(absl::StrCat(rest_.size(), " more bytes follow the last record"));
  }
  absl::Status Error(absl::string_view message) const override {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": record ", record_, ": ", message));
  }

 private:
  // Takes the next record, which must have `expected` bytes; any number if that is negative.
  absl::StatusOr<absl::string_view> Record(int64_t expected, absl::string_view what) {
    ++record_;
    const int64_t left = static_cast<int64_t>(rest_.size());
    if (left < 2 * kMarker) return Error(absl::StrCat("the file ends before ", what, ", it is cut off"));
    const int64_t length = IntegerOf(rest_.substr(0, kMarker));
    if (expected >= 0 && length != expected) {
      return Error(absl::StrCat(what, ": found a length of ", length, " bytes, expected ", expected));
    }
    if (length < 0 || length > left - 2 * kMarker) {
      return Error(absl::StrCat(what, ": found a length of ", length, " bytes, but ", left - 2 * kMarker,
                                " are left; the file is cut off or damaged"));
    }
    const absl::string_view bytes = rest_.substr(kMarker, length);
    if (IntegerOf(rest_.substr(kMarker + length, kMarker)) != length) {
      return Error(absl::StrCat(what, ": the lengths before and after the record differ; the file is damaged"));
    }
    rest_.remove_prefix(length + 2 * kMarker);
    return bytes;
  }

  absl::string_view rest_;
  const std::string path_;
  int record_ = 0;
};

}  // namespace

std::unique_ptr<AenetSink> MakeAenetBinarySink(std::string* out) { return std::make_unique<BinarySink>(out); }

std::unique_ptr<AenetSource> MakeAenetBinarySource(absl::string_view bytes, absl::string_view path) {
  return std::make_unique<BinarySource>(bytes, path);
}

bool LooksLikeAenetBinary(absl::string_view bytes) {
  // Four records of one number each, then the list of layers; a training set has the atomic energies as its fourth.
  constexpr int64_t kRecord = kInteger + 2 * kMarker;
  if (static_cast<int64_t>(bytes.size()) < 4 * kRecord + kMarker) return false;
  for (int64_t k = 0; k < 4; ++k) {
    if (IntegerOf(bytes.substr(k * kRecord, kMarker)) != kInteger) return false;
    if (IntegerOf(bytes.substr(k * kRecord + kMarker + kInteger, kMarker)) != kInteger) return false;
  }
  return IntegerOf(bytes.substr(4 * kRecord, kMarker)) == kInteger * IntegerOf(bytes.substr(kMarker, kInteger));
}

}  // namespace rutile
