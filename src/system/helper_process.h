// A forked child that computes one text, for what may hang or crash. Not confined: it looks at the machine.
#pragma once

#include <functional>
#include <string>
#include <sys/types.h>

namespace xaas::system {

class HelperProcess {
public:
  // Runs `task` in a child; fork without exec, so from a process with one thread. The child has no terminal,
  // prints nowhere, and does not outlive this process. If it cannot be started, ended() holds at once.
  explicit HelperProcess(const std::function<std::string()>& task);
  ~HelperProcess(); // kills it; one that the kernel does not let die is left behind
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  pid_t process() const { return child_; }
  void wait(int milliseconds); // for a part of the answer, and takes it
  bool ended() const { return answer_ < 0; }
  // Once ended: whether it gave its whole answer; else `trouble` says how it ended.
  bool succeeded();
  const std::string& text() const { return text_; }
  const std::string& trouble() const { return trouble_; }

private:
  void receive(); // what is there, without waiting
  void reap();

  pid_t child_ = -1;
  int answer_ = -1;
  int status_ = 0;
  bool reaped_ = false;
  std::string text_, trouble_;
};

} // namespace xaas::system
