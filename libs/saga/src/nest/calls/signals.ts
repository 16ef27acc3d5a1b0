import { signalNameFlaw } from '../../definition/options/signal-name.js';
import { shown } from '../../shared/shown-value.js';
import type { OperatorCall } from '../../engine/operate/operator-calls.js';
import { sagaLabel } from '../../definition/graph/saga-graph.js';
import { nearestName } from '../../shared/nearest-name.js';
import type { RefusedSignal } from '../../engine/ports/saga-store.js';
import { SagaValidationError } from '../../errors.js';
import { optional, type OptionTable, required } from '../../definition/options/option-reader.js';
import { readOptions } from '../../definition/options/read-options.js';
import { comment, key, transaction } from './call-kinds.js';
import { operatorName } from './operator-options.js';

/** Options of `SagaService.signal()`. */
export interface SignalOptions {
  /**
   * The id of the signal, 1 to 255 characters. A later signal to this saga with the same id is dropped. Default: a new
   * id for each call.
   */
  messageId?: string;
  /**
   * Sends the signal inside the caller's transaction: it exists only if the transaction commits. It is a transaction of
   * the application's database layer (TypeORM: an EntityManager). The row of the saga is locked until the transaction
   * ends, so that the saga makes no progress: send the signal at the end. Default: a separate transaction.
   */
  transaction?: object;
}

/** The decision on an `@Approval` step. */
export interface Decision {
  /** The operator who decides: 1 to 255 characters. */
  by: string;
  /** A comment, at most 4,000 characters. Default: none. */
  comment?: string;
}

const SIGNAL_OPTIONS = {
  messageId: optional(key),
  transaction: optional(transaction),
} satisfies OptionTable<SignalOptions>;
const DECISION = {
  by: required(operatorName),
  comment: optional(comment),
} satisfies OptionTable<Decision>;

/** @throws SagaValidationError naming what is wrong */
export function readSignal(
  name: unknown,
  options: SignalOptions | undefined,
): SignalOptions & { name: string } {
  const flaw = signalNameFlaw(name);
  if (flaw !== undefined) throw new SagaValidationError(`signal(): signal is ${shown(name)}; ${flaw}.`);
  return { name: name as string, ...readOptions('signal()', SIGNAL_OPTIONS, options) };
}

/** No step of the saga waits for a signal of this name, by the graph that the saga goes by. */
export class UnawaitedSignalError extends SagaValidationError {
  /** Whether a saga with another graph of this name waits for it: the name is not a mistake. */
  readonly elsewhere: boolean;

  constructor(
    saga: { readonly name: string; readonly version: number },
    signal: string,
    { awaited, elsewhere }: RefusedSignal,
  ) {
    const like = nearestName(signal, awaited);
    const signals = awaited.length > 0 ? `Its signals: ${awaited.join(', ')}` : 'It has no signals';
    super(
      `No step of ${sagaLabel(saga)} waits for the signal ${shown(signal)}${like === undefined ? '.' : `; did you mean '${like}'?`} ` +
        `${signals}. ${
          elsewhere
            ? 'Another version of the saga, or another revision of its graph, waits for it.'
            : 'Declare one with @WaitFor({ signal }) or compensationReply.'
        }`,
    );
    this.name = 'SagaValidationError';
    this.elsewhere = elsewhere;
  }
}

/** @throws SagaValidationError naming everything that is wrong at once */
export function readDecision(call: string, given: unknown): Pick<OperatorCall, 'by' | 'reason' | 'expects'> {
  const { by, comment: reason } = readOptions(call, DECISION, given, 'decision');
  return { by, reason };
}
