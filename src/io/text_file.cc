#include "io/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace schedfw::io {
namespace {

constexpr std::size_t kMaxBytes = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kFirstRead = 64 * 1024;  // for pipes, which have no size
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// A file descriptor that is closed at the end of its scope, if it is `owned`.
class Descriptor {
 public:
  Descriptor(int fd, bool owned) : fd_(fd), owned_(owned) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (owned_ && fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
  bool owned_;
};

Error SystemError(int error_number) {
  return ParseError(std::error_code(error_number, std::generic_category()).message());
}

Error TooLarge() { return ParseError("is larger than 4 GiB"); }

bool IsGzip(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

Result<std::string> ReadBytes(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return SystemError(errno);
  if (S_ISDIR(info.st_mode)) return ParseError("is a directory, not a file");
  std::size_t expected = kFirstRead;
  if (S_ISREG(info.st_mode) && info.st_size > 0) {
    if (static_cast<std::uint64_t>(info.st_size) > kMaxBytes) return TooLarge();
    expected = static_cast<std::size_t>(info.st_size);
  }
  // One byte more than expected, so that the read that finds the end needs no larger buffer.
  std::string bytes;
  bytes.reserve(expected + kTextPadding);
  bytes.resize(expected + 1);
  std::size_t used = 0;
  while (true) {
    if (used == bytes.size()) bytes.resize(2 * bytes.size());
    const ssize_t n = read(fd, bytes.data() + used, bytes.size() - used);
    if (n == 0) break;
    if (n < 0) {
      if (errno == EINTR) continue;
      return SystemError(errno);
    }
    used += static_cast<std::size_t>(n);
    if (used > kMaxBytes) return TooLarge();
  }
  bytes.resize(used);
  return bytes;
}

/// The size of the text, if the gzip data is a single member; else a first guess.
std::size_t ExpectedSize(std::string_view bytes) {
  // The last four bytes of a member are the size of its text modulo 2^32 (RFC 1952).
  std::size_t size = 0;
  for (std::size_t i = 1; i <= 4 && i <= bytes.size(); ++i) {
    size = size << 8 | static_cast<unsigned char>(bytes[bytes.size() - i]);
  }
  constexpr std::size_t kBestRatio = 1032;  // of deflate; anything beyond it isn't a size
  const std::size_t most = std::min(kMaxBytes, kBestRatio * bytes.size());
  return std::clamp(size, std::min(kFirstRead, most), most);
}

/// zlib's inflate in gzip mode; ends the stream at the end of its scope.
class Inflater {
 public:
  Inflater() = default;
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (open_) inflateEnd(&stream_);
  }

  Result<std::string> Run(std::string_view bytes) {
    constexpr int kGzipOnly = 15 + 16;  // the largest window, and a gzip header is required
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) return ParseError("zlib can't be started");
    open_ = true;
    std::string text;
    const std::size_t expected = ExpectedSize(bytes);
    text.reserve(expected + kTextPadding);
    text.resize(expected + 1);  // one more, so that the end is found without a larger buffer
    std::size_t used = 0;
    std::size_t next = 0;
    while (true) {
      if (used == text.size()) {
        if (text.size() >= kMaxBytes) return TooLarge();
        text.resize(std::min(2 * text.size(), kMaxBytes));
      }
      const std::size_t in = std::min(bytes.size() - next, kSlice);
      const std::size_t out = std::min(text.size() - used, kSlice);
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + next));
      stream_.avail_in = static_cast<uInt>(in);
      stream_.next_out = reinterpret_cast<Bytef*>(text.data() + used);
      stream_.avail_out = static_cast<uInt>(out);
      const int code = inflate(&stream_, Z_NO_FLUSH);
      next += in - stream_.avail_in;
      used += out - stream_.avail_out;
      if (code == Z_STREAM_END) {
        const std::string_view rest = bytes.substr(next);
        if (rest.find_first_not_of('\0') == std::string_view::npos) break;
        if (!IsGzip(rest)) return ParseError("has other bytes after the end of its gzip data");
        inflateReset(&stream_);
        continue;
      }
      if (code == Z_MEM_ERROR) throw std::bad_alloc();
      if (code != Z_OK && code != Z_BUF_ERROR) {
        return ParseError(std::string("corrupt gzip data") +
                          (stream_.msg ? std::string(" (") + stream_.msg + ")" : ""));
      }
      // Room for output is left and no input is: the member never ended.
      if (next == bytes.size() && stream_.avail_out > 0) return ParseError("truncated gzip data");
    }
    text.resize(used);
    return text;
  }

 private:
  static constexpr std::size_t kSlice = std::size_t{1} << 30;  // zlib counts in 32 bits

  z_stream stream_{};
  bool open_ = false;
};

Result<std::string> ReadDescriptor(int fd) {
  Result<std::string> text = ReadBytes(fd);
  if (text.ok() && IsGzip(*text)) text = Inflater().Run(*text);
  if (!text.ok()) return text;
  if (std::string_view(*text).substr(0, 3) == kByteOrderMark) text->erase(0, 3);
  text->reserve(text->size() + kTextPadding);
  return text;
}

}  // namespace

FileBytes::FileBytes(const std::string& path) {
  // A pipe mustn't be opened twice: its writer would think that nobody reads.
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0 || fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) return;
  if (info.st_size < 0 || static_cast<std::uint64_t>(info.st_size) > kMaxBytes) return;
  size_ = static_cast<std::uint64_t>(info.st_size);
}

FileBytes::~FileBytes() {
  if (fd_ >= 0) close(fd_);
}

std::size_t FileBytes::Read(char* to, std::size_t size) {
  if (size_ == 0) return 0;
  ssize_t n = -1;
  do {
    n = read(fd_, to, size);
  } while (n < 0 && errno == EINTR);
  return n < 0 ? 0 : static_cast<std::size_t>(n);
}

Result<std::string> ReadText(const std::string& path) {
  const bool standard_input = path == "-";
  const std::string name = standard_input ? "standard input" : path;
  try {
    const int fd = standard_input ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const Descriptor file(fd, /*owned=*/!standard_input);
    if (file.fd() < 0) return SystemError(errno).In(name);
    Result<std::string> text = ReadDescriptor(file.fd());
    if (!text.ok()) return text.error().In(name);
    return text;
  } catch (const std::bad_alloc&) {
    return ParseError(name + ": is too large for the memory that is left");
  } catch (const std::length_error&) {
    return ParseError(name + ": is too large for the memory that is left");
  }
}

}  // namespace schedfw::io
