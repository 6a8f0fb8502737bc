// Parses the atom rows of an extended XYZ frame, whose columns its Properties declare.

#ifndef RUTILE_LIB_STRUCTURE_EXTXYZ_EXTXYZ_COLUMNS_H_
#define RUTILE_LIB_STRUCTURE_EXTXYZ_EXTXYZ_COLUMNS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/structure/structure.h"

namespace rutile {

// The column layout of a frame, and the parser of its rows.
class ExtxyzColumns {
 public:
  // The layout without Properties: symbol x y z; further words are ignored.
  ExtxyzColumns() { SetPlain(); }
  void SetPlain();

  // Sets the layout from Properties such as "species:S:1:pos:R:3:forces:R:3". `force_key` names the column of forces;
  // if it is empty, `recorded` is tried, unless empty, and then the first of kForceKeys. INVALID_ARGUMENT, whose
  // message gives no file or line.
  absl::Status Set(absl::string_view properties, absl::string_view force_key, absl::string_view recorded = "");

  bool has_force() const { return has_force_; }
  // Name of the column of forces; "" if there is none.
  absl::string_view force_name() const;

  // Returns the names of the columns of three numbers that are not read but have a name like that of forces.
  std::vector<absl::string_view> ForceCandidates() const;

  // Parses one row into atom `i`, for which `structure` has room. If it returns false, Diagnose() describes the error
  // as "found in `where`, expected".
  bool ParseRow(absl::string_view line, int64_t i, Structure* structure) const;
  std::string Diagnose(absl::string_view line, absl::string_view where) const;

  // True if there are further columns named in kForceKeys, and `force_key` was empty.
  bool has_other_forces() const { return has_other_forces_; }
  // Compares further columns of forces in a row that ParseRow accepted with `force`. Returns the name of the first that
  // differs, and its numbers in `other`; "" if none differs or they are no numbers.
  absl::string_view DifferingForce(absl::string_view line, const double* force, double* other) const;

 private:
  enum class Kind { kSkip, kElement, kPosition, kForce, kOtherForce };
  struct Column {
    Kind kind;
    int64_t count;
    std::string name;
  };

  std::string properties_;
  std::string force_key_, recorded_;
  std::vector<Column> columns_;
  bool has_force_ = false;
  bool has_other_forces_ = false;
  bool ignore_rest_ = false;
};

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_EXTXYZ_EXTXYZ_COLUMNS_H_
