// Every figure with its median and spread, as data.
import { comparedOf } from '../gate/compared.mjs';
import { goalsOf } from './goals.mjs';
import { installedRuns } from './installed.mjs';
import { summary } from './statistics.mjs';

/** Undefined where there is nothing; five figures are more than any run is good for. */
function summaryOf(xs) {
  const all = summary(xs.filter((x) => x !== undefined));
  return all && Object.fromEntries(Object.entries(all).map(([name, x]) => [name, Number(x.toPrecision(5))]));
}

/** The fields of a line that are not figures. */
const ABOUT = ['engine', 'variant', 'version', 'metric', 'settings', 'node', 'round', 'at', 'complete'];
/**
 * The fields of a measure's line that do not identify a row of figures: they may change from round to round.
 */
const PASSING = [...ABOUT, 'measure', 'value', 'unit', 'n', 'drained', 'slices', 'secs'];

/** Lines of engines that are no figures to be summed up. */
const APART = ['memory_slice', 'skipped'];

/** { machine, installed, engines, memory, measures, compared, goals } */
export function figuresOf(lines) {
  return {
    machine: without(lines.find(({ metric }) => metric === 'machine') ?? {}, ['metric']),
    installed: installedRuns(lines).map(({ node, process, sagas, dbos, pgBoss }) => ({
      ...{ node, process },
      sagas_per_s: summaryOf(sagas),
      times_dbos: summaryOf(dbos),
      times_pg_boss_batch: summaryOf(pgBoss),
    })),
    engines: engineFigures(
      lines.filter(({ engine, metric, installed }) => engine && !installed && !APART.includes(metric)),
    ),
    memory: lines
      .filter(({ metric }) => metric === 'memory_slice')
      .map(({ total, value, heap_mb, rss_mb }) => ({ sagas: total, sagas_per_s: value, heap_mb, rss_mb })),
    measures: measureFigures(lines.filter(({ measure }) => measure)),
    compared: comparedOf(lines),
    goals: goalsOf(lines).map(({ what, wanted, values, met }) => ({
      what,
      wanted,
      met,
      ...summaryOf(values),
    })),
  };
}

/**
 * What is published, with a run. A run of a few measures goes into its list `beside`; any other takes its place, and what it
 * has not measured goes into that list. What the run has measured is in no other place any more.
 */
export function figuresWith(published, run, { beside }) {
  const older = (figures) => ({
    ...figures,
    measures: without(figures.measures, Object.keys(run.measures)),
    goals: figures.goals.filter(({ what }) => !run.goals.some((goal) => goal.what === what)),
    ...(run.installed.length > 0 && { installed: [] }),
  });
  const before = [...(beside ? [] : [besideOf(published)]), ...(published.beside ?? [])];
  const rest = before
    .map(older)
    .filter(({ installed, measures }) => installed.length > 0 || Object.keys(measures).length > 0);
  return beside ? { ...older(published), beside: [...rest, besideOf(run)] } : { ...run, beside: rest };
}

const besideOf = ({ machine, installed, measures, goals }) => ({ machine, installed, measures, goals });

/** Every goal that is published, with the day on which it was measured. */
export function publishedGoals({ beside = [], ...whole }) {
  return [whole, ...beside].flatMap(({ machine, goals }) =>
    goals.map((goal) => ({ ...goal, day: String(machine.at ?? '').slice(0, 10) })),
  );
}

const without = (line, names) =>
  Object.fromEntries(Object.entries(line).filter(([name]) => !names.includes(name)));

/** Groups in the order in which they come. */
function grouped(lines, key) {
  const groups = new Map();
  for (const line of lines) groups.set(key(line), [...(groups.get(key(line)) ?? []), line]);
  return [...groups.values()];
}

function engineFigures(lines) {
  return grouped(lines, ({ engine, variant }) => `${engine} ${variant}`).map((own) => ({
    engine: own[0].engine,
    variant: own[0].variant,
    version: own[0].version,
    settings: own[0].settings,
    metrics: Object.fromEntries(
      grouped(own, ({ metric }) => metric).map((some) => [some[0].metric, summaries(some)]),
    ),
  }));
}

function summaries(lines) {
  const names = Object.keys(without(lines[0], ABOUT));
  return Object.fromEntries(names.map((name) => [name, summaryOf(lines.map((line) => line[name]))]));
}

function measureFigures(lines) {
  const measures = grouped(lines, ({ measure }) => measure).map((own) => [
    own[0].measure,
    grouped(own, (line) => JSON.stringify(without(line, PASSING))).map((row) => ({
      ...without(row[0], PASSING),
      figures: Object.fromEntries(
        grouped(row, ({ metric }) => metric).map((some) => [
          some[0].metric,
          { unit: some[0].unit, ...summaryOf(some.map(({ value }) => value)) },
        ]),
      ),
    })),
  ]);
  return Object.fromEntries(measures);
}
