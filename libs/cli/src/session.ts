import {
  type CommandAnswer,
  type Call,
  type Command,
  command,
  JSON_OPTION,
  type OptionSpecs,
} from './command.js';
import { type OperatorSession, SAGA_OPTIONS } from './operator-session.js';
import type * as engine from './operators-engine.js';

/**
 * Runs `work` on the sagas of a database. The engine is loaded here and not before, because help and `saga init` run
 * where its packages (TypeORM, `@nestjs/common`) are not installed.
 */
export const operating: typeof engine.operating = async (...call) =>
  (await import('./operators-engine.js')).operating(...call);

/** Runs `work` on the database of the saga tables. The engine is loaded here, as for `operating`. */
export const onDatabase: typeof engine.onDatabase = async (...call) =>
  (await import('./operators-engine.js')).onDatabase(...call);

type SagaOptions = typeof SAGA_OPTIONS & typeof JSON_OPTION;

/** A command on the sagas of a database, beside the options that all of these have. */
interface SagaCommand<O extends OptionSpecs, P> extends Omit<Command<O>, 'run'> {
  /** Reads what was given, before the database is connected. */
  readonly prepare?: (call: Call<O>) => P;
  readonly run: (
    call: Call<SagaOptions & O>,
    operated: OperatorSession,
    prepared: P,
  ) => Promise<number | CommandAnswer>;
}

export function sagaCommand<const O extends OptionSpecs, P = undefined>({
  prepare,
  run,
  ...spec
}: SagaCommand<O, P>): Command {
  return command<SagaOptions & O>({
    ...spec,
    options: { ...SAGA_OPTIONS, ...JSON_OPTION, ...spec.options },
    run: async (call) => {
      const prepared = prepare?.(call) as P;
      return operating(call.values, call.terminal, (operated) => run(call, operated, prepared));
    },
  });
}
