// A forked child that computes one text with code that may hang or crash. Unlike a worker (base/worker.h) it
// is not confined, because it looks at the machine, and nothing waits for a child that the kernel does not
// let go.
#pragma once

#include <functional>
#include <string>
#include <sys/types.h>

namespace xaas {

class HelperProcess {
public:
  // Runs `task` in a child, forked without exec, so this process must have one thread. The child prints
  // nowhere and does not outlive this process. If it cannot be started, ended() is true at once.
  explicit HelperProcess(const std::function<std::string()>& task);
  ~HelperProcess(); // kills the child; one that hangs in the kernel is left behind
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  pid_t process() const { return child_; }
  void wait(int milliseconds); // for a part of the answer, which it takes
  bool ended() const { return answer_ < 0; }
  // Once ended: whether the whole answer arrived. If not, trouble() says how the child ended.
  bool succeeded();
  const std::string& text() const { return text_; }
  const std::string& trouble() const { return trouble_; }

private:
  void receive(); // takes what has arrived, without waiting
  void reap();

  pid_t child_ = -1;
  int answer_ = -1;
  int status_ = 0;
  bool reaped_ = false;
  std::string text_, trouble_;
};

} // namespace xaas
