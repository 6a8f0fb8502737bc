#include "lib/graph/vocabulary.h"

#include <algorithm>
#include <cstring>

#include "lib/base/logging.h"

namespace rutile {
namespace {

constexpr size_t kBlock = size_t{1} << 16;

}  // namespace

int32_t Vocabulary::Add(absl::string_view name) {
  const auto found = ids_.find(name);
  if (found != ids_.end()) return found->second;
  CHECK(!full()) << "more names than ids";
  const int32_t id = static_cast<int32_t>(size());
  names_.push_back(Keep(name));
  ids_.emplace(names_.back(), id);
  return id;
}

absl::string_view Vocabulary::Keep(absl::string_view name) {
  if (name.empty()) return "";
  if (name.size() > num_free_) {
    num_free_ = std::max(kBlock, name.size());
    blocks_.push_back(std::make_unique<char[]>(num_free_));
    free_ = blocks_.back().get();
  }
  std::memcpy(free_, name.data(), name.size());
  const absl::string_view kept(free_, name.size());
  free_ += name.size();
  num_free_ -= name.size();
  return kept;
}

}  // namespace rutile
