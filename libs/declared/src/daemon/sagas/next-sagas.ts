import { parse } from 'yaml';
import { DeclaredSagaError, type DeclaredSagaProblem } from '../../declared-saga.error.js';
import type { NetworkOptions } from '../../network/network.js';
import { type DeclaredSaga, declareSources, type SagaSource } from '../../read-sagas.js';

/** The sagas that a daemon runs. */
export interface ServedSagas {
  /** The sagas of the files. */
  readonly current: readonly DeclaredSaga[];
  /** Versions without a file whose sagas are running. No saga of them is started over REST. */
  readonly retired: readonly DeclaredSaga[];
}

/** Returns whether sagas of this version are unfinished. */
export type IsRunning = (saga: DeclaredSaga) => Promise<boolean>;

export const NO_SAGAS: ServedSagas = { current: [], retired: [] };

/**
 * Returns what to run once the files are these. Versions that have lost their file stay as long as sagas of them run.
 * @param problems those of files that could not be read
 * @param network where requests may go; default: public addresses
 * @throws DeclaredSagaError if a file is invalid, or was changed without a new version while sagas of it run
 */
export async function nextSagas(
  sources: readonly SagaSource[],
  served: ServedSagas,
  isRunning: IsRunning,
  problems: DeclaredSagaProblem[] = [],
  network: NetworkOptions = {},
): Promise<ServedSagas> {
  const read = await declareSources(sources, { network }, problems);
  const known = [...served.current, ...served.retired];
  const running = new Set<DeclaredSaga>();
  for (const saga of known) if (await isRunning(saga)) running.add(saga);
  const refused = [...changedWhileRunning(read, running), ...lowered(read, running)];
  if (refused.length > 0) throw new DeclaredSagaError(refused);
  const labels = new Set(read.map(labelOf));
  const kept = withChildren([...running], known, read).filter((saga) => !labels.has(labelOf(saga)));
  if (kept.length === 0) return { current: read, retired: [] };
  const all = await declareSources([...read, ...kept], { network });
  return { current: all.slice(0, read.length), retired: all.slice(read.length) };
}

function changedWhileRunning(
  read: readonly DeclaredSaga[],
  running: ReadonlySet<DeclaredSaga>,
): DeclaredSagaProblem[] {
  // Comments and layout change nothing. The order of steps does.
  const contentOf = ({ text }: DeclaredSaga) => JSON.stringify(parse(text));
  const byLabel = new Map([...running].map((saga) => [labelOf(saga), saga]));
  return read.flatMap((saga) => {
    const before = byLabel.get(labelOf(saga));
    if (!before || contentOf(before) === contentOf(saga)) return [];
    const next = Math.max(saga.version, ...versionsOf(saga.name, running)) + 1;
    return problemOf(saga, `the file has changed, but its version ${saga.version} has not`, next);
  });
}

/** New sagas start on the highest version, which would be an old one. */
function lowered(read: readonly DeclaredSaga[], running: ReadonlySet<DeclaredSaga>): DeclaredSagaProblem[] {
  return read.flatMap((saga) => {
    const highest = Math.max(...versionsOf(saga.name, read));
    const before = Math.max(0, ...versionsOf(saga.name, running));
    if (saga.version < highest || saga.version >= before) return [];
    return problemOf(saga, `version ${saga.version} is lower than version ${before}`, before + 1);
  });
}

function problemOf({ file, name }: DeclaredSaga, what: string, next: number): DeclaredSagaProblem[] {
  const problem = `${what}, and sagas of '${name}' are running`;
  return [{ file, line: 1, column: 1, problem, fix: `set version: ${next}, or wait until they have ended` }];
}

function versionsOf(name: string, sagas: Iterable<DeclaredSaga>): number[] {
  return [...sagas].filter((saga) => saga.name === name).map(({ version }) => version);
}

/** A saga that goes on may start its sub-sagas yet, whose files may be gone as well. */
function withChildren(
  running: readonly DeclaredSaga[],
  known: readonly DeclaredSaga[],
  read: readonly DeclaredSaga[],
): DeclaredSaga[] {
  const kept = new Set(running);
  for (const { children } of kept) {
    const missing = children.filter((name) => !read.some((saga) => saga.name === name));
    // A set goes on with what is added meanwhile.
    for (const saga of known) if (missing.includes(saga.name)) kept.add(saga);
  }
  return [...kept];
}

/** As `place-order@2`. */
export function labelOf({ name, version }: Pick<DeclaredSaga, 'name' | 'version'>): string {
  return `${name}@${version}`;
}
