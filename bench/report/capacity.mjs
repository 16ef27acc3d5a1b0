// What docs/capacity.md computes from the published figures: { name: markdown }. Nothing is measured for it.
import { number, table } from './format.mjs';
import { costOf, simulatedRate } from './queueing.mjs';

const RATES = [1_000, 20_000, 200_000];
/** ms that are added to each round trip. */
const DELAYS = [0, 0.2, 1, 5];
/** Processors of one machine, with which Node and PostgreSQL are simulated. */
const PROCESSORS = [2, 4, 8];
/** How busy servers and processes are to be, at most. */
const BUSY_SHARE = 0.5;
/** Connections of a process to each server: the default pool, and the one for notifications. */
const CONNECTIONS = 11;
const SECONDS_PER_DAY = 86_400;
const NOTHING = 'No run is published yet.';

/** @param figures docs/performance.json */
export function capacitySections(figures) {
  const measured = (name) =>
    [figures, ...(figures.beside ?? [])].find(({ measures }) => measures[name])?.measures[name] ?? [];
  return {
    rates: ratesTable(measured('in-flight'), measured('costs')),
    steps: stepsTable(measured('steps')),
    distance: distanceTable(measured('distance')),
    processors: processorsTable(measured('in-flight'), measured('bare-commits'), measured('processes')),
  };
}

const median = (row, metric) => row.figures[metric]?.median;

function ratesTable(loads, costs) {
  if (loads.length === 0 || costs.length === 0) return NOTHING;
  const wal = Math.max(...costs.map((row) => median(row, 'wal_bytes_per_saga')));
  const plans = RATES.map((rate) => planOf(rate, loads, wal));
  const row = (label, cell) => [label, ...plans.map((plan) => cell(plan))];
  return table(
    ['', ...RATES.map((rate) => `${number(rate)} sagas/s`)],
    [
      row('WAL, MB/s', ({ walPerSecond }) => number(walPerSecond / 1e6)),
      row('WAL, TB a day', ({ walPerSecond }) => number((walPerSecond * SECONDS_PER_DAY) / 1e12)),
      row('CPU of PostgreSQL, processors busy in all', ({ few, many }) => between(many.server, few.server)),
      row('CPU of Node, processors busy in all', ({ few, many }) => between(many.node, few.node)),
      row('PostgreSQL servers of two processors', ({ servers }) => number(servers)),
      row('Node processes', ({ few, many }) => between(processesFor(many.node), processesFor(few.node))),
      row('connections on each server', ({ few, many }) =>
        between(CONNECTIONS * processesFor(many.node), CONNECTIONS * processesFor(few.node)),
      ),
    ],
  );
}

const between = (least, most) => (least === most ? number(least) : `${number(least)} to ${number(most)}`);
const processesFor = (busy) => Math.ceil(busy / BUSY_SHARE);

/** A server gets half of the highest rate at most. Costs depend on how many sagas share a statement: many, or a few. */
function planOf(rate, loads, wal) {
  const cost = (row) => median(row, 'node_cpu_us_per_saga') + median(row, 'server_cpu_us_per_saga');
  const sorted = loads.toSorted((a, b) => cost(a) - cost(b));
  const busy = (row) => ({
    node: (rate * median(row, 'node_cpu_us_per_saga')) / 1e6,
    server: (rate * median(row, 'server_cpu_us_per_saga')) / 1e6,
  });
  const highest = Math.max(...loads.map((row) => median(row, 'sagas_per_s')));
  return {
    few: busy(sorted.at(-1)),
    many: busy(sorted[0]),
    servers: Math.ceil(rate / (BUSY_SHARE * highest)),
    walPerSecond: rate * wal,
  };
}

/** What a step costs beyond those of a short saga. */
function stepsTable(rows) {
  const [short, ...longer] = rows.toSorted((a, b) => a.steps - b.steps);
  if (longer.length === 0) return NOTHING;
  const bytes = (row) => median(row, 'wal_bytes_per_saga');
  return table(
    ['steps of a saga', 'WAL bytes of each further step', 'steps/s'],
    longer.map((row) => [
      number(row.steps),
      number((bytes(row) - bytes(short)) / (row.steps - short.steps)),
      number(median(row, 'steps_per_s')),
    ]),
  );
}

function distanceTable(rows) {
  const of = (delay, window) => rows.find((row) => row.delay_ms === delay && row.in_flight === window);
  const known = DELAYS.filter((delay) => of(delay, 1) && of(delay, 1_000));
  if (known.length === 0) return NOTHING;
  return table(
    [
      'added to each round trip, ms',
      'p50 of one saga alone, ms',
      '1,000 in flight: part of the rate with 0 ms',
    ],
    known.map((delay) => [
      number(delay),
      number(median(of(delay, 1), 'p50_ms')),
      number(median(of(delay, 1_000), 'to_near_ratio')),
    ]),
  );
}

/** Measured with two processors, and simulated from the costs of one saga alone and of a thousand in flight. */
function processorsTable(loads, commits, rows) {
  const [alone, many] = [1, 1_000].map((window) => loads.find((row) => row.in_flight === window));
  const bare = commits.find((row) => row.figures.p50_ms);
  if (!alone || !many || !bare || rows.length === 0) return NOTHING;
  const cost = (metric) => costOf(median(alone, metric), median(many, metric));
  const costs = {
    node: cost('node_cpu_us_per_saga'),
    server: cost('server_cpu_us_per_saga'),
    // Of four commits, one after the other.
    flush: (median(bare, 'p50_ms') * 1_000) / 4,
  };
  const simulated = (processes) =>
    PROCESSORS.map((processors) => simulatedRate({ processes, processors, inFlight: 1_000 }, costs));
  return table(
    [
      'processes',
      'sagas/s measured, 2 processors',
      ...PROCESSORS.map((processors) => `simulated, ${processors}`),
    ],
    rows.map((row) => [
      number(row.processes),
      number(median(row, 'sagas_per_s')),
      ...simulated(row.processes).map((rate) => number(rate)),
    ]),
  );
}
