import { argumentsOf, type CallName, factsOf } from '../engine/ports/call-table.js';
import { givenTime } from '../shared/given-time.js';
import type { SagaTarget } from './calls/saga-calls.js';
import type { SagaOperations } from './saga.operations.js';
import type { SagaService } from './saga.service.js';

/** The services whose methods the calls are. */
export interface CallServices {
  readonly sagas: Pick<SagaService, CallName & keyof SagaService>;
  readonly operations: Pick<SagaOperations, CallName & keyof SagaOperations>;
}

type Call = (target: SagaTarget, ...args: unknown[]) => Promise<void>;

/**
 * Makes an operator's call with what a request or a command has for it, by name. The call checks the values.
 * @param given operands and options. A time is an ISO date, or a duration
 */
export function makeCall(
  { sagas, operations }: CallServices,
  name: CallName,
  target: SagaTarget,
  given: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { options: known } = factsOf(name);
  const { operands } = argumentsOf(name);
  const valueOf = (operand: string) =>
    known[operand]!.type === 'time' ? givenTime(given[operand]) : given[operand];
  const options = Object.entries(given).filter(
    ([option, value]) => !operands.includes(option) && value !== undefined,
  );
  const service = (name in sagas ? sagas : operations) as Readonly<Record<CallName, Call>>;
  return service[name](target, ...operands.map(valueOf), Object.fromEntries(options));
}
