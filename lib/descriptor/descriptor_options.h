// The parameters of a descriptor of any kind: what files record, and what models and data must agree on.

#ifndef RUTILE_LIB_DESCRIPTOR_DESCRIPTOR_OPTIONS_H_
#define RUTILE_LIB_DESCRIPTOR_DESCRIPTOR_OPTIONS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/descriptor/moment_options.h"

namespace rutile {

// Holds the options of one kind of descriptor. Options of either kind convert to it.
class DescriptorOptions {
 public:
  DescriptorOptions() = default;  // Chebyshev's, with their defaults
  // Implicit, so that whoever knows the kind need not name this class.
  DescriptorOptions(ChebyshevOptions options) : options_(std::move(options)) {}  // NOLINT
  DescriptorOptions(MomentOptions options) : options_(std::move(options)) {}     // NOLINT

  bool is_chebyshev() const { return std::holds_alternative<ChebyshevOptions>(options_); }
  // Return the options of that kind; CHECK-fail if they are of another.
  const ChebyshevOptions& chebyshev() const;
  ChebyshevOptions& chebyshev();
  const MomentOptions& moments() const;
  MomentOptions& moments();

  const std::vector<uint8_t>& species() const;  // atomic numbers
  void set_species(std::vector<uint8_t> species);
  int num_features() const;
  // The radius in Angstrom within which neighbors are needed.
  double cutoff() const;
  double min_cutoff() const;  // Angstrom: neighbors at or below it are ignored
  // The radius in Angstrom within which listed triplets lie; 0 for a descriptor without triplets.
  double triplet_cutoff() const;

  // INVALID_ARGUMENT naming the flag.
  absl::Status Validate() const;

  // The form stored in file metadata under the key "descriptor", one line of JSON whose "type" tells the kind.
  std::string ToJson() const;
  static absl::StatusOr<DescriptorOptions> FromJson(absl::string_view json);

  friend bool operator==(const DescriptorOptions& a, const DescriptorOptions& b) { return a.options_ == b.options_; }
  friend bool operator!=(const DescriptorOptions& a, const DescriptorOptions& b) { return !(a == b); }

 private:
  std::variant<ChebyshevOptions, MomentOptions> options_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_DESCRIPTOR_OPTIONS_H_
