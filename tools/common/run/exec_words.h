// Words of a command or an environment as exec takes them.

#ifndef RUTILE_TOOLS_COMMON_RUN_EXEC_WORDS_H_
#define RUTILE_TOOLS_COMMON_RUN_EXEC_WORDS_H_

#include <string>
#include <vector>

namespace rutile {

// Into *words, with a null at the end: to be made before fork, after which nothing may be allocated.
inline std::vector<char*> ExecWords(std::vector<std::string>* words) {
  std::vector<char*> pointers;
  for (std::string& word : *words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_EXEC_WORDS_H_
