// Early return on error, for functions that return absl::Status or absl::StatusOr. Only .cc files include this.
//
//   RETURN_IF_ERROR(file.Append(bytes));
//   ASSIGN_OR_RETURN(const Structure structure, reader.Read());
//
// Abseil has no such macros of its own.

#ifndef RUTILE_LIB_BASE_STATUS_MACROS_H_
#define RUTILE_LIB_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define RETURN_IF_ERROR(expr)                                                           \
  do {                                                                                  \
    if (absl::Status rutile_status = (expr); !rutile_status.ok()) return rutile_status; \
  } while (false)

#define ASSIGN_OR_RETURN(lhs, expr) RUTILE_ASSIGN_OR_RETURN_(RUTILE_CONCAT_(rutile_result_, __LINE__), lhs, expr)

#define RUTILE_ASSIGN_OR_RETURN_(result, lhs, expr)    \
  auto result = (expr);                                \
  if (!result.ok()) return std::move(result).status(); \
  lhs = *std::move(result)

#define RUTILE_CONCAT_(a, b) RUTILE_CONCAT_INNER_(a, b)
#define RUTILE_CONCAT_INNER_(a, b) a##b

#endif  // RUTILE_LIB_BASE_STATUS_MACROS_H_
