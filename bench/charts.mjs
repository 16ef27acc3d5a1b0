// node bench/charts.mjs results/<time>.jsonl … [--out=docs/images/performance]: charts of a run, as SVG.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { barChart } from './charts/bar-chart.mjs';
import { lineChart } from './charts/line-chart.mjs';
import { ENGINES, NAMES } from './report/engines.mjs';
import { number } from './report/format.mjs';
import { ofEngine, ofMeasure, readLines, valuesOf } from './report/lines.mjs';
import { keysOf } from './report/measures.mjs';
import { summary } from './report/statistics.mjs';
import { flagsOf } from './lib/flags.mjs';

const FOLDER = fileURLToPath(new URL('../docs/images/performance', import.meta.url));

/** Every chart that there are lines for: { name, svg }. */
export function chartsOf(lines) {
  return [
    ...engineCharts(ofEngine(lines)),
    ...measureCharts(ofMeasure(lines)),
    ...databaseCharts(ofMeasure(lines)),
  ]
    .filter(({ bars, points }) => (bars ?? points).length > 0)
    .map(({ name, ...chart }) => ({ name, svg: chart.bars ? barChart(chart) : lineChart(chart) }));
}

const plain = (name) => name.replaceAll('`', '');

function engineCharts(of) {
  const bars = (metric, series) =>
    ENGINES.flatMap((engine) => {
      const own = of(engine, metric);
      const found = series.map(([name, field]) => ({ name, ...summary(valuesOf(own, field)) }));
      return own.length > 0 ? [{ label: plain(NAMES[engine]), own: engine === 'saga', values: found }] : [];
    });
  return [
    {
      name: 'throughput',
      title: 'Throughput by engine',
      unit: 'sagas a second',
      bars: bars('throughput', [['sagas/s', 'value']]),
    },
    {
      name: 'latency',
      title: 'Latency by engine, one saga at a time',
      unit: 'ms, logarithmic',
      logarithmic: true,
      bars: bars('latency_p50_ms', [
        ['p50', 'value'],
        ['p99', 'p99'],
      ]),
    },
  ];
}

function measureCharts(of) {
  const points = (measure, param, series) =>
    keysOf(of(measure), param).map((key) => ({
      label: number(key),
      values: series.map(([name, metric]) => ({
        name,
        ...summary(valuesOf(of(measure, metric, { [param]: key }))),
      })),
    }));
  const rate = [['sagas/s', 'sagas_per_s']];
  return [
    {
      name: 'in-flight',
      title: 'Throughput by sagas in flight',
      unit: 'sagas a second',
      across: 'in flight',
      points: points('in-flight', 'in_flight', rate),
    },
    {
      name: 'in-flight-latency',
      title: 'Latency by sagas in flight',
      unit: 'ms, logarithmic',
      across: 'in flight',
      logarithmic: true,
      points: points('in-flight', 'in_flight', [
        ['p50', 'p50_ms'],
        ['p99', 'p99_ms'],
      ]),
    },
    {
      name: 'processes',
      title: 'Throughput by worker processes',
      unit: 'sagas a second',
      across: 'processes',
      points: points('processes', 'processes', rate),
    },
    {
      name: 'steps',
      title: 'Throughput by steps of a saga',
      unit: 'a second',
      across: 'steps',
      points: points('steps', 'steps', [...rate, ['steps/s', 'steps_per_s']]),
    },
    {
      name: 'payloads',
      title: 'Throughput by size of input and results',
      unit: 'sagas a second, logarithmic',
      across: 'bytes',
      logarithmic: true,
      points: points('payloads', 'bytes', rate),
    },
  ];
}

/** What the state of the database does to the rate. A chart of several measures, so none of a run that leaves some out. */
function databaseCharts(of) {
  const bar = (label, measure, metric) => ({
    label,
    own: true,
    values: [{ name: 'sagas/s', ...summary(valuesOf(of(measure, metric))) }],
  });
  if (['grown', 'waiting-half', 'backlog'].some((measure) => of(measure).length === 0)) return [];
  return [
    {
      name: 'database',
      title: 'Throughput by what is in the database',
      unit: 'sagas a second',
      bars: [
        bar('empty tables', 'grown', 'without_sagas_per_s'),
        bar('grown tables', 'grown', 'sagas_per_s'),
        bar('as many that wait', 'waiting-half', 'sagas_per_s'),
        bar('a backlog, at first', 'backlog', 'first_sagas_per_s'),
        bar('a backlog, in the end', 'backlog', 'last_sagas_per_s'),
      ],
    },
  ];
}

/** Gives their names. */
export function writeCharts(lines, folder = FOLDER) {
  mkdirSync(folder, { recursive: true });
  const charts = chartsOf(lines);
  for (const { name, svg } of charts) writeFileSync(join(folder, `${name}.svg`), svg);
  return charts.map(({ name }) => name);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const given = process.argv.slice(2);
  const { out } = flagsOf(given.filter((arg) => arg.startsWith('--')));
  for (const name of writeCharts(readLines(given.filter((arg) => !arg.startsWith('--'))), out))
    console.log(name);
}
