// A fixed number of threads that share loops.
//
//   ThreadPool pool(4);                                   // the caller and three more
//   pool.run(1000, [&](int index, int worker) { ... });   // returns when all are done
//
// Indices are handed out one by one, so that long ones do not hold up short ones: which worker gets which index varies
// from run to run. A task that writes to what belongs to its index alone gives the same result with any number of
// threads. Nothing is allocated by run.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace touchstone {

class ThreadPool {
 public:
  static constexpr int kMostThreads = 1024;

  // `threads` counts the caller; 0: one for each processor. With 1 no thread is started. Throws Error if negative,
  // above kMostThreads, or more than the system gives.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls task(index, worker) for all indices below count, worker < threads(). Waits for all of them; then throws the
  // first exception that a task has thrown, if any. One caller at a time, and not from within a task.
  template <typename Task>
  void run(int count, Task&& task) {
    using Plain = std::remove_reference_t<Task>;
    run_job({count, [](void* context, int index, int worker) { (*static_cast<Plain*>(context))(index, worker); },
             const_cast<void*>(static_cast<const void*>(std::addressof(task)))});
  }

 private:
  struct Job {
    int count = 0;
    void (*call)(void* context, int index, int worker) = nullptr;
    void* context = nullptr;
  };

  void run_job(const Job& job);
  void work(int worker);
  void stop();
  void take_indices(int worker);

  std::vector<std::thread> workers_;
  Job job_;
  std::atomic<int> next_ = 0;
  std::mutex mutex_;
  std::condition_variable started_, finished_;
  unsigned generation_ = 0;  // of jobs; under the mutex, like all below
  int busy_ = 0;             // workers that have not finished the job
  bool stopping_ = false;
  std::exception_ptr error_;
};

}  // namespace touchstone
