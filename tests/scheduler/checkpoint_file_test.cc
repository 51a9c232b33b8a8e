// A checkpoint is read as it was written, or refused; the old one stays until the new one is there.
#include "schedfw/scheduler/checkpoint_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "schedfw/base/random.h"
#include "support/files.h"

namespace schedfw {
namespace {

using namespace std::string_literals;
using testing::ReadFile;
namespace fs = std::filesystem;

// A state whose every byte depends on its number.
CheckpointFile State(std::uint64_t sequence, std::size_t most_bytes = 300) {
  Random random(sequence);
  CheckpointFile out{sequence, random.Next(), {}};
  for (std::uint64_t left = random.Below(4); left > 0; --left) {
    auto& [name, bytes] = out.sections.emplace_back("section-" + std::to_string(left), "");
    bytes.resize(random.Below(most_bytes));
    for (char& c : bytes) c = static_cast<char>(random.Next());
  }
  return out;
}

class CheckpointFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "schedfw-checkpoint-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = (folder_ / "state").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  void Put(std::string_view bytes) {
    fs::remove(path_);  // file systems take their time to empty a file
    std::ofstream(path_, std::ios::binary) << bytes;
  }

  // Why the file is refused, without its path; empty if it is not.
  std::string Refusal() const {
    const auto file = ReadCheckpoint(path_);
    if (file.ok()) return {};
    EXPECT_EQ(file.error().kind(), ErrorKind::kParse);
    EXPECT_TRUE(file.error().message().starts_with(path_ + ": ")) << file.error().message();
    return file.error().message().substr(path_.size() + 2);
  }
  std::string Refusal(std::string_view bytes) {
    Put(bytes);
    return Refusal();
  }

  // Why it can't be written, without the path.
  static std::string WriteRefusal(const std::string& path, const CheckpointFile& file) {
    const auto done = WriteCheckpoint(path, file);
    if (done.ok()) return {};
    EXPECT_EQ(done.error().kind(), ErrorKind::kArgument);
    const std::string begin = path + ": can't write the checkpoint: ";
    EXPECT_TRUE(done.error().message().starts_with(begin)) << done.error().message();
    return done.error().message().substr(begin.size());
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      out.push_back(entry.path().filename().string());
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  using Strings = std::vector<std::string>;

  fs::path folder_;
  std::string path_;
};

TEST_F(CheckpointFileTest, ComesBackAsItWas) {
  CheckpointFile file;
  const auto check = [&] {
    const auto done = WriteCheckpoint(path_, file);
    ASSERT_TRUE(done.ok()) << done.error().message();
    const auto read = ReadCheckpoint(path_);
    ASSERT_TRUE(read.ok()) << read.error().message();
    EXPECT_EQ(*read, file);
    EXPECT_EQ(Names(), Strings{"state"});
  };
  check();
  file.sequence = std::numeric_limits<std::uint64_t>::max();
  file.config_digest = 0x0123456789abcdef;
  file.sections = {{"", ""}, {"a", ""}, {"", "b"}, {"a", "\0\xff"s}, {std::string(1024, 'n'), "x"}};
  check();
  for (std::uint64_t i = 0; i < 50; ++i) {
    file = State(i);
    check();
  }
  file.sections = {{"large", std::string(5'000'000, 'x')}};
  check();
}

TEST_F(CheckpointFileTest, SectionsAreFoundByName) {
  const CheckpointFile file{1, 2, {{"a", "first"}, {"b", ""}, {"a", "second"}}};
  ASSERT_NE(file.Find("a"), nullptr);
  EXPECT_EQ(*file.Find("a"), "first");
  ASSERT_NE(file.Find("b"), nullptr);
  EXPECT_EQ(*file.Find("b"), "");
  EXPECT_EQ(file.Find("c"), nullptr);
}

// The bytes are the ones that the header lists, on every machine.
TEST_F(CheckpointFileTest, HasTheDeclaredLayout) {
  ASSERT_TRUE(WriteCheckpoint(path_, {0x0102030405060708, 9, {{"ab", "xyz"}}}).ok());
  const std::string bytes = ReadFile(path_);
  EXPECT_EQ(bytes.substr(0, 40),
            "SCHEDFWC\1\0\0\0\1\0\0\0"
            "\x08\x07\x06\x05\x04\x03\x02\x01\x09\0\0\0\0\0\0\0\x41\0\0\0\0\0\0\0"s);
  EXPECT_EQ(bytes.substr(48), "\2\0\0\0\3\0\0\0\0\0\0\0abxyz"s);
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777 & ~0600u, 0u);
}

