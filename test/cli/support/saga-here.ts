import { runCommand } from '../../../libs/cli/src/run-command.js';
import { harmless, type Terminal } from '../../../libs/cli/src/terminal.js';
import type { TestApps } from '../../support/test-app.js';
import type { Ended } from './saga-bin.js';

/**
 * Calls the command line in this process, in front of a terminal that is made for the test: for interactive
 * use, and for variants of calls. Other tests start processes for them, which takes a second each.
 */
export async function sagaHere(args: readonly string[], more: Partial<Terminal> = {}): Promise<Ended> {
  const said = { out: '', error: '' };
  const terminal: Terminal = {
    out: (text) => void (said.out += `${harmless(text)}\n`),
    error: (text) => void (said.error += `${harmless(text)}\n`),
    write: (text) => void (said.out += text),
    ask: async () => '',
    input: async () => '',
    interactive: false,
    colors: false,
    environment: {},
    ...more,
  };
  return { code: await runCommand(args, terminal), ...said };
}

/** The same, on the database of these applications. */
export function sagaHereOn(apps: TestApps, terminal: Partial<Terminal> = {}) {
  return (words: string, ...more: string[]): Promise<Ended> =>
    sagaHere([...words.split(' ').filter(Boolean), ...more], {
      environment: { DATABASE_URL: apps.url, USER: 'ann' },
      ...terminal,
    });
}
