import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { TestApps } from '../../support/test-app.js';

/** The built program of the command line. */
export const BIN = fileURLToPath(new URL('../../../libs/cli/dist/saga.js', import.meta.url));

/** How a call of the command line ended. */
export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

export interface Called {
  readonly environment?: Record<string, string>;
  /** What is piped in. */
  readonly input?: string;
  /** The folder that it is called in. */
  readonly cwd?: string;
  /** The command line of another copy of the package. */
  readonly bin?: string;
}

/** Calls the built command line as a process of its own, in which only what it is given says where the database is. */
export function saga(
  args: readonly string[],
  { environment, input, cwd, bin = BIN }: Called = {},
): Promise<Ended> {
  const { DATABASE_URL: _, ...inherited } = process.env;
  return new Promise((resolve) => {
    const env = { ...inherited, NODE_OPTIONS: '', USER: 'ann', ...environment };
    const child = execFile(process.execPath, [bin, ...args], { env, cwd }, (error, out, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, error: stderr }),
    );
    child.stdin!.end(input);
  });
}

/** The same, on the database of these applications. */
export function sagaOn(apps: TestApps) {
  return (words: string, ...more: string[]): Promise<Ended> =>
    saga([...words.split(' ').filter(Boolean), ...more], { environment: { DATABASE_URL: apps.url } });
}
