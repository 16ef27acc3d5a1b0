// Memory over many sagas: of the metric `memory`, and of the measure `soak`.
import { number, table } from './format.mjs';
import { keysOf } from './measures.mjs';
import { ofEngine, ofMeasure } from './lines.mjs';
import { median, slope } from './statistics.mjs';

const LIMITS = [
  ['heap_mb', 'heap after GC', 5],
  ['rss_mb', 'RSS', 10],
];

/** Undefined without any slice. */
export function memoryTable(lines) {
  const slices = slicesOf(lines);
  if (slices.length === 0) return undefined;
  return table(
    ['sagas so far', 'sagas/s in this slice', 'heap after GC MB', 'RSS MB'],
    slices.map((l) => [number(l.total), number(l.value), number(l.heap_mb), number(l.rss_mb)]),
  );
}

const slicesOf = (lines) => ofEngine(lines)('saga', 'memory_slice');

/** What the trend over all slices but the first, in which code warms up, adds up to. */
export function memoryGoals(lines) {
  const slices = slicesOf(lines);
  const minutes = keysOf(ofMeasure(lines)('soak'), 'minute');
  const sagas = slices.length > 1 ? slices.at(-1).total - slices[1].total : 0;
  return [
    ...goals(`${sagas.toLocaleString('en')} sagas`, (field) => slices.map((l) => l[field])),
    ...goals(`${number(minutes.at(-1) ?? 0)} minutes`, (field) =>
      ofMeasure(lines)('soak', field).map((l) => l.value),
    ),
  ];
}

function goals(time, of) {
  return LIMITS.flatMap(([field, name, most]) => {
    const ys = of(field).slice(1);
    if (ys.length < 3) return [];
    const percent = (100 * slope(ys) * (ys.length - 1)) / median(ys);
    const what = `${name}, trend over ${time}, %`;
    return [{ what, wanted: `< ${most}`, values: [percent], met: percent < most }];
  });
}
