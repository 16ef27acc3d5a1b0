import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Killer } from './mutant.js';
import type { Workspace } from './workspace.js';

/**
 * A mutant that goes round in circles is noticed as well: seconds of computing, however busy the machine is.
 */
const PATIENCE = 300;
/** The timeout of one test (ms): the mutant may have broken a notification. */
const TEST_PATIENCE = 60_000;
/** Characters of what a killer prints. */
const MOST_OUTPUT = 100_000;

/** A killer did not end in the time that it had, and so found nothing out. */
export class NotInTime extends Error {}

interface Ended {
  readonly code: number | null;
  readonly isOverdue: boolean;
  readonly output: string;
}

/**
 * What a killer noticed in this workspace; undefined: nothing.
 * @param longest milliseconds that it has
 * @throws NotInTime when they are over
 */
export function noticed(killer: Killer, workspace: Workspace, longest: number): Promise<string | undefined> {
  return killer.kind === 'simulation'
    ? brokenPromise(killer.seeds, workspace, longest)
    : failedTest(killer, workspace, longest);
}

async function brokenPromise(
  seeds: number,
  workspace: Workspace,
  longest: number,
): Promise<string | undefined> {
  const hooks = join(workspace.folder, 'test/support/own-sources.mjs');
  const args = ['--import', hooks, workspace.simulation, `${seeds}`];
  const { code, isOverdue, output } = await run(workspace, args, longest);
  if (code === 0) return undefined;
  const last = output.trim().split('\n').at(-1) ?? '';
  return `the simulation: ${isOverdue ? 'it does not end' : last}`;
}

async function failedTest(
  { names, tests }: Extract<Killer, { kind: 'specs' }>,
  workspace: Workspace,
  longest: number,
): Promise<string | undefined> {
  const paths = names.flatMap((name) => workspace.specs.named(name));
  const args = [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    join(workspace.folder, 'node_modules/jest/bin/jest.js'),
    ...['--runInBand', '--bail', '--silent', '--forceExit', `--testTimeout=${TEST_PATIENCE}`],
    ...(tests === undefined ? [] : [`--testNamePattern=${tests}`]),
    '--runTestsByPath',
    ...paths,
  ];
  const { code, isOverdue, output } = await run(workspace, args, longest);
  if (code === 0) {
    if (!/^Tests:.* passed/m.test(output))
      throw new Error(`No test of ${paths.join(', ')} has '${tests}' in its name.`);
    return undefined;
  }
  if (isOverdue) return `${paths.join(', ')}: it does not end`;
  const [, file, test] = /^FAIL (?:(?:unit|database|system) )?(\S+)[^]*?^ +● (.+)$/m.exec(output) ?? [];
  if (!file || !test) throw new Error(`The tests of ${paths.join(', ')} could not be run:\n${output}`);
  return `${file}: ${test}`;
}

function run({ folder, children }: Workspace, args: readonly string[], longest: number): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const command = ['-c', `ulimit -t ${PATIENCE}; exec "$0" "$@"`, process.execPath, ...args];
    const child = spawn('/bin/sh', command, {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: longest,
    });
    let output = '';
    const keep = (chunk: Buffer) => (output = (output + chunk.toString()).slice(0, MOST_OUTPUT));
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    children.add(child);
    child.on('error', reject);
    child.on('close', (code, signal) => {
      children.delete(child);
      if (signal === 'SIGTERM') reject(new NotInTime(`${args.join(' ')} did not end in time`));
      else resolve({ code, isOverdue: signal !== null, output });
    });
  });
}
