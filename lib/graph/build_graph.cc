#include "lib/graph/build_graph.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/interrupt.h"
#include "lib/base/status_macros.h"
#include "lib/graph/id_file.h"
#include "lib/graph/kgx_nodes.h"
#include "lib/graph/triple_reader.h"
#include "lib/graph/vocabulary.h"
#include "lib/tensorfile/tensor_header.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

constexpr const char* kSplitNames[] = {"train", "valid", "test"};
constexpr size_t kShownNames = 5;
constexpr int64_t kItemsPerRound = 16384;  // about ten milliseconds

struct TripleHash {
  size_t operator()(const Triple& t) const {
    return absl::Hash<std::tuple<int32_t, int32_t, int32_t>>()(std::make_tuple(t.head, t.relation, t.tail));
  }
};

std::string Show(const TextTriple& triple) {
  return absl::StrCat(JsonQuote(triple.head), " ", JsonQuote(triple.relation), " ", JsonQuote(triple.tail));
}

// The names of one kind (entities or relations) while triples are read.
class Names {
 public:
  Names(const char* what, int64_t limit) : what_(what), limit_(limit) {}

  absl::Status ReadFrom(const std::string& path, BuildGraphReport* report) {
    ASSIGN_OR_RETURN(const IdFile file, ReadIdFile(path));
    for (const std::string& name : file.names) vocabulary_.Add(name);
    fixed_ = true;
    report->formats.push_back(file.Describe(path));
    return absl::OkStatus();
  }

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

  void MarkTrained(int32_t id) {
    if (id >= static_cast<int64_t>(trained_.size())) trained_.resize(std::max<int64_t>(id + 1, vocabulary_.size()));
    trained_[id] = true;
  }
  bool IsTrained(int32_t id) const { return id >= 0 && id < static_cast<int64_t>(trained_.size()) && trained_[id]; }
  // Records a name that no training triple has.
  void MarkUnseen(absl::string_view name) {
    if (unseen_.emplace(name).second && unseen_names_.size() < kShownNames) unseen_names_.emplace_back(name);
  }
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

class Builder {
 public:
  explicit Builder(const BuildGraphOptions& options)
      : options_(options),
        entities_("entity", options.max_names),
        relations_("relation", options.inverse_relations ? options.max_names / 2 : options.max_names) {}

  absl::StatusOr<BuiltGraph> Build() {
    if (!options_.edge_map.empty()) {
      ASSIGN_OR_RETURN(result_.edge_map, EdgeMap::Read(options_.edge_map));
    }
    if (!options_.entity_to_id.empty()) RETURN_IF_ERROR(entities_.ReadFrom(options_.entity_to_id, &report()));
    if (!options_.relation_to_id.empty()) RETURN_IF_ERROR(relations_.ReadFrom(options_.relation_to_id, &report()));
    RETURN_IF_ERROR(ReadSplit(0, options_.train, &graph().train));
    RETURN_IF_ERROR(ReadSplit(1, options_.valid, &graph().valid));
    RETURN_IF_ERROR(ReadSplit(2, options_.test, &graph().test));
    graph().inverse_relations = options_.inverse_relations;
    graph().entities = entities_.vocabulary().Names();
    graph().relations = relations_.vocabulary().Names();
    report().unseen_entities = entities_.num_unseen();
    report().unseen_relations = relations_.num_unseen();
    report().unseen_relation_names = relations_.unseen_names();
    CountUnused();
    RETURN_IF_ERROR(AddLabels());
    if (options_.sort_names) SortNames();
    return std::move(result_);
  }

 private:
  // Whether a line goes into the graph.
  enum class Verdict { kTake, kLeave };

  KnowledgeGraph& graph() { return result_.graph; }
  BuildGraphReport& report() { return result_.report; }

  // Returns kLeave and counts the finding, or returns the finding as an error.
  static absl::StatusOr<Verdict> Handle(Handling handling, const TripleReader& reader, absl::string_view what,
                                        Finding* finding) {
    if (handling == Handling::kRefuse) {
      return absl::InvalidArgumentError(absl::StrCat(reader.Place(), ": ", what));
    }
    finding->Add(reader.Place(), what);
    return handling == Handling::kKeep ? Verdict::kTake : Verdict::kLeave;
  }

