// The columns of an extended XYZ frame, from its Properties.

#ifndef RUTILE_LIB_STRUCTURE_EXTXYZ_COLUMNS_H_
#define RUTILE_LIB_STRUCTURE_EXTXYZ_COLUMNS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/structure/structure.h"

namespace rutile {

class ExtxyzColumns {
 public:
  // symbol x y z, whatever stands behind.
  ExtxyzColumns() { SetPlain(); }
  void SetPlain();

  // "species:S:1:pos:R:3:forces:R:3". `force_key` names the forces; empty: the first of kForceKeys. INVALID_ARGUMENT
  // without a place.
  absl::Status Set(absl::string_view properties, absl::string_view force_key);

  bool has_force() const { return has_force_; }
  // Of its column; "" where there is none.
  absl::string_view force_name() const;

  // Parses one row into atom `i`, for which `structure` has room. False: Diagnose says why, "found in `where`,
  // expected".
  bool ParseRow(absl::string_view line, int64_t i, Structure* structure) const;
  std::string Diagnose(absl::string_view line, absl::string_view where) const;

  // The columns of other names in kForceKeys, where `force_key` was empty.
  bool has_other_forces() const { return has_other_forces_; }
  // Of a row that ParseRow took: the name of the first of them that does not hold `force`, and its numbers in `other`;
  // "" where all hold them, or no numbers.
  absl::string_view DifferingForce(absl::string_view line, const double* force, double* other) const;

 private:
  enum class Kind { kSkip, kElement, kPosition, kForce, kOtherForce };
  struct Column {
    Kind kind;
    int64_t count;
    std::string name;
  };

  std::string properties_;
  std::string force_key_;
  std::vector<Column> columns_;
  bool has_force_ = false;
  bool has_other_forces_ = false;
  bool ignore_rest_ = false;
};

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_EXTXYZ_COLUMNS_H_