TEST_F(CheckpointFileTest, SaysWhyAFileIsRefused) {
  EXPECT_EQ(Refusal(), "there is no checkpoint: No such file or directory");
  EXPECT_EQ(Refusal("kind: Pod\n"), "isn't a checkpoint of schedfw");
  EXPECT_EQ(Refusal("X"), "isn't a checkpoint of schedfw");
  EXPECT_EQ(Refusal(std::string(10'000, '\0')), "isn't a checkpoint of schedfw");
  EXPECT_EQ(Refusal(""), "is truncated: it has 0 bytes of 44 or more");

  ASSERT_TRUE(WriteCheckpoint(path_, {7, 8, {{"name", "data"}, {"other", "more"}}}).ok());
  const std::string good = ReadFile(path_);
  EXPECT_EQ(Refusal(good.substr(0, 20)), "is truncated: it has 20 bytes of 44 or more");
  EXPECT_EQ(Refusal(good.substr(0, 60)),
            "is truncated: it has 60 bytes of " + std::to_string(good.size()));
  EXPECT_EQ(Refusal(good + "\n"), "has 1 bytes behind its end");
  EXPECT_EQ(Refusal(good + good), "has " + std::to_string(good.size()) + " bytes behind its end");
  std::string bad = good;
  bad[8] = 2;
  EXPECT_EQ(Refusal(bad), "is a checkpoint of version 2 (allowed: 1)");
  // A later version may be shorter, too.
  EXPECT_EQ(Refusal(bad.substr(0, 12)), "is a checkpoint of version 2 (allowed: 1)");
  bad = good;
  bad[16] ^= 1;
  EXPECT_EQ(Refusal(bad), "is damaged: its header doesn't fit its checksum");
  bad = good;
  bad[44 + 16 + 4] ^= 1;  // the data
  EXPECT_EQ(Refusal(bad), "is damaged: section 1 of 2 doesn't fit its checksum");
  bad = good;
  bad[44 + 15] = 0x7f;  // a length of 9 * 10^18
  EXPECT_EQ(Refusal(bad), "is damaged: section 1 of 2 doesn't fit its checksum");
  bad = good;
  bad.back() ^= 1;
  EXPECT_EQ(Refusal(bad), "is damaged: section 2 of 2 doesn't fit its checksum");
  EXPECT_EQ(Refusal(good), "");

  path_ = folder_.string();
  EXPECT_EQ(Refusal(), "is a directory, not a checkpoint");
  path_ = (folder_ / "pipe").string();
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(Refusal(), "isn't a regular file");
  path_ = "/dev/zero";
  EXPECT_EQ(Refusal(), "isn't a regular file");
}

TEST_F(CheckpointFileTest, EveryTruncationAndEveryFlippedBitIsSeen) {
  ASSERT_TRUE(WriteCheckpoint(path_, {7, 8, {{"queue", "abc"}, {"", ""}, {"cluster", "{}"}}}).ok());
  const std::string good = ReadFile(path_);
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_TRUE(Refusal(std::string_view(good).substr(0, length)).starts_with("is truncated"))
        << length;
  }
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 1 << bit);
      const std::string refusal = Refusal(bad);
      const char* const wanted = at < 8    ? "isn't a checkpoint"
                                 : at < 12 ? "is a checkpoint of version"
                                           : "is damaged";
      EXPECT_TRUE(refusal.starts_with(wanted)) << at << " " << bit << ": " << refusal;
    }
  }
}

