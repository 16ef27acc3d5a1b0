import { readFileSync } from 'node:fs';
import { ATTRIBUTE } from '../../libs/telemetry/src/saga-attributes.js';
import { SAGA_METRICS } from '../../libs/telemetry/src/saga-metrics.js';

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const dashboard = JSON.parse(
  readFileSync(new URL('../../docs/grafana-dashboard.json', import.meta.url), 'utf8'),
) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { definition?: string }[] };
};
const targets = dashboard.panels.flatMap((panel) => panel.targets ?? []);
const queries = [
  ...targets.map(({ expr }) => expr),
  ...dashboard.templating.list.flatMap(({ definition }) => definition ?? []),
];
const underscored = (name: string) => name.replaceAll('.', '_');

/** The names that OpenTelemetry's exporters give a metric in Prometheus: with its unit, unless that is a word in braces. */
function prometheusNames({ name, kind, unit }: (typeof SAGA_METRICS)[keyof typeof SAGA_METRICS]): string[] {
  const base = underscored(name) + (unit === 's' ? '_seconds' : '');
  if (kind === 'counter') return [`${base}_total`];
  return kind === 'histogram' ? ['bucket', 'sum', 'count'].map((part) => `${base}_${part}`) : [base];
}

/** What is not a label: the names before a selector, a range or a closing bracket. */
function metricsIn(query: string): string[] {
  const withoutLabels = query.replaceAll(/\{[^}]*\}|\bby \([^)]*\)|, \w+\)/g, ' ');
  return withoutLabels.match(/\bsaga_\w+/g) ?? [];
}

/** In selectors, groupings and legends. */
function labelsIn(text: string): string[] {
  const selected = [...text.matchAll(/(\w+)\s*(?:=~|!=|=)"/g)].map(([, label]) => label!);
  const grouped = [...text.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(/,\s*/));
  const shown = [...text.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!);
  return [...selected, ...grouped, ...shown];
}

test('the dashboard shows every metric that there is, and none that there is not', () => {
  const shown = new Set(queries.flatMap(metricsIn));
  const metrics = Object.values(SAGA_METRICS);
  const known = new Set(metrics.flatMap(prometheusNames));
  expect([...shown].filter((name) => !known.has(name))).toEqual([]);
  expect(metrics.filter((metric) => !prometheusNames(metric).some((name) => shown.has(name)))).toEqual([]);
});

test('the dashboard selects and groups by attributes that metrics have', () => {
  const known = new Set(['le', ...Object.values(ATTRIBUTE).map(underscored)]);
  const used = targets.flatMap(({ expr, legendFormat }) => [...labelsIn(expr), ...labelsIn(legendFormat)]);
  expect(used).toContain('saga_step_name');
  expect([...new Set(used)].filter((label) => !known.has(label))).toEqual([]);
});

test("the dashboard's panels have ids of their own and do not overlap", () => {
  const ids = dashboard.panels.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const taken = new Map<string, string>();
  for (const { title, gridPos } of dashboard.panels) {
    expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
        expect([title, taken.get(`${x} ${y}`)]).toEqual([title, undefined]);
        taken.set(`${x} ${y}`, title);
      }
    }
  }
});
