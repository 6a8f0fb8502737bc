// Holds the names of a graph while its triples are read: their ids, and which of them training has.

#ifndef RUTILE_LIB_GRAPH_TEXT_GRAPH_NAMES_H_
#define RUTILE_LIB_GRAPH_TEXT_GRAPH_NAMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/graph/vocabulary.h"

namespace rutile {

// The names of one kind (entities or relations) while triples are read.
class GraphNames {
 public:
  // what: "entity" or "relation"; limit: the largest number of names.
  GraphNames(const char* what, int64_t limit) : what_(what), limit_(limit) {}

  // Reads a file of ids, which fixes the names, and appends its description to `formats`.
  absl::Status ReadFrom(const std::string& path, std::vector<std::string>* formats);

  const char* what() const { return what_; }
  bool fixed() const { return fixed_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  // Returns kUnknown if the name has no id.
  int32_t Find(absl::string_view name) const { return vocabulary_.Find(name); }
  // Returns kUnknown if the name is new and the limit is reached.
  int32_t Add(absl::string_view name) {
    if (vocabulary_.size() >= limit_) return vocabulary_.Find(name);
    return vocabulary_.Add(name);
  }
  int64_t limit() const { return limit_; }

  // Records a name that a training triple has.
  void MarkTrained(int32_t id);
  bool IsTrained(int32_t id) const { return id >= 0 && id < static_cast<int64_t>(trained_.size()) && trained_[id]; }
  // Records a name that no training triple has.
  void MarkUnseen(absl::string_view name);
  int64_t num_unseen() const { return static_cast<int64_t>(unseen_.size()); }
  const std::vector<std::string>& unseen_names() const { return unseen_names_; }

 private:
  const char* what_;
  int64_t limit_;
  bool fixed_ = false;
  Vocabulary vocabulary_;
  std::vector<bool> trained_;  // by id; shorter than the vocabulary where the rest is false
  absl::flat_hash_set<std::string> unseen_;
  std::vector<std::string> unseen_names_;
};

// Sorts entities, relations or both by their names' bytes; labels, types and triples follow.
void SortGraphNames(bool entities, bool relations, KnowledgeGraph* graph);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TEXT_GRAPH_NAMES_H_
