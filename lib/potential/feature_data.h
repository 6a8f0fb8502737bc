// Structures with their features, from one or many files of kind atomistic.features/1, seen as one set.

#ifndef RUTILE_LIB_POTENTIAL_FEATURE_DATA_H_
#define RUTILE_LIB_POTENTIAL_FEATURE_DATA_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/descriptor/feature_file.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Structures are numbered from 0 over all files in the order given. The files stay mapped; nothing is copied.
class FeatureData {
 public:
  // INVALID_ARGUMENT: no file, a file that is not of the kind, files whose descriptors, feature types, config keys or
  // atomic energies differ (naming both).
  static absl::StatusOr<FeatureData> Read(absl::Span<const std::string> paths);

  const ChebyshevOptions& descriptor() const { return files_[0].descriptor; }
  DType feature_dtype() const { return files_[0].file.tensors.At("feature").dtype(); }            // F32 or F64
  const std::map<uint8_t, double>& atomic_energies() const { return files_[0].atomic_energies; }  // eV; may be empty
  int num_features() const { return descriptor().num_features(); }
  // The command that made the first file, as it can be pasted; "" when the file does not say.
  std::string command() const;

  int64_t num_structures() const { return static_cast<int64_t>(entries_.size()); }
  int64_t num_atoms(int64_t s) const { return entries_[s].atoms; }
  absl::Span<const uint8_t> species(int64_t s) const { return {entries_[s].species, size(s)}; }
  // [atoms, F], not scaled. CHECK-fails when T is not the type of feature_dtype().
  template <typename T>
  absl::Span<const T> features(int64_t s) const;
  bool has_energy(int64_t s) const { return entries_[s].has_energy; }
  double energy(int64_t s) const { return entries_[s].energy; }  // eV, total; NaN without one
  const std::string& name(int64_t s) const;
  const std::string& config_type(int64_t s) const;

  // [structures]: whose value of `key` fits the glob. INVALID_ARGUMENT when the features were made with another
  // --config_key, or when nothing fits.
  absl::StatusOr<std::vector<bool>> Matches(absl::string_view key, absl::string_view pattern) const;

 private:
  struct Entry {
    int32_t file;
    int64_t index;  // in the file
    int64_t atoms;
    const uint8_t* species;
    const void* features;
    double energy;
    bool has_energy;
  };
  size_t size(int64_t s) const { return static_cast<size_t>(entries_[s].atoms); }

  std::vector<FeatureFile> files_;
  std::vector<Entry> entries_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_FEATURE_DATA_H_
