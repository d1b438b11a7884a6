// The same loops under google-benchmark.
#include <benchmark/benchmark.h>
#include <sys/syscall.h>
#include <unistd.h>

static void empty(benchmark::State &state) {
  for (auto _ : state) {
  }
}
BENCHMARK(empty);

static void null_call(benchmark::State &state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(syscall(SYS_getppid));
  }
}
BENCHMARK(null_call);

BENCHMARK_MAIN();