  absl::Status ReadSplit(int split, const std::vector<std::string>& paths, std::vector<Triple>* triples) {
    split_ = split;
    SplitReport& found = report().splits[split];
    for (const std::string& path : paths) {
      ASSIGN_OR_RETURN(TripleReader reader, TripleReader::Open(path, &result_.edge_map));
      RETURN_IF_ERROR(NoteFormat(reader));
      TextTriple text;
      int64_t items = 0, told = 0;
      const auto tell = [&] {
        if (options_.on_progress) options_.on_progress(items - std::exchange(told, items));
      };
      for (TripleReader::Item item; (item = reader.Next(&text)) != TripleReader::kEnd;) {
        if (items++ % kItemsPerRound == 0) {
          RETURN_IF_ERROR(CheckInterrupt());
          tell();
        }
        if (item == TripleReader::kMalformed) {
          RETURN_IF_ERROR(Handle(options_.malformed, reader, reader.problem(), &found.malformed).status());
          continue;
        }
        Triple triple;
        ASSIGN_OR_RETURN(const Verdict verdict, Take(reader, text, &triple));
        if (verdict == Verdict::kTake) triples->push_back(triple);
      }
      RETURN_IF_ERROR(reader.status());
      tell();
    }
    if (!paths.empty() && triples->empty()) {
      const int64_t num_left_out =
          found.malformed.count + found.unknown.count + found.leaked.count + found.unseen.count;
      return absl::InvalidArgumentError(absl::StrCat(paths[0], ": no triple ", num_left_out > 0 ? "is left " : "",
                                                     "for the ", kSplitNames[split],
                                                     " split, expected at least one; give another file or none"));
    }
    found.triples = static_cast<int64_t>(triples->size());
    return absl::OkStatus();
  }

  absl::Status NoteFormat(const TripleReader& reader) {
    if (reader.format() == KgFormat::kKgxEdges) report().formats.push_back(absl::StrCat(reader.path(), ": KGX edges"));
    if (reader.format() != KgFormat::kCountedTriples) return absl::OkStatus();
    report().formats.push_back(
        absl::StrCat(reader.path(), ": a count and then ids of head, tail and relation (as OpenKE writes)"));
    if (entities_.fixed() && relations_.fixed()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(reader.path(),
                                                   ": holds ids, and needs --entity_to_id and "
                                                   "--relation_to_id to say what they are"));
  }

  absl::StatusOr<Verdict> Take(const TripleReader& reader, const TextTriple& text, Triple* triple) {
    SplitReport& found = report().splits[split_];
    if (reader.format() == KgFormat::kCountedTriples) {
      RETURN_IF_ERROR(ParseId(reader, entities_, text.head, &triple->head));
      RETURN_IF_ERROR(ParseId(reader, relations_, text.relation, &triple->relation));
      RETURN_IF_ERROR(ParseId(reader, entities_, text.tail, &triple->tail));
    } else {
      *triple = {entities_.Find(text.head), relations_.Find(text.relation), entities_.Find(text.tail)};
      std::string unknown;
      if (reader.unknown_relation()) {
        unknown = reader.problem();
      } else if (const auto [names, name] = Lacking(text, *triple); names != nullptr) {
        unknown = absl::StrCat("the ", names->what(), " ", JsonQuote(name), " has no id in ",
                               names == &entities_ ? options_.entity_to_id : options_.relation_to_id);
      }
      if (!unknown.empty()) return Handle(options_.unknown_names, reader, unknown, &found.unknown);
    }
    if (split_ > 0) {
      ASSIGN_OR_RETURN(const Verdict verdict, CheckSeen(reader, text, *triple));
      if (verdict == Verdict::kLeave) return verdict;
    }
    RETURN_IF_ERROR(AddNew(reader, &entities_, text.head, &triple->head));
    RETURN_IF_ERROR(AddNew(reader, &relations_, text.relation, &triple->relation));
    RETURN_IF_ERROR(AddNew(reader, &entities_, text.tail, &triple->tail));
    uint8_t& splits = triples_[*triple];  // a bit for each split that has it
    const uint8_t others = splits;
    const uint8_t own = static_cast<uint8_t>(1 << split_);
    splits |= own;
    if (others & own) {
      return Handle(options_.duplicates, reader, absl::StrCat(Show(text), " comes twice"), &found.duplicates);
    }
    if (others != 0) {
      const char* const earlier = kSplitNames[others & 1 ? 0 : 1];
      return Handle(options_.leaked, reader, absl::StrCat(Show(text), " is in ", earlier, ", too"), &found.leaked);
    }
    if (split_ == 0) {
      entities_.MarkTrained(triple->head);
      entities_.MarkTrained(triple->tail);
      relations_.MarkTrained(triple->relation);
    }
    return Verdict::kTake;
  }

