// The worker notifies after it has left the lock; by then main may have deleted the job.
#include <condition_variable>
#include <mutex>
#include <thread>

struct Job {
    std::mutex lock;
    std::condition_variable finished;
    bool done = false;
};

int main()
{
    Job *job = new Job;
    std::thread worker([job] {
        {
            std::lock_guard guard(job->lock);
            job->done = true;
        }
        job->finished.notify_one();
    });
    {
        std::unique_lock guard(job->lock);
        job->finished.wait(guard, [job] { return job->done; });
    }
    delete job;
    worker.join();
}
