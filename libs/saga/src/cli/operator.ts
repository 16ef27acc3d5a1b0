import { userInfo } from 'node:os';
import type { OperatorOptions } from '../nest/calls/operator-options.js';
import { type OptionSpecs, option, type ValuesOf } from './command.js';
import type { Terminal } from './terminal.js';
import { UsageError } from './usage-error.js';
import { readStatuses, readWhole } from './values.js';

export const BY_OPTION = { by: option.text('<name>', 'the operator; default: the variable USER') } as const;

export const OPERATOR_OPTIONS = {
  ...BY_OPTION,
  reason: option.text('<text>', 'the reason; kept in the history'),
  expects: option.text(
    '<status>',
    'run only if the saga has this status; otherwise change nothing and exit with 1',
  ),
  'expects-revision': option.text(
    '<number>',
    'run only if the saga has this revision, as saga show --json prints it',
  ),
} as const satisfies OptionSpecs;

/** Who does it, why, and in what state they believe it to be. */
export function operatorOptionsOf(
  values: ValuesOf<typeof OPERATOR_OPTIONS>,
  terminal: Terminal,
): OperatorOptions {
  const by = values.by ?? userOf(terminal);
  const [status, ...more] = values.expects === undefined ? [] : readStatuses(values.expects);
  if (more.length > 0) throw new UsageError('--expects accepts one status');
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

/** The user, or the command itself for a user without a name. */
export function operatorOf(terminal: Terminal): string {
  return userOf(terminal) ?? 'saga run';
}
