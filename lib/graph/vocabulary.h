// Numbers names: ids are 0, 1, 2 ... in the order in which they were added.

#ifndef RUTILE_LIB_GRAPH_VOCABULARY_H_
#define RUTILE_LIB_GRAPH_VOCABULARY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace rutile {

// A two-way map of names and ids. Takes about 50 bytes per name beside its characters.
class Vocabulary {
 public:
  static constexpr int32_t kUnknown = -1;

  // Returns the id of the name, a new one if it has none. CHECK-fails at 2^31 - 1 names: see full().
  int32_t Add(absl::string_view name);
  // Returns the id of the name, or kUnknown.
  int32_t Find(absl::string_view name) const {
    const auto found = ids_.find(name);
    return found == ids_.end() ? kUnknown : found->second;
  }
  int64_t size() const { return static_cast<int64_t>(names_.size()); }
  // The name of an id, valid as long as the vocabulary.
  absl::string_view name(int32_t id) const { return names_[id]; }
  std::vector<std::string> Names() const { return std::vector<std::string>(names_.begin(), names_.end()); }
  // True if no id is left: they are int32.
  bool full() const { return size() >= INT32_MAX; }

 private:
  absl::string_view Keep(absl::string_view name);

  absl::flat_hash_map<absl::string_view, int32_t> ids_;
  std::vector<absl::string_view> names_;  // by id, in blocks_
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* free_ = nullptr;
  size_t num_free_ = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_VOCABULARY_H_
