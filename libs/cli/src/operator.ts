import { userInfo } from 'node:os';
import type { OperatorOptions } from 'nestjs-durable-saga/operators';
import { withoutUndefined } from 'nestjs-durable-saga/internal';
import { option, type OptionSpecs, UsageError, type ValuesOf } from './command.js';
import type { Terminal } from './terminal.js';
import { readStatuses, readWhole } from './values.js';

export const BY_OPTION = { by: option.text('<name>', 'the operator; default: the variable USER') } as const;

/** Who acts, and why. */
export const WHO_OPTIONS = {
  ...BY_OPTION,
  reason: option.text('<text>', 'the reason, which is kept'),
} as const satisfies OptionSpecs;

export const OPERATOR_OPTIONS = {
  ...WHO_OPTIONS,
  expects: option.text(
    '<status>',
    'run only if the saga has this status; otherwise change nothing and exit with 1',
  ),
  'expects-revision': option.text(
    '<number>',
    'run only if the saga has this revision, as saga show --json prints it',
  ),
} as const satisfies OptionSpecs;

/** Who does it, and why. */
export function whoOf(
  { by, reason }: ValuesOf<typeof WHO_OPTIONS>,
  terminal: Terminal,
): Pick<OperatorOptions, 'by' | 'reason'> {
  return withoutUndefined({ by: by ?? userOf(terminal), reason });
}

/** Who does it, why, and in what state they believe it to be. */
export function operatorOptionsOf(
  values: ValuesOf<typeof OPERATOR_OPTIONS>,
  terminal: Terminal,
): OperatorOptions {
  const [status, ...more] = values.expects === undefined ? [] : readStatuses(values.expects);
  if (more.length > 0) throw new UsageError('--expects accepts one status');
  const revision = readWhole(values['expects-revision'], 'expects-revision');
  const expects = withoutUndefined({ status, revision });
  return { ...whoOf(values, terminal), ...(Object.keys(expects).length > 0 && { expects }) };
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
