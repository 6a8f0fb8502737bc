#include "lib/task/projection_options.h"

#include "absl/strings/str_cat.h"

namespace rutile {
namespace {

constexpr int64_t kMaxDim = int64_t{1} << 20;

struct Name {
  ProjectionKind kind;
  absl::string_view name;
};
constexpr Name kNames[] = {{ProjectionKind::kNone, "none"},
                           {ProjectionKind::kGaussian, "gaussian"},
                           {ProjectionKind::kRademacher, "rademacher"},
                           {ProjectionKind::kSparse, "sparse"}};

}  // namespace

absl::string_view ProjectionKindName(ProjectionKind kind) {
  for (const Name& each : kNames) {
    if (each.kind == kind) return each.name;
  }
  return "?";
}

absl::StatusOr<ProjectionKind> ParseProjectionKind(absl::string_view name) {
  for (const Name& each : kNames) {
    if (each.name == name) return each.kind;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", name, "\" is no projection; there are none, gaussian, rademacher and sparse"));
}

absl::Status CheckProjectionOptions(const ProjectionOptions& options) {
  if (options.kind == ProjectionKind::kNone || (options.dim >= 1 && options.dim <= kMaxDim)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--projection_dim=", options.dim, ": expected a number from 1 to ", kMaxDim));
}

}  // namespace rutile
