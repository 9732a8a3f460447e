// Ranges of two threads and of a child; built with -fsanitize=… by attacks_test.py.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

static void* make_ranges(void* unused) {
  for (int i = 0; i < 1000; ++i) {
    nvtxRangePushA("allocates");
    char* memory = malloc(100 + (size_t)i);
    memory[3] = 1;
    free(memory);
    nvtxRangePop();
  }
  return unused;
}

int main(void) {
  make_ranges(NULL);  // NVTX starts while there is one thread: its start is a race in the eyes of the thread sanitizer
  pthread_t thread;
  pthread_create(&thread, NULL, make_ranges, NULL);
  make_ranges(NULL);
  pthread_join(thread, NULL);

  pid_t const child = fork();
  if (child == 0) {
    make_ranges(NULL);
    _exit(3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("child %d\n", WEXITSTATUS(status));
  return 7;
}
