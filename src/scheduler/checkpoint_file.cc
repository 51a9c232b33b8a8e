#include "schedfw/scheduler/checkpoint_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace schedfw {
namespace {

constexpr std::string_view kMagic = "SCHEDFWC";
constexpr std::size_t kVersionEnd = 12;
constexpr std::size_t kHeaderBytes = 44;
constexpr std::size_t kSectionBytes = 16;  // without the name and the data
constexpr std::size_t kChecksumBytes = 4;
constexpr std::uint64_t kMaxSections = 65536;
constexpr std::uint64_t kMaxName = 1024;

template <typename T>
void AppendNumber(T value, std::string* out) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    out->push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
}

template <typename T>
T NumberAt(std::string_view bytes, std::size_t at) {
  T out = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) {
    out = static_cast<T>(out << 8 | static_cast<unsigned char>(bytes[at + i]));
  }
  return out;
}

std::uint32_t Checksum(std::uint32_t before, std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::string Reason(int error_number) {
  return std::error_code(error_number, std::generic_category()).message();
}

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  int fd_;
};

// --- writing

// Names of temporary files: ".NAME." before, "PROCESS-NUMBER" and ".tmp" behind.
constexpr std::string_view kTempSuffix = ".tmp";

bool IsTempOf(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || !name.ends_with(kTempSuffix)) return false;
  if (name.size() < prefix.size() + kTempSuffix.size()) return false;
  const std::string_view middle =
      name.substr(prefix.size(), name.size() - prefix.size() - kTempSuffix.size());
  const auto digits = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  };
  const std::size_t dash = middle.find('-');
  return dash != middle.npos && digits(middle.substr(0, dash)) && digits(middle.substr(dash + 1));
}

// A writer holds a lock on its temporary file, which goes with its death. Process ids wouldn't tell
// as much: they are given again, and those of another container aren't seen. Where the file system
// has no locks, files stay.
void RemoveStale(const Descriptor& folder, const std::filesystem::path& path,
                 std::string_view prefix) {
  std::error_code error;
  std::filesystem::directory_iterator it(path, error);
  for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!IsTempOf(name, prefix)) continue;
    const Descriptor file(
        openat(folder.fd(), name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat info;
    if (file.ok() && fstat(file.fd(), &info) == 0 && S_ISREG(info.st_mode) &&
        flock(file.fd(), LOCK_EX | LOCK_NB) == 0) {
      unlinkat(folder.fd(), name.c_str(), 0);
    }
  }
}

