import java.util.ArrayList;
import java.util.List;

/** What Java programs do with threads, processes and faults while they annotate: AttackJava CASE LIBRARY. */
class AttackJava {
  /** Makes 10 ranges. */
  static native void work();

  /** Volatile, so that no compiler knows that it stays null. */
  static volatile int[] nothing = null;

  static void runThreads() throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 16; i++) threads.add(new Thread(AttackJava::work));
    for (Thread thread : threads) thread.start();
    for (Thread thread : threads) thread.join();
    System.out.println("joined " + threads.size());
  }

  static void startProcesses() throws Exception {
    for (String script : new String[] {"exit 3", "kill -9 $$", "echo out", "ls /proc/self/fd | wc -l"}) {
      Process process = new ProcessBuilder("sh", "-c", script).redirectErrorStream(true).start();
      String output = new String(process.getInputStream().readAllBytes()).trim();
      System.out.println(process.waitFor() + " " + output);
    }
  }

  /** Shutdown hooks run; the exit code is that of the thread that calls exit. */
  static void exitInThread() throws InterruptedException {
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      work();
      System.out.println("shutdown hook");
    }));
    Thread thread = new Thread(() -> System.exit(3));
    thread.start();
    thread.join();
  }

  static int readNothing() { return nothing[1]; }

  /** In compiled code the virtual machine finds null pointers by a fault of the processor, which it handles. */
  static void catchNullPointers() {
    int caught = 0;
    for (int i = 0; i < 50_000; i++) {
      try {
        readNothing();
      } catch (NullPointerException expected) {
        caught++;
      }
      if (i % 1000 == 0) work();
    }
    System.out.println("caught " + caught);
  }

  static int recurse(int depth) { return recurse(depth + 1) + 1; }

  static void overflowStack() {
    int caught = 0;
    for (int i = 0; i < 5; i++) {
      try {
        recurse(0);
      } catch (StackOverflowError expected) {
        work();
        caught++;
      }
    }
    System.out.println("caught " + caught);
  }

  public static void main(String[] arguments) throws Exception {
    System.load(arguments[1]);
    work();
    switch (arguments[0]) {
      case "threads" -> runThreads();
      case "process_builder" -> startProcesses();
      case "exit" -> exitInThread();
      case "halt" -> Runtime.getRuntime().halt(4);
      case "null_pointers" -> catchNullPointers();
      case "stack_overflow" -> overflowStack();
      default -> throw new IllegalStateException("not caught");
    }
  }
}
