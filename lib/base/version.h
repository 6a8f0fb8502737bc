// The version of rutile, which appears in --version, in the metadata of every file written, and in CHANGELOG.md.

#ifndef RUTILE_LIB_BASE_VERSION_H_
#define RUTILE_LIB_BASE_VERSION_H_

namespace rutile {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_VERSION_H_
