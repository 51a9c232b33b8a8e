// Files of the tests: where they are and what is in them.
#ifndef SCHEDFW_TESTS_SUPPORT_FILES_H_
#define SCHEDFW_TESTS_SUPPORT_FILES_H_

#include <filesystem>
#include <string>
#include <vector>

#include "schedfw/base/value.h"

namespace schedfw::testing {

/// The folder `tests` of the source tree.
std::filesystem::path TestsDir();

/// The text of a file; fails the test when it can't be read.
std::string ReadFile(const std::filesystem::path& path);

/// A JSON or YAML file; fails the test when it can't be parsed.
Value ReadValue(const std::filesystem::path& path);

/// The folders below `dir` whose names start with `prefix`, in order.
std::vector<std::filesystem::path> Folders(const std::filesystem::path& dir,
                                           const std::string& prefix);

}  // namespace schedfw::testing

#endif  // SCHEDFW_TESTS_SUPPORT_FILES_H_
