import { option, UsageError } from './command.js';
import type { Terminal } from './terminal.js';

export const YES_OPTION = {
  yes: option.flag('skip the confirmation prompt (required without a terminal)'),
} as const;

/** Checks, before anything is read, that `--yes` is given if there is no terminal for the confirmation prompt. */
export function checkAskable(yes: boolean | undefined, what: string, terminal: Terminal): void {
  if (!yes && !terminal.interactive)
    throw new UsageError(
      `saga ${what} asks for confirmation, but there is no terminal. Give --yes to skip the prompt`,
    );
}

/** @param about what is shown before */
export async function confirmed(
  yes: boolean | undefined,
  question: string,
  about: () => Promise<readonly string[]>,
  terminal: Terminal,
): Promise<boolean> {
  if (yes) return true;
  for (const line of await about()) terminal.out(line);
  const answer = await terminal.ask(`${question} [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return true;
  terminal.error('Nothing was changed');
  return false;
}
