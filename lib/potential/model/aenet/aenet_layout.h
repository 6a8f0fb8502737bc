// The order of values in aenet's files, which binary files and text share. Private to aenet_file.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_AENET_AENET_LAYOUT_H_
#define RUTILE_LIB_POTENTIAL_MODEL_AENET_AENET_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/potential/model/aenet/aenet_network.h"

namespace rutile {

// aenet's constants: characters of a description, of a path, of the name of a basis and of a species; parameters of a
// symmetry function, and species that it can name.
inline constexpr int kAenetDescription = 1024, kAenetPath = 1024, kAenetBasis = 100, kAenetSymbol = 2;
inline constexpr int kAenetParameters = 4, kAenetEnvironment = 2;

// Takes values in the order of the file.
class AenetSink {
 public:
  virtual ~AenetSink() = default;
  virtual void AddInteger(int64_t value) = 0;
  virtual void AddIntegers(const std::vector<int64_t>& values) = 0;
  virtual void AddNumber(double value) = 0;
  virtual void AddNumbers(const std::vector<double>& values) = 0;
  virtual void AddFlag(bool value) = 0;
  // One value of `length` characters, where form asks for a length.
  virtual void AddText(absl::string_view text, int length) = 0;
  virtual void AddSymbols(absl::Span<const uint8_t> elements) = 0;
  // Three numbers that are one record, or one line.
  virtual void AddTriple(double a, double b, double c) = 0;
};

// Gives values in the order of the file. what: the name of the value in messages. Errors name the place.
class AenetSource {
 public:
  virtual ~AenetSource() = default;
  virtual absl::StatusOr<int64_t> Integer(absl::string_view what) = 0;
  virtual absl::StatusOr<std::vector<int64_t>> Integers(int64_t count, absl::string_view what) = 0;
  // Finite numbers; takes no memory for more than the file can hold.
  virtual absl::StatusOr<std::vector<double>> Numbers(int64_t count, absl::string_view what) = 0;
  virtual absl::StatusOr<bool> Flag(absl::string_view what) = 0;
  virtual absl::StatusOr<std::string> Text(absl::string_view what) = 0;  // may be empty
  virtual absl::StatusOr<std::string> Word(absl::string_view what) = 0;  // without blanks
  virtual absl::StatusOr<std::vector<uint8_t>> Symbols(int64_t count, absl::string_view what) = 0;
  // The species of the environment that each of `functions` symmetry functions names, which Chebyshev does not use.
  virtual absl::Status SkipFunctionSpecies(int64_t functions, int64_t environment) = 0;
  virtual absl::Status End() = 0;
  // Returns INVALID_ARGUMENT with the place that was read last.
  virtual absl::Status Error(absl::string_view message) const = 0;
};

void WriteAenet(const AenetNetwork& network, AenetSink* sink);
absl::StatusOr<AenetNetwork> ReadAenet(AenetSource* source);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_AENET_AENET_LAYOUT_H_
