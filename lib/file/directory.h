// Folders of files.

#ifndef RUTILE_LIB_FILE_DIRECTORY_H_
#define RUTILE_LIB_FILE_DIRECTORY_H_

#include <string>

#include "absl/strings/string_view.h"

namespace rutile {

// Returns the folder of a file: what is before the last slash, "/" for the root, "." without a slash.
std::string DirectoryOf(absl::string_view path);

// Flushes a folder to its device, so that a new name in it survives a power cut. Errors are ignored, because not every
// file system lets a folder be opened or flushed.
void FlushDirectory(const std::string& path);

}  // namespace rutile

#endif  // RUTILE_LIB_FILE_DIRECTORY_H_