int SyncToMedium(const Descriptor& file) {
  while (fsync(file.fd()) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

// A new file in a folder that is removed at the end of its scope, unless it was moved to its place.
class TempFile {
 public:
  TempFile(const Descriptor& folder, const std::string& prefix) : folder_(folder) {
    static std::atomic<std::uint64_t> count = 0;
    constexpr int kAttempts = 100;
    for (int i = 0; i < kAttempts; ++i) {
      name_ = prefix + std::to_string(getpid()) + "-" +
              std::to_string(count.fetch_add(1, std::memory_order_relaxed));
      name_ += kTempSuffix;
      const int fd = openat(folder_.fd(), name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                            S_IRUSR | S_IWUSR);
      error_ = fd < 0 ? errno : 0;
      if (error_ == EEXIST) continue;
      if (error_ != 0) return;
      file_ = Descriptor(fd);
      // Before it had its lock, another writer may have taken it for a stale one.
      struct stat info;
      const bool taken = (flock(file_.fd(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) ||
                         (fstat(file_.fd(), &info) == 0 && info.st_nlink == 0);
      if (!taken) return;
      unlinkat(folder_.fd(), name_.c_str(), 0);
      error_ = EEXIST;
    }
  }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  ~TempFile() {
    if (error_ == 0 && !moved_) unlinkat(folder_.fd(), name_.c_str(), 0);
  }

  const std::string& name() const { return name_; }
  /// Why there is no file; 0 when there is.
  int error() const { return error_; }

  /// The system's error number, or 0; the same for the others.
  int Write(std::string_view bytes) {
    constexpr std::size_t kMost = std::size_t{1} << 30;
    while (!bytes.empty()) {
      const ssize_t n = write(file_.fd(), bytes.data(), std::min(bytes.size(), kMost));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return n < 0 ? errno : EIO;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return 0;
  }
  int Sync() { return SyncToMedium(file_); }
  int MoveTo(const std::string& name) {
    moved_ = renameat(folder_.fd(), name_.c_str(), folder_.fd(), name.c_str()) == 0;
    return moved_ ? 0 : errno;
  }

 private:
  const Descriptor& folder_;
  std::string name_;
  Descriptor file_;
  int error_ = EEXIST;
  bool moved_ = false;
};

Result<std::uint64_t> SizeOf(const CheckpointFile& file) {
  if (file.sections.size() > kMaxSections) {
    return ArgumentError(std::to_string(file.sections.size()) +
                         " sections (allowed: " + std::to_string(kMaxSections) + ")");
  }
  std::uint64_t bytes = kHeaderBytes;
  for (const auto& [name, data] : file.sections) {
    if (name.size() > kMaxName) {
      return ArgumentError("a section's name of " + std::to_string(name.size()) +
                           " bytes (allowed: " + std::to_string(kMaxName) + ")");
    }
    bytes += kSectionBytes + name.size();
    if (data.size() > kMaxCheckpointBytes || bytes + data.size() > kMaxCheckpointBytes) {
      return ArgumentError("more than " + std::to_string(kMaxCheckpointBytes) + " bytes");
    }
    bytes += data.size();
  }
  return bytes;
}

// Errors without the path; `bytes` is the size of the file.
Result<void> Write(const std::filesystem::path& target, const CheckpointFile& file,
                   std::uint64_t bytes) {
  const auto failed = [](const std::string& what, int error_number) {
    return ArgumentError(what + ": " + Reason(error_number));
  };
  const std::string name = target.filename().string();
  if (name.empty()) return ArgumentError("it isn't the name of a file");
  const std::filesystem::path parent = target.has_parent_path() ? target.parent_path() : ".";
  const int folder_fd = open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (const int error_number = errno; folder_fd < 0) {
    return failed("can't open the folder " + parent.string(), error_number);
  }
  const Descriptor folder(folder_fd);
  // A device or a pipe would be replaced, too.
  struct stat info;
  if (fstatat(folder.fd(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
      !S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode)) {
    return ArgumentError(S_ISDIR(info.st_mode) ? "it is a directory" : "it isn't a regular file");
  }

  const std::string prefix = "." + name + ".";
  RemoveStale(folder, parent, prefix);
  TempFile temp(folder, prefix);
  const std::string temp_path = (parent / temp.name()).string();
  if (temp.error() != 0) return failed("can't create " + temp_path, temp.error());

  std::string head(kMagic);
  AppendNumber(kCheckpointVersion, &head);
  AppendNumber(static_cast<std::uint32_t>(file.sections.size()), &head);
  AppendNumber(file.sequence, &head);
  AppendNumber(file.config_digest, &head);
  AppendNumber(bytes, &head);
  std::uint32_t checksum = Checksum(0, head);
  AppendNumber(checksum, &head);
  int error = temp.Write(head);
  for (const auto& [its_name, data] : file.sections) {
    if (error != 0) break;
    std::string rest;
    AppendNumber(static_cast<std::uint32_t>(its_name.size()), &rest);
    AppendNumber(std::uint64_t{data.size()}, &rest);
    rest += its_name;
    checksum = Checksum(Checksum(checksum, rest), data);
    head.clear();
    AppendNumber(checksum, &head);
    error = temp.Write(head + rest);
    if (error == 0) error = temp.Write(data);
  }
  if (error != 0) return failed("can't write " + temp_path, error);
  error = temp.Sync();
  if (error != 0) return failed("can't bring " + temp_path + " to its medium", error);
  error = temp.MoveTo(name);
  if (error != 0) return failed("can't move " + temp_path + " to its place", error);
  error = SyncToMedium(folder);
  // Some file systems have nothing to bring there.
  if (error != 0 && error != EINVAL) {
    return failed("the file is in place, but its folder can't be brought to the medium", error);
  }
  return {};
}

// --- reading

class Reader {
 public:
  explicit Reader(const Descriptor& file) : file_(file) {}

  // Errors without the path.
  Result<CheckpointFile> Read() {
    struct stat info;
    if (fstat(file_.fd(), &info) != 0) return ParseError(Reason(errno));
    if (S_ISDIR(info.st_mode)) return ParseError("is a directory, not a checkpoint");
    if (!S_ISREG(info.st_mode)) return ParseError("isn't a regular file");
    const auto size = static_cast<std::uint64_t>(info.st_size);

    std::string head;
    const auto known = std::min<std::uint64_t>(size, kHeaderBytes);
    if (auto done = Take(known, head); !done) return done.error();
    if (std::string_view(head).substr(0, kMagic.size()) != kMagic.substr(0, head.size())) {
      return ParseError("isn't a checkpoint of schedfw");
    }
    // Other versions may have another header.
    if (head.size() >= kVersionEnd) {
      const auto version = NumberAt<std::uint32_t>(head, 8);
      if (version != kCheckpointVersion) {
        return ParseError("is a checkpoint of version " + std::to_string(version) +
                          " (allowed: " + std::to_string(kCheckpointVersion) + ")");
      }
    }
    if (size < kHeaderBytes) return Truncated(size, kHeaderBytes, " or more");
    std::uint32_t checksum = Checksum(0, std::string_view(head).substr(0, kHeaderBytes - 4));
    if (checksum != NumberAt<std::uint32_t>(head, kHeaderBytes - 4)) {
      return Damaged("its header");
    }
    CheckpointFile out;
    const auto sections = NumberAt<std::uint32_t>(head, 12);
    out.sequence = NumberAt<std::uint64_t>(head, 16);
    out.config_digest = NumberAt<std::uint64_t>(head, 24);
    const auto bytes = NumberAt<std::uint64_t>(head, 32);
    if (size < bytes) return Truncated(size, bytes, "");
    if (size > bytes) {
      return ParseError("has " + std::to_string(size - bytes) + " bytes behind its end");
    }
    if (size > kMaxCheckpointBytes || sections > kMaxSections) return Damaged("its header");

    std::uint64_t left = size - kHeaderBytes;
    for (std::uint32_t i = 0; i < sections; ++i) {
      const std::string what =
          "section " + std::to_string(i + 1) + " of " + std::to_string(sections);
      if (left < kSectionBytes) return Damaged(what);
      if (auto done = Take(kSectionBytes, head); !done) return done.error();
      left -= kSectionBytes;
      // Lengths may be damaged: not more is read than is there.
      const auto name_bytes = NumberAt<std::uint32_t>(head, 4);
      const auto data_bytes = NumberAt<std::uint64_t>(head, 8);
      if (name_bytes > kMaxName || name_bytes > left || data_bytes > left - name_bytes) {
        return Damaged(what);
      }
      left -= name_bytes + data_bytes;
      auto& [name, data] = out.sections.emplace_back();
      if (auto done = Take(name_bytes, name); !done) return done.error();
      if (auto done = Take(data_bytes, data); !done) return done.error();
      checksum = Checksum(checksum, std::string_view(head).substr(kChecksumBytes));
      checksum = Checksum(Checksum(checksum, name), data);
      if (checksum != NumberAt<std::uint32_t>(head, 0)) return Damaged(what);
    }
    if (left != 0) return Damaged("its header");
    return out;
  }

 private:
  static Error Truncated(std::uint64_t size, std::uint64_t bytes, const std::string& more) {
    return ParseError("is truncated: it has " + std::to_string(size) + " bytes of " +
                      std::to_string(bytes) + more);
  }
  static Error Damaged(const std::string& what) {
    return ParseError("is damaged: " + what + " doesn't fit its checksum");
  }

  // Reads the next `bytes` bytes, which the file had when it was opened.
  Result<void> Take(std::uint64_t bytes, std::string& out) {
    constexpr std::size_t kMost = std::size_t{1} << 30;
    out.resize(bytes);
    for (std::size_t done = 0; done < out.size();) {
      const ssize_t n = read(file_.fd(), out.data() + done, std::min(out.size() - done, kMost));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ParseError(Reason(errno));
      if (n == 0) return ParseError("is truncated: it became shorter while it was read");
      done += static_cast<std::size_t>(n);
    }
    return {};
  }

  const Descriptor& file_;
};

}  // namespace

Result<void> WriteCheckpoint(const std::string& path, const CheckpointFile& file) {
  const std::string where = path + ": can't write the checkpoint";
  const Result<std::uint64_t> bytes = SizeOf(file);
  if (!bytes) return bytes.error().In(where);
  try {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(path, error);
    const auto done = Write(error ? std::filesystem::path(path) : real, file, *bytes);
    if (!done) return done.error().In(where);
    return {};
  } catch (const std::exception& error) {  // no memory, or a path that can't be one
    return ArgumentError(where + ": " + error.what());
  }
}

Result<CheckpointFile> ReadCheckpoint(const std::string& path) {
  // A pipe that nobody writes to would keep the reader waiting.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.ok()) {
    const int error_number = errno;
    return ParseError(path + ": " +
                      (error_number == ENOENT ? "there is no checkpoint: " : "can't open it: ") +
                      Reason(error_number));
  }
  try {
    Result<CheckpointFile> out = Reader(file).Read();
    if (!out) return out.error().In(path);
    return out;
  } catch (const std::bad_alloc&) {
    return ParseError(path + ": is too large for the memory that is left");
  } catch (const std::length_error&) {
    return ParseError(path + ": is too large for the memory that is left");
  }
}

}  // namespace schedfw
