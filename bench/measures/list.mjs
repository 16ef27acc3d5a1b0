// The measures of the suite, each a file of this folder and a process of its own. Sizes are the files' defaults, here are
// those of a quick look. `once`: has rounds of its own, or needs none.
// `nodeFlags`: those of its process, where they are not the ones of all.
export const MEASURES = [
  { name: 'in-flight', quick: ['--n=6000', '--warm=500'] },
  {
    name: 'overload',
    quick: [
      '--n=4000',
      '--seconds=1',
      '--warm=300',
      '--windows=10,100,1000',
      '--loads=1,2',
      '--concurrency=default,10',
    ],
  },
  { name: 'half-load', quick: ['--n=8000', '--seconds=4'] },
  { name: 'distance', quick: ['--n=3000', '--turns=2', '--warm=1000'] },
  { name: 'processes', quick: ['--n=8000', '--warm=1000'] },
  { name: 'shards', quick: ['--n=2000', '--rounds=1', '--warm=1000'], once: true },
  { name: 'steps', quick: ['--n=20000'] },
  { name: 'fan-out', quick: ['--items=500,2000'] },
  { name: 'payloads', quick: ['--n=4000', '--megabytes=60'] },
  { name: 'compensation', quick: ['--n=4000'] },
  { name: 'retry-storm', quick: ['--n=2000'] },
  { name: 'failure-costs', quick: ['--rounds=1', '--n=2000'], once: true },
  { name: 'waiting-half', quick: ['--n=4000', '--reps=1'], once: true },
  { name: 'backlog', quick: ['--due=150000', '--seconds=6', '--slice=2'] },
  { name: 'grown', quick: ['--finished=200000', '--waiting=20000', '--n=5000', '--reps=1'], once: true },
  { name: 'partitions', quick: ['--days=20', '--finished=200', '--n=5000', '--reps=1'], once: true },
  { name: 'idle', quick: ['--secs=4'] },
  { name: 'idle-waiting', quick: ['--waiting=20000', '--secs=10'], once: true },
  { name: 'costs', quick: ['--n=6000'] },
  { name: 'start-up', quick: ['--starts=1'], once: true },
  { name: 'first-saga', quick: ['--processes=1', '--sagas=400'], once: true, nodeFlags: [] },
  { name: 'profile', quick: ['--n=8000', '--warm=2000'] },
  { name: 'warm-up', quick: ['--seconds=1'], nodeFlags: [] },
  { name: 'limit', quick: ['--n=8000'] },
  { name: 'bare-commits', quick: ['--n=200', '--warm=500', '--blocks=2'] },
  { name: 'memory-in-flight', quick: ['--sagas=1000', '--loop=3000', '--looks=3', '--warm=1000'] },
  { name: 'soak', quick: ['--minutes=0.2', '--slice=2', '--waiting=100'], once: true },
];

/**
 * Those that are wanted, by names with commas between; all of them by default.
 * @throws Error for a name that there is not
 */
export function measuresOf(names) {
  const wanted = names?.split(',');
  const unknown = wanted?.filter((name) => !MEASURES.some((measure) => measure.name === name)) ?? [];
  if (unknown.length > 0) {
    const all = MEASURES.map(({ name }) => name).join(', ');
    throw new Error(`--only-measures=${unknown.join(',')}: give some of ${all}`);
  }
  return MEASURES.filter(({ name }) => !wanted || wanted.includes(name));
}

/** --sizes=grown.finished=1000000,soak.minutes=5 as { grown: ['--finished=1000000'], … } */
export function sizesOf(text = '') {
  const sizes = {};
  for (const part of text.split(',').filter(Boolean)) {
    const [, measure, flag] = /^([\w-]+)\.(\w+=[\w.]+)$/.exec(part) ?? [];
    if (!MEASURES.some(({ name }) => name === measure))
      throw new Error(`--sizes=${part}: give <measure>.<flag>=<value>, as in soak.minutes=5`);
    (sizes[measure] ??= []).push(`--${flag}`);
  }
  return sizes;
}
