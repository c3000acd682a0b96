// A linked list whose operations are critical sections, and a thread that calls two of them.
//
// Alice looks at the last job when she adds one in front, and later takes a job out that meanwhile has become the last
// one: she overwrites what Bob wrote to `last` after her look. But her second operation sees what Bob did, and
// goes by it. Nothing is lost, and nobody means the two operations to be one step.
//
//   Alice  JobList.java:48  addFirst: reads last = 1
//   Bob    JobList.java:64  remove(1): writes last = 2
//   Alice  JobList.java:64  remove(2): 2 has no next one, so it writes last = 3
//
// expect: serializable
public class JobList {
    static final class Job {
        final int number;
        Job previous;
        Job next;

        Job(int number) {
            this.number = number;
        }
    }

    private Job first;
    private Job last;

    public static void main(String[] args) throws InterruptedException {
        var list = new JobList();
        Job[] jobs = {new Job(1), new Job(2), new Job(3)};
        for (Job job : jobs) {
            list.addFirst(job);
        }
        Thread alice = new Thread(() -> replace(list, jobs[1]), "Alice");
        Thread bob = new Thread(() -> list.remove(jobs[0]), "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        System.out.println("last " + list.last.number);
    }

    /** Two operations, each of them whole. */
    private static void replace(JobList list, Job old) {
        list.addFirst(new Job(4));
        list.remove(old);
    }

    private synchronized void addFirst(Job job) {
        if (last == null) {
            last = job;
        } else {
            first.previous = job;
            job.next = first;
        }
        first = job;
    }

    private synchronized void remove(Job job) {
        if (job.previous == null) {
            first = job.next;
        } else {
            job.previous.next = job.next;
        }
        if (job.next == null) {
            last = job.previous;
        } else {
            job.next.previous = job.previous;
        }
        job.previous = null;
        job.next = null;
    }
}
