#include "lib/graph/name_ids.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace rutile {

namespace {
constexpr int32_t kSeveral = -1;
}  // namespace

NameIds::NameIds(absl::string_view what, const std::vector<std::string>& names, const std::vector<std::string>& labels)
    : what_(what) {
  ids_.reserve(names.size());
  for (size_t i = 0; i < names.size(); ++i) ids_.emplace(names[i], static_cast<int32_t>(i));
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto [at, is_new] = labels_.emplace(labels[i], static_cast<int32_t>(i));
    if (!is_new) at->second = kSeveral;
  }
}

absl::StatusOr<int32_t> NameIds::Find(absl::string_view name) const {
  if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
  const auto labeled = labels_.find(name);
  if (labeled == labels_.end()) {
    return absl::InvalidArgumentError(absl::StrCat("no ", what_, " is called \"", name, "\""));
  }
  if (labeled->second == kSeveral) {
    return absl::InvalidArgumentError(absl::StrCat("several ", what_ == "entity" ? "entities" : "relations",
                                                   " have the label \"", name, "\": give the name"));
  }
  return labeled->second;
}

}  // namespace rutile
