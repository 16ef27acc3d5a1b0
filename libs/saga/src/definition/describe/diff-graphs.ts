import { type GraphRecord, KIND_NAMES, type StepRecord } from './graph-record.js';

/** In words, each a clause that a sentence can be made of. */
export interface GraphDifference {
  readonly differences: readonly string[];
  /** What may have been meant: a step that is gone and one that is new in its place. */
  readonly hints: readonly string[];
}

/** What the structure of a graph has become; no differences: it is the same, in whatever order it was declared. */
export function diffGraphs(before: GraphRecord, after: GraphRecord): GraphDifference {
  const [old, now] = [byName(before), byName(after)];
  const gone = before.steps.filter(({ name }) => !now.has(name));
  const added = after.steps.filter(({ name }) => !old.has(name));
  return {
    differences: [
      ...gone.map(({ name }) => `step '${name}' was removed`),
      ...added.map(({ name }) => `step '${name}' is new`),
      ...after.steps.flatMap((step) => changesOf(old.get(step.name), step)),
    ],
    hints: gone.flatMap((step) => renameOf(step, added, before, after)),
  };
}

function byName({ steps }: GraphRecord): Map<string, StepRecord> {
  return new Map(steps.map((step) => [step.name, step]));
}

function changesOf(before: StepRecord | undefined, now: StepRecord): string[] {
  if (!before) return [];
  const changes = [
    kindChange(before, now),
    before.after.join() !== now.after.join() &&
      `waits for ${list(now.after)} instead of ${list(before.after)}`,
    before.join !== now.join && `waits for ${now.join === 'any' ? 'any' : 'all'} of its steps now`,
    compensationChange(before, now),
    replyChange(before, now),
    flagChange(before.forEach, now.forEach, 'runs once per item'),
    flagChange(before.savepoint, now.savepoint, 'is a savepoint'),
    flagChange(before.pivot, now.pivot, 'is a pivot'),
  ];
  return changes.filter((change) => change !== false).map((change) => `step '${now.name}' ${change}`);
}

function kindChange(before: StepRecord, now: StepRecord): string | false {
  if (before.kind !== now.kind) return `is now ${KIND_NAMES[now.kind]}, and was ${KIND_NAMES[before.kind]}`;
  if (before.handler !== now.handler) return `calls handler '${now.handler}' instead of '${before.handler}'`;
  if (before.signal !== now.signal) return `waits for signal '${now.signal}' instead of '${before.signal}'`;
  return before.child !== now.child && `runs saga '${now.child}' instead of '${before.child}'`;
}

function compensationChange(
  { compensate: before }: StepRecord,
  { compensate: now }: StepRecord,
): string | false {
  if (before === now) return false;
  if (now === undefined) return `has no compensation any more, and had '${before}'`;
  return `has the compensation '${now}'${before === undefined ? ' now' : ` instead of '${before}'`}`;
}

function replyChange({ reply: before }: StepRecord, { reply: now }: StepRecord): string | false {
  if (before === now) return false;
  if (now === undefined)
    return `needs no signal to confirm its compensation any more, and needed '${before}'`;
  return `needs the signal '${now}'${before === undefined ? '' : ` instead of '${before}'`} to confirm its compensation`;
}

function flagChange(before: true | undefined, now: true | undefined, what: string): string | false {
  if (before === now) return false;
  return now ? `${what} now` : `${what} no longer`;
}

/** Guessed only where one step alone stands in the place of the one that is gone. */
function renameOf(
  gone: StepRecord,
  added: readonly StepRecord[],
  before: GraphRecord,
  after: GraphRecord,
): string[] {
  const place = placeOf(gone, before, after);
  const [one, ...others] = added.filter((step) => placeOf(step, after, before) === place);
  if (!one || others.length > 0) return [];
  return [
    `step '${gone.name}' may have been renamed to '${one.name}'; running instances find a step by its name only`,
  ];
}

/** What a step is, and the steps of both graphs that it stands between. */
function placeOf(step: StepRecord, graph: GraphRecord, other: GraphRecord): string {
  const common = (name: string) => other.steps.some((there) => there.name === name);
  const dependents = graph.steps.filter(({ after }) => after.includes(step.name)).map(({ name }) => name);
  const { kind, forEach = false } = step;
  return JSON.stringify([kind, forEach, step.after.filter(common), dependents.filter(common).sort()]);
}

function list(names: readonly string[]): string {
  return names.length === 0 ? 'nothing' : names.map((name) => `'${name}'`).join(' and ');
}