  // Returns the first name of the triple that has no id although names of its kind are fixed; null if there is none.
  std::pair<const Names*, absl::string_view> Lacking(const TextTriple& text, const Triple& triple) const {
    if (entities_.fixed() && triple.head < 0) return {&entities_, text.head};
    if (relations_.fixed() && triple.relation < 0) return {&relations_, text.relation};
    if (entities_.fixed() && triple.tail < 0) return {&entities_, text.tail};
    return {nullptr, ""};
  }

  absl::Status ParseId(const TripleReader& reader, const Names& names, absl::string_view digits, int32_t* id) const {
    int64_t value = 0;
    if (absl::SimpleAtoi(digits, &value) && value < names.vocabulary().size()) {
      *id = static_cast<int32_t>(value);
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(reader.Place(), ": ", names.what(), " ", digits,
                                                   " is out of range, expected 0 .. ", names.vocabulary().size() - 1));
  }

  absl::StatusOr<Verdict> CheckSeen(const TripleReader& reader, const TextTriple& text, const Triple& triple) {
    std::string what;
    const auto check = [&](Names* names, absl::string_view name, int32_t id) {
      if (names->IsTrained(id)) return;
      // Counted files contain only ids; the message gives the name.
      if (id >= 0) name = names->vocabulary().name(id);
      names->MarkUnseen(name);
      if (what.empty()) what = absl::StrCat("the ", names->what(), " ", JsonQuote(name), " is in no training triple");
    };
    check(&entities_, text.head, triple.head);
    check(&relations_, text.relation, triple.relation);
    check(&entities_, text.tail, triple.tail);
    if (what.empty()) return Verdict::kTake;
    return Handle(options_.unseen, reader, what, &report().splits[split_].unseen);
  }

  absl::Status AddNew(const TripleReader& reader, Names* names, absl::string_view name, int32_t* id) {
    if (*id >= 0) return absl::OkStatus();
    *id = names->Add(name);
    if (*id >= 0) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(reader.Place(), ": the ", names->what(), " ", JsonQuote(name),
                                                   " is one more than the ", names->limit(),
                                                   " that 32-bit ids can name"));
  }

  void CountUnused() {
    std::vector<bool> entity(graph().entities.size(), false), relation(graph().relations.size(), false);
    for (const std::vector<Triple>* split : {&graph().train, &graph().valid, &graph().test}) {
      for (const Triple& triple : *split) {
        entity[triple.head] = true;
        entity[triple.tail] = true;
        relation[triple.relation] = true;
      }
    }
    report().unused_entities = std::count(entity.begin(), entity.end(), false);
    report().unused_relations = std::count(relation.begin(), relation.end(), false);
  }

