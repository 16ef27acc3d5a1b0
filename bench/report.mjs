// node report.mjs results/<time>.jsonl: the tables again, from the lines of a run.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const NAMES = {
  saga: 'nestjs-durable-saga',
  'dbos direct': 'DBOS direct',
  'naive save': 'naive TypeORM, `save()`',
  'naive lean': 'naive TypeORM, lean SQL',
  'pg-boss batch': 'pg-boss, whole batches by hand',
  'pg-boss perjob': 'pg-boss, job by job',
  'graphile-worker batched': 'graphile-worker, batched',
  'openworkflow ': 'openworkflow',
  'pg-workflows ': 'pg-workflows',
};
const ORDER = Object.keys(NAMES);
const PEERS = ORDER.slice(1);

const engineOf = ({ engine, variant }) => (engine === 'saga' ? engine : `${engine} ${variant}`);

export function median(xs) {
  const sorted = xs.slice().sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** 1,234 or 12.3 or 0.04: three figures that count, whole numbers from 100 on. */
function number(x) {
  const digits = Math.abs(x) >= 100 ? 0 : Math.abs(x) >= 10 ? 1 : 2;
  return x.toLocaleString('en', { maximumFractionDigits: digits });
}

/** Median and, of several values, the spread. */
function spread(xs) {
  if (xs.length === 0) return '';
  const [least, most] = [Math.min(...xs), Math.max(...xs)].map(number);
  return least === most ? number(median(xs)) : `${number(median(xs))} (${least}–${most})`;
}

function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, n) => (n === 0 ? '---' : '--:'))), ...rows.map(line)].join('\n');
}

/** Slope of the least-squares line through ys. */
function slope(ys) {
  const mean = (xs) => xs.reduce((a, b) => a + b, 0) / xs.length;
  const xs = ys.map((_, n) => n);
  const [mx, my] = [mean(xs), mean(ys)];
  return (
    xs.reduce((sum, x, n) => sum + (x - mx) * (ys[n] - my), 0) / xs.reduce((sum, x) => sum + (x - mx) ** 2, 0)
  );
}

/** The tables as markdown, how many goals were missed, and how many runs did not complete. */
export function report(lines) {
  const of = (engine, metric) => lines.filter((l) => engineOf(l) === engine && l.metric === metric);
  const slices = of('saga', 'memory_slice');
  const goals = [...goalsOf(of), ...memoryGoals(slices)];
  const parts = [];
  if (lines.some((l) => l.metric !== 'memory_slice')) parts.push(enginesTable(of));
  if (slices.length > 0) parts.push(memoryTable(slices));
  if (goals.length > 0) {
    const rows = goals.map(({ what, wanted, values, met }) => [
      what,
      wanted,
      spread(values),
      met ? 'PASS' : '**MISS**',
    ]);
    parts.push(table(['goal', 'wanted', 'median (min–max)', ''], rows));
  }
  const incomplete = lines.filter((l) => l.complete === false);
  for (const { engine, variant, metric } of incomplete)
    parts.push(`INCOMPLETE: ${metric} of ${engine} ${variant}`);
  return {
    text: parts.join('\n\n'),
    missed: goals.filter(({ met }) => !met).length,
    incomplete: incomplete.length,
  };
}

function enginesTable(of) {
  const rows = ORDER.flatMap((engine) => {
    const [load, latency, idle] = ['throughput', 'latency_p50_ms', 'idle_stmts_per_s'].map((m) =>
      of(engine, m),
    );
    const [any] = [...load, ...latency, ...idle];
    if (!any) return [];
    const column = (from, field) => spread(from.map((l) => l[field]).filter((x) => x !== undefined));
    const settings = Object.entries(any.settings).map(([name, value]) => `${name} ${value}`);
    return [
      [
        `${NAMES[engine]} ${any.version.replace('typeorm ', '')}; ${settings.join(', ')}`,
        column(load, 'value'),
        column(load, 'write_tx_per_saga'),
        column(load, 'stmts_per_saga'),
        column(load, 'wal_bytes_per_saga'),
        column(latency, 'value'),
        column(latency, 'p99'),
        column(latency, 'write_tx_per_saga'),
        column(idle, 'value'),
      ],
    ];
  });
  const head = [
    'engine and settings',
    'sagas/s',
    'writing tx per saga, loaded',
    'statements per saga',
    'WAL bytes per saga',
    'latency p50 ms, unloaded',
    'p99 ms',
    'writing tx per saga, unloaded',
    'idle statements/s',
  ];
  return table(head, rows);
}

