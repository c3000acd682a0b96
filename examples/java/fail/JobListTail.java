// The list of JobList with an operation in two critical sections: one looks whether a job is the last one, the other
// takes the last one off.
//
// Meant to be atomic: JobListTail.dropIfLast.
//
//   Alice  JobListTail.java:54  isLast: reads last = 1, which is her job
//   Bob    JobListTail.java:59  append: writes last = 5
//   Alice  JobListTail.java:65  setLast: writes last = 2; job 5 is lost
//
// expect: violation JobListTail.dropIfLast
// whole:  last 5
// torn:   last 2, expected 5
public class JobListTail {
    static final class Job {
        final int number;
        Job previous;

        Job(int number, Job previous) {
            this.number = number;
            this.previous = previous;
        }
    }

    private Job last;

    public static void main(String[] args) throws InterruptedException {
        var list = new JobListTail();
        Job second = new Job(2, null);
        Job first = new Job(1, second);
        list.setLast(first);
        Thread alice = new Thread(() -> list.dropIfLast(first), "Alice");
        Thread bob = new Thread(() -> list.append(5), "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        int found = list.last().number;
        System.out.println("last " + found + (found == 5 ? "" : ", expected 5"));
    }

    private void dropIfLast(Job job) {
        if (isLast(job)) {
            setLast(job.previous);
        }
    }

    private synchronized Job last() {
        return last;
    }

    // Each of them is a critical section, and none of them is the operation that is meant.

    private synchronized boolean isLast(Job job) {
        return last == job;
    }

    private synchronized void append(int number) {
        Job job = new Job(number, last);
        last = job;
    }

    // The lock is free between the look and this.

    private synchronized void setLast(Job job) {
        last = job;
    }
}
