import { userInfo } from 'node:os';
import type { OperatorOptions } from '../nest/calls/operator-options.js';
import { type OptionSpecs, option, type ValuesOf } from './command.js';
import type { Terminal } from './terminal.js';
import { UsageError } from './usage-error.js';
import { readStatuses, readWhole } from './values.js';

export const BY_OPTION = { by: option.text('<name>', 'who does it; default: the variable USER') } as const;

export const OPERATOR_OPTIONS = {
  ...BY_OPTION,
  reason: option.text('<text>', 'why; kept in its history'),
  expects: option.text(
    '<status>',
    'only if it is in this status; otherwise nothing happens, and it ends with 1',
  ),
  'expects-revision': option.text(
    '<number>',
    'only if nothing has happened to it since saga show --json said so',
  ),
} as const satisfies OptionSpecs;

/** Who does it, why, and in what state they believe it to be. */
export function operatorOptionsOf(
  values: ValuesOf<typeof OPERATOR_OPTIONS>,
  terminal: Terminal,
): OperatorOptions {
  const by = values.by ?? userOf(terminal);
  const [status, ...more] = values.expects === undefined ? [] : readStatuses(values.expects);
  if (more.length > 0) throw new UsageError('--expects takes one status');
  const revision = readWhole(values['expects-revision'], 'expects-revision');
  return {
    ...(by !== undefined && { by }),
    ...(values.reason !== undefined && { reason: values.reason }),
    ...((status !== undefined || revision !== undefined) && {
      expects: { ...(status !== undefined && { status }), ...(revision !== undefined && { revision }) },
    }),
  };
}

/** The user who is logged in, as the shell says, or the system. */
export function userOf({ environment }: Terminal): string | undefined {
  const named = environment.USER || environment.LOGNAME || environment.USERNAME;
  if (named) return named;
  try {
    return userInfo().username;
  } catch {
    // A user without an entry in the system's list, as in containers.
    return undefined;
  }
}
