import { barChart, chartsOf, type Line } from './bench.js';
import { engine, figure, ours } from './lines.js';

const ENGINES = [
  ours('throughput', 6_000, 1),
  ours('throughput', 7_000, 2),
  ours('latency_p50_ms', 2, 1, { p99: 5 }),
  engine('naive', 'save', 'throughput', 378),
  engine('naive', 'save', 'latency_p50_ms', 6, 1, { p99: 11 }),
  engine('dbos', 'direct', 'throughput', 317),
];
const MEASURES = [1, 1_000].flatMap((in_flight) => [
  figure('in-flight', 'sagas_per_s', 400 * in_flight, { in_flight }),
  figure('in-flight', 'p50_ms', 2 * in_flight, { in_flight }),
  figure('in-flight', 'p99_ms', 5 * in_flight, { in_flight }),
]);
const svgOf = (lines: readonly Line[], name: string) =>
  chartsOf(lines).find((chart) => chart.name === name)?.svg;

test('are drawn only of what was measured', () => {
  expect(chartsOf([])).toEqual([]);
  expect(chartsOf(ENGINES).map(({ name }) => name)).toEqual(['throughput', 'latency']);
  expect(chartsOf(MEASURES).map(({ name }) => name)).toEqual(['in-flight', 'in-flight-latency']);
});

test('of several measures are not drawn for a run that has only some of them', () => {
  const ofAll = (measure: string, ...metrics: string[]) =>
    metrics.map((metric) => figure(measure, metric, 1_000));
  const some = [
    ...ofAll('backlog', 'first_sagas_per_s', 'last_sagas_per_s'),
    ...ofAll('waiting-half', 'sagas_per_s'),
  ];
  expect(svgOf(some, 'database')).toBeUndefined();
  const grown = ofAll('grown', 'without_sagas_per_s', 'sagas_per_s');
  expect(svgOf([...some, ...grown], 'database')).toContain('grown tables');
});

test('name every engine, with its figures', () => {
  const svg = svgOf(ENGINES, 'throughput')!;
  for (const text of ['nestjs-durable-saga', 'DBOS direct', 'naive TypeORM, save()', '378', '317'])
    expect(svg).toContain(`>${text}<`);
  expect(svg).toContain('>6,500 (6,000–7,000)<');
});

test('have a title for those who do not see them, and whiskers where rounds differ', () => {
  const svg = svgOf(ENGINES, 'throughput')!;
  expect(svg).toContain('<title>Throughput by engine, sagas a second</title>');
  expect(svg.match(/class="whisker"/g)).toHaveLength(1);
});

test('draw p50 and p99 of each engine that has them', () => {
  const svg = svgOf(ENGINES, 'latency')!;
  for (const text of ['p50 2', 'p99 5', 'p50 6', 'p99 11']) expect(svg).toContain(`>${text}<`);
  expect(svg).not.toContain('DBOS');
});

test('are well-formed, with nothing that is no number', () => {
  const hostile = barChart({
    title: 'a < b & "c"',
    unit: '',
    bars: [{ label: `<script>'`, values: [{ name: '&', median: 0, min: 0, max: 0 }] }],
  });
  expect(hostile).toContain('<title>a &#60; b &#38; &#34;c&#34;, </title>');
  expect(hostile).toContain('>&#60;script&#62;&#39;<');
  for (const svg of [hostile, ...chartsOf([...ENGINES, ...MEASURES]).map((chart) => chart.svg)]) {
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
    const opened = svg.match(/<\w+[^>]*(?<!\/)>/g) ?? [];
    expect(opened).toHaveLength((svg.match(/<\/\w+>/g) ?? []).length);
  }
});
