#include "touchstone/base/thread_pool.hpp"

#include <algorithm>
#include <system_error>

#include "touchstone/base/error.hpp"

namespace touchstone {
namespace {

int chosen_count(int threads) {
  if (threads < 0 || threads > ThreadPool::kMostThreads) {
    throw Error("{} threads; give a number from 1 to {}, or 0 for one a processor", threads, ThreadPool::kMostThreads);
  }
  return threads > 0 ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  const int count = chosen_count(threads);
  workers_.reserve(static_cast<std::size_t>(count - 1));
  try {
    for (int worker = 1; worker < count; ++worker) workers_.emplace_back([this, worker] { work(worker); });
  } catch (const std::system_error& error) {
    const std::size_t started = workers_.size();
    stop();
    throw Error("{} threads; the system gives {}: {}", count, started + 1, error.code().message());
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  started_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run_job(const Job& job) {
  {
    const std::lock_guard lock(mutex_);
    job_ = job;
    next_.store(0, std::memory_order_relaxed);
    busy_ = static_cast<int>(workers_.size());
    error_ = nullptr;
    ++generation_;
  }
  started_.notify_all();
  take_indices(0);
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return busy_ == 0; });
  if (error_) std::rethrow_exception(error_);
}

void ThreadPool::work(int worker) {
  unsigned seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    started_.wait(lock, [&] { return stopping_ || generation_ != seen; });
    if (stopping_) return;
    seen = generation_;
    lock.unlock();
    take_indices(worker);
    lock.lock();
    if (--busy_ == 0) finished_.notify_one();
  }
}

void ThreadPool::take_indices(int worker) {
  for (int index = next_++; index < job_.count; index = next_++) {
    try {
      job_.call(job_.context, index, worker);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }
}

}  // namespace touchstone
