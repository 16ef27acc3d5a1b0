/** Others than in every run of the tests: FUZZ_SEED=…; so many times as many: FUZZ_RUNS=… */
export const FUZZ_SEED = Number(process.env.FUZZ_SEED ?? 1);
const FUZZ_RUNS = Number(process.env.FUZZ_RUNS ?? 1);

/** For fast-check: the same cases in each run of the tests, unless others are asked for. */
export function fuzz(numRuns: number): { seed: number; numRuns: number } {
  return { seed: FUZZ_SEED, numRuns: Math.ceil(numRuns * FUZZ_RUNS) };
}
