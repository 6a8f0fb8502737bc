#include "lib/potential/feature_data.h"

#include <fnmatch.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

// What must be the same in all files, for else they were not made to be trained on together.
absl::Status CheckSame(const FeatureFile& first, const FeatureFile& other) {
  auto differ = [&](absl::string_view what, absl::string_view a, absl::string_view b) {
    return absl::InvalidArgumentError(absl::StrCat(other.file.path, ": its ", what, " is ", b, ", but that of ",
                                                   first.file.path, " is ", a,
                                                   "; run featurize on both with the same flags"));
  };
  if (other.descriptor != first.descriptor) {
    return differ("descriptor", first.descriptor.ToJson(), other.descriptor.ToJson());
  }
  const DType a = first.file.tensors.At("feature").dtype(), b = other.file.tensors.At("feature").dtype();
  if (a != b) return differ("feature type", DTypeName(a), DTypeName(b));
  for (const char* key : {"config_key", "atomic_energies"}) {
    auto value = [&](const FeatureFile& file) {
      const auto found = file.file.metadata.find(key);
      return found == file.file.metadata.end() ? std::string("not given") : found->second;
    };
    if (value(first) != value(other)) return differ(key, value(first), value(other));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FeatureData> FeatureData::Read(absl::Span<const std::string> paths) {
  if (paths.empty()) return absl::InvalidArgumentError("no file of features is given");
  FeatureData data;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(FeatureFile file, ReadFeatures(path));
    if (!data.files_.empty()) RETURN_IF_ERROR(CheckSame(data.files_[0], file));
    data.files_.push_back(std::move(file));
  }
  for (size_t f = 0; f < data.files_.size(); ++f) {
    const NamedTensors& tensors = data.files_[f].file.tensors;
    const absl::Span<const int64_t> offset = tensors.At("atom_offset").values<int64_t>();
    const absl::Span<const double> energy = tensors.At("energy").values<double>();
    const absl::Span<const bool> has_energy = tensors.At("has_energy").values<bool>();
    const uint8_t* const species = tensors.At("species").values<uint8_t>().data();
    const Tensor& feature = tensors.At("feature");
    const int64_t row_bytes = data.num_features() * ByteSize(feature.dtype());
    for (int64_t s = 0; s < data.files_[f].num_structures(); ++s) {
      data.entries_.push_back({static_cast<int32_t>(f), s, offset[s + 1] - offset[s], species + offset[s],
                               static_cast<const char*>(feature.data()) + offset[s] * row_bytes, energy[s],
                               has_energy[s]});
    }
  }
  return data;
}

template <typename T>
absl::Span<const T> FeatureData::features(int64_t s) const {
  DCHECK(DTypeOf<T>() == feature_dtype());
  return {static_cast<const T*>(entries_[s].features), size(s) * num_features()};
}

template absl::Span<const float> FeatureData::features<float>(int64_t) const;
template absl::Span<const double> FeatureData::features<double>(int64_t) const;

std::string FeatureData::command() const {
  const auto found = files_[0].file.metadata.find("command");
  return found == files_[0].file.metadata.end() ? "" : found->second;
}

const std::string& FeatureData::name(int64_t s) const { return files_[entries_[s].file].names[entries_[s].index]; }

const std::string& FeatureData::config_type(int64_t s) const {
  const FeatureFile& file = files_[entries_[s].file];
  return file.config_types[file.file.tensors.At("config").values<int32_t>()[entries_[s].index]];
}

absl::StatusOr<std::vector<bool>> FeatureData::Matches(absl::string_view key, absl::string_view pattern) const {
  const std::string& known = files_[0].file.metadata.at("config_key");
  if (key != known) {
    return absl::InvalidArgumentError(absl::StrCat("the features hold the values of ", known, ", not of ", key,
                                                   "; run featurize with --config_key=", key));
  }
  const std::string glob(pattern);
  std::vector<bool> matches(num_structures());
  for (int64_t s = 0; s < num_structures(); ++s) matches[s] = fnmatch(glob.c_str(), config_type(s).c_str(), 0) == 0;
  if (std::find(matches.begin(), matches.end(), true) == matches.end()) {
    return absl::InvalidArgumentError(absl::StrCat("no structure has a ", key, " that fits ", pattern));
  }
  return matches;
}

}  // namespace rutile
