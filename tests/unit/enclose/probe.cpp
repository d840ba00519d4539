// Tests what a build step can do and see. The first argument says what to try. Linked statically, so that it
// runs in an empty tree. Endless actions end by themselves after a while, so that a failing test does no
// harm.
#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char** environ;

namespace {

int say(const char* text) {
  std::puts(text);
  return 0;
}

int outcome(int result) {
  return say(result >= 0 ? "yes" : strerrorname_np(errno));
}

long seconds() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec;
}

[[noreturn]] void wait_a_minute() {
  for (const long end = seconds() + 60; seconds() < end;)
    sleep(1);
  std::_Exit(9);
}

int connect_tcp(const char* port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::atoi(port)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return outcome(
      connect(socket(AF_INET, SOCK_STREAM, 0), reinterpret_cast<sockaddr*>(&address), sizeof(address)));
}

// "@name" is an abstract socket.
int connect_unix(const char* name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, name, sizeof(address.sun_path) - 1);
  if (name[0] == '@')
    address.sun_path[0] = 0;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + std::strlen(name));
  return outcome(connect(socket(AF_UNIX, SOCK_STREAM, 0), reinterpret_cast<sockaddr*>(&address), size));
}

int talk_to_itself() {
  const int server = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(server, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(server, 1) != 0 ||
      getsockname(server, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return outcome(-1);
  return outcome(connect(socket(AF_INET, SOCK_STREAM, 0), reinterpret_cast<sockaddr*>(&address), size));
}

int open_file(const char* path, int how) {
  return outcome(open(path, how, 0644));
}

int list(const char* path) {
  DIR* const directory = opendir(path);
  if (!directory)
    return outcome(-1);
  std::vector<std::string> names;
  while (const dirent* entry = readdir(directory))
    if (entry->d_name[0] != '.' && std::atoi(entry->d_name) != dirfd(directory))
      names.emplace_back(entry->d_name);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names)
    std::puts(name.c_str());
  return 0;
}

int print_file(const char* path) {
  const int file = open(path, O_RDONLY);
  if (file < 0)
    return outcome(-1);
  char text[65536];
  for (ssize_t count = 0; (count = read(file, text, sizeof(text))) > 0;)
    fwrite(text, 1, static_cast<size_t>(count), stdout);
  return 0;
}

int print_environment() {
  for (char** entry = environ; *entry; ++entry)
    std::puts(*entry);
  return 0;
}

// Every process forks, and so do its children.
int fork_bomb() {
  constexpr int most = 2500;
  auto* const made =
      static_cast<int*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  while (__atomic_add_fetch(made, 1, __ATOMIC_SEQ_CST) < most)
    fork();
  wait_a_minute();
}

int eat_memory(int kind) {
  for (int child = 0; child < 3; ++child)
    if (fork() == 0)
      break;
  constexpr size_t piece = 1 << 20;
  for (int i = 0; i < 400; ++i) { // 1.6 GiB in all
    void* const memory = mmap(nullptr, piece, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return 8;
    std::memset(memory, 1, piece);
    usleep(1000);
  }
  wait_a_minute();
}

// Eight processes share the same pages.
int share_memory() {
  constexpr size_t size = 64 << 20;
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (int child = 0; child < 7; ++child)
    if (fork() == 0)
      break;
  std::memset(memory, 1, size);
  sleep(1);
  return 0;
}

int fill_disk(const char* path, int mebibytes, bool nameless) {
  const int file = open(path, O_WRONLY | O_CREAT, 0644);
  if (nameless)
    unlink(path);
  static char piece[1 << 20];
  for (int i = 0; i < mebibytes; ++i) {
    if (write(file, piece, sizeof(piece)) < 0)
      return outcome(-1);
    usleep(2000);
  }
  return 0;
}

// A process in its own session, whose parent is gone, continues to write.
int leave_daemon(const char* path) {
  int ready[2];
  if (pipe(ready) != 0)
    return 8;
  if (fork() == 0) {
    setsid();
    if (fork() != 0)
      std::_Exit(0);
    setsid();
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    for (int i = 0; i < 3000; ++i) {
      if (write(file, "x", 1) == 1 && i == 0 && write(ready[1], "x", 1) != 1)
        std::_Exit(8);
      usleep(10'000);
    }
    std::_Exit(0);
  }
  char byte = 0;
  return read(ready[0], &byte, 1) == 1 ? 0 : 8;
}

int print_identity() {
  print_file("/proc/self/status");
  std::printf("uid %u gid %u\n", getuid(), getgid());
  return 0;
}

int try_unmounting() {
  if (umount2("/tmp", MNT_DETACH) == 0 || mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND, nullptr) == 0)
    return say("yes");
  // Root in its own namespace may mount, but not undo mounts.
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
      (umount2("/tmp", MNT_DETACH) == 0 || mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND, nullptr) == 0 ||
       umount2("/proc", MNT_DETACH) == 0))
    return say("yes, in a namespace");
  return say("no");
}

} // namespace

int main(int count, char** arguments) {
  setvbuf(stdout, nullptr, _IONBF, 0);
  const std::string word = count > 1 ? arguments[1] : "";
  const char* const what = count > 2 ? arguments[2] : "";
  if (word == "say")
    return say(what);
  if (word == "exit")
    return std::atoi(what);
  if (word == "abort")
    std::abort();
  if (word == "tcp")
    return connect_tcp(what);
  if (word == "unix")
    return connect_unix(what);
  if (word == "itself")
    return talk_to_itself();
  if (word == "list")
    return list(what);
  if (word == "print")
    return print_file(what);
  if (word == "read")
    return open_file(what, O_RDONLY);
  if (word == "write")
    return open_file(what, O_WRONLY | O_CREAT);
  if (word == "signal") // none is sent
    return outcome(kill(static_cast<pid_t>(std::atoi(what)), 0));
  if (word == "stdin") {
    char byte = 0;
    return say(read(0, &byte, 1) == 0 ? "end" : "more");
  }
  if (word == "environment")
    return print_environment();
  if (word == "identity")
    return print_identity();
  if (word == "device")
    return outcome(mknod(what, S_IFBLK | 0600, static_cast<dev_t>(0x801)));
  if (word == "unmount")
    return try_unmounting();
  if (word == "directory") {
    char path[4096];
    return say(getcwd(path, sizeof(path)) ? path : "none");
  }
  if (word == "bomb")
    return fork_bomb();
  if (word == "memory")
    return eat_memory(MAP_PRIVATE);
  if (word == "shared-memory")
    return eat_memory(MAP_SHARED);
  if (word == "same-memory")
    return share_memory();
  if (word == "fill" || word == "fill-nameless")
    return fill_disk(what, count > 3 ? std::atoi(arguments[3]) : 0, word != "fill");
  if (word == "daemon")
    return leave_daemon(what);
  if (word == "sleep")
    wait_a_minute();
  if (word == "doze") { // mostly sleeps, and does something now and then
    for (int i = 0; i < 10; ++i) {
      usleep(150'000);
      for (const clock_t end = clock() + CLOCKS_PER_SEC / 50; clock() < end;) {
      }
    }
    return 0;
  }
  if (word == "spin")
    for (const long end = seconds() + 60; seconds() < end;) {
    }
  return 9;
}
