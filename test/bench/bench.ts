// What the benchmark's own modules export, with types: they are plain JavaScript.

/** A line of a run's results. */
export type Line = Readonly<Record<string, unknown>>;

interface Table {
  readonly name: string;
  readonly title: string;
  readonly text: string;
}

interface Goal {
  readonly what: string;
  readonly wanted: string;
  readonly values: readonly number[];
  readonly met: boolean;
}

/** A ratio of a run, over its rounds. */
export interface Ratio {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly rounds: number;
}

type Ratios = Readonly<Record<string, Ratio>>;

interface Compared {
  readonly loss?: number;
  readonly noise?: number;
  readonly result: 'pass' | 'fail' | 'undecided' | 'not compared';
}

const load = async <T>(path: string): Promise<T> => (await import(`../../bench/${path}`)) as T;

export const { report, tablesOf } = await load<{
  report: (lines: readonly Line[]) => { text: string; missed: number; incomplete: number };
  tablesOf: (lines: readonly Line[]) => Table[];
}>('report.mjs');
export const { goalsOf } = await load<{ goalsOf: (lines: readonly Line[]) => Goal[] }>('report/goals.mjs');
export const { TABLES } = await load<{ TABLES: readonly { name: string }[] }>('report/measures.mjs');
export const { number, spread } = await load<{
  number: (x: number) => string;
  spread: (xs: readonly number[]) => string;
}>('report/format.mjs');
export const { readLines } = await load<{ readLines: (files: readonly string[]) => Line[] }>(
  'report/lines.mjs',
);
interface Figures {
  readonly engines: unknown;
  readonly compared: unknown;
  readonly measures: Readonly<Record<string, unknown>>;
  readonly installed: readonly unknown[];
  readonly goals: readonly { readonly what: string }[];
  readonly beside?: readonly Figures[];
}

export const { figuresOf, figuresWith, publishedGoals } = await load<{
  figuresOf: (lines: readonly Line[]) => Figures;
  figuresWith: (published: Figures, run: Figures, as: { beside: boolean }) => Figures;
  publishedGoals: (published: Figures) => { readonly what: string; readonly day: string }[];
}>('report/figures.mjs');
export const { COMPARED, comparedOf } = await load<{
  COMPARED: readonly { what: string }[];
  comparedOf: (lines: readonly Line[]) => Record<string, Ratio>;
}>('gate/compared.mjs');
export const { Gate } = await load<{
  Gate: new (against?: string) => {
    schedule: (of: object) => Iterable<string>;
    report: (lines: readonly Line[]) => { text: string; passes: boolean };
  };
}>('gate/gate.mjs');
export const { compare, compareAll, gateReport, isOpen } = await load<{
  compare: (published: Ratio | undefined, fresh: Ratio | undefined, better: 'more' | 'less') => Compared;
  compareAll: (published: Ratios, fresh: Ratios) => Compared[];
  gateReport: (rows: readonly Compared[]) => { text: string; passes: boolean };
  isOpen: (rows: readonly Compared[]) => boolean;
}>('gate/compare.mjs');
export const { chartsOf } = await load<{
  chartsOf: (lines: readonly Line[]) => { name: string; svg: string }[];
}>('charts.mjs');
export const { barChart } = await load<{ barChart: (chart: object) => string }>('charts/bar-chart.mjs');
export const { refuseMixture, sectionsBeside, sectionsKept, sectionsOf, withFigures } = await load<{
  refuseMixture: (lines: readonly Line[]) => void;
  sectionsOf: (lines: readonly Line[], charts: readonly string[]) => Record<string, string>;
  sectionsBeside: (lines: readonly Line[], charts: readonly string[]) => Record<string, string>;
  sectionsKept: (page: string, published: Figures, names: readonly string[]) => Record<string, string>;
  withFigures: (page: string, sections: Readonly<Record<string, string>>) => string;
}>('publish.mjs');
export const { MEASURES, measuresOf, sizesOf } = await load<{
  MEASURES: readonly { name: string }[];
  measuresOf: (names?: string) => { name: string }[];
  sizesOf: (text?: string) => Record<string, string[]>;
}>('measures/list.mjs');
interface Stalls {
  readonly stall_p99_ms: number;
  readonly stall_max_ms: number;
}

export const { watchStalls } = await load<{ watchStalls: () => Promise<() => Promise<Stalls>> }>(
  'lib/stalls.mjs',
);
export const { delayed } = await load<{
  delayed: (url: string, delay: number) => Promise<{ url: string; close: () => Promise<void> }>;
}>('lib/delaying-proxy.mjs');
export const { openLoop, seeded, timed } = await load<{
  timed: <T>(work: () => Promise<T>) => Promise<T & { secs: number; stalls: Stalls }>;
  openLoop: (
    service: object,
    saga: unknown,
    load: { rate: number; random: () => number; goesOn: (gone: number) => boolean },
  ) => Promise<{ n: number; times: number[] }>;
  seeded: (seed: number) => () => number;
}>('measures/loops.mjs');
interface BatchCost {
  readonly fixed: number;
  readonly each: number;
}
export const { costOf, simulatedRate } = await load<{
  costOf: (alone: number, many: number) => BatchCost;
  simulatedRate: (
    load: { processes: number; processors: number; inFlight: number },
    costs: { node: BatchCost; server: BatchCost; flush: number },
  ) => number;
}>('report/queueing.mjs');
export const { capacitySections } = await load<{
  capacitySections: (figures: object) => Record<string, string>;
}>('report/capacity.mjs');
export const { growthSections, simulatedClusterRate } = await load<{
  growthSections: (page: string) => Record<string, string>;
  simulatedClusterRate: (
    load: { nodes: number; processors: number; onOneMachine?: boolean },
    costs: { leader: number; copy: number; node: number },
  ) => number;
}>('report/cluster.mjs');

/** The formatter aligns the columns of tables. */
export const compact = (text: string) => text.replace(/ +/g, ' ').replace(/-+:?/g, '-').replace(/\n+/g, '\n');
