#include "lib/graph/entity_types.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/graph/name_lines.h"
#include "lib/tensorfile/tensor_header.h"

namespace rutile {
namespace {

constexpr char kNames[] = "entity_type_names", kBegin[] = "entity_type_begin", kType[] = "entity_type";

}  // namespace

int32_t EntityTypes::Find(absl::string_view name) const {
  const auto found = std::lower_bound(names.begin(), names.end(), name, [](const std::string& a, absl::string_view b) {
    return absl::string_view(a) < b;
  });
  if (found == names.end() || absl::string_view(*found) != name) return Vocabulary::kUnknown;
  return static_cast<int32_t>(found - names.begin());
}

std::vector<int64_t> EntityTypes::Counts() const {
  std::vector<int64_t> counts(names.size());
  for (const int32_t t : type) ++counts[t];
  return counts;
}

EntityTypes EntityTypesBuilder::Build(int64_t num_entities) const {
  EntityTypes types;
  if (pairs_.empty()) return types;
  types.names = names_.Names();
  std::sort(types.names.begin(), types.names.end());
  std::vector<int32_t> sorted(names_.size());
  for (size_t i = 0; i < types.names.size(); ++i) sorted[names_.Find(types.names[i])] = static_cast<int32_t>(i);
  std::vector<std::pair<int32_t, int32_t>> pairs = pairs_;
  for (auto& [entity, type] : pairs) {
    CHECK(entity >= 0 && entity < num_entities) << entity << " of " << num_entities;
    type = sorted[type];
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  types.begin.assign(num_entities + 1, 0);
  for (const auto& [entity, type] : pairs) {
    ++types.begin[entity + 1];
    types.type.push_back(type);
  }
  std::partial_sum(types.begin.begin(), types.begin.end(), types.begin.begin());
  return types;
}

EntityTypes RenumberEntityTypes(const EntityTypes& types, absl::Span<const int32_t> new_id, int64_t num_entities) {
  EntityTypesBuilder builder;
  if (types.empty()) return {};
  for (size_t e = 0; e < new_id.size(); ++e) {
    if (new_id[e] < 0) continue;
    for (const int32_t type : types.Of(static_cast<int32_t>(e))) builder.Add(new_id[e], types.names[type]);
  }
  return builder.Build(num_entities);
}

absl::Status CheckEntityTypes(const EntityTypes& types, int64_t num_entities) {
  const auto error = [](const auto&... parts) { return absl::InvalidArgumentError(absl::StrCat(parts...)); };
  if (types.empty()) {
    if (types.begin.empty() && types.type.empty()) return absl::OkStatus();
    return error("entities have types, but the types have no names");
  }
  for (size_t i = 0; i < types.names.size(); ++i) {
    const std::string& name = types.names[i];
    if (name.empty()) return error("entity type ", i, " has an empty name");
    if (name.find('\n') != std::string::npos) return error("entity type ", JsonQuote(name), " holds a line end");
    if (!IsUtf8(name)) return error("entity type ", JsonQuote(name), " is not UTF-8");
    if (i > 0 && !(types.names[i - 1] < name)) {
      return error("entity type ", i, ", ", JsonQuote(name), ", is not behind ", JsonQuote(types.names[i - 1]),
                   ", expected ascending names");
    }
  }
  if (static_cast<int64_t>(types.begin.size()) != num_entities + 1) {
    return error(types.begin.size(), " entries of ", kBegin, " for ", num_entities, " entities, expected one more");
  }
  if (types.begin.front() != 0 || types.begin.back() != static_cast<int64_t>(types.type.size()) ||
      !std::is_sorted(types.begin.begin(), types.begin.end())) {
    return error(kBegin, " does not ascend from 0 to ", types.type.size(), ", the number of pairs");
  }
  std::vector<bool> used(types.names.size(), false);
  for (int64_t e = 0; e < num_entities; ++e) {
    const absl::Span<const int32_t> of = types.Of(static_cast<int32_t>(e));
    for (size_t i = 0; i < of.size(); ++i) {
      if (of[i] < 0 || of[i] >= static_cast<int64_t>(types.names.size())) {
        return error("entity ", e, " has the type ", of[i], ", which is not one of 0 .. ", types.names.size() - 1);
      }
      if (i > 0 && of[i - 1] >= of[i]) return error("the types of entity ", e, " do not ascend");
      used[of[i]] = true;
    }
  }
  const auto unused = std::find(used.begin(), used.end(), false);
  if (unused == used.end()) return absl::OkStatus();
  return error("no entity has the type ", JsonQuote(types.names[unused - used.begin()]));
}

Schema* AddEntityTypeRules(Schema* schema) {
  const TensorRule rules[] = {
      {kNames, {DType::kU8}, {"KB"}, false, "types of entities, ascending, a line for each; with these three or none"},
      {kBegin, {DType::kI64}, {"N+1"}, false, "where the types of an entity begin in entity_type"},
      {kType, {DType::kI32}, {"P"}, false, "numbers of types, ascending for each entity"},
  };
  schema->tensors.insert(schema->tensors.end(), std::begin(rules), std::end(rules));
  return schema;
}

void SetEntityTypes(const EntityTypes& types, NamedTensors* tensors) {
  if (types.empty()) return;
  tensors->Set(kNames, NamesToTensor(types.names));
  tensors->Set(kBegin, Tensor::Of(types.begin));
  tensors->Set(kType, Tensor::Of(types.type));
}

absl::StatusOr<EntityTypes> EntityTypesFromFile(const TensorFile& file, int64_t num_entities) {
  EntityTypes types;
  const bool has = file.tensors.Has(kNames);
  for (const char* name : {kBegin, kType}) {
    if (file.tensors.Has(name) == has) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(file.path, ": tensors \"", kNames, "\" and \"", name, "\" are there together or not at all"));
  }
  if (!has) return types;
  ASSIGN_OR_RETURN(types.names, NamesFromTensor(file, kNames));
  const absl::Span<const int64_t> begin = file.tensors.At(kBegin).values<int64_t>();
  const absl::Span<const int32_t> type = file.tensors.At(kType).values<int32_t>();
  types.begin.assign(begin.begin(), begin.end());
  types.type.assign(type.begin(), type.end());
  if (const absl::Status status = CheckEntityTypes(types, num_entities); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": ", status.message()));
  }
  return types;
}

}  // namespace rutile
