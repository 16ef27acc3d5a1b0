// The lines of a run, and how to find some of them.
import { readFileSync } from 'node:fs';

/** Rounds of several runs are kept apart: only figures of one round are compared. */
export function readLines(files) {
  return files.flatMap((file, run) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
      .map((line) => (files.length > 1 ? { ...line, round: `${run + 1}.${line.round}` } : line)),
  );
}

export const engineOf = ({ engine, variant }) => (engine === 'saga' ? engine : `${engine} ${variant}`);

/** (engine, metric) => its lines */
export const ofEngine = (lines) => (engine, metric) =>
  lines.filter(
    (l) => l.metric === metric && l.engine !== undefined && !l.installed && engineOf(l) === engine,
  );

/** (measure, metric, params) => its lines */
export const ofMeasure =
  (lines) =>
  (measure, metric, params = {}) =>
    lines.filter(
      (l) =>
        l.measure === measure &&
        (metric === undefined || l.metric === metric) &&
        Object.entries(params).every(([name, value]) => l[name] === value),
    );

export const valuesOf = (lines, field = 'value') => lines.map((l) => l[field]).filter((x) => x !== undefined);

/**
 * What each part of `some` is to its counterpart in the same round: the machine's mood is then the same for
 * both.
 */
export function ratios(some, others) {
  return some.flatMap(({ round, value }) => {
    const other = others.find((l) => l.round === round);
    return other ? [value / other.value] : [];
  });
}
