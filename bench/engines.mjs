// The engines that are compared, each an adapter of peers/ and a process of its own for each metric.

/** Each runs long enough, at its own speed, for a steady figure: 3 s and more. */
const ENGINES = [
  { name: 'saga', file: 'saga.mjs', flags: [], n: 40_000, warm: 3_000 },
  { name: 'dbos', file: 'dbos.mjs', flags: ['--variant=direct', '--pool=10', '--conc=20'], n: 2_000 },
  { name: 'naive-save', file: 'naive.mjs', flags: ['--variant=save', '--conc=10'], n: 2_000 },
  { name: 'naive-lean', file: 'naive.mjs', flags: ['--variant=lean', '--conc=10'], n: 2_500 },
];
/** Beside them with --peers. */
const PEERS = [
  { name: 'pg-boss-batch', file: 'pg-boss.mjs', flags: ['--variant=batch'], n: 20_000, warm: 2_000 },
  { name: 'pg-boss', file: 'pg-boss.mjs', flags: ['--variant=perjob'], n: 4_000 },
  { name: 'graphile-worker', file: 'graphile-worker.mjs', flags: [], n: 2_000 },
  // Its server is its own, beside PostgreSQL, which is idle meanwhile.
  { name: 'restate', file: 'restate.mjs', flags: [], n: 3_000, warm: 1_000 },
  { name: 'saga-on-restate', file: 'saga-on-restate.mjs', flags: [], n: 1_000, warm: 300, slow: true },
  { name: 'openworkflow', file: 'openworkflow.mjs', flags: [], n: 2_000, slow: true },
  { name: 'pg-workflows', file: 'pg-workflows.mjs', flags: [], n: 1_000, slow: true },
];
/** Only by their names: three nodes on one machine say what a cluster costs, and not what it gives. */
const CLUSTERS = [
  { name: 'restate-3', file: 'restate.mjs', flags: ['--nodes=3'], n: 1_500, warm: 500 },
  {
    name: 'saga-on-restate-3',
    file: 'saga-on-restate.mjs',
    flags: ['--nodes=3'],
    n: 500,
    warm: 200,
    slow: true,
  },
];
const ALL = [...ENGINES, ...PEERS, ...CLUSTERS];

/**
 * Those that are wanted: by names with commas between, or all, or all but the peers.
 * @param own flags for this engine's adapter
 * @throws Error for a name that there is not
 */
export function enginesOf(names, peers, own) {
  const wanted = names?.split(',');
  const unknown = wanted?.filter((name) => !ALL.some((engine) => engine.name === name)) ?? [];
  if (unknown.length > 0) {
    const all = ALL.map(({ name }) => name).join(', ');
    throw new Error(`--only=${unknown.join(',')}: give some of ${all}`);
  }
  const chosen = wanted
    ? ALL.filter(({ name }) => wanted.includes(name))
    : peers
      ? [...ENGINES, ...PEERS]
      : ENGINES;
  return chosen.map((engine) => (engine.name === 'saga' ? { ...engine, flags: own } : engine));
}

/** Every metric, with the flags that an engine is given for it. */
export const metricsOf = (quick) => [
  ['throughput', ({ n, warm = 300 }) => [`--n=${quick ? Math.max(1_000, n / 4) : n}`, `--warm=${warm}`]],
  [
    'latency',
    // Those that poll take so long for each that they need no compiling to be measured.
    ({ slow }) =>
      slow ? ['--n=40', '--warm=20'] : [`--n=${quick ? 100 : 300}`, `--warm=${quick ? 300 : 1_500}`],
  ],
  ['idle', () => [`--secs=${quick ? 5 : 10}`]],
];

export const memoryFlags = (quick) =>
  quick ? ['--n=50000', '--slice=5000'] : ['--n=200000', '--slice=20000'];
