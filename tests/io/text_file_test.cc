#include "io/text_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

namespace schedfw::io {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kText = "kind: Pod\n";
// gzip -9n of kText, of kText behind a byte order mark, and of 3000 times "a".
constexpr std::string_view kGzip =
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xcb\xce\xcc\x4b\xb1\x52\x08\xc8\x4f\xe1\x02\x00\xbc"
    "\xb5\x37\x8d\x0a\x00\x00\x00"sv;
constexpr std::string_view kGzipMark =
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\x7b\xbf\x7b\x7f\x76\x66\x5e\x8a\x95\x42\x40\x7e\x0a"
    "\x17\x00\x9b\xc6\x2f\x21\x0d\x00\x00\x00"sv;
constexpr std::string_view kGzipMany =
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xed\xc1\x31\x01\x00\x00\x00\xc2\xa0\xac\xeb\x5f\xc2"
    "\x1a\x1e\x40\x01\x00\x00\xef\x06\xc8\x3c\xdc\x5e\xb8\x0b\x00\x00"sv;

/// Gives each test a folder of its own, and takes it away again.
class ReadTextTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "schedfw-text-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(std::string_view bytes) {
    const std::string path = (folder_ / "file").string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  /// The text of a file of these bytes, or the error without the path.
  std::string Read(std::string_view bytes) {
    const std::string path = Write(bytes);
    Result<std::string> text = ReadText(path);
    if (text.ok()) {
      EXPECT_GE(text->capacity(), text->size() + kTextPadding);
      return *text;
    }
    EXPECT_EQ(text.error().kind(), ErrorKind::kParse);
    EXPECT_EQ(text.error().message().substr(0, path.size() + 2), path + ": ");
    return text.error().message().substr(path.size() + 2);
  }

  std::filesystem::path folder_;
};

/// Puts a pipe in the place of standard input while it lives, and writes these bytes to it.
class StandardInput {
 public:
  explicit StandardInput(std::string bytes) : saved_(dup(STDIN_FILENO)) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    if (ends[0] != STDIN_FILENO) {  // which it is if standard input was closed
      dup2(ends[0], STDIN_FILENO);
      close(ends[0]);
    }
    writer_ = std::thread([fd = ends[1], text = std::move(bytes)] {
      for (std::size_t done = 0; done < text.size();) {
        const ssize_t n = write(fd, text.data() + done, text.size() - done);
        if (n <= 0) break;
        done += static_cast<std::size_t>(n);
      }
      close(fd);
    });
  }
  ~StandardInput() {
    writer_.join();
    if (saved_ >= 0) {
      dup2(saved_, STDIN_FILENO);
      close(saved_);
    } else {
      close(STDIN_FILENO);
    }
  }

 private:
  int saved_;
  std::thread writer_;
};

TEST_F(ReadTextTest, PlainFiles) {
  EXPECT_EQ(Read(""), "");
  EXPECT_EQ(Read("x"), "x");
  EXPECT_EQ(Read(kText), kText);
  EXPECT_EQ(Read("a\0b\r\n\xff"sv), "a\0b\r\n\xff"sv);
  const std::string large(3'000'000, 'x');
  EXPECT_EQ(Read(large), large);
}

TEST_F(ReadTextTest, ByteOrderMarkIsDropped) {
  EXPECT_EQ(Read("\xef\xbb\xbf"), "");
  EXPECT_EQ(Read("\xef\xbb\xbf{}"), "{}");
  EXPECT_EQ(Read("\xef\xbb"), "\xef\xbb");
  EXPECT_EQ(Read("a\xef\xbb\xbf"), "a\xef\xbb\xbf");
}

TEST_F(ReadTextTest, Gzip) {
  EXPECT_EQ(Read(kGzip), kText);
  EXPECT_EQ(Read(kGzipMark), kText);
  EXPECT_EQ(Read(std::string(kGzip) + std::string(kGzipMany) + std::string(kGzip)),
            std::string(kText) + std::string(3000, 'a') + std::string(kText));
  EXPECT_EQ(Read(std::string(kGzip) + std::string(512, '\0')), kText);
  // Much more text than the first guess from the file's size.
  std::string members;
  for (int i = 0; i < 2000; ++i) members += kGzipMany;
  EXPECT_EQ(Read(members), std::string(6'000'000, 'a'));
}