// What is whole, but not where it was.
TEST_F(CheckpointFileTest, PartsOfOtherFilesAreSeen) {
  const auto bytes = [&](const CheckpointFile& file) {
    EXPECT_TRUE(WriteCheckpoint(path_, file).ok());
    return ReadFile(path_);
  };
  const std::string a = bytes({1, 2, {{"a", "1234"}, {"b", "5678"}}});
  const std::string b = bytes({3, 2, {{"a", "1234"}, {"b", "5678"}}});
  const std::size_t section = (a.size() - 44) / 2;
  EXPECT_TRUE(Refusal(a.substr(0, 44) + b.substr(44)).starts_with("is damaged: section 1"));
  EXPECT_TRUE(Refusal(a.substr(0, 44 + section) + b.substr(44 + section))
                  .starts_with("is damaged: section 2"));
  EXPECT_TRUE(Refusal(a.substr(0, 44) + a.substr(44 + section) + a.substr(44, section))
                  .starts_with("is damaged: section 1"));
}

TEST_F(CheckpointFileTest, AFailedWriteKeepsTheOldFile) {
  const CheckpointFile old = State(1), other = State(2);
  ASSERT_TRUE(WriteCheckpoint(path_, old).ok());

  const std::string missing = (folder_ / "missing" / "state").string();
  EXPECT_EQ(
      WriteRefusal(missing, other),
      "can't open the folder " + (folder_ / "missing").string() + ": No such file or directory");
  EXPECT_EQ(WriteRefusal(path_ + "/state", other),
            "can't open the folder " + path_ + ": Not a directory");
  EXPECT_EQ(WriteRefusal(folder_.string(), other), "it is a directory");
  EXPECT_EQ(WriteRefusal(folder_.string() + "/", other), "it is a directory");
  EXPECT_EQ(WriteRefusal("", other), "it isn't the name of a file");
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(WriteRefusal(pipe, other), "it isn't a regular file");
  EXPECT_TRUE(fs::is_fifo(pipe));
  const std::string long_name = (folder_ / std::string(250, 'n')).string();
  EXPECT_TRUE(WriteRefusal(long_name, other).ends_with(".tmp: File name too long"));
  EXPECT_TRUE(
      WriteRefusal(path_, {1, 1, {{std::string(1025, 'n'), ""}}}).starts_with("a section's name"));
  EXPECT_TRUE(WriteRefusal(path_, {1, 1, {65537, {"", ""}}}).starts_with("65537 sections"));

  if (geteuid() != 0) {
    fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
    EXPECT_TRUE(WriteRefusal(path_, other).ends_with(": Permission denied"));
    fs::permissions(folder_, fs::perms::owner_all);
  }
  EXPECT_EQ(*ReadCheckpoint(path_), old);
  EXPECT_EQ(Names(), (Strings{"pipe", "state"}));
}