/** Ratios are of one round: the machine's mood is then the same for both. */
function ratios(of, metric, other) {
  return of('saga', metric).flatMap(({ round, value }) => {
    const peer = of(other, metric).find((l) => l.round === round);
    return peer ? [value / peer.value] : [];
  });
}

function goalsOf(of) {
  const field = (metric, name) => of('saga', metric).map((l) => l[name]);
  return [
    ['throughput, times DBOS', '≥ 30', ratios(of, 'throughput', 'dbos direct'), (x) => x >= 30],
    [
      'throughput, times pg-boss moving whole batches by hand',
      '≥ 2.5',
      ratios(of, 'throughput', 'pg-boss batch'),
      (x) => x >= 2.5,
    ],
    ['throughput, times naive `save()`', '≥ 8', ratios(of, 'throughput', 'naive save'), (x) => x >= 8],
    [
      'latency p50, part of DBOS’s',
      '≤ 0.333',
      ratios(of, 'latency_p50_ms', 'dbos direct'),
      (x) => x <= 1 / 3,
    ],
    ['latency p50, part of the best peer’s', '< 1', toTheBest(of), (x) => x < 1],
    [
      'writing transactions per saga, unloaded',
      '≤ 4',
      field('latency_p50_ms', 'write_tx_per_saga'),
      (x) => x < 4.05,
    ],
    [
      'writing transactions per saga, loaded',
      '< 0.2',
      field('throughput', 'write_tx_per_saga'),
      (x) => x < 0.2,
    ],
    ['idle statements a second', '≤ 0.9', field('idle_stmts_per_s', 'value'), (x) => x <= 0.9],
  ]
    .filter(([, , values]) => values.length > 0)
    .map(([what, wanted, values, met]) => ({ what, wanted, values, met: met(median(values)) }));
}

/** Of each round, the latency as part of the best that a peer had in it. */
function toTheBest(of) {
  return of('saga', 'latency_p50_ms').flatMap(({ round, value }) => {
    const others = PEERS.flatMap((peer) => of(peer, 'latency_p50_ms').filter((l) => l.round === round));
    return others.length > 0 ? [value / Math.min(...others.map((l) => l.value))] : [];
  });
}

/** Growth that the trend over all slices but the first, in which code warms up, adds up to. */
function memoryGoals(slices) {
  const later = slices.slice(1);
  if (later.length < 3) return [];
  const growth = (field) => {
    const ys = later.map((l) => l[field]);
    return (100 * slope(ys) * (ys.length - 1)) / median(ys);
  };
  const sagas = later.at(-1).total - later[0].total;
  return [
    ['heap_mb', 'heap after GC', 5],
    ['rss_mb', 'RSS', 10],
  ].map(([field, name, most]) => {
    const percent = growth(field);
    return {
      what: `${name}, trend over ${sagas.toLocaleString('en')} sagas, %`,
      wanted: `< ${most}`,
      values: [percent],
      met: percent < most,
    };
  });
}

function memoryTable(slices) {
  return table(
    ['sagas so far', 'sagas/s in this slice', 'heap after GC MB', 'RSS MB'],
    slices.map((l) => [number(l.total), number(l.value), number(l.heap_mb), number(l.rss_mb)]),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const lines = process.argv.slice(2).flatMap((file) => readFileSync(file, 'utf8').trim().split('\n'));
  console.log(report(lines.map((line) => JSON.parse(line))).text);
}