  absl::Status AddLabels() {
    const int64_t num_entities = graph().num_entities();
    if (!options_.node_name_dict.empty()) {
      ASSIGN_OR_RETURN(IdFile file, ReadLabelFile(options_.node_name_dict, num_entities));
      graph().entity_labels = std::move(file.names);
    } else if (!options_.nodes.empty()) {
      graph().entity_labels.assign(num_entities, "");
      RETURN_IF_ERROR(ReadKgxNodes(options_.nodes, entities_.vocabulary(), options_.malformed, &graph().entity_labels,
                                   &report().malformed_nodes));
    }
    for (size_t i = 0; i < graph().entity_labels.size(); ++i) {
      if (!graph().entity_labels[i].empty()) continue;
      graph().entity_labels[i] = graph().entities[i];
      ++report().unlabeled;
    }
    if (result_.edge_map.size() == 0) return absl::OkStatus();
    const auto labels = result_.edge_map.Labels();
    for (const std::string& relation : graph().relations) {
      const auto found = labels.find(relation);
      graph().relation_labels.push_back(found == labels.end() ? relation : found->second);
    }
    return absl::OkStatus();
  }

  // Sorts the vocabularies that were built from triples by the names' bytes.
  void SortNames() {
    const auto sort = [](std::vector<std::string>* names, std::vector<std::string>* labels) {
      std::vector<int32_t> order(names->size());
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return (*names)[a] < (*names)[b]; });
      std::vector<int32_t> new_id(names->size());
      std::vector<std::string> sorted_names(names->size()), sorted_labels(labels->size());
      for (size_t i = 0; i < order.size(); ++i) {
        new_id[order[i]] = static_cast<int32_t>(i);
        sorted_names[i] = std::move((*names)[order[i]]);
        if (!labels->empty()) sorted_labels[i] = std::move((*labels)[order[i]]);
      }
      names->swap(sorted_names);
      labels->swap(sorted_labels);
      return new_id;
    };
    std::vector<int32_t> entity, relation;
    if (!entities_.fixed()) entity = sort(&graph().entities, &graph().entity_labels);
    if (!relations_.fixed()) relation = sort(&graph().relations, &graph().relation_labels);
    for (std::vector<Triple>* split : {&graph().train, &graph().valid, &graph().test}) {
      for (Triple& triple : *split) {
        if (!entity.empty()) triple.head = entity[triple.head];
        if (!entity.empty()) triple.tail = entity[triple.tail];
        if (!relation.empty()) triple.relation = relation[triple.relation];
      }
    }
  }

  const BuildGraphOptions& options_;
  Names entities_, relations_;
  absl::flat_hash_map<Triple, uint8_t, TripleHash> triples_;  // to a bit for each split that has it
  int split_ = 0;
  BuiltGraph result_;
};

}  // namespace

absl::Status CheckBuildGraphOptions(const BuildGraphOptions& options) {
  if (options.train.empty()) return absl::InvalidArgumentError("train: no file, expected triples to learn from");
  for (const auto& [name, handling] :
       {std::make_pair("malformed", options.malformed), std::make_pair("unknown_names", options.unknown_names),
        std::make_pair("duplicates", options.duplicates)}) {
    if (handling == Handling::kKeep) {
      return absl::InvalidArgumentError(absl::StrCat(name, " cannot be kept, expected to refuse or to drop them"));
    }
  }
  if (!options.node_name_dict.empty() && options.entity_to_id.empty()) {
    return absl::InvalidArgumentError(
        "--node_name_dict needs --entity_to_id: its indices are those of a file, not of the names' first appearance");
  }
  if (!options.node_name_dict.empty() && !options.nodes.empty()) {
    return absl::InvalidArgumentError("--node_name_dict and --nodes: both give names for people, expected one");
  }
  if (options.sort_names && !options.entity_to_id.empty() && !options.relation_to_id.empty()) {
    return absl::InvalidArgumentError(
        "sorted names where --entity_to_id and --relation_to_id give all ids: leave one out");
  }
  return absl::OkStatus();
}

absl::StatusOr<BuiltGraph> BuildGraph(const BuildGraphOptions& options) {
  const ProfileScope scope(Stage::kGraph);
  RETURN_IF_ERROR(CheckBuildGraphOptions(options));
  return Builder(options).Build();
}

}  // namespace rutile