// Runs `work` in a process of its own and gives its exit code, or -1 if it was killed.
template <typename F>
int InChild(F&& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The medium has no more room in the middle of a file.
TEST_F(CheckpointFileTest, AFullMediumKeepsTheOldFile) {
  const CheckpointFile old = State(1);
  ASSERT_TRUE(WriteCheckpoint(path_, old).ok());
  CheckpointFile large{2, 0, {{"a", std::string(100'000, 'x')}, {"b", std::string(100'000, 'y')}}};
  for (const rlim_t most : {0, 20, 44, 50, 1'000, 100'000, 150'000, 200'000}) {
    const int code = InChild([&] {
      std::signal(SIGXFSZ, SIG_IGN);
      const struct rlimit limit = {most, most};
      if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
      const auto done = WriteCheckpoint(path_, large);
      return !done.ok() && done.error().message().ends_with(".tmp: File too large") ? 0 : 1;
    });
    EXPECT_EQ(code, 0) << most;
    EXPECT_EQ(*ReadCheckpoint(path_), old);
    EXPECT_EQ(Names(), Strings{"state"});
  }
}

TEST_F(CheckpointFileTest, FollowsALink) {
  fs::create_directory(folder_ / "data");
  const std::string link = (folder_ / "link").string();
  fs::create_symlink("data/state", link);
  Put("");
  ASSERT_TRUE(WriteCheckpoint((folder_ / "data" / "state").string(), State(1)).ok());
  ASSERT_TRUE(WriteCheckpoint(link, State(2)).ok());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(*ReadCheckpoint((folder_ / "data" / "state").string()), State(2));
}

TEST_F(CheckpointFileTest, ARelativePathIsOneOfTheWorkingFolder) {
  const int code = InChild([&] {
    if (chdir(folder_.c_str()) != 0) return 2;
    return WriteCheckpoint("state", State(3)).ok() && *ReadCheckpoint("state") == State(3) ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(*ReadCheckpoint(path_), State(3));
}

TEST_F(CheckpointFileTest, RemovesWhatDeadWritersLeft) {
  const auto put = [&](const std::string& name) {
    std::ofstream(folder_ / name) << "left";
    return name;
  };
  put(".state.123-0.tmp");
  put(".state." + std::to_string(getpid()) + "-99999999.tmp");
  Strings stay = {"state"};
  stay.push_back(put(".state.123-.tmp"));
  stay.push_back(put(".state.-1.tmp"));
  stay.push_back(put(".state.1.tmp"));
  stay.push_back(put(".state.tmp"));
  stay.push_back(put(".state.1-1"));
  stay.push_back(put("state.1-1.tmp"));
  stay.push_back(put(".state.1.1-1.tmp"));  // of "state.1"
  stay.push_back(put(".other.1-1.tmp"));
  const std::string lives = put(".state.5-5.tmp");
  stay.push_back(lives);
  fs::create_symlink(folder_ / "state.1-1.tmp", folder_ / ".state.6-6.tmp");
  stay.push_back(".state.6-6.tmp");
  fs::create_directory(folder_ / ".state.7-7.tmp");
  stay.push_back(".state.7-7.tmp");
  ASSERT_EQ(mkfifo((folder_ / ".state.8-8.tmp").c_str(), 0600), 0);
  stay.push_back(".state.8-8.tmp");
  const int fd = open((folder_ / lives).c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(fd, LOCK_EX | LOCK_NB), 0);
  ASSERT_TRUE(WriteCheckpoint(path_, State(1)).ok());
  std::sort(stay.begin(), stay.end());
  EXPECT_EQ(Names(), stay);
  close(fd);
  ASSERT_TRUE(WriteCheckpoint(path_, State(1)).ok());
  std::erase(stay, lives);
  EXPECT_EQ(Names(), stay);
}

TEST_F(CheckpointFileTest, ThreadsMayWriteTheSameFile) {
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 20; ++i) {
        const auto done = WriteCheckpoint(path_, State(100 * t + i));
        EXPECT_TRUE(done.ok()) << done.error().message();
        const auto read = ReadCheckpoint(path_);
        ASSERT_TRUE(read.ok()) << read.error().message();
        EXPECT_EQ(*read, State(read->sequence));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Names(), Strings{"state"});
}

// The writer tells by a pipe which states are in place. After its death at any moment the last of
// them is there, or the next one.
TEST_F(CheckpointFileTest, AKilledWriterLeavesAWholeFile) {
  Random random(20'240'229);
  ASSERT_TRUE(WriteCheckpoint(path_, State(0)).ok());
  std::uint64_t sequence = 0;
  bool left_behind = false;
  for (int kill_number = 0; kill_number < 50; ++kill_number) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (std::uint64_t next = sequence + 1;; ++next) {
        if (!WriteCheckpoint(path_, State(next, 200'000)).ok()) _exit(1);
        if (write(ends[1], &next, sizeof next) != sizeof next) _exit(2);
      }
    }
    close(ends[1]);
    std::uint64_t published = sequence, next = 0;
    for (std::uint64_t left = random.Below(3); left > 0; --left) {
      ASSERT_EQ(read(ends[0], &next, sizeof next), static_cast<ssize_t>(sizeof next));
      published = next;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random.Below(3000)));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    while (read(ends[0], &next, sizeof next) == sizeof next) published = next;
    close(ends[0]);
    left_behind = left_behind || Names().size() > 1;

    const auto file = ReadCheckpoint(path_);
    ASSERT_TRUE(file.ok()) << file.error().message();
    EXPECT_TRUE(file->sequence == published || file->sequence == published + 1)
        << file->sequence << " after " << published;
    EXPECT_EQ(*file, file->sequence == 0 ? State(0) : State(file->sequence, 200'000));
    sequence = file->sequence;
  }
  EXPECT_GT(sequence, 0u);
  // What the dead have left goes with the next write.
  ASSERT_TRUE(WriteCheckpoint(path_, State(1)).ok());
  EXPECT_EQ(Names(), Strings{"state"});
  EXPECT_TRUE(left_behind) << "no writer died in the middle of a file";
}

}  // namespace
}  // namespace schedfw