TEST_F(ReadTextTest, BadGzip) {
  EXPECT_EQ(Read("\x1f\x8b"), "truncated gzip data");
  for (std::size_t size = 2; size < kGzip.size(); ++size) {
    EXPECT_EQ(Read(kGzip.substr(0, size)), "truncated gzip data") << size;
  }
  EXPECT_EQ(Read(std::string(kGzip) + std::string(kGzip.substr(0, 12))), "truncated gzip data");
  EXPECT_EQ(Read(std::string(kGzip) + "x"), "has other bytes after the end of its gzip data");
  std::string wrong_sum(kGzip);
  wrong_sum[wrong_sum.size() - 6] ^= 1;
  EXPECT_EQ(Read(wrong_sum).substr(0, 17), "corrupt gzip data");
  std::string wrong_data(kGzip);
  wrong_data[10] = '\xff';
  EXPECT_EQ(Read(wrong_data).substr(0, 17), "corrupt gzip data");
}

TEST_F(ReadTextTest, Errors) {
  const std::string missing = (folder_ / "missing").string();
  Result<std::string> text = ReadText(missing);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().message(), missing + ": No such file or directory");
  text = ReadText(folder_.string());
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().message(), folder_.string() + ": is a directory, not a file");
  EXPECT_FALSE(ReadText("").ok());
  if (geteuid() != 0) {  // root may read everything
    const std::string path = Write("x");
    std::filesystem::permissions(path, std::filesystem::perms::none);
    text = ReadText(path);
    ASSERT_FALSE(text.ok());
    EXPECT_EQ(text.error().message(), path + ": Permission denied");
  }
}

TEST_F(ReadTextTest, FilesWithoutASize) {
  Result<std::string> text = ReadText("/dev/null");
  ASSERT_TRUE(text.ok()) << text.error().message();
  EXPECT_EQ(*text, "");
  if (std::filesystem::exists("/proc/self/status")) {
    text = ReadText("/proc/self/status");
    ASSERT_TRUE(text.ok()) << text.error().message();
    EXPECT_NE(text->find("Pid:"), std::string::npos);
  }
}

TEST_F(ReadTextTest, FileBytesAreThoseOfRegularFiles) {
  const std::string path = (folder_ / "text").string();
  std::ofstream(path, std::ios::binary) << kText;
  FileBytes file(path);
  EXPECT_EQ(file.size(), kText.size());
  std::string text(kText.size(), ' ');
  EXPECT_EQ(file.Read(text.data(), 4), 4u);
  EXPECT_EQ(file.Read(text.data() + 4, 100), kText.size() - 4);
  EXPECT_EQ(text, kText);
  EXPECT_EQ(file.Read(text.data(), 4), 0u);

  const std::string missing = (folder_ / "missing").string();
  for (const std::string& other : {missing, folder_.string(), std::string("/dev/null")}) {
    FileBytes none(other);
    EXPECT_EQ(none.size(), 0u) << other;
    EXPECT_EQ(none.Read(text.data(), 4), 0u) << other;
  }
}

TEST_F(ReadTextTest, StandardInput) {
  const std::string large(1'000'000, 'x');
  const auto read = [](std::string bytes) {
    const StandardInput input(std::move(bytes));
    Result<std::string> text = ReadText("-");
    return text.ok() ? *text : text.error().message();
  };
  EXPECT_EQ(read(""), "");
  EXPECT_EQ(read(std::string(kText)), kText);
  EXPECT_EQ(read(large), large);
  EXPECT_EQ(read(std::string(kGzipMark)), kText);
  EXPECT_EQ(read(std::string(kGzip.substr(0, 20))), "standard input: truncated gzip data");
}

}  // namespace
}  // namespace schedfw::io
