#include "support/files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace schedfw::testing {

std::filesystem::path TestsDir() { return SCHEDFW_TESTS_DIR; }

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << "can't read " << path;
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

Value ReadValue(const std::filesystem::path& path) {
  auto value = ParseValue(ReadFile(path), path.string());
  EXPECT_TRUE(value.ok()) << value.error().message();
  return value.ok() ? *std::move(value) : Value();
}

std::vector<std::filesystem::path> Folders(const std::filesystem::path& dir,
                                           const std::string& prefix) {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    if (entry.is_directory() && entry.path().filename().string().starts_with(prefix)) {
      out.push_back(entry.path());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace schedfw::testing
